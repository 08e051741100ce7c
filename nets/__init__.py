"""Policy/value networks and their inference. torch starts here."""

"""`python -m train report`: a run as one HTML page."""

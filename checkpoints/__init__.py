"""The shelf of checkpoints: save, load, latest, best, cards; and the released nets themselves."""

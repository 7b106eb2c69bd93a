"""Training of the default on random problems."""

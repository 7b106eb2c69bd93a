"""How often intervals hold the truth, and what their constants are learned from."""

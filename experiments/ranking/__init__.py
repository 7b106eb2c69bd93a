"""Every ranking metric on the yardstick: forecasts of top-m, MRR, nDCG, recall and MAP."""

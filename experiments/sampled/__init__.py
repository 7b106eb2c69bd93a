"""Rank metrics of a whole catalogue from ranks among a few sampled rivals."""

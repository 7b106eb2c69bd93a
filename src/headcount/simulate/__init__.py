"""Synthetic pilots whose accuracy at any number of classes is known.

Public: what `__all__` lists, and `theory`. All else is internal.
"""

from headcount.simulate.any_law import from_favorability
from headcount.simulate.brain_decoding import linear_encoding
from headcount.simulate.duplicates import near_duplicates
from headcount.simulate.families import clustered, hierarchical
from headcount.simulate.round_classes import isotropic_gaussian, points_around_classes
from headcount.simulate.simulation import Population, Simulation

__all__ = [
    "Population",
    "Simulation",
    "clustered",
    "from_favorability",
    "hierarchical",
    "isotropic_gaussian",
    "linear_encoding",
    "near_duplicates",
    "points_around_classes",
]

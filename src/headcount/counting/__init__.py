"""Counting: for each probe, how many wrong classes beat and tie its true class.

What stands in `__all__` is all that other rooms use, and they import it from here: which files are
behind it is internal, and so is which kind of source a pilot got (import-linter holds both).
"""

from headcount.counting.beats import Beats
from headcount.counting.canonical import canonical_order, class_keys
from headcount.counting.source import (
    SIMILARITIES,
    Source,
    source_of_embeddings,
    source_of_merged_classes,
    source_of_scores,
    source_of_shifted_scores,
)
from headcount.counting.summaries import Pieces

__all__ = [
    "SIMILARITIES",
    "Beats",
    "Pieces",
    "Source",
    "canonical_order",
    "class_keys",
    "source_of_embeddings",
    "source_of_merged_classes",
    "source_of_scores",
    "source_of_shifted_scores",
]

"""Counting: for each probe, how many wrong classes beat and tie its true class."""

from headcount.counting.beats import Beats
from headcount.counting.embeddings import Embeddings
from headcount.counting.score_matrix import ScoreMatrix
from headcount.counting.source import Source
from headcount.counting.summaries import Pieces
from headcount.counting.tiles import SIMILARITIES

__all__ = ["SIMILARITIES", "Beats", "Embeddings", "Pieces", "ScoreMatrix", "Source"]

"""Counting: for each probe, how many wrong classes beat and tie its true class."""

from headcount.counting.beats import Beats
from headcount.counting.cpu import Embeddings, ScoreMatrix, Source
from headcount.counting.summaries import Pieces
from headcount.counting.tiles import METRICS

__all__ = ["METRICS", "Beats", "Embeddings", "Pieces", "ScoreMatrix", "Source"]

"""Counting: for each probe, how many wrong classes beat and tie its true class."""

from headcount.ranks.beats import Beats
from headcount.ranks.cpu import Embeddings, ScoreMatrix, Source
from headcount.ranks.pieces import Pieces
from headcount.ranks.tiles import METRICS

__all__ = ["METRICS", "Beats", "Embeddings", "Pieces", "ScoreMatrix", "Source"]

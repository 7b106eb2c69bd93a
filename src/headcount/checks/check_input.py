"""What checks look at: a pilot, a fit, and who beat whom, worked out once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from headcount.curves.favorability import Favorability
from headcount.curves.mixed import MixedLaw, MixedObserved
from headcount.curves.observed import Observed
from headcount.curves.predicted import PredictedCurve
from headcount.curves.ranked import RankedLaw
from headcount.errors import UnsupportedError
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.support.words import named

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A longer list of rivals is not looked through: checks must cost less than the forecast.
MOST_RIVALS = 20_000_000
BYTES_A_RIVAL = 5
NAMED = 3
LONGEST_NAME = 40


class BacktestResult(Protocol):
    """What checks read of a back-test."""

    @property
    def supported(self) -> float:
        """Largest ratio k / K at which it was still within its tolerance."""

    @property
    def n_classes(self) -> int:
        """K."""

    @property
    def steps(self) -> Sequence[Any]:
        """What was tried; empty where no classes could be hidden."""


@dataclass(frozen=True)
class CheckInput:
    """Everything a check may look at."""

    pilot: Pilot
    observed: Observed | MixedObserved
    law: Favorability | PredictedCurve | MixedLaw | RankedLaw
    asked: Sequence[int] = ()
    backtest: BacktestResult | None = None
    metric: Metric = ACCURACY

    @cached_property
    def probes_per_class(self) -> Ints:
        """Number of probes of each named class; empty where probes have no labels."""
        if self.pilot.labels is None:
            return np.zeros(0, np.int64)
        return np.bincount(self.pilot.labels, minlength=len(self.pilot.class_names))

    @cached_property
    def rivals(self) -> csr_array | None:
        """Entry (a, b): how many probes of class a are beaten by class b; a tie counts half.

        None where the pilot cannot say, or the list would be too long to be looked through.
        """
        return self._table(won=1.0, tied=0.5)

    @cached_property
    def tied(self) -> csr_array | None:
        """Entry (a, b): on how many probes of class a class b ties with it; None as above."""
        return self._table(won=0.0, tied=1.0)

    def _table(self, won: float, tied: float) -> csr_array | None:
        pilot = self.pilot
        try:
            beats = pilot.beats(MOST_RIVALS * BYTES_A_RIVAL)
        except UnsupportedError:
            return None
        if pilot.labels is None or len(beats.classes) > MOST_RIVALS:
            return None
        owner, rival = np.repeat(pilot.labels, np.diff(beats.start)), beats.classes
        points = np.where(beats.tied, tied, won)
        positive = points > 0
        shape = (pilot.n_classes, pilot.n_classes)
        return coo_array(
            (points[positive], (owner[positive], rival[positive])), shape=shape
        ).tocsr()

    def name(self, position: Any) -> str:
        """Name of a class, safe to print and not too long."""
        return self.printable(self.pilot.class_names[position])

    @staticmethod
    def printable(text: Any) -> str:
        """Text that came from a file, safe to print and not too long."""
        name = str(text)
        return named(name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "...")

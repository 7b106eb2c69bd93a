"""Standard errors of observed and forecast risk, by the jackknife over classes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.pilot.pilot import Pilot
from headcount.questions.risk.costs import ZERO_ONE, Cost, as_cost
from headcount.questions.risk.covariance import risk_jackknife
from headcount.questions.risk.priors import prior_weights
from headcount.questions.risk.ranks import paid_by_probe
from headcount.uncertainty.jackknife import Jackknife
from headcount.uncertainty.measured import variance_within

Floats = NDArray[np.float64]


class Sensitive(Protocol):
    """A fit that can say how it moves with the curves it was made from."""

    @property
    def at(self) -> Floats:
        """Numbers of classes at which observed curves were used."""

    def slopes(self, k: Floats) -> tuple[Floats, Floats | None]:
        """Change of the risk at k with the observed risk, and with the observed error."""


class DeltaMethod:
    """How much the observed curves vary with the choice of classes, and what follows from them.

    Every class left out moves the curves a little. A forecast moves by its slopes times that, and
    the squares add up to its variance. Curves are computed once, when first asked for.

    Parameters
    ----------
    pilot : Pilot
        With scores.
    cost : Cost
        Cost of each mistake.
    priors : mapping or sequence, optional
        How often each class is the true one.
    """

    def __init__(self, pilot: Pilot, cost: Cost, priors: Any = None) -> None:
        self._costs = {"risk": cost, "error": as_cost(ZERO_ONE, pilot)}
        self._pilot, self._priors = pilot, priors
        self._jackknives: dict[str, Jackknife] = {}
        self._errors: dict[float, float] = {}  # of the observed risk, by k
        self._kept: dict[tuple[str, bytes], Floats] = {}  # moves at the rows of a fit

    def observed(self, k: Floats) -> Floats:
        """Return the standard error of the observed risk at k."""
        wanted = k.ravel().tolist()
        new = np.array(sorted(set(wanted) - set(self._errors)))
        if len(new):
            sizes = _size(self._moves("risk", new))
            self._errors |= dict(zip(new.tolist(), sizes.tolist(), strict=True))
        return np.array([self._errors[count] for count in wanted]).reshape(k.shape)

    def forecast(self, fit: Sensitive, k: Floats) -> Floats:
        """Return the standard error of the fitted risk at k."""
        if not len(k):
            return np.zeros(0)
        by_risk, by_error = fit.slopes(k)
        moves = self._rows("risk", fit.at) @ by_risk.T
        if by_error is not None:
            moves += self._rows("error", fit.at) @ by_error.T
        return _size(moves)

    def probe_variance(self) -> float | None:
        """Return the variance of the observed risk at K from the luck of the probes alone."""
        pilot, priors = self._pilot, self._priors
        weights = pilot.weights if priors is None else prior_weights(pilot, priors)
        assert pilot.labels is not None  # a pilot with scores has labels
        return variance_within(paid_by_probe(pilot, self._costs["risk"]), pilot.labels, weights)

    def _rows(self, what: str, k: Floats) -> Floats:
        key = (what, k.tobytes())
        if key not in self._kept:
            self._kept[key] = self._moves(what, k)
        return self._kept[key]

    def _moves(self, what: str, k: Floats) -> Floats:
        """Move of a curve at k (column) as each class (row) is left out.

        Scaled, as the covariance of the curve is, by how far the jackknife is too large there.
        """
        if what not in self._jackknives:
            self._jackknives[what] = risk_jackknife(self._pilot, self._costs[what], self._priors)
        jackknife = self._jackknives[what]
        # Nothing is left to leave out among all classes; one less is nearly the same.
        counts = np.minimum(k, jackknife.n_classes - 1).astype(np.int64)
        risks = jackknife.without_one(counts)
        return np.asarray((risks - risks.mean(axis=0)) / np.sqrt(1 + jackknife.excess(counts)))


def _size(moves: Floats) -> Floats:
    n_classes = len(moves)
    return np.asarray(np.sqrt((n_classes - 1) / n_classes * np.square(moves).sum(axis=0)))

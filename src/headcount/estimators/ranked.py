"""Any method where queries have several graded documents."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import clone

from headcount.curves.favorability import Favorability
from headcount.curves.ranked import RankedLaw, RankedObserved, places_of
from headcount.errors import UnsupportedError, silence
from headcount.estimators.base import Extrapolator
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.pilot.ranking import Ranking

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TINY = 1e-12


class Ranked(Extrapolator):
    """Another method, which learns from every graded document, place by place.

    A document is a probe, and those with as many others ahead of them for good make a pilot of
    their own (`headcount.curves.ranked.places_of`): each has its own law, from which all metrics
    follow. Queries differ in how many rivals they have; of those with more, random ones are left
    out, so that all have as many. `forecast` puts it around the method that is asked for.

    Laws as plausible as the forecast ones err alike at all places. They are moved away from these
    until they are as far apart at the pilot's own size as the metric there differs from query to
    query, if they are not.

    Parameters
    ----------
    method : Extrapolator
        Any method that needs only losses and gives a law.

    Attributes
    ----------
    methods_ : list of Extrapolator
        The method, fitted to the documents at each place.
    """

    alias: ClassVar[str] = "ranked"

    def __init__(self, *, method: Extrapolator) -> None:
        self.method = method
        self.alias = method.alias  # type: ignore[misc]
        self.needs = method.needs  # type: ignore[misc]
        self.gives_laws = method.gives_laws  # type: ignore[misc]
        self.takes_censored = True  # type: ignore[misc]
        self.slow = method.slow  # type: ignore[misc]

    def _estimate(self, pilot: Pilot) -> Favorability:
        ranking = pilot.ranking
        assert ranking is not None  # else the method itself is fitted
        starts = places_of(ranking)
        place = np.searchsorted(starts, ranking.above, side="right") - 1
        with silence():
            self.methods_ = [
                clone(self.method).fit(marked_pilot(ranking, place == at, pilot))
                for at in range(len(starts))
            ]
        fitted = [method.favorability_ for method in self.methods_]
        laws: list[Favorability] = [law for law in fitted if law is not None]
        if len(laws) < len(fitted):
            raise UnsupportedError(
                f"method {self.method.alias} gives no law of favorability, which queries with "
                "several relevant documents need; choose another, such as auto or probit-normal."
            )
        self.note_, self.remedy_ = self.methods_[0].note_, self.methods_[0].remedy_
        self.law_ = RankedLaw(laws, starts, ranking, pilot.tie_rule)
        return laws[0]

    def predict(self, k: Any) -> Floats:
        """Return the expected chance that the best document is relevant."""
        return self.law_.accuracy(k)

    def value(self, k: Any, metric: Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k documents."""
        return self.law_.value(k, metric)

    def law(self, classes: Any = ()) -> RankedLaw:
        """Return what the fitted laws say of the queries."""
        return self.law_

    def plausible(self, k: Any, metric: Metric = ACCURACY) -> Floats | None:
        """Return the metric under each of the method's plausible laws, moved further away."""
        each = [fitted.laws_ for fitted in self.methods_]
        if any(laws is None for laws in each):
            return None
        # The pilot's own size first: that is where laws are held against what was measured.
        counts = np.append(float(self.law_.ranking.n_documents), np.ravel(k))
        middle = _odds(self.value(counts, metric))
        moves = _odds(self.law_.values(counts, metric, [(x.p, x.weights) for x in each])) - middle
        apart, error = float(moves[:, 0].std()), self._measured_error(metric)
        wider = max(1.0, error / apart) if apart > 0 else 1.0
        return expit(middle + wider * moves)[:, 1:].reshape(-1, *np.shape(k))

    def _measured_error(self, metric: Metric) -> float:
        """Return the standard error of what was measured among all documents, as of log odds."""
        ranking = self.law_.ranking
        last = np.array([ranking.n_documents])
        lower, upper = RankedObserved(ranking, self.law_.tie_rule).of_queries(last, metric)
        of_queries = (lower + upper) / 2
        half = 0.5 / ranking.n_queries
        value = np.clip(float(of_queries.sum()), half, 1 - half)
        return float(ranking.error_of_mean(of_queries)[0] / (value * (1 - value)))


def _odds(values: Floats) -> Floats:
    return np.asarray(logit(np.clip(values, TINY, 1 - TINY)))


def marked_pilot(ranking: Ranking, chosen: Bools, pilot: Pilot) -> Pilot:
    """Return the pilot in which each of these documents is a probe, with as many rivals each."""
    rows = np.flatnonzero(chosen)
    n_rivals = ranking.n_rivals[rows]
    fewest = int(n_rivals.min())
    rng = np.random.default_rng(0)
    losses, ties = ranking.losses[rows], ranking.ties[rows]
    fewer = rng.hypergeometric(losses, n_rivals - losses, fewest)
    tied = rng.hypergeometric(ties, n_rivals - losses - ties, fewest - fewer)
    owners, labels = np.unique(ranking.owner[ranking.query[rows]], return_inverse=True)
    weights = ranking.weights[ranking.query[rows]]
    return Pilot(
        fewer.astype(np.int64),
        tied.astype(np.int64),
        owners,
        n_classes=fewest + 1,
        censored=ranking.missing[rows],
        labels=labels.astype(np.int64),
        tie_rule=pilot.tie_rule,
        nouns=pilot.nouns,
        rivals="independent",
        weights=weights / weights.sum(),
    )

"""Any method where queries have several graded documents."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import clone

from headcount.curves.favorability import Favorability
from headcount.curves.ranked import RankedLaw, RankedObserved
from headcount.errors import UnsupportedError, silence
from headcount.estimators.base import Extrapolator
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.pilot.ranking import Ranking

Floats = NDArray[np.float64]

TINY = 1e-12


class Ranked(Extrapolator):
    """Another method, which learns from every graded document that counts in a metric.

    Each such document is a probe, weighted as in the metric. Queries differ in how many rivals they
    have; of those with more, random ones are left out, so that all have as many. What follows for
    the metric is said by `headcount.curves.ranked`. `forecast` puts it around the method that is
    asked for.

    Documents of one query hang together, which the method does not know: laws as plausible as its
    own are moved away from it until they are as far apart at the pilot's own size as the metric
    there differs from query to query. (Other draws of the queries, with what their losses leave of
    each law, were tried instead: then too little is left open beyond the pilot.)

    Parameters
    ----------
    method : Extrapolator
        Any method that needs only losses and gives a law.
    metric : Metric
        What is forecast.

    Attributes
    ----------
    method_ : Extrapolator
        The method, fitted to the documents.
    """

    alias: ClassVar[str] = "ranked"

    def __init__(self, *, method: Extrapolator, metric: Metric) -> None:
        self.method, self.metric = method, metric
        self.alias = method.alias  # type: ignore[misc]
        self.needs = method.needs  # type: ignore[misc]
        self.gives_laws = method.gives_laws  # type: ignore[misc]
        self.takes_censored = True  # type: ignore[misc]
        self.slow = method.slow  # type: ignore[misc]

    def _estimate(self, pilot: Pilot) -> Favorability:
        ranking = pilot.ranking
        assert ranking is not None  # else the method itself is fitted
        marked = marked_pilot(ranking, self.metric, pilot)
        with silence():
            self.method_ = clone(self.method).fit(marked)
        law: Favorability | None = self.method_.favorability_
        if law is None:
            raise UnsupportedError(
                f"method {self.method.alias} gives no law of favorability, which queries with "
                "several relevant documents need; choose another, such as auto or probit-normal."
            )
        self.note_, self.remedy_ = self.method_.note_, self.method_.remedy_
        self.law_ = RankedLaw(law, ranking, pilot.tie_rule)
        return law

    def predict(self, k: Any) -> Floats:
        """Return the expected chance that the best document is relevant."""
        return self.law_.accuracy(k)

    def value(self, k: Any, metric: Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k documents."""
        return self.law_.value(k, metric)

    def law(self, classes: Any = ()) -> RankedLaw:
        """Return what the fitted law says of the queries."""
        return self.law_

    def plausible(self, k: Any, metric: Metric = ACCURACY) -> Floats | None:
        """Return the metric under each of the method's plausible laws, moved further away."""
        laws = self.method_.laws_
        if laws is None:
            return None
        shape, ranking, law = np.shape(k), self.law_.ranking, self.law_.law
        # The pilot's own size first: that is where laws are held against what was measured.
        counts = np.append(float(ranking.n_documents), np.ravel(k))
        every = RankedLaw(Favorability(laws.p, laws.weights[0] + TINY), ranking, self.law_.tie_rule)
        centre = np.full(len(laws.p), TINY)
        centre[np.searchsorted(laws.p, law.p)] += law.weights
        middle = _odds(self.value(counts, metric))
        moves = _odds(every.spread(metric).values(counts, laws.weights, centre)) - middle
        apart, error = float(moves[:, 0].std()), self._measured_error(metric)
        wider = max(1.0, error / apart) if apart > 0 else 1.0
        return expit(middle + wider * moves)[:, 1:].reshape(-1, *shape)

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


def marked_pilot(ranking: Ranking, metric: Metric, pilot: Pilot) -> Pilot:
    """Return the pilot in which each document that counts is a probe, with as many rivals each."""
    emphasis = metric.emphasis(ranking)
    rows = np.flatnonzero(emphasis > 0)
    n_rivals = ranking.n_rivals[rows]
    fewest = int(n_rivals.min())
    rng = np.random.default_rng(0)
    losses, ties = ranking.losses[rows], ranking.ties[rows]
    fewer = rng.hypergeometric(losses, n_rivals - losses, fewest)
    tied = rng.hypergeometric(ties, n_rivals - losses - ties, fewest - fewer)
    owners, labels = np.unique(ranking.owner[ranking.query[rows]], return_inverse=True)
    weights = emphasis[rows] * ranking.weights[ranking.query[rows]]
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

"""Any method where queries have several graded documents."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount.curves.favorability import Favorability
from headcount.curves.ranked import RankedLaw, Spread
from headcount.errors import UnsupportedError, silence
from headcount.estimators.base import Extrapolator
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.pilot.ranking import Ranking

Floats = NDArray[np.float64]


class Ranked(Extrapolator):
    """Another method, which learns from every graded document that counts in a metric.

    Each such document is a probe, weighted as in the metric. Queries differ in how many rivals they
    have; of those with more, random ones are left out, so that all have as many. What follows for
    the metric is said by `headcount.curves.ranked`. `forecast` puts it around the method that is
    asked for.

    Documents of one query hang together, which the method does not know. So each of its plausible
    laws meets other queries: those of the pilot, counted as often as by chance they might have come
    up, and queries that were drawn together alike.

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
            self.method_ = _from_losses(self.method).fit(marked)
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
        """Return the metric under each of the method's plausible laws, which meet other queries."""
        laws = self.method_.laws_
        if laws is None:
            return None
        counts = np.asarray(k, dtype=np.float64)
        ranking = self.law_.ranking
        spread = Spread(ranking, self.law_.tie_rule, metric, laws.p)
        often = other_draws(len(laws.weights), ranking)
        values = spread.values(counts.ravel(), laws.weights, often)
        return np.minimum(values, 1.0).reshape(-1, *counts.shape)


def _from_losses(method: Extrapolator) -> Extrapolator:
    """Return a method that does not ask for the scores of documents."""
    copy: Extrapolator = clone(method)
    if "use_scores" in method.get_params(deep=False):
        copy.set_params(use_scores=False)
    return copy


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


def other_draws(n_laws: int, ranking: Ranking) -> Floats:
    """Return how often each query might have come up, under each law; once on average.

    These are the weights of a Bayesian bootstrap (Rubin 1981) of what was drawn: queries, or the
    classes of probes. Pilots of the same ones get the same, so that what two systems share cancels
    where they are compared.
    """
    owners, place = np.unique(ranking.owner, return_inverse=True)
    drawn = _exponential(n_laws, len(owners))[:, place]
    return np.asarray(drawn / (drawn @ ranking.weights)[:, None])


@lru_cache(maxsize=4)
def _exponential(n_laws: int, n: int) -> Floats:
    return np.random.default_rng(0).exponential(size=(n_laws, n))

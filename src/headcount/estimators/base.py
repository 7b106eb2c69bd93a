"""The contract every forecasting method follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from headcount.curves.favorability import Favorability
from headcount.curves.laws import Laws
from headcount.curves.mixed import MixedLaw
from headcount.curves.predicted import PredictedCurve
from headcount.curves.ranked import RankedLaw
from headcount.errors import AssumptionWarning, UnsupportedError, warn
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.support.words import share_of
from headcount.support.workers import doing


class Extrapolator(BaseEstimator, ABC):  # type: ignore[misc]
    """A method that learns the law of favorability from a pilot.

    A subclass stores its keyword-only options, names itself in the class attributes below and
    implements `_estimate`. Numbers of classes to forecast are never needed at `fit`.

    Attributes
    ----------
    alias : str
        Name in the registry and on the command line.
    needs : {"losses", "beats", "scores"}
        What the pilot must offer.
    takes_censored : bool
        Whether probes whose losses are only known from below can be used.
    uses_scores : bool
        Whether a method that needs only losses looks at scores where there are any.
    gives_laws : bool
        Whether it gives laws as plausible as the fitted one (`plausible`), so that fewer refits
        will do.
    slow : bool
        Whether a fit takes so long that experiments leave it out unless it is asked for.
    published : bool
        Whether it repeats what a paper printed, slips and all; left out unless asked for by name.
    about, cost, advice : str
        One phrase each for `headcount methods`: what it does, what it costs, when to use it.
    note_ : str
        Set by `fit` where the method had less to go by than it can use: one sentence.
    remedy_ : str
        What would give it more to go by; empty where nothing would.
    favorability_ : Favorability or None
        Set by `fit`; None for a method that is no mixture, which then overrides `predict`.
    """

    alias: ClassVar[str]
    needs: ClassVar[str] = "losses"
    takes_censored: ClassVar[bool] = False
    uses_scores: ClassVar[bool] = False
    gives_laws: ClassVar[bool] = False
    slow: ClassVar[bool] = False
    published: ClassVar[bool] = False
    about: ClassVar[str]
    cost: ClassVar[str]
    advice: ClassVar[str]

    laws_: Laws | None = None
    note_: str = ""
    remedy_: str = ""
    favorability_: Favorability | None

    def fit(self, pilot: Pilot) -> Self:
        """Learn the law of favorability from a pilot."""
        self._check(pilot)
        with doing(f"Fitting {self.alias}"):
            self.favorability_ = self._estimate(pilot)
        return self

    def _check(self, pilot: Pilot) -> None:
        """Refuse a pilot that does not offer what the method needs."""
        if self.needs != "losses" and not pilot.has_scores:
            raise UnsupportedError(
                f"method {self.alias} needs scores, but this pilot holds only counts; "
                "make it from scores or embeddings, or choose a method that needs only losses."
            )
        n_censored = int(pilot.censored.sum())
        if n_censored and not self.takes_censored:
            raise UnsupportedError(
                f"method {self.alias} cannot use censored probes, and "
                f"{share_of(n_censored, pilot.n_probes, 'probes', 'are censored')}; choose a "
                "likelihood method such as probit-normal."
            )

    def predict(self, k: Any) -> NDArray[np.float64]:
        """Return the expected accuracy among k classes."""
        check_is_fitted(self, "favorability_")
        if self.favorability_ is None:
            raise UnsupportedError(f"method {self.alias} has no law of favorability.")
        return self.favorability_.accuracy(k)

    def value(self, k: Any, metric: Metric = ACCURACY) -> NDArray[np.float64]:
        """Return what is expected of a metric among k classes."""
        return self.predict(k) if metric == ACCURACY else self.law(k).value(k, metric)

    def law(self, classes: Any = ()) -> Favorability | PredictedCurve | MixedLaw | RankedLaw:
        """Return the fitted law, or the predicted curve of a method that has none."""
        check_is_fitted(self, "favorability_")
        return self.favorability_ or PredictedCurve.sample(self.predict, classes)

    def plausible(self, k: Any, metric: Metric = ACCURACY) -> NDArray[np.float64] | None:
        """Return a metric among k classes under laws as plausible as the fitted one, (laws, k).

        None where the method knows of none: then they are taken from refits
        (`headcount.uncertainty.refitted`).
        """
        if self.laws_ is None:
            return None
        return self.laws_.values(np.asarray(k, dtype=np.float64), metric)

    @abstractmethod
    def _estimate(self, pilot: Pilot) -> Favorability | None:
        """Return the estimated law, or None for a method that is no mixture.

        May set further attributes ending in an underscore.
        """


def warn_if_one_sided(pilot: Pilot) -> None:
    """Say so where every probe is right, or none is, among all classes."""
    table = pilot.table()
    if not table.losses.any() and not table.censored.any():
        warn(
            f"all {pilot.n_probes:,} probes are right, so the pilot shows no error to extrapolate; "
            "a larger or harder pilot is needed.",
            AssumptionWarning,
        )
    elif table.losses.all():
        warn(
            f"no probe is right among all {pilot.n_classes:,} classes, so accuracy there is near "
            "zero and larger numbers of classes can only be worse.",
            AssumptionWarning,
        )

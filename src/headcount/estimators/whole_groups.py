"""Any method where classes come in whole groups."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount.curves.laws import scattered
from headcount.curves.whole_groups import of_groups, refuse_other_metric
from headcount.errors import UnsupportedError, silence
from headcount.estimators.base import Extrapolator
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]


class WholeGroups(Extrapolator):
    r"""Another method, which learns how groups beat probes, where whole groups are drawn.

    With r the chance that no class of its own group beats a probe, and A(g) the accuracy of the
    others among g groups as the method forecasts it from a pilot of G groups,

    .. math:: \text{accuracy}(k) = E[r] \, A(k G / K)

    (`headcount.pilot.whole_groups`). `forecast` puts it around the method that is asked for.

    Parameters
    ----------
    method : Extrapolator
        Any method.

    Attributes
    ----------
    method_ : Extrapolator or None
        The method, fitted to the groups; None where relatives beat every probe.
    share_, share_error_ : float
        E[r] and its standard error.

    Examples
    --------
    >>> from headcount import simulate
    >>> from headcount.estimators import ProbitNormal
    >>> pilot = simulate.near_duplicates(120, random_state=1).pilot
    >>> fit = WholeGroups(method=ProbitNormal()).fit(pilot)
    >>> bool(fit.predict(1200) < fit.predict(120) < fit.share_)
    True
    """

    alias: ClassVar[str] = "whole-groups"

    def __init__(self, *, method: Extrapolator) -> None:
        self.method = method
        self.needs = "beats" if method.needs == "losses" else method.needs  # type: ignore[misc]
        self.uses_scores = method.uses_scores  # type: ignore[misc]
        self.gives_laws = method.gives_laws  # type: ignore[misc]
        self.slow = method.slow  # type: ignore[misc]

    def _check(self, pilot: Pilot) -> None:
        """Refuse a pilot without groups, or that does not know who beat whom."""
        if pilot.groups is None or not pilot.knows_rivals:
            raise UnsupportedError(
                "whole groups can be drawn only from a pilot with groups that knows which classes "
                "beat each probe; give groups, and scores or embeddings."
            )

    def _estimate(self, pilot: Pilot) -> None:
        merged = pilot.merged
        self.n_classes_, self.n_groups_ = merged.n_classes, merged.n_groups
        self.share_, self.share_error_ = merged.share, merged.share_error
        self.method_: Extrapolator | None = None
        if merged.pilot is not None:
            with silence():  # that no other group beats a probe is no cause for worry
                self.method_ = clone(self.method).fit(merged.pilot)
            self.note_, self.remedy_ = self.method_.note_, self.method_.remedy_

    def predict(self, k: Any) -> Floats:
        """Return the expected accuracy among k classes in whole groups."""
        return of_groups(k, self.n_classes_, self.n_groups_, self.share_, self._among)

    def value(self, k: Any, metric: Metric = ACCURACY) -> Floats:
        """Return the expected accuracy among k classes; refuse any other metric."""
        refuse_other_metric(metric)
        return self.predict(k)

    def plausible(self, k: Any, metric: Metric = ACCURACY) -> Floats | None:
        """Return what the laws of the method say, each with a plausible share of its own."""
        refuse_other_metric(metric)
        method = self.method_
        if method is None or self.share_ <= 0 or (among := method.plausible(1.0)) is None:
            return None
        error = self.share_error_ * scattered(len(among))
        shares = np.clip(self.share_ + error, 0.0, 1.0)[:, None]
        return of_groups(
            k, self.n_classes_, self.n_groups_, shares, lambda g: np.asarray(method.plausible(g))
        )

    def _among(self, groups: Floats) -> Floats:
        return np.zeros(groups.shape) if self.method_ is None else self.method_.predict(groups)

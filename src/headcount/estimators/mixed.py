r"""A method, applied to each group of rivals, and the joint law that its answers make.

For the probes of each group g, the method that was asked for is fitted to their losses against each
group h alone, as to a pilot in which the classes of h are the only wrong ones. That gives the law
of :math:`U_{gh}`. How the laws of one probe hang together (who loses to many of one group loses to
many of another) is a normal copula with one correlation for each g: the one of maximum likelihood
for the losses :math:`l_{ih}` of the probes i of g, given those laws,

.. math:: \max_\rho \sum_i w_i \log \int \varphi(f) \prod_h
          E\Big[\binom{n_h}{l_{ih}} (1 - U_{gh})^{l_{ih}} U_{gh}^{n_h - l_{ih}}
          \Big| F = f\Big] df .
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, ndtri, xlog1py, xlogy

from headcount.curves.favorability import Favorability
from headcount.curves.mixed import (
    MOST_ALIKE,
    GroupCounts,
    GroupRows,
    JointLaw,
    MixedLaw,
    count_by_group,
    mix_table,
    rivals,
    within,
)
from headcount.errors import UnsupportedError, silence
from headcount.estimators.base import Extrapolator
from headcount.estimators.registry import resolve
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]

FINENESS = 10  # nodes of a law for each standard deviation, when the correlation is looked for
CLOSE = 0.005  # of the correlation
LEAST = 1e-9  # values below this are not divided by


class Mixed(Extrapolator):
    """A method for sets of classes from several groups in known proportions.

    Not in the list of methods, as it needs to be told the mix: `headcount.forecast` makes it.

    Parameters
    ----------
    method : Extrapolator
        What is fitted to each pair of groups. It must give a law, and need only losses.
    mix : mapping of str to float
        Share of each group.
    """

    alias: ClassVar[str] = "mix"
    needs: ClassVar[str] = "losses"
    about: ClassVar[str] = "another method for each pair of groups, joined by a copula"

    law_: MixedLaw
    fits_: list[list[Extrapolator]]

    def __init__(self, *, method: Extrapolator, mix: Mapping[str, float]) -> None:
        self.method = method
        self.mix = mix
        self.gives_laws = method.gives_laws  # type: ignore[misc]

    def _estimate(self, pilot: Pilot) -> None:
        if self.method.needs != "losses":
            raise UnsupportedError(
                f"method {self.method.alias} needs {self.method.needs}, and a mix is forecast from "
                "the losses to each group; choose a method that needs only losses."
            )
        table = mix_table(pilot, self.mix)
        counts, groups = count_by_group(pilot, table.groups), range(len(table.groups))
        self.n_classes_ = pilot.n_classes
        self.class_counts_ = table.class_counts
        self.fits_ = [[self._fit_pair(counts, g, h) for h in groups] for g in groups]
        joint = [
            join([_law_of(fit) for fit in fits], rows)
            for fits, rows in zip(self.fits_, table.rows, strict=True)
        ]
        self.law_ = MixedLaw(table.shares, table.emphasis, joint)

    def _fit_pair(self, counts: GroupCounts, group: int, rival_group: int) -> Extrapolator:
        """Return the method fitted to one group's probes against another group."""
        with silence():  # that no probe of one group ever loses to another is no cause for worry
            return resolve(self.method).fit(pair_pilot(counts, group, rival_group))

    def predict(self, k: Any) -> Floats:
        """Return the expected accuracy among k classes in the proportions of the mix."""
        return self.law_.accuracy(k)

    def law(self, classes: Any = ()) -> MixedLaw:
        """Return the joint laws."""
        return self.law_

    def value(self, k: Any, metric: Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k classes."""
        return self.law_.value(k, metric)

    def plausible(self, k: Any, metric: Metric = ACCURACY) -> Floats | None:
        """Return what follows for the mix from the plausible laws of each pair of groups.

        What the probes of one group get right is multiplied, for each group of rivals, by how much
        more or less the law of that pair says than its fit. Laws of one group's probes against
        different groups are drawn independently, those of different groups' probes together.
        """
        counts = np.asarray(k, dtype=np.float64).ravel()
        total: Any = 0.0
        for g, (fits, joint) in enumerate(zip(self.fits_, self.law_.joint, strict=True)):
            met = rivals(self.law_.shares, counts, g) + 1.0
            right: Any = joint.value(met - 1, within(metric))
            for h, fit in enumerate(fits):
                values = fit.plausible(met[:, h], metric)
                if values is None:
                    return None
                order = np.random.default_rng(h).permutation(len(values)) if h else slice(None)
                right = right * values[order] / np.maximum(fit.value(met[:, h], metric), LEAST)
            total = total + self.law_.emphasis[g] * right
        return np.asarray(np.minimum(total, 1.0)).reshape(-1, *np.shape(k))


def pair_pilot(counts: GroupCounts, group: int, rival_group: int) -> Pilot:
    """Return the probes of one group with the classes of another as their only rivals."""
    pilot, chosen = counts.pilot, counts.of_probe == group
    assert pilot.labels is not None  # a pilot that knows its rivals has labels
    classes, labels = np.unique(pilot.labels[chosen], return_inverse=True)
    return pilot._with(
        counts.losses[chosen, rival_group],
        counts.ties[chosen, rival_group],
        pilot.class_names[classes],
        n_classes=int(counts.n_rivals(group)[rival_group]) + 1,
        labels=labels,
    )


def _law_of(fitted: Extrapolator) -> Favorability:
    if fitted.favorability_ is None:
        raise UnsupportedError(
            f"method {fitted.alias} gives no law of favorability, which a mix needs; choose "
            "another, such as auto or probit-normal."
        )
    return fitted.favorability_


def join(laws: list[Favorability], rows: GroupRows) -> JointLaw:
    """Return the joint law under which the losses of a group's probes are most likely."""
    if len(laws) == 1:
        return JointLaw(laws, 0.0)
    coarse = [_coarse(law) for law in laws]
    places = [np.unique(column, return_inverse=True) for column in rows.losses.T]
    chances = [
        _binomial(losses, n, law)
        for (losses, _), n, law in zip(places, rows.n_rivals, coarse, strict=True)
    ]

    def misfit(correlation: float) -> float:
        joint = JointLaw(coarse, correlation)
        likelihood: Any = 1.0
        for chance, weights, (_, place) in zip(chances, joint.given_factor, places, strict=True):
            likelihood = likelihood * (chance @ weights.T)[place]
        return -float(rows.weights @ np.log(np.maximum(likelihood @ joint.factor, 1e-300)))

    best = minimize_scalar(
        misfit, bounds=(0.0, MOST_ALIKE), method="bounded", options={"xatol": CLOSE}
    )
    return JointLaw(laws, float(best.x) if best.fun < misfit(0.0) else 0.0)


def _coarse(law: Favorability) -> Favorability:
    """Return a law of few nodes, close to each other as normal quantiles."""
    _, place = np.unique(np.round(ndtri(law.p) * FINENESS), return_inverse=True)
    weights = np.bincount(place, law.weights)
    return Favorability(np.bincount(place, law.weights * law.p) / weights, weights)


def _binomial(losses: NDArray[np.int64], n: int, law: Favorability) -> Floats:
    """Return the chance of each number of losses (row) at each node of a law."""
    lost = losses[:, None].astype(np.float64)
    choose = gammaln(n + 1.0) - gammaln(lost + 1) - gammaln(n - lost + 1)
    return np.asarray(np.exp(choose + xlogy(lost, law.p) + xlog1py(n - lost, -law.p)))

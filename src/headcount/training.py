"""Accuracy with more training data: forecasts over numbers of classes and training sizes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount import arrays
from headcount.asking import asked_classes, warn_if_far
from headcount.checks import GAP, Check, finding
from headcount.errors import (
    DataError,
    ExtrapolationWarning,
    ParameterError,
    listening,
    warn,
)
from headcount.learning_curve import (
    PilotFit,
    TrainingBacktest,
    TrainingLaw,
    backtest_largest,
    fit_learning_curve,
)
from headcount.observed import Observed, observe
from headcount.pilot import Pilot
from headcount.presenting import as_frame, as_html
from headcount.wording import counted, percent, points, share_of

Floats = NDArray[np.float64]

SCHEMA = 1
COLUMNS = ("training_size", "classes", "accuracy", "region")
LEAST_SIZES = 3
FAR_TRAINING = 10
DOUBTFUL = 0.05  # error of the back-test that is worth a finding


def forecast_training(
    pilots: Mapping[Any, Pilot], classes: Any, training_size: Any
) -> TrainingForecast:
    r"""Forecast accuracy for more classes and for more training data at once.

    Favorability is taken to be normal on the probit scale at every training size r, and its mean
    and spread to follow a learning curve, a power law with an asymptote:

    .. math:: U = \Phi(\mu(r) + \tau(r) Z), \quad \mu(r) = a - b\,(r / r_0)^{-c}, \quad
              \log \tau(r) = \alpha + \beta\,(r / r_0)^{-c}, \quad b \ge 0,

    with :math:`r_0` the least size measured. Mean and spread are first fitted to each pilot by
    maximum likelihood (`ProbitNormal`), then the five parameters to those by least squares,
    weighted with each pilot's Fisher information. Few sizes say little about c and :math:`\beta`,
    so there are normal priors: :math:`\log c` around log 0.7 with deviation 0.5, :math:`\beta`
    around 0 with deviation 0.3. Both were chosen on simulations of round classes.

    Parameters
    ----------
    pilots : mapping from training size to Pilot
        The same classes, recognised after training on so many points a class (any unit will do:
        only ratios matter). At least three sizes.
    classes : int or sequence of int
        Numbers of classes asked about.
    training_size : float or sequence of float
        Training sizes asked about, in the unit of the mapping's keys.

    Returns
    -------
    TrainingForecast
        Holds a back-test as well: the largest size forecast from the smaller ones.

    Notes
    -----
    Root mean square errors at training size 32 and 200, 1,000 and 5,000 classes, forecast from
    sizes 1, 2, 4 and 8 of 200 round classes with 5 probes each (30 pilots a line, seeds 1000 to
    1029), beside those of taking the pilot at size 8 for one at 32:

    ======================================  =====================  =====================
    classes                                 forecast               size 8 as it is
    ======================================  =====================  =====================
    10 dimensions, sigma 0.55, mean         0.012  0.023  0.032    0.034  0.053  0.063
    10 dimensions, sigma 0.80, mean         0.022  0.023  0.018    0.058  0.055  0.040
    40 dimensions, sigma 1.20, mean         0.006  0.014  0.026    0.047  0.091  0.134
    10 dimensions, sigma 0.55, nearest      0.028  0.032  0.028    0.052  0.062  0.055
    ======================================  =====================  =====================

    Slow learning (the nearest of many points) is underestimated by about 0.02.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*,
    discussion, which leaves training size open and points to the learning curves of Cortes et al.
    (1994).

    Examples
    --------
    >>> import headcount
    >>> from headcount.simulate import isotropic_gaussian
    >>> from headcount.training import forecast_training
    >>> world = {"represent": "mean", "probes_per_class": 5, "random_state": 1}
    >>> pilots = {r: isotropic_gaussian(200, n_train=r, **world).pilot for r in (1, 2, 4, 8)}
    >>> result = forecast_training(pilots, classes=[200, 2000], training_size=32)
    >>> result.accuracy([200, 2000], 32).round(2).tolist()
    [0.88, 0.65]
    >>> headcount.theory.IsotropicGaussian(10, 0.55, 32, "mean").accuracy([200, 2000]).round(2)
    array([0.88, 0.63])
    """
    asked, sizes = asked_classes(classes), np.unique(_training_sizes(training_size))
    if sizes.size == 0:
        raise ParameterError("give at least one training size.")
    measured = _checked_pilots(pilots)
    with listening() as heard:
        fits = [PilotFit.of(size, pilot) for size, pilot in measured.items()]
        warn_if_far(next(iter(measured.values())).n_classes, asked[-1])
        _warn_if_far_training(measured, sizes)
    curves = {size: observe(pilot) for size, pilot in measured.items()}
    return TrainingForecast(
        law=fit_learning_curve(fits),
        observed=curves,
        classes=asked,
        training_sizes=tuple(_plain(size) for size in sizes),
        n_probes={size: pilot.n_probes for size, pilot in measured.items()},
        backtest=backtest_largest(fits, curves),
        warnings=tuple(heard),
    )


@dataclass(frozen=True, repr=False)
class TrainingForecast:
    """Accuracy over numbers of classes and training sizes; made by `forecast_training`.

    Attributes
    ----------
    law : TrainingLaw
        The fitted model.
    observed : dict
        What each pilot itself says, by training size.
    classes, training_sizes : tuple
        Numbers of classes, and training sizes, asked about.
    n_probes : dict
        Probes of each pilot, by training size.
    backtest : TrainingBacktest
        How well the largest size could be told from the smaller ones.
    warnings : tuple of str
        What was said on the way.
    """

    law: TrainingLaw
    observed: dict[float, Observed]
    classes: tuple[int, ...]
    training_sizes: tuple[float, ...]
    n_probes: dict[float, int]
    backtest: TrainingBacktest
    warnings: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """Classes of the pilots."""
        return next(iter(self.observed.values())).n_classes

    def accuracy(self, k: Any, training_size: Any) -> Floats:
        """Accuracy among k classes: observed where measured, from the fitted law elsewhere.

        Measured are the pilots' own training sizes, up to their number of classes. `k` and
        `training_size` broadcast.
        """
        counts, sizes = np.broadcast_arrays(arrays.class_counts(k), _training_sizes(training_size))
        values = self.law.accuracy(counts, sizes)
        for size, curve in self.observed.items():
            known = (sizes == size) & (counts <= self.n_classes)
            if known.any():
                values[known] = curve.accuracy(counts[known])
        return values

    def limit(self, k: Any) -> Floats:
        """Accuracy among k classes that no amount of training would pass."""
        return self.law.accuracy(k, math.inf)

    @property
    def checks(self) -> tuple[Check, ...]:
        """What to know before believing it."""
        found = [self._gap(), self._no_gain(), self._failed_backtest()]
        return tuple(check for check in found if check is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the answers, the model and the back-test as plain data."""
        return {
            "schema": SCHEMA,
            "n_classes": self.n_classes,
            "n_probes": [
                {"training_size": size, "probes": count} for size, count in self.n_probes.items()
            ],
            "model": asdict(self.law),
            "accuracy": [dict(zip(COLUMNS, row, strict=True)) for row in self._rows()],
            "backtest": asdict(self.backtest),
            "checks": [check.to_dict() for check in self.checks],
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_frame(self) -> Any:
        """Return accuracy at all sizes, measured and asked about, as a pandas DataFrame."""
        return as_frame(dict(zip(COLUMNS, zip(*self._rows(), strict=True), strict=True)))

    def sentences(self) -> list[str]:
        """Return the answer in words."""
        lines = [
            f"At {counted(k, 'class')} and training size {_written(size)}: "
            + percent(float(self.accuracy(k, size)))
            + (" (measured)." if self._is_measured(k, size) else ".")
            for size in self.training_sizes
            for k in self.classes
        ]
        lines += [
            f"No amount of training is forecast to pass {percent(float(self.limit(k)))} "
            f"at {counted(k, 'class')}."
            for k in self.classes[-1:]
        ]
        test = self.backtest
        lines.append(
            f"Back-test: size {_written(test.training_size)} forecast from smaller ones was off by "
            f"at most {points(test.worst)} among up to {counted(self.n_classes, 'class')}."
        )
        return lines

    def __repr__(self) -> str:
        sizes = ", ".join(_written(size) for size in self.observed)
        title = f"Forecast from {self.n_classes:,} classes at training sizes {sizes}"
        notes = [f"Check {check.code}: {check.message}" for check in self.checks]
        return "\n  ".join([title, *self.sentences(), *notes])

    def _repr_html_(self) -> str:
        return as_html(repr(self))

    def _is_measured(self, k: int, size: float) -> bool:
        return size in self.observed and k <= self.n_classes

    def _rows(self) -> list[tuple[float, int, float, str]]:
        counts = sorted({self.n_classes, *self.classes})
        rows = []
        for size in sorted({*self.observed, *self.training_sizes}):
            for k, value in zip(counts, self.accuracy(counts, size), strict=True):
                region = "observed" if self._is_measured(k, size) else "forecast"
                rows.append((size, k, float(value), region))
        return rows

    def _gap(self) -> Check | None:
        k = self.n_classes
        gaps = {}
        for size, curve in self.observed.items():
            lower, upper = (float(bound) for bound in curve.bounds(k))
            fitted = float(self.law.accuracy(k, size))
            gaps[size] = max(lower - fitted, fitted - upper, 0.0)
        size = max(gaps, key=lambda r: gaps[r])
        if gaps[size] <= GAP:
            return None
        return finding(
            "HC010",
            f"at {k:,} classes and training size {_written(size)} the fitted learning curve gives "
            f"{percent(float(self.law.accuracy(k, size)))} where "
            f"{percent(float(self.observed[size].accuracy(k)))} was measured, so the forecast is "
            "doubtful.",
        )

    def _no_gain(self) -> Check | None:
        if self.law.gain > 0:
            return None
        return finding(
            "HC017",
            "accuracy does not grow with training size in these pilots; check that the sizes "
            "belong to the pilots they are given with.",
        )

    def _failed_backtest(self) -> Check | None:
        if self.backtest.worst <= DOUBTFUL:
            return None
        return finding(
            "HC018",
            f"the largest size forecast from the smaller ones was off by "
            f"{100 * self.backtest.worst:.0f} points; expect as much of forecasts for larger ones.",
        )


def _checked_pilots(pilots: Mapping[Any, Pilot]) -> dict[float, Pilot]:
    """Return the pilots by ascending training size, refused unless they fit together."""
    if not isinstance(pilots, Mapping) or not all(isinstance(p, Pilot) for p in pilots.values()):
        raise ParameterError("pilots must map each training size to the Pilot measured there.")
    if len(pilots) < LEAST_SIZES:
        raise DataError(
            f"{counted(len(pilots), 'training size')} cannot show how accuracy grows with "
            f"training; measure the pilot at {LEAST_SIZES} or more."
        )
    sizes = _training_sizes(list(pilots))
    by_size = {_plain(r): p for r, p in zip(sizes, pilots.values(), strict=True)}
    if len(by_size) < len(pilots):
        raise DataError("two pilots have the same training size; give every size once.")
    ordered = {size: by_size[size] for size in sorted(by_size)}
    first, *others = ordered.values()
    for other in others:
        _refuse_unlike(first, other)
    return ordered


def _refuse_unlike(first: Pilot, other: Pilot) -> None:
    if first.n_classes != other.n_classes:
        raise DataError(
            f"the pilots have {first.n_classes:,} and {other.n_classes:,} classes; measure all "
            "training sizes on the same classes."
        )
    # A pilot of counts knows no names, or only those of classes with probes.
    named = len(first.class_names) == len(other.class_names) == first.n_classes
    mine, theirs = (set(pilot.class_names.astype(str).tolist()) for pilot in (first, other))
    if named and mine != theirs:
        raise DataError(
            f"{share_of(len(mine - theirs), first.n_classes, 'classes', 'differ')} between the "
            f"pilots (first: {min(mine - theirs)}); measure all training sizes on the same classes."
        )
    for what in ("average", "tie_rule"):
        if getattr(first, what) != getattr(other, what):
            raise DataError(f"the pilots differ in {what}; make them all with the same.")


def _training_sizes(values: Any) -> Floats:
    try:
        sizes = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        sizes = np.array(np.nan)
    if not ((sizes > 0) & np.isfinite(sizes)).all():
        raise ParameterError(f"a training size must be a number above 0, but found {values!r}.")
    return sizes


def _plain(size: float) -> float:
    """Return a whole size as an integer, so that it reads well."""
    return int(size) if size == int(size) else float(size)


def _written(size: float) -> str:
    """Return a size as text: whole ones in full, others to six digits."""
    return f"{int(size):,}" if size == int(size) and size < 1e15 else f"{size:g}"


def _warn_if_far_training(pilots: dict[float, Pilot], sizes: Floats) -> None:
    least, most = min(pilots), max(pilots)
    if sizes.max() > FAR_TRAINING * most or sizes.min() < least / FAR_TRAINING:
        beyond = sizes.max() if sizes.max() > FAR_TRAINING * most else sizes.min()
        warn(
            f"training size {_written(beyond)} lies far from those measured ({_written(least)} to "
            f"{_written(most)}); a pilot nearer to it is needed to be sure.",
            ExtrapolationWarning,
        )

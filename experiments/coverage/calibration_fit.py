r"""The constants of the error model under which errors of forecasts are most likely.

With the log odds l of the estimate and t of the truth, the back-test's bias b, the standard error J
of the observed accuracy, the log growth g of the variance over the halves, x = log(k / K), the
standard error T of the truth itself, and the scale y of `headcount.uncertainty.refitted`,

.. math:: z = \frac{y(m) - y(t)}{y'(m)\, s}, \qquad m = l - \lambda b, \qquad
          s^2 = J^2 e^{\beta g} + (c\, x^{\gamma})^2 + (c' b)^2 + T^2 ,

the constants are those under which all z are most likely to be from one Student's t with six
degrees of freedom: its tails are about as heavy as those found. Quantiles of \|z\| beyond the
pilot, where intervals use them, are then taken as they are. Standard errors are from resampled
problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logit

from experiments.coverage.records import CONFIDENCE, refits_of
from experiments.journal import Record
from headcount.support.validation import whole_number
from headcount.uncertainty.refitted import MODEL, ErrorModel, cloglog, slope

Floats = NDArray[np.float64]

FREEDOM = 6
LEVELS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
RESAMPLES = 50
SURE = 1e-9
# What is fitted, with its least and largest value.
BOUNDS = {
    "growth": (0.0, 4.0),
    "scale": (1e-4, 3.0),
    "power": (0.1, 4.0),
    "doubt": (0.0, 3.0),
    "share": (0.0, 2.0),
}
MOST_BLIND = 3.0
SOME_DOUBT = 0.3


@dataclass(frozen=True)
class Errors:
    """Errors of forecasts, a row for each problem and a column for each ratio.

    Attributes
    ----------
    estimate : ndarray
        Log odds of the estimate; no further out than half a probe.
    error : ndarray
        The same minus those of the truth, within the same limits.
    plain : ndarray
        The same without that limit for the truth, and zero where an interval is open to that
        side: what quantiles are taken of.
    bias, observed, growth, truth, reach : ndarray
        b, J, g (not a number without halves), T and x.
    """

    estimate: Floats
    error: Floats
    plain: Floats
    bias: Floats
    observed: Floats
    growth: Floats
    truth: Floats
    reach: Floats

    def rows(self, chosen: Any) -> Errors:
        """Return some of the problems."""
        return Errors(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def gather(records: Sequence[Record]) -> Errors:
    """Return the errors that records hold."""
    rows = [_row(record) for record in records]
    return Errors(*(np.array(column) for column in zip(*rows, strict=True)))


def _row(record: Record) -> tuple[Floats, ...]:
    refits, half = refits_of(record), 0.5 / record["uncertainty"]["n_probes"]
    value, truth = np.array(record["value"]), np.array(record["truth"])
    estimate = logit(np.clip(value, half, 1 - half))
    plain = estimate - logit(np.clip(truth, SURE, 1 - SURE))
    is_open = ((value <= half) & (plain > 0)) | ((value >= 1 - half) & (plain < 0))
    inside, none = np.clip(truth, half, 1 - half), np.full(len(estimate), np.nan)
    return (
        estimate,
        estimate - logit(inside),
        np.where(is_open, 0.0, plain),
        refits.bias,
        np.full(len(estimate), refits.measured),
        none if refits.growth is None else refits.growth,
        np.array(record["truth_error"]) / (inside * (1 - inside)),
        refits.reach,
    )


def _variance(errors: Errors, model: ErrorModel) -> Floats:
    growth = np.where(np.isnan(errors.growth), model.blind_growth * errors.reach, errors.growth)
    variance = (
        errors.observed**2 * np.exp(model.growth * growth)
        + (model.scale * errors.reach**model.power) ** 2
    )
    return np.asarray(variance + (model.doubt * errors.bias) ** 2 + errors.truth**2)


def _first() -> ErrorModel:
    """Return where to begin: as now, but in some doubt, whose slope is zero where it is zero."""
    return replace(MODEL, doubt=max(MODEL.doubt, SOME_DOUBT))


def loss(errors: Errors, model: ErrorModel) -> float:
    """Return minus the mean log likelihood of a model, up to a constant."""
    apart, spread = _apart(errors, errors.error, model)
    z2 = (apart / spread) ** 2
    return float(np.mean(np.log(spread) + (FREEDOM + 1) / 2 * np.log1p(z2 / FREEDOM)))


def _apart(errors: Errors, error: Floats, model: ErrorModel) -> tuple[Floats, Floats]:
    """Return errors on the scale where they are about symmetric, and their standard deviations."""
    middle = errors.estimate - model.share * errors.bias
    spread = slope(middle) * np.sqrt(_variance(errors, model))
    return cloglog(middle) - cloglog(errors.estimate - error), spread


def fit(errors: Errors, start: ErrorModel | None = None) -> ErrorModel:
    """Return the model under which the errors are most likely, with the quantiles they have."""
    model = _fit_constants(errors, _first() if start is None else start)
    # What stands in for the growth of the halves is what suits all errors, their growth forgotten.
    blind = replace(errors, growth=np.full_like(errors.growth, np.nan))
    best: Any = minimize_scalar(
        lambda rate: loss(blind, replace(model, blind_growth=float(rate))),
        bounds=(0.0, MOST_BLIND),
        method="bounded",
    )
    model = _fit_constants(errors, replace(model, blind_growth=float(best.x)))
    return replace(model, levels=LEVELS, quantiles=_quantiles(errors, model, LEVELS))


def _fit_constants(errors: Errors, start: ErrorModel) -> ErrorModel:
    """Fit all that is free, each in units of its own so that steps of one size suit all."""
    names = tuple(BOUNDS)
    unit = np.array([0.1 if name == "scale" else 1.0 for name in names])

    def model_of(values: Floats) -> ErrorModel:
        constants: dict[str, Any] = dict(zip(names, (values * unit).tolist(), strict=True))
        return replace(start, **constants)

    def distance(values: Floats) -> float:
        return loss(errors, model_of(values))

    limits = [tuple(end / u for end in BOUNDS[name]) for name, u in zip(names, unit, strict=True)]
    first: Any = np.array([np.clip(getattr(start, name), *BOUNDS[name]) for name in names]) / unit
    # Twice, as the first search may end early where a constant comes near its limit.
    for _ in range(2):
        best: Any = minimize(distance, first, method="L-BFGS-B", bounds=limits)
        first = best.x
    return model_of(first)


def _scaled(errors: Errors, model: ErrorModel) -> Floats:
    """Absolute values of z; zero where an interval is open to that side."""
    apart, spread = _apart(errors, errors.plain, model)
    return np.where(errors.plain == 0, 0.0, np.abs(apart / spread))


def _quantiles(errors: Errors, model: ErrorModel, levels: Sequence[float]) -> tuple[float, ...]:
    # Up to the pilot's own size intervals take Student's.
    quantiles = np.quantile(_scaled(errors, model)[errors.reach > 0], levels)
    quantiles[0] = 0.0
    return tuple(float(value) for value in quantiles)


def by_ratio(errors: Errors, model: ErrorModel, ratios: Sequence[float]) -> dict[str, float]:
    """Return the quantile that intervals would take at each ratio alone."""
    quantiles = np.quantile(_scaled(errors, model), CONFIDENCE, axis=0)
    return {f"{ratio:g}": round(float(q), 3) for ratio, q in zip(ratios, quantiles, strict=True)}


def standard_errors(
    errors: Errors, model: ErrorModel, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, float]:
    """Return the spread of each constant over fits to resampled problems."""
    rng = np.random.default_rng([seed, len(errors.error)])
    n, refits = len(errors.error), []
    for _ in range(whole_number(resamples, "resamples", 2)):
        refitted = fit(errors.rows(rng.integers(n, size=n)), model)
        constants = {name: getattr(refitted, name) for name in named()}
        refits.append(constants | {"quantile_90": refitted.multiplier(CONFIDENCE)})
    return {
        name: round(float(np.std([constants[name] for constants in refits], ddof=1)), 4)
        for name in refits[0]
    }


def named() -> tuple[str, ...]:
    """Return the constants that a calibration sets, besides the quantiles."""
    return ("growth", "blind_growth", *tuple(BOUNDS)[1:])


def as_code(model: ErrorModel, apart: dict[str, float]) -> str:
    """Return the model as it is pasted into `refitted.py`, with standard errors."""
    lines = ["MODEL = ErrorModel("]
    for name in named():
        lines.append(f"    {name}={getattr(model, name):.3g},  # +- {apart[name]:.2g}")
    quantiles = ", ".join(f"{value:.4g}" for value in model.quantiles)
    remark = f"  # +- {apart['quantile_90']:.2g} at {CONFIDENCE:g}"
    lines += [f"    levels={model.levels},", f"    quantiles=({quantiles}),{remark}", ")"]
    return "\n".join(lines)

"""The learned part of the default forecast, run in NumPy.

`experiments.training.network` says how the network is built and trains it. Its weights lie beside
this module, in half precision, with the commit and the settings they were made from.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from headcount.estimators.auto.features import RATIOS, Features

Floats = NDArray[np.float64]
Weights = dict[str, Floats]

CLIP = 6.0  # standardised features beyond are as good as this
N_RATIOS = len(RATIOS)
FILE = "weights.npz"
ORIGIN = "origin"  # the member that says what the weights were made from
# How far a forecast may leave the fit, in units of what the losses leave open, and how much past
# the pilot's size they leave open in any case, in log odds for each unit of log(k / K).
FREEDOM, SHAPE = 3.0, 0.25
SPREADS = (-4.0, 1.0)  # logarithms of stated spreads, in the same units


@lru_cache(maxsize=1)
def weights() -> Weights:
    """Return the weights of the network, read once."""
    return {name: value for name, value in _read().items() if name != ORIGIN}


def origin() -> dict[str, Any]:
    """Return the commit and the settings that the weights were made from."""
    made: dict[str, Any] = json.loads(str(_read()[ORIGIN]))
    return made


def _read() -> dict[str, Any]:
    with (
        (files("headcount.estimators.auto") / FILE).open("rb") as stream,
        np.load(stream, allow_pickle=False) as read,
    ):
        return {
            name: read[name] if name == ORIGIN else read[name].astype(np.float64)
            for name in read.files
        }


def reach(xp: Any, errors: Any) -> Any:
    """Return the units of corrections: what losses leave open, and the shape beyond them."""
    past = np.maximum(SHAPE * np.log(RATIOS), 0.0)
    return xp.sqrt(errors**2 + (past if xp is np else xp.as_tensor(past).to(errors)) ** 2)


def smooth(share: float) -> float:
    """Return zero below zero, one above one, and a smooth rise in between."""
    share = min(max(float(share), 0.0), 1.0)
    return share * share * (3 - 2 * share)


def run(weights: Weights, features: Features) -> tuple[Floats, Floats]:
    """Return the forecast at `RATIOS` and the spread of its error, both on the logit scale."""
    x, g = standardised(weights, features)

    x = x.astype(np.float32)  # of many probes: half the memory, and twice as fast

    def linear(name: str, values: Any) -> Any:
        weight, bias = (weights[f"{name}.{which}"] for which in ("weight", "bias"))
        return values @ weight.T.astype(values.dtype) + bias.astype(values.dtype)

    first = linear("probe3", _silu(linear("probe2", _silu(linear("probe1", x)))))
    context = _silu(linear("context1", np.concatenate([pooled(first, features), g])))
    context = _silu(linear("context2", context))
    of_pilot = weights["second1c.weight"] @ context
    second = _silu(linear("second1", x) + of_pilot.astype(x.dtype))
    second = _silu(linear("second2", second)) + second
    out = linear("second3", second)
    chances = expit(out[:, :N_RATIOS] + features.base)
    mean = np.clip(pooled(chances, features)[:N_RATIOS], 1e-5, 1 - 1e-5)
    ahead = np.log(mean) - np.log1p(-mean) - features.base
    joined = np.concatenate([pooled(out[:, N_RATIOS:], features), context, g, ahead])
    last = _silu(linear("last1", joined))
    last = _silu(linear("last2", last)) + last
    shift, gate, log_spread = np.split(linear("last3", last), 3)
    unit = reach(np, features.errors)
    moved = FREEDOM * unit * np.tanh((expit(gate) * ahead + shift) / (FREEDOM * unit))
    return features.base + moved, unit * np.exp(np.clip(log_spread, *SPREADS))


def standardised(weights: Weights, features: Features) -> tuple[Floats, Floats]:
    """Return what a network sees of probes and of the whole, in units of its training problems."""
    x = (features.probes - weights["probe_mean"]) / weights["probe_spread"]
    g = (features.whole - weights["whole_mean"]) / weights["whole_spread"]
    return np.clip(x, -CLIP, CLIP), np.clip(g, -CLIP, CLIP)


def pooled(values: Floats, features: Features) -> Floats:
    """Return mean and spread over classes of the means within classes."""
    n_classes = len(features.class_weights)
    members = (np.ones(len(values)), (features.members, np.arange(len(values))))
    sums = np.asarray(csr_array(members, shape=(n_classes, len(values))) @ values)
    means = sums / np.bincount(features.members, minlength=n_classes)[:, None]
    centre = features.class_weights @ means
    variance = features.class_weights @ (means - centre) ** 2
    return np.concatenate([centre, np.sqrt(variance + 1e-6)])


def _silu(values: Any) -> Any:
    return values * expit(values)

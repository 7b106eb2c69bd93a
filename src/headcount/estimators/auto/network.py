"""The learned part of the default forecast, run in NumPy.

`experiments.training.network` says how the network is built and trains it. Several, trained from
other first weights and on problems of several kinds, are averaged. Some have `limits`: they learned
from few recognisers that are nearly perfect, or from none that are nearly useless either, and have
no say where a pilot is one. Their weights lie beside this module, in half precision.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from headcount.estimators.auto.features import N_OBSERVED, RATIOS, Features

Floats = NDArray[np.float64]
Weights = dict[str, Floats]

CLIP = 6.0  # standardised features beyond are as good as this
N_RATIOS = len(RATIOS)
FILE = "weights.npz"


@lru_cache(maxsize=1)
def networks() -> tuple[Weights, ...]:
    """Return the weights of all networks, read once."""
    by_network: dict[str, Weights] = {}
    with (
        (files("headcount.estimators.auto") / FILE).open("rb") as stream,
        np.load(stream, allow_pickle=False) as read,
    ):
        for name in read.files:
            network, layer = name.split("/")
            by_network.setdefault(network, {})[layer] = read[name].astype(np.float64)
    return tuple(by_network[name] for name in sorted(by_network))


def forecast(features: Features) -> tuple[Floats, Floats]:
    """Return the forecast at `RATIOS` and the spread of its error, both on the logit scale.

    The spread holds what the networks expect of their own errors and how far they disagree.
    """
    votes = np.array([vote(weights, features) for weights in networks()])
    votes = votes / votes.sum()
    runs = [run(weights, features) for weights in networks()]
    curves = np.array([curve for curve, _ in runs])
    mean = votes @ curves
    variance = votes @ np.exp([2 * log_spread for _, log_spread in runs])
    return mean, np.sqrt(variance + votes @ (curves - mean) ** 2)


def vote(weights: Weights, features: Features) -> float:
    """Return how much a network counts: less where the pilot is unlike what it learned from.

    Its limits are log odds of being right among the pilot's classes: it counts in full between the
    inner two, and not at all beyond the outer two.
    """
    if "limits" not in weights:
        return 1.0
    lowest, low, high, highest = weights["limits"]
    here = features.base[N_OBSERVED - 1]
    return smooth(min((here - lowest) / (low - lowest), (highest - here) / (highest - high)))


def smooth(share: float) -> float:
    """Return zero below zero, one above one, and a smooth rise in between."""
    share = min(max(float(share), 0.0), 1.0)
    return share * share * (3 - 2 * share)


def run(weights: Weights, features: Features) -> tuple[Floats, Floats]:
    """Return one network's forecast and log spread."""
    x, g = standardised(weights, features)

    def linear(name: str, values: Floats) -> Floats:
        return np.asarray(values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    first = linear("probe3", _silu(linear("probe2", _silu(linear("probe1", x)))))
    context = _silu(linear("context1", np.concatenate([pooled(first, features), g])))
    context = _silu(linear("context2", context))
    second = _silu(linear("second1", x) + weights["second1c.weight"] @ context)
    second = _silu(linear("second2", second)) + second
    out = linear("second3", second)
    chances = expit(out[:, :N_RATIOS] + features.base)
    mean = np.clip(pooled(chances, features)[:N_RATIOS], 1e-5, 1 - 1e-5)
    ahead = np.log(mean) - np.log1p(-mean) - features.base
    joined = np.concatenate([pooled(out[:, N_RATIOS:], features), context, g, ahead])
    last = _silu(linear("last1", joined))
    last = _silu(linear("last2", last)) + last
    shift, gate, log_spread = np.split(linear("last3", last), 3)
    return features.base + expit(gate) * ahead + shift, log_spread


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


def _silu(values: Floats) -> Floats:
    return np.asarray(values * expit(values))

"""What the tests of pictures share: a pilot, its forecast, and how a picture is read."""

import functools
import warnings

import numpy as np

from headcount import Pilot, forecast


@functools.cache
def pilot_of(strength, seed=0, n=60):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n), 3)
    return Pilot.from_scores(rng.normal(size=(3 * n, n)) + strength * np.eye(n)[labels], labels)


@functools.cache
def forecast_of(strength, metric="accuracy"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return forecast(
            pilot_of(strength), classes=[300, 3000], method="probit-normal", metric=metric
        )


def lines(display):
    return {line.get_label(): line for line in display.ax_.get_lines()}


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def points_of(line):
    return list(zip(*(np.asarray(d).tolist() for d in line.get_data()), strict=True))

"""Forecasts from parts of real data are near the truth of the whole."""

from pathlib import Path

import numpy as np
import pytest

import headcount
from headcount import Pilot, forecast, observe
from headcount.datasets import load_hangul

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(scope="module")
def hangul():
    return load_hangul()


def test_forecasts_from_500_syllables_are_centred_on_the_truth(hangul):
    """Twenty pilots; the standard error of their mean is about 0.02, a tenth of what is lost."""
    rng = np.random.default_rng(0)
    sizes = [2000, 11_172]
    truth = observe(hangul).accuracy(sizes)
    found = []
    for _ in range(20):
        drawn = hangul.subset(rng.choice(hangul.class_names, 500, replace=False))
        found.append(forecast(drawn, classes=sizes, intervals=False).accuracy(sizes))
    error = np.mean(found, axis=0) - truth
    assert abs(error[0]) < 0.03
    assert abs(error[1]) < 0.07


@pytest.mark.skipif(not SHARED.is_dir(), reason="the development data are not here")
@pytest.mark.parametrize("name, truth", [("logistic", 0.7107), ("svm", 0.5452)])
def test_telugu_100_to_400(name, truth):
    pilot = headcount.load(SHARED / f"telugu_{name}_100.npz")
    assert isinstance(pilot, Pilot)
    # These classifiers are retrained at every size, so the theory holds only roughly.
    result = forecast(pilot, classes=400, intervals=False)
    assert float(result.accuracy(400)) == pytest.approx(truth, abs=0.1)

"""A fixed number of classes from each stratum: what varies between strata is no error."""

import numpy as np
import pytest

from headcount import Pilot, forecast
from headcount.metrics import ACCURACY
from headcount.uncertainty.jackknife import metric_covariance, without_each
from headcount.uncertainty.resampling import sampler_for

pytestmark = pytest.mark.filterwarnings("ignore::headcount.errors.ExtrapolationWarning")
SIZES = (32, 20, 11, 1)


@pytest.fixture(scope="module")
def pilot():
    """64 classes in four strata, some much harder than others."""
    rng = np.random.default_rng(0)
    stratum = np.repeat(np.arange(4), SIZES)
    centres, labels = rng.normal(size=(64, 5)), np.repeat(np.arange(64), 3)
    noise = np.array([0.2, 0.5, 0.9, 0.4])[stratum][labels][:, None]
    probes = centres[labels] + noise * rng.normal(size=(len(labels), 5))
    return Pilot.from_embeddings(probes, labels, centres, groups=stratum, drawn="strata")


@pytest.mark.parametrize("k", [2, 32])
def test_classes_vary_about_their_stratum(pilot, k):
    """By hand, stratum by stratum, at sizes where pairs are left out as well."""
    values = without_each(pilot, ACCURACY, np.array([k]))[:, 0]
    plain = 63 / 64 * np.sum((values - values.mean()) ** 2)
    within = 0.0
    for stratum, size in enumerate(SIZES):
        inside = values[pilot.groups == stratum]
        if size == 1:
            within += 63 / 64 * (inside[0] - values.mean()) ** 2
        else:
            within += (63 / 64) ** 2 * size / (size - 1) * np.sum((inside - inside.mean()) ** 2)
    one_by_one = pilot.with_groups(pilot.groups, "classes")
    pairs = plain * (plain / metric_covariance(one_by_one, k).item() - 1)  # J2
    assert within < 0.8 * plain
    expected = within / (1 + pairs / within)
    assert metric_covariance(pilot, k).item() == pytest.approx(expected, rel=1e-9)


def test_one_stratum_is_none(pilot):
    same = pilot.with_groups(["all"] * 64, "strata")
    plain = pilot.with_groups(None)
    k = [2, 10, 64]
    assert metric_covariance(same, k) == pytest.approx(metric_covariance(plain, k), rel=1e-12)


def test_the_same_share_of_each_stratum_is_drawn(pilot):
    sampler, rng = sampler_for(pilot), np.random.default_rng(1)
    seen = set()
    for _ in range(20):
        half = sampler.draw(32, rng)
        assert half.n_classes == 32
        counts = np.bincount(half.groups, minlength=4)
        assert (np.abs(counts - np.array(SIZES) / 2) <= 1).all()
        seen |= set(half.class_names.tolist())
    assert len(seen) == 64  # each has its chance


def test_the_forecast_is_as_without_and_surer_at_the_pilot(pilot):
    with_strata, without = (
        forecast(p, classes=128, method="probit-normal")
        for p in (pilot, pilot.with_groups(pilot.groups, "classes"))
    )
    assert with_strata.value(128) == pytest.approx(without.value(128), abs=1e-12)
    narrow, wide = (np.diff(f.interval(64)).item() for f in (with_strata, without))
    assert narrow < 0.95 * wide

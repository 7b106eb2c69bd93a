"""Plans at their thresholds: probes that are too few to show a value, sizes at k, and bounds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from headcount.metrics import ACCURACY
from headcount.questions.plan import FEWEST, MOST, PER_CLASS, WidthModel, plan_by, sufficient_sizes
from headcount.support.words import OURS
from interval_pilots import make_uncertainty, normal_moves

GRID = np.array([100, 1000, 10_000])
SHAPE = 0.1 * np.log(GRID / 100)  # beside an error of sampling of 0.2


def doubts(**changed):
    fields = {
        "n_classes": 100, "n_probes": 200, "inside": np.array([2, 100]),
        "observed_error": np.full(2, 0.2), "grid": GRID,
        "moves": normal_moves(np.hypot(0.2, SHAPE)), "sampled": 0.04 / (0.04 + SHAPE**2),
        "class_variance": 3e-4, "probe_variance": 1e-4, "probes_per_class": 2.0,
        "observed": 0.5,
    }  # fmt: skip
    return make_uncertainty(**fields | changed)


def forecast_of(value):
    return SimpleNamespace(
        confidence=0.9, method="any", n_classes=100, n_probes=200, checks=(), nouns=OURS,
        metric=ACCURACY, value=lambda k: value(np.asarray(k, dtype=float)),
    )  # fmt: skip


def model(value=lambda k: np.full(np.shape(k), 0.5), k=1000, **changed):
    return WidthModel(forecast_of(value), doubts(**changed), k)


def test_constants():
    assert (FEWEST, MOST, PER_CLASS) == (10, 10_000_000, (1, 2, 5, 10, 20))


def test_the_sampling_variance_by_the_formula():
    made = model()
    # Of as many classes, four times, and forty times, the share that sampling has there.
    for size in (100, 400, 4000):
        share = float(made.u.sampled_share(max(math.floor(1000 / size * 100 + 1e-9), 100)))
        assert made.sampling(np.array(float(size)), 2.0) == pytest.approx(share * 100 / size)
    # A quarter comes from probes: twice as many halve that.
    assert made.by_probes == pytest.approx(0.25)
    share = float(made.u.sampled_share(1000))
    assert made.sampling(np.array(100.0), 4.0) == pytest.approx(share * 0.875)
    assert made.sampling(np.array(100.0), 1.0) == pytest.approx(share * 1.25)


def test_the_variance_follows_how_near_the_value_is_to_one_half():
    # Among k classes 1 / (1 + k / 100): a half at 100, a fifth at 400, an eleventh at 1,000.
    made = model(lambda k: 1 / (1 + k / 100))
    spread = {100: 0.25, 400: 0.16, 1000: 10 / 121}
    for size in (400, 1000, 5000):
        at = min(size, 1000)
        share = float(made.u.sampled_share(max(100_000 // size, 100)))
        expected = share * (0.25 / spread[at]) * 100 / size
        assert made.sampling(np.array(float(size)), 2.0) == pytest.approx(expected)


def test_the_spread_of_a_value_is_at_least_half_a_probe():
    made = model(lambda k: np.where(k > 100, 0.0, 0.5))
    # Half of one in 200 probes, for a quarter at 100 classes.
    expected = float(made.u.sampled_share(250)) * 0.25 / (0.5 / 200) * 100 / 400
    assert made.sampling(np.array(400.0), 2.0) == pytest.approx(expected)


def test_the_error_of_shape_is_that_at_the_same_ratio():
    made = model(k=1000)
    # 0.1 log(k / K) on the grid and straight in log k between its points.
    for size, ratio in ((100, 10), (10, 100), (500, 2), (999, 1000 / 999), (1000, 1), (4000, 1)):
        expected = 1 - made.u.sampled_share(math.floor(100 * ratio + 1e-9))
        assert made.extrapolation(np.array(float(size))) == pytest.approx(float(expected))


def test_a_value_nearer_to_one_than_a_probe_is_shown_by_a_larger_pilot():
    """A quarter of a hundredth is half of one in 200 probes: 400 of them would show it."""
    for value in (0.0025, 0.9975):
        made = model(lambda k, value=value: np.full(np.shape(k), value), k=100)
        assert made.rarer == pytest.approx(0.0025)
        assert made.shown.n_probes == math.ceil(1 / made.rarer)
        assert made.u.n_probes == 200
        sizes = np.array([150.0, 250.0])  # 300 and 500 probes
        factor = np.sqrt(made.sampling(sizes, 2.0))
        for i, known in enumerate((made.u, made.shown)):
            lower, upper = known.limits(value, 100, 0.9, factor[i])
            found = made.half_width(sizes[i], 2.0)
            assert float(found) == pytest.approx(float(upper - lower) / 2)
    for value, n_probes in ((0.005, 200), (0.0051, 200), (0.0, 200), (1.0, 200), (0.0049, 205)):
        made = model(lambda k, value=value: np.full(np.shape(k), value), k=100)
        assert made.shown.n_probes == n_probes


def test_variance_without_parts_comes_from_classes():
    still = model(class_variance=0.0, probe_variance=0.0)
    assert still.by_probes == 0
    assert len(sufficient_sizes(still, 0.1, 3.0)) == 1
    assert len(sufficient_sizes(model(), 0.1, 3.0)) == 6
    assert len(sufficient_sizes(model(), 0.1, 2.0)) == 5


def test_options_hold_what_they_say():
    made = model()
    for option in sufficient_sizes(made, 0.02, 2.5):
        assert option.probes == round(option.classes * option.probes_per_class)
        assert option.half_width == float(made.half_width(option.classes, option.probes_per_class))
        assert option.half_width <= 0.02
        assert made.half_width(option.classes - 1, option.probes_per_class) > 0.02


def test_shares_of_the_error_by_hand():
    found = plan_by(model(), 0.02, None)
    sampled = 0.04 / (0.04 + (0.1 * math.log(10)) ** 2)
    expected = (0.75 * sampled, 0.25 * sampled, 1 - sampled)
    shares = (found.class_share, found.probe_share, found.extrapolation_share)
    assert shares == pytest.approx(expected)
    assert found.probes_per_class == 2.0 and plan_by(model(), 0.02, 7.0).probes_per_class == 7.0


def test_the_upper_limit_is_the_least_on_the_way_to_k():
    made = model(k=1000)
    known, stages = made.u, np.array([100.0, 1000.0])
    lower, upper = known.limits(np.array([0.5, 0.5]), stages, 0.9)
    found = float(made.half_width(100, 2.0))
    assert found <= float(upper.min() - lower.min()) / 2 + 1e-12
    # Between its ends the interval is nowhere narrower above than at the pilot's own size.
    assert found == pytest.approx(float(upper[0] - lower[1]) / 2, rel=1e-2)


@pytest.mark.parametrize("extra, words", [(0, False), (1, True)])
def test_a_plan_of_as_many_classes_as_were_asked_about_needs_no_note(extra, words):
    made = model()
    wanted = float(made.half_width(1000 + extra, 2.0)) * (1 + 1e-9)
    found = plan_by(made, wanted, None)
    assert found.classes == 1000 + extra
    assert any("more than the 1,000 classes" in note for note in found.notes) == words


def test_words_at_the_pilots_own_size():
    made = model(k=100)
    now = float(made.half_width(100, 2.0)) * (1 + 1e-9)
    assert plan_by(made, now, None).sentences()[1].startswith("That is enough: about 100 classes")
    more = float(made.half_width(101, 2.0)) * (1 + 1e-9)
    assert plan_by(made, more, None).sentences()[1].startswith("To know it to within")
    one = plan_by(made, now, 1.0).sentences()[1]
    assert "with 1 probe each" in one

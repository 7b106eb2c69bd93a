"""How much a model gains by being retrained on more classes."""

import json
import math

import numpy as np
import pytest

import headcount
from headcount import DataError, ParameterError, Pilot, adaptation
from headcount.estimators import NoChange
from headcount.simulate import isotropic_gaussian, near_duplicates

pytestmark = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
QUICK = {"method": "no-change"}
SMALL, LARGE = 12, 30


def points(n_classes, seed=0, n_dims=5):
    """Centres, noise of probes and of templates; the first classes are those of smaller sets."""
    rng = np.random.default_rng(seed)
    shapes = (n_classes, n_dims), (n_classes, 2, n_dims), (n_classes, n_dims)
    return [rng.normal(size=shape) for shape in shapes]


def trained(n_classes, sigma, seed=0, names=None):
    centres, noise, template = (part[:n_classes] for part in points(LARGE, seed))
    probes = (centres[:, None] + sigma * noise).reshape(-1, centres.shape[1])
    names = np.array([f"c{i:02}" for i in range(n_classes)]) if names is None else names
    return Pilot.from_embeddings(probes, np.repeat(names, 2), centres + sigma * template, names)


@pytest.fixture(scope="module")
def adapted():
    pilots = [trained(20, 0.5), trained(SMALL, 0.6), trained(LARGE, 0.4)]
    return pilots, adaptation(pilots, **QUICK)


def test_what_is_measured_less_what_was_forecast(adapted):
    pilots, result = adapted
    assert list(result.forecasts) == [SMALL, 20, LARGE]
    steps = [(each.trained_on, each.retrained_on) for each in result.retrainings]
    assert steps == [(SMALL, 20), (SMALL, LARGE), (20, LARGE)]
    step = result.retraining(SMALL, LARGE)
    after, before = headcount.observe(pilots[2]), headcount.observe(pilots[1])
    assert step.degree.value == pytest.approx(float(after.accuracy(LARGE)))
    # Nothing changes with this method, so its forecast is what was measured at its own size.
    assert step.degree.forecast == pytest.approx(float(before.accuracy(SMALL)))
    assert step.degree.difference == step.degree.value - step.degree.forecast
    assert result.degree == step.degree and step.degree.region == "forecast"
    equal = step.at_equal_size
    assert (equal.classes, equal.region) == (SMALL, "observed")
    assert equal.difference == pytest.approx(
        float(after.accuracy(SMALL)) - float(before.accuracy(SMALL))
    )
    assert (step.lower <= step.difference).all() and (step.difference <= step.upper).all()
    assert step.classes[0] == 2 and step.classes[-1] == LARGE


def test_errors_go_together_as_what_each_shared_class_moves():
    """Against pilots from which each class was really taken; two of the classes are not shared."""
    names = np.array([*(f"c{i:02}" for i in range(SMALL - 2)), "x", "y"])
    before, after = trained(SMALL, 0.6, names=names), trained(LARGE, 0.4)
    step = adaptation([before, after], **QUICK).retrainings[0]
    assert step.shared_classes == SMALL - 2

    def moves(pilot, k):
        names, k = pilot.class_names.tolist(), min(k, pilot.n_classes - 1)
        without = {
            name: float(
                headcount.observe(
                    pilot.subset([other for other in names if other != name])
                ).accuracy(k)
            )
            for name in names
        }
        mean = np.mean(list(without.values()))
        return {name: value - mean for name, value in without.items()}

    for k in (2, SMALL - 1):
        first, second = moves(before, k), moves(after, k)
        together = sum(first[name] * second[name] for name in first if name in second)
        spread = math.hypot(*first.values()) * math.hypot(*second.values())
        at = step.classes.tolist().index(k)
        assert step.correlation[at] == pytest.approx(together / spread, rel=1e-6)
    assert step.correlation[1:5].min() > 0.2


def test_the_error_of_extrapolating_is_not_shared(adapted):
    result = adaptation([trained(SMALL, 0.5), trained(LARGE, 0.5)], method="probit-normal")
    step, before = result.retrainings[0], result.forecasts[SMALL].uncertainty
    place = step.classes.tolist().index(LARGE)
    at_small = step.correlation[step.classes.tolist().index(SMALL)]
    assert before.sampled_share(LARGE) < 0.999 and at_small > 0
    assert step.correlation[place] < at_small


def test_shared_classes_make_the_interval_narrower_and_unknown_ones_do_not():
    before, after = trained(SMALL, 0.5), trained(LARGE, 0.5)
    together = adaptation([before, after], **QUICK).retrainings[0]
    names = np.array([f"d{i:02}" for i in range(SMALL)])
    apart = adaptation([trained(SMALL, 0.5, names=names), after], **QUICK).retrainings[0]
    assert (together.shared_classes, apart.shared_classes) == (SMALL, 0)
    np.testing.assert_array_equal(apart.correlation, 0)
    np.testing.assert_allclose(together.difference, apart.difference, atol=1e-12)
    at = together.classes.tolist().index(SMALL)
    widths = [each.upper[at] - each.lower[at] for each in (together, apart)]
    assert widths[0] < 0.95 * widths[1]


def test_whole_groups_are_what_is_shared():
    large = near_duplicates(120, random_state=1).pilot
    groups = np.unique(large.groups)
    few = groups[: len(groups) // 2]
    small = large.subset(large.class_names[np.isin(large.groups, few)])
    step = adaptation([small, large], method="probit-normal").retrainings[0]
    assert step.shared_classes == len(few)
    # A mean over some of n groups and one over all of them, were there nothing else.
    at_small = step.correlation[step.classes == small.n_classes]
    assert at_small == pytest.approx(np.sqrt(len(few) / len(groups)), abs=0.15)


def test_without_scores_pilots_are_taken_as_independent():
    rng = np.random.default_rng(0)
    pilots = [Pilot.from_losses(rng.binomial(k - 1, 0.1, 80), k) for k in (10, 40)]
    result = adaptation(pilots, **QUICK)
    step = result.retrainings[0]
    assert step.shared_classes is None and step.lower is not None
    np.testing.assert_array_equal(step.correlation, 0)
    assert "taken as independent" in result.notes[0]
    assert result.to_dict()["differences"][0]["shared_classes"] is None


def test_a_method_without_a_backtest_gives_no_interval():
    class Slow(NoChange):
        alias = "slow-one"
        slow = True

    result = adaptation([trained(SMALL, 0.6), trained(LARGE, 0.4)], method=Slow())
    assert result.degree.lower is None and result.degree.chance is None
    assert "No intervals" in repr(result)
    assert result.to_csv().splitlines()[1].endswith(",,,,observed,12")
    assert json.loads(result.to_json())["differences"][0]["upper"] is None


def test_order_of_pilots_and_rows_does_not_matter(adapted):
    pilots, result = adapted
    turned = [pilot.keep_probes(np.arange(pilot.n_probes)[::-1]) for pilot in pilots[::-1]]
    again = adaptation(turned, **QUICK)
    np.testing.assert_allclose(again.degree.lower, result.degree.lower, atol=1e-9)
    np.testing.assert_allclose(again.degree.upper, result.degree.upper, atol=1e-9)


def test_all_right_and_all_wrong_stay_finite():
    for losses, expected in ((0, 0.0), (1, None)):
        few, many = (np.full(40, losses * (k - 1)) for k in (10, 40))
        with pytest.warns(headcount.AssumptionWarning):
            result = adaptation(
                [Pilot.from_losses(few, 10), Pilot.from_losses(many, 40)], method="probit-normal"
            )
        degree = result.degree
        assert -1 <= degree.lower <= degree.difference <= degree.upper <= 1
        if expected is not None:
            assert degree.lower <= expected <= degree.upper
            assert result.retrainings[0].at_equal_size.difference == expected


@pytest.mark.parametrize(
    "pilots, message",
    [
        ([], "two or more pilots"),
        ([trained(SMALL, 0.5)], "two or more pilots"),
        ("pilot.npz", "two or more pilots"),
        ({1: trained(SMALL, 0.5), 2: trained(LARGE, 0.5)}, "two or more pilots"),
    ],
)
def test_what_is_no_list_of_pilots_is_refused(pilots, message):
    with pytest.raises(ParameterError, match=message):
        adaptation(pilots)


def test_pilots_that_do_not_fit_are_refused(adapted):
    with pytest.raises(DataError, match="have 12, 30, 12 classes"):
        adaptation([trained(SMALL, 0.5), trained(LARGE, 0.5), trained(SMALL, 0.4)])
    pilots = [Pilot.from_losses([0, 1, 2], 10), Pilot.from_losses([0, 1, 2], 20, tie_rule="win")]
    with pytest.raises(DataError, match="differ in tie_rule"):
        adaptation(pilots)
    with pytest.raises(ParameterError, match="no step from 30 to 12"):
        adapted[1].retraining(LARGE, SMALL)
    with pytest.raises(ParameterError, match="not on this curve"):
        adapted[1].retrainings[0].at(500)


def test_readable_answer(adapted):
    _, result = adapted
    lines = repr(result).split("\n  ")
    assert lines[0] == "Adaptation of a model trained on 12, 20, 30 classes, in accuracy"
    assert len(lines) == 1 + 2 * 3
    assert lines[3].startswith("Retrained on 30 classes, accuracy is ")
    assert " was forecast from 12: " in lines[3] and "90% interval" in lines[3]
    assert lines[4].startswith("Among 12 classes, as both were measured, it is ")
    assert result._repr_html_().count("<li>") == 6
    faces = [pilot.with_nouns("face/faces", "photo/photos") for pilot in adapted[0]]
    assert "Retrained on 30 faces" in repr(adaptation(faces, **QUICK))


def test_all_ways_out_say_the_same(adapted, tmp_path):
    _, result = adapted
    frame = result.to_frame()
    assert list(frame.columns) == [
        "trained_on", "retrained_on", "classes", "value", "forecast", "difference", "lower",
        "upper", "chance", "region", "shared_classes",
    ]  # fmt: skip
    rows = json.loads(result.to_json(), parse_constant=pytest.fail)["differences"]
    assert frame.to_dict("records") == rows and len(rows) == 6
    header, *lines = result.to_csv().splitlines()
    assert header.split(",") == list(frame.columns)
    assert [float(line.split(",")[5]) for line in lines] == frame["difference"].tolist()
    assert result.to_dict()["pilots"][2] == {
        "n_classes": LARGE, "n_probes": 60, "method": "no-change",
    }  # fmt: skip


def test_picture_has_a_curve_for_each_pilot(adapted):
    display = adapted[1].display()
    frame = display.frame()
    assert list(dict.fromkeys(frame["system"])) == [f"trained on {k}" for k in (SMALL, 20, LARGE)]
    assert set(frame["region"][frame["system"] == "trained on 12"]) == {"observed", "forecast"}
    assert max(frame["classes"]) == LARGE
    adapted[1].plot()
    assert adapted[1].plot(error_rate=True).ax_.get_ylabel()


def test_another_metric():
    pilots = [isotropic_gaussian(k, sigma=0.7, random_state=k).pilot for k in (15, 40)]
    result = adaptation(pilots, metric="top-3", **QUICK)
    assert result.degree.value == float(headcount.observe(pilots[1]).top(3, 40))
    assert "top-3 accuracy" in repr(result)

import csv
import io
import json
import math

import numpy as np
import pytest
from scipy.special import expit, logit

import headcount
from command_line import N_CLASSES, make_scores, read_json, write_npz
from headcount import ParameterError, Pilot, UnsupportedError, forecast, plan, simulate
from headcount.metrics import ACCURACY
from headcount.questions.plan import FEWEST, Plan, WidthModel, plan_by, sufficient_sizes
from headcount.support.words import OURS

QUIET = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
Z = 1.7


class Flat:
    """Stands for a forecast whose value does not depend on the number of classes."""

    confidence, method, n_classes, n_probes, checks = 0.9, "flat", 100, 200, ()
    nouns, metric = OURS, ACCURACY

    def value(self, k):
        return np.full(np.shape(k), 0.5)


class Doubts:
    """Errors that are the same at all numbers of classes, but for that of extrapolating.

    That one is linear in log k, from nothing at 100 classes to `extrapolation` at 10,000.
    """

    n_classes, n_probes, grid = 100, 200, (100, 5000)

    def __init__(self, sampling=0.2, extrapolation=0.0, by_probes=0.0, per_class=2.0):
        self.sampling, self.slope = sampling, extrapolation / 2
        self.class_variance, self.probe_variance = 1 - by_probes, by_probes
        self.probes_per_class = per_class
        self.told_apart = by_probes > 0

    def extrapolation(self, k):
        return self.slope * np.log10(np.maximum(np.asarray(k) / 100, 1))

    def spread(self, k):
        return np.hypot(self.sampling, self.extrapolation(k))

    def sampled_share(self, k):
        return (self.sampling / self.spread(k)) ** 2

    def limits(self, value, k, confidence, factor):
        assert confidence == 0.9
        error = factor * self.spread(k)
        return expit(logit(value) - Z * error), expit(logit(value) + Z * error)


def model(k=1000, **errors):
    return WidthModel(Flat(), Doubts(**errors), k)


def half_width(error, measured=None):
    """Of an interval around one half; its upper limit is the one at the pilot's own size."""
    least = error if measured is None else measured
    return (expit(Z * least) - expit(-Z * error)) / 2


# -- how the error falls ---------------------------------------------------------------------------


@pytest.mark.parametrize("times", [0.25, 4, 25])
def test_sampling_errors_fall_as_the_root_of_the_number_of_classes(times):
    found = model().half_width(100 * times, 2.0)
    assert found == pytest.approx(half_width(0.2 / math.sqrt(times)))
    assert abs(model().fewest(float(found), 2.0) - 100 * times) <= 1


def test_the_fewest_classes_do_and_one_less_does_not():
    made = model(extrapolation=0.5, by_probes=0.3)
    for wanted in (0.2, 0.05, 0.013):
        classes = made.fewest(wanted, 3.0)
        assert made.half_width(classes, 3.0) <= wanted
        assert classes == FEWEST or made.half_width(classes - 1, 3.0) > wanted


@pytest.mark.parametrize("by_probes, factor", [(0.0, 1.0), (1.0, 0.5), (0.4, 0.8)])
def test_twice_the_probes_halve_only_what_comes_from_probes(by_probes, factor):
    made = model(by_probes=by_probes)
    found = made.fewest(half_width(0.02), 4.0)
    assert found == pytest.approx(100 * 100 * factor, abs=1)


def test_errors_of_extrapolating_are_those_at_the_same_ratio_and_end_at_k():
    made = model(k=1000, sampling=1e-6, extrapolation=0.8)
    # Linear in log k from 0 at 100 classes to 0.8 at a hundred times as many.
    for size, error in ((100, 0.4), (10, 0.8), (250, 0.4 * math.log10(4))):
        expected = half_width(error, 1e-6 * math.sqrt(100 / size))
        assert made.half_width(size, 2.0) == pytest.approx(expected, rel=1e-6)
    for enough in (1000, 5000):
        assert made.half_width(enough, 2.0) < 1e-5


@QUIET
def test_a_larger_pilot_shows_accuracies_that_this_one_cannot():
    """Half a percent right is less than half of one in four probes; with many it is measured."""
    made = forecast(Pilot.from_losses([0, 1, 0, 1], 4), classes=[1000], method="probit-normal")
    assert 0 < made.accuracy(1000) < 0.125
    wide = WidthModel(made, made.uncertainty, 1000)
    lower, upper = made.interval(1000)
    assert lower == 0
    assert wide.half_width(4, 1.0) == pytest.approx(float(upper - lower) / 2)
    assert wide.half_width(10_000_000, 1.0) < 1e-4


@QUIET
def test_the_pilot_at_hand_has_the_interval_of_its_forecast():
    pilot = simulate.isotropic_gaussian(40, sigma=0.8, probes_per_class=2, random_state=0).pilot
    made = forecast(pilot, classes=200, method="no-change")
    rungs = made.limits.classes  # between them, limits are straight lines
    for k in (20, 40, int(rungs[rungs > 200][0])):
        lower, upper = made.interval(k)
        found = WidthModel(made, made.uncertainty, k).half_width(
            40, made.uncertainty.probes_per_class
        )
        assert found == pytest.approx((upper - lower) / 2)


def test_where_the_error_comes_from_adds_up():
    found = plan_by(model(k=10_000, extrapolation=0.2, by_probes=0.25), 0.05, None)
    shares = (found.class_share, found.probe_share, found.extrapolation_share)
    assert shares == pytest.approx((0.375, 0.125, 0.5))
    assert found.half_width_now == pytest.approx(half_width(0.2 * math.sqrt(2), 0.2))


# -- what is returned ------------------------------------------------------------------------------


def test_more_probes_of_each_class_need_fewer_classes():
    found = sufficient_sizes(model(by_probes=0.5), half_width(0.05), 2.0)
    assert [option.probes_per_class for option in found] == [1, 2, 5, 10, 20]
    classes = [option.classes for option in found]
    assert classes == sorted(classes, reverse=True)
    for option in found:
        share = 0.5 + 0.5 * 2 / option.probes_per_class
        assert option.classes == pytest.approx(1600 * share, abs=1)
        assert option.probes == option.classes * option.probes_per_class
        assert option.half_width <= half_width(0.05)


def test_what_probes_bring_is_not_guessed():
    found = plan_by(model(by_probes=0.0, per_class=1.0), half_width(0.05), 7.0)
    assert found.classes == pytest.approx(1600, abs=1)
    assert [option.probes_per_class for option in found.options] == [7.0]
    assert "assumed they bring nothing" in found.notes[0]


def test_copies_of_probes_bring_nothing():
    made = model(by_probes=0.0)
    made.u.told_apart = True  # classes have several probes, all of the same fate
    assert "always right or wrong together" in plan_by(made, half_width(0.05), 2.0).notes[0]


def test_what_cannot_be_reached_is_said():
    found = plan_by(model(sampling=1.0, by_probes=0.5), 1e-5, None)
    assert (found.classes, found.options) == (None, ())
    assert "Not even 10,000,000 classes with 2 probes each" in found.sentences()[1]
    read_json(found.to_json())


def test_more_classes_than_asked_about_are_explained():
    found = plan_by(model(k=1000, by_probes=0.5), half_width(0.02), None)
    assert found.classes > 1000
    assert "more than the 1,000 classes asked about" in found.notes[-1]


def test_words():
    found = plan_by(model(by_probes=0.5), half_width(0.05), None)
    assert repr(found).splitlines() == [
        "Plan for accuracy at 1,000 classes within 2.1 points",
        "  Now, from 100 classes, accuracy at 1,000 is forecast as 50% and known to within 8.4 points "
        "(90% interval).",
        "  To know it to within 2.1 points, take about 1,600 classes with 2 probes each.",
        "  These are more than the 1,000 classes asked about: the expected accuracy is an average "
        "over all sets of so many, and one set is not enough to know it so well.",
    ]
    assert found._repr_html_().startswith("<div><strong>Plan for accuracy")
    enough = plan_by(model(by_probes=0.5), 0.2, None)
    assert enough.sentences()[1].startswith("That is enough: about")


def test_ways_out():
    found = plan_by(model(by_probes=0.5), half_width(0.05), None)
    held = read_json(found.to_json())
    assert held == json.loads(json.dumps(found.to_dict()))
    assert (held["schema"], held["k"], held["classes"]) == (2, 1000, found.classes)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [int(row["classes"]) for row in rows] == [option.classes for option in found.options]
    assert found.to_frame()["probes"].tolist() == [option.probes for option in found.options]
    assert isinstance(found, Plan)


# -- edges and bad input ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    return simulate.isotropic_gaussian(30, sigma=0.8, probes_per_class=2, random_state=0).pilot


@QUIET
def test_a_number_of_classes_inside_the_pilot_needs_no_extrapolating(small):
    found = plan(small, 10, 0.02, method="no-change")
    assert found.extrapolation_share == 0
    assert found.classes > 30
    # From 30 classes on, only their number counts.
    now = found.half_width_now
    assert found.classes == pytest.approx(30 * (now / 0.02) ** 2, rel=0.15)


@QUIET
def test_counts_without_labels_can_be_planned_from():
    found = plan(Pilot.from_losses(np.arange(60) % 4, 60), 60, 0.03, method="no-change")
    assert found.classes > 60
    assert "it is not known which" in found.notes[0]


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"half_width": 0}, "half_width must lie between"),
        ({"half_width": 3}, "half_width must lie between"),
        ({"half_width": math.nan}, "half_width must lie between"),
        ({"k": 1}, "k must be at least 2"),
        ({"k": 10.5}, "k must be a whole number"),
        ({"probes_per_class": 0}, "probes_per_class must be"),
        ({"confidence": 1}, "confidence must lie"),
        ({"method": "magic"}, "unknown method"),
    ],
)
def test_bad_options_are_refused(small, changed, message):
    given = {"k": 100, "half_width": 0.03, "method": "no-change"} | changed
    with pytest.raises(ParameterError, match=message):
        plan(small, **given)


def test_no_error_at_all_is_nothing_to_plan_by():
    with pytest.raises(UnsupportedError, match="no error at all"):
        plan_by(model(sampling=0.0), 0.05, None)


# -- the command -----------------------------------------------------------------------------------


WORDS = ("--classes", str(N_CLASSES), "--half-width", "0.03", "--method", "no-change")


def test_the_command_says_what_the_library_says(pilot, answer):
    expected = plan(headcount.load(pilot), N_CLASSES, 0.03, method="no-change")
    found = read_json(answer("plan", pilot, *WORDS, "--json"))
    assert found == json.loads(expected.to_json()) | {"warnings": []}
    text = answer("plan", pilot, *WORDS)
    assert "\n".join(expected.sentences()) in text
    table = text.split("Sizes that would do:")[1].splitlines()
    assert [line.split()[1] for line in table if line.strip()][1:] == [
        "1",
        "2",
        "3",
        "5",
        "10",
        "20",
    ]


def test_a_plan_repeats_what_speaks_against_its_forecast(tmp_path, run):
    scores, labels = make_scores()
    few = write_npz(tmp_path, scores=scores[labels < 15, :15], labels=labels[labels < 15])
    words = ("--classes", "15", *WORDS[2:])
    made = headcount.forecast(headcount.load(few), classes=15, method="no-change")
    assert made.checks
    code, out, _ = run("plan", few, *words, "--json")
    assert code == 0
    assert read_json(out)["checks"] == [check.to_dict() for check in made.checks]
    err = run("plan", few, *words)[2]
    for check in made.checks:
        assert f"headcount: {check.severity} {check.code}: {check.message}" in err


@pytest.mark.parametrize(
    "words, message",
    [
        (["--half-width", "3"], "half_width must lie between 0 and 0.5"),
        (["--classes", "10,20"], "--classes takes one number here"),
        (["--probes-per-class", "-1"], "probes_per_class"),
    ],
)
def test_bad_words_are_refused(pilot, refused, words, message):
    assert message in refused("plan", pilot, *WORDS, *words)


def test_the_fewest_classes_of_all_and_one_more():
    made = model(extrapolation=0.5, by_probes=0.3)
    widths = [float(made.half_width(FEWEST + more, 3.0)) for more in range(4)]
    assert sorted(widths, reverse=True) == widths
    for more, width in enumerate(widths):
        assert made.fewest(width * (1 + 1e-9), 3.0) == FEWEST + more
    assert made.fewest(1.0, 3.0) == FEWEST
    assert made.fewest(1e-12, 3.0) is None

"""Forecasts for groups in known proportions, from pilot to page."""

import json

import numpy as np
import pytest

import headcount
from headcount import Forecast, Pilot, forecast
from headcount.curves.mixed import MixedObserved, mix_table
from headcount.errors import DataError, ExtrapolationWarning, ParameterError, UnsupportedError
from headcount.estimators import ProbitNormal
from headcount.estimators.mixed import Mixed
from mixed_pilots import world

MIX = {"a": 0.25, "b": 0.75}


@pytest.fixture(scope="module")
def pilot():
    return world(np.random.default_rng(0), 24, 18, 3)


@pytest.fixture(scope="module")
def result(pilot):
    with pytest.warns(ExtrapolationWarning, match="400 classes are further than the back-test"):
        return forecast(pilot, classes=[10, 60, 400], mix=MIX, method="probit-normal")


def test_what_the_pilot_holds_is_measured_and_the_rest_forecast(pilot, result):
    table = mix_table(pilot, MIX)
    assert result.n_classes == table.n_classes == 24 and result.mix == MIX
    assert result.value(10) == pytest.approx(float(MixedObserved(table).value(10)))
    fitted = Mixed(method=ProbitNormal(), mix=MIX).fit(pilot)
    np.testing.assert_allclose(result.value([60, 400]), fitted.predict([60, 400]))
    assert result.curve.region.tolist().count("observed") > 0
    assert (np.diff(result.curve.value[result.curve.classes > 24]) < 0).all()


def test_another_mix_is_another_answer(pilot, result):
    other = forecast(
        pilot, classes=400, mix={"a": 1, "b": 0}, method="probit-normal", intervals=False
    )
    alone = forecast(pilot.only_groups("a"), classes=400, method="probit-normal", intervals=False)
    assert other.value(400) == pytest.approx(alone.value(400), abs=1e-9)
    assert other.n_probes == alone.n_probes and other.value(400) > result.value(400) + 0.05


def test_intervals_hold_the_estimate_and_never_rise(result):
    k = np.array([5, 24, 25, 60, 400, 10_000])
    lower, upper = result.interval(k)
    value = result.value(k)
    assert (lower <= value).all() and (value <= upper).all()
    assert (np.diff(upper) <= 0).all() and (np.diff(lower) <= 0).all()
    wide = result.interval(60, "new_set")
    assert wide[0] < result.interval(60)[0] and wide[1] > result.interval(60)[1]
    capacity, limits = result.capacity(0.6), result.capacity_interval(0.6)
    assert limits[0] <= capacity <= limits[1]
    assert result.value(capacity) >= 0.6 > result.value(capacity + 1)


def test_it_was_back_tested_on_parts_of_every_group(result):
    assert result.backtest.n_classes == 24
    assert [step.n_classes for step in result.backtest.steps] == [12]
    assert result.backtest.observed == pytest.approx(result.value(24))
    assert result.uncertainty.n_classes == 24


def test_it_is_written_and_read_back_whole(result, tmp_path):
    again = Forecast.from_json(result.to_json())
    assert again.to_json() == result.to_json() and again.mix == MIX
    k = [10, 60, 400]
    np.testing.assert_allclose(again.value(k), result.value(k))
    np.testing.assert_allclose(again.top(3, k), result.top(3, k))
    np.testing.assert_allclose(again.interval(k), result.interval(k))
    assert json.loads(result.to_json())["mix"] == MIX
    assert result.to_csv().startswith("classes,value,lower,upper,region")
    result.save(tmp_path / "mix.csv")
    assert (tmp_path / "mix.csv").read_text() == result.to_csv()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state["mix"]["shares"].pop(),
        lambda state: state["mix"]["groups"].reverse() or state["mix"]["groups"].pop(),
        lambda state: state["mix"]["rows"][0]["losses"][0].append(1),
        lambda state: state["mix"]["rows"][0]["losses"][0].__setitem__(0, 99),
        lambda state: state["mix"]["rows"][1]["weights"].__setitem__(0, 0.9),
        lambda state: state["mix"].__setitem__("emphasis", [0.5, 0.4]),
        lambda state: state["joint"]["of_groups"].pop(),
        lambda state: state["joint"]["of_groups"][0]["laws"].pop(),
        lambda state: state["joint"]["of_groups"][0].__setitem__("correlation", 1.5),
        lambda state: state["joint"]["of_groups"][0]["laws"][0].__setitem__("p", [2.0]),
    ],
)
def test_what_cannot_have_been_written_is_refused(result, spoil):
    fields = json.loads(result.to_json())
    spoil(fields["state"])
    with pytest.raises(DataError):
        Forecast.from_json(json.dumps(fields))


def test_words_say_the_mix(result, tmp_path):
    head = "Forecast of accuracy from sets of up to 24 classes (75% b, 25% a) and 126 probes"
    assert repr(result).startswith(head)
    assert "24" in result._repr_html_()
    result.save(tmp_path / "mix.html")
    page = (tmp_path / "mix.html").read_text()
    assert "sets of up to 24 classes (75% b, 25% a)" in page
    assert "mix={&#39;a&#39;: 0.25, &#39;b&#39;: 0.75}" in page or "mix={'a': 0.25" in page
    assert result.method_code == '"probit-normal"'


def test_its_picture_is_drawn(result, tmp_path):
    result.save(tmp_path / "mix.png")
    assert (tmp_path / "mix.png").stat().st_size > 10_000
    with pytest.raises(UnsupportedError, match=r"take one group with Pilot\.only_groups"):
        headcount.plots.DiscriminabilityDisplay.from_forecast(result)


def test_top_m_and_other_methods(pilot):
    result = forecast(
        pilot, classes=[10, 200], mix=MIX, method="probit-normal", metric="top-3",
        intervals=False, other_methods=True,
    )  # fmt: skip
    assert result.value(200) > forecast(
        pilot, classes=200, mix=MIX, method="probit-normal", intervals=False
    ).value(200)
    assert {"regression", "exponential"} <= set(result.others)
    assert abs(result.other_table("exponential", 30).value[0] - result.value(30)) < 0.05


def test_checks_that_warn_of_another_mix_are_left_out():
    rng = np.random.default_rng(3)
    centres = np.concatenate([rng.normal(size=(40, 5)) * 3, rng.normal(size=(40, 5)) * 0.5])
    labels = np.repeat(np.arange(80), 5)
    points = centres[labels] + 0.5 * rng.normal(size=(400, 5))
    pilot = Pilot.from_embeddings(points, labels, centres, groups=["a"] * 40 + ["b"] * 40)
    options = {"classes": 100, "method": "probit-normal", "intervals": False}
    codes = {check.code for check in forecast(pilot, **options).checks}
    mixed = {check.code for check in forecast(pilot, mix=MIX, **options).checks}
    assert "HC013" in codes and not mixed & {"HC012", "HC013"}


def test_refusals(pilot, result):
    options = {"classes": 50, "method": "probit-normal", "intervals": False}
    with pytest.raises(ParameterError, match="'c' is no group of the pilot"):
        forecast(pilot, mix={"c": 1.0}, **options)
    small = pilot.subset(pilot.class_names[:27])
    with pytest.raises(DataError, match="group b has 3 classes in the pilot, and a mix needs 6"):
        forecast(small, mix=MIX, **options)
    bare = Pilot.from_losses([0, 1, 2], n_classes=20)
    with pytest.raises(ParameterError, match="this pilot has no groups"):
        forecast(bare, mix=MIX, **options)
    counts = Pilot.from_losses(
        np.arange(12) % 3, 12, labels=np.arange(12), groups=["a"] * 6 + ["b"] * 6
    )
    with pytest.raises(UnsupportedError, match="a mix needs to know which classes beat each"):
        forecast(counts, mix=MIX, **options)
    with pytest.raises(UnsupportedError, match="the best 100 can be counted, not 101"):
        forecast(pilot, mix=MIX, metric="top-101", **options)
    with pytest.raises(UnsupportedError, match='contains them all; ask for kind="new_set"'):
        result.interval(60, "grown_set")
    with pytest.raises(UnsupportedError, match='not known for a mix; use by="resampling"'):
        result.interval(60, by="asymptotic")


def test_a_group_whose_classes_have_no_probes_is_refused():
    whole = world(np.random.default_rng(0), 8, 8, 2)
    rows = np.flatnonzero(whole.labels < 8)
    with pytest.raises(DataError, match="fewer than two classes of group b have probes"):
        forecast(whole.keep_probes(rows), classes=50, mix=MIX, method="probit-normal")


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def npz(tmp_path):
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=(60, 20)), np.repeat(np.arange(20), 3)
    scores[np.arange(60), labels] += 2
    groups = np.array(["a"] * 12 + ["b, c"] * 8)
    np.savez(tmp_path / "pilot.npz", scores=scores, labels=labels, groups=groups)
    return tmp_path / "pilot.npz"


OPTIONS = ("--method", "probit-normal", "--no-intervals")


def test_the_command_takes_a_mix(npz, answer):
    mix = 'a=0.25,"b, c"=0.75'
    text = answer("forecast", npz, "--classes", "8,50", "--mix", mix, *OPTIONS, "--json")
    fields = json.loads(text)
    expected = forecast(
        str(npz), classes=[8, 50], mix={"a": 0.25, "b, c": 0.75}, method="probit-normal",
        intervals=False,
    )  # fmt: skip
    assert fields["mix"] == expected.mix and fields["n_classes"] == expected.n_classes
    assert fields["forecast"][-1]["value"] == expected.value(50)
    table = answer("forecast", npz, "--classes", "8,50", "--mix", mix, *OPTIONS)
    assert table.startswith("Pilot: sets of up to 11 classes (75% b, c, 25% a), 60 probes.")
    row = json.loads(answer("capacity", npz, "--target", "0.5", "--mix", mix, *OPTIONS, "--json"))
    assert row["capacity"][0]["classes"] == expected.capacity(0.5) and row["mix"] == expected.mix


@pytest.mark.parametrize("mix", ["a", "a=1,a=0", "a=much", "=1", "a=1,,b=0"])
def test_a_mix_that_cannot_be_read_is_refused(mix, npz, refused):
    message = refused("forecast", npz, "--classes", "50", "--mix", mix, *OPTIONS)
    assert "must give each group a share once, as in a=0.9,b=0.1" in message

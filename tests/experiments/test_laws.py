"""The default on hard laws: their truths against brute force, and tiny runs with real methods."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import headcount
from experiments import app
from experiments.runner import Settings
from experiments.yardstick import laws as experiment
from experiments.yardstick import worlds
from experiments.yardstick.laws import LAWS, Named
from experiments.yardstick.worlds import (
    BetaLaw,
    Chances,
    FlippedCodes,
    LogNormalLaw,
    MixedLaw,
    NoisyCodes,
    Relatives,
    RoundClasses,
    WholeFamilies,
)
from headcount import ParameterError
from headcount.curves.observed import observe
from headcount.estimators import ProbitNormal

KS = [2, 7, 60, 1000]
METHODS = ("auto", "probit-normal")
SMALL = {
    "codes": Named({20: 4, 30: 2}, lambda k: (FlippedCodes(16, 0.2), FlippedCodes(16, 0.3))),
    "beta": Named({30: 3}, lambda k: (BetaLaw(0.2, 1, 20),)),
    "aside": Named({20: 2}, lambda k: (FlippedCodes(8, 0.2),), counted=False),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    settings = Settings(tmp_path_factory.mktemp("results"))
    return experiment.laws(settings, methods=METHODS, laws_by_name=SMALL)


def row_of(results, law, method, k1=None):
    (row,) = (
        row
        for row in results.rows
        if (row["law"], row["method"], row["k1"]) == (law, method, k1)
    )  # fmt: skip
    return row


# -- truths ----------------------------------------------------------------------------------------


def test_chances_with_ties_are_those_of_every_outcome():
    """Each of three rivals wins, ties or loses; a probe that ties with t is right in 1 + t."""
    beaten, tied = np.array([0.2, 0.0, 0.5]), np.array([0.3, 0.4, 0.5])
    expected = []
    for p, t in zip(beaten, tied, strict=True):
        total = 0.0
        for outcome in product("wtl", repeat=3):
            chance = np.prod([{"w": p, "t": t, "l": 1 - p - t}[each] for each in outcome])
            total += chance * ("w" not in outcome) / (1 + outcome.count("t"))
        expected.append(total)
    assert Chances(beaten, tied).accuracy([4]) == pytest.approx([np.mean(expected)], abs=1e-12)
    without = Chances(beaten).accuracy([4])
    assert without == pytest.approx([np.mean((1 - beaten) ** 3)], abs=1e-12)
    assert Chances(beaten, 1e-15 * tied).accuracy([4]) == pytest.approx(without, abs=1e-12)


@pytest.mark.parametrize(
    ("law", "density"),
    [
        (LogNormalLaw(0.01, 1.5), lambda z: np.minimum(0.01 * np.exp(1.5 * z), 1)),
        (MixedLaw((1.0,), (0.02,), 0.4), lambda z: norm.cdf(norm.ppf(0.02) + 0.4 * z)),
    ],
)
def test_laws_of_u_against_an_integral(law, density):
    integrals = [
        quad(lambda z, k=k: norm.pdf(z) * (1 - density(z)) ** (k - 1), -9, 9, points=[0])[0]
        for k in KS
    ]
    assert law.accuracy(KS) == pytest.approx(integrals, abs=1e-7)


def test_beta_laws_against_an_integral():
    law = BetaLaw(0.5, 1, 50)
    integrals = [quad(lambda p, k=k: 50 * (1 - p) ** (49 + k - 1), 0, 1)[0] for k in KS]
    assert law.accuracy(KS) == pytest.approx(0.5 + 0.5 * np.array(integrals), abs=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        LogNormalLaw(0.02, 2.0),
        MixedLaw((0.3, 0.7), (0.001, 0.1), 0.4),
        BetaLaw(0.3, 0.5, 20),
    ],
)
def test_probes_have_the_law_of_the_truth(law):
    p = law.sample(np.random.default_rng(0), 40_000)
    assert Chances(p).accuracy(KS) == pytest.approx(law.accuracy(KS), abs=4 * 0.5 / 200)


@pytest.mark.parametrize(
    "world",
    [
        RoundClasses(0.8, probe_spread=0.5, hard_share=0.4, hard_factor=2.0),
        RoundClasses(0.6, hub_share=1.0, hub_bias=4.0),
        RoundClasses(0.6, hub_share=0.2, hub_bias=10.0),
        NoisyCodes(8, 1.0),
        FlippedCodes(10, 0.3),
    ],
)
def test_chances_are_the_shares_of_rivals_that_score_more(world):
    rng = np.random.default_rng(3)
    scene = world.scene(rng, np.arange(40), 100_000)
    scores, known = world.scores(scene), world.chances(scene)
    own = scores[np.arange(40), scene.labels][:, None]
    error = 4 * np.sqrt(0.25 / 100_000)
    assert known.beaten == pytest.approx((scores > own).mean(axis=1), abs=error)
    if known.tied is not None:
        assert known.tied == pytest.approx((scores == own).mean(axis=1), abs=error)


@pytest.mark.parametrize(
    "world",
    [
        RoundClasses(0.6, probe_spread=0.4, hard_share=0.3, hard_factor=2.0),
        RoundClasses(0.5, hub_share=0.1, hub_bias=10.0),
        NoisyCodes(8, 0.8),
        FlippedCodes(12, 0.25),
        MixedLaw((0.5, 0.5), (0.001, 0.1), 0.4),
    ],
)
def test_pilots_are_right_as_often_as_the_truth_says(world, monkeypatch):
    monkeypatch.setattr(worlds, "FRESH_PROBES", 20_000)
    rng = np.random.default_rng(1)
    seen, known, truth = [], [], None
    for _ in range(60):
        drawn = world.draw(rng, 30, 7)
        seen.append(float(observe(drawn.pilot).accuracy(30)))
        known.append(float(drawn.oracle([30])[0]))
        truth = float(drawn.truth([30])[0])
    for values in (seen, known):
        assert abs(np.mean(values) - truth) < 4 * np.std(values) / np.sqrt(60) + 0.005
    # What the oracle is told leaves out the luck of the rivals: it is nearer, not the same.
    assert np.std(known) < np.std(seen)
    # Hubs beat the probes of others and hold their own, so there the two part.
    together = np.corrcoef(seen, known)[0, 1]
    assert together < 0 if getattr(world, "hub_share", 0) else together > 0.3


def test_relatives_meet_only_beyond_the_pilot():
    """Two in three of the set have no relative in a pilot; its truth is that of all of them."""
    drawn = Relatives(0.1, 0.5).draw(np.random.default_rng(4), 30, 0)
    assert drawn.pilot.groups is None and drawn.pilot.n_classes == 30
    apart = drawn.truth([30]) - drawn.truth([600])
    alone = RoundClasses(0.5).fresh_chances(0).accuracy([30, 600])
    assert apart > alone[0] - alone[1] + 0.2
    assert drawn.truth([30]) == pytest.approx(drawn.oracle([30]), abs=0.15)
    assert drawn.truth([30]) != pytest.approx(drawn.oracle([30]), abs=1e-9)


def test_whole_families_are_met_at_every_size(monkeypatch):
    monkeypatch.setattr(worlds, "REFERENCE", 2000)
    drawn = WholeFamilies(0.1, 0.5).draw(np.random.default_rng(4), 60, 0)
    assert drawn.pilot.groups is None
    assert drawn.oracle is None
    truth = drawn.truth([60, 1000])
    assert truth[1] > truth[0] - 0.15  # unlike `Relatives`
    assert float(observe(drawn.pilot).accuracy(60)) == pytest.approx(truth[0], abs=0.15)


# -- forecasts -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::headcount.errors.ExtrapolationWarning")
@pytest.mark.parametrize("world", [RoundClasses(0.5), BetaLaw(0.5, 1, 50)])
def test_intervals_do_without_the_back_test(world, monkeypatch):
    monkeypatch.setattr(worlds, "FRESH_PROBES", 100)
    pilot, ks = world.draw(np.random.default_rng(2), 40, 0).pilot, [10, 40, 41, 80, 800]
    whole = headcount.forecast(pilot, classes=ks)
    alone = experiment.untested_forecast(pilot, ks)
    assert alone.accuracy(ks) == pytest.approx(whole.accuracy(ks), abs=1e-12)
    assert np.array(alone.interval(ks)) == pytest.approx(np.array(whole.interval(ks)), abs=1e-12)


def test_errors_are_those_of_every_k(results):
    errors = []
    for repeat in range(3):
        seed = experiment.seed_for(0, "laws", "pilot", "beta", 30, repeat)
        drawn = BetaLaw(0.2, 1, 20).draw(np.random.default_rng(seed), 30, 0)
        ks = np.arange(2, 601)
        gaps = ProbitNormal().fit(drawn.pilot).predict(ks) - drawn.truth(ks)
        errors.append(np.sqrt(np.mean(gaps**2)))
    row = row_of(results, "beta", "probit-normal")
    assert row["rmse"] == pytest.approx(np.mean(errors), rel=0.01)
    assert row["to_probit_normal"] == 1 and row["error_of_ratio"] == 0
    assert row["to_oracle"] == pytest.approx(
        row["rmse"] / row_of(results, "beta", "oracle")["rmse"], abs=1e-3
    )


def test_intervals_are_judged_at_every_ratio(results):
    holds, steps = [], []
    for repeat in range(3):
        seed = experiment.seed_for(0, "laws", "pilot", "beta", 30, repeat)
        drawn = BetaLaw(0.2, 1, 20).draw(np.random.default_rng(seed), 30, 0)
        made = experiment.untested_forecast(drawn.pilot, [600])
        ks = [30, 60, 150, 300, 600]
        lower, upper = made.interval(ks)
        holds.append((lower <= drawn.truth(ks)) & (drawn.truth(ks) <= upper))
        ends = made.interval(30)
        step = made.accuracy(31) - made.observed.accuracy(30)
        steps.append(abs(step) / ((ends[1] - ends[0]) / (2 * 1.645)))
    ours = row_of(results, "beta", "auto")
    shown = [ours[f"holds_{ratio}"] for ratio in (1, 2, 5, 10, 20)]
    assert shown == pytest.approx(np.mean(holds, axis=0), abs=1e-6)
    assert ours["step_95"] == pytest.approx(np.quantile(steps, 0.95), abs=1e-5)
    assert row_of(results, "beta", "probit-normal")["holds_1"] is None


def test_summaries_are_over_pilots_and_settings_take_turns(results):
    sizes = [row_of(results, "codes", "auto", k1) for k1 in (20, 30)]
    whole = row_of(results, "codes", "auto")
    assert [row["pilots"] for row in sizes] == [4, 2] and whole["pilots"] == 6
    means = np.average([row["rmse"] for row in sizes], weights=[4, 2])
    assert whole["rmse"] == pytest.approx(means, abs=1e-5)
    used = {(row["law"], row["k1"], row["world"]) for row in results.details["settings"]}
    assert {world for law, k1, world in used if (law, k1) == ("codes", 30)} == {
        "FlippedCodes(bits=16, flip=0.2)", "FlippedCodes(bits=16, flip=0.3)"
    }  # fmt: skip
    # What must not be done is shown and not counted.
    assert row_of(results, "aside", "auto")["pilots"] == 2
    assert row_of(results, "all", "auto")["pilots"] == 9


def test_the_laws_have_a_hundred_pilots_each_and_turns_that_come_out_even():
    for name, law in LAWS.items():
        assert sum(law.pilots.values()) >= 100, name
        for k1, count in law.pilots.items():
            assert count % len(law.settings(k1)) == 0, name


def test_a_law_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="--laws"):
        experiment.laws(Settings(tmp_path), names=["gravity"])
    with pytest.raises(ParameterError, match="no law is named"):
        experiment.laws(Settings(tmp_path), names=[])


def test_the_command_writes_a_table_and_a_picture(tmp_path, capsys):
    words = ["laws", "--laws", "half unbeatable,flipped bits", "--pilots", "1", "--jobs", "1"]
    words += ["--methods", "auto,probit-normal", "--output", str(tmp_path)]
    assert app.main(words) == 0
    out = capsys.readouterr().out
    assert "half unbeatable" in out and "flipped bits" in out
    names = {f"laws{ending}" for ending in (".json", ".csv", ".png")}
    assert names <= {file.name for file in tmp_path.iterdir()}
    assert app.main(words) == 0
    assert "4 tasks, 4 of them done before" in capsys.readouterr().out

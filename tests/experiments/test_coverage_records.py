"""How intervals are judged, on made-up errors, and what is kept of a pilot to judge them by."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtri

from experiments.coverage import coverage, records
from headcount import DataError, Pilot, simulate
from headcount.curves.observed import observe
from headcount.estimators import METHODS, NoChange, ProbitNormal
from headcount.uncertainty import intervals, measured, refitted
from headcount.uncertainty.refitted import MODEL, ErrorModel
from interval_pilots import make_uncertainty

NORMAL = ErrorModel(
    growth=1.0,
    blind_growth=0.0,
    scale=0.1,
    power=1.0,
    doubt=0.5,
    share=1.0,
    levels=(0.0, 0.9, 1.0),
    quantiles=(0.0, 1.6449, 9.0),
)


def make_record(z, ratios, error=0.2, bias=0.3, growth=0.5):
    """A record whose errors follow NORMAL: mean the bias, variance as the formula says.

    Beyond the pilot they are normal in log(-log(1 - A)), at its own size in log odds.
    """
    k, x = 100 * np.array(ratios), np.log(ratios)
    known = make_uncertainty(
        n_probes=100_000, inside=k[:1], observed_error=np.array([error]), grid=k,
        moves=np.zeros((1, len(k))), sampled=np.ones(len(k)), class_variance=0.0,
        probe_variance=0.0, probes_per_class=10.0, observed=0.5,
    )  # fmt: skip
    middle = np.linspace(-1, 1, len(k))
    variance = error**2 * np.exp(growth * x) + (0.1 * x) ** 2 + (0.5 * bias * x) ** 2
    right, off = expit(middle), np.sqrt(variance) * z
    wrong = -np.log1p(-right)
    beyond = -np.expm1(-wrong * np.exp(-off * right / wrong))
    return {
        "classes": k.tolist(),
        "value": expit(middle + np.where(x > 0, bias * x, off)).tolist(),
        "truth": np.where(x > 0, beyond, right).tolist(),
        "uncertainty": known.to_dict() | {"moves": None},
        "refits": {
            "reach": x.tolist(), "measured": error, "growth": (growth * x).tolist(),
            "bias": (bias * x).tolist(),
        },
    }  # fmt: skip


def judge_all(kept, model, ratios):
    return [
        one
        for record in kept
        for one in records.judge(record, model, ratios, family="f", setting="s")
    ]


# -- judging ---------------------------------------------------------------------------------------


def test_errors_that_follow_the_model_are_covered_as_often_as_promised():
    """Evenly spaced normal quantiles for errors, so that 90% hold up to one interval."""
    n, ratios = 400, (1, 2, 5, 20)
    kept = [make_record(ndtri((i + 0.5) / n), ratios) for i in range(n)]
    rows = records.cells(judge_all(kept, NORMAL, ratios))
    pooled = [row for row in rows if row["setting"] == "all"]
    assert [row["ratio"] for row in pooled] == list(ratios)
    for row in pooled:
        assert row["coverage"] == pytest.approx(0.9, abs=0.0026)
        # Up to the pilot limits are those of counts, whose log odds are not quite normal.
        uneven = 0.0013 if row["ratio"] > 1 else 0.004
        assert row["below"] == pytest.approx(0.05, abs=uneven)
        assert row["above"] == pytest.approx(0.05, abs=uneven)
        assert row["standard_error"] == pytest.approx(np.sqrt(0.09 / n), rel=0.02)
        assert row["pilots"] == n
    # Each part of the model matters: without it, at the largest ratio, too few are held.
    for name in ("growth", "scale", "doubt", "share"):
        other = replace(NORMAL, **{name: 0.0})
        last = records.cell([j for j in judge_all(kept, other, ratios) if j.ratio == 20])
        assert last["coverage"] < 0.885


def test_cells_agree_with_a_computation_by_hand():
    ends = [(0.2, 0.4), (0.3, 0.7), (0.5, 0.6), (0.1, 0.5)]
    truths, said = [0.3, 0.8, 0.5, 0.05], [0.35, 0.5, 0.55, 0.3]
    found = [
        records.Judged("f", "ab"[i % 2], 10, 2, said[i], truths[i], *ends[i], {}) for i in range(4)
    ]
    whole, first, second = records.cells(found)
    assert (whole["setting"], first["setting"], second["setting"]) == ("all", "a", "b")
    assert whole["coverage"] == 0.5  # the ends belong to an interval
    assert (first["coverage"], second["coverage"], whole["lowest"]) == (1.0, 0.0, 0.0)
    assert (whole["below"], whole["above"]) == (0.25, 0.25)
    assert whole["standard_error"] == pytest.approx(np.sqrt(0.25 / 4))
    assert first["standard_error"] == pytest.approx(np.sqrt(0.75 * 0.25 / 2), abs=1e-6)
    assert whole["mean_width"] == pytest.approx(np.mean([0.2, 0.4, 0.1, 0.4]))
    errors = np.sort(np.subtract(said, truths))  # -0.3, 0.05, 0.05, 0.25
    low = errors[0] + 0.15 * (errors[1] - errors[0])
    high = errors[2] + 0.85 * (errors[3] - errors[2])
    assert whole["spread"] == pytest.approx(high - low, abs=1e-6)
    assert whole["width_ratio"] == pytest.approx(0.275 / (high - low), abs=1e-6)
    assert whole["mean_error"] == pytest.approx(errors.mean(), abs=1e-6)
    assert whole["missed"] == "covers too seldom, a setting is below 75%"
    assert whole["new_set"] is None


@pytest.mark.parametrize(
    ("covered", "ratio", "lowest", "said"),
    [
        (0.85, 1.3, 0.75, ""),
        (0.95, 0.1, 0.9, ""),
        (0.9, 1.31, 0.8, "too wide"),
        (0.849, 1.0, 0.8, "covers too seldom"),
        (0.951, 1.0, 0.8, "covers too often"),
        (0.9, 1.0, 0.749, "a setting is below 75%"),
    ],
)
def test_targets(covered, ratio, lowest, said):
    assert records.missed({"coverage": covered, "width_ratio": ratio}, lowest) == said


def test_intervals_for_sets_are_judged_by_what_was_measured_there():
    record = make_record(0.5, (1, 2))
    record["uncertainty"] |= {"class_variance": 1e-4, "probe_variance": 1e-4}
    known = records.errors_of(record, NORMAL)
    lower, upper = known.band(record["value"], [100, 200], 0.9, "new_set", 10)
    record["sets"] = {
        "new_set": [float(lower[0]) + 1e-9, float(upper[1]) + 1e-9],
        "grown_set": [0.7, 0.7],
    }
    record["set_probes"] = 10
    record["grown"] = [0.7, 0.1]  # its interval is around this, not around what is expected
    one, two = judge_all([record], NORMAL, (1, 2))
    assert one.sets == {"new_set": True, "grown_set": True}
    assert two.sets == {"new_set": False, "grown_set": False}
    assert records.cell([one, two])["new_set"] == 0.5
    record["grown"] = None  # a method without a law says nothing of such sets
    assert [interval.sets for interval in judge_all([record], NORMAL, (1, 2))] == [
        {"new_set": True}, {"new_set": False}
    ]  # fmt: skip


# -- records ---------------------------------------------------------------------------------------


def test_a_record_gives_the_interval_of_the_forecast_itself():
    from headcount.uncertainty.backtest import backtest
    from headcount.uncertainty.intervals import assess

    pilot = simulate.points_around_classes(12, sigma2=0.3, random_state=3).pilot
    ks = [12, 24, 120]
    record = records.examined(pilot, ProbitNormal(), ks, 7)
    record = json.loads(json.dumps(record))  # as the journal gives it back
    fit = ProbitNormal().fit(pilot)
    accuracy = [float(observe(pilot).accuracy(12)), *fit.predict(ks[1:])]
    assert record["value"] == pytest.approx(accuracy, abs=1e-12)
    tested = backtest(pilot, method="probit-normal", classes=ks, random_state=7)
    whole = assess(pilot, tested, fit).band(accuracy, ks, 0.9)
    kept = records.errors_of(record).band(accuracy, ks, 0.9)
    assert np.allclose(whole, kept, rtol=0, atol=1e-9)
    other = records.errors_of(record, NORMAL).band(accuracy, ks, 0.9)
    assert other[0][0] == kept[0][0] and (np.abs(np.subtract(other, kept))[:, 1:] > 1e-3).all()
    assert record["supported"] == tested.supported
    assert np.shape(record["halves"]) == (len(tested.halves), 3)
    place = list(tested.grid).index(24)
    assert [row[1] for row in record["halves"]] == pytest.approx(tested.halves[:, place], abs=1e-6)
    assert record["steps"][0]["forecasts"] == pytest.approx(tested.steps[0].forecasts, abs=1e-6)


def test_a_method_that_refuses_is_told():
    losses = Pilot.from_losses([0, 0, 1] * 10, n_classes=30)
    record = records.examined(losses, METHODS["kde"](), [30, 60], 0)
    assert "needs scores" in record["refused"] and "value" not in record
    assert records.examined(losses, NoChange(), [30], 0)["value"] == [2 / 3]
    with pytest.raises(DataError, match="refused every pilot: too few"):
        coverage.judged_rows([(None, 0)], [{"refused": "too few"}], MODEL)


def test_marks_follow_the_method_and_its_code_but_not_what_was_learned(monkeypatch):
    first = records.mark(ProbitNormal())
    assert records.mark(ProbitNormal(prior_classes=7)) != first

    def with_text(module, old, new):
        real = records.inspect.getsource
        source = real(module)
        assert old in source
        with monkeypatch.context() as patch:
            patch.setattr(
                records.inspect,
                "getsource",
                lambda asked: source.replace(old, new) if asked is module else real(asked),
            )
            return records.mark(ProbitNormal())

    assert with_text(refitted, "growth=0.9", "growth=9.9") == first
    assert with_text(intervals, "INSIDE = 12", "INSIDE = 13") != first
    assert with_text(measured, "TINY = 1e-12", "TINY = 1e-9") != first

"""How often intervals hold the truth: judged on made-up errors, and end to end at a tiny size."""

import csv
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from matplotlib import image
from scipy.special import expit, logit, ndtri

from bench_tools import Choosy, lasting
from headcount import DataError, ParameterError, Pilot, assessing, cli, observed_error, simulate
from headcount.bench import coverage, coverage_pilots, coverage_records
from headcount.bench.runner import JOURNAL, Settings
from headcount.error_model import MODEL, ErrorModel
from headcount.estimators import METHODS, NoChange, ProbitNormal
from headcount.observed import observe
from headcount.uncertainty import Uncertainty

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
WORLDS = [(5, 0.2, "normal", "normal"), (3, 0.2, "normal", "normal")]
QUICK = NoChange.alias
TINY = {"ratios": (1, 2, 5), "sizes": (12,), "shares": (0.2,), "worlds": WORLDS}


def made_up(z, ratios, error=0.2, bias=0.3, growth=0.5):
    """A record whose errors follow NORMAL: mean the bias, variance as the formula says.

    Beyond the pilot they are normal in log(-log(1 - A)), at its own size in log odds.
    """
    k, x = 100 * np.array(ratios), np.log(ratios)
    known = Uncertainty(
        n_classes=100,
        n_probes=100_000,
        grid=k,
        observed_error=np.full(len(k), error),
        growth=growth * x,
        bias=bias * x,
        class_variance=0.0,
        probe_variance=0.0,
        probes_per_class=10.0,
        observed=0.5,
    )
    middle = np.linspace(-1, 1, len(k))
    variance = error**2 * np.exp(growth * x) + (0.1 * x) ** 2 + (0.5 * bias * x) ** 2
    right, off = expit(middle), np.sqrt(variance) * z
    wrong = -np.log1p(-right)
    beyond = -np.expm1(-wrong * np.exp(-off * right / wrong))
    uncertainty = known.to_dict()
    del uncertainty["model"]
    return {
        "classes": k.tolist(),
        "accuracy": expit(middle + np.where(x > 0, bias * x, off)).tolist(),
        "truth": np.where(x > 0, beyond, right).tolist(),
        "uncertainty": uncertainty,
    }


def judged(records, model, ratios):
    return [
        one
        for record in records
        for one in coverage_records.judge(record, model, ratios, family="f", setting="s")
    ]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    settings = Settings(tmp_path_factory.mktemp("coverage"))
    return coverage.coverage(settings, method=QUICK, repeats=6, **TINY), settings


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(5)
    gallery = rng.normal(size=(240, 6))
    np.savez(
        tmp_path / "lfw_dlib_pairs.npz",
        gallery=gallery,
        probes=gallery + 0.8 * rng.normal(size=gallery.shape),
        probe_labels=np.arange(240),
        metric="euclidean",
    )
    return tmp_path


# -- judging ---------------------------------------------------------------------------------------


def test_errors_that_follow_the_model_are_covered_as_often_as_promised():
    """Evenly spaced normal quantiles for errors, so that 90% hold up to one interval."""
    n, ratios = 400, (1, 2, 5, 20)
    records = [made_up(ndtri((i + 0.5) / n), ratios) for i in range(n)]
    rows = coverage_records.cells(judged(records, NORMAL, ratios))
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
        last = coverage_records.cell([j for j in judged(records, other, ratios) if j.ratio == 20])
        assert last["coverage"] < 0.885


def test_cells_agree_with_a_computation_by_hand():
    ends = [(0.2, 0.4), (0.3, 0.7), (0.5, 0.6), (0.1, 0.5)]
    truths, said = [0.3, 0.8, 0.5, 0.05], [0.35, 0.5, 0.55, 0.3]
    found = [
        coverage_records.Judged("f", "ab"[i % 2], 10, 2, said[i], truths[i], *ends[i], {})
        for i in range(4)
    ]
    whole, first, second = coverage_records.cells(found)
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
    assert coverage_records.missed({"coverage": covered, "width_ratio": ratio}, lowest) == said


def test_intervals_for_sets_are_judged_by_what_was_measured_there():
    record = made_up(0.5, (1, 2))
    record["uncertainty"] |= {"class_variance": 1e-4, "probe_variance": 1e-4}
    known = coverage_records.errors_of(record, NORMAL)
    lower, upper = known.band(record["accuracy"], [100, 200], 0.9, "new_set", 10)
    record["sets"] = {
        "new_set": [float(lower[0]) + 1e-9, float(upper[1]) + 1e-9],
        "grown_set": record["accuracy"],
    }
    record["set_probes"] = 10
    one, two = judged([record], NORMAL, (1, 2))
    assert one.sets == {"new_set": True, "grown_set": True}
    assert two.sets == {"new_set": False, "grown_set": True}
    assert coverage_records.cell([one, two])["new_set"] == 0.5


# -- records ---------------------------------------------------------------------------------------


def test_a_record_gives_the_interval_of_the_forecast_itself():
    from headcount.assessing import assess
    from headcount.backtesting import backtest

    pilot = simulate.points_around_classes(12, sigma2=0.3, random_state=3).pilot
    ks = [12, 24, 120]
    record = coverage_records.examined(pilot, ProbitNormal(), ks, 7)
    record = json.loads(json.dumps(record))  # as the journal gives it back
    fit = ProbitNormal().fit(pilot)
    accuracy = [float(observe(pilot).accuracy(12)), *fit.predict(ks[1:])]
    assert record["accuracy"] == pytest.approx(accuracy, abs=1e-12)
    tested = backtest(pilot, method="probit_normal", classes=ks, random_state=7)
    for model in (MODEL, NORMAL):
        whole = assess(pilot, tested, fit).under(model).band(accuracy, ks, 0.9)
        kept = coverage_records.errors_of(record, model).band(accuracy, ks, 0.9)
        assert np.allclose(whole, kept, rtol=0, atol=1e-12)
    assert record["supported"] == tested.supported
    assert np.shape(record["halves"]) == (len(tested.halves), 3)
    place = list(tested.grid).index(24)
    assert [row[1] for row in record["halves"]] == pytest.approx(tested.halves[:, place], abs=1e-6)
    assert record["steps"][0]["forecasts"] == pytest.approx(tested.steps[0].forecasts, abs=1e-6)


def test_a_method_that_refuses_is_told():
    losses = Pilot.from_losses([0, 0, 1] * 10, n_classes=30)
    record = coverage_records.examined(losses, METHODS["kde"](), [30, 60], 0)
    assert "needs scores" in record["refused"] and "accuracy" not in record
    assert coverage_records.examined(losses, NoChange(), [30], 0)["accuracy"] == [2 / 3]
    with pytest.raises(DataError, match="refused every pilot: too few"):
        coverage.judged_rows([(None, 0)], [{"refused": "too few"}], MODEL)


def test_marks_follow_the_method_and_its_code_but_not_what_was_learned(monkeypatch):
    first = coverage_records.mark(ProbitNormal())
    assert coverage_records.mark(ProbitNormal(prior_classes=7)) != first

    def with_text(module, old, new):
        real = coverage_records.inspect.getsource
        source = real(module)
        assert old in source
        with monkeypatch.context() as patch:
            patch.setattr(
                coverage_records.inspect,
                "getsource",
                lambda asked: source.replace(old, new) if asked is module else real(asked),
            )
            return coverage_records.mark(ProbitNormal())

    learned, formulas = coverage_records.error_model, assessing
    assert with_text(learned, "growth=0.9", "growth=9.9") == first
    assert with_text(formulas, "POINTS = 12", "POINTS = 13") != first
    assert with_text(formulas, "np.mean(said)", "np.median(said)") != first
    assert with_text(observed_error, "TINY = 1e-12", "TINY = 1e-9") != first


# -- pilots ----------------------------------------------------------------------------------------


def test_simulated_pilots_and_sets():
    """The grown set holds the pilot's classes and other probes; the truth is theory's."""
    (setting, *_) = coverage_pilots.settings_of(
        "simulations", None, ratios=(1, 3), sizes=(12,), worlds=WORLDS
    )
    pilot, known = coverage_pilots.pilot_and_truth(setting, 0, 0)
    again, same = coverage_pilots.pilot_and_truth(setting, 0, 0)
    other, _ = coverage_pilots.pilot_and_truth(setting, 1, 0)
    assert (pilot.n_classes, pilot.n_probes) == (12, 120)
    assert np.array_equal(pilot.losses, again.losses) and known == same
    assert not np.array_equal(pilot.losses, other.losses)
    assert (np.bincount(pilot.labels) == 10).all()
    exact = simulate.points_around_classes(2, n_dims=5, sigma2=0.2)
    assert exact.exact
    assert known["truth"] == pytest.approx(exact.truth([12, 36]), abs=1e-12)
    assert known["set_probes"] == 10


def test_sets_vary_around_the_truth():
    """Accuracies of 30 sets: within four standard errors of the truth, and grown sets go along
    with their pilot, as they share its classes, while new ones do not."""
    (setting,) = coverage_pilots.settings_of(
        "simulations", None, ratios=(1, 2), sizes=(20,), worlds=[(3, 0.2, "normal", "normal")]
    )
    seen, new, grown = [], [], []
    for repeat in range(30):
        pilot, known = coverage_pilots.pilot_and_truth(setting, repeat, 0)
        seen.append(float(observe(pilot).accuracy(20)))
        new.append(known["sets"]["new_set"])
        grown.append(known["sets"]["grown_set"])
    for sets in (np.array(new), np.array(grown)):
        error = sets.std(axis=0, ddof=1) / np.sqrt(30)
        assert (np.abs(sets.mean(axis=0) - known["truth"]) < 4 * error).all()
    together = np.corrcoef(seen, np.array(grown)[:, 0])[0, 1]
    apart = np.corrcoef(seen, np.array(new)[:, 0])[0, 1]
    assert together > 0.5 and abs(apart) < 0.45


def test_real_pilots_are_drawn_from_the_whole_set(folder):
    (setting,) = coverage_pilots.settings_of("lfw", folder, ratios=(1, 20, 21))
    assert (setting.n_classes, setting.ratios, setting.classes) == (12, (1, 20), [12, 240])
    assert str(folder) not in setting.key
    from headcount.loading import load

    whole = load(folder / "lfw_dlib_pairs.npz")
    pilot, known = coverage_pilots.pilot_and_truth(setting, 3, 0)
    assert set(pilot.class_names) < set(whole.class_names) and pilot.n_classes == 12
    assert known == {"truth": pytest.approx(observe(whole).accuracy([12, 240]))}


@pytest.mark.parametrize(
    ("names", "said"),
    [(["lfw"], "needs a folder with lfw"), (["mars"], "--families"), ([], "no family is named")],
)
def test_families_are_checked(names, said):
    with pytest.raises(ParameterError, match=said):
        coverage_pilots.families(names, None)
    assert coverage_pilots.families(None, None) == ["simulations"]


# -- the whole -------------------------------------------------------------------------------------


def test_rows_and_resuming(small):
    results, settings = small
    pooled = coverage.pooled(results)
    assert [row["ratio"] for row in pooled] == [1, 2, 5]
    assert all(row["pilots"] == 6 for row in pooled)
    assert len(results.rows) == 3 + 2 * 3
    assert all(0 <= row["grown_set"] <= 1 for row in results.rows)
    assert results.run["tasks_resumed"] == 0
    again = coverage.coverage(settings, method=QUICK, repeats=6, **TINY)
    assert again.run["tasks_resumed"] == 6 and lasting(again) == lasting(results)
    journal = settings.output / JOURNAL
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:4]) + lines[4][:50])  # killed while writing the fourth
    torn = coverage.coverage(settings, method=QUICK, repeats=6, **TINY)
    assert torn.run["tasks_resumed"] == 3 and lasting(torn) == lasting(results)


def test_another_model_is_judged_without_fitting(small):
    results, settings = small
    wide = replace(MODEL, quantiles=tuple(3 * q for q in MODEL.quantiles))
    again = coverage.coverage(settings, method=QUICK, repeats=6, model=wide, **TINY)
    assert again.run["tasks_resumed"] == 6
    assert again.options["model"] == asdict(wide)
    for before, after in zip(results.rows, again.rows, strict=True):
        if before["ratio"] == 1:  # at the pilot's own size nothing learned counts
            assert after["mean_width"] == before["mean_width"]
        else:
            assert after["mean_width"] > 1.5 * before["mean_width"]
        assert after["coverage"] >= before["coverage"]
        assert after["mean_error"] == before["mean_error"]


def test_a_known_answer_end_to_end(small):
    """One interval of the table, made again from the forecast itself."""
    results, settings = small
    records = [json.loads(line) for line in (settings.output / JOURNAL).read_text().splitlines()]
    mine = [r["record"] for r in records[1:] if "/d=5 0.2 normal/normal/12@" in r["key"]]
    hits, widths = [], []
    for record in mine:
        known = coverage_records.errors_of(record, MODEL)
        middle = logit(record["accuracy"][1]) - MODEL.share * known.bias[1]
        spread = np.hypot(known.sampling(24), known.extrapolation(24))
        right = expit(middle)
        reach = MODEL.multiplier(0.9) * spread * right / -np.log1p(-right)
        ends = -np.expm1(np.log1p(-right) * np.exp(reach * np.array([-1, 1])))
        hits.append(ends[0] <= record["truth"][1] <= ends[1])
        widths.append(ends[1] - ends[0])
    row = next(
        r for r in results.rows if (r["setting"], r["ratio"]) == ("d=5 0.2 normal/normal", 2)
    )
    assert len(mine) == row["pilots"] == 3
    assert row["coverage"] == pytest.approx(np.mean(hits), abs=1e-6)
    assert row["mean_width"] == pytest.approx(np.mean(widths), abs=1e-6)


def test_sizes_of_real_pilots_may_be_chosen(capsys, folder, tmp_path):
    words = ["bench", "coverage", folder, "--families", "lfw", "--repeats", 2, "--method", QUICK]
    words = [str(word) for word in [*words, "--output", tmp_path / "out", "--shares"]]
    assert cli.main([*words, "0.1,0.25"]) == 0
    found = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert found["options"]["shares"] == [0.1, 0.25]
    sizes = {(row["pilot_classes"], row["ratio"]) for row in found["rows"]}
    # A pilot of a quarter reaches twice its size, and not five times.
    assert sizes - {(None, ratio) for ratio in (1, 2, 5, 10)} == {
        *((24, ratio) for ratio in (1, 2, 5, 10)), (60, 1), (60, 2)
    }  # fmt: skip
    capsys.readouterr()
    for bad in ("", "0.1,x", "0", "1.5"):
        assert cli.main([*words, bad]) == 2
        assert "--shares takes numbers up to one" in capsys.readouterr().err


def test_command(capsys, folder, tmp_path):
    words = ["bench", "coverage", folder, "--families", "lfw", "--repeats", 1]
    words += ["--method", QUICK, "--jobs", 1, "--output", tmp_path / "out"]
    words = [str(word) for word in words]
    assert cli.main(words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert str(tmp_path) not in json.dumps(found)
    assert found["options"]["families"] == ["lfw"]
    assert found["details"]["settings"][0]["pilot_classes"] == 12
    lines = [line.split() for line in out.splitlines() if line.strip().startswith("lfw")]
    assert [line[1] for line in lines] == ["1", "2", "5", "10", "20"]
    assert [line[3] for line in lines] == [f"{row['coverage']:.4f}" for row in found["rows"][:5]]
    with open(tmp_path / "out" / "coverage.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["setting"] for row in rows] == ["all"] * 5 + ["lfw_dlib_pairs"] * 5
    drawn = image.imread(tmp_path / "out" / "coverage.png")
    assert drawn.ndim == 3 and drawn.std() > 0.02
    assert cli.main(words) == 0
    assert "1 tasks, 1 of them done before" in capsys.readouterr().out


def test_command_tells_what_was_refused(capsys, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "choosy", Choosy)
    words = ["bench", "coverage", str(folder), "--families", "lfw", "--method", "choosy"]
    words += ["--jobs", "1", "--seed", "1", "--output", str(tmp_path / "out"), "--repeats"]
    assert cli.main([*words, "40"]) == 0
    # Class 0 is in a pilot of 12 out of 240 with a chance of one in twenty.
    err = capsys.readouterr().err
    assert "refused: " in err and "class 0 is not to my taste." in err
    found = json.loads((tmp_path / "out" / "coverage.json").read_text())
    (count,) = found["details"]["refused"].values()
    assert found["rows"][0]["pilots"] == 40 - count and 1 <= count < 10
    assert cli.main(["bench", "coverage", "--families", "lfw"]) == 2
    assert "needs a folder" in capsys.readouterr().err

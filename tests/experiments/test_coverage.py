"""How often intervals hold the truth: the pilots, and end to end at a tiny size."""

import csv
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from matplotlib import image
from scipy.special import expit, logit

from bench_tools import Choosy, lasting
from experiments import app
from experiments.coverage import coverage, pilots, records
from experiments.runner import JOURNAL, Settings
from headcount import ParameterError, forecast, simulate
from headcount.curves.observed import observe
from headcount.datasets import load_hangul
from headcount.estimators import METHODS, Auto, NoChange
from headcount.metrics import resolve_metric
from headcount.uncertainty.refitted import MODEL

WORLDS = [(5, 0.2, "normal", "normal"), (3, 0.2, "normal", "normal")]
QUICK = NoChange.alias
TINY = {
    "names": ["simulations"],
    "ratios": (1, 2, 5),
    "sizes": (12,),
    "shares": (0.2,),
    "worlds": WORLDS,
    "metrics": ("accuracy",),
}


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
        similarity="euclidean",
    )
    return tmp_path


# -- pilots ----------------------------------------------------------------------------------------


def test_simulated_pilots_and_sets():
    """The grown set holds the pilot's classes and other probes; the truth is theory's."""
    (setting, *_) = pilots.settings_of(
        "simulations", None, ratios=(1, 3), sizes=(12,), worlds=WORLDS
    )
    pilot, known = pilots.pilot_and_truth(setting, 0, 0)
    again, same = pilots.pilot_and_truth(setting, 0, 0)
    other, _ = pilots.pilot_and_truth(setting, 1, 0)
    assert (pilot.n_classes, pilot.n_probes) == (12, 120)
    assert np.array_equal(pilot.losses, again.losses) and known == same
    (known,) = known.values()
    assert not np.array_equal(pilot.losses, other.losses)
    assert (np.bincount(pilot.labels) == 10).all()
    exact = simulate.points_around_classes(2, n_dims=5, sigma2=0.2)
    assert exact.exact
    assert known["truth"] == pytest.approx(exact.truth([12, 36]), abs=1e-12)
    assert known["set_probes"] == 10


def test_sets_vary_around_the_truth():
    """Accuracies of 30 sets: within four standard errors of the truth, and grown sets go along
    with their pilot, as they share its classes, while new ones do not."""
    (setting,) = pilots.settings_of(
        "simulations", None, ratios=(1, 2), sizes=(20,), worlds=[(3, 0.2, "normal", "normal")]
    )
    seen, new, grown = [], [], []
    for repeat in range(30):
        pilot, truths = pilots.pilot_and_truth(setting, repeat, 0)
        known = truths["accuracy"]
        seen.append(float(observe(pilot).accuracy(20)))
        new.append(known["sets"]["new_set"])
        grown.append(known["sets"]["grown_set"])
    for sets in (np.array(new), np.array(grown)):
        error = sets.std(axis=0, ddof=1) / np.sqrt(30)
        assert (np.abs(sets.mean(axis=0) - known["truth"]) < 4 * error).all()
    together = np.corrcoef(seen, np.array(grown)[:, 0])[0, 1]
    apart = np.corrcoef(seen, np.array(new)[:, 0])[0, 1]
    assert together > 0.5 and abs(apart) < 0.45


@pytest.mark.parametrize("world", [WORLDS[0], (5, 0.2, "uniform", "normal")], ids=["law", "drawn"])
def test_sets_vary_around_the_truth_of_every_metric(world):
    """Exact under a law; where theory has none, observed in a large population."""
    (setting,) = pilots.settings_of("simulations", None, ratios=(1, 4), sizes=(20,), worlds=[world])
    wanted = [resolve_metric(name) for name in coverage.METRICS]
    new = {metric.name: [] for metric in wanted}
    for repeat in range(30):
        _, truths = pilots.pilot_and_truth(setting, repeat, 0, wanted)
        for name, known in truths.items():
            new[name] += [known["sets"]["new_set"], known["sets"]["grown_set"]]
    values = []
    for name, sets in new.items():
        error = np.std(sets, axis=0, ddof=1) / np.sqrt(30)
        truth = np.array(truths[name]["truth"])
        assert (np.abs(np.mean(sets, axis=0) - truth) < 4 * error).all()
        values.append(truth)
    accuracy, top, mrr, gain = values
    assert (accuracy < mrr).all() and (mrr < gain).all() and (gain < top).all()


def test_real_pilots_are_drawn_from_the_whole_set(folder):
    (setting,) = pilots.settings_of("lfw", folder, ratios=(1, 20, 21))
    assert (setting.n_classes, setting.ratios, setting.classes) == (12, (1, 20), [12, 240])
    assert str(folder) not in setting.key
    from headcount.pilot.loading import load

    whole = load(folder / "lfw_dlib_pairs.npz")
    pilot, known = pilots.pilot_and_truth(setting, 3, 0)
    assert set(pilot.class_names) < set(whole.class_names) and pilot.n_classes == 12
    assert known == {"accuracy": {"truth": pytest.approx(observe(whole).accuracy([12, 240]))}}


def test_the_bundled_set_needs_no_folder():
    (setting,) = pilots.settings_of("hangul", None)
    assert (setting.n_classes, setting.classes[-1]) == (500, 11_000)
    pilot, known = pilots.pilot_and_truth(setting, 7, 0)
    syllables = {chr(0xAC00 + place) for place in range(11_172)}
    assert pilot.n_classes == 500 and set(pilot.class_names) < syllables
    truth = observe(load_hangul()).accuracy([500, 1000, 2000, 5000, 11_000])
    assert known == {"accuracy": {"truth": pytest.approx(truth)}}


@pytest.mark.parametrize(
    ("names", "said"),
    [(["lfw"], "needs a folder with lfw"), (["mars"], "--families"), ([], "no family is named")],
)
def test_families_are_checked(names, said):
    with pytest.raises(ParameterError, match=said):
        pilots.families(names, None)
    assert pilots.families(None, None) == ["simulations", "hangul"]


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
    lines = [json.loads(line) for line in (settings.output / JOURNAL).read_text().splitlines()]
    mine = [r["record"] for r in lines[1:] if "/d=5 0.2 normal/normal/12@" in r["key"]]
    hits, widths = [], []
    for record in mine:
        known = records.refits_of(record)
        middle = logit(record["value"][1]) - MODEL.share * known.bias[1]
        right = expit(middle)
        reach = MODEL.multiplier(0.9) * known.spread()[1] * right / -np.log1p(-right)
        ends = -np.expm1(np.log1p(-right) * np.exp(reach * np.array([-1, 1])))
        hits.append(ends[0] <= record["truth"][1] <= ends[1])
        widths.append(ends[1] - ends[0])
    row = next(
        r for r in results.rows if (r["setting"], r["ratio"]) == ("d=5 0.2 normal/normal", 2)
    )
    assert len(mine) == row["pilots"] == 3
    assert row["coverage"] == pytest.approx(np.mean(hits), abs=1e-6)
    # Quantiles of 128 points are straight between these.
    assert row["mean_width"] == pytest.approx(np.mean(widths), rel=0.005)


@pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
def test_metrics_come_from_one_fit_and_are_those_of_a_forecast(tmp_path, monkeypatch):
    """Intervals of every metric are what `forecast` says, though the method is fitted once."""
    fitted = []
    real = Auto.fit

    def fit(self, pilot):
        fitted.append(pilot)
        return real(self, pilot)

    settings = Settings(tmp_path, n_jobs=1)
    names = ["accuracy", "top-5", "mrr", "ndcg@10"]
    with monkeypatch.context() as patch:
        patch.setattr(Auto, "fit", fit)
        found = coverage.coverage(settings, method="auto", repeats=1, **(TINY | {"metrics": names}))
    assert len(fitted) == len(WORLDS)
    (setting, _) = pilots.settings_of(
        "simulations", None, ratios=(1, 2, 5), sizes=(12,), worlds=WORLDS
    )
    pilot, truths = pilots.pilot_and_truth(setting, 0, 0, [resolve_metric(n) for n in names])
    for name in names:
        made = forecast(pilot, classes=[24, 60], metric=name, method="auto")
        rows = [
            row for row in found.rows
            if (row["metric"], row["setting"]) == (name, setting.name)
        ]  # fmt: skip
        assert [row["ratio"] for row in rows] == [1, 2, 5]
        for row, k, truth in zip(rows, (12, 24, 60), truths[name]["truth"], strict=True):
            lower, upper = made.interval(k)
            assert row["mean_width"] == pytest.approx(upper - lower, abs=2e-4)
            assert row["coverage"] == float(lower <= truth <= upper)
            assert row["mean_error"] == pytest.approx(made.value(k) - truth, abs=1e-6)
            assert row["mean_truth"] == pytest.approx(truth, abs=1e-6)


def test_sizes_of_real_pilots_may_be_chosen(capsys, folder, tmp_path):
    words = ["coverage", folder, "--families", "lfw", "--repeats", 2, "--method", QUICK]
    words += ["--metrics", "accuracy"]
    words = [str(word) for word in [*words, "--output", tmp_path / "out", "--shares"]]
    assert app.main([*words, "0.1,0.25"]) == 0
    found = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert found["options"]["shares"] == [0.1, 0.25]
    sizes = {(row["pilot_classes"], row["ratio"]) for row in found["rows"]}
    # A pilot of a quarter reaches twice its size, and not five times.
    assert sizes - {(None, ratio) for ratio in (1, 2, 5, 10)} == {
        *((24, ratio) for ratio in (1, 2, 5, 10)), (60, 1), (60, 2)
    }  # fmt: skip
    capsys.readouterr()
    for bad in ("", "0.1,x", "0", "1.5"):
        assert app.main([*words, bad]) == 2
        assert "--shares takes numbers up to one" in capsys.readouterr().err


def test_command(capsys, folder, tmp_path):
    words = ["coverage", folder, "--families", "lfw", "--repeats", 1]
    words += ["--method", "probit-normal", "--metrics", "accuracy,hits@5"]
    words += ["--jobs", 1, "--output", tmp_path / "out"]
    words = [str(word) for word in words]
    assert app.main(words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert str(tmp_path) not in json.dumps(found)
    assert found["options"]["families"] == ["lfw"]
    assert found["options"]["metrics"] == ["accuracy", "top-5"]
    assert found["details"]["settings"][0]["pilot_classes"] == 12
    lines = [line.split() for line in out.splitlines() if " lfw " in line]
    assert [line[0] for line in lines] == ["accuracy"] * 5 + ["top-5"] * 5
    assert [line[2] for line in lines] == ["1", "2", "5", "10", "20"] * 2
    shown = [row for row in found["rows"] if row["setting"] == "all"]
    assert [line[4] for line in lines] == [f"{row['coverage']:.4f}" for row in shown]
    with open(tmp_path / "out" / "coverage.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["setting"] for row in rows] == (["all"] * 5 + ["lfw_dlib_pairs"] * 5) * 2
    drawn = image.imread(tmp_path / "out" / "coverage.png")
    assert drawn.ndim == 3 and drawn.std() > 0.02
    assert app.main(words) == 0
    assert "1 tasks, 1 of them done before" in capsys.readouterr().out


def test_command_tells_what_was_refused(capsys, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "choosy", Choosy)
    words = ["coverage", str(folder), "--families", "lfw", "--method", "choosy"]
    words += ["--metrics", "accuracy"]
    words += ["--jobs", "1", "--seed", "1", "--output", str(tmp_path / "out"), "--repeats"]
    assert app.main([*words, "40"]) == 0
    # Class 0 is in a pilot of 12 out of 240 with a chance of one in twenty.
    err = capsys.readouterr().err
    assert "refused: " in err and "class 0 is not to my taste." in err
    found = json.loads((tmp_path / "out" / "coverage.json").read_text())
    (count,) = found["details"]["refused"].values()
    assert found["rows"][0]["pilots"] == 40 - count and 1 <= count < 10
    assert app.main(["coverage", "--families", "lfw"]) == 2
    assert "needs a folder" in capsys.readouterr().err

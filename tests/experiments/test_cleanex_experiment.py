"""The comparison of paper 001 on tiny populations, with real methods."""

import csv
import json
from math import comb
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from bench_tools import Choosy, Lacking, NotANumber
from experiments import app
from experiments.figures import TRUTH
from experiments.methods import forecast_record, forecast_records
from experiments.papers import cleanex, cleanex_figures
from experiments.papers import cleanex_populations as populations
from experiments.runner import JOURNAL, Settings, seed_for
from experiments.shelf import Shelf
from headcount import DataError, ParameterError, simulate
from headcount.estimators import CleaneX, Kde, ProbitNormal
from headcount.estimators.registry import resolve

K1, K2, REPEATS = 20, 60, 3
SIZES = {"d5": (10, K1), "d3": (K1,), "d10": (K1,), "faces": (K1,), "decoding": (K1,)}
TINY = {
    "repeats": REPEATS,
    "n_classes": K2,
    "decoding_classes": 50,
    "pilot_classes": SIZES,
    "laws": ("normal",),
}


def network():
    return CleaneX(layers=(8, 4), iterations=30, learning_rate=0.01, device="cpu")


def usual():
    return {"cleanex": network(), "kde": Kde()}


def lasting(results):
    """What must not depend on interruptions: all but the run and the times."""
    found = json.loads(results.to_json())
    del found["run"]
    for row in found["rows"] + found["details"]["groups"]:
        del row["seconds"]
    return found


@pytest.fixture
def faces(tmp_path):
    rng = np.random.default_rng(5)
    gallery = rng.normal(size=(40, 6))
    np.savez(
        tmp_path / "lfw_dlib_pairs.npz",
        gallery=gallery,
        probes=gallery + 0.5 * rng.normal(size=gallery.shape),
        probe_labels=np.arange(40),
        similarity="euclidean",
    )
    return tmp_path


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    settings = Settings(tmp_path_factory.mktemp("cleanex"))
    return cleanex.cleanex(settings, parts=["d5", "decoding"], methods=usual(), **TINY), settings


def distances(source, seed=0):
    """Scores of the population, from its own embeddings, lower is better; and labels."""
    whole = populations.population(source, seed).whole
    blocks = [scores for _, scores in whole.score_blocks()]
    return np.vstack(blocks), whole.labels


def average_accuracy(losses, n, k):
    """Eq. 4 of paper 000 with binomial coefficients; probes weigh the same."""
    return np.mean([comb(n - int(lost), k - 1) / comb(n, k - 1) for lost in losses])


# -- values ----------------------------------------------------------------------------------------


def test_errors_agree_with_a_computation_by_hand(small):
    """RMSE over all 2 <= k <= k2, from the scores themselves: truth, pilots, oracle, a method."""
    results, _ = small
    source = populations.Source("d5", K2, 5, 0.2, "normal", "normal")
    scores, labels = distances(source)
    true = scores[np.arange(len(labels)), labels][:, None]
    beaten_by = (scores > true).sum(axis=1)
    ks = range(2, K2 + 1)
    truth = np.array([average_accuracy(beaten_by, K2 - 1, k) for k in ks])
    own, said = [], []
    for i in range(REPEATS):
        pilot = populations.draw_pilot(source, K1, i, 0)
        mine = np.isin(labels, pilot.class_names)  # classes are called 0, 1, ...
        assert mine.sum() == pilot.n_probes == 10 * K1
        known = [average_accuracy(beaten_by[mine], K2 - 1, k) for k in ks]
        own.append(np.sqrt(np.mean((known - truth) ** 2)))
        said.append(np.sqrt(np.mean((Kde().fit(pilot).predict(list(ks)) - truth) ** 2)))
        detail = next(d for d in results.details["places"] if (d["sigma2"], d["k1"]) == (0.2, K1))
        among = scores[np.ix_(mine, pilot.class_names)]
        lost = (among > true[mine]).sum(axis=1)
        seen = [average_accuracy(lost, K1 - 1, k) for k in detail["observed_classes"]]
        assert detail["observed"][i] == pytest.approx(seen, abs=1e-6)
    assert detail["truth"] == pytest.approx(
        [truth[k - 2] for k in detail["curve_classes"]], abs=1e-6
    )
    assert detail["curve_classes"][0] == 2 and detail["curve_classes"][-1] == K2
    assert detail["rmse"]["oracle"] == pytest.approx(own, abs=1e-6)
    assert detail["rmse"]["kde"] == pytest.approx(said, abs=1e-6)
    row = next(
        r
        for r in results.rows
        if (r["experiment"], r["sigma2"], r["k1"], r["method"]) == ("d5", 0.2, K1, "kde")
    )
    assert row["rmse"] == pytest.approx(np.mean(said), abs=1e-6)
    spread = np.sqrt(np.sum((said - np.mean(said)) ** 2) / (REPEATS - 1))
    assert row["standard_error"] == pytest.approx(spread / np.sqrt(REPEATS), abs=1e-6)
    assert row["median"] == pytest.approx(np.sort(said)[1], abs=1e-6)
    assert row["lower_quartile"] == pytest.approx(np.mean(np.sort(said)[:2]), abs=1e-6)
    assert row["upper_quartile"] == pytest.approx(np.mean(np.sort(said)[1:]), abs=1e-6)
    last = [curve[-1] - detail["truth"][-1] for curve in detail["curves"]["kde"]]
    assert row["error_at_k2"] == pytest.approx(np.mean(last), abs=2e-6)


def test_groups_average_populations_and_pilots(small):
    results, _ = small
    group = next(
        g
        for g in results.details["groups"]
        if (g["experiment"], g["k1"], g["method"]) == ("d5", K1, "cleanex")
    )
    values = [
        d["rmse"]["cleanex"]
        for d in results.details["places"]
        if (d["experiment"], d["k1"]) == ("d5", K1)
    ]
    assert len(values) == group["populations"] == 2
    assert group["rmse"] == pytest.approx(np.mean(values), abs=2e-6)
    variances = [np.var(each, ddof=1) / REPEATS for each in values]
    assert group["standard_error"] == pytest.approx(np.sqrt(sum(variances)) / 2, abs=2e-6)
    assert group["repeats"] == 2 * REPEATS
    assert group["seconds"] > 0
    assert [(g["experiment"], g["k1"], g["method"]) for g in results.details["groups"]] == [
        (part, k1, name)
        for part, k1 in (("d5", 10), ("d5", K1), ("decoding", K1))
        for name in ("cleanex", "kde", "oracle")
    ]


def test_networks_trained_together_are_the_method_on_the_same_pilots(small):
    """The joint task fits the copies that `fit` would, from the pilots all methods see."""
    results, _ = small
    source = populations.Source("d5", K2, 5, 0.2, "normal", "normal")
    place = next(d for d in results.details["places"] if (d["sigma2"], d["k1"]) == (0.2, K1))
    for i in range(REPEATS):
        seed = seed_for(0, "cleanex", "method", source.name, K1, i)
        alone = (
            network().set_params(random_state=seed).fit(populations.draw_pilot(source, K1, i, 0))
        )
        # Round-off in training side by side, and the six digits kept.
        np.testing.assert_allclose(
            place["curves"]["cleanex"][i], alone.predict(place["curve_classes"]), atol=1e-3
        )
    curves = np.array(place["curves"]["cleanex"])
    assert np.ptp(curves, axis=0).max() > 5e-3  # pilots differ, so the tolerance is no accident
    assert {row["device"] for row in results.rows if row["method"] == "cleanex"} == {"cpu"}
    assert results.run["devices"] == ["cpu"]


def test_populations_are_those_of_the_paper():
    found = populations.sources(["d10", "d5", "d3"], None, 2000, 1000, populations.LAWS)
    assert [source.part for source in found] == ["d5"] * 8 + ["d3"] * 8 + ["d10"] * 8
    assert {(s.n_dims, s.sigma2) for s in found} == {
        (5, 0.1), (5, 0.2), (3, 0.1), (3, 0.2), (10, 0.6), (10, 0.9),
    }  # fmt: skip
    assert len({source.name for source in found}) == 24
    assert populations.PILOTS["d5"] == (100, 500)
    source = populations.Source("d3", 30, 3, 0.2, "uniform", "normal")
    seed = seed_for(0, "cleanex", "population", source.name)
    same = simulate.points_around_classes(
        30, n_dims=3, sigma2=0.2, classes="uniform", points="normal", random_state=seed
    )
    made = populations.population(source, 0).whole
    assert made.losses.tolist() == same.pilot.losses.tolist()
    assert made.n_probes == 300


# -- tasks -----------------------------------------------------------------------------------------


def test_tasks_are_one_a_pilot_or_one_for_all_longest_first():
    pairs = populations.places(
        populations.sources(["d5", "decoding"], None, K2, 50, ("normal",)), SIZES
    )
    jobs = list(cleanex.tasks_by_job(pairs, usual(), REPEATS, 0))
    joint = [job for job in jobs if job.method == "cleanex"]
    assert jobs[: len(joint)] == joint
    assert [job.place[1] for job in joint] == [K1, K1, K1, 10, 10]
    assert {job.repeat for job in joint} == {None}
    single = [job.repeat for job in jobs if job.method == "kde" and job.place == pairs[0]]
    assert single == list(range(REPEATS))


@pytest.mark.parametrize("left", [1, 9])
def test_a_stopped_run_goes_on_with_the_same_results(small, tmp_path, left):
    results, settings = small
    lines = (settings.output / JOURNAL).read_text().splitlines(keepends=True)
    assert len(lines) - 1 == results.run["tasks"] == 5 * (1 + REPEATS + 1)
    (tmp_path / JOURNAL).write_text("".join(lines[: 1 + left]))
    again = cleanex.cleanex(Settings(tmp_path), parts=["d5", "decoding"], methods=usual(), **TINY)
    assert again.run["tasks_resumed"] == left
    assert lasting(again) == lasting(results)


def test_parts_run_one_after_another_share_a_journal(small, tmp_path):
    results, _ = small
    for part in ("decoding", "d5"):
        cleanex.cleanex(Settings(tmp_path), parts=[part], methods=usual(), **TINY)
    both = cleanex.cleanex(Settings(tmp_path), parts=["decoding", "d5"], methods=usual(), **TINY)
    assert both.run["tasks_resumed"] == both.run["tasks"]
    assert lasting(both) == lasting(results)


def test_refusals_are_counted_and_told(tmp_path):
    some = {"choosy": Choosy(), "nan": NotANumber(), "lacking": Lacking()}
    tiny = TINY | {"repeats": 6}
    for resumed in (0, 13):  # an extra may have been installed since: those are tried again
        results = cleanex.cleanex(Settings(tmp_path), parts=["decoding"], methods=some, **tiny)
        assert results.run["tasks_resumed"] == resumed
    rows = {row["method"]: row for row in results.rows}
    source = populations.Source("decoding", 50)
    held = [0 in populations.draw_pilot(source, K1, i, 0).class_names for i in range(6)]
    assert 0 < sum(held) < 6
    values = results.details["places"][0]["rmse"]["choosy"]
    assert [value is None for value in values] == held
    assert rows["choosy"]["refused"] == sum(held)
    assert rows["choosy"]["rmse"] == pytest.approx(
        np.mean([value for value in values if value is not None]), abs=1e-6
    )
    assert rows["choosy"]["why_refused"] == "class 0 is not to my taste."
    for name in ("nan", "lacking"):
        assert (rows[name]["refused"], rows[name]["rmse"], rows[name]["seconds"]) == (6, None, None)
    assert (rows["oracle"]["refused"], rows["oracle"]["seconds"]) == (0, None)
    results.write(tmp_path, cleanex_figures.draw)  # nothing to draw for two of them


def test_pilots_that_cannot_be_trained_together_are_tried_one_by_one():
    made = [simulate.points_around_classes(n, random_state=1).pilot for n in (12, 15)]
    with pytest.raises(ParameterError, match="one size"):
        network().fit_together(made)
    said = forecast_records(network(), made, [2, 50], [7, 8])
    for record, pilot, seed in zip(said, made, (7, 8), strict=True):
        assert record["accuracy"] == forecast_record(network(), pilot, [2, 50], seed)["accuracy"]


def recorded(settings, tmp_path, mark):
    """A journal of the same pilots, its networks trained by code with another mark."""
    lines = []
    for line in (settings.output / JOURNAL).read_text().splitlines():
        entry = json.loads(line)
        if "/cleanex@" in entry.get("key", ""):
            entry["key"] = entry["key"].split("@")[0] + f"@{mark}"
        lines.append(json.dumps(entry))
    path = tmp_path / "recorded.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_networks_are_not_trained_again_where_a_journal_holds_them(small, tmp_path):
    results, settings = small
    journal = recorded(settings, tmp_path, "0ld0ld0l")
    parts = ["d5", "decoding"]
    again = cleanex.cleanex(Settings(tmp_path / "a"), parts=parts, methods=usual(), **TINY,
                            kept=journal)  # fmt: skip
    assert again.run["tasks"] == results.run["tasks"] - 5  # a task for each place
    said = {row["taken_from"] for row in again.rows if row["method"] == "cleanex"}
    assert said == {f"{tmp_path.name}/recorded.jsonl, cleanex@0ld0ld0l"}
    assert {row["taken_from"] for row in again.rows if row["method"] != "cleanex"} == {""}
    for ours, theirs in zip(again.rows, results.rows, strict=True):
        assert ours | {"taken_from": "", "seconds": 0} == theirs | {"seconds": 0}
    more = TINY | {"repeats": REPEATS + 1}  # one more than the journal holds: all are trained
    whole = cleanex.cleanex(Settings(tmp_path / "b"), parts=["decoding"], methods=usual(), **more,
                            kept=journal)  # fmt: skip
    assert {row["taken_from"] for row in whole.rows} == {""}


def test_faces_are_those_of_the_journal_though_their_file_was_marked_otherwise(faces, tmp_path):
    """The oracle says that the pilots are the same; the mark of a file may follow the version."""
    asked = {"parts": ["faces"], "faces": faces, "methods": {"cleanex": network()}, **TINY}
    first = cleanex.cleanex(Settings(tmp_path / "a"), **asked)
    text = (tmp_path / "a" / JOURNAL).read_text()
    mark = populations.sources(["faces"], faces, K2, 50, ("normal",))[0].mark
    assert f"@{mark}/" in text
    journal = tmp_path / "recorded.jsonl"
    journal.write_text(text.replace(f"@{mark}/", "@another0/"))
    again = cleanex.cleanex(Settings(tmp_path / "b"), kept=journal, **asked)
    assert again.run["tasks"] == 1  # the oracle
    assert [row["rmse"] for row in again.rows] == [row["rmse"] for row in first.rows]


def test_networks_of_other_pilots_are_refused(small, tmp_path):
    _, settings = small
    journal = recorded(settings, tmp_path, "x")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for entry in lines:
        if entry.get("key", "").endswith("oracle"):
            for record in entry["record"]["repeats"]:
                record["rmse"] += 1e-3
    journal.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    with pytest.raises(DataError, match="has other pilots of decoding"):
        cleanex.cleanex(Settings(tmp_path / "a"), parts=["decoding"], methods=usual(), **TINY,
                        kept=journal)  # fmt: skip
    with pytest.raises(ParameterError, match="another seed"):
        cleanex.cleanex(Settings(tmp_path / "b", seed=1), parts=["decoding"], methods=usual(),
                        **TINY, kept=journal)  # fmt: skip


def test_slow_methods_may_have_fewer_of_the_large_pilots(small, tmp_path, monkeypatch):
    monkeypatch.setattr(cleanex, "LARGE", K1)
    results = cleanex.cleanex(Settings(tmp_path), parts=["d5"], methods={"kde": Kde()},
                              fewer={"kde": 2}, **TINY)  # fmt: skip
    counts = {(row["k1"], row["method"]): row["repeats"] for row in results.rows}
    assert counts == {
        (10, "kde"): REPEATS, (10, "oracle"): REPEATS, (K1, "kde"): 2, (K1, "oracle"): REPEATS,
    }  # fmt: skip
    whole = {(r["k1"], r["sigma2"]): r for r in small[0].details["places"] if r["sigma2"]}
    for place in results.details["places"]:
        usual = whole[place["k1"], place["sigma2"]]["rmse"]["kde"]
        assert place["rmse"]["kde"] == usual[: len(place["rmse"]["kde"])]
    results.write(tmp_path, cleanex_figures.draw)


def test_percentages_are_those_of_the_lower_error(small):
    results, _ = small
    by_experiment = {
        (row["experiment"], row["than"]): row for row in results.details["percentages"]
    }
    # 001, §5.2: CIFAR, LFW and fMRI, against regression and KDE.
    printed = {
        ("cifar", "regression"): 18, ("faces", "regression"): 32, ("decoding", "regression"): 22,
        ("cifar", "kde"): 7, ("decoding", "kde"): 73, ("faces", "kde"): -38,
    }  # fmt: skip
    assert {(place, rival): share for place, rival, share in cleanex.PRINTED} == printed
    # Regression is not among the methods here, and where the data are not there, all are named.
    del printed["decoding", "regression"]
    assert {key: row["printed"] for key, row in by_experiment.items()} == printed
    place = next(d for d in results.details["places"] if d["experiment"] == "decoding")
    mine, other = np.mean(place["rmse"]["cleanex"]), np.mean(place["rmse"]["kde"])
    share = 1 - mine / other if mine < other else other / mine - 1
    assert by_experiment["decoding", "kde"]["ours"] == pytest.approx(100 * share, abs=0.06)
    assert by_experiment["faces", "kde"]["ours"] is None


def test_all_three_bandwidths_of_kde_take_part():
    """001 names pseudolikelihood cross-validation and R's default; ucv is of the authors' code."""
    rules = {resolve(name).bandwidth for name in cleanex.METHODS if name.startswith("kde")}
    assert rules == {"pseudolikelihood", "nrd0", "ucv"}


# -- files -----------------------------------------------------------------------------------------


def test_pictures_of_the_parts_that_ran_and_no_others(small, tmp_path):
    results, _ = small
    paths = results.write(tmp_path, cleanex_figures.draw)
    assert [path.name for path in paths] == [
        "cleanex.json", "cleanex.csv", "cleanex-figure2.png", "cleanex-figure4.png",
        "cleanex-figure5.png", "cleanex-figure3.png",
    ]  # fmt: skip
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    for path in paths[2:]:
        picture = image.imread(path)
        assert len(np.unique(picture[..., 0])) > 50  # not blank
    rows = list(csv.DictReader(paths[1].read_text().splitlines()))
    assert [float(row["rmse"]) for row in rows] == [row["rmse"] for row in results.rows]
    assert (rows[0]["d"], rows[-1]["d"], rows[-1]["method"]) == ("5", "", "oracle")


def test_figure_4_shows_small_pilots_and_figure_5_large_ones(small):
    results, _ = small
    for name, k1 in (("figure4", 10), ("figure5", K1)):
        axes = cleanex_figures.draw_figure(name, results).axes
        assert len(axes) == 2 * 2  # settings and methods
        marks = {
            line.get_xdata()[0] for ax in axes for line in ax.lines if len(line.get_xdata()) == 2
        }
        assert marks == {k1}


def test_boxes_hold_the_quartiles(small):
    results, _ = small
    figure = cleanex_figures.draw_figure("figure2", results)
    place = next(d for d in results.details["places"] if d["k1"] == 10)
    lower, upper = np.quantile(place["rmse"]["cleanex"], [0.25, 0.75])
    heights = figure.axes[0].patches[0].get_path().vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((lower, upper), rel=1e-6)


def test_ratios_are_taken_pilot_by_pilot_and_capped():
    place = {"rmse": {"cleanex": [0.1, 0.2, None, 0.01], "kde": [0.2, 0.1, 0.3, 0.3]}}
    assert cleanex_figures.ratios(place, "kde", "cleanex") == pytest.approx([2, 0.5, 4])
    assert cleanex_figures.reference(place, ["kde", "cleanex"]) == "cleanex"
    place["rmse"]["cleanex"] = [None] * 4
    assert cleanex_figures.reference(place, ["cleanex", "kde"]) == "kde"


def test_a_method_has_one_colour_everywhere():
    names = [*cleanex.METHODS, "oracle"]
    found = cleanex_figures.colours(names)
    assert len({found[name] for name in names}) == len(names)
    assert cleanex_figures.colours(["kde"])["kde"] == found["kde"]
    assert TRUTH not in cleanex_figures.colours([f"method {i}" for i in range(10)]).values()


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def go(*words):
        capsys.readouterr()
        code = app.main(["cleanex", *(str(word) for word in words), "--jobs", "1"])
        return code, *capsys.readouterr()

    return go


FAST = ("--methods", "probit-normal,no-change", "--repeats", 2)


def test_command_shows_means_of_parts_and_names_its_files(command, tmp_path):
    """At full size, on the part that is cheap: decoding, 200 of 1,000."""
    code, out, err = command("--parts", "decoding", *FAST)
    assert (code, err) == (0, "")
    home = tmp_path / "experiment-results" / "cleanex"
    found = json.loads((home / "cleanex.json").read_text())
    lines = [line.split() for line in out.splitlines() if line.strip().startswith("decoding")]
    assert [line[:5] for line in lines] == [
        ["decoding", g["method"], "200", "1000", f"{g['rmse']:.4f}"]
        for g in found["details"]["groups"]
    ]
    assert [line[1] for line in lines] == ["probit-normal", "no-change", "oracle"]
    assert "Faces are left out" in out
    assert "cleanex.json, cleanex.csv, cleanex-figure3.png" in out
    assert "5 tasks, 5 of them done before" in command("--parts", "decoding", *FAST)[1]


def test_command_draws_pilots_of_other_sizes(command):
    code, out, err = command("--parts", "decoding", "--pilot-classes", "20,30", *FAST)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines() if line.strip().startswith("decoding")]
    assert [line[2] for line in lines] == ["20"] * 3 + ["30"] * 3


def test_command_takes_options_with_commas_and_counts_one_pilot(command):
    few = ("--parts", "decoding", "--repeats", 1)
    code, out, err = command(*few, "--methods", "cleanex:layers=(3,2):iterations=1,no-change")
    assert (code, err) == (0, "")
    held = [line.split()[1] for line in out.splitlines() if line.strip().startswith("decoding")]
    assert held == ["cleanex:layers=(3,2):iterations=1", "no-change", "oracle"]
    assert "from 1 random pilot of k1" in out


def test_command_reads_faces_from_their_folder_and_hides_where_it_is(
    command, faces, tmp_path, monkeypatch
):
    monkeypatch.setitem(populations.PILOTS, "faces", (K1,))
    code, out, err = command(faces, "--parts", "faces", "--output", "o", *FAST)
    assert (code, err) == (0, "")
    assert "left out" not in out
    text = (tmp_path / "o" / "cleanex.json").read_text()
    assert json.loads(text)["options"]["faces"] == "lfw_dlib_pairs.npz"
    assert json.loads(text)["rows"][0]["k2"] == 40
    assert str(tmp_path) not in text + (tmp_path / "o" / JOURNAL).read_text()
    # Other faces are other tasks; those there were are not taken for them.
    held = dict(np.load(faces / "lfw_dlib_pairs.npz"))
    held["probes"] = held["probes"] + 0.01
    np.savez(faces / "lfw_dlib_pairs.npz", **held)
    out = command(faces / "lfw_dlib_pairs.npz", "--parts", "faces", "--output", "o", *FAST)[1]
    assert "5 tasks, 0 of them done before" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--parts", "faces", *FAST], "needs lfw_dlib_pairs.npz"),
        (["--parts", "d7", *FAST], "--parts"),
        (["--parts", ",", *FAST], "no part"),
        (["--methods", "nothing"], "unknown method"),
        (["--parts", "decoding", *FAST, "--repeats", "0"], "--repeats"),
        (["nowhere", *FAST], "no file nowhere"),
        ([".", *FAST], "no file lfw_dlib_pairs.npz"),
    ],
)
def test_command_refuses_in_one_line(command, words, said):
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert err.startswith("headcount: error: ")
    assert said in err
    assert err.count("\n") == 1


def test_pilots_must_be_smaller_than_their_population(faces, tmp_path):
    with pytest.raises(ParameterError, match="40 of faces"):
        cleanex.cleanex(
            Settings(tmp_path / "o"), parts=["faces"], faces=faces, methods={"p": ProbitNormal()}
        )


# -- the committed results -------------------------------------------------------------------------


def test_committed_networks_are_those_of_the_committed_journal():
    """Rows that were not run again say by which code they were made, and are what it recorded."""
    folder = Path(populations.__file__).parents[1] / "results"
    rows = json.loads((folder / "cleanex" / "cleanex.json").read_text())["rows"]
    shelf = Shelf.read(folder / "cleanex" / JOURNAL, 0)
    taken = [row for row in rows if row["taken_from"]]
    assert {row["method"] for row in taken} == {"cleanex", "cleanex-fast"}
    for row in taken:
        source = populations.Source(
            row["experiment"], row["k2"], row["d"], row["sigma2"], row["classes"], row["points"]
        )
        (records, mark) = next(
            (records, mark)
            for (key, method), (mark, records) in shelf.rows.items()
            if method == row["method"]
            and key.split("@")[0].startswith(f"cleanex/{source.name}")
            and key.endswith(f"/{row['k1']}")
        )
        assert row["taken_from"] == f"cleanex/{JOURNAL}, {row['method']}@{mark}"
        values = [record["rmse"] for record in records]
        assert row["rmse"] == pytest.approx(np.mean(values), abs=1e-6)

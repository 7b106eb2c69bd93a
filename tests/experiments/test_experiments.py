import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import ledoit_wolf

from bench_tools import AsMeasured, Lacking, lasting, scores_and_labels
from experiments.papers import classifiers, learners, telugu
from experiments.runner import seed_for
from headcount import DataError, ParameterError, load
from headcount.estimators import NoChange, Pseudolikelihood

# -- Telugu ----------------------------------------------------------------------------------------


def test_telugu_files_meet_their_truth(folder):
    found = [(f.classifier, f.n_classes, f.truth) for f in telugu.score_files(folder)]
    # 10 of 100 x 50 training points are as many as 40 of 400 x 50; for 45 nothing is known.
    assert found == [("svm", 20, 0.5), ("knn_n10", 100, 0.6), ("knn_n45", 100, None)]


def test_telugu_sets_forecasts_beside_the_printed_ones(folder, settings):
    AsMeasured.seen.clear()
    some = {"as-measured": AsMeasured(), "lacking": Lacking()}
    results = telugu.telugu(folder, settings, methods=some)
    ours = {
        (row["classifier"], row["method"]): row
        for row in results.rows
        if row["source"] == "headcount"
    }
    assert len(ours) == 6
    scores, labels = scores_and_labels(1, 20, 1)
    right = np.mean(scores.argmax(axis=1) == labels)
    row = ours["svm", "as-measured"]
    assert (row["measured"], row["forecast"]) == (pytest.approx(right), pytest.approx(right))
    assert row["error"] == pytest.approx(right - 0.5)
    assert ours["knn_n45", "as-measured"]["error"] is None
    assert ours["svm", "lacking"]["forecast"] is None
    assert "convex" in ours["svm", "lacking"]["why_refused"]
    results.write(settings.output, telugu.draw)
    again = telugu.telugu(folder, settings, methods=some)
    assert again.run["tasks_resumed"] == 3
    assert lasting(again) == lasting(results)


def test_telugu_files_of_the_papers_meet_their_truth(folder, settings):
    for name in ("paper_svm", "paper_knn"):
        (folder / f"telugu_{name}_20.npz").write_bytes((folder / "telugu_svm_20.npz").read_bytes())
    found = {f.classifier: f.truth for f in telugu.score_files(folder) if f.n_classes == 20}
    # epsilon = 0.002 of 400 x 50 training points are 40 votes
    assert found == {"svm": 0.5, "paper_svm": 0.5, "paper_knn": 0.6}


def test_telugu_shows_how_far_the_profile_reaches(folder, settings):
    method = Pseudolikelihood(nodes=500)
    results = telugu.telugu(folder, settings, methods={"p": method, "none": NoChange()})
    ours = {(r["classifier"], r["method"]): r for r in results.rows if r["source"] == "headcount"}
    row = ours["svm", "p"]
    pilot = load(folder / "telugu_svm_20.npz")
    ends = np.array(method.fit(pilot).profile_range(telugu.CLASSES))
    np.testing.assert_allclose([row["least"], row["greatest"]], ends, atol=1e-6)
    assert row["least"] < row["forecast"] < row["greatest"]
    assert ours["svm", "none"]["least"] is None
    results.write(settings.output, telugu.draw)


def test_usual_methods_of_telugu_are_the_usual_ones_and_the_published():
    names = set(telugu.usual_methods())
    assert {"pos-004", "p5-004", "exp-004", "exp-003", "exp-003:as_printed=True"} < names
    assert {"auto", "kde", "kde:bandwidth=bcv"} < names


def test_printed_numbers_are_the_papers(folder, settings):
    rows = telugu.printed_rows()
    found = {(r["source"], r["classifier"], r["method"]): r for r in rows}
    # One row of each table, digit by digit; 004 prints errors.
    assert found["003 Fig. 2", "svm", "CON"]["forecast"] == 0.575
    assert found["003 Fig. 2", "svm", "HD"]["error"] == pytest.approx(0.546 - 0.545)
    for name, printed_error in (("EXP", 0.084), ("POS", 0.590), ("p(5)", 0.102)):
        row = found["004 Table 1", "knn", name]
        assert row["forecast"] == pytest.approx(1 - printed_error)
        assert row["error"] == pytest.approx(0.409 - printed_error)
    assert found["003 Fig. 2", "deepslim", "CON"]["forecast"] is None
    assert found["authors' R code", "svm", "KDE bcv"]["forecast"] == 0.3528


def test_telugu_refuses_folders_without_files(tmp_path, folder):
    with pytest.raises(DataError, match="no folder"):
        telugu.score_files(tmp_path / "nowhere")
    for text in ("[1]", "[" * 100_000):
        (folder / "telugu_truth.json").write_text(text)
        with pytest.raises(DataError, match="accuracies"):
            telugu.score_files(folder)
    (folder / "telugu_truth.json").unlink()
    with pytest.raises(DataError, match="no file"):
        telugu.score_files(folder)


# -- retrained classifiers -------------------------------------------------------------------------


SIZES = {"few": 4, "many": 9, "train": 4, "repeats": 2}


def scores_of(learner, x, y, test, seed):
    """Scores by which a classifier ranks, without the pilot that is made of them."""
    if learner.model is None:
        return learner.scores(x, y, test, seed)
    return learner.model(seed).fit(x, y).decision_function(test)


def test_drawings_are_templates_and_probes_alike(drawings):
    found = classifiers.read_drawings(drawings)
    assert np.bincount(found.labels).tolist() == [8] * 9
    assert found.vectors.var(axis=0).mean() == pytest.approx(1)
    again = classifiers.read_drawings(drawings / "omniglot_pixels.npz")
    assert (again.vectors == found.vectors).all()


def test_split_keeps_training_and_test_apart(drawings):
    found = classifiers.read_drawings(drawings)
    one = classifiers.split(found, 6, 3, seed=0, repeat=0)
    assert np.bincount(one.train_labels).tolist() == [3] * 6
    assert np.bincount(one.test_labels).tolist() == [5] * 6
    place = {tuple(row): label for row, label in zip(found.vectors, found.labels, strict=True)}
    rows = [tuple(row) for row in np.vstack([one.train, one.test])]
    assert len(set(rows)) == 48
    classes = {(new, place[row]) for new, row in zip(
        np.concatenate([one.train_labels, one.test_labels]), rows, strict=True)}  # fmt: skip
    assert len(classes) == 6  # one old class for each new number
    other = classifiers.split(found, 6, 3, seed=0, repeat=1)
    assert (other.train != one.train).any()


def test_marginal_classifiers_agree_with_their_densities(drawings):
    drawn = classifiers.split(classifiers.read_drawings(drawings), 9, 4, seed=0, repeat=0)
    arguments = (drawn.train, drawn.train_labels, drawn.test, 0)
    naive = learners.LEARNERS["naive Bayes"].scores(*arguments)
    quadratic = learners.LEARNERS["QDA"].scores(*arguments)
    for label in range(9):
        own = drawn.train[drawn.train_labels == label]
        spread = np.sqrt(own.var(axis=0) + learners.SMOOTHING)
        by_feature = norm.logpdf(drawn.test, own.mean(axis=0), spread).sum(axis=1)
        np.testing.assert_allclose(naive[:, label], by_feature - np.log(9), atol=1e-8)
        law = multivariate_normal(own.mean(axis=0), ledoit_wolf(own)[0])
        constant = 2 * np.log(2 * np.pi)  # of four dimensions; the same for every class
        np.testing.assert_allclose(
            quadratic[:, label], law.logpdf(drawn.test) + constant, atol=1e-8
        )


def test_neighbours_vote_by_their_share_of_all_training_points(drawings, monkeypatch):
    monkeypatch.setattr(learners, "EPSILON", 0.1)
    drawn = classifiers.split(classifiers.read_drawings(drawings), 9, 4, seed=0, repeat=0)
    votes = learners.LEARNERS["epsilon-NN"].scores(drawn.train, drawn.train_labels, drawn.test, 0)
    near = np.argsort(np.linalg.norm(drawn.test[:, None] - drawn.train, axis=2), axis=1)[:, :4]
    expected = [np.bincount(drawn.train_labels[rows], minlength=9) for rows in near]
    assert votes.tolist() == np.array(expected).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_forecast_against_the_retrained_truth(drawings, settings):
    found = classifiers.read_drawings(drawings)
    some = {"as-measured": AsMeasured(), "lacking": Lacking()}
    results = classifiers.classifiers(found, settings, methods=some, **SIZES)
    assert len(results.rows) == 12
    rows = {row["classifier"]: row for row in results.rows if row["method"] == "as-measured"}
    for name, learner in learners.LEARNERS.items():
        held = results.details[name]
        # Training on more classes changes a classifier on the old ones unless it is marginal.
        gaps = np.subtract(held["truth_at_few"], held["measured"])
        if name != "network":  # whose training depends on the version of scikit-learn
            assert gaps.any() == (not learner.marginal), name
        truths, measured = [], []
        for repeat in range(2):
            drawn = classifiers.split(found, 9, 4, 0, repeat)
            for size, kept in ((9, truths), (4, measured)):
                fit, test = drawn.train_labels < size, drawn.test_labels < size
                seed = seed_for(0, "classifiers", "train", size, name, repeat)
                scores = scores_of(
                    learner, drawn.train[fit], drawn.train_labels[fit], drawn.test[test], seed
                )
                right = scores[np.arange(test.sum()), drawn.test_labels[test]][:, None]
                ahead, tied = (scores > right).sum(axis=1), (scores == right).sum(axis=1)
                kept.append(np.mean((ahead == 0) / tied))
        assert held["truth"] == pytest.approx(truths, abs=1e-6)
        assert held["measured"] == pytest.approx(measured, abs=1e-6)
        assert rows[name]["truth"] == pytest.approx(np.mean(truths), abs=1e-6)
    row = rows["naive Bayes"]
    errors = np.subtract(results.details["naive Bayes"]["forecasts"]["as-measured"],
                         results.details["naive Bayes"]["truth"])  # fmt: skip
    assert row["bias"] == pytest.approx(errors.mean(), abs=1e-6)
    assert row["rmse"] == pytest.approx(np.sqrt((errors**2).mean()), abs=1e-6)
    lacking = [row for row in results.rows if row["method"] == "lacking"]
    assert all(row["refused"] == 2 and row["rmse"] is None for row in lacking)
    results.write(settings.output, classifiers.draw)
    again = classifiers.classifiers(found, settings, methods=some, **SIZES)
    assert again.run["tasks_resumed"] == 12  # all but those that lack an extra
    assert lasting(again) == lasting(results)


def test_slow_methods_forecast_fewer_classifiers(drawings, settings):
    found = classifiers.read_drawings(drawings)
    both = {"slow": AsMeasured(), "fast": AsMeasured()}
    results = classifiers.classifiers(
        found, settings, methods=both, fewer={"slow": 1}, learners=["QDA"], **SIZES
    )
    rows = {row["method"]: row for row in results.rows}
    assert (rows["slow"]["repeats"], rows["fast"]["repeats"]) == (1, 2)
    said, truth = results.details["QDA"]["forecasts"], results.details["QDA"]["truth"]
    assert said["slow"] == [said["fast"][0], None]
    assert rows["slow"]["bias"] == pytest.approx(said["slow"][0] - truth[0], abs=1e-6)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"many": 10}, "of 9"),
        ({"few": 9}, "below --classes"),
        ({"few": 2}, "pilot-classes"),
        ({"train": 8}, "leaves none"),
        ({"repeats": 0}, "repeats"),
        ({"learners": ["oracle"]}, "--learners"),
        ({"methods": {"a": AsMeasured()}, "fewer": {"b": 1}}, "not among the methods"),
    ],
)
def test_classifiers_refuse_sizes_that_do_not_fit(drawings, settings, changed, said):
    with pytest.raises((ParameterError, DataError), match=said):
        classifiers.classifiers(classifiers.read_drawings(drawings), settings, **SIZES | changed)


def test_drawings_refuse_other_files(tmp_path):
    np.savez(tmp_path / "scores.npz", scores=np.eye(3), labels=np.arange(3))
    with pytest.raises(DataError, match="gallery"):
        classifiers.read_drawings(tmp_path / "scores.npz")
    with pytest.raises(DataError, match="no file"):
        classifiers.read_drawings(tmp_path)
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(DataError, match=r"no \.npz"):
        classifiers.read_drawings(tmp_path / "x.txt")

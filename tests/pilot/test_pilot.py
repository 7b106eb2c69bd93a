import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from headcount import DataError, ParameterError, Pilot, UnsupportedError, observe

SCORES = np.array([[0.9, 0.1, 0.3], [0.2, 0.8, 0.8], [0.7, 0.5, 0.1], [0.1, 0.2, 0.4]])
LABELS = [0, 1, 2, 2]
LOSSES, TIES = [0, 0, 2, 0], [0, 1, 0, 0]


class OnlyArray:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def holders():
    yield SCORES
    yield SCORES.tolist()
    yield OnlyArray(SCORES)
    yield pd.DataFrame(SCORES)
    yield np.asfortranarray(SCORES.astype(np.float32))


@pytest.mark.parametrize("scores", list(holders()), ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(
    "labels", [LABELS, np.array(LABELS, "u1"), pd.Series(LABELS), np.array([0.0, 1, 2, 2])]
)
def test_scores_may_come_in_any_holder(scores, labels):
    pilot = Pilot.from_scores(scores, labels)
    assert pilot.losses.tolist() == LOSSES
    assert pilot.ties.tolist() == TIES
    assert (pilot.n_classes, pilot.n_probes) == (3, 4)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        scores = torch.tensor(SCORES, dtype=dtype, requires_grad=True)
        pilot = Pilot.from_scores(scores, torch.tensor(LABELS))
        assert pilot.losses.tolist() == LOSSES


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_name_the_classes(frame):
    table = frame({"ada": SCORES[:, 0], "bob": SCORES[:, 1], "cy": SCORES[:, 2]})
    pilot = Pilot.from_scores(table, ["ada", "bob", "cy", "cy"])
    assert pilot.losses.tolist() == LOSSES
    assert pilot.class_names.tolist() == ["ada", "bob", "cy"]
    assert Pilot.from_scores(table, LABELS).losses.tolist() == LOSSES


def test_labels_match_names_before_positions():
    pilot = Pilot.from_scores(SCORES, [30, 20, 10, 10], class_names=[30, 20, 10])
    assert pilot.losses.tolist() == LOSSES
    as_text = Pilot.from_scores(SCORES, ["30", "20", "10", "10"], class_names=[30, 20, 10])
    assert as_text.losses.tolist() == LOSSES


def test_a_pilot_cannot_be_changed():
    pilot = Pilot.from_scores(SCORES, LABELS)
    with pytest.raises(AttributeError):
        pilot.n_classes = 4
    with pytest.raises(ValueError, match="read-only"):
        pilot.losses[0] = 3
    given = np.array([0, 1])
    other = Pilot.from_losses(given, 5)
    given[0] = 4
    assert other.losses.tolist() == [0, 1]


def test_macro_weighs_classes_and_micro_probes():
    labels = [0, 0, 0, 1]
    macro = Pilot.from_losses([0, 0, 0, 1], 3, labels=labels)
    micro = Pilot.from_losses([0, 0, 0, 1], 3, labels=labels, average="micro")
    assert macro.weights.tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
    assert micro.weights.tolist() == [0.25] * 4
    assert macro.summary().accuracy == pytest.approx(0.5)
    assert micro.summary().accuracy == pytest.approx(0.75)
    assert Pilot.from_losses([0, 1], 3).weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("rule, expected", [("random", 0.5), ("lose", 0.0), ("win", 1.0)])
def test_tie_rules_at_the_pilots_own_size(rule, expected):
    pilot = Pilot.from_losses([0], 4, ties=[1], tie_rule=rule)
    assert pilot.summary().accuracy == pytest.approx(expected)
    assert float(observe(pilot).accuracy(4)) == pytest.approx(expected)


def test_table_spreads_ties_evenly_and_ignores_order():
    pilot = Pilot.from_losses([2, 0, 2], 8, ties=[2, 0, 0])
    table = pilot.table()
    assert table.losses.tolist() == [0, 2, 3, 4]
    assert table.weights.tolist() == pytest.approx([1 / 3, 1 / 3 + 1 / 9, 1 / 9, 1 / 9])
    assert table.n_rivals == 7
    shuffled = Pilot.from_losses([0, 2, 2], 8, ties=[0, 0, 2]).table()
    assert shuffled.weights.tolist() == table.weights.tolist()


def test_table_keeps_long_ties_exact():
    n_classes = 100_001
    table = Pilot.from_losses([0, 7, 99_999], n_classes, ties=[n_classes - 1, 0, 1]).table()
    assert table.weights.sum() == pytest.approx(1, abs=1e-12)
    assert len(table.losses) == n_classes
    assert table.weights[7] == pytest.approx((1 + 1 / n_classes) / 3, rel=1e-12)
    assert table.weights[-1] == pytest.approx((0.5 + 1 / n_classes) / 3, rel=1e-9)


def test_both_ways_of_spreading_ties_agree(monkeypatch):
    rng = np.random.default_rng(5)
    losses = rng.integers(0, 80, 200)
    ties = np.where(rng.random(200) < 0.5, rng.integers(0, 19, 200), 0)
    expanded = Pilot.from_losses(losses, 100, ties=ties).table()
    monkeypatch.setattr("headcount.pilot.losses.FEW_ROWS", 0)
    swept = Pilot.from_losses(losses, 100, ties=ties).table()
    assert swept.losses.tolist() == expanded.losses.tolist()
    np.testing.assert_allclose(swept.weights, expanded.weights, rtol=1e-9)


@pytest.mark.parametrize("few_rows", [0, 10**6], ids=["swept", "expanded"])
@pytest.mark.parametrize("least", [0, 1, 30])
@pytest.mark.parametrize("tied", ["some", "all", "low", "high"])
def test_ties_are_spread_as_by_hand(monkeypatch, few_rows, least, tied):
    """Whether or not small numbers of losses occur, and whichever probes lie beyond the runs."""
    monkeypatch.setattr("headcount.pilot.losses.FEW_ROWS", few_rows)
    losses = least + np.array([4, 4, 0, 9, 12, 25, 40, 4, 60])
    ties = {
        "some": [2, 0, 3, 0, 6, 0, 5, 2, 0],
        "all": [2, 1, 3, 4, 6, 1, 5, 2, 7],
        "low": [2, 1, 3, 0, 0, 0, 0, 2, 0],
        "high": [0, 0, 0, 0, 0, 0, 5, 0, 7],
    }[tied]
    pilot = Pilot.from_losses(losses, 200, ties=ties)
    shares: dict[int, float] = {}
    for lost, equal in zip(losses.tolist(), ties, strict=True):
        for place in range(lost, lost + equal + 1):
            shares[place] = shares.get(place, 0.0) + 1 / 9 / (equal + 1)
    table = pilot.table()
    assert table.losses.tolist() == sorted(shares)
    assert table.weights.tolist() == pytest.approx([shares[place] for place in sorted(shares)])


def test_a_few_ties_among_many_classes_take_little_room():
    n_classes = 10**12
    table = Pilot.from_losses([0, n_classes - 11], n_classes, ties=[1, 10]).table()
    assert len(table.losses) == 13


def test_summary_says_what_to_look_at():
    scores = np.array([[3.0, 1, 2, 0], [9, 3, 2, 1], [9, 4, 3, 2], [9, 8, 7, 1]])
    pilot = Pilot.from_scores(scores, [0, 1, 2, 2], groups=["x", "x", "y", "y"])
    summary = pilot.summary()
    assert summary.classes_without_probes == 1
    assert (summary.fewest_probes, summary.median_probes, summary.most_probes) == (1, 1, 2)
    assert summary.hardest[0].name == "2" and summary.hardest[0].share == pytest.approx(2 / 3)
    assert summary.confusing[0].name == "0" and summary.confusing[0].share == pytest.approx(1)
    assert [(note.name, note.share) for note in summary.groups] == [("y", 0.0), ("x", 0.5)]
    text = str(summary)
    assert "4 classes, 4 probes" in text and "none, only competing: 1 class" in text


def test_groups_may_be_named_by_class():
    pilot = Pilot.from_scores(SCORES, LABELS, groups={0: "odd", 1: "even", 2: "odd"})
    assert pilot.groups.tolist() == ["odd", "even", "odd"]
    assert pilot.subset([1, 2]).groups.tolist() == ["even", "odd"]
    with pytest.raises(DataError, match="1 of 3 rows has no group"):
        Pilot.from_scores(SCORES, LABELS, groups={0: "odd", 1: "even"})


@pytest.mark.parametrize(
    "clf",
    [
        LogisticRegression(max_iter=5000),
        SVC(break_ties=True),
        RandomForestClassifier(10, random_state=0),
    ],
)
def test_classifier_scores_agree_with_its_predictions(clf):
    x, y = load_digits(return_X_y=True)
    names = np.array([f"digit {i}" for i in range(10)])
    clf.fit(x[:600], names[y[:600]])
    pilot = Pilot.from_classifier(clf, x[600:], names[y[600:]], average="micro", tie_rule="win")
    wrong = clf.predict(x[600:]) != names[y[600:]]
    clear = pilot.ties == 0
    assert clear.sum() > 900
    assert ((pilot.losses > 0) == wrong)[clear].all()


def test_two_class_classifier():
    x, y = load_digits(return_X_y=True)
    pair = y < 2
    clf = LogisticRegression(max_iter=5000).fit(x[pair][:200], y[pair][:200])
    pilot = Pilot.from_classifier(clf, x[pair][200:], y[pair][200:], average="micro")
    assert pilot.n_classes == 2
    assert pilot.summary().accuracy == pytest.approx(clf.score(x[pair][200:], y[pair][200:]))


def test_classifiers_that_cannot_be_used_are_refused():
    with pytest.raises(DataError, match="fit it first"):
        Pilot.from_classifier(LogisticRegression(), [[1]], [0])
    x, y = load_digits(return_X_y=True)
    one_to_one = SVC(decision_function_shape="ovo").fit(x[:600], y[:600])
    with pytest.raises(DataError, match="45 scores for 10 classes"):
        Pilot.from_classifier(one_to_one, x, y)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: Pilot.from_scores([[1, np.nan], [0, 1]], [0, 1]), "1 of 2 rows holds NaN.*row 0, column 1"),
        (lambda: Pilot.from_scores(SCORES, [0, 1, 2, 3]), "1 of 4 rows.*0 to 2.*row 3, label 3"),
        (lambda: Pilot.from_scores(SCORES, ["a", "b", "c", "c"]), "4 of 4 rows"),
        (lambda: Pilot.from_scores(SCORES[:, :1], [0] * 4), "at least 2 classes"),
        (lambda: Pilot.from_scores(SCORES[:0], []), "no probe"),
        (lambda: Pilot.from_scores(SCORES, [0, 1]), "2 labels for 4 rows"),
        (lambda: Pilot.from_scores(SCORES[0], [0]), "rows and columns"),
        (lambda: Pilot.from_scores(np.ones((3, 2)), [0, 1, 1]), "every class the same"),
        (lambda: Pilot.from_scores(SCORES.astype(str), LABELS), "must be numbers"),
        (lambda: Pilot.from_scores([[1, 2], [3]], [0, 1]), "different lengths"),
        (lambda: Pilot.from_scores(-SCORES, [0, 1, 0, 2]), "higher_is_better=False"),
        (lambda: Pilot.from_scores(SCORES, LABELS, class_names=["a", "a", "b"]), "more than once.*a, at position 0"),
        (lambda: Pilot.from_scores(SCORES, LABELS, class_names=["a", "b"]), "2 class names for 3 columns"),
        (lambda: Pilot.from_scores(SCORES, [0, 1, 2, 1.5]), "1 of 4 rows is not whole"),
        (lambda: Pilot.from_scores(SCORES, [0, "b", 2, None]), "all labels integers or all text"),
        (lambda: Pilot.from_embeddings([[1.0, 2]], [0], [[1.0], [2]]), "2 dimensions against 1"),
        (lambda: Pilot.from_embeddings([[1.0]], ["x"], [[1.0], [2]]), "label x"),
        (lambda: Pilot.from_embeddings([[np.inf]], [0], [[1.0], [2]]), "column 0 is inf"),
        (lambda: Pilot.from_embeddings([[1.0], [2]], ["a", "b"]), "each of the 2 classes has one row"),
        (lambda: Pilot.from_embeddings([[1.0]], [0], None, [0]), "without a gallery"),
        (lambda: Pilot.from_embeddings(np.array([[7e4]], "f2"), [0], [[1.0], [2]]), "float16"),
        (lambda: Pilot.from_losses([0, 5], 5), "1 of 2 rows has more losses.*row 1, 5 losses"),
        (lambda: Pilot.from_losses([-1], 5), "negative"),
        (lambda: Pilot.from_losses([2**63 - 1], 100, ties=[2]), "more losses"),
        (lambda: Pilot.from_scores(SCORES, [10**30, 1, 2, 2]), "past 2"),
        (lambda: Pilot.from_embeddings([[1e-150]], [0], [[1.0], [2]]), "1e-100"),
        (lambda: Pilot.from_losses([0], 1), "at least 2 classes"),
        (lambda: Pilot.from_losses([0, 1], 5, labels=[1]), "1 labels for 2 losses"),
        (lambda: Pilot.from_losses([0], 5, ties=[1], censored=[True]), "censored"),
        (lambda: Pilot.from_losses([0, 0, 0], 2, labels=list("abc")), "3 classes, but n_classes is 2"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with np.errstate(over="ignore"), pytest.raises(DataError, match=words):
        call()


@pytest.mark.parametrize(
    "options", [{"average": "mean"}, {"tie_rule": "coin"}], ids=["average", "tie_rule"]
)
def test_unknown_options_list_the_known_ones(options):
    with pytest.raises(ParameterError, match="must be one of"):
        Pilot.from_losses([0], 5, **options)
    with pytest.raises(ParameterError, match="euclidean"):
        Pilot.from_embeddings([[1.0]], [0], [[1.0], [2]], similarity="manhattan")


def test_stating_the_orientation_silences_the_check():
    assert Pilot.from_scores(-SCORES, [0, 1, 0, 2], higher_is_better=True).n_probes == 4
    assert Pilot.from_scores(-SCORES, LABELS, higher_is_better=False).losses.tolist() == LOSSES


def test_counts_alone_cannot_say_who_beat_whom():
    pilot = Pilot.from_losses([0, 1], 5, labels=[0, 1])
    for ask in (
        lambda: pilot.subset([0, 1]),
        pilot.beats,
        pilot.pieces,
        lambda: pilot.score_blocks(),
    ):
        with pytest.raises(UnsupportedError, match="only counts"):
            ask()
    assert pilot.summary().confusing == ()


def test_subsets_that_make_no_pilot_are_refused():
    pilot = Pilot.from_scores(SCORES, LABELS)
    for classes, words in (([0], "2 classes"), ([0, 0], "more than once"), ([0, 9], "label 9")):
        with pytest.raises(DataError, match=words):
            pilot.subset(classes)


def test_fewer_probes_among_all_classes():
    pilot = Pilot.from_scores(SCORES, LABELS)
    fewer = pilot.keep_probes([3, 1])
    assert fewer.losses.tolist() == [0, 0] and fewer.ties.tolist() == [0, 1]
    assert fewer.n_classes == 3 and fewer.labels.tolist() == [2, 1]
    assert next(fewer.score_blocks())[1].tolist() == SCORES[[3, 1]].tolist()
    pilot.beats()
    listed = pilot.keep_probes([3, 1]).beats()
    assert listed.classes.tolist() == [2] and listed.tied.tolist() == [True]
    counts = Pilot.from_losses([4, 0, 2], 9, censored=[True, False, False]).keep_probes([0, 2])
    assert counts.losses.tolist() == [4, 2] and counts.censored.tolist() == [True, False]
    with pytest.raises(DataError, match="no probe"):
        pilot.keep_probes([])


def test_probes_to_keep_may_be_a_mask():
    pilot = Pilot.from_scores(SCORES, LABELS)
    expected = pilot.keep_probes([0, 2, 3])
    for mask in ([True, False, True, True], pd.Series([True, False, True, True])):
        kept = pilot.keep_probes(mask)
        assert kept.losses.tolist() == expected.losses.tolist() == [0, 2, 0]
        assert kept.labels.tolist() == [0, 2, 2]
    assert pilot.keep_probes([3.0, 1.0]).labels.tolist() == [2, 1]


@pytest.mark.parametrize(
    "rows, words",
    [
        ([True, False], "mask has 2 entries for 4 probes"),
        ([True] * 5, "mask has 5 entries for 4 probes"),
        ([0.5, 1.0], "1 of 2 rows is not whole numbers"),
        ([1.9, 2.9], "2 of 2 rows are not whole numbers"),
        (
            [0, 4],
            "1 of 2 rows is outside the probes .first: row 1, position 4.; count from 0 to 3",
        ),
        ([-1, 0], "outside the probes .first: row 0, position -1"),
        ([2, 1, 2], "1 of 3 rows was named before .first: row 2, position 2"),
        (["a"], "plain list of positions"),
        ([[0, 1]], "plain list of positions"),
        ([False] * 4, "no probe"),
    ],
)
def test_probes_that_cannot_be_kept_are_refused(rows, words):
    with pytest.raises(DataError, match=words):
        Pilot.from_scores(SCORES, LABELS).keep_probes(rows)


@pytest.mark.parametrize(
    "labels, words",
    [
        ([2.0**53, 2.0**53 + 2], "2 of 2 rows are past 2..53, where float64"),
        ([2.0**63, 1.0], "1 of 2 rows is past 2..53"),
        ([1e300, 1.0], "1 of 2 rows is past 2..53"),
        ([1.0, -(2.0**60)], "1 of 2 rows is past 2..53"),
        (np.array([2**24, 1], np.float32), "past 2..24, where float32"),
        (np.array([2**63, 5], np.uint64), "1 of 2 rows is past 2..63 .* as text"),
        ([2**63, -1], "past 2"),
        ([2**70, 1], "past 2..63"),
    ],
)
def test_labels_that_merge_are_refused(labels, words):
    for make in (
        lambda: Pilot.from_losses([0, 1], 10, labels=labels),
        lambda: Pilot.from_embeddings([[0.0], [1.0]], labels, [[0.0], [1.0]], labels),
    ):
        with pytest.raises(DataError, match=words):
            make()


def test_large_whole_labels_are_kept_apart():
    for dtype in (np.int64, np.uint64):
        labels = np.array([2**53, 2**53 + 1, 2**63 - 1], dtype)
        assert Pilot.from_losses([0, 1, 2], 10, labels=labels).class_names.tolist() == [
            2**53, 2**53 + 1, 2**63 - 1,
        ]  # fmt: skip
    assert Pilot.from_losses([0, 1], 9, labels=[2.0**53 - 1, 1.0]).n_probes == 2


@pytest.mark.parametrize("losses", [[2.0**63], np.array([2**63], np.uint64), [1e300]])
def test_counts_past_the_integers_are_refused(losses):
    with pytest.raises(DataError, match=r"1 of 1 rows is past 2\*\*63"):
        Pilot.from_losses(losses, 10)


@pytest.mark.parametrize(
    "again",
    [lambda pilot: pilot, lambda pilot: pickle.loads(pickle.dumps(pilot)), copy.deepcopy],
    ids=["itself", "pickle", "deepcopy"],
)
def test_the_list_of_rivals_is_immutable_too(again):
    pilot = Pilot.from_scores(SCORES, LABELS)
    pilot.beats()
    found = again(pilot).beats()
    for values in (found.start, found.classes, found.tied):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = values[1]


@pytest.mark.parametrize("no", [False, np.False_, 0])
def test_any_truth_value_says_which_way_scores_run(no):
    flipped = Pilot.from_scores(-np.asarray(SCORES), LABELS, higher_is_better=no)
    assert flipped.losses.tolist() == Pilot.from_scores(SCORES, LABELS).losses.tolist()


@pytest.mark.parametrize("value", ["no", 2, float("nan"), [False, False]])
def test_what_is_no_truth_value_is_refused(value):
    with pytest.raises(ParameterError, match="higher_is_better must be true or false"):
        Pilot.from_scores(SCORES, LABELS, higher_is_better=value)


@pytest.mark.parametrize(
    "again",
    [lambda pilot: pickle.loads(pickle.dumps(pilot)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_copies_are_immutable_too(again):
    pilot = again(Pilot.from_scores(SCORES, LABELS, groups=["x", "y", "y"], order=[1.0, 2.0, 3.0]))
    held = {name: value for name, value in vars(pilot).items() if isinstance(value, np.ndarray)}
    assert {"losses", "ties", "censored", "labels", "class_names", "groups", "order"} < set(held)
    for values in held.values():
        with pytest.raises(ValueError, match="read-only"):
            values[0] = values[1]
    with pytest.raises(AttributeError, match="cannot be changed"):
        pilot.losses = np.zeros(4)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del pilot.losses
    assert (
        pilot.beats().classes.tolist() == Pilot.from_scores(SCORES, LABELS).beats().classes.tolist()
    )


@pytest.mark.parametrize(
    "names, words", [("aab", "1 name occurs more"), ("aabb", "2 names occur more")]
)
def test_names_that_occur_twice_are_counted_in_good_grammar(names, words):
    with pytest.raises(DataError, match=f"class names: {words} than once"):
        Pilot.from_scores(np.eye(len(names)), list(names), class_names=list(names))


@pytest.mark.parametrize(
    "rule, losses, ties, right",
    [
        ("random", [0, 0, 1, 0], [0, 2, 1, 0], [1, 1 / 3, 0, 0]),
        ("lose", [0, 2, 2, 0], [0, 0, 0, 0], [1, 0, 0, 0]),
        ("win", [0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 0]),
    ],
)
def test_ties_are_settled_and_probes_right_by_the_rule(rule, losses, ties, right):
    given = {"ties": [0, 2, 1, 0], "censored": [False, False, False, True], "tie_rule": rule}
    pilot = Pilot.from_losses([0, 0, 1, 0], 9, **given)
    assert [part.tolist() for part in pilot.settled] == [losses, ties]
    assert pilot.right == pytest.approx(right)
    for again in (pilot, pickle.loads(pickle.dumps(pilot))):
        for array in (*again.settled, again.right):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5

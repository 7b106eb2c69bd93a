import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from headcount import Pilot
from headcount.errors import DataError
from headcount.questions.risk import as_cost, load_cost

NAMES = ["beagle", "car", "lion", "poodle"]
# Edges: beagle - dog - poodle 2; beagle - dog - animal - lion 3; beagle - dog - animal - top - car 4.
DISTANCES = [[0, 4, 3, 2], [4, 0, 3, 4], [3, 3, 0, 3], [2, 4, 3, 0]]
TREE = {"animal": {"dog": ["beagle", "poodle"], "lion": None}, "car": {}}
ANCESTORS = {
    "beagle": ["animal", "dog"],
    "poodle": ["animal", "dog"],
    "lion": ["animal"],
    "car": [],
}


@pytest.fixture
def pilot():
    return Pilot.from_scores(np.eye(4), NAMES, class_names=NAMES)


def full(cost):
    return np.array([cost.row(i) for i in range(cost.n_classes)])


def random_cost(n_classes=4, seed=0):
    cost = np.random.default_rng(seed).gamma(1, 1, (n_classes, n_classes))
    np.fill_diagonal(cost, 0)
    return cost


def refusal(given, pilot):
    """What is said about a cost that is refused, at once or when its rows are used."""
    with pytest.raises(DataError) as caught:
        full(as_cost(given, pilot))
    return str(caught.value)


def test_rows_of_a_matrix_dense_or_sparse(pilot):
    dense = random_cost()
    for given in (dense, dense.tolist(), pd.DataFrame(dense, columns=NAMES), pd.DataFrame(dense)):
        np.testing.assert_array_equal(full(as_cost(given, pilot)), dense)
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix):
        np.testing.assert_array_equal(full(as_cost(make(dense), pilot)), dense)
    assert as_cost(dense.astype(np.float16), pilot).row(0).dtype == np.float64
    twice = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [3, 3, 2])), shape=(4, 4))
    assert full(as_cost(twice, pilot))[[0, 1], [3, 2]].tolist() == [3, 4]


def squared_distances(place):
    """Return the pair whose product is (x - y)**2 for places x and y."""
    left = np.column_stack([place**2, -2 * place, np.ones(len(place))])
    right = np.column_stack([np.ones(len(place)), place, place**2])
    return left, right


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_rows_of_a_pair_with_round_off_removed(kind):
    rng = np.random.default_rng(1)
    place = np.repeat(10 * rng.normal(size=30), 2)  # every place twice: costs that should be 0
    left, right = (part.astype(kind) for part in squared_distances(place))
    raw = left.astype(float) @ right.astype(float).T
    assert raw.min() < 0 and np.diag(raw).any()
    found = full(as_cost((left, right), Pilot.from_losses([0], 60)))
    expected = (place[:, None] - place) ** 2
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e4 * np.finfo(kind).eps)
    assert found.min() == 0 and not np.diag(found).any()


def test_small_costs_beside_large_ones_are_kept(pilot):
    place = np.array([0.0, 1e-3, 2e-3, 1e3])
    found = full(as_cost(squared_distances(place), pilot))
    np.testing.assert_allclose(found, (place[:, None] - place) ** 2, rtol=1e-9, atol=1e-20)


def test_a_function_gets_names_and_is_called_once_a_pair(pilot):
    calls = []

    def cost(true, taken):
        calls.append((true, taken))
        return len(true) if true != taken else 0

    made = as_cost(cost, pilot)
    assert calls == []
    assert made.row(0).tolist() == [0, 6, 6, 6]
    made.row(0)[:] = -1  # the caller's own copy
    assert made.row(0).tolist() == [0, 6, 6, 6]
    assert sorted(calls) == [("beagle", name) for name in NAMES]
    assert type(calls[0][0]) is str
    numbered = Pilot.from_scores(np.eye(3), [0, 1, 2])
    assert as_cost(lambda a, b: abs(a - b), numbered).row(2).tolist() == [2, 1, 0]


@pytest.mark.parametrize("form", [TREE, ANCESTORS])
def test_a_hierarchy_costs_its_distances(pilot, form):
    assert full(as_cost(form, pilot)).tolist() == DISTANCES


def test_groups_of_one_name_in_different_places_are_different(pilot):
    tree = {"small": {"x": ["beagle", "poodle"]}, "big": {"x": ["lion", "car"]}}
    cost = full(as_cost(tree, pilot))
    assert cost[0].tolist() == [0, 6, 6, 2]


def test_a_class_may_be_the_ancestor_of_another():
    pilot = Pilot.from_scores(
        np.eye(3), ["dog", "poodle", "cat"], class_names=["dog", "poodle", "cat"]
    )
    ancestors = {"dog": ["animal"], "poodle": ["animal", "dog"], "cat": ["animal"]}
    assert full(as_cost(ancestors, pilot)).tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]


def test_a_hierarchy_may_hold_more_than_the_pilot_and_name_numbers():
    pilot = Pilot.from_scores(np.eye(3), [7, 8, 9], class_names=[7, 8, 9])
    for tree in ({"a": [7, 9], "b": [8, 1]}, {"a": ["7", "9"], "b": {"8": None, "1": None}}):
        assert full(as_cost(tree, pilot)).tolist() == [[0, 4, 2], [4, 0, 4], [2, 4, 0]]
    flat = as_cost({"7": None, "8": None, "9": None}, pilot)
    assert full(flat).tolist() == [[0, 2, 2], [2, 0, 2], [2, 2, 0]]


def test_what_is_known_of_a_cost(pilot):
    ones = 1 - np.eye(4)
    for given in ("zero-one", ones, ones.astype(int), sparse.csr_array(ones)):
        cost = as_cost(given, pilot)
        assert cost.is_zero_one
        np.testing.assert_array_equal(full(cost), ones)
    for given in (2 * ones, TREE, np.array(DISTANCES), sparse.csr_array(DISTANCES)):
        cost = as_cost(given, pilot)
        assert not cost.is_zero_one
        assert as_cost(cost, pilot) is cost


def test_costs_made_for_other_classes_are_refused(pilot):
    cost = as_cost(TREE, pilot)
    turned = Pilot.from_scores([[3, 1, 2, 0]], [NAMES[3]], class_names=NAMES[::-1])
    with pytest.raises(DataError, match="other classes, or in another order"):
        as_cost(cost, turned)


def test_a_sparse_matrix_with_entries_given_twice_is_left_as_it_is(pilot):
    held = np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3, 3, 3])
    for part in held:
        part.flags.writeable = False
    given = sparse.csr_array(held, shape=(4, 4))
    cost = as_cost(given, pilot)
    assert cost.row(0).tolist() == [0, 3, 0, 0] and cost.row(1).tolist() == [4, 0, 0, 0]
    assert given.nnz == 3


def test_a_pair_may_be_a_list(pilot):
    left, right = np.arange(8.0).reshape(4, 2) * [1, 0], np.ones((4, 2)) * [0, 1]
    assert not full(as_cost([left, right], pilot)).any()


@pytest.mark.parametrize("given", [None, 3, np.ones(4), [1, 2], np.ones((4, 4, 4))])
def test_what_has_no_form_of_a_cost_is_refused(pilot, given):
    with pytest.raises(DataError, match="cost must be a matrix of one row and one column for each"):
        as_cost(given, pilot)


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, "function"])
@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        ((1, 2), -1.0, "negative (first: car taken for lion costs -1); give costs of 0 or more."),
        (
            (2, 0),
            math.nan,
            "NaN, infinite or beyond 1e+100 (first: lion taken for beagle costs nan); give finite",
        ),
        (
            (2, 0),
            math.inf,
            "NaN, infinite or beyond 1e+100 (first: lion taken for beagle costs inf); give finite",
        ),
        ((3, 3), 0.5, "on the diagonal is not zero (first: poodle taken for poodle costs 0.5);"),
    ],
)
def test_what_is_no_cost_is_refused(pilot, make, at, value, said):
    cost = random_cost()
    cost[at] = value
    place = {name: i for i, name in enumerate(NAMES)}
    given = (lambda a, b: cost[place[a], place[b]]) if make == "function" else make(cost)
    message = refusal(given, pilot)
    assert message.startswith("cost: 1 of ") and said in message


def test_all_that_is_wrong_is_counted_over_blocks_of_rows():
    # 2,000 columns are checked about 1,000 rows at a time.
    cost = 1 - np.eye(2000, dtype=np.float32)
    cost[1500, [3, 7]] = -2
    cost[1900, 4] = -5
    pilot = Pilot.from_losses([0], 2000)
    said = "cost: 3 of 4,000,000 entries are negative (first: 1500 taken for 3 costs -2)"
    assert refusal(cost, pilot).startswith(said)
    cost[[1500, 1500, 1900], [3, 7, 4]] = 1
    assert as_cost(cost, pilot).is_zero_one
    cost[1800, 1800] = 3
    assert "first: 1800 taken for 1800 costs 3" in refusal(cost, pilot)


def test_pairs_that_are_no_costs_are_refused(pilot):
    left, right = np.ones((4, 1)), np.array([[0.0], [1], [1], [1]])
    assert "3 of 4 entries on the diagonal are not zero (first: car" in refusal(
        (left, right), pilot
    )
    place = np.arange(4.0)
    signed = np.column_stack([place, np.ones(4)]), np.column_stack([np.ones(4), -place])
    assert "3 of 4 entries are negative (first: beagle taken for car costs -1)" in refusal(
        signed, pilot
    )
    assert "disagree, 1 columns against 2" in refusal((left, np.ones((4, 2))), pilot)
    assert "5 rows of the right part of the cost for 4 classes" in refusal(
        (left, np.ones((5, 1))), pilot
    )
    assert "the left part of the cost: 1 of 4 rows holds NaN" in refusal(
        (np.array([[0.0], [np.nan], [0], [0]]), right), pilot
    )


def test_what_does_not_fit_the_pilot_is_refused(pilot):
    assert "shape 3 x 3 for 4 classes" in refusal(random_cost(3), pilot)
    assert "shape 4 x 3 for 4 classes" in refusal(random_cost()[:, :3], pilot)
    assert "shape 3 x 3 for 4 classes" in refusal(sparse.eye_array(3), pilot)
    assert "must be numbers" in refusal(random_cost().astype(complex), pilot)
    assert "must be numbers" in refusal(sparse.csr_array(random_cost().astype(complex)), pilot)
    assert "the only one known" in refusal("hinge", pilot)
    swapped = pd.DataFrame(random_cost(), columns=NAMES[::-1])
    assert "not the classes of the pilot in the order" in refusal(swapped, pilot)
    three = as_cost("zero-one", Pilot.from_losses([0], 3))
    assert "shape 3 x 3 for 4 classes" in refusal(three, pilot)
    for wrong in (lambda a, b: [1, 2], lambda a, b: "x", lambda a, b: {}):
        assert "did not return a number for each mistake about beagle" in refusal(wrong, pilot)


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (
            {"dog": ["beagle", "poodle"]},
            "2 of 4 rows are classes that no leaf names (first: row 1, car)",
        ),
        ({**TREE, "pet": ["poodle"]}, "poodle: animal > dog > poodle and pet > poodle"),
        ({"beagle": "dog"}, "holds 'dog' under beagle"),
        ({"dog": [["beagle"]]}, "holds ['beagle'] in a list of names"),
        (
            {"beagle": ["car"], "car": ["beagle"], "lion": ["lion"], "poodle": ["poodle"]},
            "both as a key",
        ),
    ],
)
def test_trees_that_do_not_hold_every_class_once_are_refused(pilot, tree, said):
    assert said in refusal(tree, pilot)


def test_costs_from_arrays_in_files(pilot, tmp_path):
    dense, path = random_cost(), tmp_path / "cost.npz"
    np.savez(path, cost=dense)
    np.testing.assert_array_equal(full(load_cost(path, pilot)), dense)
    for kind in ("csr", "csc", "coo"):
        sparse.save_npz(path, sparse.csr_array(dense).asformat(kind))
        np.testing.assert_array_equal(full(load_cost(path, pilot)), dense)
    place = np.arange(4.0)
    left, right = squared_distances(place)
    np.savez(path, left=left, right=right)
    np.testing.assert_allclose(full(load_cost(path, pilot)), (place[:, None] - place) ** 2)


def test_class_names_in_a_file_say_whose_rows_they_are(pilot, tmp_path):
    path = tmp_path / "cost.npz"
    names = ["zebra", "poodle", "beagle", "car", "lion"]
    where = [names.index(name) for name in NAMES]
    dense = random_cost(5)
    expected = dense[np.ix_(where, where)]
    np.savez(path, cost=dense, class_names=names)
    np.testing.assert_array_equal(full(load_cost(path, pilot)), expected)
    held = sparse.csr_array(dense)
    parts = {"data": held.data, "indices": held.indices, "indptr": held.indptr, "shape": (5, 5)}
    np.savez(path, format=b"csr", class_names=names, **parts)
    np.testing.assert_array_equal(full(load_cost(path, pilot)), expected)
    place = np.arange(5.0)
    left, right = squared_distances(place)
    np.savez(path, class_names=names, left=left, right=right)
    np.testing.assert_allclose(
        full(load_cost(path, pilot)), (place[where][:, None] - place[where]) ** 2
    )


@pytest.mark.parametrize("form", [TREE, ANCESTORS])
def test_hierarchies_in_files(pilot, tmp_path, form):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(form))
    assert full(load_cost(path, pilot)).tolist() == DISTANCES


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "tree.json is not JSON (line 1"),
        ("[1]", "must hold one JSON object"),
        ('{"car": null, "car": null}', "has 'car' twice"),
        ('{"a": ' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
        ('{"car": 3}', "holds 3 under car"),
        ('{"car": ' + "9" * 5000 + "}", "number that is too long"),
    ],
)
def test_files_that_hold_no_hierarchy_are_refused(pilot, tmp_path, text, said):
    path = tmp_path / "tree.json"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        load_cost(path, pilot)
    assert said in str(caught.value)


CSR = {"format": b"csr", "data": np.ones(1), "shape": (4, 4)}


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"costs": np.eye(4)}, "cost.npz holds costs; it must hold cost; left + right;"),
        ({"left": np.eye(4)}, "cost.npz holds left; it must hold"),
        ({"cost": np.array([None])}, "pickled Python objects"),
        ({"cost": np.eye(4) - 1, "class_names": NAMES[:3]}, "3 class names for costs of shape (4, 4)"),
        ({"cost": np.eye(3), "class_names": NAMES[:3]}, "1 of 4 rows is a class of the pilot without"),
        ({"cost": np.eye(2), "class_names": ["a", "a"]}, "1 name occurs more than once"),
        ({"cost": np.zeros((3, 4))}, "shape 3 x 4 for 4 classes"),
        ({**CSR, "format": b"dia", "offsets": [0]}, "kind 'dia'; save it as CSR"),
        ({**CSR, "indices": [9], "indptr": [0, 1, 1, 1, 1]}, "do not fit together"),
        ({**CSR, "indices": [1], "indptr": [0, 9, 9, 9, 9]}, "do not fit together"),
        ({**CSR, "format": b"coo", "row": [7], "col": [0]}, "do not fit together"),
    ],
)  # fmt: skip
def test_files_that_hold_no_costs_are_refused(pilot, tmp_path, members, said):
    path = tmp_path / "cost.npz"
    np.savez(path, **members)
    with pytest.raises(DataError) as caught:
        load_cost(path, pilot)
    assert said in str(caught.value)


def test_other_files_are_refused(pilot, tmp_path):
    (tmp_path / "cost.txt").write_text("0 1")
    with pytest.raises(DataError, match=r"cannot read costs from cost\.txt"):
        load_cost(tmp_path / "cost.txt", pilot)
    with pytest.raises(DataError, match=r"there is no file none\.npz"):
        load_cost(tmp_path / "none.npz", pilot)

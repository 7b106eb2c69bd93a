"""scripts/mutants.py makes the changes that it says, one at a time."""

import ast
from pathlib import Path

import pytest

from scripts import mutants

MODULE = mutants.PACKAGE / "room" / "module.py"


def changes(source):
    return [place.mutate().change for place in mutants.places(MODULE, source)]


@pytest.mark.parametrize(
    "source, expected",
    [
        ("a < b", ["a < b  ->  a <= b"]),
        ("a < b != c", ["a < b != c  ->  a <= b != c", "a < b != c  ->  a < b == c"]),
        ("a is not None", ["a is not None  ->  a is None"]),
        ("a + b", ["a + b  ->  a - b"]),
        ("a //= b", ["a //= b  ->  a *= b"]),
        ("a or b", ["a or b  ->  a and b"]),
        ("not a", ["not a  ->  not not a"]),
        ("7", ["7  ->  8", "7  ->  6"]),
        ("0.5", ["0.5  ->  1.5", "0.5  ->  -0.5"]),
        ("1e300", []),  # one more is the same number
        ("True", ["True  ->  False"]),
        ("'text'", []),
        ("None", []),
        ("a @ b", []),
    ],
)
def test_every_change_of_an_expression(source, expected):
    assert changes(source) == expected


def test_annotations_and_decorators_are_left_alone():
    source = "@njit(cache=True)\ndef f(a: int | 1, *, b: g[2] = 3) -> 4 + 5:\n    c: x[6] = a\n"
    assert changes(source) == ["3  ->  4", "3  ->  2"]


def test_a_mutation_is_one_change_and_leaves_the_others_as_they_were():
    source = "def f(a):\n    # why\n    return a[1] + 2\n"
    made = [place.mutate() for place in mutants.places(MODULE, source)]
    assert {mutation.source for mutation in made} == {
        ast.unparse(ast.parse(source)).replace(before, after)
        for before, after in (("+", "-"), ("1", "2"), ("1", "0"), ("2", "3"), ("2", "1"))
    }
    assert str(made[0]) == f"{Path('room', 'module.py')}:3  a[1] + 2  ->  a[1] - 2"


def test_a_sample_is_that_of_its_seed():
    first, again, other = (mutants.sample("metrics", 10, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len({(mutation.line, mutation.source) for mutation in first}) == 10
    assert all(mutation.module.parts[2] == "metrics" for mutation in first)

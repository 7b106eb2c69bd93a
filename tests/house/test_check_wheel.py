"""What `make wheel` lets pass."""

from scripts import check_wheel


def test_a_wheel_with_the_package_and_what_is_said_about_it_passes():
    sources = check_wheel.source_files()
    assert set(check_wheel.NEEDED) <= sources
    assert check_wheel.problems(sources | {"headcount-0.1.0.dist-info/METADATA"}, sources) == []


def test_what_is_missing_and_what_does_not_belong_there_is_named():
    sources = check_wheel.source_files()
    held = sources - {"headcount/py.typed"} | {"experiments/app.py", "tests/conftest.py"}
    assert check_wheel.problems(held, sources) == [
        "headcount/py.typed: missing",
        "experiments/app.py: does not belong there",
        "tests/conftest.py: does not belong there",
    ]


def test_what_is_needed_is_asked_for_even_where_the_sources_lack_it():
    sources = check_wheel.source_files() - {"headcount/__init__.pyi"}
    assert check_wheel.problems(sources, sources) == ["headcount/__init__.pyi: missing"]

"""The page about kde shows what it prints."""

import doctest
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_about_kde_shows_what_it_prints():
    page = ROOT / "docs" / "kde.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0
    assert page.read_text().count(">>>") > 10

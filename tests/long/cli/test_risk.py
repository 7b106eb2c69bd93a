"""The page about risk shows what its commands print."""

import doctest
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_about_risk_shows_what_it_prints():
    page = ROOT / "docs" / "risk.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0
    assert page.read_text(encoding="utf-8").count(">>>") > 15

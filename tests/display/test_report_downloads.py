"""What can be taken out of a report, in a real browser."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

import report_pages

pytestmark = report_pages.NEEDS_BROWSER


def download(page, button):
    with page.expect_download() as waiting:
        page.click(button)
    return waiting.value.path().read_text(encoding="utf-8")


def test_csv_has_the_curve(visit, result):
    rows = list(csv.DictReader(io.StringIO(download(visit(), "#curve-csv"))))
    assert {row["region"] for row in rows} == {"observed", "forecast"}
    for row in rows[::10]:
        k = int(row["classes"])
        assert float(row["value"]) == pytest.approx(float(result.accuracy(k)), abs=1e-9)
        assert row["region"] == ("observed" if k <= result.n_classes else "forecast")
    assert int(rows[-1]["classes"]) == 5000


def test_csv_of_a_page_has_the_rows_that_the_forecast_writes(visit, top_five):
    page = visit("top-forecast")
    page.check("#series-1")
    rows = list(csv.DictReader(io.StringIO(download(page, "#curve-csv"))))
    names = ["name", "method", *top_five.to_csv().splitlines()[0].split(",")]
    assert sorted(rows[0]) == sorted(names)
    own = [row for row in rows if row["name"] == "probit-normal"]
    other = [row for row in rows if row["name"] != "probit-normal"]
    table = top_five.table([int(row["classes"]) for row in own])
    for row, wanted in zip(own, table.rows(), strict=True):
        assert float(row["value"]) == pytest.approx(wanted["value"], abs=1e-9)
        for name in ("lower", "upper"):  # the last row lies between two of the page's
            most = 1e-3 if row is own[-1] else 1e-9
            assert float(row[name]) == pytest.approx(wanted[name], abs=most)
        assert row["region"] == wanted["region"]
    assert len(own) == len(other)
    assert (own[0]["classes"], own[-1]["classes"]) == ("2", "5000")
    assert {(row["lower"], row["upper"]) for row in other} == {("", "")}


def test_csv_cells_are_no_formulas(visit):
    for button in ("#curve-csv", "#backtest-csv"):
        names = {row[0] for row in csv.reader(io.StringIO(download(visit("comparison"), button)))}
        assert names == {"name", report_pages.SCRIPT, "'=old"}


def test_svg_is_a_picture_of_its_own(visit):
    for button in ("#curve-svg", "#backtest-svg"):
        text = download(visit(scheme="dark"), button)
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(--" not in re.sub(r"<style>.*?</style>", "", text, flags=re.S)


def test_svg_of_several_says_which_is_which(visit):
    for button in ("#curve-svg", "#backtest-svg"):
        root = ElementTree.fromstring(download(visit("comparison"), button))
        texts = {node.text for node in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {report_pages.SCRIPT, "=old"} <= texts


def test_json_is_what_is_inside(visit, pages):
    text = (pages / "forecast.html").read_text(encoding="utf-8")
    # JavaScript writes 4e16 as 40000000000000000, a whole number to Python.
    data = json.loads(download(visit(), "#data-json"), parse_int=float)
    assert data == report_pages.embedded(text)


def test_the_code_can_be_copied(visit):
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#copy-code")
    report_pages.wait_until(page, "document.getElementById('copied').textContent === 'Copied.'")
    assert page.evaluate("navigator.clipboard.readText()") == page.text_content("#code")

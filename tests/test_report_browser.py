"""The report in a real browser: Chromium, headless, from disk."""

import csv
import io
import itertools
import json
import math
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import headcount
import report_pages
from headcount import Favorability, Observed
from headcount.curves import PredictedCurve
from headcount.losses import LossTable
from headcount.report import write_report
from headcount.report.embedding import as_law, as_table
from headcount.wording import about, describe_capacity, percent, percent_range

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("HEADCOUNT_REQUIRE_BROWSER") == "1"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED, reason="needs Chromium: apt-get install chromium"
)

# Of every element with text of its own: colour against the nearest ground that is not clear.
CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !node.getClientRects().length || ["SCRIPT", "STYLE"].includes(node.tagName)) continue;
    if (node.closest("style")) continue;
    const style = getComputedStyle(node);
    const ink = parse(node instanceof SVGElement ? style.fill : style.color).slice(0, 3);
    const [one, two] = [light(ink), light(ground(node))].sort((a, b) => b - a);
    found.push([(one + 0.05) / (two + 0.05), node.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.fail("HEADCOUNT_REQUIRE_BROWSER=1, but there is no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def result():
    with pytest.warns(headcount.ExtrapolationWarning):
        return headcount.forecast(
            report_pages.make_pilot(), classes=[200, 5000], method="probit_normal", n_jobs=1
        )


@pytest.fixture(scope="module")
def pages(result, tmp_path_factory):
    """One page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    result.save(folder / "forecast.html")
    with pytest.warns(headcount.ExtrapolationWarning):
        found = headcount.compare(
            {report_pages.SCRIPT: report_pages.make_pilot(), "=old": report_pages.make_pilot(0.8)},
            [200],
            method="no-change",
            n_jobs=1,
        )
    write_report(folder / "comparison.html", found)
    pilot = report_pages.make_pilot()
    tests = [headcount.backtest(pilot, method=m, repeats=3) for m in ("no-change", "pooled-fmr")]
    write_report(folder / "backtest.html", tests, pilot=pilot)
    return folder


@pytest.fixture(scope="module")
def tabs(browser):
    """Pages that are open, by kind and colours, and what went wrong in any of them."""
    opened, trouble = {}, []

    def tab(name, scheme):
        if (name, scheme) not in opened:
            page = browser.new_page(viewport={"width": 1000, "height": 900}, color_scheme=scheme)
            page.on("console", lambda said: trouble.append(f"{said.type}: {said.text}"))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda asked: trouble.append(f"asks for {asked.url}"))
            opened[name, scheme] = page
        return opened[name, scheme]

    return tab, trouble


@pytest.fixture
def visit(tabs, pages):
    """Open a page; whatever it says on the console, asks for or pops up is an error."""
    tab, trouble = tabs

    def go(name="forecast", scheme="light", fresh=True):
        page, address = tab(name, scheme), (pages / f"{name}.html").as_uri()
        if fresh or page.url != address:
            page.goto(address)
            page.wait_for_selector(".drawing svg")
            trouble.remove(f"asks for {address}")
        return page

    yield go
    asked = [what for what in trouble if not what.startswith("asks for blob:")]
    trouble.clear()
    assert asked == []


def shown(page, name):
    return page.locator(f"#{name}").text_content()


# -- it answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forecast", "comparison", "backtest"])
def test_opens_from_disk_without_a_word_or_a_request(visit, name):
    page = visit(name)
    page.mouse.move(500, 700)
    for box in page.locator("input[type=checkbox]").all():
        box.click()
        box.click()
    assert page.title()
    assert page.locator("h1").text_content().strip()


@pytest.mark.parametrize("k", [2, 17, 40, 41, 200, 5000, 123_456, 1_000_000, 20_000_000])
def test_the_field_for_k_gives_what_the_forecast_gives(visit, result, k):
    page = visit(fresh=False)
    page.fill("#ask-k", str(k))
    measured = "measured, " if k <= result.n_classes else ""
    lower, upper = (float(limit) for limit in result.interval(k))
    assert shown(page, "answer-k").startswith(
        f"At {k:,} classes: {percent(float(result.accuracy(k)))} "
        f"({measured}{percent_range(lower, upper)})."
    )
    value, limits = page.evaluate("(k) => [accuracyAt(all[0], k), limitsAt(all[0], k)]", k)
    assert value == pytest.approx(float(result.accuracy(k)), abs=1e-9)
    assert limits == pytest.approx([lower, upper], abs=1e-3)


def test_beyond_the_backtest_it_says_so(visit, result):
    page = visit(fresh=False)
    page.fill("#ask-k", str(result.supported))
    assert "guess" not in shown(page, "answer-k")
    page.fill("#ask-k", str(result.supported + 1))
    assert f"reaches {result.supported:,} classes: take this as a guess" in shown(page, "answer-k")


@pytest.mark.parametrize("text", ["", "1", "2.5", "-3", "1e30"])
def test_a_number_that_makes_no_sense_is_refused(visit, text):
    page = visit(fresh=False)
    page.fill("#ask-k", text)
    assert shown(page, "answer-k") == "Give a whole number from 2 to 1,000,000,000."
    assert page.get_attribute("#ask-k", "aria-invalid") == "true"


@pytest.mark.parametrize("target", [0.9, 0.8, 0.61, 0.3, 0.05])
def test_the_field_for_the_target_gives_the_capacity(visit, result, target):
    page = visit(fresh=False)
    page.fill("#ask-target", f"{100 * target:g}")
    low, high = result.capacity_interval(target)
    told = page.evaluate("(t) => [capacityOf(all[0], t), ...capacityLimits(all[0], t)]", target)
    assert told[0] == result.capacity(target)
    assert told[1] == pytest.approx(low, rel=0.01, abs=1)
    assert told[2] == (high if math.isinf(high) else pytest.approx(high, rel=0.01, abs=1))
    assert shown(page, "answer-target").startswith(
        f"It stays at or above {percent(target)} up to {describe_capacity(result.capacity(target))}"
    )


def test_a_target_that_even_two_classes_miss(visit):
    page = visit(fresh=False)
    page.fill("#ask-target", "100")
    assert shown(page, "answer-target") == "Even two classes are too many for 100%."
    page.fill("#ask-target", "0")
    assert shown(page, "answer-target") == "Give a percentage above 0, up to 100."


def test_the_slider_moves_the_field_and_the_answer(visit):
    page = visit()
    page.focus("#ask-slider")
    before = page.input_value("#ask-k")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("PageUp")
    after = page.input_value("#ask-k")
    assert int(after) > int(before)
    assert shown(page, "answer-k").startswith(f"At {int(after):,} classes: ")
    assert page.get_attribute("#ask-slider", "aria-valuetext") == f"{int(after):,} classes"


def test_other_methods_can_be_shown(visit, result):
    page = visit()
    lines = page.locator("#curve path[stroke-width], #curve g[stroke-width] path").count()
    page.check("#series-1")
    said = shown(page, "answer-k")
    assert said.startswith("At 5,000 classes\nprobit_normal: ")
    other = page.locator("label", has=page.locator("#series-1")).text_content().strip()
    law = headcount.estimators.resolve(other, 0).fit(report_pages.make_pilot()).law((200, 5000))
    assert f"\n{other}: {percent(float(law.accuracy(5000)))}" in said
    assert page.locator("#curve path[stroke-width], #curve g[stroke-width] path").count() > lines


def test_the_axis_can_be_linear(visit):
    page = visit()
    ticks = "[...document.querySelectorAll('#curve [aria-label=\"x-axis tick label\"] text')].map((t) => t.textContent)"
    assert page.evaluate(ticks)[:3] == ["3", "10", "30"]
    page.check("#axis-linear")
    assert page.evaluate(ticks) == ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]


def test_hovering_shows_the_number(visit):
    page = visit()
    page.locator("#curve svg").hover(position={"x": 600, "y": 200})
    page.wait_for_selector("#curve [aria-label=tip] tspan")
    assert re.search(r"classes: \d+%", page.locator("#curve [aria-label=tip]").text_content())


def test_the_tolerance_says_what_the_backtest_supports(visit, result):
    page = visit(fresh=False)
    for points in (0.01, 5, 99):
        page.fill("#ask-tolerance", str(points))
        ratio = result.backtest.within(points / 100)
        reach = f"forecasts up to {int(ratio * result.n_classes):,} classes"
        wanted = "no forecast beyond the pilot" if ratio == 1 else reach
        assert shown(page, "answer-tolerance") == f"That supports {wanted}."


# -- the same numbers as in Python -----------------------------------------------------------------


def test_numbers_read_as_in_python(visit):
    page = visit(fresh=False)
    shares = [0, 1, 0.5, 0.125, 0.0025, 0.0015, 0.00949, 0.0095, 0.9906, 0.99951, 1e-9, 1 - 1e-9]
    shares += np.random.default_rng(0).random(300).tolist()
    shares += (10 ** np.random.default_rng(1).uniform(-11, 0, 300)).tolist()
    assert page.evaluate("(v) => v.map(percent)", shares) == [percent(v) for v in shares]
    pairs = list(itertools.pairwise(shares))
    told = page.evaluate("(v) => v.map(([a, b]) => percentRange(a, b))", pairs)
    assert told == [percent_range(*pair) for pair in pairs]
    counts = [1, 2, 99, 100, 1234, 99_999, 10**6, 10**9 + 1, 2 * 10**12]
    assert page.evaluate("(v) => v.map(about)", counts) == [about(v) for v in counts]


def test_a_large_pilot_is_averaged_as_in_python(visit):
    rng = np.random.default_rng(4)
    for rivals in (300, 20_000, 5_000_000):
        losses = np.unique(np.append((rivals ** rng.random(400)).astype(np.int64), [0, rivals]))
        weights = rng.random(len(losses))
        free = np.zeros(len(losses), bool)
        seen = Observed(LossTable(losses, weights / weights.sum(), free, rivals))
        k = np.unique(np.geomspace(2, rivals + 1, 50).round())
        pilot = {"n_classes": rivals + 1, **as_table(seen)}
        told = visit(fresh=False).evaluate(
            "([pilot, ks]) => ks.map((k) => observedAccuracy(pilot, k))", [pilot, k.tolist()]
        )
        assert told == pytest.approx(seen.accuracy(k), abs=1e-10, rel=1e-8)


def test_any_law_is_computed_as_in_python(visit):
    page, k = visit(fresh=False), np.unique(np.geomspace(2, 1e12, 80).round())
    pilot = {"n_classes": 1, "losses": [0], "weights": [1]}
    laws = [
        Favorability([0.0, 1e-15, 1e-9, 1e-4, 0.3, 1.0], [0.1, 0.2, 0.2, 0.2, 0.2, 0.1]),
        Favorability([1e-13], [1.0]),
        Favorability([0.2, 0.5], [0.5, 0.5]),
        PredictedCurve.sample(lambda k: 1 / (1 + np.log10(k)), [1000]),
    ]
    for law in laws:
        series = {"pilot": pilot, "law": as_law(law), "limits": None}
        told = page.evaluate(
            "([one, ks, ts]) => [ks.map((k) => accuracyAt(one, k)), ts.map((t) => capacityOf(one, t))]",
            [series, k.tolist(), [0.99, 0.5, 0.31, 0.05]],
        )
        assert told[0] == pytest.approx(law.accuracy(k), rel=1e-9, abs=0)
        for held, target in zip(told[1], [0.99, 0.5, 0.31, 0.05], strict=True):
            assert held == pytest.approx(law.capacity(target), rel=1e-9)


# -- taken away ------------------------------------------------------------------------------------


def taken(page, button):
    with page.expect_download() as waiting:
        page.click(button)
    return waiting.value.path().read_text(encoding="utf-8")


def test_csv_has_the_curve(visit, result):
    rows = list(csv.DictReader(io.StringIO(taken(visit(), "#curve-csv"))))
    assert {row["region"] for row in rows} == {"observed", "forecast"}
    for row in rows[::10]:
        k = int(row["classes"])
        assert float(row["accuracy"]) == pytest.approx(float(result.accuracy(k)), abs=1e-9)
        assert row["region"] == ("observed" if k <= result.n_classes else "forecast")
    assert int(rows[-1]["classes"]) == 5000


def test_csv_cells_are_no_formulas(visit):
    for button in ("#curve-csv", "#backtest-csv"):
        names = {row[0] for row in csv.reader(io.StringIO(taken(visit("comparison"), button)))}
        assert names == {"name", report_pages.SCRIPT, "'=old"}


def test_svg_is_a_picture_of_its_own(visit):
    for button in ("#curve-svg", "#backtest-svg"):
        text = taken(visit(scheme="dark"), button)
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(--" not in re.sub(r"<style>.*?</style>", "", text, flags=re.S)


def test_svg_of_several_says_which_is_which(visit):
    for button in ("#curve-svg", "#backtest-svg"):
        root = ElementTree.fromstring(taken(visit("comparison"), button))
        texts = {node.text for node in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {report_pages.SCRIPT, "=old"} <= texts


def test_json_is_what_is_inside(visit, pages):
    text = (pages / "forecast.html").read_text(encoding="utf-8")
    assert json.loads(taken(visit(), "#data-json")) == report_pages.embedded(text)


def test_the_code_can_be_copied(visit):
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#copy-code")
    page.wait_for_function("document.getElementById('copied').textContent === 'Copied.'")
    assert page.evaluate("navigator.clipboard.readText()") == page.text_content("#code")


# -- for everyone ----------------------------------------------------------------------------------


def test_the_keyboard_reaches_everything_in_order(visit):
    page = visit()
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name, visible = page.evaluate(
            "() => { const at = document.activeElement; const style = getComputedStyle(at);"
            " return [at.id || at.tagName, style.outlineStyle !== 'none'"
            " && parseFloat(style.outlineWidth) >= 2]; }"
        )
        if name == "BODY":
            break
        assert visible, name
        seen.append(name)
    order = [
        "A", "ask-k", "ask-slider", "ask-target", "series-0", "series-1", "axis-log", "curve-csv",
        "curve-svg", "SUMMARY", "ask-tolerance", "backtest-csv", "backtest-svg", "copy-code",
        "data-json",
    ]  # fmt: skip
    assert [name for name in seen if name in order] == order


def test_the_keyboard_works_the_choices(visit):
    page = visit()
    page.focus("#axis-log")
    page.keyboard.press("ArrowRight")
    assert page.is_checked("#axis-linear")
    page.focus("#series-0")
    page.keyboard.press("Space")
    assert shown(page, "answer-k") == "Show at least one curve."


@pytest.mark.parametrize("name", ["forecast", "comparison", "backtest"])
def test_a_screen_reader_finds_names_for_everything(visit, name):
    page = visit(name)
    bare = page.evaluate(
        "() => [...document.querySelectorAll('input, button')].filter((e) =>"
        " !e.labels?.length && !e.getAttribute('aria-label') && !e.textContent.trim()).map((e) => e.id)"
    )
    assert bare == []
    for drawing in page.locator(".drawing svg").all():
        assert "table" in drawing.get_attribute("aria-label")
    assert page.locator("output[aria-live=polite]").count() == page.locator("output").count() > 0
    assert page.locator("h1").count() == 1


def test_the_curve_is_also_a_table(visit, result):
    page = visit()
    page.click("summary")
    rows = page.locator("details tbody tr").all_inner_texts()
    found = {row.split("\t")[0]: row.split("\t")[1] for row in rows}
    assert found["5,000"] == percent(float(result.accuracy(5000)))
    assert found["40"] == percent(float(result.accuracy(40)))


@pytest.mark.parametrize("name", ["forecast", "comparison", "backtest"])
def test_names_from_files_stay_text(visit, name):
    page = visit(name)  # a pop-up or a request would fail the test at its end
    assert report_pages.SCRIPT in page.inner_text("body")
    assert page.locator("script").count() == 7


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["forecast", "comparison"])
def test_text_can_be_read_by_day_and_by_night(visit, name, scheme):
    page = visit(name, scheme)
    found = page.evaluate(CONTRASTS)
    assert len(found) > 60
    assert [text for ratio, text in found if ratio < 4.5] == []


def test_dark_is_dark(visit):
    colours = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.querySelector('#curve svg')).color"
    day, night = (visit(scheme=s).evaluate(colours) for s in ("light", "dark"))
    assert day == "rgb(255, 255, 255)rgb(27, 33, 38)"
    assert night == "rgb(20, 24, 28)rgb(230, 234, 238)"


@pytest.mark.parametrize("name", ["forecast", "comparison", "backtest"])
def test_prints_on_two_pages_in_ink_on_white(visit, name):
    page = visit(name, "dark")
    printed = page.pdf(prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) <= 2
    page.emulate_media(media="print")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    buttons = page.locator("button:visible").count()
    page.emulate_media(media="screen")
    assert (ground, buttons) == ("rgb(255, 255, 255)", 0)


@pytest.mark.parametrize("name", ["forecast", "comparison", "backtest"])
def test_a_phone_does_not_scroll_sideways(visit, name):
    page = visit(name)
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function("document.querySelector('.drawing svg').clientWidth < 360")
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1000, "height": 900})
    assert width <= 360

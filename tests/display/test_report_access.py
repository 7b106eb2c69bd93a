"""The report in a real browser, for everyone: keyboard, screen reader, night, paper, phone."""

import re

import pytest

import report_pages
from headcount.support.words import named, percent
from report_pages import shown, wait_until

pytestmark = report_pages.NEEDS_BROWSER


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
        "A", "ask-k", "ask-slider", "ask-target", "series-0", "series-1", "measure-value", "axis-log", "curve-csv",
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
    assert named(report_pages.SCRIPT) in page.inner_text("body")
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
    wait_until(page, "document.querySelector('.drawing svg').clientWidth < 360")
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1000, "height": 900})
    assert width <= 360

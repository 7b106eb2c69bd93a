"""The report in a real browser, from disk: it answers, with the numbers that Python gives."""

import itertools
import math
import re

import numpy as np
import pytest

import headcount
import report_pages
from headcount import Favorability, Observed
from headcount.curves.curve import Curve
from headcount.curves.predicted import PredictedCurve
from headcount.display.plots.style import error_ticks, share_ticks, short_share
from headcount.display.report.page_data import curve_data, row_classes
from headcount.metrics import ACCURACY, Top
from headcount.pilot.losses import LossTable
from headcount.support.words import (
    about,
    describe_capacities,
    describe_capacity,
    percent,
    percent_range,
    reads_as_one,
)
from report_pages import shown

pytestmark = report_pages.NEEDS_BROWSER


# -- it answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["", "top-"])
@pytest.mark.parametrize("name", ["forecast", "comparison", "backtest"])
def test_opens_from_disk_without_a_word_or_a_request(visit, name, metric):
    page = visit(metric + name)
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
        f"({measured}90% interval {percent_range(lower, upper)})."
    )
    curve = "all[0].curve"
    value, limits = page.evaluate(f"(k) => [valueAt({curve}, k), limitsAt({curve}, k)]", k)
    assert value == pytest.approx(float(result.accuracy(k)), abs=1e-9)
    assert limits == pytest.approx([lower, upper], abs=1e-3)


def test_limits_on_the_page_never_rise(visit, result):
    page = visit(fresh=False)
    ks = np.unique(np.concatenate([np.arange(2, 200), np.geomspace(200, 1e9, 300).round()]))
    told = np.array(page.evaluate("(ks) => ks.map((k) => limitsAt(all[0].curve, k))", ks.tolist()))
    assert (np.diff(told, axis=0) <= 1e-12).all()
    np.testing.assert_allclose(told.T, result.interval(ks), rtol=0, atol=1e-3)


def test_beyond_the_backtest_it_says_so(visit, result):
    page = visit(fresh=False)
    page.fill("#ask-k", str(result.supported))
    assert "guess" not in shown(page, "answer-k")
    page.fill("#ask-k", str(result.supported + 1))
    assert f"reaches {about(result.supported)} classes: take this as a guess" in shown(
        page, "answer-k"
    )


@pytest.mark.parametrize("text", ["", "1", "2.5", "-3", "1e30"])
def test_a_number_that_makes_no_sense_is_refused(visit, text):
    page = visit(fresh=False)
    page.fill("#ask-k", text)
    assert shown(page, "answer-k") == "Give a whole number from 2 to 1,000,000,000."
    assert page.get_attribute("#ask-k", "aria-invalid") == "true"


CAPACITY = "(t) => [capacityOf(all[0].curve, t), ...capacityLimits(all[0].curve, t)]"


@pytest.mark.parametrize("target", [0.9, 0.8, 0.61, 0.3, 0.05])
def test_the_field_for_the_target_gives_the_capacity(visit, result, target):
    page = visit(fresh=False)
    page.fill("#ask-target", f"{100 * target:g}")
    low, high = result.capacity_interval(target)
    told = page.evaluate(CAPACITY, target)
    past = 10_000 * result.n_classes  # past that a capacity is no longer told
    capacity = result.capacity(target)
    assert told[0] > past if capacity > past else told[0] == capacity
    assert told[1] == pytest.approx(low, rel=0.01, abs=1)
    assert told[2] > past if high > past else told[2] == pytest.approx(high, rel=0.01, abs=1)
    held = describe_capacity(result.capacity(target), result.n_classes)
    assert shown(page, "answer-target").startswith(
        f"It stays at or above {percent(target)} up to {held}"
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
    assert said.startswith("At 5,000 classes\nprobit-normal: ")
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


TICKS = """() => [...document.querySelectorAll('#curve [aria-label="y-axis tick label"] text')]
  .map((text) => text.textContent)"""


def test_the_page_switches_to_error_rates_and_back(visit, result):
    page = visit()
    page.fill("#ask-target", "80")
    before = [shown(page, name) for name in ("answer-k", "answer-target", "curve-title")]
    assert page.evaluate(TICKS)[-1] == "100%"
    page.focus("#measure-value")
    page.keyboard.press("ArrowRight")
    assert page.is_checked("#measure-loss")
    lower, upper = (float(limit) for limit in result.interval(5000))
    wrong = percent(1 - float(result.accuracy(5000)))
    within = percent_range(1 - upper, 1 - lower)
    said = f"At 5,000 classes, error rate: {wrong} (90% interval {within})."
    assert shown(page, "answer-k").startswith(said)
    assert page.input_value("#ask-target") == "20"
    held = describe_capacity(result.capacity(0.8), result.n_classes)
    answer = shown(page, "answer-target")
    assert answer.startswith(f"It stays at or below an error rate of 20% up to {held}")
    assert shown(page, "curve-title") == "Error rate as classes are added"
    label = page.locator("label[for=ask-target]").text_content()
    assert label == "Error rate allowed, in %"
    words = page.locator("#curve svg").first.get_attribute("aria-label")
    assert words.startswith("Error rate against number of classes. ")
    assert f"{wrong} at 5,000 forecast" in words
    assert "Error rate" in page.locator("#backtest svg").first.get_attribute("aria-label")
    page.fill("#ask-target", "100")
    assert shown(page, "answer-target") == "Give a percentage from 0, below 100."
    page.fill("#ask-target", "20")
    page.check("#measure-value")
    assert [shown(page, n) for n in ("answer-k", "answer-target", "curve-title")] == before
    assert page.input_value("#ask-target") == "80"


def test_a_page_may_open_with_error_rates(visit, pages, result):
    result.save(pages / "wrong.html", error_rate=True)
    page = visit("wrong")
    assert page.is_checked("#measure-loss")
    assert "error rate" in shown(page, "answer-k") and "error rate" in shown(page, "answer-target")
    assert "error_rate=True" in shown(page, "code")


def test_a_page_of_backtests_has_the_switch_too(visit):
    page = visit("backtest")
    words = page.locator("#backtest svg").first.get_attribute
    assert words("aria-label").startswith("Accuracy of all classes as forecast from fewer. ")
    page.check("#measure-loss")
    assert words("aria-label").startswith("Error rate of all classes as forecast from fewer. ")


def test_where_no_error_was_measured_the_caption_says_why_there_is_no_line(visit, pages):
    pilot = headcount.Pilot.from_losses([0] * 50, 20)
    law = Favorability([1e-5, 1e-3], [0.5, 0.5])
    made = headcount.Forecast(
        observed=headcount.observe(pilot), law=law, classes=(500,), n_probes=50, method="kde",
        confidence=0.9,
    )  # fmt: skip
    made.save(pages / "right.html")
    page = visit("right")
    assert page.locator("#zero-note").is_hidden()
    page.check("#measure-loss")
    assert page.locator("#zero-note").is_visible()
    assert "0% at 20 measured" in page.locator("#curve svg").first.get_attribute("aria-label")
    assert visit("forecast").locator("#zero-note").is_hidden()


def test_axes_are_as_in_python(visit):
    page = visit(fresh=False)
    rng = np.random.default_rng(5)
    ends = np.sort(np.concatenate([rng.random((60, 2)), 1 - 10 ** rng.uniform(-6, 0, (60, 2))]))
    ends = [[0, 1], [1, 1], [0, 0], [0.5, 0.5], [0.95, 1], *ends.tolist()]
    told = page.evaluate("(v) => v.map(([a, b]) => shareTicks(a, b))", ends)
    assert told == [share_ticks(*pair) for pair in ends]
    lines = [[0.0, 0.004, 0.08], [2e-6, 0.08], [0.2, 0.9], [0.0], [1.0, 0.0]]
    lines += (10 ** rng.uniform(-9, 0, (100, 3))).tolist()
    told = page.evaluate(
        "(v) => v.map(([a, b]) => errorTicks(a, b))", list(itertools.pairwise(lines))
    )
    assert told == [error_ticks(*pair) for pair in itertools.pairwise(lines)]
    rungs = sorted({tick for ticks in told if ticks for tick in ticks})
    assert page.evaluate("(v) => v.map(shortShare)", rungs) == [short_share(v) for v in rungs]


def rows_of(curve, n_classes, metric=ACCURACY):
    """The rows of a law, or of what was observed, as a page holds them."""
    classes = row_classes(n_classes, metric.certain, [])
    if isinstance(curve, Observed):
        classes = classes[classes <= n_classes]
    region = np.where(classes <= n_classes, "observed", "forecast")
    return curve_data(
        Curve(classes, curve.value(classes, metric), region, quantity=metric),
        n_classes,
        metric.certain,
    )


GOOD = """([series, loss]) => {
  const drawing = drawCurve([series], { k: null, target: null, last: 1000 },
    { width: 800, log: true, loss, colours: ON_PAPER });
  const texts = (name) => [...drawing.querySelectorAll(`[aria-label="${name}"] text`)].map((t) => t.textContent);
  return [texts("y-axis tick label"), drawing.querySelectorAll('[aria-description=chance] path').length];
}"""


def test_the_axis_fits_the_curve_and_chance_is_left_out_where_it_does_not_matter(visit):
    page = visit(fresh=False)

    def drawn(p, error=False):
        series = {
            "index": 0, "name": "a", "method": "a", "supported": None, "n_classes": 10,
            "curve": rows_of(Favorability([p], [1.0]), 10),
        }  # fmt: skip
        curve = series["curve"]
        pairs = zip(curve["region"], curve["value"], strict=True)
        curve["value"] = [1 if region == "observed" else value for region, value in pairs]
        return page.evaluate(GOOD, [series, error])

    assert drawn(2e-5) == [["98%", "98.5%", "99%", "99.5%", "100%"], 0]
    assert drawn(5e-3) == [["0%", "20%", "40%", "60%", "80%", "100%"], 1]
    assert drawn(2e-5, error=True) == [
        ["0.01%", "0.02%", "0.05%", "0.1%", "0.2%", "0.5%", "1%", "2%"],
        0,
    ]


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
        reach = f"forecasts up to {about(ratio * result.n_classes)} classes"
        wanted = "no forecast beyond the pilot" if reads_as_one(ratio) else reach
        assert shown(page, "answer-tolerance") == f"That supports {wanted}."


# -- the same numbers as in Python -----------------------------------------------------------------


def test_numbers_read_as_in_python(visit):
    page = visit(fresh=False)
    shares = [0, 1, 0.5, 0.125, 0.0025, 0.0015, 0.00949, 0.0095, 0.9906, 0.99951, 1e-9, 1 - 1e-9]
    shares += [0.983, 0.975, 0.98, 0.9004, 0.9006, 0.0994, 0.0995, 0.7, 0.7004, 0.8996, 0.9004]
    shares += (1 - 10 ** np.random.default_rng(2).uniform(-9, 0, 300)).tolist()
    shares += np.random.default_rng(0).random(300).tolist()
    shares += (10 ** np.random.default_rng(1).uniform(-11, 0, 300)).tolist()
    assert page.evaluate("(v) => v.map((x) => percent(x))", shares) == [percent(v) for v in shares]
    pairs = list(itertools.pairwise(shares))
    told = page.evaluate("(v) => v.map(([a, b]) => percentRange(a, b))", pairs)
    assert told == [percent_range(*pair) for pair in pairs]
    counts = [1, 2, 99, 100, 1234, 99_999, 10**6, 10**9 + 1, 2 * 10**12]
    assert page.evaluate("(v) => v.map(about)", counts) == [about(v) for v in counts]
    said = page.evaluate("(v) => v.map((count) => describeCapacity(count, 100))", counts)
    assert said == [describe_capacity(v, 100) for v in counts]
    ends = list(itertools.pairwise(counts))
    said = page.evaluate("(v) => v.map((both) => describeCapacities(both, 100))", ends)
    assert said == [describe_capacities(*both, 100) for both in ends]


VALUES = "([curve, ks]) => ks.map((k) => valueAt(curve, k))"


@pytest.mark.parametrize("metric", [ACCURACY, Top(5)], ids=str)
@pytest.mark.parametrize("rivals", [30, 300, 20_000, 5_000_000])
def test_what_a_pilot_says_of_any_number_of_classes_is_read_off_its_rows(visit, rivals, metric):
    rng = np.random.default_rng(4)
    losses = np.unique(np.append((rivals ** rng.random(100)).astype(np.int64), [0, rivals]))
    weights = rng.random(len(losses))
    free = np.zeros(len(losses), bool)
    observed = Observed(LossTable(losses, weights / weights.sum(), free, rivals))
    k = np.unique(np.geomspace(2, rivals + 1, 150).round())
    curve = rows_of(observed, rivals + 1, metric)
    told = np.array(visit(fresh=False).evaluate(VALUES, [curve, k.tolist()]))
    np.testing.assert_allclose(told, observed.value(k, metric), rtol=1e-5, atol=1e-7)


LAWS = [
    Favorability([0.0, 1e-15, 1e-9, 1e-4, 0.3, 1.0], [0.1, 0.2, 0.2, 0.2, 0.2, 0.1]),
    Favorability([1e-13], [1.0]),
    Favorability([0.001], [1.0]),
    Favorability([0.2, 0.5], [0.5, 0.5]),
]


@pytest.mark.parametrize("metric", [ACCURACY, Top(5), Top(50)], ids=str)
@pytest.mark.parametrize("n_classes", [2, 40, 700])
def test_any_law_is_read_off_its_rows(visit, n_classes, metric):
    page, k = visit(fresh=False), np.unique(np.geomspace(2, 1e9, 120).round())
    targets = [0.99, 0.52, 0.31, 0.05]
    for law in LAWS:
        curve = rows_of(law, n_classes, metric)
        told = np.array(page.evaluate(VALUES, [curve, k.tolist()]))
        value = law.value(k, metric)
        np.testing.assert_allclose(told, value, rtol=0, atol=1e-6)
        # Two digits of what is left to one or to nothing are read, if it is not next to nothing.
        left = np.minimum(value, 1 - value)
        np.testing.assert_allclose(told[left > 1e-4], value[left > 1e-4], rtol=1e-3)
        counts = page.evaluate("([c, ts]) => ts.map((t) => capacityOf(c, t))", [curve, targets])
        for count, target in zip(counts, targets, strict=True):
            capacity = law.capacity(target, metric)
            capacity = math.inf if capacity >= 1e9 else capacity
            assert count == pytest.approx(capacity, rel=1e-6)


def test_a_curve_without_a_law_is_read_off_its_rows(visit):
    page, k = visit(fresh=False), np.unique(np.geomspace(2, 1e9, 300).round())
    curves = {lambda k: 1 / (1 + np.log10(k)): 1e-5, lambda k: np.exp(-np.log10(k) / 3): 1e-5}
    curves[lambda k: np.clip(1 - np.log10(k) / 6, 0, 1)] = 5e-4  # where it bends
    for predict, most in curves.items():
        law = PredictedCurve.sample(predict, [1000])
        told = np.array(page.evaluate(VALUES, [rows_of(law, 40), k.tolist()]))
        assert np.abs(told - law.value(k)).max() < most
        assert (np.diff(told) <= 1e-12).all() and told.min() >= 0


# -- any metric ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5, 6, 17, 40, 41, 43, 200, 5000, 123_456, 20_000_000])
def test_a_page_of_another_metric_gives_what_its_forecast_gives(visit, top_five, k):
    page = visit("top-forecast", fresh=False)
    page.fill("#ask-k", str(k))
    value = float(top_five.value(k))
    measured = "measured, " if k <= top_five.n_classes else ""
    within = percent_range(*map(float, top_five.interval(k)))
    assert shown(page, "answer-k").startswith(
        f"At {k:,} classes: {percent(value)} ({measured}90% interval {within})."
    )
    assert page.evaluate("(k) => valueAt(all[0].curve, k)", k) == pytest.approx(value, abs=1e-8)
    other, law = next(iter(top_five.others.items()))
    if k > top_five.n_classes:
        told = page.evaluate("(k) => valueAt(all[1].curve, k)", k)
        assert page.evaluate("all[1].name") == other
        assert told == pytest.approx(float(law.value(k, top_five.metric)), abs=1e-8)


@pytest.mark.parametrize("target", [1.0, 0.9, 0.61, 0.3])
def test_a_page_of_another_metric_gives_its_capacity(visit, top_five, target):
    page = visit("top-forecast", fresh=False)
    page.fill("#ask-target", f"{100 * target:g}")
    capacity = top_five.capacity(target)
    assert page.evaluate(CAPACITY, target)[0] == capacity
    words = describe_capacity(capacity, top_five.n_classes)
    assert shown(page, "answer-target").startswith(
        f"It stays at or above {percent(target)} up to {words}"
    )


def test_a_page_of_another_metric_names_it_everywhere(visit, top_five):
    page = visit("top-forecast")
    assert shown(page, "curve-title") == "Top-5 accuracy as classes are added"
    words = page.locator("#curve svg").first.get_attribute
    assert words("aria-label").startswith("Top-5 accuracy against number of classes. ")
    labels = "#curve [aria-label='y-axis label']"
    assert "Top-5 accuracy" in page.locator(labels).text_content()
    assert "Top-5 accuracy" in page.locator("#backtest [aria-label='y-axis label']").text_content()
    target = page.locator("label[for=ask-target]")
    assert target.text_content() == "Top-5 accuracy to keep, in %"
    page.check("#measure-loss")
    page.fill("#ask-target", "20")
    assert target.text_content() == "Top-5 error rate allowed, in %"
    assert shown(page, "curve-title") == "Top-5 error rate as classes are added"
    wrong = percent(1 - float(top_five.value(5000)))
    assert shown(page, "answer-k").startswith(f"At 5,000 classes, top-5 error rate: {wrong} (90%")
    said = "It stays at or below a top-5 error rate of 20% up to "
    assert shown(page, "answer-target").startswith(said)
    assert "Top-5 error rate" in page.locator(labels).text_content()
    assert words("aria-label").endswith("The table below has top-5 accuracy.")
    text = page.inner_text("main").lower()
    accuracies = text.count("accuracy") - text.count("top-5 accuracy")
    assert accuracies == 2  # among what was measured, and in the words of a check or method


def test_guessing_is_drawn_as_the_metric_guesses(visit, top_five):
    page = visit("top-forecast", fresh=False)
    ks = [2, 5, 6, 9, 40, 43, 5000, 10**6]
    told = page.evaluate("(ks) => ks.map((k) => valueAt(data.guess, k))", ks)
    assert told == pytest.approx(top_five.metric.guess(ks), rel=1e-9)

"""What answers look like in a notebook."""

import base64
import io
import re
import subprocess
import sys
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest
from matplotlib import image, pyplot

from headcount import Pilot, backtest, compare, forecast, observe
from headcount.support.words import named, percent, percent_range

matplotlib.use("Agg")

SPIKED = "<script>alert('1')</script>&\"$x_1$"


class Page(HTMLParser):
    """A page as a browser reads it: cells of tables, items of lists, pictures, all tags."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.rows, self.items, self.pictures = [], [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "li":
            self.items.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.pictures.append(dict(attrs))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif self.open[-1] == "li":
            self.items[-1] += data


def spiked_pilot(strength=2.5, seed=0):
    rng = np.random.default_rng(seed)
    names = np.array([SPIKED, *(f"c{i}" for i in range(1, 60))])
    labels = np.repeat(np.arange(60), 3)
    scores = rng.normal(size=(180, 60)) + strength * np.eye(60)[labels]
    scores[:3, 0] = -9  # so that the class with the odd name is the hardest
    return Pilot.from_scores(scores, names[labels], class_names=names)


@pytest.fixture(scope="module")
def answers():
    pilot = spiked_pilot()
    return {
        "pilot": pilot,
        "forecast": forecast(pilot, classes=[30, 60], method="no-change"),
        "backtest": backtest(pilot, method="no-change", repeats=3),
        "comparison": compare({SPIKED: pilot, "b": spiked_pilot(3.0, 1)}, 60, method="no-change"),
    }


NAMES = ("pilot", "forecast", "backtest", "comparison")


@pytest.mark.parametrize("name", NAMES)
def test_a_light_table_and_a_picture(answers, name):
    before = (pyplot.get_fignums(), dict(matplotlib.rcParams))
    html = answers[name]._repr_html_()
    assert (pyplot.get_fignums(), dict(matplotlib.rcParams)) == before
    assert len(html) < 100_000
    page = Page(html)
    assert set(page.tags) <= {
        "div", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "img",
    }  # fmt: skip
    assert page.tags[0] == "div" and page.rows
    (picture,) = page.pictures
    head, data = picture["src"].split(",")
    assert head == "data:image/png;base64" and picture["alt"]
    pixels = image.imread(io.BytesIO(base64.b64decode(data)), format="png")
    # No background, so that it fits any page, and no letter in black or white.
    assert (pixels[..., 3] == 0).mean() > 0.3
    opaque = pixels[pixels[..., 3] > 0.95][:, :3]
    assert len(opaque) > 500 and opaque.min(axis=1).max() < 0.6 and opaque.max(axis=1).min() > 0.4
    assert answers[name]._repr_html_() == html


def test_a_pilot_says_what_is_in_it(answers):
    page = Page(answers["pilot"]._repr_html_())
    lines = dict(page.rows)
    assert lines["probes a class"] == "3"
    assert lines["hardest"].startswith(f"{named(SPIKED)} (beaten by ")
    assert "most confusing" not in lines or answers["pilot"].has_beats


def test_looking_at_a_pilot_takes_no_pass_over_the_scores():
    pilot = spiked_pilot()
    assert "most confusing" not in dict(Page(pilot._repr_html_()).rows)
    assert not pilot.has_beats
    pilot.beats()
    assert "most confusing" in dict(Page(pilot._repr_html_()).rows)


def test_a_pilot_of_counts_alone():
    page = Page(Pilot.from_losses([0, 1, 1], 5)._repr_html_())
    assert dict(page.rows)["probes a class"] == "not known (no labels)"


def test_pictures_are_said_in_words(answers):
    result, tested, compared = (answers[name] for name in ("forecast", "backtest", "comparison"))
    right = {k: percent(float(result.accuracy(k))) for k in (2, 30, 60)}
    other = percent(float(compared.forecasts["b"].accuracy(60)))
    points = ", ".join(
        f"{percent(float(np.mean(step.forecasts)))} from {step.n_classes}" for step in tested.steps
    )
    words = {
        name: Page(answer._repr_html_()).pictures[0]["alt"] for name, answer in answers.items()
    }
    assert words == {
        "pilot": f"Accuracy against classes, measured: {right[60]} among all 60 classes, "
        f"{right[2]} between two.",
        "forecast": "Accuracy against classes, with the 90% interval: "
        f"measured {right[30]} at 30, measured {right[60]} at 60.",
        "backtest": f"Accuracy among 60 classes: {right[60]} measured; forecast from fewer "
        f"classes: {points}.",
        "comparison": "Accuracy of each system against classes: "
        f"{SPIKED} {right[60]} at 60, b {other} at 60.",
    }


def test_a_forecast_says_what_was_asked(answers):
    result = answers["forecast"]
    head, *rows = Page(result._repr_html_()).rows
    assert head == ["classes", "accuracy", "90% interval", ""]
    assert [row[0] for row in rows] == ["30", "60"] and rows[0][3] == "measured"
    assert rows[0][1] == percent(float(result.accuracy(30)))
    low, high = result.interval(30)
    assert rows[0][2] == percent_range(low, high)
    bare = forecast(spiked_pilot(), classes=70, method="no-change", intervals=False)
    head, *rows = Page(bare._repr_html_()).rows
    assert head == ["classes", "accuracy", ""] and rows[-1][::2] == ["70", "forecast"]
    for check in result.checks:
        assert any(check.code in item for item in Page(result._repr_html_()).items)


def test_another_metric_is_named_and_shown():
    pilots = {"a": spiked_pilot(), "b": spiked_pilot(2.0, 1)}
    options = {"method": "no-change", "metric": "top-5"}
    top = {name: percent(float(observe(pilot).top(5, 60))) for name, pilot in pilots.items()}
    page = Page(forecast(pilots["a"], classes=60, **options)._repr_html_())
    assert page.rows[0] == ["classes", "top-5 accuracy", "90% interval", ""]
    assert page.rows[1][:2] == ["60", top["a"]] and page.rows[1][3] == "measured"
    words = page.pictures[0]["alt"]
    assert words.startswith(
        f"Top-5 accuracy against classes, with the 90% interval: measured {top['a']}"
    )
    page = Page(backtest(pilots["a"], repeats=2, **options)._repr_html_())
    assert {row[2] for row in page.rows[1:]} == {top["a"]}
    assert page.pictures[0]["alt"].startswith(
        f"Top-5 accuracy among 60 classes: {top['a']} measured"
    )
    page = Page(compare(pilots, 60, **options)._repr_html_())
    assert page.rows == [["classes", "a", "b"], ["60", top["a"], top["b"]]]
    assert page.pictures[0]["alt"].startswith("Top-5 accuracy of each system against classes: a ")


def test_a_backtest_has_a_row_a_step(answers):
    tested = answers["backtest"]
    page = Page(tested._repr_html_())
    assert [row[0] for row in page.rows[1:]] == [f"{step.n_classes}" for step in tested.steps]
    assert page.rows[1][3] == f"{100 * tested.steps[0].error:.1f}"
    assert page.items == tested.sentences()


def test_a_backtest_without_steps_has_words_alone():
    tested = backtest(Pilot.from_losses([0, 1], 3), method="no-change")
    page = Page(tested._repr_html_())
    assert not page.rows and not page.pictures and page.items == list(tested.notes)


def test_a_comparison_has_a_column_a_system(answers):
    compared = answers["comparison"]
    page = Page(compared._repr_html_())
    assert page.rows[0] == ["classes", SPIKED, "b"]
    assert page.rows[1][0] == "60" and page.items == compared.sentences()


def test_without_matplotlib_there_is_the_table_alone():
    code = (
        "import sys\n"
        "class Hidden:  # as if it were not installed\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.split('.')[0] in ('matplotlib', 'pandas'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "import headcount\n"
        "from headcount.display.plots import CurveDisplay\n"
        "pilot = headcount.Pilot.from_losses([0, 1, 0], 5, labels=[0, 1, 2])\n"
        "result = headcount.forecast(pilot, classes=5, method='no-change', intervals=False)\n"
        "print(pilot._repr_html_(), result._repr_html_())\n"
        "assert len(CurveDisplay.from_forecast(result).frame()['classes']) == 4\n"
        "try:\n"
        "    CurveDisplay.from_forecast(result).save('a.png')\n"
        "except headcount.MissingExtraError as error:\n"
        "    assert 'headcount[plot]' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.count("<table>") == 2 and "<img" not in done.stdout
    assert not re.search("matplotlib|Traceback", done.stderr)

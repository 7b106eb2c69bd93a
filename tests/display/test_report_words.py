"""The words of a report for readers who do not know the tool: title, note, date, meaning."""

import html
import json
import re

import numpy as np
import pytest

import headcount
import report_pages
from headcount import ParameterError, Pilot
from headcount.display.report import write_report
from headcount.metrics import ACCURACY
from headcount.support.words import percent

EPOCH = "1700000000"  # 2023-11-14
QUICK = ("--method", "probit-normal", "--no-intervals")


@pytest.fixture(scope="module")
def quick():
    pilot = report_pages.make_pilot()
    return headcount.forecast(pilot, classes=[200, 3000], method="probit-normal", intervals=False)


def text_of(path):
    page = path.read_text(encoding="utf-8")
    return page, html.unescape(re.sub("<[^>]*>", "", page))


# -- title, note, date -----------------------------------------------------------------------------


def test_title_note_and_date_stand_on_the_page(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    title, note = "Gate <b>1</b>", "For the board.\nSecond & last line; a class of its own."
    quick.save(tmp_path / "page.html", title=title, note=note)
    page, text = text_of(tmp_path / "page.html")
    assert "<title>Gate &lt;b&gt;1&lt;/b&gt;</title>" in page
    assert page.count("2023-11-14</time>") == 1
    assert note in text
    held = report_pages.embedded(page)
    assert (held["heading"], held["note"], held["date"]) == (title, note, "2023-11-14")
    assert f"result.save('page.html', title={title!r}, note={note!r})" in text


def test_without_a_title_the_page_has_its_own(quick, tmp_path):
    write_report(tmp_path / "page.html", quick, sources=["pilot.npz"])
    page, _ = text_of(tmp_path / "page.html")
    assert "<title>Forecast of accuracy from pilot.npz</title>" in page
    assert '<p class="note">' not in page
    assert re.search(r'<time datetime="20\d\d-\d\d-\d\d">', page)


def test_the_same_day_gives_the_same_page(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    pages = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        quick.save(tmp_path / name / "page.html")
        pages.append((tmp_path / name / "page.html").read_bytes())
    assert pages[0] == pages[1]


@pytest.mark.parametrize("seconds", ["", "today", "1e9", "9" * 30])
def test_a_date_that_is_none_is_refused(quick, tmp_path, monkeypatch, seconds):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    with pytest.raises(ParameterError, match="SOURCE_DATE_EPOCH"):
        quick.save(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_title_is_for_reports_only(quick, tmp_path, pilot, refused):
    for name in ("curve.png", "curve.json"):
        with pytest.raises(ParameterError, match=r"for a report; save it as \.html"):
            quick.save(tmp_path / name, title="Gate")
    for option in ("--title", "--note"):
        message = refused("forecast", pilot, "--classes", "100", option, "Gate")
        assert "add --report report.html" in message


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("forecast", ("--classes", "100", *QUICK)),
        ("backtest", ("--method", "no-change", "--repeats", "2")),
    ],
)
def test_the_command_to_make_it_again_has_them(run, tmp_path, command, more):
    file = report_pages.write_npz(tmp_path / "pilot.npz")
    words = ("--title", "Our faces", "--note", "Ask Ann", "--noun", "person/people")
    code, _, _ = run(command, file, *more, *words, "--report", tmp_path / "page.html")
    assert code == 0
    page, text = text_of(tmp_path / "page.html")
    assert "<title>Our faces</title>" in page
    assert '<p class="note">Ask Ann</p>' in page
    for part in ("--title 'Our faces'", "--note 'Ask Ann'", "--noun person/people"):
        assert part in text


def test_a_comparison_has_them_too(run, tmp_path):
    files = [report_pages.write_npz(tmp_path / f"{name}.npz") for name in "ab"]
    words = ("--classes", "50", "--method", "no-change", "--title", "Old and new")
    code, _, _ = run("compare", *files, *words, "--report", tmp_path / "page.html")
    assert code == 0
    assert "<title>Old and new</title>" in text_of(tmp_path / "page.html")[0]


# -- what percentages are of -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "no probe finds the right class"),
        (1e-13, "no probe finds the right class"),
        (0.0005, "about 1 probe in 2,000 finds the right class"),
        (0.013, "13 of 1,000 probes find the right class"),
        (0.5, "50 of 100 probes find the right class"),
        (0.98, "980 of 1,000 probes find the right class"),
        (0.9834, "983 of 1,000 probes find the right class"),
        (0.9994, "about 1 probe in 1,700 does not find the right class"),
        (1 - 1e-10, "fewer than 1 probe in 100,000,000 does not find the right class"),
        (1.0, "all probes find the right class"),
    ],
)
def test_an_accuracy_is_said_as_a_count(share, said):
    assert ACCURACY.describe(share) == said


def test_the_count_is_true_to_two_digits():
    for share in np.linspace(0.0001, 0.9999, 2000):
        said = ACCURACY.describe(share)
        if rare := re.search(r"1 probe in ([\d,]+) (finds|does)", said):
            value = 1 / int(rare[1].replace(",", ""))
            value = value if rare[2] == "finds" else 1 - value
        else:
            count, whole = re.match(r"([\d,]+) of ([\d,]+) ", said).groups()
            value = int(count.replace(",", "")) / int(whole.replace(",", ""))
        edge = min(share, 1 - share)
        assert abs(value - share) <= max(0.06 * edge, 1e-12)
        assert 0 < value < 1


def test_a_forecast_says_what_its_percentage_is_of(quick, tmp_path, run):
    value = float(quick.accuracy(3000))
    meaning = f"Among 3,000 classes, {ACCURACY.describe(value)}."
    assert meaning in quick.sentences()
    assert meaning in repr(quick)
    assert meaning in quick._repr_html_()
    quick.save(tmp_path / "page.html")
    text = text_of(tmp_path / "page.html")[1]
    assert meaning in text
    assert "Accuracy: 100% where all probes find the right class. Error rate: what is" in text
    file = report_pages.write_npz(tmp_path / "pilot.npz")
    assert meaning in run("forecast", file, "--classes", "200,3000", *QUICK)[1]


def test_brackets_say_what_is_in_them(result, page_text):
    lower, upper = result.interval(200)
    within = headcount.support.words.percent_range(float(lower), float(upper))
    assert f"At 200 classes: {percent(float(result.accuracy(200)))} (90% interval {within})." in (
        result.sentences()
    )
    assert re.search(
        r"At 40 classes: \d+% \(measured, 90% interval [\d.]+-[\d.]+%\)\.",
        repr(
            headcount.forecast(report_pages.make_pilot(), classes=40, method="no-change", n_jobs=1)
        ),
    )
    for line in (str(report_pages.make_pilot().summary()), page_text):
        assert re.search(r"\(beaten by [\d.]+% of the other classes\)", line)
        assert re.search(r"\(above the true class for [\d.]+% of others' probes\)", line)


def test_a_lead_says_its_level():
    pilots = {"old": report_pages.make_pilot(0.8), "new": report_pages.make_pilot(0.4)}
    found = headcount.compare(pilots, 40, method="no-change", confidence=0.8, n_jobs=1)
    assert re.search(r"\(80% interval [\d.]+ to [\d.]+\)\.$", found.sentences()[0])


@pytest.fixture(scope="module")
def page_text(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    result.save(path)
    return text_of(path)[1]


# -- capacities past what can be said --------------------------------------------------------------


def test_a_capacity_past_ten_thousand_pilots_is_not_said(run, tmp_path):
    easy = Pilot.from_losses([0] * 999 + [1], n_classes=100)
    made = headcount.forecast(easy, classes=100, method="probit-normal", intervals=False)
    past = [target for target in (0.9, 0.8, 0.5) if made.capacity(target) > 1_000_000]
    assert past
    assert made.sentences()[-1].endswith(f"{percent(past[0])} up to more classes than can be said.")
    assert made.sentences()[-1].count("than can be said") == 1
    np.savez(tmp_path / "easy.npz", losses=easy.losses, n_classes=100)
    words = ("capacity", tmp_path / "easy.npz", "--target", "0.5", *QUICK)
    assert "50%: up to more classes than can be said (forecast)." in run(*words)[1]
    held = json.loads(run(*words, "--json")[1])
    assert held["capacity"][0]["classes"] == made.capacity(0.5) or held["capacity"][0]["unbounded"]


def test_what_can_be_said_is_said():
    said = headcount.support.words.describe_capacity
    assert said(1_000_000, 100) == "about 1,000,000 classes"
    assert said(1_000_001, 100) == said(float("inf"), 100) == "more classes than can be said"
    within = headcount.support.words.describe_capacities
    assert within(20, 1_000_000, 100) == "20 to 1,000,000"
    assert within(20, 1_000_001, 100) == within(20, float("inf"), 100) == "20 or more"
    assert within(2e6, float("inf"), 100) == "1,000,000 or more"


def test_the_picture_ends_where_nothing_can_be_said():
    from headcount.display.plots import CapacityDisplay

    pilot = report_pages.make_pilot()
    with pytest.warns(headcount.ExtrapolationWarning):
        made = headcount.forecast(pilot, classes=10**9, method="probit-normal", intervals=False)
    assert CapacityDisplay.from_forecast(made, targets=[0.5]).reach == 10_000 * 40


# -- advice ----------------------------------------------------------------------------------------


def advice(made, code):
    return next(check.advice for check in made.checks if check.code == code)


def test_a_larger_pilot_is_named_in_the_users_own_numbers(result, page_text):
    said = advice(result, "HC011")
    needed = -(-5000 // result.backtest.supported)
    assert "this one of 40 classes: to speak of 5,000" in said
    assert f"{needed:,.0f}" in said or result.backtest.supported == 1
    assert "50,000" not in said and said in page_text


@pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
def test_without_support_a_tenth_is_named_and_never_less_than_twice_the_pilot():
    pilot = Pilot.from_losses([0] * 50 + [1] * 10, n_classes=60)
    options = {"method": "probit-normal", "intervals": False}
    said = advice(headcount.forecast(pilot, classes=90_000, **options), "HC011")
    assert "to speak of 90,000, one of 9,000 is worth more" in said
    stored = headcount.Forecast.from_json(
        headcount.forecast(pilot, classes=90_000, **options).to_json()
    )
    assert advice(stored, "HC011") == said


def limits(pilot, **options):
    fit = headcount.estimators.Auto(**options).fit(pilot)
    return fit.note_, fit.remedy_


def test_scores_are_not_asked_for_where_they_were_given():
    rng = np.random.default_rng(0)
    losses = rng.geometric(0.3, 300) - 1
    note, remedy = limits(Pilot.from_losses(losses, 40))
    assert "scores would" in note and "Give scores" in remedy
    few = Pilot.from_scores(
        rng.normal(size=(30, 5)) + 3 * np.eye(5)[np.arange(30) % 5], np.arange(30) % 5
    )
    cut = Pilot.from_losses([0] * 30 + [10] * 10, 50, censored=[False] * 30 + [True] * 10)
    scores = rng.normal(size=(120, 40)) + 3 * np.eye(40)[np.arange(120) % 40]
    votes = (scores > np.sort(scores, axis=1)[:, -3:-2]).astype(float)
    coarse = Pilot.from_scores(votes, np.arange(120) % 40)
    for pilot, note_has, remedy_has in (
        (few, "5 classes, fewer than was learned from", "Add classes"),
        (cut, "only known from below", "longer lists"),
        (coarse, "too coarse", "finer scores"),
    ):
        note, remedy = limits(pilot)
        assert note_has in note and remedy_has in remedy
        assert "Give scores" not in remedy and "scores would" not in note
    left_out = limits(Pilot.from_scores(scores, np.arange(120) % 40), use_scores=False)
    assert "use_scores=False" in left_out[0] and "Give scores" not in left_out[1]


@pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
def test_the_check_carries_what_would_help():
    cut = Pilot.from_losses([0] * 30 + [10] * 10, 50, censored=[False] * 30 + [True] * 10)
    made = headcount.forecast(cut, classes=60, intervals=False)
    assert "longer lists" in advice(made, "HC019")
    assert all(check.advice for check in made.checks)


def test_a_lead_on_the_page_has_two_digits_and_says_what_stands_in_brackets(tmp_path):
    pilots = {"old": report_pages.make_pilot(0.8), "new": report_pages.make_pilot(0.4)}
    found = headcount.compare(pilots, 40, method="no-change", confidence=0.8, n_jobs=1)
    write_report(tmp_path / "page.html", found)
    text = text_of(tmp_path / "page.html")[1]
    assert "first ahead by, in points (80% interval)" in text
    assert "in brackets the 80% interval" in text
    lead = found.pairs[0].at(40)
    shown = [
        headcount.support.words.in_points(v, sign="+")
        for v in (lead.difference, lead.lower, lead.upper)
    ]
    assert "{} ({} to {})".format(*shown) in text

"""The report as text: what is on it, what is inside it, how it is asked for."""

import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import headcount
import report_pages
from headcount import Favorability, Forecast, Observed
from headcount.checks import CHECKS
from headcount.checks.advice import ADVICE
from headcount.display.report import write_report
from headcount.display.report.embedding import MOST_ROWS, as_law, as_table
from headcount.errors import MissingExtraError, ParameterError
from headcount.pilot.losses import LossTable
from headcount.support.words import named, percent

ROOT = Path(__file__).parents[2]
LADDER = np.unique(np.geomspace(2, 1e9, 60).round())


class Text(HTMLParser):
    """Visible text, and the tags that are really there."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.said, self.inside = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.said.append("" if dict(attributes).get("class") == "unbroken" else " ")
        if tag in ("script", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.said.append(data)

    @property
    def text(self):
        return " ".join("".join(self.said).split())


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    result.save(path)
    return path.read_text(encoding="utf-8")


# -- what is on it ---------------------------------------------------------------------------------


def test_the_answer_comes_first_in_the_words_of_the_forecast(result, page):
    said = Text(page).text
    places = [said.index(sentence) for sentence in result.sentences()]
    assert places == sorted(places)
    assert said.index("Before you rely on it") > places[-1]


def test_findings_come_with_what_to_do(result, page):
    said = Text(page).text
    assert result.checks
    for check in result.checks:
        assert check.code in said
        assert CHECKS[check.code].title in said
        assert check.advice.replace("`", "") in said


def test_every_finding_has_the_advice_of_the_docs():
    docs = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    found = re.findall(r"^## (HC\d+)\n.*?\*What to do\.\*(.*?)(?=\n\n|\Z)", docs, re.S | re.M)
    plain = {
        code: re.sub(r" \(\[.*?\]\(.*?\)\)", "", " ".join(text.split())) for code, text in found
    }
    assert plain == ADVICE
    assert set(ADVICE) == set(CHECKS)


def test_it_names_data_method_and_version(page):
    said = Text(page).text
    seen = report_pages.make_pilot().summary()
    listed = [note.name for note in (*seen.hardest, *seen.confusing) if "class" in note.name]
    assert listed
    measured = f"Measured: {percent(float(seen.accuracy))} on a pilot of 40 classes and 120 probes."
    for text in (measured, "Classes 40", "Probes 120", "Method probit-normal", *listed):
        assert text in said
    assert f"headcount {headcount.__version__}" in said


def test_the_backtest_is_there(result, page):
    said = Text(page).text
    for sentence in result.backtest.sentences():
        assert sentence in said
    for step in result.backtest.steps:
        assert f" {100 * step.error:.1f} " in said


def test_python_that_makes_it_again(result, page, tmp_path, monkeypatch):
    code = re.search(r'<code id="code">(.*?)</code>', page, re.S).group(1)
    code = code.replace("&#34;", '"').replace("&#39;", "'")
    monkeypatch.chdir(tmp_path)
    with pytest.warns(headcount.ExtrapolationWarning):
        exec(code, {"pilot": report_pages.make_pilot()})
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_settings_that_are_not_usual_are_in_the_python(tmp_path):
    pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    method = headcount.estimators.ProbitNormal(prior_classes=3)
    made = headcount.forecast(
        pilot, classes=200, method=method, confidence=0.8, random_state=5, intervals=False
    )
    made.save(tmp_path / "x.html")
    said = Text((tmp_path / "x.html").read_text(encoding="utf-8")).text
    for option in (
        "headcount.estimators.ProbitNormal(prior_classes=3)", "confidence=0.8", "random_state=5",
        "intervals=False", "classes=[200]",
    ):  # fmt: skip
        assert option in said
    assert "No back-test was run" in said


def test_a_forecast_read_from_a_file_can_be_reported(result, tmp_path):
    again = Forecast.from_json(result.to_json())
    again.save(tmp_path / "again.html")
    said = Text((tmp_path / "again.html").read_text(encoding="utf-8")).text
    for sentence in result.sentences():
        assert sentence in said


# -- safety ----------------------------------------------------------------------------------------


def test_nothing_in_it_points_outside(page):
    for tag, attributes in Text(page).tags:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    assert "default-src 'none'" in page


def test_names_from_files_are_escaped(page):
    read = Text(page)
    assert named(report_pages.SCRIPT) in read.text
    assert named(report_pages.FORMULA) in read.text
    assert "end?of & line" in read.text  # line separators would break what is copied from it
    assert sum(tag == "script" for tag, _ in read.tags) == 7
    assert report_pages.SCRIPT not in page


def test_backticks_of_names_stay_backticks(tmp_path):
    scores, labels, names = report_pages.make_scores()
    names, labels = np.char.add("`", names), np.char.add("`", labels)
    pilot = headcount.Pilot.from_scores(scores, labels, class_names=names)
    made = headcount.forecast(pilot, classes=100, intervals=False)
    write_report(
        tmp_path / "a.html", made, sources=["`a`.npz"], warnings=["`b` and `c` are both there."]
    )
    found = Text((tmp_path / "a.html").read_text(encoding="utf-8"))
    hardest = made._fitted[0].summary().hardest
    assert hardest and all(f"{named(note.name)} (" in found.text for note in hardest)
    assert 'Files "`a`.npz"' in found.text
    assert "`b` and `c` are both there." in found.text


def test_data_inside_cannot_end_the_script(tmp_path, result):
    names = [f"</script>{name}" for name in report_pages.NAMES[:2]]
    forecasts = dict.fromkeys(names, result)
    found = headcount.Comparison(forecasts, (), (200,), 0.9)
    write_report(tmp_path / "c.html", found)
    text = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert [one["name"] for one in report_pages.embedded(text)["series"]] == names
    data = re.search(r'id="headcount-data">(.*?)</script>', text, re.S).group(1)
    assert not set("<>&\u2028\u2029") & set(data)


def test_scripts_hold_nothing_that_ends_them():
    for path in (ROOT / "src/headcount/display/report/assets").glob("*.js"):
        text = path.read_text(encoding="utf-8").lower()
        assert "</script" not in text
        assert "<!--" not in text


def test_the_chart_library_carries_its_licences():
    text = (ROOT / "src/headcount/display/report/assets/charts.min.js").read_text(encoding="utf-8")
    assert text.startswith("/*!")
    assert "Copyright 2020-2025 Observable, Inc." in text
    lock = (ROOT / "scripts/report_charts/package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock


def test_it_is_small(page):
    assert len(page.encode()) < 1_500_000


def test_the_same_forecast_gives_the_same_page(result, page, tmp_path):
    result.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_a_page_that_would_be_too_large_is_refused(result, tmp_path, monkeypatch):
    monkeypatch.setattr("headcount.display.report.writing.LARGEST", 300_000)
    with pytest.raises(ParameterError, match="compare fewer"):
        result.save(tmp_path / "c.html")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_page_is_refused(result, tmp_path):
    with pytest.raises(ParameterError, match=r"ends in \.html, not in \.txt"):
        write_report(tmp_path / "report.txt", result)
    with pytest.raises(ParameterError, match="needs at least one, and the pilot"):
        write_report(tmp_path / "report.html", [])


def test_without_the_package_the_extra_is_named(result, tmp_path, monkeypatch):
    from headcount.display.report.rendering import load_templates

    load_templates.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"headcount\[report\]"):
        result.save(tmp_path / "report.html")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert any(name.startswith("jinja2") for name in extras["report"])


# -- data inside it --------------------------------------------------------------------------------


def test_the_data_hold_the_answer(result, page):
    held = report_pages.embedded(page)
    assert held["answer"] == result.to_dict()
    assert held["kind"] == "forecast"
    assert [(one["method"], one["shown"]) for one in held["series"]] == [("probit-normal", True)]


def test_other_methods_are_hidden_at_first(pages):
    held = report_pages.embedded((pages / "forecast.html").read_text(encoding="utf-8"))
    assert [one["shown"] for one in held["series"]] == [True] + [False] * (len(held["series"]) - 1)
    assert {one["method"] for one in held["series"]} >= {"probit-normal", "exponential"}


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(-12, -0.5), st.floats(0.3, 4))
def test_a_long_law_is_thinned_without_being_seen(seed, middle, spread):
    rng = np.random.default_rng(seed)
    p = np.minimum(10 ** rng.normal(middle, spread, MOST_ROWS + 500), 1.0)
    law = Favorability(np.append(p, [0.0, 1.0]), rng.random(len(p) + 2))
    held = as_law(law)
    thin = Favorability(held["p"], held["weights"])
    assert np.abs(thin.accuracy(LADDER) - law.accuracy(LADDER)).max() < 1e-6
    assert abs(thin.asymptote - law.asymptote) < 1e-9


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.floats(0.2, 3))
def test_a_long_table_of_losses_is_thinned_without_being_seen(seed, spread):
    rng = np.random.default_rng(seed)
    rivals = 3_000_000
    drawn = np.minimum(10 ** rng.normal(4, spread, 20_000), rivals)
    losses = np.unique(drawn.astype(np.int64))
    assume(len(losses) > MOST_ROWS)
    weights = rng.random(len(losses))
    free = np.zeros(len(losses), bool)
    full = Observed(LossTable(losses, weights / weights.sum(), free, rivals))
    held = as_table(full)
    rows = len(held["losses"])
    thin = Observed(
        LossTable(np.array(held["losses"]), np.array(held["weights"]), np.zeros(rows, bool), rivals)
    )
    k = LADDER[rivals >= LADDER]
    assert np.abs(thin.accuracy(k) - full.accuracy(k)).max() < 1e-6
    assert rows < len(losses)


def test_censored_probes_count_half():
    pilot = headcount.Pilot.from_losses(
        [0, 1, 3, 5], n_classes=9, censored=[False, False, False, True]
    )
    seen = headcount.observe(pilot)
    held = as_table(seen)
    rows = len(held["losses"])
    table = LossTable(
        np.array(held["losses"]),
        np.array(held["weights"]),
        np.zeros(rows, bool),
        pilot.n_classes - 1,
    )
    k = np.arange(2, 10)
    assert Observed(table).accuracy(k) == pytest.approx(seen.accuracy(k))


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "deep" / "down"
    folder.mkdir(parents=True)
    return [
        report_pages.write_npz(folder / f"{name}.npz", s) for name, s in (("a b", 0.5), ("c", 0.7))
    ]


def command_in(path):
    text = path.read_text(encoding="utf-8")
    code = re.search(r'<code id="code">(.*?)</code>', text, re.S).group(1)
    return text, code.replace("&#39;", "'")


def test_forecast_writes_a_report_and_says_how(run, files, tmp_path):
    out = tmp_path / "out.html"
    code, said, _ = run(
        "forecast", files[0], "--classes", "200", "--method", "exponential", "--lower-is-better",
        "--report", out, "--no-intervals", "--json",
    )  # fmt: skip
    assert code == 0
    text, command = command_in(out)
    assert command == (
        "headcount forecast 'a b.npz' --classes 200 --method exponential --no-intervals --json "
        "--report out.html --lower-is-better"
    )
    assert (
        report_pages.embedded(text)["answer"]["forecast"]
        == report_pages.json.loads(said)["forecast"]
    )
    assert str(tmp_path) not in text
    assert "a b.npz" in Text(text).text


def test_compare_writes_a_report(run, files, tmp_path):
    out = tmp_path / "out.html"
    code, said, _ = run(
        "compare", *files, "--classes", "100,300", "--method", "no-change", "--names", "<b>,=x",
        "--report", out,
    )  # fmt: skip
    assert code == 0
    text, command = command_in(out)
    assert command == (
        "headcount compare 'a b.npz' c.npz --classes 100,300 --names '&lt;b&gt;,=x' "
        "--method no-change --report out.html"
    )
    read = Text(text)
    for line in said.strip().splitlines()[-2:]:
        assert line in read.text
    assert "Who is ahead" in read.text
    assert "b" not in [tag for tag, _ in read.tags]
    assert str(tmp_path) not in text


def test_backtest_writes_a_report(run, files, tmp_path):
    out = tmp_path / "out.html"
    code, _, _ = run(
        "backtest", files[1], "--method", "no-change,pooled-fmr", "--repeats", "2", "--report", out
    )
    assert code == 0
    text, command = command_in(out)
    assert command == (
        "headcount backtest c.npz --method no-change,pooled-fmr --repeats 2 --report out.html"
    )
    assert len(report_pages.embedded(text)["backtests"]) == 2
    assert "Best of 2 methods" in Text(text).text


def test_of_many_backtests_the_best_five_are_shown_at_first(tmp_path):
    pilot = report_pages.make_pilot()
    quick = ("no-change", "pooled-fmr", "log-linear", "exponential", "probit-normal", "polynomial")
    tests = [headcount.backtest(pilot, method=alias, repeats=2) for alias in quick]
    write_report(tmp_path / "out.html", tests, pilot=pilot)
    boxes = [held for tag, held in Text((tmp_path / "out.html").read_text()).tags if tag == "input"]
    boxes = [held for held in boxes if held["type"] == "checkbox"]
    assert ["checked" in held for held in boxes] == [True] * 5 + [False]


def test_a_backtest_says_everything_once(tmp_path):
    pilot = report_pages.make_pilot()
    found = headcount.backtest(pilot, method="probit-normal", repeats=2)
    write_report(tmp_path / "out.html", [found], pilot=pilot)
    said = Text((tmp_path / "out.html").read_text(encoding="utf-8")).text
    assert [said.count(sentence) for sentence in found.sentences()] == [1]


@pytest.mark.parametrize("command", ["forecast", "compare", "backtest"])
def test_a_report_that_cannot_be_written_is_refused_first(refused, files, tmp_path, command):
    rest = {"forecast": files[:1], "compare": files, "backtest": files[:1]}[command]
    asked = [] if command == "backtest" else ["--classes", "100"]
    assert "ends in .html" in refused(command, *rest, *asked, "--report", tmp_path / "x.pdf")
    assert "no folder" in refused(command, *rest, *asked, "--report", tmp_path / "no" / "x.html")
    assert "also an input" in refused(command, *rest, *asked, "--report", files[0])

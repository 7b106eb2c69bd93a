"""The report as text: what is on it, what is inside it, how it is asked for."""

import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import headcount
import report_pages
from headcount import Favorability, Forecast
from headcount.checks import CHECKS
from headcount.checks.advice import ADVICE
from headcount.display.report import write_report
from headcount.display.report.page_data import row_classes
from headcount.errors import MissingExtraError, ParameterError
from headcount.support.words import named, percent, percent_range

ROOT = Path(__file__).parents[2]


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
    shown = [(series["method"], series["shown"]) for series in held["series"]]
    assert shown == [("probit-normal", True), *((name, False) for name in result.others)]


def test_other_methods_are_hidden_at_first(pages):
    held = report_pages.embedded((pages / "forecast.html").read_text(encoding="utf-8"))
    assert [one["shown"] for one in held["series"]] == [True] + [False] * (len(held["series"]) - 1)
    assert {one["method"] for one in held["series"]} >= {"probit-normal", "exponential"}


def test_rows_are_those_of_the_forecast_at_numbers_that_depend_on_the_sizes_alone(result, page):
    series = report_pages.embedded(page)["series"]
    rows = series[0]["curve"]
    classes = np.array(rows["classes"])
    assert classes[0] == 1 and 10**9 <= classes[-1] < 1.1e9
    assert {result.n_classes, result.n_classes + 1} <= set(rows["classes"])
    table = result.table(classes)
    for name in ("value", "lower", "upper"):
        np.testing.assert_allclose(rows[name], getattr(table, name), rtol=1e-11, atol=1e-12)
    assert rows["region"] == table.region.tolist()
    assert [rows["classes"][row] for row in rows["pieces"]] == [1, 2, result.n_classes + 1]
    assert all(other["curve"]["classes"] == rows["classes"] for other in series)


def test_other_methods_have_what_was_measured_and_their_own_forecast(result, page):
    other = report_pages.embedded(page)["series"][1]
    name, rows = other["name"], other["curve"]
    law = headcount.estimators.resolve(name, 0).fit(report_pages.make_pilot()).law((200, 5000))
    classes, value = np.array(rows["classes"]), np.array(rows["value"])
    inside = classes <= result.n_classes
    np.testing.assert_allclose(value[inside], result.value(classes[inside]), atol=1e-11)
    np.testing.assert_allclose(value[~inside], law.value(classes[~inside]), atol=1e-11)
    assert np.abs(value - result.value(classes)).max() > 0.001
    assert "lower" not in rows and other["supported"] is None


@pytest.mark.parametrize(("n_classes", "certain"), [(2, 1), (40, 5), (40, 50), (10**6, 3000)])
def test_rows_reach_as_far_as_can_be_asked_and_told(n_classes, certain):
    rows = row_classes(n_classes, certain, [2, 10**12])
    assert rows[0] == 1 and 10**12 <= rows[-1] < 1.1e12
    assert (np.diff(rows) > 0).all()
    for start in (certain, n_classes):
        assert {start, start + 1} <= set(rows.tolist())
    beyond = rows[rows > certain].astype(float)
    assert (np.diff(beyond) <= 0.052 * beyond[:-1] + 1).all()
    assert row_classes(10**6, 1, [5])[-1] >= 10**10  # capacities are told up to there
    assert set(row_classes(n_classes, certain, [5]).tolist()) <= set(rows.tolist())
    assert len(rows) < 8000


# -- any metric ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def top_page(top_five, tmp_path_factory):
    path = tmp_path_factory.mktemp("top") / "report.html"
    top_five.save(path)
    return path.read_text(encoding="utf-8")


def test_a_page_shows_the_metric_of_its_forecast(top_five, top_page):
    read = Text(top_page)
    value, size = float(top_five.value(5000)), top_five.n_classes
    assert top_five.metric.name == "top-5"
    measured = top_five.metric.write(float(top_five.value(size)))
    for text in (
        "Forecast of top-5 accuracy",
        f"Measured: {measured} on a pilot of 40 classes",
        f"At 5,000 classes: {percent(value)} (90% interval",
        "find the right class among the best 5.",
        "Top-5 accuracy as classes are added",
        "Top-5 accuracy: 100% where all probes find the right class among the best 5. "
        "Top-5 error rate: what is missing to 100%.",
        "Top-5 accuracy against number of classes",
        f"Top-5 accuracy {measured} among all 40 classes",
        f"{percent(float(top_five.accuracy(size)))} among all 40 classes,",
    ):
        assert text in read.text
    assert "metric='top-5'" in read.text


def test_the_table_of_a_page_has_the_rows_of_the_forecast(top_five, top_page):
    curve = top_five.table([2, 5, 10, 20, 40, 50, 100, 200, 500, 1000, 2000, 5000])
    table = top_page.split("<details")[1].split("</details>")[0]
    cells = re.findall(r"<t[dh](?: [^>]*)?>(.*?)</t[dh]>", table, re.S)
    width, others = len(curve.titles(0.9)), len(top_five.others)
    wanted = [*curve.titles(0.9)[:-1], "source", *(f"by {name}" for name in top_five.others)]
    assert cells[: width + others] == wanted
    for place, row in enumerate(curve.cells(), 1):
        start = place * (width + others)
        assert cells[start : start + width] == row
    other = next(iter(top_five.others))
    assert cells[-others] == top_five.metric.write(
        float(top_five.others[other].value(5000, top_five.metric))
    )


def test_what_knows_accuracy_only_is_no_other_method_of_another_metric(result, top_five):
    assert "high-dimensional" in result.others
    for law in top_five.others.values():
        assert isinstance(law, Favorability)


def test_the_data_say_what_the_metric_is(top_five, top_page):
    data = report_pages.embedded(top_page)
    assert data["answer"] == top_five.to_dict()
    assert data["schema"] == data["answer"]["schema"] == 2
    assert data["metric"]["name"] == data["answer"]["metric"] == "top-5"
    guess = dict(zip(data["guess"]["classes"], data["guess"]["value"], strict=True))
    assert (guess[1], guess[5], guess[6], guess[40]) == (1, 1, pytest.approx(5 / 6), 0.125)


def test_comparisons_and_backtests_show_their_metric(pages, top_pages):
    comparison, backtest = (
        Text((pages / f"top-{name}.html").read_text(encoding="utf-8")).text
        for name in ("comparison", "backtest")
    )
    systems, tests = top_pages
    assert "in top-5 accuracy" in comparison
    assert "classes top-5 accuracy of first of second first ahead by" in comparison
    for forecast in systems.forecasts.values():
        value = percent(float(forecast.value(200)))
        assert f" {value} ({percent_range(*forecast.interval(200))}) " in comparison
        assert value != percent(float(forecast.accuracy(200)))
    assert "Back-test of top-5 accuracy" in backtest
    assert f"Among all 40 classes, {tests[0].metric.describe(tests[0].observed)}." in backtest
    assert f"Top-5 accuracy {percent(tests[0].observed)} among all 40 classes" in backtest


def test_the_command_line_makes_pages_of_any_metric(run, files, tmp_path):
    out = tmp_path / "out.html"
    quick = ("--method", "probit-normal", "--metric", "top-3", "--report", out)
    for command in (
        ("forecast", files[0], "--classes", "200", "--no-intervals", "--json"),
        ("backtest", files[0], "--repeats", "2"),
    ):
        assert run(*command, *quick)[0] == 0
        text, shown = command_in(out)
        assert "--metric top-3" in shown
        assert report_pages.embedded(text)["metric"]["label"] == "top-3 accuracy"
        assert "op-3 accuracy" in Text(text).text


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
    quick = (
        "no-change",
        "pooled-fmr",
        "log-linear",
        "exponential",
        "probit-normal",
        "high-dimensional",
    )
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

"""What users call their classes and probes, wherever people read of them."""

import html
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount
import report_pages
from headcount import DataError, Forecast, ParameterError, Pilot
from headcount.cli.app import main
from headcount.display.plots import (
    BacktestDisplay,
    CapacityDisplay,
    ClassesDisplay,
    CMCDisplay,
    ComparisonDisplay,
    CurveDisplay,
    DiscriminabilityDisplay,
    LeadDisplay,
    ReversedROCDisplay,
)
from headcount.display.report import write_report
from headcount.support.words import Nouns, named
from headcount.uncertainty.backtest import Backtest

FACES = Nouns.of("person/people", "photo/photos")
ITEMS = Nouns.of("item", "utterance")
OPTIONS = ("--noun", "person/people", "--probe-noun", "photo/photos")
QUICK = ("--method", "probit-normal", "--no-intervals")
OURS = re.compile(r"\b(class|classes|probe|probes)\b", re.IGNORECASE)
NAMES = ["class 1", "`probe`", 'the "best" classes', *(f"name{i}" for i in range(3, 40))]


class Unnamed(headcount.estimators.Extrapolator):
    def _estimate(self, pilot):
        return None


def leftovers(text):
    """Our own nouns outside of quotes and code."""
    return OURS.findall(re.sub(r'"(?:[^"]|"")*"|`[^`]*`|--[\w-]+|class_names', "", text))


def make_pilot():
    scores, _, names = report_pages.make_scores()
    labels = np.repeat(np.arange(len(names)), 3)
    return Pilot.from_scores(scores, np.array(NAMES)[labels], class_names=np.array(NAMES))


@pytest.fixture(scope="module")
def people():
    return make_pilot().with_nouns("person/people", "photo/photos")


@pytest.fixture(scope="module")
def result(people):
    return headcount.forecast(people, classes=200, method="probit-normal", intervals=False)


@pytest.fixture(scope="module")
def tested(people):
    return headcount.backtest(people, method="no-change", repeats=2)


@pytest.fixture
def file(tmp_path):
    scores, _, names = report_pages.make_scores()
    labels = np.array(NAMES)[np.repeat(np.arange(len(names)), 3)]
    np.savez(tmp_path / "faces.npz", scores=scores, labels=labels, class_names=np.array(NAMES))
    return tmp_path / "faces.npz"


# -- renaming --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "people", "items"),
    [
        ("A class has a probe.", "A person has a photo.", "An item has an utterance."),
        ("even two classes", "even two people", "even two items"),
        ("Near-duplicate classes", "Near-duplicate people", "Near-duplicate items"),
        (
            "Classes: 3; probes a class",
            "People: 3; photos a person",
            "Items: 3; utterances an item",
        ),
        ("class names", "person names", "item names"),
        ("a class's score", "a person's score", "an item's score"),
        ("classes' probes", "people's photos", "items' utterances"),
        ("probes' class", "photos' person", "utterances' item"),
        ("a new class, classified", "a new person, classified", "a new item, classified"),
    ],
)
def test_sentences_get_the_nouns(text, people, items):
    assert FACES.rename(text) == people
    assert ITEMS.rename(text) == items
    assert Nouns().rename(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "--classes", "(--n-classes)", "`classes=5`", "classes=5", "class_names", "class.npz",
        "runs/probe", '"class 1"', "'probe 7'", '"a ""class"" b"', "module:Class", "two-class",
    ],
)  # fmt: skip
def test_code_and_what_users_wrote_stays(text):
    assert FACES.rename(f"see {text}, please") == f"see {text}, please"


def test_names_to_keep_are_kept():
    assert FACES.rename("class 1.npz has 1 class", ["class 1.npz"]) == "class 1.npz has 1 person"


@given(st.text())
def test_a_name_is_never_changed_and_a_second_time_changes_nothing(name):
    shown = named(name)
    for nouns in (FACES, ITEMS):
        once = nouns.rename(f"{shown} beats a class, and so do 3 classes.")
        assert once.startswith(f"{shown} beats a")
        assert not leftovers(once.removeprefix(shown))
        assert nouns.rename(once) == once


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("box", "boxes"),
        ("city", "cities"),
        ("day", "days"),
        ("face", "faces"),
        ("class", "classes"),
    ],
)
def test_one_word_has_a_regular_plural(noun, many):
    assert Nouns.of(noun).class_many == many


@pytest.mark.parametrize(
    "noun",
    ["", " ", "/", "a/", "/b", "a/b/c", "a\nb", "a\x1b[31m", "7", "-x", 'a"b', "a`b", "x" * 41,
     "test class", "probe", "classes/class", 5],
)  # fmt: skip
def test_silly_nouns_are_refused(noun):
    with pytest.raises(ParameterError, match=r"\(--noun\).*\.$"):
        Nouns.of(noun)
    with pytest.raises(ParameterError, match="--probe-noun"):
        Pilot.from_losses([0, 1], 3).with_nouns(probe_noun=noun if noun != "probe" else "class")


def test_the_command_refuses_silly_nouns(file, refused):
    assert "person/people" in refused("forecast", file, "--classes", "9", "--noun", "a/b/c")
    assert "photo/photos" in refused("observe", file, "--probe-noun", "")


# -- the command line ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("forecast", "--classes", "20,200,90000", *QUICK),
        ("observe",),
        ("capacity", "--target", "0.9", "--target", "0.01", "--target", "1", *QUICK),
        ("backtest", "--method", "no-change", "--repeats", "2"),
        ("backtest", "--method", "no-change,pooled-fmr", "--repeats", "2"),
        ("plan", "--classes", "500", "--half-width", "0.03", "--method", "no-change"),
        ("gate", "--classes", "20,200", "--min", "0.3", "--method", "no-change"),
        ("risk", "--cost", "zero-one", "--classes", "100"),
    ],
)
def test_every_command_speaks_of_people(file, run, words):
    _, out, err = run(words[0], file, *words[1:], *OPTIONS)
    assert leftovers(out + err) == []
    assert re.search("people|person", out)


def test_a_comparison_speaks_of_people(file, run, tmp_path):
    other = tmp_path / "probe.npz"
    other.write_bytes(file.read_bytes())
    words = ("--classes", "100", "--method", "no-change", *OPTIONS)
    code, out, err = run("compare", file, other, *words)
    assert code == 0
    assert leftovers(out + err) == []
    assert '"probe": 40 people, 120 photos.' in out


def test_errors_speak_of_people_and_keep_names_of_files(tmp_path, refused):
    path = tmp_path / "class 1.npz"
    np.savez(path, scores=np.ones((2, 1)), labels=[0, 0])
    message = refused("forecast", path, "--classes", "9", *OPTIONS)
    assert leftovers(message.replace("class 1.npz", "")) == []
    missing = refused("forecast", tmp_path / "class 2.npz", "--classes", "9", *OPTIONS)
    assert "class 2.npz" in missing


def texts_of(held):
    """All texts in JSON, other than names."""
    if isinstance(held, str):
        return [held]
    inner = held.values() if isinstance(held, dict) else held if isinstance(held, list) else ()
    return [text for value in inner for text in texts_of(value)]


def test_data_keep_their_words_and_their_sentences_speak_of_people(file, run):
    sentences = []
    for words in (
        ("forecast", file, "--classes", "20,90000", *QUICK),
        ("observe", file),
        ("capacity", file, "--target", "0.9", *QUICK),
        ("gate", file, "--classes", "20", "--min", "0.3", "--method", "no-change"),
    ):
        plain, renamed = (run(*words, "--json", *more)[1] for more in ((), OPTIONS))
        sentences += texts_of(json.loads(renamed))
        words_apart = re.compile(r"people|person|photos?|class(?:es)?|probes?")
        assert words_apart.sub("", plain) == words_apart.sub("", renamed)
        assert json.loads(plain).keys() == json.loads(renamed).keys()
    assert any("90,000 people" in sentence for sentence in sentences)
    assert [sentence for sentence in sentences if leftovers(sentence)] == []
    table = ("forecast", file, "--classes", "20", *QUICK, "--csv")
    assert run(*table)[1] == run(*table, *OPTIONS)[1]


def test_a_build_server_reads_of_people(file, capsys, tmp_path):
    junit = tmp_path / "gate.xml"
    words = ["gate", str(file), "--classes", "200", "--min", "0.99", "--method", "no-change"]
    main([*words, *OPTIONS, "--github", "--junit", str(junit)])
    shown = capsys.readouterr().out + html.unescape(junit.read_text(encoding="utf-8"))
    assert leftovers(shown.replace("classname", "")) == []
    assert "200 people" in shown


# -- Python ----------------------------------------------------------------------------------------


def test_answers_carry_the_nouns(people, result, tested):
    texts = [repr(people), str(people.summary()), repr(result), *result.sentences(), repr(tested)]
    texts += [re.sub("<img.*?>", "", answer._repr_html_()) for answer in (people, result, tested)]
    for text in texts:
        assert leftovers(html.unescape(text)) == []
    assert "Among 200 people, " in repr(result)
    assert people.subset(NAMES[:20]).nouns == people.keep_probes([0, 1]).nouns == FACES


def test_pictures_in_words_speak_of_people(people, result, tested, closed_figures):
    found = headcount.compare({"a": people, "b": people}, 40, method="no-change")
    for answer in (result, tested, found):
        (words,) = re.findall('alt="(.*?)"', answer._repr_html_())
        assert "people" in words and leftovers(html.unescape(words)) == []


def test_a_keyword_of_forecast_is_enough():
    options = {"classes": 20, "method": "probit-normal", "intervals": False}
    result = headcount.forecast(make_pilot(), **options, noun="person/people", probe_noun="photo")
    assert "Among 20 people, " in repr(result)
    assert result.nouns == FACES
    assert headcount.forecast(make_pilot(), **options).nouns == Nouns()


@pytest.mark.parametrize("ask", ["forecast", "backtest"])
def test_a_class_of_python_is_no_person(people, ask):
    for method in (headcount.estimators.Kde, Unnamed()):
        with pytest.raises(ParameterError, match="`class") as caught:
            getattr(headcount, ask)(
                people, method=method, **({"classes": 50} if ask == "forecast" else {})
            )
        assert "person" not in str(caught.value)


def test_warnings_speak_of_people(people):
    with pytest.warns(headcount.ExtrapolationWarning, match=r"^90,000 people are .* 40,") as caught:
        result = headcount.forecast(people, classes=90_000, method="probit-normal", intervals=False)
    assert leftovers(str(caught[0].message)) == []
    assert "90,000 classes" in result.checks[-1].message  # as data it keeps its words


def test_the_nouns_survive_a_file(result, tested):
    again = Forecast.from_json(result.to_json())
    assert again.nouns == FACES
    assert repr(again) == repr(result)
    assert repr(Backtest.from_dict(json.loads(json.dumps(tested.to_dict())))) == repr(tested)


@pytest.mark.parametrize("held", [{"noun": "a/b/c", "probe_noun": "x"}, {"noun": "a"}, 5, "x"])
def test_nouns_of_a_bad_file_are_refused(result, held):
    stored = json.loads(result.to_json())
    stored["state"]["nouns"] = held
    with pytest.raises((DataError, ParameterError)):
        Forecast.from_json(json.dumps(stored))
    assert Forecast.from_json(json.dumps(stored | {"state": old(stored)})).nouns == Nouns()


def old(stored):
    """Return a state as it was before there were nouns."""
    return {name: value for name, value in stored["state"].items() if name != "nouns"}


def words_of(display, **options):
    ax = display.plot(**options).ax_
    legend = ax.get_legend()
    shown = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    return [ax.get_xlabel(), ax.get_ylabel(), *shown, *(text.get_text() for text in ax.texts)]


def test_pictures_speak_of_people(people, result, tested, closed_figures):
    displays = [
        CurveDisplay.from_forecast(result),
        CurveDisplay.from_pilot(people),
        CapacityDisplay.from_forecast(result, targets=[0.5, 0.9]),
        BacktestDisplay.from_backtest(tested),
        ClassesDisplay.from_pilot(people),
        ClassesDisplay.from_pilot(people, kind="hubs"),
        CMCDisplay.from_forecast(result, ranks=3),
        CMCDisplay.from_pilot(people, ranks=3),
        DiscriminabilityDisplay.from_pilot(people),
        DiscriminabilityDisplay.from_forecast(result),
        ReversedROCDisplay.from_pilot(people),
    ]
    for display in displays:
        words = words_of(display)
        assert [word for word in words if leftovers(word)] == []
        assert re.search("people|person|photo", " ".join(words))
    assert words_of(displays[3], error_rate=True)[1] == "error rate among 40 people"
    for curve in (CurveDisplay.from_forecast(result), displays[1]):
        assert "people" in words_of(curve)[0]
        assert "classes" in curve.frame()


def test_pictures_of_comparisons_speak_of_people(people, closed_figures):
    found = headcount.compare({"a": people, "b": people}, 40, method="no-change")
    assert leftovers(repr(found)) == []
    for display in (ComparisonDisplay, LeadDisplay):
        assert words_of(display.from_comparison(found))[0] == "people"


# -- the report ------------------------------------------------------------------------------------


def visible(page):
    """Return what stands on a page before its scripts run, names of the user's in quotes."""
    text = re.sub(r"<(script|style|pre).*?</\1>", "", page, flags=re.S)
    labels = re.findall(r'aria-label="(.*?)"', text)
    code = re.sub(r"<code.*?</code>", "", text, flags=re.S)
    return html.unescape(" ".join([*labels, re.sub("<[^>]*>", " ", code)]))


def test_a_report_speaks_of_people(result, tested, people, tmp_path):
    stored = Forecast.from_json(result.to_json())
    result.save(tmp_path / "made.html")
    stored.save(tmp_path / "stored.html")
    write_report(tmp_path / "tested.html", [tested], pilot=people, sources=["class 1.npz"])
    for path in tmp_path.glob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert leftovers(visible(page)) == [], path.name
        assert report_pages.embedded(page)["nouns"]["class_many"] == "people"
    page = (tmp_path / "made.html").read_text(encoding="utf-8")
    assert "Among 200 people, " in visible(page)
    assert "noun=&#39;person/people&#39;, probe_noun=&#39;photo/photos&#39;" in page


@report_pages.NEEDS_BROWSER
def test_what_the_page_writes_itself_speaks_of_people(browser, result, tmp_path):
    result.save(tmp_path / "page.html")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector(".drawing svg")
    for measure, start in (("value", "At 200 people: "), ("loss", "At 200 people, error rate")):
        page.check(f"#measure-{measure}")
        assert report_pages.shown(page, "answer-k").startswith(start)
        assert " people" in report_pages.shown(page, "answer-target")
        drawn = page.evaluate("document.querySelector('#curve').textContent")
        labels = page.evaluate("document.querySelector('#curve svg').getAttribute('aria-label')")
        assert "Number of people" in drawn and "against number of people" in labels
        assert leftovers(drawn + labels) == []
    page.close()


@report_pages.NEEDS_BROWSER
def test_what_the_page_of_a_back_test_writes_speaks_of_people(browser, tested, people, tmp_path):
    write_report(tmp_path / "page.html", [tested], pilot=people)
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector(".drawing svg")
    drawn = page.evaluate("document.querySelector('#backtest').textContent")
    labels = page.evaluate("document.querySelector('#backtest svg').getAttribute('aria-label')")
    assert "forecast for all people" in drawn and "of all people" in labels
    assert leftovers(drawn + labels + report_pages.shown(page, "answer-tolerance")) == []
    page.close()

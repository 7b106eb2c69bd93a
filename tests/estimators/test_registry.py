"""Names of methods: with options, one's own, and those that are none."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import headcount
from command_line import read_json
from headcount import ParameterError, Pilot, estimators, forecast, simulate
from headcount.estimators import METHODS, Extrapolator, Kde, NoChange, ProbitNormal, resolve
from headcount.estimators.registry import DEFAULT
from headcount.questions.risk import forecast_risk

OWN = '''
import numpy as np
from headcount.estimators import Extrapolator


class Straight(Extrapolator):
    """A straight line in log k."""

    alias = "straight"

    def __init__(self, *, slope=0.1):
        self.slope = slope

    def _estimate(self, pilot):
        return None

    def predict(self, k):
        return np.clip(1 - self.slope * np.log10(np.asarray(k, dtype=float)), 0, 1)


class Steep(Straight):
    alias = "steep"

    def __init__(self, *, slope):
        self.slope = slope


class Nameless(Straight):
    alias = ""


class Unfinished(Extrapolator):
    alias = "unfinished"


class Stranger:
    alias = "stranger"


number = 3
'''


@pytest.fixture
def own_modules(tmp_path, monkeypatch):
    """A module of the user's own in the current folder, which is on nobody's path."""
    home = tmp_path / "home"
    (home / "kept").mkdir(parents=True)
    (home / "mine.py").write_text(OWN)
    (home / "kept" / "mine.py").write_text(OWN)
    (home / "lacking.py").write_text("import nowhere_to_be_found")
    (home / "spoiled.py").write_text("def f(:")
    (home / "leaving.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != ""])
    known = set(sys.modules)
    yield home
    for name in set(sys.modules) - known:
        if name.split(".")[0] in ("mine", "kept", "lacking", "spoiled", "leaving"):
            del sys.modules[name]


# -- the list of methods ---------------------------------------------------------------------------


def test_every_method_is_on_the_list():
    """A class that can be fitted, in any file of the room, is one that can be asked for by name.

    But for those that are made around another method.
    """
    written = set()
    for module in pkgutil.walk_packages(estimators.__path__, "headcount.estimators."):
        things = vars(importlib.import_module(module.name)).values()
        written |= {
            thing
            for thing in things
            if isinstance(thing, type)
            and issubclass(thing, Extrapolator)
            and not inspect.isabstract(thing)
            and "method" not in inspect.signature(thing).parameters
        }
    assert written == set(METHODS.values())
    assert all(getattr(estimators, method.__name__) is method for method in written)
    assert {method.__name__ for method in written} < set(estimators.__all__) <= set(dir(estimators))
    assert {alias: method.alias for alias, method in METHODS.items()} == {a: a for a in METHODS}
    assert DEFAULT in METHODS
    with pytest.raises(AttributeError, match="has no attribute 'Nearest'"):
        _ = estimators.Nearest


@pytest.mark.parametrize(
    "code, absent",
    [
        ("import headcount.estimators", ("numba", "sklearn", "torch", "cvxpy")),
        ("from headcount.estimators import METHODS", ("torch", "cvxpy")),
        (
            "import numpy as np; from headcount import Pilot; from headcount.estimators import Auto; "
            "scores = np.random.default_rng(0).normal(size=(40, 40)) + 3 * np.eye(40); "
            "assert Auto().fit(Pilot.from_scores(scores, np.arange(40))).evidence_ == 'scores'",
            ("torch", "cvxpy"),
        ),
    ],
)
def test_what_is_not_asked_for_is_not_imported(code, absent):
    shown = f"{code}\nimport sys\nprint([name for name in {absent} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- names with options ----------------------------------------------------------------------------


def test_options_follow_a_name():
    assert resolve("kde:bandwidth=bcv").bandwidth == "bcv"
    assert resolve("probit-normal:prior_classes=1").prior_classes == 1
    both = resolve("cleanex:layers=(64,32):iterations=300")
    assert (both.layers, both.iterations) == ((64, 32), 300)
    assert resolve("regression:bandwidth=None").bandwidth is None


def test_a_seed_in_the_name_is_kept():
    assert resolve("regression", 3).random_state == 3
    assert resolve("regression:random_state=5", 3).random_state == 5


@pytest.mark.parametrize(
    "name, words",
    [
        ("probit-normal:colour=3", "probit-normal has no option 'colour'; it has: "),
        ("no-change:colour=3", "no-change has no option 'colour'; it has: none"),
        ("probit-normal:prior_classes=many", "prior_classes .* takes a number, not 'many'"),
        ("kde:bandwidth", "kde is followed by 'bandwidth', which is no option=value"),
        ("kde:Class", "kde is followed by 'Class', which is no option=value"),
        ("kde:bandwidth=bcv:bandwidth=ucv", "'bandwidth' twice"),
        ("probit-normal:prior_classes=" + "(" * 5000, "takes a number"),
        ("probit_normal", "did you mean probit-normal .names have hyphens.?"),
        ("probit_normal:prior_classes=1", "did you mean probit-normal"),
        ("ProbitNormal", "did you mean probit-normal?"),
        ("regresion", "did you mean regression?"),
        ("magic", "unknown method 'magic'; choose one of auto, .*score-tail, or package.module:Cl"),
        ("", "unknown method ''"),
        ("a b:C", "unknown method 'a b:C'"),
        ("mine:", "unknown method 'mine:'"),
    ],
)
def test_names_that_are_none_get_one_sentence(name, words):
    with pytest.raises(ParameterError, match=words) as refused:
        resolve(name)
    assert "\n" not in str(refused.value) and str(refused.value)[-1] in ".?"


def test_every_alias_is_a_name_with_hyphens():
    for alias in METHODS:
        assert "_" not in alias and ":" not in alias and "=" not in alias


# -- estimators ------------------------------------------------------------------------------------


class Modest(NoChange):
    def __init__(self, *, share=1.0):
        self.share = share + 1


class Nameless(Extrapolator):
    def _estimate(self, pilot):
        return None


@pytest.mark.parametrize(
    "method, words",
    [
        (ProbitNormal, r"ProbitNormal is a `class`; make an estimator of it: ProbitNormal\(\)"),
        (dict, r"dict is a `class`"),
        (np.array([1]), "derived from headcount.estimators.Extrapolator, but is of type ndarray"),
        (None, "but is of type NoneType"),
        (Nameless(), "`class Nameless` has no alias"),
        (Modest(), "Modest cannot be copied, as its constructor must .*only store"),
    ],
)
def test_what_is_no_estimator_gets_one_sentence(method, words):
    pilot = Pilot.from_losses([0, 1, 2], 10)
    with pytest.raises(ParameterError, match=words):
        forecast(pilot, classes=20, method=method)
    with pytest.raises(ParameterError, match=words):
        headcount.backtest(pilot, method=method)


# -- names in answers ------------------------------------------------------------------------------


def test_answers_carry_the_name_that_was_asked_for():
    pilot = simulate.isotropic_gaussian(20, sigma=0.5, random_state=1).pilot
    for method, name in (
        ("kde", "kde"),
        ("kde:bandwidth=bcv", "kde:bandwidth=bcv"),
        (Kde(bandwidth="bcv"), "kde:bandwidth=bcv"),
        (Kde(), "kde"),
    ):
        assert forecast(pilot, classes=40, method=method, intervals=False).method == name
        assert headcount.backtest(pilot, method=method, repeats=1).method == name
    priced = forecast_risk(pilot, "zero-one", 40, method="kde:bandwidth=bcv", intervals=False)
    assert priced.method == "priced-kde:bandwidth=bcv"


def test_a_report_names_options_and_tells_what_the_method_is(tmp_path, pilot, answer):
    words = ("forecast", pilot, "--classes", 40, "--method", "exponential:ridge=1e-6")
    answer(*words, "--no-intervals", "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Method exponential:ridge=1e-6" in page and METHODS["exponential"].about in page


# -- commands --------------------------------------------------------------------------------------

COMMANDS = {
    "forecast": ("--classes", 20, "--no-intervals"),
    "capacity": ("--target", 0.9, "--no-intervals"),
    "backtest": ("--repeats", 1),
    "compare": ("--classes", 20),
    "plan": ("--classes", 20, "--half-width", 0.3),
    "gate": ("--classes", 20, "--min", 0.01),
}


def methods_in(found):
    if isinstance(found, dict):
        for name, value in found.items():
            yield from [value] if name == "method" else methods_in(value)
    elif isinstance(found, list):
        for value in found:
            yield from methods_in(value)


@pytest.mark.parametrize("method", ["exp-003:as_printed=True", "mine:Straight:slope=0.2"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_options_and_own_classes(command, method, pilot, own_modules, run):
    others = [pilot] if command == "compare" else []
    named = ["--names", "a,b"] if command == "compare" else []
    words = [command, pilot, *others, *named, *COMMANDS[command], "--method", method, "--json"]
    code, out, err = run(*words)
    assert code == 0, err
    assert set(methods_in(read_json(out))) == {method}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_misspelled_method(command, pilot, refused):
    others = [pilot, "--names", "a,b"] if command == "compare" else []
    words = [command, pilot, *others, *COMMANDS[command], "--method", "no_change"]
    assert "did you mean no-change (names have hyphens)?" in refused(*words)


def test_an_own_method_says_what_it_says(pilot, own_modules, answer):
    words = ("forecast", pilot, "--classes", 1000, "--no-intervals", "--json", "--method")
    for name, expected in (("mine:Straight", 0.7), ("kept.mine:Steep:slope=0.2", 0.4)):
        found = read_json(answer(*words, name))
        assert found["forecast"][0]["value"] == pytest.approx(expected)
        assert found["method"] == name


@pytest.mark.parametrize(
    "name, words",
    [
        ("mine:Nothing", "mine has no 'Nothing'; check the spelling"),
        ("mine:Stranger", "Stranger in mine is no `class` derived from"),
        ("mine:number", "number in mine is no `class` derived from"),
        ("mine:steep", "did you mean Steep?"),
        ("mine:Nameless", "`class Nameless` has no alias"),
        ("mine:Unfinished", "cannot be made: Can't instantiate abstract class Unfinished"),
        ("mine:Steep", "cannot be made: Steep.__init__() missing"),
        ("mine:Straight:colour=2", "mine:Straight has no option 'colour'; it has: slope"),
        ("mine:Straight:slope=far", "option slope of method mine:Straight takes a number"),
        ("nowhere:Straight", "there is no module 'nowhere' here, nor a method of that name"),
        ("kept.nowhere:Straight", "there is no module 'kept.nowhere' here"),
        ("lacking:A", "cannot be imported (ModuleNotFoundError: No module named 'nowhere_to"),
        ("spoiled:A", "cannot be imported (SyntaxError: "),
        ("leaving:A", "cannot be imported (SystemExit: 0)"),
    ],
)
def test_own_methods_that_cannot_be_used_get_one_sentence(name, words, pilot, own_modules, refused):
    assert words in refused("forecast", pilot, "--classes", 1000, "--method", name)


def test_installed_modules_come_before_the_current_folder(own_modules, pilot, refused):
    """A file called as a module of others must not take its place."""
    (own_modules / "json.py").write_text(OWN)
    assert "json has no 'Straight'" in refused(
        "forecast", pilot, "--classes", 1000, "--method", "json:Straight"
    )

"""
Search as the collection grows: find the function
=================================================

Somebody, or an agent, describes a function in one line; a search engine has to find it. With 400
functions to choose from it does well. What will happen with all of them?

The collection is on your disk already: the documentation inside NumPy, SciPy, scikit-learn and
pandas. The query is the first line of a function's documentation, *Sort an array along the given
axis*; the document is the rest of it, **without** that line. The engine is TF-IDF.

Swap "function" for "document", "product" or "tool" and it is the question of everybody whose
search was fine in the pilot.

Run it with ``python examples/find_the_function.py``, or
``python examples/find_the_function.py picture.png`` to keep the picture.
"""

import importlib
import inspect
import pkgutil
import sys
import warnings
from importlib.util import find_spec

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import headcount

# %%
# The collection
# --------------
# It holds everything public that has a description and at least 200 letters below it: functions,
# classes and their methods. If two have the same description, nobody could tell which one is meant.
# If two share the text below, they are one document. In both cases only the first is kept.

PACKAGES = [name for name in ("numpy", "scipy", "sklearn", "pandas") if find_spec(name)]
INTERNAL = {"conftest", "core", "externals", "f2py", "formats", "testing", "tests", "testutils"}


def modules(package):
    """Yield a package and all its public modules."""
    waiting = [importlib.import_module(package)]
    while waiting:
        module = waiting.pop()
        yield module
        for found in pkgutil.iter_modules(getattr(module, "__path__", []), module.__name__ + "."):
            last = found.name.rpartition(".")[2]
            if last.startswith("_") or last in INTERNAL:
                continue
            try:
                waiting.append(importlib.import_module(found.name))
            except ImportError:  # it needs something that is not installed
                continue


def documented(module, package):
    """Yield what a module offers, by name: its functions, its classes and their methods."""
    for name in sorted(getattr(module, "__all__", vars(module))):
        thing = vars(module).get(name)
        home = getattr(thing, "__module__", None) or package
        if name.startswith("_") or not callable(thing) or not home.startswith(package):
            continue
        yield f"{module.__name__}.{name}", thing
        if inspect.isclass(thing):
            for method, value in inspect.getmembers(thing, callable):
                if not method.startswith("_"):
                    yield f"{module.__name__}.{name}.{method}", value


def split(text):
    """Return the description, on one line, and what follows without it."""
    first, _, rest = text.partition("\n\n")
    if first.endswith(")"):  # compiled functions begin with how they are called
        first, _, rest = rest.partition("\n\n")
    description = " ".join(first.split())
    return description, " ".join(rest.split()).replace(description, "")


def collect():
    """Return names, queries and documents."""
    found, texts = {}, set()
    for package in PACKAGES:
        for module in modules(package):
            for name, thing in documented(module, package):
                query, document = split(inspect.getdoc(thing) or "")
                if len(query.split()) < 3 or len(document) < 200:
                    continue
                if query not in found and document not in texts:
                    found[query] = name, document
                    texts.add(document)
    names, documents = zip(*found.values(), strict=True)
    return np.array(names), np.array(list(found)), np.array(documents, dtype=object)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of old modules, about their own future
    names, queries, documents = collect()
everything = len(names)
print(f"{everything:,} functions, for example")
for i in np.random.default_rng(0).choice(everything, 3, replace=False):
    print(f"  {names[i]}: {queries[i]}")

# %%
# The pilot
# ---------
# The pilot is 400 functions drawn at random, with an index of these alone. The index also learns
# from them which words are rare, as it would in a real pilot.


def search(chosen):
    """Return the pilot of an index of these functions, each looked for once."""
    engine = TfidfVectorizer(stop_words="english", sublinear_tf=True, dtype=np.float32)
    index = engine.fit_transform(documents[chosen])
    scores = engine.transform(queries[chosen]) @ index.T
    return headcount.Pilot.from_scores(
        scores.toarray(), names[chosen], class_names=names[chosen], higher_is_better=True
    )


drawn = np.random.default_rng(0).choice(everything, 400, replace=False)
pilot = search(drawn)
forecast = headcount.forecast(pilot, classes=[1000, everything])
print(forecast)

# %%
# Mind the warning: the back-test, which hid some of the 400 and forecast them, does not support a
# leap to twelve times as many. A careful person would give the interval rather than the number, and
# collect a larger pilot.
#
# What really happens
# -------------------

whole = search(np.arange(everything))
truth = headcount.observe(whole)
low, high = (float(limit) for limit in forecast.interval(everything))
said, came = float(forecast.accuracy(everything)), float(truth.accuracy(everything))
print(
    f"Right at once among 400:   measured {float(forecast.accuracy(400)):.0%}.\n"
    f"Right at once among {everything:,}: forecast {said:.0%} ({low:.0%} to {high:.0%}), "
    f"truth {came:.0%}.\n"
    f"Among the first ten:       forecast {float(forecast.top(10, everything)):.0%}, "
    f"truth {float(truth.top(10, everything)):.0%}."
)
print(f"The interval {'holds' if low <= came <= high else 'MISSES'} the truth.")

# %%
# In the pilot the engine finds two in three at once, in the whole collection one in three.
# Looking at ten results instead of one helps a lot. That is a reason to hand an agent a short list
# of tools rather than the best one.
#
# How far to trust it
# -------------------
# Other pilots tell how much of that was luck. Here are five more, without intervals.

others = []
for seed in range(1, 6):
    again = np.random.default_rng(seed).choice(everything, 400, replace=False)
    guess = headcount.forecast(search(again), classes=everything, intervals=False)
    others.append(float(guess.accuracy(everything)))
print("Five other pilots: " + ", ".join(f"{guess:.0%}" for guess in others) + f"; truth {came:.0%}")

# %%
# When this was written, all of them were too high, by one to eight points. Functions have close
# relatives (``is_quarter_start`` and ``is_quarter_end``; ``sort`` for arrays, series and frames). A
# query is often lost to one of these few and to nothing else. A random 400 hold few of the
# relatives, so such queries look safe in the pilot:

beaten_by = whole.losses
seldom = (beaten_by > 0) & (beaten_by * 400 < everything)
print(
    f"{(beaten_by > 0).mean():.0%} of all queries are lost. {seldom.mean():.0%} are lost to so few "
    f"documents that a pilot of 400 holds, on average, less than one of them."
)

# %%
# The picture
# -----------

picture = forecast.plot()
beyond = np.unique(np.geomspace(400, everything, 60).astype(int))
picture.ax_.plot(beyond, truth.accuracy(beyond), color="black", linewidth=1, label="truth")
picture.ax_.legend(frameon=False)
if len(sys.argv) > 1:
    picture.figure_.savefig(sys.argv[1], dpi=150)

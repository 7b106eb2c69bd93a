"""Names of the methods."""

from __future__ import annotations

import ast
import difflib
import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from sklearn.base import clone

from headcount import estimators
from headcount.errors import ParameterError
from headcount.estimators.base import Extrapolator
from headcount.support import lazy


def _listed() -> dict[str, type[Extrapolator]]:
    """Return the methods of the package's list by alias."""
    homes = lazy.read_homes(estimators.__file__)
    things = [
        getattr(import_module(home), name) for name, home in homes.items() if home != __name__
    ]
    kinds = [kind for kind in things if kind is not Extrapolator]
    return {kind.alias: kind for kind in kinds}


METHODS = _listed()
DEFAULT = "auto"
LONGEST = 120


def resolve(method: str | Extrapolator, random_state: int | None = None) -> Extrapolator:
    """Return an unfitted estimator for a name, or for an instance (cloned).

    What follows the first colon of a name is an option if it holds an equals sign, else a class of
    one's own in the module before it, which may lie in the current folder.

    Parameters
    ----------
    method : str or Extrapolator
        An alias of `METHODS`, ``"auto"`` being the default; ``"package.module:Class"``; either with
        options, ``":option=value"`` each; or an estimator with options of its own.
    random_state : int, optional
        Given to methods made from a name that draw random numbers, unless the name has it.

    Examples
    --------
    >>> resolve("kde:bandwidth=bcv")
    Kde(bandwidth='bcv')
    """
    if isinstance(method, str):
        return _from_name(method, random_state)
    if isinstance(method, type):
        raise ParameterError(
            f"method {method.__name__} is a `class`; make an estimator of it: {method.__name__}()."
        )
    if not isinstance(method, Extrapolator):
        raise ParameterError(
            "method must be a name or an estimator derived from headcount.estimators.Extrapolator, "
            f"but is of type {type(method).__name__}."
        )
    _check_alias(type(method))
    try:
        copy: Extrapolator = clone(method)
    except (TypeError, RuntimeError) as error:
        raise ParameterError(
            f"{type(method).__name__} cannot be copied, as its constructor must take options by "
            f"name and only store them ({_one_line(error)})."
        ) from error
    return copy


def resolve_all(names: Sequence[str] | None = None) -> dict[str, Extrapolator]:
    """Return estimators by name; by default all but the slow ones and the published variants.

    A name is what `resolve` takes, such as
    ``probit-normal:prior_classes=1``.

    Examples
    --------
    >>> resolve_all(["probit-normal:prior_classes=1"])
    {'probit-normal:prior_classes=1': ProbitNormal(prior_classes=1)}
    """
    if names is None:
        names = sorted(
            name for name, method in METHODS.items() if not (method.slow or method.published)
        )
    if not names:
        raise ParameterError("no method is named; leave --methods out for the usual ones.")
    if len(set(names)) < len(names):
        raise ParameterError("a method is named twice; name each once.")
    return {name: resolve(name) for name in names}


def name_of(method: str | Extrapolator) -> str:
    """Return what a method is called in answers: the name that was asked for.

    Of an estimator, its alias with the options that are not at their defaults.

    Examples
    --------
    >>> from headcount.estimators import Kde
    >>> name_of(Kde(bandwidth="bcv")), name_of(Kde()), name_of("kde")
    ('kde:bandwidth=bcv', 'kde', 'kde')
    """
    if isinstance(method, str):
        return method
    usual = {name: option.default for name, option in _options(type(method)).items()}
    changed = [
        f":{name}={_one_line(value)}"
        for name, value in method.get_params(deep=False).items()
        if name != "random_state" and repr(value) != repr(usual.get(name))
    ]
    return method.alias + "".join(changed)


def code_of(estimator: Extrapolator, name: str, random_state: int | None) -> str:
    """Return Python code that asks for an estimator: its name, or its class with its options.

    Examples
    --------
    >>> from headcount.estimators import Kde
    >>> code_of(Kde(), "kde", 0), code_of(Kde(bandwidth="bcv"), "kde:bandwidth=bcv", 0)
    ('"kde"', "headcount.estimators.Kde(bandwidth='bcv')")
    """
    usual = METHODS.get(estimator.alias)
    if usual is type(estimator):
        if repr(estimator) == repr(resolve(estimator.alias, random_state)):
            return f'"{name}"'
        home = "headcount.estimators"
    else:
        home = type(estimator).__module__
    return f"{home}.{' '.join(repr(estimator).split())}"


def describe_method(name: str) -> str:
    """Return what a registered method does and when to use it; nothing for one of your own.

    Examples
    --------
    >>> from headcount.estimators import Kde
    >>> describe_method("kde:bandwidth=bcv") == f"{Kde.about}; {Kde.advice}"
    True
    """
    method = METHODS.get(name.split(":")[0])
    return "" if method is None else f"{method.about}; {method.advice}"


def _from_name(name: str, random_state: int | None) -> Extrapolator:
    base, *texts = name.split(":")
    if base in METHODS:
        kind = METHODS[base]
    elif texts and "=" not in texts[0]:
        kind = _own_class(base, texts[0])
        base, texts = f"{base}:{texts[0]}", texts[1:]
    else:
        raise _unknown(base)
    options: dict[str, Any] = {}
    for text in texts:
        option, value = _option(kind, base, text)
        if option in options:
            raise ParameterError(f"method {name} has option {option!r} twice; give it once.")
        options[option] = value
    if random_state is not None and "random_state" in _options(kind):
        options = {"random_state": random_state} | options
    try:
        return kind(**options)
    except TypeError as error:
        raise ParameterError(f"method {name} cannot be made: {_one_line(error)}.") from error


def _option(kind: type[Extrapolator], base: str, text: str) -> tuple[str, Any]:
    """Return name and value of an option; what is no Python literal is a word."""
    option, equals, word = text.partition("=")
    accepted = _options(kind)
    if not equals:
        raise ParameterError(f"method {base} is followed by {text!r}, which is no option=value.")
    if option not in accepted:
        names = ", ".join(sorted(accepted)) or "none"
        raise ParameterError(f"method {base} has no option {option!r}; it has: {names}.")
    try:
        value = ast.literal_eval(word)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = word
    usual = accepted[option].default
    for kind_of_value, words in ((bool, "True or False"), (int | float, "a number")):
        if isinstance(usual, kind_of_value):
            if not isinstance(value, kind_of_value):
                raise ParameterError(
                    f"option {option} of method {base} takes {words}, not {word!r:.40}."
                )
            break
    return option, value


def _options(kind: type[Extrapolator]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(kind).parameters


def _own_class(module: str, name: str) -> type[Extrapolator]:
    """Import a class of the user's own; the current folder is looked into last."""
    whole = f"{module}:{name}"
    if not all(word.isidentifier() for word in (*module.split("."), name)):
        raise _unknown(whole)
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # for good: workers of a back-test must find it, too
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            raise ParameterError(
                f"method {whole}: there is no module {error.name!r} here, nor a method of that "
                "name; check the spelling, and write options as name:option=value."
            ) from error
        raise _broken(whole, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(whole, error) from error
    kind = getattr(imported, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Extrapolator)):
        raise ParameterError(
            f"method {whole}: {name} in {module} is no `class` derived from "
            "headcount.estimators.Extrapolator."
            if hasattr(imported, name)
            else f"method {whole}: {module} has no {name!r}; {_nearest_class(imported, name)}"
        )
    _check_alias(kind)
    return kind


def _nearest_class(module: ModuleType, name: str) -> str:
    kinds = {kind.lower(): kind for kind, value in vars(module).items() if isinstance(value, type)}
    near = difflib.get_close_matches(name.lower(), kinds, n=1)
    return f"did you mean {kinds[near[0]]}?" if near else "check the spelling."


def _check_alias(kind: type[Extrapolator]) -> None:
    alias = getattr(kind, "alias", None)
    if not isinstance(alias, str) or not alias:
        raise ParameterError(
            f"`class {kind.__name__}` has no alias to call it by in answers; give it one, such as "
            'alias = "my-method".'
        )


def _broken(whole: str, error: BaseException) -> ParameterError:
    return ParameterError(
        f"method {whole}: its module cannot be imported "
        f"({type(error).__name__}: {_one_line(error)}); repair it."
    )


def _unknown(name: str) -> ParameterError:
    """Return the error about a name that is none, with the nearest that is one."""
    wanted = name.lower().replace("_", "-")
    near = difflib.get_close_matches(wanted, METHODS, n=1)
    if not near:
        names = ", ".join(sorted(METHODS))
        return ParameterError(
            f"unknown method {name!r:.60}; choose one of {names}, or package.module:Class for your "
            "own."
        )
    hint = " (names have hyphens)" if "_" in name and wanted == near[0] else ""
    return ParameterError(f"unknown method {name!r:.60}; did you mean {near[0]}{hint}?")


def _one_line(value: Any) -> str:
    text = " ".join(str(value).split()).rstrip(".")
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."

"""Forecasts as JSON, written whole and read with suspicion."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount import arrays
from headcount.asking import asked_classes, whole_count
from headcount.backtest_result import Backtest
from headcount.checks import Check
from headcount.curves import PredictedCurve
from headcount.errors import DataError, HeadcountError
from headcount.favorability import Favorability
from headcount.losses import LossRows, LossTable
from headcount.observed import Observed
from headcount.uncertainty import Uncertainty
from headcount.wording import Nouns

SCHEMA = 1
# Codes that the first version wrote.
RENAMED = {"gap-at-pilot": "HC010"}


def write_forecast(
    answers: dict[str, Any],
    classes: Sequence[int],
    observed: Observed,
    law: Favorability | PredictedCurve,
    rest: dict[str, Any],
) -> str:
    """Return the answers together with all that is needed to answer any other question."""
    table = observed.table
    state = {
        "classes": list(classes),
        "n_rivals": table.n_rivals,
        "losses": table.losses.tolist(),
        "weights": table.weights.tolist(),
        "censored": table.censored.tolist(),
    }
    if table.bounds is not None:
        state["bounds"] = [[values.tolist() for values in rows] for rows in table.bounds]
    if isinstance(law, Favorability):
        state |= {"p": law.p.tolist(), "mass": law.weights.tolist()}
    else:
        state |= {"ladder": law.classes.tolist(), "accuracy": law.values.tolist()}
    return json.dumps(answers | {"state": state | rest}, allow_nan=False)


def read_forecast(text: str) -> dict[str, Any]:
    """Return what a `Forecast` is made of; refuse what `write_forecast` cannot have written."""
    try:
        held = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
        json.dumps(held, ensure_ascii=False).encode()  # halves of characters cannot be written
        if held["schema"] != SCHEMA or isinstance(held["schema"], bool):
            raise DataError(
                f"this forecast has schema {held['schema']!r:.40}; this version reads {SCHEMA}."
            )
        state = held["state"]
        return {
            "observed": Observed(_table(state)),
            "law": _law(state),
            "classes": asked_classes(_list(state["classes"])),
            "n_probes": whole_count(held["n_probes"], "n_probes"),
            "method": _text(held["method"]),
            "confidence": arrays.confidence_level(held["confidence"]),
            "checks": tuple(_check(check) for check in _list(held["checks"])),
            "warnings": tuple(_text(warning) for warning in _list(held["warnings"])),
            "backtest": _held(state, "backtest", Backtest.from_dict),
            "uncertainty": _held(state, "uncertainty", Uncertainty.from_dict),
            "nouns": Nouns.from_dict(state.get("nouns")),
        }
    except DataError:
        raise
    except HeadcountError as error:
        raise DataError(f"this forecast cannot be read: {error}") from error
    except RecursionError as error:
        raise DataError(
            "this is not a forecast written by to_json: it is nested too deeply; write it again."
        ) from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(
            f"this is not a forecast written by to_json: {arrays.short(str(error), 120)}; write it "
            "again."
        ) from error


def _held(state: dict[str, Any], name: str, read: Callable[[Any], Any]) -> Any:
    """Return a part that may be missing, refused if it is of another pilot."""
    if state.get(name) is None:
        return None
    part = read(state[name])
    if part.n_classes != state["n_rivals"] + 1:
        raise DataError(
            f"the {name} of this forecast is of {part.n_classes:,} classes, not of "
            f"{state['n_rivals'] + 1:,}."
        )
    return part


def _law(state: dict[str, Any]) -> Favorability | PredictedCurve:
    if "ladder" in state:
        return PredictedCurve(state["ladder"], state["accuracy"])
    return Favorability(state["p"], state["mass"])


def _table(state: dict[str, Any]) -> LossTable:
    n_rivals = whole_count(state["n_rivals"], "n_rivals")
    losses, weights = _loss_rows(state["losses"], state["weights"], n_rivals)
    censored = arrays.as_flags(state["censored"], "censored")
    arrays.same_length(censored, "censored", len(losses), "losses")
    bounds = None
    if "bounds" in state:
        fewest, most = [_loss_rows(at, share, n_rivals) for at, share in state["bounds"]]
        bounds = fewest, most
    return LossTable(losses, weights, censored, n_rivals, bounds)


def _loss_rows(losses: Any, weights: Any, n_rivals: int) -> LossRows:
    counts = arrays.as_counts(losses, "losses")
    shares: NDArray[np.float64] = np.asarray(weights, dtype=np.float64)
    sound = (
        counts.shape == shares.shape
        and len(counts) > 0
        and counts.max() <= n_rivals
        and bool((shares >= 0).all())
        and abs(float(shares.sum()) - 1) < 1e-6
    )
    if not sound:
        raise DataError("the losses and weights of this forecast do not fit together.")
    return counts, shares


def _check(held: dict[str, Any]) -> Check:
    parts = {name: _text(value) for name, value in held.items()}
    return Check(**parts | {"code": RENAMED.get(parts["code"], parts["code"])})


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DataError(f"a list was expected, but found {value!r:.40}.")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"text was expected, but found {value!r:.40}.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return arrays.once_each(pairs, "this forecast")


def _refuse_constant(name: str) -> Any:
    raise DataError(f"a forecast must not hold {name}; write it again with to_json.")

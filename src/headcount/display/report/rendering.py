"""Contents -> the text of one HTML page, with everything inside it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from headcount.display.report.contents import Contents
from headcount.errors import MissingExtraError

if TYPE_CHECKING:
    from jinja2 import Environment

SCRIPTS = ("charts.min.js", "numbers.js", "rows.js", "charts.js", "downloads.js", "page.js")
STYLE = "style.css"
# What would end the data or start something else if it stood in HTML as it is.
WILD = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


@cache
def load_templates() -> Environment:
    """Return the templates, everything put into them escaped; needs the extra `report`."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
    except ImportError as error:
        raise MissingExtraError("an HTML report", "report") from error
    templates = Environment(
        loader=PackageLoader("headcount.display.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["ours"] = pass_context(ours)
    templates.filters["with_code"] = with_code
    templates.filters["unbroken"] = unbroken
    return templates


def render(contents: Contents) -> str:
    """Return the page."""
    scripts = [_asset(name) for name in SCRIPTS]
    return (
        load_templates()
        .get_template("page.html.j2")
        .render(
            page=contents,
            style=_asset(STYLE),
            scripts=scripts,
            hashes=[_hash(script) for script in scripts],
            data=as_json_in_html(contents.data | _shared(contents)),
        )
    )


def _shared(contents: Contents) -> dict[str, Any]:
    """Return data that every kind of page holds."""
    texts = {name: getattr(contents, name) for name in ("heading", "note", "date")}
    return texts | {"nouns": asdict(contents.nouns)}


def as_json_in_html(data: Any) -> str:
    r"""Return plain data as JSON that can stand inside a script element.

    Examples
    --------
    >>> as_json_in_html({"name": "</script>"})
    '{"name": "\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, allow_nan=False)
    return "".join(WILD.get(character, character) for character in text)


def ours(context: Any, text: str) -> str:
    """Return one of our own texts in the nouns of the page."""
    return str(context["page"].nouns.rename(text))


def with_code(text: str) -> Any:
    """Return text of ours with what stands between backticks as code, all else escaped.

    Backticks inside quotes belong to a name. Never for text with bare names from files in it.
    """
    from markupsafe import Markup, escape

    pieces = re.split(r'("(?:[^"]|"")*"|`[^`]*`)', text)
    code = Markup("<code>{}</code>")
    return Markup("").join(
        code.format(piece[1:-1]) if piece.startswith("`") and piece.endswith("`") else escape(piece)
        for piece in pieces
    )


def unbroken(text: str) -> Any:
    """Return text whose short brackets, such as (66-75%), are not broken over lines."""
    from markupsafe import Markup, escape

    pieces = re.split(r"(\([^()]{1,40}\))", text)  # every second one is in brackets
    whole = Markup('<span class="unbroken">{}</span>')
    return Markup("").join(
        whole.format(piece) if i % 2 else escape(piece) for i, piece in enumerate(pieces)
    )


def _asset(name: str) -> str:
    return files("headcount.display.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Return what lets the page's own scripts run, and no others."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

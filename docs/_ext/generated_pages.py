"""Pages that follow from the code, so that they cannot go stale: methods, commands, interface."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import headcount
from headcount.estimators import METHODS, Extrapolator
from headcount.estimators.registry import DEFAULT

DOCS = Path(__file__).parent.parent
MODULES = ("datasets", "loading", "metrics", "plots", "report", "risk", "simulate", "theory")


def page(title: str, *parts: str) -> str:
    """Return a page of Markdown."""
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def contents(names: Iterable[str], *options: str) -> str:
    """Return the table of contents that puts pages into the menu."""
    return "\n".join(["```{toctree}", *options, "", *names, "```"])


def documented(thing: Any, name: str) -> str:
    """Return the directive that sets the docstring of a class or function."""
    kind = "autoclass" if inspect.isclass(thing) else "autofunction"
    members = "\n   :members:" if kind == "autoclass" else ""
    return f"```{{eval-rst}}\n.. {kind}:: {name}{members}\n```"


def first_sentence(thing: Any) -> str:
    """Return what a thing is, from the first line of its docstring."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


# -- methods ------------------------------------------------------------------------------------


def method_pages() -> dict[str, str]:
    """One page for each method of the registry, and a table of them."""
    lines = ["| method | what it does | needs | cost | when |", "| --- | --- | --- | --- | --- |"]
    pages = {}
    for alias, method in sorted(METHODS.items(), key=lambda held: (held[0] != DEFAULT, held[0])):
        said = (method.about, method.needs, method.cost, method.advice)
        lines.append(f"| [`{alias}`]({alias}.md) | " + " | ".join(said) + " |")
        pages[f"methods/{alias}"] = method_page(method)
    intro = (
        "Each estimates the law of favorability from a pilot (see [concepts](../../concepts.md)), "
        f"and all else follows from that. Without a choice you get `{DEFAULT}`. Choose another "
        'with `headcount.forecast(..., method="kde")` or `--method kde`; options follow the name, '
        "as in `kde:bandwidth=bcv`. `headcount backtest --method kde,auto` tells which does best "
        "on your own classes."
    )
    contract = documented(Extrapolator, "headcount.estimators.Extrapolator")
    order = contents((name.split("/")[1] for name in pages), ":hidden:")
    own = (
        "## A method of your own\n\n[How to write and run one](../../own-method.md). What a method "
        "has to offer:"
    )
    pages["methods/index"] = page("Methods", intro, "\n".join(lines), own, contract, order)
    return pages


def method_page(method: type[Extrapolator]) -> str:
    """Return the page of one method."""
    facts = [
        f"- **What it does:** {method.about}",
        f"- **Needs:** {method.needs}" + ("; scores if there are any" * method.uses_scores),
        f"- **Lists that were cut off:** {'yes' if method.takes_censored else 'refused'}",
        f"- **Cost:** {method.cost}",
        f"- **When:** {method.advice}",
    ]
    if (DOCS / f"{method.alias}.md").exists():
        facts.append(f"- **More:** [a page of its own](../../{method.alias}.md)")
    name = f"headcount.estimators.{method.__name__}"
    return page(f"`{method.alias}`", "\n".join(facts), documented(method, name))


# -- commands -----------------------------------------------------------------------------------


def command_pages() -> dict[str, str]:
    """Return the page of the command line, as typer itself writes it."""
    command = [sys.executable, "-m", "typer", "headcount.cli.app", "utils", "docs", "--name"]
    text = subprocess.run([*command, "headcount"], capture_output=True, text=True, check=True)
    return {"cli": readable(text.stdout)}


COMMAND = re.compile(r"^headcount .+?$(?=\n\n)", re.M | re.S)  # a paragraph that is a command
ENTRY = re.compile(r"^\* `([\w-]+)`: .*$", re.M)  # of a list of commands, cut short by typer
HEADING = re.compile(r"^#+ `(headcount[\w -]*)`\n", re.M)


def readable(text: str) -> str:
    """Return typer's page with whole sentences in its lists and examples set as commands."""
    before, *parts = HEADING.split(text.replace("&#x27;", "'"))
    names, sections = parts[::2], parts[1::2]
    sentences = {
        name: " ".join(section.strip().split("\n\n")[0].split())
        for name, section in zip(names, sections, strict=True)
    }
    done = [before]
    for name, section in zip(names, sections, strict=True):
        level = len(name.split())
        title = f"{'#' * level} `{name}`" if level > 1 else "# Commands"
        about, listed, rest = section.partition("**Commands**:\n")
        about = COMMAND.sub(lambda found: console(found[0]), about)
        rest = ENTRY.sub(lambda found, group=name: entry(group, found[1], sentences), rest)
        done.append(f"{title}\n{about}{listed}{rest}")
    return "".join(done)


def entry(group: str, name: str, sentences: dict[str, str]) -> str:
    """Return one line of a list of commands."""
    whole = f"{group} {name}"
    return f"* [`{name}`](#{whole.replace(' ', '-')}): {sentences[whole]}"


def console(command: str) -> str:
    """Return a command as it is typed."""
    return "```console\n$ " + command.replace("\n", " ") + "\n```"


# -- interface ----------------------------------------------------------------------------------


def interface_pages() -> dict[str, str]:
    """One page for each public class and function, one for the errors, one for each module."""
    public = {name: getattr(headcount, name) for name in headcount.__all__ if name[0] != "_"}
    public = {name: thing for name, thing in public.items() if not inspect.ismodule(thing)}
    errors = {
        name: thing
        for name, thing in public.items()
        if inspect.isclass(thing) and issubclass(thing, Exception)
    }
    pages, lines = {}, ["| name | what it is |", "| --- | --- |"]
    for name in sorted(public.keys() - errors.keys(), key=str.lower):
        # Forecast and forecast are one file where the letters' case does not count.
        file = f"{name}-class" if inspect.isclass(public[name]) else name
        pages[f"api/{file}"] = page(f"`{name}`", documented(public[name], f"headcount.{name}"))
        lines.append(f"| [`{name}`]({file}.md) | {first_sentence(public[name])} |")
    for name in MODULES:
        module = getattr(headcount, name)
        pages[f"api/{name}"] = module_page(module, public)
        lines.append(f"| [`headcount.{name}`]({name}.md) | {first_sentence(module)} |")
    listed = "\n\n".join(documented(errors[name], f"headcount.{name}") for name in sorted(errors))
    pages["api/errors"] = page("Errors and warnings", listed)
    lines.append("| [errors](errors.md) | What is raised, and what is warned about |")
    order = contents((name.split("/")[1] for name in pages), ":hidden:")
    intro = "Everything below is imported on first use: `import headcount` is quick."
    pages["api/index"] = page("Python interface", intro, "\n".join(lines), order)
    return pages


def module_page(module: ModuleType, elsewhere: dict[str, Any]) -> str:
    """Return the page of a module: what it offers that has no page of its own."""
    names = getattr(module, "__all__", None) or [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]
    things = {name: getattr(module, name) for name in names if name not in elsewhere}
    parts = [
        documented(thing, f"{module.__name__}.{name}")
        for name, thing in things.items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    ]
    return page(f"`{module.__name__}`", first_sentence(module), *parts)


# -- results ------------------------------------------------------------------------------------


def result_pages() -> dict[str, str]:
    """Return the page on benchmarks, kept beside their results."""
    text = (DOCS.parent / "experiments/results/README.md").read_text(encoding="utf-8")
    return {"results": text.replace("](../../docs/", "](../")}


def _lead_inside(app: Any, name: str, source: list[str]) -> None:
    """Turn links to files of the repository into links to the pages made of them."""
    source[0] = source[0].replace("](../experiments/results/README.md)", "](generated/results.md)")


def _write(app: Any) -> None:
    folder = DOCS / "generated"
    pages = method_pages() | command_pages() | interface_pages() | result_pages()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for kind in ("methods", "api"):  # what the code no longer has
        for path in (folder / kind).glob("*.md"):
            if f"{kind}/{path.stem}" not in pages:
                path.unlink()


def _skip(app: Any, kind: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator and says nothing about it."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", _write)
    app.connect("autodoc-skip-member", _skip)
    app.connect("source-read", _lead_inside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

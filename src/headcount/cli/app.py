"""The command line: one sub-command per question."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from headcount import __version__
from headcount.cli import terminal
from headcount.cli.adaptation import adaptation
from headcount.cli.backtest import backtest
from headcount.cli.capacity import capacity
from headcount.cli.compare import compare
from headcount.cli.demo import demo
from headcount.cli.forecast import forecast
from headcount.cli.gate import gate
from headcount.cli.methods import methods
from headcount.cli.observe import observe
from headcount.cli.plan import plan
from headcount.cli.risk import risk
from headcount.errors import HeadcountError

NO_ANSWER, INTERRUPTED, UNREAD = 2, 130, 141
TRACEBACK = "HEADCOUNT_TRACEBACK"
_signals: list[int] = []  # that were sent to end the program

app = typer.Typer(
    name="headcount",
    help="How well will your recogniser do when there are many more classes?",
    epilog="Start with: headcount demo",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Forecast how well a recogniser will do when there are many more classes."""
    if version:
        terminal.say(f"headcount {__version__}")
        raise typer.Exit


app.command()(forecast)
app.command()(observe)
app.command()(capacity)
app.command()(backtest)
app.command()(compare)
app.command()(adaptation)
app.command()(plan)
app.command()(gate)
app.command()(risk)
app.command()(methods)
app.command()(demo)


def main(argv: list[str] | None = None, commands: typer.Typer = app) -> int:
    """Run a command line and return its exit code.

    0 done, 1 the gate found it not good enough and nothing else, 2 no answer (bad input, an output
    that cannot be written, a mistake of ours), 130 interrupted, 141 nobody reads the answer any
    more: what a shell says of any program that a closed pipe has stopped.
    """
    try:
        with terminal.spoken_warnings():
            code = commands(args=argv, prog_name=commands.info.name, standalone_mode=False)
        terminal.put("", flush=True)  # an answer that cannot be printed is none
        return int(code or 0)
    except (typer.Abort, KeyboardInterrupt):
        terminal.complain("error", "interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        return UNREAD
    except SystemExit as error:
        # How rich ends where its reader has gone (help, for one): with the code of a failed gate.
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return UNREAD
    except Exception as error:
        # Compiled code that a signal interrupts may make an error of its own out of it.
        ended = 128 + _signals[0] if _signals else 0
        return ended or _failed(error, str(commands.info.name))
    finally:
        terminal.settle(sys.stdout)


def run(commands: typer.Typer = app) -> None:
    """Entry point of the `headcount` command, and of others that behave alike."""
    if sys.stderr is None:  # closed, and the next file opened would be in its place
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        terminal.complain("error", "stdout is closed, so no answer can be printed; open it.")
        sys.exit(NO_ANSWER)
    # As Python does on stderr: what a terminal cannot show must not cost the answer.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    for number in _endings():
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _unwind)
    sys.exit(main(commands=commands))


def _endings() -> list[signal.Signals]:
    """Return the signals that end a program at once, of those that this system has."""
    return [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def _unwind(number: int, _: object) -> None:
    """End the program as an error would, so that it tidies up; a second signal must not disturb."""
    _signals.append(number)
    # Systems often send several kinds in a row. SIG_IGN would be told of where one waits already.
    for kind in (*_endings(), signal.SIGINT):
        signal.signal(kind, lambda *_: None)
    sys.exit(128 + number)


def _failed(error: Exception, name: str) -> int:
    """Say in one sentence what went wrong, whatever it was, and return the exit code."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    if hasattr(error, "format_message"):  # Typer's own: a missing option, an unknown command
        message = str(error.format_message()).strip().rstrip(".")
        if not message:  # no command at all: the help has been printed
            return 0
        terminal.complain("error", f"{message}; see {name} --help.")
    elif isinstance(error, HeadcountError):
        terminal.complain("error", str(error))
    elif isinstance(error, OSError):
        where = f" ({Path(error.filename).name})" if isinstance(error.filename, str) else ""
        terminal.complain("error", f"the system says: {error.strerror or error}{where}.")
    elif isinstance(error, MemoryError):
        terminal.complain("error", f"there is not enough memory for this ({error}).")
    else:
        terminal.complain(
            "error",
            f"this is a mistake in headcount ({type(error).__name__}: {error}); "
            f"set {TRACEBACK}=1 to see where, and report it.",
        )
    return NO_ANSWER

"""`headcount methods`: the forecasting methods there are."""

from __future__ import annotations

from headcount.cli import terminal


def methods() -> None:
    """List the forecasting methods: what each needs, what it costs, and when to use it."""
    from headcount.estimators.registry import DEFAULT, METHODS

    for alias, method in sorted(METHODS.items()):
        default = " (the default)" if alias == DEFAULT else ""
        terminal.say(f"{alias}{default}: {method.about}")
        terminal.say(f"    needs {method.needs}; {method.cost}")
        terminal.say(f"    {method.advice}")

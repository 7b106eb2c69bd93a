"""What a file cannot say about itself, and whether anybody listened."""

from __future__ import annotations

from typing import Any

from headcount.errors import ParameterError

COMMON = ("average", "tie_rule")


class Options:
    """Options given beside a file; one that the file's kind has no use for is refused."""

    def __init__(self, **given: Any) -> None:
        self._given = {name: value for name, value in given.items() if value is not None}
        self._taken: set[str] = set()

    def take(self, name: str, default: Any = None) -> Any:
        """Return an option and mark it as used."""
        self._taken.add(name)
        return self._given.get(name, default)

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self._given

    def pick(self, *names: str) -> dict[str, Any]:
        """Return the options of these names that were given, as keyword arguments."""
        self._taken.update(names)
        return {name: self._given[name] for name in names if name in self._given}

    def refuse_unused(self, kind: str) -> None:
        """Refuse options that had no effect."""
        unused = sorted(set(self._given) - self._taken)
        if unused:
            flags = ", ".join(self._flag(name) for name in unused)
            raise ParameterError(f"{flags} has no meaning for {kind}; leave it out.")

    def _flag(self, name: str) -> str:
        """Return an option as it is written on the command line."""
        if name == "higher_is_better" and not self._given[name]:
            name = "lower_is_better"
        return "--" + name.replace("_", "-")

"""What a file cannot say about itself, and whether anybody listened."""

from __future__ import annotations

from typing import Any

from headcount.errors import ParameterError

COMMON = ("average", "tie_rule")


class Options:
    """Options given beside a file; one that the file's kind has no use for is refused."""

    def __init__(self, **options: Any) -> None:
        self._values = {name: value for name, value in options.items() if value is not None}
        self._used: set[str] = set()

    def take(self, name: str, default: Any = None) -> Any:
        """Return an option and mark it as used."""
        self._used.add(name)
        return self._values.get(name, default)

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self._values

    def pick(self, *names: str) -> dict[str, Any]:
        """Return the options of these names that were given, as keyword arguments."""
        self._used.update(names)
        return {name: self._values[name] for name in names if name in self._values}

    def refuse_unused(self, kind: str) -> None:
        """Refuse options that had no effect."""
        unused = sorted(set(self._values) - self._used)
        if unused:
            flags = ", ".join(self._flag(name) for name in unused)
            raise ParameterError(f"{flags} has no meaning for {kind}; leave it out.")

    def _flag(self, name: str) -> str:
        """Return an option as it is written on the command line."""
        if name == "higher_is_better" and not self._values[name]:
            name = "lower_is_better"
        return "--" + name.replace("_", "-")

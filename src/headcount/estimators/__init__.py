"""Methods that learn the law of favorability from a pilot, one a file.

They are listed once, in `__init__.pyi`. These names are public, all else is internal.
"""

from headcount.support import lazy

_homes = lazy.read_homes(__file__)
__all__ = [*_homes]
__getattr__, __dir__ = lazy.load_on_first_use(globals(), _homes)

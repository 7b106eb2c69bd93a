"""Forecast how well a recogniser will do when there are many more classes.

Measured on a pilot of K classes, forecast at k >> K:

>>> import headcount
>>> pilot = headcount.datasets.load_hangul().subset([chr(0xAC00 + 22 * i) for i in range(500)])
>>> print(headcount.forecast(pilot, classes=1000).sentences()[0])
At 1,000 classes: 87% (90% interval 84-89%).
"""

from __future__ import annotations

from headcount.support import lazy

__version__ = "0.1.0"

_homes = lazy.read_homes(__file__)
__all__ = ["__version__", *_homes]
__getattr__, __dir__ = lazy.load_on_first_use(globals(), _homes)

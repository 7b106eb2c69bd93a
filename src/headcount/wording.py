"""Numbers as people read them, and text from files made safe to print."""

from __future__ import annotations

import math
import unicodedata

ROUND_OFF = 1e-12  # a sum of weights may miss 0 or 1 by so much
MOST_DIGITS = 8
# What is nearer to 0% or 100% than one in 10^8 is said in words; in an interval, than a thousandth
# of its width.
FINEST, FINE = 8, 3


def percent(value: float, beside: float | None = None) -> str:
    """Return a share in per cent, with digits only where they tell something.

    What is left to 0% or 100%, whichever is nearer, has two significant digits: between 98.3% and
    97.5% lies half as much error again, between 71.3% and 70.9% next to nothing.

    Parameters
    ----------
    value : float
        The share.
    beside : float, optional
        A share that stands beside it: digits are written until the two can be told apart, and none
        that are nothing beside the difference.

    Examples
    --------
    >>> [percent(x) for x in (0.70931, 0.9, 0.983, 0.99936, 0.0025, 1.0, 0.0)]
    ['71%', '90%', '98.3%', '99.936%', '0.25%', '100%', '0%']
    >>> percent(0.7994, beside=0.8), percent(0.8, beside=0.7994)
    ('79.9%', '80.0%')
    """
    edge = min(value, 1 - value)
    if edge < ROUND_OFF:
        return f"{value:.0%}"
    apart = 0.0 if beside is None else abs(value - beside)
    power = FINEST if apart == 0 else min(FINEST, math.ceil(-math.log10(apart)) + FINE)
    if edge < 10.0**-power:
        least = 10.0 ** (2 - power)
        word, near = ("under", least) if value < 0.5 else ("over", 100 - least)
        return f"{word} {near:.{power - 2}f}%"
    power = int(f"{100 * edge:.1e}".partition("e")[2])
    digits = enough = max(0, 1 - power)
    if apart > 0:
        while digits < MOST_DIGITS and f"{value:.{digits}%}" == f"{beside:.{digits}%}":
            digits += 1
    text = f"{100 * value:.{digits}f}"
    if 0 < digits == enough:
        text = text.rstrip("0").rstrip(".")
    return f"{text}%"


def rough_chance(value: float) -> str:
    """Return a chance in whole per cents: no model is sure of the third digit.

    Examples
    --------
    >>> [rough_chance(x) for x in (0.70931, 0.9994, 1.0, 0.003)]
    ['71%', 'over 99%', 'over 99%', 'under 1%']
    """
    if value > 0.99:
        return "over 99%"
    return "under 1%" if value < 0.01 else f"{value:.0%}"


def percent_range(lower: float, upper: float) -> str:
    """Return an interval of shares in per cent, its ends told apart.

    Examples
    --------
    >>> percent_range(0.662, 0.748), percent_range(0.9975, 0.99954), percent_range(0.97, 1.0)
    ('66-75%', '99.75-99.954%', '97-100%')
    >>> percent_range(0.7131, 0.7134), percent_range(0.7, 0.7), percent_range(0.89, 0.9999999)
    ('71.31-71.34%', '70%', '89-over 99.99%')
    """
    first, last = percent(lower, beside=upper), percent(upper, beside=lower)
    return last if first == last else f"{first.removesuffix('%')}-{last}"


def about(count: float) -> str:
    """Return a large number with two significant digits.

    Examples
    --------
    >>> about(2345), about(87), about(float("inf")), about(3.2e15)
    ('2,300', '87', 'any number of', 'over a trillion')
    """
    if math.isinf(count):
        return "any number of"
    if count > 1e12:
        return "over a trillion"
    if count < 100:
        return f"{int(count):,}"
    step = 10 ** (math.floor(math.log10(count)) - 1)
    return f"{int(count // step * step):,}"


def times(ratio: float) -> str:
    """Return how many times as large something is.

    Examples
    --------
    >>> times(5.00926), times(2.5), times(50.9), times(1680)
    ('5', '2.5', '51', '1,680')
    """
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "class"), counted(2000, "class"), counted(3, "probe")
    ('1 class', '2,000 classes', '3 probes')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def plain(text: str) -> str:
    """Return text from a file without control characters, safe for a terminal.

    Examples
    --------
    >>> plain("a" + chr(27) + "[31mred")
    'a?[31mred'
    """
    # Control, format and surrogate characters; line and paragraph separators.
    wild = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return "".join("?" if unicodedata.category(c) in wild else c for c in text)


def describe_capacity(held: int | float) -> str:
    """Return a capacity in words.

    Examples
    --------
    >>> describe_capacity(2345), describe_capacity(float("inf"))
    ('about 2,300 classes', 'any number of classes')
    """
    approximate = 100 <= held <= 1e12
    return ("about " if approximate else "") + about(held) + " classes"

"""Numbers and nouns as people read them, and text from files made safe to print."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

from headcount.errors import HeadcountError, ParameterError, phrasing, spoken

# A pilot of K classes says nothing of a capacity past so many times K.
MOST_SAID = 10_000
LONGEST_NOUN = 40
OUR_NOUN = r"(?P<noun>class(?:es)?|probes?)"
# What is quoted came from the user, and what stands between backticks is code.
ALONE = r"""(?P<alone>"(?:[^"]|"")*"|`[^`]*`|(?<!\w)'[^'\n]*'(?!\w))"""
# Joined to something else, as in --classes or class.npz, it is no noun of ours.
IN_TEXT = rf"(?P<article>\ban? )?(?<![\w./:=\\-]){OUR_NOUN}(?P<owner>'s?)?(?![\w/=\\-]|\.\w)"
AN = re.compile(r"(?!eu|uni|us[eu]|one\b)[aeiou]|hour|hono|heir", re.IGNORECASE)

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
    digits = enough = _digits(edge)
    if apart > 0:
        while digits < MOST_DIGITS and f"{value:.{digits}%}" == f"{beside:.{digits}%}":
            digits += 1
    text = f"{100 * value:.{digits}f}"
    if 0 < digits == enough:
        text = text.rstrip("0").rstrip(".")
    return f"{text}%"


def _digits(edge: float) -> int:
    """Return how many digits behind the point show two of what is left to 0% or 100%."""
    return max(0, 1 - int(f"{100 * edge:.1e}".partition("e")[2]))


def in_points(error: float, beside: float | None = None, sign: str = "") -> str:
    """Return an error in percentage points, with two significant digits of it.

    Parameters
    ----------
    error : float
        The error.
    beside : float, optional
        Something larger that stands beside it, and says how many digits are worth it.
    sign : str
        "+" writes the sign of what is above zero, too.

    Examples
    --------
    >>> in_points(0.031), in_points(0.00164), in_points(0.156), in_points(0.0)
    ('3.1', '0.16', '16', '0')
    >>> in_points(0.00164, beside=0.018, sign="+"), in_points(-0.0001, beside=0.018)
    ('+0.2', '0')
    """
    digits = _digits(abs(error if beside is None else beside))
    text = f"{100 * error:{sign}.{digits}f}"
    text = text.rstrip("0").rstrip(".") if digits else text
    return "0" if text in ("+0", "-0", "+", "-", "") else text


def points(error: float) -> str:
    """Return an error in percentage points, in words.

    Examples
    --------
    >>> points(0.031), points(0.0004), points(0.01)
    ('3.1 points', '0.04 points', '1 point')
    """
    number = in_points(error)
    return f"{number} point" + ("" if number == "1" else "s")


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


def reads_as_one(ratio: float) -> bool:
    """Return whether a ratio, written as `times` does, is one.

    Examples
    --------
    >>> reads_as_one(1.04), reads_as_one(1.06)
    (True, False)
    """
    return times(ratio) == times(1)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "class"), counted(2000, "class"), counted(3, "probe")
    ('1 class', '2,000 classes', '3 probes')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


# The verbs that our messages say of so many rows, probes and the like, and the same of one.
VERBS = {
    "are classes": "is a class", "are": "is", "were": "was", "have": "has", "hold": "holds",
    "name": "names", "point": "points", "score": "scores", "differ": "differs",
}  # fmt: skip


def share_of(count: int, total: int, nouns: str, fault: str) -> str:
    """Return how many of a number of things something is said of, the verb agreeing.

    Examples
    --------
    >>> share_of(1, 900, "rows", "are negative"), share_of(2, 900, "rows", "are negative")
    ('1 of 900 rows is negative', '2 of 900 rows are negative')
    """
    if count == 1:
        verbs = rf"\b({'|'.join(VERBS)})\b"
        fault = re.sub(verbs, lambda match: VERBS[match[0]], fault, count=1)
    return f"{count:,} of {total:,} {nouns} {fault}"


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


def named(text: str) -> str:
    """Return a name from a file as it stands in a sentence: quoted where it reads like our words.

    Examples
    --------
    >>> print(named("anna"), named("class 1"), named('the "best" probe'))
    anna "class 1" "the ""best"" probe"
    """
    name = plain(text)
    doubtful = re.search(rf"[`\"]|\b{OUR_NOUN}\b", name, re.IGNORECASE)
    return '"' + name.replace('"', '""') + '"' if doubtful else name


def describe_share(share: float, what: str) -> str:
    """Return how many probes find something, as a count that can be pictured: `percent` in words.

    Examples
    --------
    >>> describe_share(0.71, "the right class"), describe_share(0.9834, "it")
    ('71 of 100 probes find the right class', '983 of 1,000 probes find it')
    >>> describe_share(0.9994, "it"), describe_share(1.0, "it")
    ('about 1 probe in 1,700 does not find it', 'all probes find it')
    """
    edge = min(share, 1 - share)
    if edge < ROUND_OFF:
        count = "no probe finds" if share < 0.5 else "all probes find"
    elif (digits := _digits(edge)) < 2:
        whole = 100 * 10**digits
        count = f"{whole * share:,.0f} of {whole:,} probes find"
    else:
        rare = "about" if edge >= 1e-8 else "fewer than"
        count = f"{rare} 1 probe in {float(f'{1 / max(edge, 1e-8):.2g}'):,.0f} "
        count += "finds" if share < 0.5 else "does not find"
    return f"{count} {what}"


def describe_mix(mix: Mapping[str, float]) -> str:
    """Return the shares of groups in words, the largest first.

    Examples
    --------
    >>> describe_mix({"b": 0.1, "a": 0.9})
    '90% a, 10% b'
    """
    ordered = sorted(mix.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{percent(share)} {named(group)}" for group, share in ordered)


def describe_capacity(count: float, n_classes: int) -> str:
    """Return a capacity in words, as far as a pilot of `n_classes` can say.

    Examples
    --------
    >>> describe_capacity(2345, 100), describe_capacity(float("inf"), 100)
    ('about 2,300 classes', 'more classes than can be said')
    """
    if past_saying(count, n_classes):
        return "more classes than can be said"
    return ("about " if count >= 100 else "") + about(count) + " classes"


def describe_capacities(lower: float, upper: float, n_classes: int) -> str:
    """Return an interval of capacities in words.

    Examples
    --------
    >>> describe_capacities(120, 2345, 100), describe_capacities(120, 1e9, 100)
    ('120 to 2,300', '120 or more')
    >>> describe_capacities(1e8, 1e9, 100)
    '1,000,000 or more'
    """
    least = about(min(lower, MOST_SAID * n_classes))
    return f"{least} or more" if past_saying(upper, n_classes) else f"{least} to {about(upper)}"


def past_saying(count: float, n_classes: int) -> bool:
    """Whether a capacity is larger than a pilot of `n_classes` can say anything about."""
    return count > MOST_SAID * n_classes


@dataclass(frozen=True)
class Nouns:
    """What the classes and the probes of a pilot are called where people read of them.

    Examples
    --------
    >>> nouns = Nouns.of("person/people", "image")
    >>> nouns.rename("A class has a probe; `classes` and --classes stay, as does 'class 1'.")
    "A person has an image; `classes` and --classes stay, as does 'class 1'."
    """

    class_one: str = "class"
    class_many: str = "classes"
    probe_one: str = "probe"
    probe_many: str = "probes"

    @classmethod
    def of(
        cls, noun: str | None = None, probe_noun: str | None = None, otherwise: Nouns | None = None
    ) -> Nouns:
        """Read nouns such as "person/people"; of one word alone, the plural follows a rule.

        What is not said is called as it is `otherwise`.
        """
        ours, usual = astuple(OURS), astuple(OURS if otherwise is None else otherwise)
        classes = usual[:2] if noun is None else _noun(noun, "noun", ours[:2])
        probes = usual[2:] if probe_noun is None else _noun(probe_noun, "probe_noun", ours[2:])
        return cls(*classes, *probes)

    def to_dict(self) -> dict[str, str]:
        """Return them as plain data."""
        return {"noun": self.noun, "probe_noun": self.probe_noun}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any] | None) -> Nouns:
        """Return what `to_dict` wrote; our own where nothing was written."""
        return cls() if fields is None else cls.of(fields["noun"], fields["probe_noun"])

    @property
    def noun(self) -> str:
        """The classes, as `of` reads them."""
        return f"{self.class_one}/{self.class_many}"

    @property
    def probe_noun(self) -> str:
        """The probes, as `of` reads them."""
        return f"{self.probe_one}/{self.probe_many}"

    def rename(self, text: str, keep: Iterable[str] = ()) -> str:
        """Return one of our own texts with these nouns in it; doing it twice changes nothing.

        What stands in quotes or backticks is left alone, and so is each text of `keep`.
        """
        if self == OURS:
            return text
        names = "|".join(re.escape(name) for name in sorted(keep, key=len, reverse=True) if name)
        alone = ALONE if not names else rf"{ALONE}|(?P<kept>{names})"
        return re.sub(rf"{alone}|(?i:{IN_TEXT})", self._replace, text)

    def _replace(self, match: re.Match[str]) -> str:
        ours: str | None = match["noun"]
        if ours is None:
            return match[0]
        names = dict(zip(astuple(OURS), astuple(self), strict=True))
        noun = names[ours.lower()]
        article, owner = match["article"] or "", match["owner"] or ""
        if article:
            article = article[0] + ("n " if AN.match(noun) else " ")
        if owner:
            owner = "'" if ours.lower() in ("classes", "probes") and noun.endswith("s") else "'s"
        if ours[0].isupper():
            noun = noun[0].upper() + noun[1:]
        return f"{article}{noun}{owner}"


OURS = Nouns()
OF_RUNS = Nouns("document", "documents", "query", "queries")  # of a search engine


@contextmanager
def speaking(nouns: Nouns, keep: Iterable[str] = ()) -> Iterator[None]:
    """Use these nouns in what is `spoken` inside, and in errors that leave it.

    Names of files and the like are left alone if they are in `keep`.
    """
    names = tuple(keep)
    token = phrasing.set(lambda text: nouns.rename(text, names))
    try:
        yield
    except HeadcountError as error:
        error.args = (spoken(str(error)),)
        raise
    finally:
        phrasing.reset(token)


def _noun(text: str, name: str, usual: tuple[str, ...]) -> tuple[str, str]:
    """Return singular and plural, refused if they could not stand in a sentence."""
    example = "person/people" if name == "noun" else "photo/photos"
    option = f"{name} (--{name.replace('_', '-')})"
    if not isinstance(text, str) or text.count("/") > 1:
        raise ParameterError(
            f"{option} must be one word or two, such as {example}, not {text!r:.60}."
        )
    words = [word.strip() for word in text.split("/")]
    for word, ours in zip(words, usual, strict=False):
        sound = word[:1].isalpha() and plain(word) == word and not re.search("[`\"']", word)
        if not sound or len(word) > LONGEST_NOUN:
            raise ParameterError(
                f"{option} must be one word or two, such as {example}: letters first, no quotes, "
                f"nothing that cannot be printed, at most {LONGEST_NOUN} characters, not "
                f"{text!r:.60}."
            )
        if re.search(rf"\b{OUR_NOUN}\b", word, re.IGNORECASE) and word != ours:
            raise ParameterError(
                f"{option} holds a word that headcount itself uses for something, {word!r}; "
                "choose another."
            )
    singular, plural = words if len(words) == 2 else (words[0], _plural(words[0]))
    return singular, plural


def _plural(noun: str) -> str:
    if re.search("(s|x|z|ch|sh)$", noun):
        return noun + "es"
    return noun[:-1] + "ies" if re.search("[^aeiou]y$", noun) else noun + "s"

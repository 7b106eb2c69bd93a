"""The default: a probit-normal fit, corrected by what was learned on random problems."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.observed import observe
from headcount.estimators.auto import network as network
from headcount.estimators.auto.features import N_SIZES, RATIOS, Features, gather, law_curve
from headcount.estimators.auto.projection import closest_law, reference_law
from headcount.estimators.base import Extrapolator
from headcount.estimators.probit_normal import ProbitNormal
from headcount.estimators.shared.likelihood import effective_classes
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.support.words import counted

Floats = NDArray[np.float64]

# Sizes of pilots between which the correction counts in full, and beyond which not at all.
CLASSES = (8, 40, 4000, 40_000)
LEAST = 18  # classes of problems that were learned from
MEMBERS = (4, 12, 20_000, 200_000)
UNLIKE = (6.0, 12.0)  # standardised features of the whole: trusted up to, and not from
COARSE = (0.35, 0.7)  # shares of equal scores: used up to, and not from
NO_TRUST = 1e-6
ODD = "Look at ties, hubs and duplicates first. Otherwise nothing: the interval allows for it."


class Auto(Extrapolator):
    r"""The default: a likelihood fit, corrected by a network trained on random problems.

    A probit-normal law is fitted to the losses (`ProbitNormal`). A small network looks at all
    probes (where the true score lies among the impostor scores, how the best of these are spaced,
    how many losses there are), at the observed curve and at the fit, and corrects the fitted curve
    on the logit scale at k / K = 1/8, 1/4, ..., 64. It was trained on random recognition problems
    of known truth, on no real data. The law of U nearest to the fit that gives the corrected curve
    is returned; beyond 64 K it goes on as the fit does.

    Without scores the network works from the losses alone, which is less precise. Where a pilot is
    unlike all problems it was trained on, by its size or its curve, the correction fades, and
    `trust_` says how far. Censored probes leave the fit alone.

    Parameters
    ----------
    use_scores : bool
        Whether to look at the scores where the pilot has any.

    Attributes
    ----------
    base_ : ProbitNormal
        The fit before correction.
    trust_ : float
        Weight of the correction, from 0 to 1.
    evidence_ : {"scores", "losses", "none"}
        What the correction rests on.
    note_ : str
        What limits the forecast, in one sentence; empty where nothing does.
    remedy_ : str
        What would help against it.
    ratios_, spread_ : ndarray or None
        Ratios k / K, and the standard deviation of the forecast's error there on the logit scale as
        the network judges it; None where it had no say.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.auto.auto import Auto
    >>> hangul = headcount.datasets.load_hangul()
    >>> pilot = hangul.subset([chr(0xAC00 + 112 * i) for i in range(99)])
    >>> fit = Auto().fit(pilot)
    >>> fit.evidence_, fit.trust_
    ('scores', 1.0)
    """

    alias = "auto"
    takes_censored = True
    uses_scores = True
    about = "probit-normal, corrected by a network trained on random problems"
    cost = "about a second"
    advice = "the default: scores if there are any, or losses alone"

    def __init__(self, *, use_scores: bool = True) -> None:
        self.use_scores = use_scores

    def stated_error(self, ratio: Any, metric: Metric = ACCURACY) -> Floats | None:
        """Return the error that the networks expect at k / K, as standard deviations of log odds.

        Past the largest ratio they know it goes on growing as it did at the end. Of other metrics
        than accuracy they have learned nothing.
        """
        if self.ratios_ is None or self.spread_ is None or metric != ACCURACY:
            return None
        logs, known_logs = np.log(np.asarray(ratio, dtype=np.float64)), np.log(self.ratios_)
        slope = (self.spread_[-1] - self.spread_[-2]) / (known_logs[-1] - known_logs[-2])
        beyond = np.maximum(logs - known_logs[-1], 0.0) * max(float(slope), 0.0)
        return np.asarray(np.interp(logs, known_logs, self.spread_) + beyond)

    def _estimate(self, pilot: Pilot) -> Favorability:
        self.base_ = ProbitNormal().fit(pilot)
        law = self.base_.favorability_
        assert law is not None  # probit-normal always has one
        self.ratios_: Floats | None = None
        self.spread_: Floats | None = None
        self.trust_, self.evidence_, self.note_, self.remedy_ = 0.0, "none", "", ""
        if pilot.censored.any():
            self.note_ = "some losses are only known from below, so the plain fit is used."
            self.remedy_ = "Keep longer lists, so that the true class of each probe is in them."
            return law
        size = _size_trust(pilot)
        if size < NO_TRUST:
            reason, self.remedy_ = _odd_size(pilot)
            self.note_ = f"{reason}; the plain fit is used."
            return law
        return self._corrected(pilot, law, size)

    def _corrected(self, pilot: Pilot, law: Favorability, size: float) -> Favorability:
        base = self.base_
        features = gather(pilot, law, base.mu_, base.tau_, use_scores=self.use_scores)
        self.trust_ = size * _likeness(features)
        if self.trust_ < NO_TRUST:
            self.note_ = "the pilot is unlike all that was learned from; the plain fit is used."
            self.remedy_ = ODD
            return law
        curve, spread = self._network_forecast(pilot, law, features)
        self.ratios_ = np.array(RATIOS, dtype=np.float64)
        # What the correction would have moved is in doubt where it is not trusted.
        doubt = (1 - self.trust_) * np.abs(curve - features.base)
        self.spread_ = np.sqrt(spread**2 + doubt**2)
        blended = features.base + self.trust_ * (curve - features.base)
        self._say_limits(pilot, size, features)
        counts, wanted = _with_few(pilot, law, features.counts, blended, self.trust_)
        return closest_law(reference_law(base.mu_, base.tau_), counts, wanted)

    def _network_forecast(
        self, pilot: Pilot, law: Favorability, features: Features
    ) -> tuple[Floats, Floats]:
        """Return the networks' forecast; from losses alone where scores are votes or the like."""
        share = network.smooth((COARSE[1] - features.coarseness) / (COARSE[1] - COARSE[0]))
        self.evidence_ = "scores" if features.has_scores and share > 0 else "losses"
        curve, spread = network.forecast(features)
        if share == 1 or not features.has_scores:
            return curve, spread
        base = self.base_
        bare = gather(pilot, law, base.mu_, base.tau_, use_scores=False)
        plain, plain_spread = network.forecast(bare)
        return (
            share * curve + (1 - share) * plain,
            share * spread + (1 - share) * plain_spread,
        )

    def _say_limits(self, pilot: Pilot, size: float, features: Features) -> None:
        # With few classes it is always less, which is nothing to mind.
        few = LEAST <= pilot.n_classes < CLASSES[1]
        usual = 0.99 * (within(pilot.n_classes, CLASSES) if few else 1.0)
        if self.trust_ < usual:
            reason, self.remedy_ = "the pilot is partly outside what was learned from", ODD
            if size < usual:
                reason, self.remedy_ = _odd_size(pilot)
            self.note_ = f"{reason}; the correction counts {self.trust_:.0%}."
        elif self.evidence_ == "losses" and features.has_scores:
            self.note_ = "from losses alone, as the scores are too coarse to say more."
            self.remedy_ = "Use finer scores: distances instead of votes, more digits."
        elif self.evidence_ == "losses" and pilot.has_scores:
            self.note_ = "from losses alone, as `use_scores=False` has it."
            self.remedy_ = "Leave that option out for a more precise forecast."
        elif self.evidence_ == "losses":
            self.note_ = "from losses alone; scores would make the forecast more precise."
            self.remedy_ = "Give scores or embeddings instead of counts if you have them."


def _size_trust(pilot: Pilot) -> float:
    return within(pilot.n_classes, CLASSES) * within(effective_classes(pilot), MEMBERS)


def _odd_size(pilot: Pilot) -> tuple[str, str]:
    """Say in which way a pilot's size is unlike those learned from, and what to do about it."""
    sizes = {
        "the pilot has": (float(pilot.n_classes), CLASSES),
        "its probes stand for": (effective_classes(pilot), MEMBERS),
    }
    how, (count, edges) = min(sizes.items(), key=lambda item: within(*item[1]))
    size = f"{how} {counted(round(count), 'class')}"
    if count > edges[2]:
        return f"{size}, more than was learned from", (
            "Nothing: so many classes show much by themselves, and the interval says how much."
        )
    return f"{size}, fewer than was learned from", (
        "Add classes with probes, drawn at random from those you expect."
    )


def within(value: float, edges: tuple[float, float, float, float]) -> float:
    """Return one in the middle, falling to zero towards both ends, smoothly in the logarithm."""
    places = np.log(edges)
    rise = (np.log(max(value, 1e-9)) - places[0]) / (places[1] - places[0])
    fall = (places[3] - np.log(max(value, 1e-9))) / (places[3] - places[2])
    return network.smooth(min(rise, fall))


def _likeness(features: Features) -> float:
    """Return how far the whole pilot lies inside what the networks were trained on."""
    weights = network.networks()[0]
    far = np.abs((features.whole - weights["whole_mean"]) / weights["whole_spread"])
    # Sizes have limits of their own, and the last is a flag.
    furthest = float(far[:-N_SIZES].max())
    return network.smooth((UNLIKE[1] - furthest) / (UNLIKE[1] - UNLIKE[0]))


def _with_few(
    pilot: Pilot, law: Favorability, counts: Floats, blended: Floats, trust: float
) -> tuple[Floats, Floats]:
    """Add fewer classes than were corrected, where the curve is observed."""
    accuracy = 1 / (1 + np.exp(-blended))
    fewer = 2.0 ** np.arange(1, 64)
    fewer = fewer[fewer < 0.75 * counts[0]]
    observed = observe(pilot).accuracy(fewer) if len(fewer) else np.empty(0)
    plain = law_curve(law, fewer)
    distinct, first = np.unique(np.concatenate([fewer, counts]), return_index=True)
    both = np.concatenate([plain + trust * (observed - plain), accuracy])
    return distinct, both[first]

"""The default: a bent-normal fit, corrected by what was learned on random problems."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.estimators.auto import network
from headcount.estimators.auto.features import (
    N_SIZES,
    Features,
    class_counts,
    gather,
)
from headcount.estimators.auto.laws import laws_around
from headcount.estimators.base import Extrapolator
from headcount.estimators.bent_normal import BentNormal
from headcount.pilot.pilot import Pilot
from headcount.support.words import counted

Floats = NDArray[np.float64]

LEAST = 10  # classes of problems that were learned from
UNLIKE = 12.0  # standardised features of the whole from where on a pilot is called odd
COARSE = (0.35, 0.7)  # shares of equal scores: used up to, and not from


class Auto(Extrapolator):
    r"""The default: a likelihood fit, corrected by a network trained on random problems.

    A law that any observed curve can bend is fitted to the losses (`BentNormal`). A small network
    looks at all probes (where the true score lies among the impostor scores, how the best of these
    are spaced, how many losses there are), at the observed curve, at the fit and at what the losses
    leave open, and moves the fitted curve on the logit scale at k / K = 1/8, 1/4, ..., 64. It never
    moves it by more than a few times what the losses leave open: with many probes they decide. It
    was trained on random problems of known truth: simulated ones, random laws, and random views of
    public collections of words, pictures and sounds. The law of U nearest to the fit that gives the
    corrected curve is returned; beyond 64 K it goes on as the fit does.

    The network also says how far it expects to be off. Some hundred laws as plausible as that one
    (`laws_`) carry this to any metric.

    Without scores the network works from the losses alone, which is less precise. Lists that were
    cut (censored probes) cost some more.

    Parameters
    ----------
    use_scores : bool
        Whether to look at the scores where the pilot has any.

    Attributes
    ----------
    base_ : BentNormal
        The fit before correction.
    laws_ : Laws
        Some hundred laws as plausible as the forecast one.
    evidence_ : {"scores", "losses"}
        What the correction rests on.
    note_ : str
        What limits the forecast, in one sentence; empty where nothing does.
    remedy_ : str
        What would help against it.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.auto.auto import Auto
    >>> hangul = headcount.datasets.load_hangul()
    >>> pilot = hangul.subset([chr(0xAC00 + 112 * i) for i in range(99)])
    >>> Auto().fit(pilot).evidence_
    'scores'
    """

    alias = "auto"
    takes_censored = True
    uses_scores = True
    gives_laws = True
    about = "bent-normal, corrected by a network trained on random problems"
    cost = "under a second"
    advice = "the default: scores if there are any, or losses alone"

    def __init__(self, *, use_scores: bool = True) -> None:
        self.use_scores = use_scores

    def _estimate(self, pilot: Pilot) -> Favorability:
        self.base_ = BentNormal().fit(pilot)
        law = self.base_.favorability_
        assert law is not None  # bent-normal always has one
        self.note_, self.remedy_ = "", ""
        odds, spread = self._curve(pilot)
        weights = network.weights()
        favorability, self.laws_ = laws_around(
            law,
            class_counts(pilot.n_classes),
            odds,
            spread,
            weights["factor"],
            float(weights["freedom"]),
        )
        return favorability

    def _curve(self, pilot: Pilot) -> tuple[Floats, Floats]:
        """Return the forecast at `RATIOS` and the spread of its error, on the logit scale."""
        features = gather(pilot, self.base_, use_scores=self.use_scores)
        share = network.smooth((COARSE[1] - features.coarseness) / (COARSE[1] - COARSE[0]))
        self.evidence_ = "scores" if features.has_scores and share > 0 else "losses"
        self._say_limits(pilot, features)
        odds, spread = network.run(network.weights(), features)
        if share == 1 or not features.has_scores:
            return odds, spread
        # Votes and the like: the less scores differ, the less they say.
        bare = gather(pilot, self.base_, use_scores=False)
        plain, plain_spread = network.run(network.weights(), bare)
        return share * odds + (1 - share) * plain, share * spread + (1 - share) * plain_spread

    def _say_limits(self, pilot: Pilot, features: Features) -> None:
        if pilot.n_classes < LEAST:
            size = counted(pilot.n_classes, "class")
            self.note_ = f"the pilot has {size}, fewer than was learned from."
            self.remedy_ = "Add classes with probes, drawn at random from those you expect."
        elif _furthest(features) > UNLIKE:
            self.note_ = "the pilot is unlike all that was learned from."
            self.remedy_ = (
                "Look at ties, hubs and duplicates first; the interval may be too narrow."
            )
        elif pilot.censored.any():
            self.note_ = "from losses alone, some of them only known from below."
            self.remedy_ = "Keep longer lists, so that the true class of each probe is in them."
        elif self.evidence_ == "losses" and features.has_scores:
            self.note_ = "from losses alone, as the scores are too coarse to say more."
            self.remedy_ = "Use finer scores: distances instead of votes, more digits."
        elif self.evidence_ == "losses" and pilot.has_scores:
            self.note_ = "from losses alone, as `use_scores=False` has it."
            self.remedy_ = "Leave that option out for a more precise forecast."
        elif self.evidence_ == "losses" and pilot.rivals == "shared":
            self.note_ = "from losses alone; scores would make the forecast more precise."
            self.remedy_ = "Give scores or embeddings instead of counts if you have them."


def _furthest(features: Features) -> float:
    """Return how many standard deviations a pilot lies from the problems that were learned from."""
    weights = network.weights()
    far = np.abs((features.whole - weights["whole_mean"]) / weights["whole_spread"])
    return float(far[:-N_SIZES].max())

"""A recognition problem with any law of favorability: paper 003, Theorem 3.3."""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.curves.favorability import Favorability
from headcount.errors import ParameterError
from headcount.pilot.pilot import Pilot
from headcount.simulate.simulation import Simulation, generator, sizes

MOST_SCORES = 200_000_000


def from_favorability(
    law: Favorability,
    n_classes: int = 500,
    *,
    probes_per_class: int = 1,
    scores: bool = True,
    random_state: Any = None,
) -> Simulation:
    r"""Make a recognition problem whose favorability has any given law: paper 003, Theorem 3.3.

    Classes sit at random places t of a circle of length one. A probe of class i has its own p = 1
    - U from the law, and gives the class at t the score :math:`1 - ((t_i + p - t) \bmod 1)`. Its
    true class scores 1 - p, which exactly the classes on an arc of length p exceed, so that losses
    given U are Binomial(K - 1, 1 - U), and scores of wrong classes are uniform (Lemma 4 of 000).

    Parameters
    ----------
    law : Favorability
        The law of U, which also gives the truth.
    n_classes, probes_per_class : int
        Size of the pilot.
    scores : bool
        Whether the pilot holds scores. Without, losses are drawn from the binomial law itself, for
        any number of classes.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> from headcount.simulate.theory import uniform_law
    >>> from_favorability(uniform_law(), 50, random_state=0).truth([50, 500]).round(6).tolist()
    [0.02, 0.002]
    """
    n_classes, per_class = sizes(n_classes, probes_per_class)
    if not isinstance(law, Favorability):
        raise ParameterError(f"law must be a Favorability, but is {type(law).__name__}.")
    labels = np.repeat(np.arange(n_classes), per_class)
    rng = generator(random_state)
    p = rng.choice(law.p, len(labels), p=law.weights / law.weights.sum())
    if not scores:
        losses = rng.binomial(n_classes - 1, p)
        return Simulation(Pilot.from_losses(losses, n_classes, labels=labels), law)
    if len(labels) * n_classes > MOST_SCORES:
        raise ParameterError(
            f"{len(labels):,} probes of {n_classes:,} classes have too many scores to hold; "
            "say scores=False."
        )
    places = rng.random(n_classes)
    matrix = 1 - (places[labels] + p)[:, None] + places
    matrix -= np.floor(matrix)
    matrix[np.arange(len(labels)), labels] = 1 - p
    return Simulation(Pilot.from_scores(matrix, labels, higher_is_better=True), law)

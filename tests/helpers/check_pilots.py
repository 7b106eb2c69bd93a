"""Pilots for tests of checks: healthy ones, and the tools to make one thing wrong with them."""

import numpy as np

from headcount import Favorability, Pilot, forecast, observe, simulate
from headcount.checks import run_checks

STATISTICAL = ("HC007", "HC008", "HC009", "HC012", "HC013", "HC020", "HC021")


def findings(pilot, **asked):
    """All findings about a pilot, by code."""
    result = forecast(pilot, classes=2 * pilot.n_classes, intervals=False)
    checks = run_checks(pilot, result.observed, result.law, **asked)
    return {check.code: check.message for check in checks}


def vectors(n_classes=60, per_class=8, n_dims=8, sigma=0.6, seed=0):
    """Probes around class centres, their labels, and the centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, n_dims))
    labels = np.repeat(np.arange(n_classes), per_class)
    probes = centres[labels] + sigma * rng.normal(size=(len(labels), n_dims))
    return probes, labels, centres


def scores(**options):
    """Scores (minus squared distances) and labels of a healthy pilot."""
    probes, labels, centres = vectors(**options)
    return -np.square(probes[:, None] - centres).sum(axis=2), labels


def healthy(seed):
    """Return one of many kinds of healthy pilots, with groups and an order that mean nothing."""
    rng = np.random.default_rng(seed)
    n_classes, per_class = int(rng.choice([20, 40, 100, 200])), int(rng.choice([1, 2, 5, 10]))
    n_dims, state = int(rng.choice([3, 5, 10, 20])), int(rng.integers(1_000_000))
    common = {"n_dims": n_dims, "probes_per_class": per_class, "random_state": state}
    kind = int(rng.integers(4))
    if kind == 0:
        made = simulate.isotropic_gaussian(n_classes, sigma=rng.uniform(0.15, 0.7), **common)
    elif kind == 1:
        law = {"classes": str(rng.choice(["normal", "uniform"])), "sigma2": rng.uniform(0.03, 0.4)}
        made = simulate.points_around_classes(n_classes, **law, **common)
    elif kind == 2:
        made = simulate.clustered(n_classes, sigma=rng.uniform(0.1, 0.4), **common)
    else:
        made = simulate.hierarchical(n_classes, sigma=rng.uniform(0.1, 0.4), **common)
    blocks = [block for _, block in made.pilot.score_blocks()]
    groups = rng.integers(int(rng.choice([2, 5, 20])), size=n_classes)
    return Pilot.from_scores(
        np.concatenate(blocks),
        made.pilot.labels,
        higher_is_better=True,
        groups=groups.tolist(),
        drawn="classes",
        order=rng.permutation(n_classes),
    )


def planted(n_pairs, seed=0, near=0.03, **options):
    """A pilot in which the first classes were entered again as the next ones."""
    options = {"n_classes": 100, "per_class": 10, "n_dims": 10, "sigma": 0.45} | options
    rng = np.random.default_rng(seed)
    _, labels, centres = vectors(seed=seed, **options)
    twins = centres[:n_pairs] + near * rng.normal(size=(n_pairs, centres.shape[1]))
    centres[n_pairs : 2 * n_pairs] = twins
    probes = centres[labels] + options["sigma"] * rng.normal(size=(len(labels), centres.shape[1]))
    names = np.array([f"c{i:03d}" for i in range(len(centres))])
    return Pilot.from_embeddings(probes, names[labels], centres, names)


def drifting(seed=0, noise=1.0, lead=0.0, n_classes=60, per_class=4):
    """Probes get noisier along the order by a factor, and scores of classes rise by `lead`."""
    rng = np.random.default_rng([seed, 2])
    _, labels, centres = vectors(n_classes, per_class, seed=seed)
    place = np.linspace(-0.5, 0.5, n_classes)
    spread = (0.6 * noise**place)[labels][:, None]
    probes = centres[labels] + spread * rng.normal(size=(len(labels), centres.shape[1]))
    values = -np.square(probes[:, None] - centres).sum(axis=2) + lead * place
    return values, labels, np.arange(n_classes)


def alarm(values, labels, order, **options):
    """What is said about a trend along the order of the classes, if anything is."""
    pilot = Pilot.from_scores(values, labels, higher_is_better=True, order=order, **options)
    checks = {
        check.code: check.message
        for check in run_checks(pilot, observe(pilot), Favorability([0.01], [1.0]))
    }
    return checks.get("HC020")

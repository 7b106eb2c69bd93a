"""Images told from brain responses: experiment 3 of paper 001."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.covariance import ledoit_wolf

from headcount.errors import ParameterError
from headcount.pilot.pilot import Pilot
from headcount.simulate.simulation import (
    REFERENCE_CLASSES,
    Floats,
    Simulation,
    generator,
    reference,
    sizes,
)
from headcount.support import validation


def linear_encoding(
    n_classes: int = 1000,
    *,
    n_voxels: int = 300,
    n_features: int = 50,
    n_train: int = 750,
    sigma: float = 3.5,
    noise_correlation: float = 0.5,
    ridge: float = 10.0,
    reference_classes: int = REFERENCE_CLASSES,
    random_state: Any = None,
) -> Simulation:
    r"""Images told from brain responses by a fitted linear model: paper 001, experiment 3.

    An image y has features :math:`f \sim N(0, I)`; its response is :math:`x = B f + e` with noise
    correlated between neighbouring voxels. From `n_train` other images the encoding
    :math:`g(y) = \hat B f` is fitted by ridge regression and the covariance of its residuals by
    Ledoit and Wolf's shrinkage. The score of image y for response x is minus the Mahalanobis
    distance :math:`(g(y) - x)^T \hat\Sigma^{-1} (g(y) - x)`. One response an image; images are
    the classes, and the fitted model belongs to the population.

    Parameters
    ----------
    n_classes : int
        Images in the pilot.
    n_voxels, n_features, n_train : int
        Size of a response, of an image's description, and of the training set; the paper has
        1,250 voxels and 750 training images.
    sigma : float
        Standard deviation of the noise; that of the signal in a voxel is one.
    noise_correlation : float
        Correlation of the noise in neighbouring voxels, at least 0 and below 1.
    ridge : float
        Penalty of the regression.
    reference_classes : int
        Size of the population that gives the truth.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation

    References
    ----------
    Slavutsky and Benjamini (2021), §5.2; Kay, Naselaris, Prenger and Gallant (2008).
    """
    n_classes, _ = sizes(n_classes, 1)
    n_voxels = validation.whole_number(n_voxels, "n_voxels", 1)
    n_features = validation.whole_number(n_features, "n_features", 1)
    n_train = validation.whole_number(n_train, "n_train", 2)
    if not 0 <= noise_correlation < 1:
        raise ParameterError(
            f"noise_correlation must be at least 0 and below 1, but is {noise_correlation!r}."
        )
    rng = generator(random_state)
    sigma, ridge = validation.positive(sigma, "sigma"), validation.positive(ridge, "ridge")
    apart = np.abs(np.subtract.outer(np.arange(n_voxels), np.arange(n_voxels)))
    root = np.linalg.cholesky(float(noise_correlation) ** apart)
    noise = sigma * np.asarray(root, dtype=np.float64)
    encoding = rng.normal(size=(n_voxels, n_features)) / math.sqrt(n_features)
    features = rng.normal(size=(n_train, n_features))
    responses = features @ encoding.T + rng.normal(size=(n_train, n_voxels)) @ noise.T
    world = fit_encoding(encoding, noise, features, responses, ridge)
    pilot = world.draw(rng, n_classes, 1)
    return Simulation(pilot, reference(world, rng, n_classes, reference_classes))


@dataclass(frozen=True)
class _Encoding:
    """Responses and predictions where Mahalanobis distances are plain ones."""

    predicted: Floats
    signal: Floats
    noise: Floats

    def draw(self, rng: np.random.Generator, n_classes: int, per_class: int) -> Pilot:
        features = rng.normal(size=(n_classes, self.signal.shape[1]))
        labels = np.repeat(np.arange(n_classes), per_class)
        error = rng.normal(size=(len(labels), len(self.noise))) @ self.noise.T
        probes = (features @ self.signal.T)[labels] + error
        return Pilot.from_embeddings(probes, labels, features @ self.predicted.T)


def fit_encoding(
    encoding: Floats, noise: Floats, features: Floats, responses: Floats, ridge: float
) -> _Encoding:
    """Fit the encoding model, and keep only directions in which its predictions differ.

    What lies at right angles to all predictions adds the same to every distance.
    """
    penalty = ridge * np.eye(features.shape[1])
    fit = np.linalg.solve(features.T @ features + penalty, features.T @ responses).T
    covariance, _ = ledoit_wolf(responses - features @ fit.T, assume_centered=True)
    root = np.linalg.cholesky(covariance)
    frame, predicted = np.linalg.qr(solve_triangular(root, fit, lower=True))
    whiten = solve_triangular(root, frame, lower=True, trans="T").T
    mixed = whiten @ noise
    # As few noise variables as there are directions, with the same covariance.
    fewer = np.asarray(np.linalg.cholesky(mixed @ mixed.T), dtype=np.float64)
    return _Encoding(predicted, whiten @ encoding, fewer)

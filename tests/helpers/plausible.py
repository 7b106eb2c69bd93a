"""How far values under plausible laws spread."""

import numpy as np
from scipy.special import logit, ndtri

EDGE = 1e-9


def spread(values):
    """Standard deviations of log odds that would give intervals at 90% as wide."""
    low, high = np.quantile(logit(np.clip(values, EDGE, 1 - EDGE)), [0.05, 0.95], axis=0)
    return (high - low) / (2 * ndtri(0.95))

"""Reference solution of the project of this page: EM for a mixture of normals."""

import numpy as np
from numpy import ndarray


def responsibilities(x: ndarray, weights: ndarray, means: ndarray, stds: ndarray) -> ndarray:
    """Probability of each component for each point, given the point, (N, K)."""
    z = (x[:, None] - means) / stds
    logs = np.log(weights) - z**2 / 2 - np.log(stds)  # what is common to all cancels
    joint = np.exp(logs - logs.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def em_step(
    x: ndarray, weights: ndarray, means: ndarray, stds: ndarray
) -> tuple[ndarray, ndarray, ndarray]:
    """Weights, means and standard deviations with each point counted by its shares."""
    share = responsibilities(x, weights, means, stds)
    mass = share.sum(axis=0)  # how many points each component has
    means = share.T @ x / mass
    variances = (share * (x[:, None] - means) ** 2).sum(axis=0) / mass
    return mass / len(x), means, np.sqrt(variances)

"""Variational sweeps: all items' factors at once, each given all others, damped by half.

An item's posterior precision is `S / nu + diag(1 / (h_j^2 T)) - B_j B_j^T / nu`: a matrix for all items, a
multiple of one diagonal, and a rank one. One eigenvalue problem therefore serves all items, and a sweep
costs a few products with k x k matrices beside the one with the moment. A further observation (the refinement
round) brings a second matrix and with it a small solve per item. Float64 but for the product with the moment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.hush.model import MomentModel

Floats = NDArray[np.float64]

WORTH = 0.15  # a direction whose factors are smaller than this share of their own uncertainty is dropped


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """Item factors with their uncertainty, in the units of the fit: B_j = h_j F_j."""

    B: Floats
    V: Floats
    """Posterior variance of each entry of B."""
    T: Floats
    """Prior variance of each factor of F."""
    q: Floats
    """Fit weights of the items."""
    h: Floats

    @property
    def count(self) -> int:
        """How many factors there are; 0 is an answer."""
        return self.B.shape[1]

    @property
    def F(self) -> Floats:
        """The factors, posterior mean."""
        return self.B / self.h[:, None]

    @property
    def variance(self) -> Floats:
        """Posterior variance of `F`."""
        return self.V / np.square(self.h)[:, None]

    def take(self, order: NDArray[np.integer]) -> Factors:
        """The items `order`, in that order."""
        return replace(self, B=self.B[order], V=self.V[order], q=self.q[order], h=self.h[order])


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """A further Gaussian observation of every item's factors: g_j = t_j M F_j + N(0, variance_j I)."""

    g: Floats
    design: Floats
    """M, k x k, symmetric."""
    likes: Floats
    variance: Floats

    def precision(self) -> Floats:
        """What it adds to each item's posterior precision of F: items x k x k."""
        return (self.likes**2 / self.variance)[:, None, None] * (self.design @ self.design)

    def information(self) -> Floats:
        """And to precision times mean: items x k."""
        return (self.likes / self.variance)[:, None] * (self.g @ self.design)

    def take(self, order: NDArray[np.integer]) -> Observation:
        """The items `order`, in that order."""
        return replace(self, g=self.g[order], likes=self.likes[order], variance=self.variance[order])


def prior_variance(likes: Floats, strength: Floats, B: Floats, V: Floats) -> Floats:
    """T_q, the mean square of the factors over what is liked."""
    shares = likes / likes.sum() / strength**2
    return np.maximum(shares @ (B**2 + V), np.finfo(np.float64).tiny)


def sweep(model: MomentModel, fit: Factors, observed: Observation | None = None) -> Factors:
    """One sweep with as many factors as there are."""
    if fit.count == 0:
        return fit
    pull = model.times(fit.B) / model.variance
    shared = (fit.B.T @ fit.B + np.diag(fit.V.sum(axis=0))) / model.variance
    own = fit.B / np.sqrt(model.variance)
    if observed is None:
        mean, spread = _posterior(shared, own, fit.T, fit.h, pull)
    else:
        mean, spread = _posterior_observed(shared, own, fit.T, fit.h, pull, observed)
    halfway = (fit.B + mean) / 2
    return replace(fit, B=halfway, V=spread, T=prior_variance(model.likes, fit.h, halfway, spread))


def sweeps(model: MomentModel, fit: Factors, count: int, observed: Observation | None = None) -> Factors:
    """`count` sweeps."""
    for _ in range(count):
        fit = sweep(model, fit, observed)
    return fit


def worthwhile(fit: Factors) -> Factors:
    """Without the directions that are mostly uncertainty."""
    kept = (fit.B**2).sum(axis=0) >= WORTH * fit.V.sum(axis=0)
    return replace(fit, B=fit.B[:, kept], V=fit.V[:, kept], T=fit.T[kept])


def factors_outside(prior: Floats, observed: Observation) -> tuple[Floats, Floats]:
    """Factors F and their variance for items that no moment covers: the observation and the prior alone."""
    precision = observed.precision() + np.diag(1 / prior)
    return _solve(precision, observed.information())


def _posterior(shared: Floats, own: Floats, T: Floats, h: Floats, pull: Floats) -> tuple[Floats, Floats]:
    """Mean and variances under `shared - own_j own_j^T + diag(1 / (h_j^2 T))`, for all items at once.

    With `root T` U the eigenvectors of `root T shared root T`, the inverse without the rank one is
    `W diag(D_j) W^T`; the rank one follows by Sherman-Morrison.
    """
    root = np.sqrt(T)
    eigenvalues, vectors = np.linalg.eigh(root[:, None] * shared * root)
    W = root[:, None] * vectors
    D = 1 / (np.maximum(eigenvalues, 0) + 1 / np.square(h)[:, None])
    lifted = (D * (own @ W)) @ W.T
    slack = 1 - np.einsum("jk,jk->j", own, lifted)
    solved = (D * (pull @ W)) @ W.T
    weight = np.einsum("jk,jk->j", lifted, pull) / slack
    spread = D @ np.square(W).T + np.square(lifted) / slack[:, None]
    return solved + weight[:, None] * lifted, spread


def _posterior_observed(
    shared: Floats, own: Floats, T: Floats, h: Floats, pull: Floats, observed: Observation
) -> tuple[Floats, Floats]:
    precision = np.square(1 / h)[:, None, None] * (np.diag(1 / T) + observed.precision())
    precision += shared - np.einsum("jk,jl->jkl", own, own)
    return _solve(precision, pull + observed.information() / h[:, None])


def _solve(precision: Floats, information: Floats) -> tuple[Floats, Floats]:
    """Posterior mean and marginal variances of many small Gaussians."""
    covariance = np.linalg.inv(precision)
    mean = np.einsum("jkl,jl->jk", covariance, information)
    return mean, np.einsum("jkk->jk", covariance).copy()

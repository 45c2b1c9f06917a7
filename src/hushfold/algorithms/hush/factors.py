"""The Bayesian factor fit of Hush: from a released moment to factors, and how many of them there are.

Public post-processing of released values: it costs no privacy however long it looks. New directions are
looked for in nested head blocks, where signal stands highest above the noise; sweeps then settle all of them,
and what was noise after all is dropped. None is a valid answer: a forced factor costs accuracy.

Products with the moment use every core, by threads of our own; the linear algebra library is held to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.hush.model import MomentModel
from hushfold.algorithms.hush.sweeps import (
    Factors,
    Observation,
    prior_variance,
    sweeps,
    worthwhile,
)
from hushfold.linalg.krylov import Pairs, eigen_above
from hushfold.linalg.panels import SymmetricPanels
from hushfold.threads import one_blas_thread

Floats = NDArray[np.float64]

MOST_FACTORS = 64
CLEAR = 1.03  # an eigenvalue counts as signal this much above the edge of the noise
FIRST_BLOCK = 50


@dataclass(frozen=True, slots=True)
class Effort:
    """How often new directions are looked for, and how many sweeps follow each time. Free of privacy cost."""

    grows: int
    sweeps: int


THOROUGH = Effort(5, 20)
QUICK = Effort(3, 6)  # what likes need: their pairs catch what the factors have not settled yet


def fit_factors(
    moment: SymmetricPanels, likes: Floats, scale: float, noise: float, sampling: float
) -> Factors:
    """Factors of the h items of `moment`, in its order; perhaps none.

    `likes` are the released counts t of those items, above 0; `scale` is sc; `noise` is s, the standard
    deviation of the noise on the diagonal; `sampling` is k2.
    """
    order = np.argsort(-likes, kind="stable")
    in_order = np.array_equal(order, np.arange(len(order)))
    by_likes = moment if in_order else moment.reorder(order)
    fit = fit_model(MomentModel.of(by_likes, likes[order], scale, noise, sampling))
    return fit.take(np.argsort(order))


def refine(
    moment: SymmetricPanels,
    likes: Floats,
    scale: float,
    noise: float,
    sampling: float,
    fit: Factors,
    observed: Observation,
    count: int = 10,
) -> Factors:
    """`count` more sweeps with a further observation of the same items' factors; their number stays."""
    order = np.argsort(-likes, kind="stable")
    in_order = np.array_equal(order, np.arange(len(order)))
    by_likes = moment if in_order else moment.reorder(order)
    model = MomentModel.of(by_likes, likes[order], scale, noise, sampling)
    with one_blas_thread():
        refined = sweeps(model, fit.take(order), count, observed.take(order))
    return refined.take(np.argsort(order))


def fit_model(model: MomentModel, effort: Effort = THOROUGH) -> Factors:
    """Grow, sweep, drop, until nothing new stands out of the noise."""
    none = np.zeros((len(model), 0))
    fit = Factors(none, none, np.zeros(0), model.weights, model.strength)
    with one_blas_thread():
        for _ in range(effort.grows):
            grown = _grow(model, fit)
            if grown.count == fit.count:
                break
            fit = worthwhile(sweeps(model, grown, effort.sweeps))
    return fit


def item_noise(fit: Factors, likes: Floats, rms: float) -> Floats:
    """psi_j: the variance of a residual rating of item j that its factors leave, errors in them included."""
    power = 1.05 * rms * rms
    explained = likes @ np.square(fit.F).sum(axis=1) / likes.sum()
    return max(power - explained, 0.3 * power) + fit.variance.sum(axis=1)


def head_blocks(items: int) -> Iterator[int]:
    """50, 100, 200, .. and all."""
    size = FIRST_BLOCK
    while size < items:
        yield size
        size *= 2
    yield items


def _grow(model: MomentModel, fit: Factors) -> Factors:
    """Add the directions of the head block in which most stands clear of the noise."""
    room = min(MOST_FACTORS, len(model) // 2) - fit.count
    best, best_gain, best_edge = None, 0.0, 0.0
    for size in head_blocks(len(model)) if room > 0 else ():
        edge = 2 * np.sqrt(model.variance * size)
        found = _clear_of_noise(model, fit, size, CLEAR * edge, room)
        gain = float((found.values - CLEAR * edge).sum())
        if gain > best_gain:
            best, best_gain, best_edge = found, gain, edge
    if best is None:
        return fit
    added = np.zeros((len(model), len(best.values)))
    added[: len(best.vectors)] = best.vectors * (best.values**2 - best_edge**2) ** 0.25
    B, V = np.hstack([fit.B, added]), np.hstack([fit.V, np.zeros_like(added)])
    return replace(fit, B=B, V=V, T=prior_variance(model.likes, fit.h, B, V))


def _clear_of_noise(model: MomentModel, fit: Factors, size: int, threshold: float, most: int) -> Pairs:
    """What stands above the threshold in the leading block of A - B B^T without its diagonal."""
    B = fit.B[:size]
    own = np.square(B).sum(axis=1)[:, None]

    def residual(x: Floats) -> Floats:
        return model.times(x, size) - B @ (B.T @ x) + own * x

    return eigen_above(residual, size, threshold, most)

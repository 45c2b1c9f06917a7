"""Strong local pairs that no low rank holds, and what every item has left of its own: public post-processing.

The residual of the moment after its factors, off the diagonal, is mostly noise of known variance nu; a few
pairs stand out. Each entry gets its posterior mean under a spike and a slab: pure noise, or noise plus a
Gaussian of standard deviation `.2 min(d_j, d_k)`, d_j being the mass of item j (no pair can exceed its items,
which keeps the tail clean). The moment is read in panels, twice; what is kept is sparse.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, logit

from hushfold.algorithms.hush.model import MomentModel
from hushfold.linalg.krylov import smallest_eigenvalue
from hushfold.linalg.panels import PANEL

Floats = NDArray[np.float64]

SLAB = 0.2  # standard deviation of a pair as a share of the lesser item's mass
FIRST_SHARE = 0.01  # of pairs in the slab, before the first step
STEPS = 20
KEPT = 0.02  # a pair is kept if it belongs to the slab with more than this probability
SHIFT = 1.5

_BINS_PER_NAT = 64
_LARGEST = 60  # nats: beyond it a pair is in the slab whatever the mixing weight


def residual_pairs(model: MomentModel, B: Floats, mass: Floats) -> csr_array:
    """Posterior means of the pairs that stand out: symmetric, nothing on the diagonal.

    Items stand by decreasing mass, so the lesser mass of a row j and a column k > j is that of k: what a pair
    needs to be kept depends on its column alone.
    """
    slab = np.square(SLAB * mass)
    size = int((slab >= model.variance / 4).sum())
    slab, noise = slab[:size], model.variance
    base = -np.log1p(slab / noise) / 2  # log Bayes factor of slab against spike: base + slope x^2
    slope = (1 / noise - 1 / (noise + slab)) / 2
    share = _mixing_weight(_log_factors(model, B, base, slope))
    prior = logit(share)
    least = np.sqrt(np.maximum(logit(KEPT) - prior - base, 0) / slope)
    shrinkage = slab / (slab + noise)
    rows: list[NDArray[np.int32]] = []
    columns: list[NDArray[np.int32]] = []
    values: list[NDArray[np.float32]] = []
    for start, panel in _residual_panels(model, B, size):
        row, column = np.nonzero(np.abs(panel) > least[start:].astype(np.float32))
        value = panel[row, column].astype(np.float64)
        column += start
        belongs = expit(prior + base[column] + slope[column] * np.square(value))
        rows.append((row + start).astype(np.int32))
        columns.append(column.astype(np.int32))
        values.append((belongs * shrinkage[column] * value).astype(np.float32))
    return _symmetric(rows, columns, values, len(model))


def residual_pairs_reference(model: MomentModel, B: Floats, mass: Floats, share: float) -> Floats:
    """The dense twin, for a given mixing weight."""
    residual = model.moment.to_dense().astype(np.float64) - B @ B.T
    slab = np.square(SLAB * np.minimum(mass[:, None], mass))
    noise = model.variance
    factor = (slab / noise / (noise + slab) * residual**2 - np.log1p(slab / noise)) / 2
    belongs = expit(logit(share) + factor)
    mean = np.where((belongs > KEPT) & (slab >= noise / 4), belongs * slab / (slab + noise) * residual, 0)
    return mean - np.diag(np.diag(mean))


def shift_of(pairs: csr_array, own: Floats) -> float:
    """What own masses must be multiplied with so that pairs and own masses are safely positive definite."""
    if pairs.nnz == 0:
        return 1.0
    scale = (1 / np.sqrt(own))[:, None]
    smallest = smallest_eigenvalue(lambda x: scale * (pairs @ (scale * x)), len(own))
    return max(1.0, -SHIFT * smallest)


def _residual_panels(model: MomentModel, B: Floats, size: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Panels of the residual over the leading `size` items; 0 on the diagonal and below."""
    factors = B[:size].astype(np.float32)
    for number, panel in enumerate(model.moment.leading(size).panels):
        start = number * PANEL
        fitted = factors[start : start + len(panel)] @ factors[start:].T
        residual = np.subtract(panel, fitted, dtype=np.float32)
        block = residual[:, : len(panel)]
        block[np.tril_indices(len(panel))] = 0
        yield start, residual


def _log_factors(model: MomentModel, B: Floats, base: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """The log Bayes factors of all pairs, counted in bins of 1/64: (values, counts)."""
    lowest = float(base.min(initial=0.0))
    bins = int((_LARGEST - lowest) * _BINS_PER_NAT) + 1
    counts = np.zeros(bins)
    shift = ((base - lowest) * _BINS_PER_NAT).astype(np.float32)
    steep = (slope * _BINS_PER_NAT).astype(np.float32)
    for start, panel in _residual_panels(model, B, len(base)):
        place = np.minimum(shift[start:] + steep[start:] * np.square(panel), bins - 1).astype(np.int32)
        above = place[np.triu_indices(len(panel), 1)], place[:, len(panel) :].ravel()
        counts += sum(np.bincount(part, minlength=bins) for part in above)
    return lowest + (np.arange(bins) + 0.5) / _BINS_PER_NAT, counts


def _mixing_weight(log_factors: tuple[Floats, Floats]) -> float:
    """The share of pairs in the slab, by expectation and maximisation."""
    values, counts = log_factors
    pairs = counts.sum()
    share = FIRST_SHARE
    for _ in range(STEPS if pairs else 0):
        share = float(counts @ expit(logit(share) + values) / pairs)
        share = min(max(share, 1e-9), 0.5)
    return share


def _symmetric(
    rows: list[NDArray[np.int32]],
    columns: list[NDArray[np.int32]],
    values: list[NDArray[np.float32]],
    size: int,
) -> csr_array:
    none = [np.zeros(0, np.int32)]
    row, column = np.concatenate(rows or none), np.concatenate(columns or none)
    value = np.concatenate(values or [np.zeros(0, np.float32)])
    both = (np.r_[row, column], np.r_[column, row])
    return csr_array((np.r_[value, value], both), shape=(size, size))

"""The public half of a DPALS step: from an item's noisy Gram and right-hand side to its factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.dpals_configs import DpalsConfig, Projection
from hushfold.linalg import psd
from hushfold.linalg.svec import unpack
from hushfold.privacy.budget import multiplier

Real = NDArray[np.floating[Any]]


def solve_items(
    grams: Real, sides: Real, ridges: Real, projection: Projection, shared: Real | None
) -> NDArray[np.float32]:
    """Lines 9-11 for a block of items: V_j = (PSD(H_j) + shared + ridge_j I)^+ b_j, as `projection` says."""
    if projection != "off":
        return psd.solve_items(grams, sides, ridges, shared, projection).astype(np.float32)
    systems = unpack(grams) + ridges[:, None, None] * np.eye(sides.shape[1])
    if shared is not None:
        systems += shared
    return np.linalg.solve(systems, sides[:, :, None])[:, :, 0].astype(np.float32)


def shared_matrix(global_gram: Real, weight: float) -> NDArray[np.float64]:
    """lambda_0 PSD(K~), from the one released row."""
    return weight * psd.nearest_psd(unpack(global_gram)[0])


def ridges_of(counts: NDArray[np.float64], ridge: float, power: float) -> NDArray[np.float64]:
    """Lambda v_j: heavier for items of larger released count, `ridge` on average. Public maths."""
    weights = np.maximum(counts, 1.0) ** power
    return ridge * weights / weights.mean()


def noise_edge(units: int, weight_budget: float, cfg: DpalsConfig) -> float:
    """About the largest eigenvalue of a Gram that is nothing but noise: 2 sqrt(r) of an off-diagonal std."""
    return multiplier(units) * math.sqrt(weight_budget) * cfg.row_clip**2 * math.sqrt(2 * cfg.rank)


def orthonormal(factors: Real) -> NDArray[np.float32]:
    """V (V^T V)^(-1/2), for the theory; where V has lost a direction, so has the result."""
    left, values, right = np.linalg.svd(factors.astype(np.float64), full_matrices=False)
    return (left * (values > 1e-12 * values.max(initial=0)) @ right).astype(np.float32)


def random_start(items: int, cfg: DpalsConfig, normal: NDArray[np.float64]) -> NDArray[np.float32]:
    """V^0 from public normal coins (items x r): orthogonal columns, entries of rms `start_scale`; free."""
    directions = np.linalg.qr(normal)[0]
    return ((1.0 if cfg.orthonormal else cfg.start_scale * np.sqrt(items)) * directions).astype(np.float32)

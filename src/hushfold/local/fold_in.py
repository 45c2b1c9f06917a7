"""Fold-in: a user's own factors from own row and public item factors.    DPALS Algorithm 1, lines 2-3, 13-15.

    min_u  sum_j w_j (value_j - intercept - V_j . u)^2 / noise_j  +  u^T background u  +  ridge_i |u|^2

What a user gets is a function of that user's row and of public state, bit by bit: whoever shares the block,
whatever its size (`tests/property/test_fold_in.py`, register 4). Whatever the row holds, the result is a
finite vector: zero where there is no answer (nothing rated, values or weights that are no numbers, equations
that are singular in the precision asked for).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.local.design import Design
from hushfold.local.fold_in_kernels import fold_users, turn
from hushfold.types import Rows

Real = NDArray[np.floating[Any]]


def fold_in(
    rows: Rows,
    design: Design,
    ridge: ArrayLike = 1.0,
    weights: Real | None = None,
    tolerance: float = 0.0,
) -> Real:
    """Every user's unknowns (users x `design.unknowns`, the intercept first if there is one).

    `ridge` is one number or one per user, computed from own rows; `weights` has one number, 0 or more, per
    entry. Entries outside the catalogue do not count. Solved exactly, in as many unknowns or as many as the
    user has entries, whichever is cheaper; with a `tolerance` by conjugate gradients, each user alone, until
    the residual of the equations has fallen to that share of where it began.
    """
    ridges = per_user("ridge", ridge, len(rows), design.dtype)
    entry_weights = per_entry("weights", weights, len(rows.items), design.dtype)
    if not 0 <= tolerance < 1:
        raise ArgumentError("tolerance", f"{tolerance} is outside 0 .. 1", "Pass 0 for the exact solution")
    users = np.zeros((len(rows), design.table.shape[1]), design.dtype)
    fold_users(
        rows.indptr,
        rows.items,
        rows.values,
        entry_weights,
        design.table,
        design.roots,
        design.fixed,
        design.ridged,
        ridges,
        design.unknowns,
        tolerance,
        users,
    )
    return own_axes(users, design)


def fold_in_reference(
    rows: Rows, design: Design, ridge: ArrayLike = 1.0, weights: Real | None = None
) -> NDArray[np.float64]:
    """`fold_in` in float64, user after user, straight from the formula."""
    items, start = len(design.factors), design.start
    x = np.hstack([np.ones((items, start)), np.asarray(design.factors, np.float64)])
    noise = np.ones(items) if design.noise is None else np.asarray(design.noise, np.float64)
    prior = np.zeros((design.unknowns, design.unknowns))
    if design.background is not None:
        prior[start:, start:] = design.background
    if design.intercept_variance is not None:
        prior[0, 0] = 1 / design.intercept_variance
    ridged = np.diag(np.r_[np.zeros(start), np.ones(design.unknowns - start)])
    every = np.ones(len(rows.items)) if weights is None else weights.astype(np.float64)
    result = np.zeros((len(rows), design.unknowns))
    ridges = np.broadcast_to(np.asarray(ridge, np.float64), len(rows))
    bounds: list[int] = rows.indptr.tolist()
    for user, (first, last) in enumerate(pairwise(bounds)):
        own = np.arange(first, last)
        own = own[(rows.items[own] >= 0) & (rows.items[own] < items)]
        own_x = x[rows.items[own]]
        precision = every[own] / noise[rows.items[own]]
        normal = (own_x.T * precision) @ own_x + prior + ridges[user] * ridged
        right = own_x.T @ (precision * rows.values[own].astype(np.float64))
        sound = (
            len(own) and (every[own] >= 0).all() and np.isfinite(normal).all() and np.isfinite(right).all()
        )
        if sound and np.linalg.eigvalsh(normal)[0] > 0:
            result[user] = np.linalg.solve(normal, right)
    return result


def own_axes(users: Real, design: Design) -> Real:
    """Drop the padding and undo the rotation, each user's row alone."""
    if design.rotation is None:
        return np.ascontiguousarray(users[:, : design.unknowns])
    turned = np.zeros((len(users), design.unknowns), users.dtype)
    turned[:, : design.start] = users[:, : design.start]
    turn(users, np.ascontiguousarray(design.rotation.T), design.start, turned)
    return turned


def per_user(name: str, setting: ArrayLike, users: int, dtype: Any) -> Real:
    """One number for each user, from one for all or one each."""
    given = _converted(setting, dtype)
    if given.shape not in ((), (users,)):
        raise ArgumentError(name, f"has shape {given.shape}", "Pass one number, or one per user")
    if given.ndim == 0 and not 0 <= given < np.inf:
        raise ArgumentError(name, f"{setting} is not a finite number from 0", "Pass e.g. 1.0")
    return _converted(np.broadcast_to(given, users), dtype)


def per_entry(name: str, given: Real | None, entries: int, dtype: Any) -> Real:
    """One number for each entry; empty stands for all ones."""
    if given is None:
        return _converted(np.zeros(0), dtype)
    if given.shape != (entries,):
        raise ArgumentError(name, f"has shape {given.shape}", "Pass one number per entry")
    return _converted(given, dtype)


def _converted(given: ArrayLike, dtype: Any) -> Real:
    """Contiguous, in this type; what is too large for it becomes infinite without a word."""
    with np.errstate(over="ignore"):
        converted: Real = np.require(given, dtype, "C")
    return converted

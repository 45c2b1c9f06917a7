"""From noised item statistics to item factors: the public half of DPALS.    Algorithm 1, lines 9-12.

Noise takes eigenvalues of an item's Gram matrix below zero, and a solve would then amplify the noise without
bound. So the matrix is first replaced by the nearest one without negative eigenvalues. Public mathematics:
everything in here was released.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.linalg.svec import rank_of, unpack

Real = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]

Projection = Literal["gram", "paper"]
"""What loses its negative eigenvalues: the item's Gram matrix, or the whole sum, as the paper prints it."""

TOGETHER = 64  # items decomposed together


def nearest_psd(matrix: Real) -> Floats:
    """The nearest symmetric matrix without negative eigenvalues (Frobenius norm); also of a stack of them."""
    values, axes = np.linalg.eigh(_symmetric(matrix))
    return (axes * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(axes, -1, -2)


def solve_items(
    grams: Real,
    rights: Real,
    ridge: ArrayLike,
    background: Real | None = None,
    projection: Projection = "gram",
) -> Floats:
    """`(PSD(gram_j) + background + ridge_j I)^+ right_j` for every item j: items x rank.

    `grams` are upper triangles (items x r (r + 1) / 2), `rights` items x r, `ridge` one number or one per
    item, `background` a symmetric r x r matrix, projected by whoever made it. Directions in which the matrix
    is zero to rounding get nothing. An item with anything that is not finite has the zero vector.
    """
    ridges = _checked(grams, rights, ridge, background, projection)
    solved = np.empty(rights.shape)
    for start in range(0, len(rights), TOGETHER):
        part = slice(start, start + TOGETHER)
        solved[part] = _solve(grams[part], rights[part], ridges[part], background, projection)
    return solved


def solve_items_reference(
    grams: Real,
    rights: Real,
    ridge: ArrayLike,
    background: Real | None = None,
    projection: Projection = "gram",
) -> Floats:
    """`solve_items`, item after item, as the formula reads. Finite statistics only."""
    rank = rights.shape[1]
    solved = np.empty(rights.shape)
    for item, own_ridge in enumerate(np.broadcast_to(np.asarray(ridge, np.float64), len(rights))):
        gram, rest = unpack(grams[item]).astype(np.float64), own_ridge * np.eye(rank)
        if background is not None:
            rest = rest + background
        matrix = nearest_psd(gram) + rest if projection == "gram" else nearest_psd(gram + rest)
        solved[item] = np.linalg.pinv(matrix, rcond=_smallest(rank), hermitian=True) @ rights[item]
    return solved


def _solve(
    grams: Real, rights: Real, ridges: Floats, background: Real | None, projection: Projection
) -> Floats:
    matrices, right = unpack(np.asarray(grams, np.float64)), np.asarray(rights, np.float64)
    rank = right.shape[1]
    sound = np.isfinite(grams).all(axis=1) & np.isfinite(right).all(axis=1) & np.isfinite(ridges)
    matrices[~sound] = 0
    right = np.where(sound[:, None], right, 0)
    shift = np.where(sound, ridges, 1)
    if projection == "paper" and background is not None:
        matrices += background
    values, axes = np.linalg.eigh(matrices)
    if projection == "paper":
        values = np.maximum(values + shift[:, None], 0)
    else:
        values = np.maximum(values, 0)
        if background is not None:
            projected = (axes * values[:, None, :]) @ np.swapaxes(axes, 1, 2)
            if (shift > 0).all():  # then the sum is positive definite, and a plain solve does
                full = projected + background + shift[:, None, None] * np.eye(rank)
                return np.asarray(np.linalg.solve(full, right[:, :, None])[:, :, 0], np.float64)
            values, axes = np.linalg.eigh(projected + background)
        values = values + shift[:, None]
    least = _smallest(rank) * values.max(axis=1, initial=0)[:, None]
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > np.maximum(least, 0))
    along = np.matmul(np.swapaxes(axes, 1, 2), right[:, :, None]) * inverse[:, :, None]
    return np.matmul(axes, along)[:, :, 0]


def _smallest(rank: int) -> float:
    """Below this share of the largest, an eigenvalue is zero to rounding."""
    return rank * float(np.finfo(np.float64).eps)


def _symmetric(matrix: Real) -> Floats:
    given = np.asarray(matrix, np.float64)
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise ArgumentError("matrix", f"has shape {given.shape}", "Pass a square matrix")
    return (given + np.swapaxes(given, -1, -2)) / 2


def _checked(grams: Real, rights: Real, ridge: ArrayLike, background: Real | None, projection: str) -> Floats:
    if rights.ndim != 2 or grams.ndim != 2 or len(grams) != len(rights):
        raise ArgumentError("grams, rights", "are not two rows for each item", "Pass one of each per item")
    if rank_of(grams.shape[1]) != rights.shape[1]:
        raise ArgumentError(
            "grams", f"are no triangles of rank {rights.shape[1]}", "Pass r (r + 1) / 2 columns"
        )
    if projection not in ("gram", "paper"):
        raise ArgumentError("projection", f"{projection!r} is not known", "Choose 'gram' or 'paper'")
    ridges = np.asarray(ridge, np.float64)
    if ridges.shape not in ((), (len(rights),)) or (ridges < 0).any():
        raise ArgumentError("ridge", "is not one number from 0, or one per item", "Pass e.g. 10.0")
    if background is not None and background.shape != (rights.shape[1],) * 2:
        raise ArgumentError("background", f"has shape {background.shape}", "Pass a rank x rank matrix")
    return np.broadcast_to(ridges, len(rights))

"""The public tables of a lattice Gaussian: cells, thresholds, guide. Made once for a standard deviation."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray

GUIDE_BITS = 12


class Law(NamedTuple):
    """What the sampler and its readable twin both read; a named tuple, for compiled loops."""

    shift: int
    """f: a cell is 2^f integers wide, and 8 to 16 cells are as wide as a standard deviation."""
    half: int
    """Cells on either side of zero; cell `c` of the table starts at (c - half) 2^f."""
    bits: int
    """How many of the 53 acceptance bits stand in a draw's second word, above its f position bits."""
    scale: float
    """1 / (2 sigma^2), correctly rounded."""
    thresholds: NDArray[np.uint64]
    """Cumulative upper end of each cell but the last, one row each, most significant word first."""
    guide: NDArray[np.uint64]
    """By the first 12 bits of a draw: the rest of the one threshold inside (52 bits), the cell below (12)."""
    decay: NDArray[np.float64]
    """exp(-j / 8), correctly rounded, for j = 0, 1, ..."""


@lru_cache(maxsize=256)
def law_of(sigma: float, z_max: float) -> Law:
    """The tables for a standard deviation in lattice steps, cut behind the cell `z_max` of them fall in."""
    shift = 0
    while sigma / 2.0 ** (shift + 1) >= 8:
        shift += 1
    half = floor(z_max * sigma / 2.0**shift) + 1
    levels = ceil((0.7214 * z_max**2 + 57) / 64)  # the rarest cell keeps a relative error below 2^-50
    thresholds = _thresholds(Fraction(sigma), shift, half, levels)
    scale = float(1 / (2 * Fraction(sigma) ** 2))
    guide, decay = _guide(thresholds[:, 0]), _decay(z_max)
    return Law(shift, half, min(53, 64 - shift), scale, thresholds, guide, decay)


def _thresholds(sigma: Fraction, shift: int, half: int, levels: int) -> NDArray[np.uint64]:
    """floor(2^(64 levels) P(cell <= c)), a cell in proportion to its density at the end nearest 0."""
    at = _arithmetic(64 * (levels + 1))
    scale = at.mpf(sigma.denominator**2) / (2 * sigma.numerator**2)
    # Left of zero the end nearest zero is -1, -1 - 2^f, ...: cells partition the integers, there is no sign.
    left = [at.exp(-((c * 2**shift + 1) ** 2) * scale) for c in range(half)]
    right = [at.exp(-((c * 2**shift) ** 2) * scale) for c in range(half)]
    weights = [*reversed(left), *right]
    unit, below = at.mpf(2) ** (64 * levels) / at.fsum(weights), at.mpf(0)
    rows: list[list[int]] = []
    for weight in weights[:-1]:
        below += weight
        threshold = int(at.floor(below * unit))
        rows.append([(threshold >> (64 * level)) % 2**64 for level in reversed(range(levels))])
    return np.array(rows, np.uint64)


def _guide(first_words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    rest = np.uint64(2 ** (64 - GUIDE_BITS) - 1)
    starts = np.arange(2**GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
    cell = np.searchsorted(first_words, starts, "left")
    inside = np.searchsorted(first_words, starts | rest, "right") - cell
    nearest = first_words[np.minimum(cell, len(first_words) - 1)] & rest
    crowded = np.uint64(2**GUIDE_BITS - 1)  # instead of a cell where several thresholds lie inside
    threshold = np.where(inside == 0, rest, nearest)
    return (threshold << np.uint64(GUIDE_BITS)) | np.where(inside > 1, crowded, cell.astype(np.uint64))


def _decay(z_max: float) -> NDArray[np.float64]:
    at = _arithmetic(200)
    return np.array([float(at.exp(-at.mpf(j) / 8)) for j in range(ceil(z_max) + 3)])


def _arithmetic(bits: int) -> Any:
    """Arithmetic of so many bits, apart from mpmath's global one: safe between threads."""
    context: Any = mpmath.MPContext()
    context.prec = bits
    return context

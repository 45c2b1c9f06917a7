"""Compiled loops of the lattice sampler: bit for bit the decisions of `lattice_twin`, thousands of times
faster.

The acceptance test is a fixed sequence of IEEE double operations: never `fastmath`, never fused
multiply-adds. The loops are cut so that the compiler can work on several draws at once wherever no table is
looked up.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.privacy.lattice_law import Law

Integer = int | np.int64

_ONE, _TWO = np.uint64(1), np.uint64(2)
_GUIDE_SHIFT, _CELL_BITS = np.uint64(52), np.uint64(12)
_CELL = np.uint64(
    2**12 - 1
)  # the part of a guide entry that holds the cell; all ones: several thresholds inside


@njit(nogil=True, cache=True, error_model="numpy")
def propose(
    law: Law,
    words: NDArray[np.uint64],
    out: NDArray[np.int64],
    doubts: NDArray[np.uint64],
    pending: NDArray[np.int64],
) -> Integer:
    """Add to `out` every draw that is certainly accepted; list the others in `pending`; how many those are.

    Leaves in `doubts` what is known of each: 0 accepted, 1 rejected, 2 to be decided by `settle`.
    """
    draws = np.uint64(out.size)
    for i in range(draws):
        doubts[i] = law.guide[words[_TWO * i] >> _GUIDE_SHIFT]
    _add_certain(law.shift, law.half, law.bits, law.scale, words, out, doubts)
    count = 0
    for i in range(draws):
        pending[count] = i
        count += np.int64(doubts[i] != 0)
    return count


@njit(nogil=True, cache=True, error_model="numpy")
def _add_certain(
    shift: int,
    half: int,
    bits: int,
    scale: float,
    words: NDArray[np.uint64],
    out: NDArray[np.int64],
    doubts: NDArray[np.uint64],
) -> None:
    """The vector loop of `propose`: guide entries come in by `doubts`, doubts go out."""
    mask = np.int64((_ONE << np.uint64(shift)) - _ONE)
    unused, unit = np.uint64(64 - bits), 2.0**bits
    for i in range(np.uint64(out.size)):
        first, second = words[_TWO * i], words[_TWO * i + _ONE]
        threshold, rest = doubts[i] | _CELL, first << _CELL_BITS
        unsafe = (doubts[i] & _CELL == _CELL) | (rest | _CELL == threshold)
        cell = np.int64(doubts[i] & _CELL) + np.int64(rest > threshold)
        x = ((cell - half) << shift) + (np.int64(second) & mask)
        t = _exponent(x, mask, scale)
        low, high = _around(t)
        least = np.int64(second >> unused)  # 2^bits times the uniform number lies in least .. least + 1
        rejected = unsafe | (np.float64(least + 1) > low * unit)
        undecided = unsafe | (np.float64(least) < high * unit)
        out[i] += x & (np.int64(rejected) - 1)
        doubts[i] = np.uint64(rejected) + np.uint64(rejected & undecided)


@njit(nogil=True, cache=True, error_model="numpy")
def _exponent(x: Integer, mask: Integer, scale: float) -> float:
    """(x - e)(x + e) / (2 sigma^2), e the end of x's cell nearest zero; both factors are exact."""
    sign = x >> 63
    distance = x ^ sign  # x, or -x - 1: cells start at multiples of 2^f on both sides
    inside = distance & mask
    return np.float64(inside) * np.float64(2 * distance - inside - 2 * sign) * scale


@njit(nogil=True, cache=True, error_model="numpy")
def _around(t: float) -> tuple[float, float]:
    """Two numbers with exp(-t) between them, up to rounding: most draws need no exponential."""
    low = 1.0 - t
    return low, low + 0.5 * t * t


@njit(nogil=True, cache=True, error_model="numpy")
def exponential(t: float, decay: NDArray[np.float64]) -> float:
    """exp(-t) for t >= 0 within 4 ulp: a table in steps of 1/8 times a fixed polynomial of what remains."""
    step = int(8.0 * t + 0.5)
    r = 0.125 * step - t
    p = r * (1.0 / 362880.0)
    p = r * (1.0 / 40320.0 + p)
    p = r * (1.0 / 5040.0 + p)
    p = r * (1.0 / 720.0 + p)
    p = r * (1.0 / 120.0 + p)
    p = r * (1.0 / 24.0 + p)
    p = r * (1.0 / 6.0 + p)
    p = r * (1.0 / 2.0 + p)
    p = r * (1.0 + p)
    return decay[step] + decay[step] * p


@njit(nogil=True, cache=True, error_model="numpy")
def settle(
    law: Law,
    words: NDArray[np.uint64],
    doubts: NDArray[np.uint64],
    slots: NDArray[np.int64],
    targets: NDArray[np.int64],
    start: int,
    ties: NDArray[np.uint64],
    out: NDArray[np.int64],
    rejected: NDArray[np.int64],
    count: Integer,
) -> tuple[int, int, Integer]:
    """Decide `slots[start:]`, the doubtful ones by the full rule; stop before the first that lacks tie words.

    Returns where it stopped, how many tie words it used, and how many `targets` it has `rejected`.
    """
    mask = np.int64((_ONE << np.uint64(law.shift)) - _ONE)
    unused, missing = np.uint64(64 - law.bits), 53 - law.bits
    used = 0
    for j in range(start, slots.size):
        slot = int(slots[j])
        if doubts[slot] == _ONE:
            rejected[count] = targets[j]
            count += 1
            continue
        first, second = words[2 * slot], words[2 * slot + 1]
        cell, ahead = _cell(law.thresholds, law.guide, first, ties, used)
        if cell < 0:
            return j, used, count
        x = ((cell - law.half) << law.shift) + (np.int64(second) & mask)
        t = _exponent(x, mask, law.scale)
        low, high = _around(t)
        bound = np.int64(np.ceil(min(max(low, exponential(t, law.decay)), high) * 2.0**53))
        uniform = np.int64(second >> unused) << missing
        if uniform < bound < uniform + (1 << missing):
            if ahead == ties.size:
                return j, used, count
            uniform += np.int64(ties[ahead] >> np.uint64(64 - missing))
            ahead += 1
        used = ahead
        if uniform < bound:
            out[targets[j]] += x
        else:
            rejected[count] = targets[j]
            count += 1
    return slots.size, used, count


@njit(nogil=True, cache=True, error_model="numpy")
def _cell(
    thresholds: NDArray[np.uint64],
    guide: NDArray[np.uint64],
    word: np.uint64,
    ties: NDArray[np.uint64],
    ahead: int,
) -> tuple[Integer, int]:
    """The cell whose thresholds a uniform number lies between, and the first tie word it left alone.

    The number is `word` and, for as long as a threshold starts with all words so far, one more tie word; the
    cell is -1 when those run out.
    """
    end, levels = thresholds.shape
    entry = guide[word >> _GUIDE_SHIFT] & _CELL
    cell = 0 if entry == _CELL else np.int64(entry)
    for level in range(levels):
        while cell < end and thresholds[cell, level] < word:
            cell += 1
        tied = cell
        while tied < end and thresholds[tied, level] == word:
            tied += 1
        if tied == cell:
            return cell, ahead
        end = tied
        if level + 1 < levels:
            if ahead == ties.size:
                return -1, ahead
            word = ties[ahead]
            ahead += 1
    return end, ahead

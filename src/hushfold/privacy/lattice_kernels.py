"""Compiled loops of the lattice sampler: bit for bit the decisions of `lattice_twin`, thousands of times faster.

The acceptance test is a fixed sequence of IEEE double operations: never `fastmath`, never fused multiply-adds.
The loops are cut so that the compiler can work on several draws at once wherever no table is looked up.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_ONE, _TWO = np.uint64(1), np.uint64(2)
_GUIDE_SHIFT, _CELL_BITS = np.uint64(52), np.uint64(12)
_CELL = np.uint64(2**12 - 1)  # the part of a guide entry that holds the cell; all ones: several thresholds inside


@njit(nogil=True, cache=True, error_model="numpy")
def propose(
    words: NDArray[np.uint64],
    guide: NDArray[np.uint64],
    half: int,
    shift: int,
    bits: int,
    scale: float,
    out: NDArray[np.int64],
    doubts: NDArray[np.uint64],
    pending: NDArray[np.int64],
) -> int:
    """Add to `out` every draw that is certainly accepted; list the others in `pending`; how many those are.

    Leaves in `doubts` what is known of each: 0 accepted, 1 rejected, 2 to be decided by `settle`.
    """
    draws = np.uint64(out.size)
    for i in range(draws):
        doubts[i] = guide[words[_TWO * i] >> _GUIDE_SHIFT]
    _add_certain(words, half, shift, bits, scale, out, doubts)
    count = 0
    for i in range(draws):
        pending[count] = i
        count += np.int64(doubts[i] != 0)
    return count


@njit(nogil=True, cache=True, error_model="numpy")
def _add_certain(
    words: NDArray[np.uint64],
    half: int,
    shift: int,
    bits: int,
    scale: float,
    out: NDArray[np.int64],
    doubts: NDArray[np.uint64],
) -> None:
    """The vector loop of `propose`: guide entries come in by `doubts`, doubts go out."""
    mask = np.int64((_ONE << np.uint64(shift)) - _ONE)
    unused, unit = np.uint64(64 - bits), 2.0**bits
    for i in range(np.uint64(out.size)):
        first, second = words[_TWO * i], words[_TWO * i + _ONE]
        threshold = doubts[i] | _CELL
        rest = first << _CELL_BITS
        unsafe = (doubts[i] & _CELL == _CELL) | (rest | _CELL == threshold)
        cell = np.int64(doubts[i] & _CELL) + np.int64(rest > threshold)
        x = ((cell - half) << shift) + (np.int64(second) & mask)
        t = _exponent(x, mask, scale)
        least = np.int64(second >> unused)  # the uniform number starts here and ends below the next, times 2^-bits
        low = 1.0 - t
        high = low + 0.5 * t * t
        rejected = unsafe | (np.float64(least + 1) > low * unit)
        undecided = unsafe | (np.float64(least) < high * unit)
        out[i] += x & (np.int64(rejected) - 1)
        doubts[i] = np.uint64(rejected) + np.uint64(rejected & undecided)


@njit(nogil=True, cache=True, error_model="numpy")
def _exponent(x: int, mask: int, scale: float) -> float:
    """(x - e)(x + e) / (2 sigma^2), e the end of x's cell nearest zero; both factors are exact."""
    sign = x >> 63
    distance = x ^ sign  # x, or -x - 1: cells start at multiples of 2^f on both sides
    inside = distance & mask
    return np.float64(inside) * np.float64(2 * distance - inside - 2 * sign) * scale


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
    p = r * (0.5 + p)
    p = r * (1.0 + p)
    return decay[step] + decay[step] * p


@njit(nogil=True, cache=True, error_model="numpy")
def settle(
    words: NDArray[np.uint64],
    slots: NDArray[np.int64],
    targets: NDArray[np.int64],
    start: int,
    ties: NDArray[np.uint64],
    thresholds: NDArray[np.uint64],
    guide: NDArray[np.uint64],
    doubts: NDArray[np.uint64],
    half: int,
    shift: int,
    bits: int,
    scale: float,
    decay: NDArray[np.float64],
    out: NDArray[np.int64],
    rejected: NDArray[np.int64],
    count: int,
) -> tuple[int, int, int]:
    """Decide `slots[start:]`, the doubtful ones by the full rule; stop before the first that lacks tie words.

    Returns where it stopped, how many tie words it used, and how many `targets` it has `rejected`.
    """
    mask = np.int64((_ONE << np.uint64(shift)) - _ONE)
    missing = 53 - bits
    last, levels = thresholds.shape
    used = 0
    for j in range(start, slots.size):
        if doubts[slots[j]] == _ONE:
            rejected[count] = targets[j]
            count += 1
            continue
        first, second = words[2 * slots[j]], words[2 * slots[j] + 1]
        ahead = used
        entry = guide[first >> _GUIDE_SHIFT] & _CELL
        cell, end, level, word = (0 if entry == _CELL else np.int64(entry)), last, 0, first
        while True:  # thresholds cell .. end agree with all words before `word`
            while cell < end and thresholds[cell, level] < word:
                cell += 1
            tied = cell
            while tied < end and thresholds[tied, level] == word:
                tied += 1
            if tied == cell:
                break
            end, level = tied, level + 1
            if level == levels:
                cell = end
                break
            if ahead == ties.size:
                return j, used, count
            word = ties[ahead]
            ahead += 1
        x = ((cell - half) << shift) + (np.int64(second) & mask)
        t = _exponent(x, mask, scale)
        low = 1.0 - t
        high = low + 0.5 * t * t
        bound = np.int64(np.ceil(min(max(low, exponential(t, decay)), high) * 2.0**53))
        uniform = np.int64(second >> np.uint64(64 - bits)) << missing
        accept = uniform < bound
        if accept and uniform + (1 << missing) > bound:
            if ahead == ties.size:
                return j, used, count
            accept = uniform + np.int64(ties[ahead] >> np.uint64(64 - missing)) < bound
            ahead += 1
        used = ahead
        if accept:
            out[targets[j]] += x
        else:
            rejected[count] = targets[j]
            count += 1
    return slots.size, used, count

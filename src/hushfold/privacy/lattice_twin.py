"""The lattice Gaussian as one would explain it: plain Python, one draw at a time, thresholds as whole
numbers.

This page defines the law. `lattice.add` gives the same integers for the same words, and a test holds it to
that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from math import ceil, factorial

from hushfold.privacy.lattice_law import Law
from hushfold.privacy.stream import TIES, Source, read


def draw(law: Law, source: Source, count: int) -> list[int]:
    """`count` draws: attempt a gives two words of sub-stream a to each draw not accepted so far, in order."""
    rows: list[list[int]] = law.thresholds.tolist()
    thresholds = [sum(word << (64 * i) for i, word in enumerate(reversed(row))) for row in rows]
    draws, waiting, attempt = [0] * count, list(range(count)), 0
    while waiting:
        words, ties = read(source, attempt), read(source, TIES + attempt)
        rejected: list[int] = []
        for i in waiting:
            first, second = next(words), next(words)
            cell = _cell(thresholds, law.thresholds.shape[1], first, ties)
            draws[i], kept = _point(law, cell, second, ties)
            if not kept:
                rejected.append(i)
        waiting, attempt = rejected, attempt + 1
    return draws


def _cell(thresholds: list[int], levels: int, first: int, ties: Iterator[int]) -> int:
    """How many thresholds a uniform number has reached; no more words are read than it takes to know."""
    number, unread = first, 64 * (levels - 1)
    while True:
        least, most = number << unread, (number + 1 << unread) - 1
        below, upto = bisect_left(thresholds, least), bisect_right(thresholds, most)
        if below == upto or not unread:
            return upto
        number, unread = number << 64 | next(ties), unread - 64


def _point(law: Law, cell: int, word: int, ties: Iterator[int]) -> tuple[int, bool]:
    """A point of the cell, by the low bits of `word`, and whether it is kept, by the high ones."""
    x = (cell - law.half) * 2**law.shift + word % 2**law.shift
    limit, missing = bound(law, cell, x), 53 - law.bits
    uniform = word >> (64 - law.bits) << missing
    if uniform < limit < uniform + 2**missing:  # the bits at hand do not tell
        uniform += next(ties) >> (64 - missing)
    return x, uniform < limit


def bound(law: Law, cell: int, x: int) -> int:
    """2^53 times the probability that `x` is kept, rounded up: its density over that nearest zero."""
    start = (cell - law.half) * 2**law.shift
    end = start if cell >= law.half else start + 2**law.shift - 1
    t = float(abs(x - end)) * float(abs(x + end)) * law.scale
    low = 1.0 - t
    high = low + 0.5 * t * t
    return ceil(min(max(low, exponential(law, t)), high) * 2.0**53)


def exponential(law: Law, t: float) -> float:
    """exp(-t) for t >= 0 within 4 ulp, as a fixed sequence of double operations."""
    step = int(8.0 * t + 0.5)
    nearby, r, p = float(law.decay[step]), 0.125 * step - t, 0.0
    for n in range(9, 0, -1):
        p = r * (1.0 / factorial(n) + p)
    return nearby + nearby * p

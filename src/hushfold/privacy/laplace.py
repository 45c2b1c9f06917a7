"""The discrete Laplace, exactly: P(x) in proportion to exp(-|x| / scale) on the integers, for pure epsilon.

Integer rejection after Canonne, Kamath and Steinke (2020), Algorithm 2: every coin is a comparison of whole
numbers, so there is no float, no table, no cut and nothing to add to epsilon (`proofs/laplace.md`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import NoiseError
from hushfold.privacy.stream import Source, Stream, flat, read

LARGEST_SCALE = 2**56
CHUNK = 2**14  # words encrypted at a time


class LaplaceSampler:
    """White Laplace noise on the integers; `scale` is L1 sensitivity / epsilon in lattice steps, rounded up.

    On integers of L1 sensitivity d the release is exactly (d / scale)-DP. A scale that is not a whole number
    from 1 to 2^56 raises `NoiseError`. Holds nothing secret; safe to share between threads.
    """

    def __init__(self, scale: int) -> None:
        if not (1 <= scale <= LARGEST_SCALE and scale == int(scale)):
            raise NoiseError("no Laplace noise of this scale: it is a whole number of steps from 1 to 2^56")
        self.scale = int(scale)

    def draw(self, stream: Stream, array: int, tile: int, count: int) -> NDArray[np.int64]:
        """`count` draws: the noise of one tile. Each (array, tile) of a stream is drawn once."""
        out = np.zeros(count, np.int64)
        self.add_to(stream, array, tile, out)
        return out

    def add_to(self, stream: Stream, array: int, tile: int, out: NDArray[np.int64]) -> None:
        """Add one tile of noise to the contiguous `out`, in its flat order."""
        whole = flat(out)
        add(self.scale, stream.tile(array, tile), whole)


def add(scale: int, source: Source, out: NDArray[np.int64]) -> None:
    """Add draws made of `source`'s sub-stream 0 to the flat `out`: each goes on where the last stopped."""
    run, words, done = source.substream(0), np.zeros(0, np.uint64), 0
    while done < out.size:
        fresh = np.empty(min(CHUNK, 16 * (out.size - done)), np.uint64)
        run.fill(fresh)
        words = np.concatenate([words, fresh])
        done, used = _add(scale, words, out, done)
        words = words[used:]


def draw_readably(scale: int, source: Source, count: int) -> list[int]:
    """The same integers from the same words, in plain Python: this function defines the law."""
    words = read(source, 0)
    return [_one(scale, words) for _ in range(count)]


def _one(scale: int, words: Iterator[int]) -> int:
    while True:
        remainder = _uniform(scale, words)
        if not _coin(remainder, scale, words):
            continue
        quotient = 0
        while _coin(1, 1, words):
            quotient += 1
        negative, magnitude = next(words) & 1, remainder + scale * quotient
        if negative and not magnitude:  # else zero would come twice as often as it should
            continue
        return -magnitude if negative else magnitude


def _coin(numerator: int, denominator: int, words: Iterator[int]) -> bool:
    """True with probability exp(-numerator / denominator), which is at most 1."""
    k = 1
    while _uniform(denominator, words) < numerator and _uniform(k, words) == 0:
        k += 1
    return k % 2 == 1


def _uniform(bound: int, words: Iterator[int]) -> int:
    """A whole number below `bound`; takes no word where there is no choice."""
    mask = (1 << (bound - 1).bit_length()) - 1
    while True:
        number = next(words) & mask if mask else 0
        if number < bound:
            return number


@njit(nogil=True, cache=True, error_model="numpy")
def _add(scale: int, words: NDArray[np.uint64], out: NDArray[np.int64], done: int) -> tuple[int, int]:
    """`_one` for `out[done:]`, as far as the words reach: how many draws are done, what words they took."""
    at = np.zeros(1, np.int64)
    used = 0
    while done < out.size:
        remainder = _fast_uniform(scale, words, at)
        kept = _fast_coin(remainder, scale, words, at) if remainder >= 0 else -1
        if kept == 0:
            continue
        quotient = 0
        more = kept
        while more == 1:
            more = _fast_coin(1, 1, words, at)
            quotient += more
        if more < 0 or at[0] == words.size:
            return done, used
        negative = words[at[0]] & np.uint64(1)
        at[0] += 1
        if negative and remainder == 0 and quotient == 0:
            continue
        magnitude = remainder + scale * quotient  # modulo 2^64, as the sum it is added to
        out[done] += -magnitude if negative else magnitude
        done, used = done + 1, at[0]
    return done, used


@njit(nogil=True, cache=True, error_model="numpy")
def _fast_coin(numerator: int, denominator: int, words: NDArray[np.uint64], at: NDArray[np.int64]) -> int:
    """`_coin`; -1 when the words run out."""
    k = 1
    while True:
        number = _fast_uniform(denominator, words, at)
        if number < 0:
            return -1
        if number >= numerator:
            return k & 1
        number = _fast_uniform(k, words, at)
        if number < 0:
            return -1
        if number > 0:
            return k & 1
        k += 1


@njit(nogil=True, cache=True, error_model="numpy")
def _fast_uniform(bound: int, words: NDArray[np.uint64], at: NDArray[np.int64]) -> int:
    """`_uniform`; -1 when the words run out. `at` is the next word's place."""
    if bound == 1:
        return 0
    mask = np.uint64(bound - 1)
    for fold in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(fold)
    while at[0] < words.size:
        number = words[at[0]] & mask
        at[0] += 1
        if number < np.uint64(bound):
            return np.int64(number)  # pyright: ignore[reportReturnType]
    return -1

"""The lattice Gaussian: integers drawn from exp(-x^2 / 2 sigma^2), so noise has no fine bits to give away.

The integers are cut into cells of 2^f, 8 to 16 of them to a standard deviation. A cell is chosen in proportion to
its largest density, a point inside it by f random bits, and the point is kept with the probability that turns the
staircase into the Gaussian; what is not kept is drawn again (`proofs/lattice-gaussian.md`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import NoiseError
from hushfold.privacy.lattice_kernels import propose, settle
from hushfold.privacy.lattice_law import Law, law_of
from hushfold.privacy.stream import Source, Stream, Words

Z_MAX = 14.0
LEAST_SIGMA, LARGEST_SIGMA = 2.0**26, 2.0**48
CHUNK = 2**14  # draws encrypted, proposed and settled together; two words each
TIES = 2**15  # tie words of attempt a come from sub-stream 2^15 + a


class GaussianSampler:
    """White Gaussian noise on the integers with standard deviation `sigma_int`, for one sensitivity and multiplier.

    Raises `NoiseError` where the law's stated closeness (`slack`) would not hold: below 2^26 the rounded and the
    discrete Gaussian part, above 2^48 or 2^53 / (2 z_max) float64 arguments are no longer exact. Holds nothing
    secret; safe to share between threads.
    """

    def __init__(self, sigma_int: float, z_max: float = Z_MAX, *, any_sigma_for_tests: bool = False) -> None:
        in_range = LEAST_SIGMA <= sigma_int <= LARGEST_SIGMA or (any_sigma_for_tests and sigma_int >= 8)
        if not (in_range and Z_MAX <= z_max <= 62 and 2 * z_max * sigma_int < 2.0**53):
            raise NoiseError(
                f"no Gaussian of {sigma_int:.6g} lattice steps within {z_max:.4g} standard deviations: the law "
                f"holds from 2^26 to 2^48 steps, from 14 to 62 standard deviations, and up to 2^52 in all"
            )
        self.sigma_int, self.z_max = float(sigma_int), float(z_max)
        self.law = law_of(self.sigma_int, self.z_max)

    def draw(self, stream: Stream, array: int, tile: int, count: int) -> NDArray[np.int64]:
        """`count` draws: the noise of one tile. Each (array, tile) of a stream is drawn once."""
        out = np.zeros(count, np.int64)
        self.add_to(stream, array, tile, out)
        return out

    def add_to(self, stream: Stream, array: int, tile: int, out: NDArray[np.int64]) -> None:
        """Add one tile of noise to the contiguous `out`, in its flat order, without a second array of its size."""
        if out.dtype != np.int64 or not out.flags.c_contiguous:
            raise NoiseError("noise is added to a contiguous int64 array")
        add(self.law, stream.tile(array, tile), out.reshape(-1))


def add(law: Law, source: Source, out: NDArray[np.int64]) -> None:
    """Add draws made of `source`'s words to the flat `out`.

    Attempt a reads sub-stream a for the coordinates still rejected, in increasing order, two words each.
    """
    room = min(CHUNK, out.size)
    words, doubts, pending = np.empty(2 * room, np.uint64), np.empty(room, np.uint64), np.empty(room, np.int64)
    waiting: NDArray[np.int64] | None = None  # at first all of `out`
    for attempt in range(TIES):
        run, ties, rejected = source.substream(attempt), _Ties(source, attempt), list[NDArray[np.int64]]()
        for start in range(0, out.size if waiting is None else waiting.size, CHUNK):
            if waiting is None:
                targets, drawn = None, out[start : start + CHUNK]
            else:
                targets = waiting[start : start + CHUNK]
                drawn = np.zeros(targets.size, np.int64)
            run.fill(words[: 2 * drawn.size])
            count = propose(words, law.guide, law.half, law.shift, law.bits, law.scale, drawn, doubts, pending)
            slots = pending[:count]
            if targets is None:
                rejected.append(_settle(law, words, doubts, slots, slots + start, ties, out))
            else:
                out[targets] += drawn
                rejected.append(_settle(law, words, doubts, slots, targets[slots], ties, out))
        waiting = np.concatenate(rejected) if rejected else pending[:0]
        if not waiting.size:
            return
    raise NoiseError("nothing is accepted: the stream of randomness is broken")


class _Ties:
    """The tie words of one attempt: almost never read, so nothing is encrypted before one is asked for."""

    def __init__(self, source: Source, attempt: int) -> None:
        self._source, self._number = source, TIES + attempt
        self._run: Words | None = None
        self.words = np.zeros(0, np.uint64)

    def drop(self, used: int) -> None:
        self.words = self.words[used:]

    def more(self) -> None:
        if self._run is None:
            self._run = self._source.substream(self._number)
        fresh = np.empty(64, np.uint64)
        self._run.fill(fresh)
        self.words = np.concatenate([self.words, fresh])


def _settle(
    law: Law,
    words: NDArray[np.uint64],
    doubts: NDArray[np.uint64],
    slots: NDArray[np.int64],
    targets: NDArray[np.int64],
    ties: _Ties,
    out: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Decide `slots` one by one; returns the rejected ones of `targets`."""
    rejected = np.empty(slots.size, np.int64)
    done = count = 0
    while done < slots.size:
        done, used, count = settle(
            words, slots, targets, done, ties.words, law.thresholds, law.guide, doubts, law.half,
            law.shift, law.bits, law.scale, law.decay, out, rejected, count,
        )  # fmt: skip
        ties.drop(used)
        if done < slots.size:
            ties.more()
    return rejected[:count]

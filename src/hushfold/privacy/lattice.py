"""The lattice Gaussian: integers drawn from exp(-x^2 / 2 sigma^2), so noise has no fine bits to give away.

The integers are cut into cells of 2^f, 8 to 16 of them to a standard deviation. A cell is chosen in
proportion to its largest density, a point inside it by f random bits, and the point is kept with the
probability that turns the staircase into the Gaussian; what is not kept is drawn again
(`proofs/lattice-gaussian.md`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import NoiseError
from hushfold.privacy.lattice_kernels import propose, settle
from hushfold.privacy.lattice_law import Law, law_of
from hushfold.privacy.stream import TIES, Source, Stream, Words, flat

Z_MAX = 14.0
LEAST_SIGMA, LARGEST_SIGMA = 2.0**26, 2.0**48
CHUNK = 2**14  # draws encrypted, proposed and settled together


class GaussianSampler:
    """White Gaussian noise on the integers, of standard deviation `sigma_int` = multiplier x sensitivity.

    Raises `NoiseError` where the law's stated closeness (`slack`) would not hold: below 2^26 steps the
    discrete and the rounded Gaussian part, above 2^48, or 2^52 at the cut, floats no longer hold every
    integer. Holds nothing secret; safe to share between threads. Tables are kept for the next sampler of the
    same law.
    """

    def __init__(self, sigma_int: float, z_max: float = Z_MAX, *, any_sigma_for_tests: bool = False) -> None:
        in_range = LEAST_SIGMA <= sigma_int <= LARGEST_SIGMA or (any_sigma_for_tests and sigma_int >= 8)
        if not (in_range and Z_MAX <= z_max <= 62 and (z_max + 1) * sigma_int < 2.0**52):
            raise NoiseError(
                f"no Gaussian of {sigma_int:.6g} lattice steps, cut at {z_max:.6g} standard deviations: it "
                "takes 2^26 to 2^48 steps, a cut from 14 to 62, and less than 2^52 steps at the cut"
            )
        self.sigma_int, self.z_max = float(sigma_int), float(z_max)
        self.law = law_of(self.sigma_int, self.z_max)

    def draw(self, stream: Stream, array: int, tile: int, count: int) -> NDArray[np.int64]:
        """`count` draws: the noise of one tile. Each (array, tile) of a stream is drawn once."""
        out = np.zeros(count, np.int64)
        self.add_to(stream, array, tile, out)
        return out

    def add_to(self, stream: Stream, array: int, tile: int, out: NDArray[np.int64]) -> None:
        """Add one tile of noise to the contiguous `out`, in its flat order, without an array of its size.

        The noise depends on key, array and tile alone: not on threads or other tiles.
        """
        whole = flat(out)
        add(self.law, stream.tile(array, tile), whole)


def add(law: Law, source: Source, out: NDArray[np.int64]) -> None:
    """Add draws made of `source`'s words to the flat `out`; what an attempt rejects, the next one draws."""
    waiting: NDArray[np.int64] | None = None  # everything
    for attempt in range(TIES):
        waiting = _attempt(law, source, attempt, out, waiting)
        if not waiting.size:
            return
    raise NoiseError("nothing is accepted: the stream of randomness is broken")


def _attempt(
    law: Law, source: Source, attempt: int, out: NDArray[np.int64], waiting: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Give two words of sub-stream `attempt` to each of `waiting`, in order; returns those still waiting."""
    run, ties = source.substream(attempt), _Ties(source, attempt)
    size = out.size if waiting is None else waiting.size
    room = min(CHUNK, size)
    words, doubts = np.empty(2 * room, np.uint64), np.empty(room, np.uint64)
    pending = np.empty(room, np.int64)
    rejected = [np.zeros(0, np.int64)]
    for start in range(0, size, CHUNK):
        stop = min(start + CHUNK, size)
        targets = np.arange(start, stop) if waiting is None else waiting[start:stop]
        drawn = out[start:stop] if waiting is None else out[targets]
        run.fill(words[: 2 * targets.size])
        slots = pending[: propose(law, words, drawn, doubts, pending)]
        if waiting is not None:
            out[targets] = drawn
        rejected.append(_settle(law, words, doubts, slots, targets[slots], ties, out))
    return np.concatenate(rejected)


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
        done, used, count = settle(law, words, doubts, slots, targets, done, ties.words, out, rejected, count)
        ties.drop(used)
        if done < slots.size:
            ties.more()
    return rejected[:count]


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

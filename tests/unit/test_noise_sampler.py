"""The fast sampler is the readable one, bit for bit (P-16), whatever the words, splits and threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from hushfold.errors import NoiseError
from hushfold.privacy import lattice, lattice_twin
from hushfold.privacy.lattice_law import Law, law_of
from hushfold.privacy.noise import GaussianSampler, fixed_key_for_tests
from hushfold.privacy.stream import TIES, Source, Words

SIGMAS = [8.0, 8.5, 15.99, 16.0, 100.0, 2.0**20 + 0.1, 2.0**26, 1.37 * 2**30, 2.0**29.5, 2.0**40, 2.0**48]
KEY = bytes(range(32))
GOLDEN_DRAWS = [1289251688, 1855698980, -71263116, 1160339737, -2122660001]


class Scripted:
    """A source whose sub-streams start with given words and go on with words everybody knows."""

    def __init__(self, **first: NDArray[np.uint64]) -> None:
        self.first = {int(name[1:]): words for name, words in first.items()}

    def substream(self, number: int) -> Words:
        return _Run(self.first.get(number, np.zeros(0, np.uint64)), np.random.default_rng(number))


class _Run:
    def __init__(self, first: NDArray[np.uint64], rest: np.random.Generator) -> None:
        self.first, self.rest = first, rest

    def fill(self, words: NDArray[np.uint64]) -> None:
        scripted = min(len(self.first), len(words))
        words[:scripted], self.first = self.first[:scripted], self.first[scripted:]
        words[scripted:] = self.rest.integers(0, 2**64, len(words) - scripted, np.uint64)


def agree(law: Law, make: Callable[[], Source], count: int) -> NDArray[np.int64]:
    fast = np.zeros(count, np.int64)
    lattice.add(law, make(), fast)
    readable = lattice_twin.draw(law, make(), count)
    assert fast.tobytes() == np.array(readable, np.int64).tobytes()
    return fast


@pytest.mark.parametrize("sigma", SIGMAS)
def test_twins_agree_on_a_key(sigma: float) -> None:
    agree(law_of(sigma, 14.0), lambda: fixed_key_for_tests(KEY).open().tile(7, 9), 20_000)


@pytest.mark.parametrize("z_max", [14.5, 16.0, 20.6, 40.0, 62.0])
def test_twins_agree_however_far_the_cut(z_max: float) -> None:
    agree(law_of(1.1 * 2**30, z_max), lambda: fixed_key_for_tests(KEY).open().tile(0, 0), 5_000)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 63, 1025])
def test_twins_agree_at_every_width(count: int) -> None:
    agree(law_of(2.0**30, 14.0), lambda: fixed_key_for_tests(KEY).open().tile(0, count), count)


@pytest.mark.parametrize("chunk", [1, 2, 9, 64, 1000, 4095])
def test_chunks_leave_no_trace(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, count = GaussianSampler(1.2 * 2**27), 4096
    whole = sampler.draw(fixed_key_for_tests(KEY).open(), 1, 1, count)
    monkeypatch.setattr(lattice, "CHUNK", chunk)
    assert (sampler.draw(fixed_key_for_tests(KEY).open(), 1, 1, count) == whole).all()


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_twins_agree_on_ties(sigma: float, depth: int) -> None:
    """First words equal to a threshold's, and tie words equal to its next `depth - 1` ones, then aside."""
    law = law_of(sigma, 14.0)
    rng = np.random.default_rng(depth)
    levels = law.thresholds.shape[1]
    cells = rng.integers(0, len(law.thresholds), 400)
    words = rng.integers(0, 2**64, 800, np.uint64)
    words[0::2] = law.thresholds[cells, 0]
    words[1::2] %= np.uint64(2**40)  # kept if at all possible, so that the tie is what shows
    ties = law.thresholds[cells, 1 : min(depth, levels)]
    if depth < levels:
        aside = law.thresholds[cells, depth] + rng.integers(-1, 2, 400).astype(np.uint64)
        ties = np.column_stack([ties, aside])
    drawn = agree(law, lambda: Scripted(s0=words, **{f"s{TIES}": ties.reshape(-1)}), 400)
    reached = (drawn >> law.shift) + law.half - cells
    assert set(reached.tolist()) >= ({0, 1} if depth < levels else {1})  # on a threshold: above


def test_the_tails_are_reached_word_by_word() -> None:
    law = law_of(2.0**30, 14.0)
    ends = np.array([0, 1, 2, 2**52, 2**64 - 1, 2**64 - 2, 2**64 - 2**52], np.uint64)
    words = np.column_stack([np.repeat(ends, 50), np.zeros(350, np.uint64)]).reshape(-1)
    drawn = agree(law, lambda: Scripted(s0=words), 350)
    assert np.abs(drawn[:50]).min() > 8 * 2**30
    zeros = {f"s{TIES}": np.zeros(400, np.uint64)}
    assert agree(law, lambda: Scripted(s0=words[:2], **zeros), 1)[0] == -law.half * 2**law.shift
    ones = {f"s{TIES}": np.full(400, 2**64 - 1, np.uint64)}
    last = agree(law, lambda: Scripted(s0=words[400:402], **ones), 1)[0]
    assert last >> law.shift == law.half - 1


@pytest.mark.parametrize("sigma", [2.0**26, 2.0**30, 2.0**40, 2.0**48])
def test_twins_agree_when_the_acceptance_bits_do_not_tell(sigma: float) -> None:
    """High bits that straddle the bound: a tie word decides, on the bound, one below and anywhere."""
    law = law_of(sigma, 14.0)
    rng = np.random.default_rng(3)
    missing = 53 - law.bits
    words, ties, expected = np.empty(400, np.uint64), np.zeros(200, np.uint64), np.zeros(200, bool)
    edges = np.concatenate([np.zeros(1, np.uint64), law.thresholds[:, 0], np.full(1, 2**64 - 1, np.uint64)])
    for i in range(200):
        cell = int(rng.integers(law.half - 25, law.half + 25))
        position = int(rng.integers(2**law.shift))
        limit = lattice_twin.bound(law, cell, (cell - law.half) * 2**law.shift + position)
        words[2 * i] = edges[cell] // np.uint64(2) + edges[cell + 1] // np.uint64(2)
        words[2 * i + 1] = (limit >> missing) << (64 - law.bits) | position
        low = (limit % 2**missing + int(rng.integers(-1, 2))) % 2**missing
        ties[i], expected[i] = low << (64 - missing), low < limit % 2**missing
    drawn = agree(law, lambda: Scripted(s0=words, **{f"s{TIES}": ties}), 200)
    assert ((drawn & (2**law.shift - 1)) == (words[1::2] & np.uint64(2**law.shift - 1)).astype(np.int64))[
        expected
    ].all()
    assert 0 < expected.sum() < 200


def test_twins_agree_when_nearly_everything_is_rejected() -> None:
    law = law_of(1.3 * 2**30, 14.0)
    words = np.random.default_rng(5).integers(0, 2**64, 2000, np.uint64)
    words[1::2] |= np.uint64(2**64 - 2**60)  # uniform numbers in the top sixteenth
    again = {"s1": words[:1000] | np.uint64(2**63), "s2": words[500:700]}
    agree(law, lambda: Scripted(s0=words, **again), 1000)


def test_a_broken_stream_ends_in_an_error() -> None:
    class Stuck:
        def substream(self, number: int) -> Words:
            return self

        def fill(self, words: NDArray[np.uint64]) -> None:
            words[:] = 2**64 - 1

    with pytest.raises(NoiseError, match="nothing is accepted"):
        lattice.add(law_of(2.0**30, 14.0), Stuck(), np.zeros(1, np.int64))


def test_noise_is_added_in_place() -> None:
    sampler = GaussianSampler(2.0**30)
    drawn = sampler.draw(fixed_key_for_tests(KEY).open(), 0, 0, 6000)
    sums = np.arange(6000, dtype=np.int64).reshape(20, 300)
    sampler.add_to(fixed_key_for_tests(KEY).open(), 0, 0, sums)
    assert (sums.reshape(-1) == drawn + np.arange(6000)).all()
    frozen = sums.copy()
    frozen.setflags(write=False)
    for wrong in (sums[:, :200], sums.astype(np.int32), sums.astype(float), sums.astype(">i8"), frozen):
        with pytest.raises(NoiseError, match="contiguous int64"):
            sampler.add_to(fixed_key_for_tests(KEY).open(), 0, 0, wrong)


def test_threads_leave_no_trace() -> None:
    sampler, count = GaussianSampler(2.0**30), 50_000
    alone = fixed_key_for_tests(KEY).open()
    expected = [sampler.draw(alone, 0, tile, count) for tile in range(8)]
    together, drawn = fixed_key_for_tests(KEY).open(), dict[int, NDArray[np.int64]]()

    def run(first: int) -> None:
        for tile in range(first, 8, 4):
            drawn[tile] = sampler.draw(together, 0, tile, count)

    threads = [threading.Thread(target=run, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((drawn[tile] == expected[tile]).all() for tile in range(8))


@pytest.mark.parametrize(
    ("sigma", "z_max"),
    [
        (2.0**26 * 0.999, 14),
        (2.0**48 * 1.001, 14),
        (0, 14),
        (-(2.0**30), 14),
        (float("nan"), 14),
        (float("inf"), 14),
        (2.0**30, 13.9),
        (2.0**30, 62.1),
        (2.0**30, float("nan")),
        (2.0**47.5, 24),
    ],
)
def test_laws_that_would_not_hold_are_refused(sigma: float, z_max: float) -> None:
    with pytest.raises(NoiseError, match="no Gaussian"):
        GaussianSampler(sigma, z_max)


def test_a_small_sigma_needs_the_hook_for_tests() -> None:
    with pytest.raises(NoiseError):
        GaussianSampler(8.5)
    with pytest.raises(NoiseError):
        GaussianSampler(7.9, any_sigma_for_tests=True)
    GaussianSampler(8.5, any_sigma_for_tests=True)


def test_draws_of_a_known_key_never_change() -> None:
    """A release's noise may not silently become another function of its key."""
    drawn = GaussianSampler(2.0**30).draw(fixed_key_for_tests(KEY).open(), 1, 2, 5)
    assert drawn.tolist() == GOLDEN_DRAWS

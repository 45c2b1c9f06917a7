"""No two workers, however they were started, share a block of key stream (P-09; register 7)."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence

import numpy as np
import pytest

from hushfold.errors import NoiseError
from hushfold.privacy.noise import GaussianSampler, Key, Stream
from hushfold.privacy.stream import TIES

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

RELEASES, ARRAYS, TILES, SUBSTREAMS = 2, 3, 4, (0, 1, TIES)


def blocks_of(stream: Stream, count: int) -> bytes:
    """The first key-stream blocks of every (array, tile, sub-stream) of one release."""
    words = np.empty(2 * count, np.uint64)
    seen: list[bytes] = []
    for array in range(ARRAYS):
        for number in range(TILES):
            tile = stream.tile(array, number)
            for substream in SUBSTREAMS:
                tile.substream(substream).fill(words)
                seen.append(words.tobytes())
    return b"".join(seen)


def worker(count: int) -> bytes:
    """What one process reads for several releases."""
    return b"".join(blocks_of(Key().open(), count) for _ in range(RELEASES))


def repeated(pieces: Sequence[bytes]) -> int:
    """How many 16-byte blocks came before."""
    blocks = np.frombuffer(b"".join(pieces), "V16")
    return len(blocks) - len(set(blocks.tolist()))


@pytest.mark.parametrize(
    ("method", "workers", "count"),
    [
        ("fork", 8, 50),
        ("spawn", 2, 50),
        pytest.param("fork", 8, 1800, marks=pytest.mark.slow),
        pytest.param("spawn", 8, 1800, marks=pytest.mark.slow),
    ],
)
def test_workers_share_no_block(method: str, workers: int, count: int) -> None:
    """The slow runs compare 1,036,800 blocks: 1,800 of each of 36 ranges in 16 releases of 8 workers."""
    Key()  # a process that has made keys before is the one that forks
    with multiprocessing.get_context(method).Pool(workers) as pool:
        pieces = pool.map(worker, [count] * workers, chunksize=1)
    assert sum(map(len, pieces)) == 16 * workers * RELEASES * ARRAYS * TILES * len(SUBSTREAMS) * count
    assert repeated(pieces) == 0


def test_a_shared_block_would_be_seen() -> None:
    first, second = worker(5), worker(5)
    assert repeated([first, second]) == 0
    assert repeated([first, second, first[160:176]]) == 1


def test_a_forked_child_can_neither_open_nor_draw() -> None:
    """Parent and child would draw the same noise, and their difference would show what it hides."""
    key, stream, sampler = Key(), Key().open(), GaussianSampler(2.0**30)
    child = os.fork()
    if child == 0:
        outcome = 0
        for use in (key.open, lambda: sampler.draw(stream, 0, 0, 1)):
            try:
                use()
                outcome = 1
            except NoiseError:
                pass
        Key().open().tile(0, 0)
        os._exit(outcome)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    key.open()
    sampler.draw(stream, 0, 0, 1)

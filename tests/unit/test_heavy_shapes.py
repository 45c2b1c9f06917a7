"""P-03: the integers depend on no thread, block, order, process or processor; and what the three share."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import heavy_shapes
import numpy as np
import pytest
from heavy_shapes import CATALOGUE, RANK, add_up, dense_rows, digest, pick, random_rows, shapes, tiles

from hushfold.errors import HushfoldError
from hushfold.statistics.lanes import LANES
from hushfold.types import Rows

USERS = 200
ROWS, U = random_rows(USERS, CATALOGUE, 0.05), dense_rows(USERS, RANK)
EXPECTED = heavy_shapes.everything()

every_shape = pytest.mark.parametrize("name", shapes())


@every_shape
@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("users_per_block", [1, 7, 64])
def test_threads_and_blocks_do_not_matter(name, threads, users_per_block):
    sums = add_up(shapes()[name], ROWS, U, users_per_block, threads)
    assert digest(sums) == EXPECTED[name]


@every_shape
def test_the_order_of_users_does_not_matter(name):
    order = np.random.default_rng(3).permutation(USERS)
    assert digest(add_up(shapes()[name], pick(ROWS, order), U[order], 17)) == EXPECTED[name]


def in_a_fresh_process(**environment: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, heavy_shapes.__file__],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


def test_a_fresh_process_gives_the_same():
    assert in_a_fresh_process() == [str(LANES), *EXPECTED.values()]


@pytest.mark.slow
@pytest.mark.skipif(LANES == 4, reason="this processor is the plain one")
def test_a_processor_with_shorter_registers_gives_the_same():
    plain = in_a_fresh_process(NUMBA_CPU_NAME="x86-64-v3", NUMBA_CPU_FEATURES="+avx2,+fma")
    assert plain == ["4", *EXPECTED.values()]


@every_shape
def test_nobody_and_empty_blocks(name):
    contribute, nobody = shapes()[name], Rows.empty(CATALOGUE)
    total = contribute(nobody, U[:0]).accumulator()
    total.add(contribute(nobody, U[:0]))
    silent = pick(ROWS, [0, 5])  # without a row
    total.add(contribute(silent, U[[0, 5]]))
    total.merge(contribute(nobody, U[:0]).accumulator())
    assert [tile.shape for tile in tiles(total)] == [total.spec.tile_size(k) for k in range(total.spec.tiles)]
    assert not any(tile.any() for tile in tiles(total))


@every_shape
def test_the_description_is_public(name):
    contribute = shapes()[name]
    assert contribute(ROWS, U).spec == contribute(Rows.empty(CATALOGUE), U[:0]).spec


@every_shape
def test_a_sum_can_travel_between_processes(name):
    contribute = shapes()[name]
    total = contribute(ROWS, U).accumulator()
    total.add(pickle.loads(pickle.dumps(contribute(ROWS, U))))
    assert digest(tiles(pickle.loads(pickle.dumps(total)))) == EXPECTED[name]


@every_shape
def test_a_tile_is_a_fresh_array_each_time(name):
    contribute = shapes()[name]
    total = contribute(ROWS, U).accumulator()
    total.add(contribute(ROWS, U))
    total.tile(0)[:] = 7
    assert digest(tiles(total)) == EXPECTED[name]


@pytest.mark.parametrize("name", ["gram", "moment"])
def test_nobody_joins_after_a_tile_was_read(name):
    contribute = shapes()[name]
    total, late = contribute(ROWS, U).accumulator(), contribute(ROWS, U).accumulator()
    total.tile(0)
    with pytest.raises(HushfoldError, match="no more users"):
        total.add(contribute(ROWS, U))
    with pytest.raises(HushfoldError, match="no more users"):
        total.merge(late)
    with pytest.raises(HushfoldError, match="no more users"):
        late.merge(total)

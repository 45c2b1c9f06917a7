"""Any law, any key, any tile: the fast sampler is the readable one (P-16)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from hushfold.privacy import laplace, lattice, lattice_twin
from hushfold.privacy.lattice_law import law_of
from hushfold.privacy.noise import fixed_key_for_tests

keys = some.binary(min_size=32, max_size=32)
fields = {"array": some.integers(0, 2**16 - 1), "tile": some.integers(0, 2**32 - 1)}
counts = some.integers(0, 400)


@given(
    key=keys,
    exponent=some.floats(3, 48, exclude_max=True),
    z_max=some.sampled_from([14.0, 15.7, 20.6]),
    count=counts,
    **fields,
)
def test_gaussian(key: bytes, exponent: float, z_max: float, count: int, array: int, tile: int) -> None:
    law, fast = law_of(2.0**exponent, z_max), np.zeros(count, np.int64)
    lattice.add(law, fixed_key_for_tests(key).open().tile(array, tile), fast)
    readable = lattice_twin.draw(law, fixed_key_for_tests(key).open().tile(array, tile), count)
    assert fast.tolist() == readable


@given(key=keys, scale=some.integers(1, 2**56), count=counts, **fields)
def test_laplace(key: bytes, scale: int, count: int, array: int, tile: int) -> None:
    fast = np.zeros(count, np.int64)
    laplace.add(scale, fixed_key_for_tests(key).open().tile(array, tile), fast)
    assert fast.tolist() == laplace.draw_readably(
        scale, fixed_key_for_tests(key).open().tile(array, tile), count
    )

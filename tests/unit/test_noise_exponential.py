"""The acceptance test's exponential: one fixed sequence of roundings, within 4 ulp of the truth."""

from __future__ import annotations

from math import factorial

import mpmath
import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from hushfold.privacy import lattice_kernels, lattice_twin
from hushfold.privacy.lattice_law import law_of

LAW = law_of(2.0**30, 14.0)
LARGEST = 14 / 8 + 1 / 128  # at eight cells to a standard deviation, cut at 14


def arguments(count: int, largest: float = LARGEST) -> NDArray[np.float64]:
    """Even and tiny ones, and the edges of the table's steps."""
    rng = np.random.default_rng(11)
    edges = np.arange(1, 2 * int(8 * largest), 2) / 16
    near = np.concatenate([np.nextafter(edges, 0), edges, np.nextafter(edges, 99)])
    tiny = np.exp2(-rng.uniform(1, 300, count // 4))
    even = rng.uniform(0, largest, count - len(tiny) - len(near) - 2)
    return np.concatenate([[0.0, largest], near[near <= largest], tiny, even])


@njit
def compiled(t: NDArray[np.float64], decay: NDArray[np.float64]) -> NDArray[np.float64]:
    out = np.empty_like(t)
    for i in range(t.size):
        out[i] = lattice_kernels.exponential(t[i], decay)
    return out


def unfused(t: NDArray[np.float64], decay: NDArray[np.float64]) -> NDArray[np.float64]:
    """One numpy operation at a time, so that nothing can be contracted."""
    step = np.floor(8.0 * t + 0.5)
    r, p = 0.125 * step - t, np.zeros_like(t)
    for n in range(9, 0, -1):
        p = 1.0 / factorial(n) + p
        p = r * p
    nearby = decay[step.astype(int)]
    return nearby + nearby * p


def test_compiled_and_unfused_agree_bit_for_bit() -> None:
    t = arguments(1_000_000)
    assert compiled(t, LAW.decay).tobytes() == unfused(t, LAW.decay).tobytes()
    readable = [lattice_twin.exponential(LAW, x) for x in t[::50].tolist()]
    assert compiled(t[::50], LAW.decay).tobytes() == np.array(readable).tobytes()


def furthest(t: NDArray[np.float64], decay: NDArray[np.float64]) -> float:
    """The largest error against 200 bits, in units in the last place of the truth."""
    at = mpmath.MPContext()
    at.prec = 200
    worst = 0.0
    for x, y in zip(t.tolist(), compiled(t, decay).tolist(), strict=True):
        truth = at.exp(-at.mpf(x))
        worst = max(worst, float(abs(y - truth)) / float(np.spacing(float(truth) * (1 - 2**-53))))
    return worst


def test_within_4_ulp_of_200_bits() -> None:
    assert furthest(arguments(20_000), LAW.decay) <= 4


@pytest.mark.slow
def test_a_million_arguments_within_4_ulp_of_200_bits() -> None:
    assert furthest(arguments(1_000_000), LAW.decay) <= 4


def test_within_4_ulp_as_far_as_any_cut_reaches() -> None:
    assert furthest(arguments(5_000, 62 / 8 + 1 / 128), law_of(2.0**30, 62.0).decay) <= 4

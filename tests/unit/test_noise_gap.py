"""The law that is drawn, computed and not sampled: as near the rounded Gaussian as the slack says."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from hushfold.privacy import lattice_twin
from hushfold.privacy.lattice_law import Law, law_of
from hushfold.privacy.noise import gap

AT: Any = mpmath.MPContext()
AT.prec = 600


def thresholds(law: Law) -> list[int]:
    """Cumulative probabilities of the cells, in units of 2^-(64 words), from 0 to 1."""
    rows, bits = law.thresholds.tolist(), 64 * law.thresholds.shape[1]
    inner = [sum(word << (bits - 64 * (i + 1)) for i, word in enumerate(row)) for row in rows]
    return [0, *inner, 2**bits]


def rounded(x: int, sigma: float) -> Any:
    """P(round(sigma Z) = x)."""
    root = AT.sqrt(2) * AT.mpf(sigma)
    return (AT.erfc((abs(x) - AT.mpf("0.5")) / root) - AT.erfc((abs(x) + AT.mpf("0.5")) / root)) / 2


def log_ratios(sigma: float, z_max: float, cells: list[int], seed: int = 0) -> list[float]:
    """Log of (law drawn / rounded Gaussian) up to one constant, at both ends of cells and inside."""
    law = law_of(sigma, z_max)
    edges, width = thresholds(law), 2**law.shift
    rng = np.random.default_rng(seed)
    ratios: list[float] = []
    for cell in cells:
        start = (cell - law.half) * width
        for position in (0, width - 1, int(rng.integers(width)), int(rng.integers(width))):
            x = start + position
            drawn = (
                AT.mpf(edges[cell + 1] - edges[cell]) / edges[-1] / width * lattice_twin.bound(law, cell, x)
            )
            ratios.append(float(AT.log(drawn / rounded(x, sigma) / 2**53)))
    return ratios


@pytest.mark.parametrize(
    ("sigma", "z_max"),
    [(2.0**26, 14.0), (1.37 * 2**30, 14.0), (2.0**47.9, 14.0), (2.0**26, 20.6), (2.0**30, 62.0)],
)
def test_the_law_drawn_stays_within_the_stated_gap(sigma: float, z_max: float) -> None:
    """The constant is the share of proposals that is kept, 0.95 to 0.98; what varies is the gap."""
    half = law_of(sigma, z_max).half
    every = list(range(0, 2 * half, 7 if z_max == 14 else 31))
    ratios = log_ratios(sigma, z_max, sorted({*every, 0, half - 1, half, 2 * half - 1}))
    assert max(ratios) - min(ratios) <= gap(z_max)
    assert 0.95 < np.exp(np.mean(ratios)) < 0.98


def test_the_gap_of_a_smaller_sigma_would_show() -> None:
    """Control: below the range the rounded and the discrete Gaussian part, which is why it is refused."""
    half = law_of(2.0**22, 14.0).half
    ratios = log_ratios(2.0**22, 14.0, list(range(0, 2 * half, 29)))
    assert max(ratios) - min(ratios) > gap(14.0)


def test_cells_partition_the_integers() -> None:
    for sigma in (8.0, 11.3, 2.0**30):
        law = law_of(sigma, 14.0)
        edges = thresholds(law)
        assert edges == sorted(set(edges))  # every cell can be drawn
        assert len(edges) == 2 * law.half + 1 <= 449
        assert law.half * 2**law.shift > 14 * sigma >= (law.half - 1) * 2**law.shift
        assert 8 <= sigma / 2**law.shift < 16

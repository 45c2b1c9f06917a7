"""The lattice Gaussian has its law, and laws that are nearly it are told apart (P-15; register 36).

Keys are fixed, so a pass is a pass; over keys each check below would alarm falsely once in a million runs.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hushfold.privacy.audit.calibration import calibrate, correlation_p, points_p, scale_p, shape_p
from hushfold.privacy.lattice_law import law_of
from hushfold.privacy.noise import GaussianSampler, Stream, fixed_key_for_tests

FALSE_ALARM = 1e-6
SMALL = [8.5, 11.3, 20.0, 33.0, 100.0]
LARGE = [2.0**28, 1.37 * 2**30, 2.0**40]


def stream(test: int) -> Stream:
    return fixed_key_for_tests(test.to_bytes(32, "big")).open()


def weights(sigma: float) -> NDArray[np.float64]:
    reach = np.arange(-int(15 * sigma), int(15 * sigma) + 1)
    return np.exp(-(reach**2) / (2 * sigma**2))


@pytest.mark.parametrize("sigma", SMALL)
def test_single_points_have_their_exact_probability(sigma: float) -> None:
    drawn = GaussianSampler(sigma, any_sigma_for_tests=True).draw(stream(1), 0, 0, 4_000_000)
    assert points_p(drawn, weights(sigma)) > FALSE_ALARM


@pytest.mark.parametrize("sigma", SMALL)
def test_a_magnitude_with_a_sign_bit_is_told_apart(sigma: float) -> None:
    """The classic defect: zero comes twice as often, which no test of sums can see."""
    drawn = GaussianSampler(sigma, any_sigma_for_tests=True).draw(stream(2), 0, 0, 8_000_000)
    magnitude = drawn[drawn >= 0]
    signs = np.random.default_rng(2).integers(0, 2, magnitude.size) * 2 - 1
    assert points_p(magnitude * signs, weights(sigma)) < FALSE_ALARM
    assert scale_p(magnitude * signs / np.sqrt(np.mean(magnitude**2))) > FALSE_ALARM


@pytest.mark.parametrize("sigma", SMALL)
def test_a_scale_one_percent_off_is_told_apart_by_points(sigma: float) -> None:
    drawn = GaussianSampler(sigma, any_sigma_for_tests=True).draw(stream(3), 0, 0, 4_000_000)
    assert points_p(drawn, weights(0.99 * sigma)) < FALSE_ALARM
    assert points_p(drawn, weights(1.01 * sigma)) < FALSE_ALARM


@pytest.mark.parametrize("sigma", LARGE)
def test_large_scales_are_calibrated(sigma: float) -> None:
    drawn = GaussianSampler(sigma).draw(stream(4), 0, 0, 2_000_000)
    assert [check for check in calibrate(drawn, sigma) if not check.passed] == []
    deviation = (np.mean((drawn / sigma) ** 2) - 1) / np.sqrt(2 / drawn.size)
    assert abs(deviation) < stats.norm.isf(FALSE_ALARM / 2)


def test_two_percent_less_noise_is_told_apart_by_100_000_values() -> None:
    sampler, noise = GaussianSampler(0.98 * 2.0**30), stream(5)
    drawn = [sampler.draw(noise, 0, tile, 100_000) / 2.0**30 for tile in range(20)]
    assert all(scale_p(values) < FALSE_ALARM for values in drawn)


@pytest.mark.parametrize("sigma", LARGE)
def test_low_bits_are_uniform_and_cells_leave_no_staircase(sigma: float) -> None:
    drawn = GaussianSampler(sigma).draw(stream(6), 0, 0, 2_000_000)
    assert stats.chisquare(np.bincount(drawn & 1023)).pvalue > FALSE_ALARM
    cells = np.clip(drawn >> law_of(sigma, 14.0).shift, -64, 63)
    halves = np.clip(drawn >> (law_of(sigma, 14.0).shift - 1), -128, 127)  # half a cell at a time
    for bins, width in ((cells, 1), (halves, 2)):
        count = 128 * width
        seen = np.bincount(bins + count // 2, minlength=count)
        edges = np.arange(-count // 2, count // 2 + 1) * 2.0 ** law_of(sigma, 14.0).shift / width / sigma
        edges[0], edges[-1] = -np.inf, np.inf
        expected = np.diff(stats.norm.cdf(edges)) * drawn.size
        common = expected > 20
        seen = np.append(seen[common], seen[~common].sum())
        expected = np.append(expected[common], expected[~common].sum())
        assert stats.chisquare(seen, expected, sum_check=False).pvalue > FALSE_ALARM


def test_without_rejection_the_staircase_is_told_apart() -> None:
    """Cells right, points inside them uniform: what a skipped acceptance test would draw."""
    law, rng = law_of(2.0**30, 14.0), np.random.default_rng(7)
    first = rng.integers(0, 2**64, 2_000_000, np.uint64)
    cells = np.searchsorted(law.thresholds[:, 0], first, "right") - law.half
    points = (cells << law.shift) + rng.integers(0, 2**law.shift, first.size)
    assert scale_p(points / 2.0**30) < FALSE_ALARM
    assert shape_p(points / 2.0**30) < FALSE_ALARM


def test_neighbours_tiles_arrays_and_releases_are_independent() -> None:
    sampler, count = GaussianSampler(2.0**30), 500_000
    one, other = stream(8), stream(9)
    drawn = sampler.draw(one, 0, 0, count) / 2.0**30
    for lag in (1, 2, 3, 8, 64, 4096, 2**14):
        assert correlation_p(drawn[lag:], drawn[:-lag]) > FALSE_ALARM
        assert correlation_p(drawn[lag:] ** 2 - 1, drawn[:-lag] ** 2 - 1) > FALSE_ALARM
    for stranger in (
        sampler.draw(one, 0, 1, count),
        sampler.draw(one, 1, 0, count),
        sampler.draw(other, 0, 0, count),
    ):
        assert correlation_p(drawn, stranger / 2.0**30) > FALSE_ALARM


def test_the_tail_is_there() -> None:
    """Beyond 4.5 standard deviations: a Poisson count of mean 68, against a table that was cut too early."""
    drawn = GaussianSampler(2.0**30).draw(stream(10), 0, 0, 10_000_000)
    seen, expected = int((np.abs(drawn) > 4.5 * 2**30).sum()), 10_000_000 * 2 * stats.norm.sf(4.5)
    assert 2 * min(stats.poisson.cdf(seen, expected), stats.poisson.sf(seen - 1, expected)) > FALSE_ALARM

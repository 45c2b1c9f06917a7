"""The discrete Laplace has its exact law, and its neighbours are told apart.

Keys are fixed, so a pass is a pass; over keys each check below would alarm falsely once in a million runs.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hushfold.privacy.audit.calibration import calibrate, points_p
from hushfold.privacy.noise import LaplaceSampler, fixed_key_for_tests

FALSE_ALARM = 1e-6
SCALES = [1, 2, 3, 7, 50]


def draws(scale: int, test: int, count: int = 1_000_000) -> NDArray[np.int64]:
    return LaplaceSampler(scale).draw(fixed_key_for_tests(test.to_bytes(32, "big")).open(), 0, 0, count)


def weights(scale: float) -> NDArray[np.float64]:
    reach = int(40 * scale)
    return np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)


@pytest.mark.parametrize("scale", SCALES)
def test_single_points_have_their_exact_probability(scale: int) -> None:
    assert points_p(draws(scale, 1), weights(scale)) > FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_scales_off_by_two_percent_are_told_apart(scale: int) -> None:
    drawn = draws(scale, 2)
    assert points_p(drawn, weights(0.98 * scale)) < FALSE_ALARM
    assert points_p(drawn, weights(1.02 * scale)) < FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_a_magnitude_with_a_sign_bit_is_told_apart(scale: int) -> None:
    drawn = draws(scale, 3)
    magnitude = drawn[drawn >= 0]
    signs = np.random.default_rng(3).integers(0, 2, magnitude.size) * 2 - 1
    assert points_p(magnitude * signs, weights(scale)) < FALSE_ALARM


@pytest.mark.parametrize("scale", [2**30, 3 * 2**29 + 1, 2**50])
def test_large_scales_are_calibrated(scale: int) -> None:
    checks = calibrate(draws(scale, 4, 400_000), scale, "laplace")
    assert [check for check in checks if not check.passed] == []


def test_low_bits_are_uniform() -> None:
    seen = np.bincount(draws(2**40 + 12345, 5) & 255)
    assert points_p(np.repeat(np.arange(256) - 128, seen), np.ones(257)[:256]) > FALSE_ALARM

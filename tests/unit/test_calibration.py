"""The calibration accepts what is right and notices what is wrong: scale, shape, sign, dependence."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.privacy.audit.calibration import Check, calibrate, points_p

COUNT = 40_000


def gaussian(seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(COUNT)


def failed(noise: NDArray[np.float64], scale: float = 1.0, family: str = "gaussian") -> set[str]:
    return {check.name for check in calibrate(noise, scale, family) if not check.passed}  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1.0, 2.0**30, 1e-9])
def test_right_noise_passes_on_any_scale(scale: float) -> None:
    assert failed(gaussian() * scale, scale) == set()
    laplace = np.random.default_rng(1).laplace(scale=scale, size=COUNT)
    assert failed(laplace, scale, "laplace") == set()


def test_figures_and_bounds_are_stated() -> None:
    checks = calibrate(gaussian(), 1.0)
    assert all(isinstance(check, Check) and check.bound == 1e-6 for check in checks)
    assert [check.name for check in checks] == [
        "accepts scale",
        "accepts shape",
        "accepts sign",
        "accepts neighbours",
        "rejects scale x 0.95",
        "rejects scale x 1.05",
    ]


def test_noise_five_percent_off_fails_both_ways() -> None:
    assert failed(gaussian() * 0.95) >= {"accepts scale", "rejects scale x 0.95"}
    assert failed(gaussian() * 1.05) >= {"accepts scale", "rejects scale x 1.05"}


def test_no_noise_and_no_number_fail() -> None:
    assert "accepts scale" in failed(np.zeros(COUNT))
    assert "accepts scale" in failed(np.full(COUNT, np.nan))


def test_the_wrong_shape_fails() -> None:
    rng = np.random.default_rng(2)
    assert "accepts shape" in failed(rng.uniform(-np.sqrt(3), np.sqrt(3), COUNT))
    assert "accepts shape" in failed(gaussian(), np.sqrt(2 / np.pi), "laplace")


def test_a_shifted_centre_fails() -> None:
    assert "accepts sign" in failed(gaussian() + 0.05)


def test_dependent_neighbours_fail() -> None:
    noise = gaussian()
    assert "accepts neighbours" in failed((noise + 0.1 * np.roll(noise, 1)) / np.sqrt(1.01))


def test_too_few_values_are_refused() -> None:
    with pytest.raises(ArgumentError, match="noise"):
        calibrate(gaussian()[:1000], 1.0)


def test_points_are_told_apart() -> None:
    rng = np.random.default_rng(3)
    right = np.array([1.0, 2.0, 3.0, 2.0, 1.0])
    drawn = rng.choice(np.arange(-2, 3), 100_000, p=right / right.sum())
    assert points_p(drawn, right) > 1e-6
    assert points_p(drawn, np.array([1.0, 2.0, 3.2, 2.0, 1.0])) < 1e-6

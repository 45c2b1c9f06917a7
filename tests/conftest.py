"""What every test shares: how hypothesis draws its examples, and where real data would lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent
REAL_DATA = REPOSITORY.parent / "shared" / "data"

# A change is tested with the same examples everywhere; `make slow` looks for new ones. No deadlines: a first
# call of a compiled kernel takes seconds, and no test here asserts on time.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("change", derandomize=True, database=None, max_examples=50, **_COMMON)
settings.register_profile("search", max_examples=500, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "change"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets, which is never part of the repository; the test is skipped without it."""
    if not REAL_DATA.is_dir():
        pytest.skip("no real data beside this checkout")
    return REAL_DATA

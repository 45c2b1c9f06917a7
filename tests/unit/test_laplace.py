"""The compiled Laplace sampler is the readable one, integer for integer."""

from __future__ import annotations

import numpy as np
import pytest

from hushfold.errors import NoiseError
from hushfold.privacy import laplace
from hushfold.privacy.noise import LaplaceSampler, fixed_key_for_tests

KEY = bytes(range(32))
GOLDEN_DRAWS = [67, -281, 822, 539, -3174, -1157, -127, 133]
SCALES = [1, 2, 3, 4, 5, 1000, 2**30, 2**30 + 1, 3 * 2**31, 2**56 - 1, 2**56]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("count", [0, 1, 2, 5, 3000])
def test_twins_agree_on_a_key(scale: int, count: int) -> None:
    fast = LaplaceSampler(scale).draw(fixed_key_for_tests(KEY).open(), 5, 6, count)
    readable = laplace.draw_readably(scale, fixed_key_for_tests(KEY).open().tile(5, 6), count)
    assert fast.tobytes() == np.array(readable, np.int64).tobytes()


@pytest.mark.parametrize("chunk", [1, 2, 3, 17, 1000])
def test_chunks_leave_no_trace(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LaplaceSampler(12345).draw(fixed_key_for_tests(KEY).open(), 0, 0, 500)
    monkeypatch.setattr(laplace, "CHUNK", chunk)
    assert (LaplaceSampler(12345).draw(fixed_key_for_tests(KEY).open(), 0, 0, 500) == whole).all()


def test_noise_is_added_in_place() -> None:
    sampler = LaplaceSampler(2**30)
    drawn = sampler.draw(fixed_key_for_tests(KEY).open(), 0, 0, 600)
    sums = np.arange(600, dtype=np.int64).reshape(20, 30)
    sampler.add_to(fixed_key_for_tests(KEY).open(), 0, 0, sums)
    assert (sums.reshape(-1) == drawn + np.arange(600)).all()
    with pytest.raises(NoiseError, match="contiguous int64"):
        sampler.add_to(fixed_key_for_tests(KEY).open(), 0, 0, sums[:, :20])


@pytest.mark.parametrize("scale", [0, -1, 0.5, 1.5, float("nan"), float("inf"), 2**56 + 1])
def test_scales_that_are_no_whole_number_are_refused(scale: float) -> None:
    with pytest.raises(NoiseError, match="whole number"):
        LaplaceSampler(scale)  # type: ignore[arg-type]


def test_draws_of_a_known_key_never_change() -> None:
    drawn = LaplaceSampler(1000).draw(fixed_key_for_tests(KEY).open(), 1, 2, 8)
    assert drawn.tolist() == GOLDEN_DRAWS

"""A-5: every control is caught by the layer named for it, and the honest system passes the same layers.

The table is `CONTROLS` of `privacy/audit/controls.py`: control -> layer -> what is broken. Here, per layer:

    layer         check                              this test, and where the layer is used in earnest
    bound         one user moves the sum too far     tests/property/test_sensitivity.py       (P-02)
    company       a contribution needs others        tests/property/test_company.py           (P-04, P-05)
    calibration   the noise is another one           tests/statistical/test_door_noise.py     (A-2)
    structure     a cell without fresh noise         tests/statistical/test_door_noise.py     (P-06)
    precision     fine bits tell                     tests/audit/test_precision.py            (P-07)
    key stream    two releases share a block         here and tests/integration/test_noise_processes.py (P-09)

Doors draw from the operating system here: a false alarm of the honest ones has probability 1e-6 a check.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hushfold.privacy.audit import broken_sums
from hushfold.privacy.audit.calibration import correlation_p
from hushfold.privacy.audit.controls import CONTROLS, COUNTS, GRAM, HONEST, LAYERS, structure_layer
from hushfold.privacy.audit.layouts import check_noise, draws
from hushfold.privacy.audit.sensitivity import Subject, check_bound
from hushfold.privacy.door import Door
from hushfold.privacy.noise import Key, fixed_key_for_tests


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: f"{control.name} -> {control.layer}")
def test_the_layer_named_for_a_control_catches_it(control):
    assert control.caught()


@pytest.mark.parametrize("layer", LAYERS)
def test_the_honest_system_passes_the_same_layer(layer):
    assert [check for check in LAYERS[layer](HONEST[layer]) if not check.passed] == []


def test_every_layer_has_a_control_and_every_control_of_the_specification_is_there():
    assert {control.layer for control in CONTROLS} == set(LAYERS)
    assert len({control.name for control in CONTROLS}) == len(CONTROLS)


@pytest.mark.parametrize(
    ("contribute", "least"),
    [
        (broken_sums.no_cap, 2**0.5),  # 2k items where k were allowed for
        (broken_sums.side_without_value_bound, 5.0),
        (broken_sums.mean_by_the_paper, 50**0.5),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_bound_says_by_how_much(contribute, least):
    """The figure is the factor by which the noise is too small: the whole of it, not a trace."""
    (check,) = check_bound(Subject("control", contribute, tight=False), 400)
    assert check.figure == pytest.approx(least, rel=1e-3)


def test_a_contribution_that_is_too_heavy_draws_flawless_noise():
    """The layers are not interchangeable: this one can be seen by its movement alone."""
    named = replace(COUNTS, contribute=broken_sums.no_clip)
    assert [check for check in check_noise(named) if not check.passed] == []


def two_releases(make_door) -> tuple[np.ndarray, np.ndarray]:
    stream = draws(GRAM, make_door)
    return next(stream).ravel(), next(stream).ravel()


def test_a_key_that_serves_twice_is_seen_in_the_difference_of_two_releases():
    """Register 36: under a real shared key the noise of two releases is the same to the last bit."""
    shared = partial(Door, new_key=lambda: fixed_key_for_tests(bytes(32)))
    first, second = two_releases(shared)
    assert correlation_p(first, second) < 1e-6
    assert (first == second).all()
    assert any(not check.passed for check in structure_layer(shared))
    honest = two_releases(Door)
    assert correlation_p(*honest) > 1e-6
    assert not (honest[0] == honest[1]).any()


def test_a_key_that_serves_twice_shares_its_key_stream():
    """P-09: 16-byte blocks of two releases, under one key and under two."""

    def blocks(key: Key) -> set[bytes]:
        words = np.empty(2000, np.uint64)
        key.open().tile(0, 0).substream(0).fill(words)
        return set(words.view("V16").tolist())

    shared = blocks(fixed_key_for_tests(bytes(32))), blocks(fixed_key_for_tests(bytes(32)))
    assert len(shared[0] & shared[1]) == 1000
    assert not blocks(Key()) & blocks(Key())

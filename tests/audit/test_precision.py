"""P-07: fine bits of what the door releases say nothing; fine bits of float noise give a canary away.

The canary: 50 items nobody else has, rank 128, a bound that is no power of two; noise of 50 times the bound.
Keys are fixed, so a run of the test always gives the same verdict. With 1000 runs the standard error of the
honest advantage is about 0.008; with 100 it is 0.025, and `Outcome.bound` allows for it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.keys import numbered_keys

from hushfold.privacy.audit.broken_doors import FloatNoise
from hushfold.privacy.audit.controls import attacked
from hushfold.privacy.audit.precision import Canary, Outcome, attack, finer_than, float_control, on_lattice
from hushfold.privacy.door import Door
from hushfold.statistics.base import svec_diagonal

CANARY = Canary()


def through_the_door(runs: int) -> Outcome:
    return attack(CANARY, attacked(CANARY, partial(Door, new_key=numbered_keys("precision"))), runs)


def through_floats(runs: int) -> Outcome:
    """What numpy would draw, at the same standard deviation in every cell."""
    coins = np.random.default_rng(7)
    size = CANARY.spec.size
    scale = 50 * CANARY.spec.bound * np.where(svec_diagonal(size[1]), 1, np.sqrt(0.5))

    def release(present: bool) -> np.ndarray:
        noise = coins.standard_normal(size) * scale
        return float_control(np.full(size, CANARY.value if present else 0.0), noise)

    return attack(CANARY, release, runs)


def test_a_hundred_releases_give_no_canary_away_and_floats_do():
    outcome = through_the_door(100)
    assert outcome.advantage <= outcome.bound
    assert (
        outcome.present > 0.5
    )  # the door's numbers have fine bits too: the event is not impossible, only mute
    assert through_floats(100).advantage >= 0.9


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_thousand_releases_give_no_canary_away_and_floats_do():
    outcome, control = through_the_door(1000), through_floats(1000)
    print(f"door {outcome}, advantage {outcome.advantage:.4f}; floats {control}, {control.advantage:.4f}")
    assert outcome.advantage <= 0.02
    assert control.advantage >= 0.95


def test_released_numbers_lie_on_the_lattice_and_float_ones_do_not():
    step = CANARY.spec.step
    for present in (True, False):
        assert on_lattice(attacked(CANARY, Door)(present), step)
        assert not on_lattice(attacked(CANARY, FloatNoise)(present), step)


def test_the_canary_attains_the_bound_in_every_cell_alike():
    (contribution,) = CANARY.contribute(CANARY.rows(True))
    summed = contribution.accumulator()
    summed.add(contribution)
    integers = summed.tile(0)
    assert integers.shape == CANARY.spec.size
    assert (integers == integers[0, 0]).all()
    assert integers[0, 0] * CANARY.spec.step == CANARY.value
    squares = CANARY.items * CANARY.rank**2 * int(integers[0, 0]) ** 2
    assert 0.99 < np.sqrt(squares) / 2**30 <= 1


@given(
    st.floats(1e-3, 1e3),
    st.lists(st.floats(-3e3, 3e3, allow_subnormal=False), min_size=1, max_size=50),
)
def test_no_sum_of_the_value_and_a_float_is_ever_finer(value, noise):
    """The claim the attack rests on: with the canary present the event is impossible in floats."""
    near = np.array([*noise, *(-value + step * np.spacing(value) / 64 for step in noise)])
    assert not finer_than(float_control(np.full(near.size, value), near), value).any()


def test_small_noise_alone_is_finer():
    noise = np.random.default_rng(1).uniform(-1e-3, 1e-3, 1000)
    assert finer_than(noise, 1.0).mean() > 0.9
    assert not finer_than(np.array([0.5, 0.25, 2.0**-53, 0.0, 1.0 / 3 + 1]), 1.0).any()

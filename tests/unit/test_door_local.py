"""The local model: noise is drawn for every message, and covers the replacement of a whole row."""

from __future__ import annotations

import math

import numpy as np

from hushfold.data.users import Users
from hushfold.privacy.audit.calibration import calibrate
from hushfold.privacy.budget import Budget, multiplier
from hushfold.privacy.door import Door
from hushfold.privacy.door_local import local_sum, message, replacing
from hushfold.privacy.ledger import Ledger
from hushfold.privacy.mechanisms import Gaussian
from hushfold.privacy.noise import fixed_key_for_tests
from hushfold.statistics.base import LATTICE
from hushfold.statistics.total import total
from hushfold.types import Rows

ITEMS = 300
BUDGET = Budget.gaussian(4.0, 1e-6)


def contribute(rows: Rows):
    return (total(rows, 2.0, nonnegative=True),)


def test_the_sum_of_messages_is_the_sum_plus_one_noise_per_user():
    ids = np.repeat(np.arange(50), 10)
    users = Users.from_arrays(ids, np.tile(np.arange(10), 50), np.ones(500), ITEMS)
    door = Door(Ledger.throw_away().run(method="t", config={}), BUDGET)
    (released,) = local_sum(door, "local", users, contribute, units=BUDGET.units)
    std = 2.0 * multiplier(replacing(contribute(Rows.empty(ITEMS))[0].spec, BUDGET.units)) * math.sqrt(50)
    untouched = released.value[10:]
    assert 0.8 < untouched.std() / std < 1.2  # 290 draws: 1.2 is five standard errors away
    (row,) = door.run.rows()
    assert row["units"] == BUDGET.units
    assert row["touched"] == 2 * ITEMS


def test_noise_covers_replacing_a_row():
    spec = contribute(Rows.empty(ITEMS))[0].spec
    price = replacing(spec, BUDGET.units)
    assert price * spec.replace**2 <= BUDGET.units
    assert multiplier(price) >= multiplier(BUDGET.units) * spec.replace * (1 - 1e-12)


def test_the_noise_of_one_message_has_its_law_and_is_told_from_others():
    many = 100_000
    rows = Rows(np.array([0, 0]), np.zeros(0, np.int32), np.zeros(0, np.float32), np.ones(1, np.uint64), many)
    contribution = contribute(rows)
    mechanism = Gaussian(0, contribution[0].spec, 10**8, 14.0)
    (tiles,) = message(
        contribution, [mechanism], lambda: fixed_key_for_tests(b"local model test key, 32 bytes!!")
    )
    noise = np.concatenate(tiles)
    sigma = mechanism.multiplier * LATTICE
    assert all(check.passed for check in calibrate(noise, sigma))
    assert not all(check.passed for check in calibrate(noise, sigma * 0.95))
    assert not all(check.passed for check in calibrate(noise, sigma * 1.05))


def test_two_messages_of_one_user_share_no_noise():
    rows = Rows(
        np.array([0, 0]), np.zeros(0, np.int32), np.zeros(0, np.float32), np.ones(1, np.uint64), ITEMS
    )
    mechanism = Gaussian(0, contribute(rows)[0].spec, 10**8, 14.0)
    first, second = (message(contribute(rows), [mechanism])[0] for _ in range(2))
    assert not any(np.intersect1d(a, b).size for a, b in zip(first, second, strict=True))

"""The uniform sample favours nobody's items. Fixed coins; false-alarm rate 1e-6 for the right law."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from hushfold.local.sample import uniform_sample
from hushfold.rng import PublicRandom
from hushfold.types import Rows

USERS, ITEMS, K = 6000, 10, 4


def rows() -> Rows:
    return Rows(
        np.arange(USERS + 1, dtype=np.int64) * ITEMS,
        np.tile(np.arange(ITEMS, dtype=np.int32), USERS),
        np.ones(USERS * ITEMS, np.float32),
        PublicRandom(1).per_user("ids", np.arange(USERS, dtype=np.uint64)),
        ITEMS,
    )


def surprise(picked: np.ndarray) -> float:
    """Chi-square p-value of K distinct items of ITEMS per user being equally likely."""
    counts, share = np.bincount(picked, minlength=ITEMS), K / ITEMS
    spread = USERS * share * (1 - share) * ITEMS / (ITEMS - 1)
    return float(chi2.sf(((counts - USERS * share) ** 2).sum() / spread, ITEMS - 1))


def test_every_item_is_as_likely_and_samples_of_other_names_differ():
    people = rows()
    one = uniform_sample(people, K, PublicRandom(2), "first")
    two = uniform_sample(people, K, PublicRandom(2), "second")
    assert surprise(one.items) > 1e-6
    assert surprise(two.items) > 1e-6
    both = np.intersect1d(
        np.repeat(np.arange(USERS), K) * ITEMS + one.items, np.repeat(np.arange(USERS), K) * ITEMS + two.items
    )
    expected = USERS * K * K / ITEMS
    assert abs(len(both) - expected) < 6 * np.sqrt(expected)


def test_the_first_k_items_of_everybody_are_caught():
    assert surprise(np.tile(np.arange(K), USERS)) < 1e-6


def test_a_sample_slightly_in_favour_of_one_item_is_caught():
    picked = uniform_sample(rows(), K, PublicRandom(2)).items.copy()
    picked[:: K * 12][:500] = 0
    assert surprise(picked) < 1e-6

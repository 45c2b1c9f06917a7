"""The leave-one-out round: its three sums by their definitions, its public side where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushfold.algorithms.bias_posterior import Counts, Draft, Observed
from hushfold.algorithms.hush.explicit import design_of
from hushfold.algorithms.hush.round import Question, moment_of_z, observation_of, sum_round
from hushfold.algorithms.hush.sweeps import factors_outside
from hushfold.local.leave_one_out import leave_one_out_reference
from hushfold.statistics.base import svec_size
from hushfold.types import Rows

ITEMS, RANK = 30, 3


def question(scale: float = 0.5, rank: int = RANK, t: float = 20.0) -> Question:
    coins = np.random.default_rng(0)
    items = np.full(ITEMS, t)
    counts = Counts(1.0, 5.0, items, 0.5, 100.0, 1000.0, mean=0.25)
    draft = Draft(counts, Observed(np.zeros(ITEMS), 1.0), coins.normal(0, 0.3, ITEMS), scale)
    factors, noise = coins.normal(0, 0.4, (ITEMS, rank)), coins.uniform(0.2, 0.4, ITEMS)
    return Question(draft, design_of(factors, noise, scale))


def ratings(users: int, each: int, seed: int = 1) -> Rows:
    coins = np.random.default_rng(seed)
    items = np.concatenate([np.sort(coins.choice(ITEMS, each, replace=False)) for _ in range(users)])
    values = coins.integers(1, 6, users * each).astype(np.float32)
    indptr = np.arange(users + 1, dtype=np.int64) * each
    return Rows(indptr, items.astype(np.int32), values, np.arange(users, dtype=np.uint64), ITEMS)


def sums(rows: Rows, asked: Question) -> list[np.ndarray]:
    """The real values of the three statistics, without noise."""
    values = []
    for contribution in sum_round(rows, asked):
        total = contribution.accumulator()
        total.add(contribution)
        tiles = [total.tile(tile) for tile in range(contribution.spec.tiles)]
        values.append(np.concatenate(tiles) * contribution.spec.step)
    return values


def by_definition(rows: Rows, asked: Question) -> list[np.ndarray]:
    """One user, written out."""
    draft, factors = asked.draft, asked.design.factors
    e = rows.values - 3.0 - draft.counts.mean - draft.biases[rows.items]
    own = Rows(rows.indptr, rows.items, e.astype(np.float32), rows.keys, rows.catalogue)
    z, r = leave_one_out_reference(own, asked.design, asked.longest)
    count = len(e)
    block = r[:, None] * z / math.sqrt(count)
    block *= min(1, asked.block_clip / max(np.linalg.norm(block), 1e-9))
    cross = np.zeros((ITEMS, z.shape[1]))
    cross[rows.items] = block
    omega = min(1, math.sqrt(count / 200)) / math.sqrt(2)
    square = np.zeros((z.shape[1] + 1,) * 2)
    square[:-1, :-1] = omega * (z.T @ z) / count / asked.longest**2
    square[-1, -1] = omega
    left = (r - np.einsum("ek,ek->e", z, factors[rows.items])) / math.sqrt(count)
    left *= min(1, draft.clip / np.linalg.norm(left))
    second = np.zeros(ITEMS)
    second[rows.items] = left
    return [cross, square[np.triu_indices(len(square))][None], second]


@pytest.mark.parametrize("each", [1, 2, 7, 25])
@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_the_sums_are_what_they_are_defined_to_be(each, scale):
    rows, asked = ratings(4, each), question(scale)
    expected = [
        sum(parts)
        for parts in zip(*(by_definition(rows.slice(u, u + 1), asked) for u in range(4)), strict=True)
    ]
    for found, wanted in zip(sums(rows, asked), expected, strict=True):
        assert found == pytest.approx(wanted, abs=2e-5)


def test_a_single_rating_says_nothing_about_factors_and_all_about_its_bias():
    asked = question()
    cross, z_moment, second = sums(ratings(1, 1), asked)
    assert np.abs(cross).max() < 1e-6
    assert np.abs(z_moment[0, :-1]).max() < 1e-6
    assert z_moment[0, -1] == pytest.approx(math.sqrt(1 / 200 / 2))
    assert np.count_nonzero(second) == 1


def test_the_bounds_are_what_the_round_states():
    asked = question(0.5)
    cross, z_moment, second = (contribution.spec for contribution in sum_round(ratings(1, 5), asked))
    assert cross.size == (ITEMS, RANK)
    assert cross.bound == pytest.approx(1.2 * 0.5 * 0.5 * math.sqrt(RANK))
    assert z_moment.size == (1, svec_size(RANK + 1))
    assert z_moment.bound == 1.0
    assert second.bound == pytest.approx(1.2 * 0.5)
    assert asked.longest == pytest.approx(0.8 * math.sqrt(RANK))


def test_users_with_nothing_usable_contribute_nothing():
    outside = Rows(
        np.array([0, 1]), np.array([ITEMS + 3], np.int32), np.ones(1, np.float32), np.zeros(1, "u8"), ITEMS
    )
    assert not any(part.any() for part in sums(outside, question()))
    assert not any(part.any() for part in sums(Rows.empty(ITEMS), question()))


class TestPublicSide:
    def released(self, moment: np.ndarray, weight: float, longest: float) -> np.ndarray:
        square = np.zeros((len(moment) + 1,) * 2)
        square[:-1, :-1], square[-1, -1] = weight * moment / longest**2, weight
        return square[np.triu_indices(len(square))][None] / math.sqrt(2)

    def test_the_moment_of_z_is_the_ratio_of_the_two_sums(self):
        moment = np.array([[1.0, 0.3], [0.3, 0.5]])
        assert moment_of_z(self.released(moment, 40.0, 1.5), 1.5) == pytest.approx(moment)

    def test_its_denominator_and_eigenvalues_have_floors(self):
        moment = np.array([[1.0, 0.0], [0.0, -2.0]])
        found = moment_of_z(self.released(moment, 0.5, 1.5), 1.5)
        assert found == pytest.approx(np.diag([0.5, 0.001]))

    def test_the_observation_has_the_stated_variance(self):
        asked = question(0.5, rank=2, t=9.0)
        observed = observation_of(
            asked, np.ones((ITEMS, 2)), self.released(np.eye(2) * 0.4, 50.0, asked.longest), 3.0
        )
        assert observed.design == pytest.approx(0.4 * np.eye(2))
        assert observed.variance == pytest.approx(np.full(ITEMS, 9.0 + 0.1 * 9.0 * 0.25 * 0.4))

    def test_without_noise_the_round_finds_the_factors_of_items_no_moment_covers(self):
        """Users who know their factors from some items teach the others theirs."""
        coins = np.random.default_rng(3)
        truth = coins.normal(0, 0.5, (ITEMS, 2))
        known = truth.copy()
        known[20:] = 0
        counts = Counts(-10.0, 10.0, np.full(ITEMS, 1.0), 0.5, 1.0, 1.0, 0.0)
        draft = Draft(counts, Observed(np.zeros(ITEMS), 1.0), np.zeros(ITEMS), scale=1.0)
        noise = np.where(np.arange(ITEMS) < 20, 0.05, 0.5)
        asked = Question(draft, design_of(known, noise, 1.0))
        users = 4000
        values = coins.normal(0, 1, (users, 2)) @ truth.T + 0.2 * coins.standard_normal((users, ITEMS))
        rows = Rows(
            np.arange(users + 1, dtype=np.int64) * ITEMS,
            np.tile(np.arange(ITEMS, dtype=np.int32), users),
            values.astype(np.float32).ravel(),
            np.arange(users, dtype=np.uint64),
            ITEMS,
        )
        cross, z_moment, _ = sums(rows, asked)
        t = np.full(ITEMS, users / math.sqrt(ITEMS))
        told = Question(
            Draft(Counts(-10.0, 10.0, t, 0.5, users, users * ITEMS, 0.0), draft.observed, draft.biases, 1.0),
            asked.design,
        )
        observed = observation_of(told, cross, z_moment, 0.01)
        found, variance = factors_outside(np.ones(2), observed.take(np.arange(20, ITEMS)))
        assert np.corrcoef(found.ravel(), truth[20:].ravel())[0, 1] > 0.98
        assert np.abs(found - truth[20:]).max() < 0.25
        assert (variance < 0.1).all()

"""Local bounding keeps its promises for any row and any released counts, and is each user's own business."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushfold.errors import ArgumentError
from hushfold.local.preprocess import (
    centre_and_clip,
    frequent_items,
    only_items,
    user_means,
    user_means_reference,
)
from hushfold.local.sample import smallest, smallest_reference, tail_sample, uniform_sample
from hushfold.local.weights import (
    adaptive_weights,
    adaptive_weights_reference,
    rarity,
    unit_weights,
    user_ridge,
)
from hushfold.rng import PublicRandom
from hushfold.types import Rows

CATALOGUE = 24
COINS = PublicRandom(7)
HOSTILE = st.one_of(
    st.floats(width=32), st.sampled_from([0.0, -1e30, math.nan, math.inf, -math.inf, 3.4e38, 1e-40])
)


def rows_of(people: list[dict[int, float]]) -> Rows:
    lists = [sorted(own.items()) for own in people]
    flat = [entry for own in lists for entry in own]
    return Rows(
        np.cumsum([0, *map(len, lists)]).astype(np.int64),
        np.array([j for j, _ in flat], np.int32),
        np.array([v for _, v in flat], np.float32),
        np.arange(1, len(people) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15),
        CATALOGUE,
    )


people = st.lists(st.dictionaries(st.integers(0, CATALOGUE - 1), HOSTILE, max_size=CATALOGUE), max_size=6)
counts_of_all = st.lists(
    st.one_of(st.floats(-1e3, 1e6), st.sampled_from([0.0, -5.0, math.nan, math.inf, -math.inf])),
    min_size=CATALOGUE,
    max_size=CATALOGUE,
)
steps = {
    "uniform": lambda rows, counts: uniform_sample(rows, 3, COINS),
    "tail": lambda rows, counts: tail_sample(rows, 3, counts),
    "frequent": lambda rows, counts: only_items(rows, frequent_items(counts, 0.3)),
    "centred": lambda rows, counts: centre_and_clip(rows, user_means(rows, 0.0), 2.0),
    "adaptive": lambda rows, counts: adaptive_weights(rows, counts, 0.3, 2.0, 0.9),
    "unit": lambda rows, counts: unit_weights(rows),
    "ridge": lambda rows, counts: user_ridge(rows, 0.5, 10, 20),
    "means": lambda rows, counts: user_means(rows, 0.0),
}


def answer_of(step: str, rows: Rows, counts: list[float], user: int) -> bytes:
    answer = steps[step](rows, counts)
    if isinstance(answer, Rows):
        own = answer.slice(user, user + 1)
        return own.items.tobytes() + own.values.tobytes()
    if len(answer) == len(rows):
        return answer[user : user + 1].tobytes()
    return answer[rows.indptr[user] : rows.indptr[user + 1]].tobytes()


@pytest.mark.parametrize("step", [s for s in steps if s not in ("ridge", "means")])
@given(people=people, counts=counts_of_all, data=st.data())
def test_a_user_gets_the_same_alone_and_in_any_company(step, people, counts, data):
    rows = rows_of(people)
    for user in range(len(rows)):
        alone = answer_of(step, rows.slice(user, user + 1), counts, 0)
        assert answer_of(step, rows, counts, user) == alone


@pytest.mark.parametrize("step", ["ridge", "means"])
@given(people=people)
def test_a_users_numbers_are_their_own(step, people):
    rows = rows_of(people)
    together = steps[step](rows, [])
    alone = [steps[step](rows.slice(i, i + 1), []) for i in range(len(rows))]
    assert together.tobytes() == b"".join(a.tobytes() for a in alone)


@given(people=people, counts=counts_of_all, k=st.integers(1, CATALOGUE + 1))
def test_samples_are_sublists_of_the_own_row_no_longer_than_k(people, counts, k):
    rows = rows_of(people)
    for sample in (uniform_sample(rows, k, COINS), tail_sample(rows, k, counts)):
        assert len(sample) == len(rows)
        for own, (items, values) in zip(people, sample.each(), strict=True):
            assert len(items) == min(k, len(own))
            assert (np.diff(items) > 0).all()
            for item, value in zip(items.tolist(), values, strict=True):
                assert np.array_equal(np.float32(own[item]), value, equal_nan=True)


@given(people=people, counts=counts_of_all, k=st.integers(1, 8))
def test_the_tail_sample_is_the_k_lowest_counts_ties_by_item(people, counts, k):
    rows = rows_of(people)
    key = [(math.isnan(c), c if not math.isnan(c) else 0, j) for j, c in enumerate(counts)]
    for own, (items, _) in zip(people, tail_sample(rows, k, counts).each(), strict=True):
        assert items.tolist() == sorted(sorted(own, key=lambda j: key[j])[:k])


@given(
    ranks=st.lists(st.lists(st.integers(0, 3) | st.integers(0, 2**64 - 1), max_size=12), max_size=5),
    k=st.integers(1, 6),
)
def test_the_fast_selection_equals_the_readable_one(ranks, k):
    indptr = np.cumsum([0, *map(len, ranks)]).astype(np.int64)
    flat = np.array([r for own in ranks for r in own], np.uint64)
    assert (smallest(indptr, flat, k) == smallest_reference(indptr, flat, k)).all()


@given(
    people=people,
    counts=counts_of_all,
    power=st.sampled_from([0.0, 0.25, 1 / 3, 1.0, 4.0]),
    budget=st.floats(1e-3, 200),
    cap=st.one_of(st.floats(1e-3, 10), st.just(math.inf)),
)
def test_adaptive_weights_stay_within_budget_and_cap_and_waste_nothing(people, counts, power, budget, cap):
    rows = rows_of(people)
    weights = adaptive_weights(rows, counts, power, budget, cap)
    public = rarity(counts, CATALOGUE, power)
    for start, stop in pairwise(rows.indptr.tolist()):
        own, items = weights[start:stop], rows.items[start:stop]
        assert np.isfinite(own).all()
        assert (own >= 0).all()
        assert (own <= cap).all()
        total = math.fsum(w * w for w in own.tolist())
        assert total <= budget
        affordable = min(budget, cap * cap * len(own)) if len(own) else 0.0
        assert total >= affordable * (1 - 1e-9)
        assert own.tobytes() == adaptive_weights_reference(public[items], budget, cap).tobytes()
        below = own < cap * (1 - 1e-9)
        if below.any():
            ratio = own[below] / public[items][below]
            assert ratio == pytest.approx(ratio[0], rel=1e-9)


@given(people=people, counts=counts_of_all, order=st.randoms(use_true_random=False))
def test_weights_follow_the_item_not_its_place_in_the_row(people, counts, order):
    """Items renamed by a permutation keep their weights to the last rounding."""
    names = list(range(CATALOGUE))
    order.shuffle(names)
    renamed = [{names[j]: v for j, v in own.items()} for own in people]
    moved = np.empty(CATALOGUE)
    moved[names] = counts
    before, after = rows_of(people), rows_of(renamed)
    first = adaptive_weights(before, counts, 0.3, 1.5, 0.8)
    second = adaptive_weights(after, moved, 0.3, 1.5, 0.8)
    for start, stop in pairwise(before.indptr.tolist()):
        own = dict(zip(after.items[start:stop].tolist(), second[start:stop], strict=True))
        for item, weight in zip(before.items[start:stop].tolist(), first[start:stop], strict=True):
            assert weight == pytest.approx(own[names[item]], rel=1e-12)


@given(people=people, centre=st.floats(-1e6, 1e6), bound=st.floats(1e-30, 1e30))
def test_clipping_comes_after_centring(people, centre, bound):
    clipped = centre_and_clip(rows_of(people), centre, bound).values
    assert np.isfinite(clipped).all()
    assert (np.abs(clipped.astype(np.float64)) <= bound).all()


@given(people=people)
def test_means_equal_their_twin(people):
    rows = rows_of(people)
    assert user_means(rows, 3.0).tobytes() == user_means_reference(rows, 3.0).tobytes()


@given(counts=counts_of_all, fraction=st.floats(0.001, 1))
def test_the_frequent_set_has_the_stated_size_and_the_largest_counts(counts, fraction):
    frequent = frequent_items(counts, fraction)
    assert frequent.sum() == math.ceil(fraction * CATALOGUE)
    known = np.nan_to_num(np.array(counts), nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    if not frequent.all():
        assert known[frequent].min() >= known[~frequent].max()


def test_an_item_outside_the_catalogue_is_no_exception():
    rows = Rows(
        np.array([0, 3]),
        np.array([-4, 2, 900], np.int32),
        np.ones(3, np.float32),
        np.ones(1, np.uint64),
        CATALOGUE,
    )
    counts = np.arange(CATALOGUE, dtype=float)
    assert len(tail_sample(rows, 2, counts).items) == 2
    assert (adaptive_weights(rows, counts, 0.3, 1.0) ** 2).sum() <= 1
    only_items(rows, counts > 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda rows: uniform_sample(rows, 0, COINS),
        lambda rows: tail_sample(rows, 2, [1.0]),
        lambda rows: adaptive_weights(rows, np.ones(CATALOGUE), 0.3, 0.0),
        lambda rows: adaptive_weights(rows, np.ones(CATALOGUE), 0.3, 1.0, cap=math.nan),
        lambda rows: adaptive_weights(rows, np.ones(CATALOGUE), -1.0, 1.0),
        lambda rows: adaptive_weights(rows, np.ones(CATALOGUE), 0.3, 1.0, floor=0.0),
        lambda rows: user_ridge(rows, 9.0, 1, 1),
        lambda rows: user_ridge(rows, 0.5, 0, 1),
        lambda rows: centre_and_clip(rows, 0.0, math.inf),
        lambda rows: frequent_items(np.ones(CATALOGUE), 0.0),
    ],
)
def test_a_bad_public_argument_is_named(call):
    with pytest.raises(ArgumentError):
        call(rows_of([{1: 1.0}]))

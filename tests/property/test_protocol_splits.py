"""Protocols hold out what they say: disjoint, complete, reproducible, and blind to order where promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushfold.data.split import Shares, Split, Triplets
from hushfold.errors import ArgumentError
from hushfold.evaluate.protocol import (
    LeaveOut,
    NewUsers,
    Pairs,
    Rows,
    Time,
    protocol,
    protocol_from_json,
)

logs = st.lists(
    st.tuples(st.integers(-3, 12), st.integers(0, 9), st.integers(0, 6)),
    min_size=1,
    max_size=150,
    unique=True,
)
protocols = st.one_of(
    st.builds(Rows, seed=st.integers(0, 9), validation=st.sampled_from([0, 0.1])),
    st.builds(Pairs, seed=st.integers(0, 9), validation=st.sampled_from([0, 0.2])),
    st.builds(LeaveOut, seed=st.integers(0, 9), rows_each=st.integers(1, 3), latest=st.booleans()),
    st.builds(LeaveOut, rows_each=st.integers(1, 2), validation=st.just(True)),
    st.builds(Time, validation=st.sampled_from([0, 0.3])),
    st.builds(NewUsers, seed=st.integers(0, 9), test=st.just(0.3), validation=st.sampled_from([0, 0.3])),
)


def triplets_of(log) -> Triplets:
    users, items, times = (np.array(column) for column in zip(*log, strict=True))
    return Triplets.of(users, items, times=times, catalogue=10)


def indices(split: Split) -> list[list[int]]:
    parts = [split.train, split.test.query, split.test.target]
    if split.validation is not None:
        parts += [split.validation.query, split.validation.target]
    return [part.tolist() for part in parts]


@given(log=logs, chosen=protocols)
def test_parts_are_disjoint_and_a_target_is_shown_to_nobody(log, chosen):
    triplets = triplets_of(log)
    split = chosen.split(triplets)
    assert indices(split) == indices(chosen.split(triplets))
    assert not set(split.test.target) & set(split.test.query)
    assert not set(split.test.target) & set(split.train)
    if split.validation is not None:
        assert not set(split.validation.target) & (set(split.train) | set(split.validation.query))
        assert not set(split.validation.target) & set(split.test.target)
    if isinstance(chosen, NewUsers):
        fitted = set(triplets.user[split.train])
        tested = set(triplets.user[np.concatenate([split.test.query, split.test.target])])
        assert not fitted & tested
        if split.validation is not None:
            checked = set(triplets.user[np.concatenate([split.validation.query, split.validation.target])])
            assert not checked & (fitted | tested)
    else:
        held = [split.train, split.test.target]
        if split.validation is not None:
            held.append(split.validation.target)
        assert sorted(np.concatenate(held).tolist()) == list(range(len(triplets)))
        assert set(split.test.query) == set(range(len(triplets))) - set(split.test.target)


@given(log=logs, chosen=protocols)
def test_a_protocol_reads_back_from_its_json(log, chosen):
    again = protocol_from_json(chosen.to_json())
    assert again == chosen
    triplets = triplets_of(log)
    assert indices(again.split(triplets)) == indices(chosen.split(triplets))


@given(
    log=logs,
    chosen=st.sampled_from([Pairs(test=0.4), LeaveOut(rows_each=2), LeaveOut(latest=True), Time(test=0.4)]),
    order=st.randoms(use_true_random=False),
)
def test_the_stored_order_does_not_matter(log, chosen, order):
    """Only `rows` and `new-users`, worded in stored order, may see it."""
    shuffled = log.copy()
    order.shuffle(shuffled)

    def held(rows) -> set:
        split = chosen.split(triplets_of(rows))
        return {rows[i][:2] for i in split.test.target.tolist()}

    distinct = list({row[:2]: row for row in log}.values())
    again = [row for row in shuffled if row in set(distinct)]
    assert held(distinct) == held(again)


@given(log=logs, left=st.integers(-3, 12))
def test_leaving_out_rows_of_others_does_not_depend_on_who_else_is_there(log, left):
    chosen = LeaveOut(rows_each=1, seed=3)

    def held(rows) -> set:
        if not rows:
            return set()
        target = chosen.split(triplets_of(rows)).test.target
        return {rows[i] for i in target.tolist() if rows[i][0] != left}

    distinct = list({row[:2]: row for row in log}.values())
    assert held(distinct) == held([row for row in distinct if row[0] != left])


@given(seed=st.integers(0, 99), rows=st.integers(1, 300))
def test_rows_is_worded_as_in_the_tables(seed, rows):
    triplets = Triplets.of(np.zeros(rows, int), np.arange(rows))
    split = protocol("rows", "90/10", seed).split(triplets)
    assert (
        split.test.target.tolist() == np.flatnonzero(np.random.default_rng(seed).random(rows) < 0.1).tolist()
    )


@given(log=logs, seed=st.integers(0, 99))
def test_new_users_is_worded_as_in_the_tables(log, seed):
    triplets = triplets_of(log)
    split = protocol("new-users", "90/10", seed).split(triplets)
    rng = np.random.default_rng(seed)
    own = np.bincount(triplets.user)
    people = rng.permutation(np.flatnonzero(own >= 3))
    held = people[: min(2000, len(people) // 10)]
    rows = np.flatnonzero(np.isin(triplets.user, held[own[held] >= 5]))
    shown = rng.random(len(rows)) < 0.8
    assert split.test.query.tolist() == rows[shown].tolist()
    assert split.test.target.tolist() == rows[~shown].tolist()
    assert split.train.tolist() == np.flatnonzero(np.isin(triplets.user, people[len(held) :])).tolist()


def test_leave_out_takes_the_same_number_of_everybody_who_has_more():
    log = [(u, j, u * j % 5) for u in range(6) for j in range(u + 1)]
    split = LeaveOut(rows_each=2, latest=True).split(triplets_of(log))
    per_user = np.bincount([log[i][0] for i in split.test.target], minlength=6)
    assert per_user.tolist() == [0, 0, 2, 2, 2, 2]
    for user in range(2, 6):
        times = [row[2] for row in log if row[0] == user]
        kept = [log[i][2] for i in split.train.tolist() if log[i][0] == user]
        assert max(kept) <= sorted(times)[-2]


def test_the_past_ends_before_the_future_begins():
    rng = np.random.default_rng(0)
    times = rng.integers(0, 40, 500)
    triplets = Triplets.of(rng.integers(0, 20, 500), rng.integers(0, 99, 500), times=times)
    split = protocol("time", "80/10/10").split(triplets)
    assert split.validation is not None
    assert times[split.train].max() < times[split.validation.target].min()
    assert times[split.validation.target].max() < times[split.test.target].min()


def test_shares_are_about_as_asked():
    rng = np.random.default_rng(1)
    triplets = Triplets.of(rng.integers(0, 900, 20_000), rng.integers(0, 5000, 20_000))
    for name in ("rows", "pairs"):
        split = protocol(name, "80/10/10", seed=4).split(triplets)
        assert split.validation is not None
        sizes = [len(split.train), len(split.validation.target), len(split.test.target)]
        assert sizes == pytest.approx([16_000, 2000, 2000], abs=250)


def test_other_seeds_hold_out_other_rows():
    rng = np.random.default_rng(1)
    triplets = Triplets.of(rng.integers(0, 900, 5000), rng.integers(0, 5000, 5000))
    for name in ("rows", "pairs", "leave-out", "new-users"):
        one, two = (protocol(name, "80/20", seed).split(triplets).test.target for seed in (1, 2))
        assert one.tolist() != two.tolist()


def test_text_ids_and_the_sealed_handle():
    triplets = Triplets.of(["b", "a", "b"], [1, 0, 2], [3.0, 4.0, 5.0])
    assert triplets.user.tolist() == [1, 0, 1]
    assert triplets.catalogue == 3
    assert [len(rows) for rows in triplets.take(np.array([0, 2])).handle().blocks()] == [1]
    assert "3.0" not in repr(triplets)


def test_shares_are_read():
    assert Shares.parse("80/10/10") == Shares(0.8, 0.1, 0.1)
    assert Shares.parse("98/1/1").test == pytest.approx(0.01)
    assert Shares.parse("0.9/0.1") == Shares(0.9, 0.0, 0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Shares.parse("80"),
        lambda: Shares.parse("a/b"),
        lambda: Shares.parse("90/10/0"),
        lambda: Shares.parse("nan/10"),
        lambda: Shares.parse("110/-10"),
        lambda: protocol("columns"),
        lambda: protocol_from_json('{"name": "rows", "sed": 1}'),
        lambda: protocol("time").split(Triplets.of([1], [0])),
        lambda: LeaveOut(latest=True).split(Triplets.of([1], [0])),
        lambda: Triplets.of([1], [5], catalogue=5),
        lambda: Triplets.of([1, 2], [0]),
    ],
)
def test_bad_arguments_are_named(call):
    with pytest.raises(ArgumentError):
        call()

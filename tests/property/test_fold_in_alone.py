"""P-04: what a user computes is bitwise the same whoever shares the block, and however large it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfold.local.design import Design
from hushfold.local.fold_in import fold_in
from hushfold.local.leave_one_out import leave_one_out
from hushfold.local.posterior import predictive_std
from hushfold.local.residual import root_mean_squares, shrunk_means
from hushfold.privacy.audit.hostile import hostile_rows
from hushfold.threads import ordered_map
from hushfold.types import Rows

CATALOGUE = 300


def crowd(users, seed=0, longest=200):
    coins = np.random.default_rng(seed)
    lengths = coins.integers(0, 2, users) * coins.integers(1, longest, users) + coins.integers(0, 40, users)
    items = [np.sort(coins.choice(CATALOGUE, length, replace=False)) for length in lengths]
    return Rows(
        np.r_[0, np.cumsum(lengths)].astype(np.int64),
        np.concatenate(items).astype(np.int32),
        coins.normal(size=int(lengths.sum())).astype(np.float32),
        coins.integers(0, 2**63, users).astype(np.uint64),
        CATALOGUE,
    )


def design_of(rank, kind, dtype):
    coins = np.random.default_rng(rank)
    factors = coins.normal(size=(CATALOGUE, rank))
    if kind == "hush":
        return Design(factors, coins.uniform(0.5, 2, CATALOGUE), intercept_variance=0.3, dtype=dtype)
    return Design(factors, background=factors.T @ factors * (kind == "likes"), dtype=dtype)


def own_ridge(rows):
    return (1.0 + np.diff(rows.indptr)) ** 0.5


STEPS = {
    "exact": lambda rows, design: fold_in(rows, design, own_ridge(rows)),
    "by conjugate gradients": lambda rows, design: fold_in(rows, design, own_ridge(rows), tolerance=1e-3),
    "weighted": lambda rows, design: fold_in(rows, design, weights=np.abs(rows.values)),
}


def in_blocks(step, rows, size, first=0, threads=1):
    starts = range(first, len(rows), size)
    parts = ordered_map(lambda start: step(rows.slice(start, min(start + size, len(rows)))), starts, threads)
    return np.concatenate(list(parts))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["plain", "likes"])
@pytest.mark.parametrize("name", STEPS)
def test_company_does_not_matter(name, kind, dtype):
    rows, design = crowd(1200), design_of(20, kind, dtype)

    def step(block):
        return STEPS[name](block, design)

    everybody = step(rows)
    assert (np.abs(everybody).sum(axis=1) > 0).mean() > 0.9
    for size in (1, 17, 512):
        np.testing.assert_array_equal(in_blocks(step, rows, size), everybody)
        np.testing.assert_array_equal(
            in_blocks(step, rows, size, first=1), everybody[1:]
        )  # the first user left
    np.testing.assert_array_equal(in_blocks(step, rows, 17, threads=2), everybody)
    one_less = np.arange(len(rows)) != 700
    np.testing.assert_array_equal(step(rows.keep_users(one_less)), everybody[one_less])


def test_a_step_that_looks_at_its_company_is_caught():
    rows, design = crowd(100), design_of(5, "plain", "float64")

    def peeking(block):
        ridge = 1.0 + 1e-12 * len(block)
        return fold_in(block, design, ridge)

    for size in (1, 17):
        assert (in_blocks(peeking, rows, size) != peeking(rows)).any()
    assert (in_blocks(peeking, rows, 512, first=1) != peeking(rows)[1:]).any()


@pytest.mark.parametrize("rank", [3, 40, 64])
def test_company_does_not_matter_at_any_rank(rank):
    rows, design = crowd(300), design_of(rank, "plain", "float32")
    everybody = fold_in(rows, design)
    np.testing.assert_array_equal(in_blocks(lambda block: fold_in(block, design), rows, 17, 1), everybody[1:])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_company_does_not_matter_to_the_round(dtype):
    rows, design = crowd(300), design_of(7, "hush", dtype)

    def met(block):
        z, r = leave_one_out(block, design, 1.5)
        return np.column_stack([z, r])

    def asked(block):
        return predictive_std(block, design, block)

    for step in (met, asked, shrunk_means, root_mean_squares):
        everybody = step(rows)
        first = len(everybody) - len(step(rows.slice(1, len(rows))))
        for size in (1, 17, 512):
            np.testing.assert_array_equal(in_blocks(step, rows, size), everybody)
            np.testing.assert_array_equal(in_blocks(step, rows, size, first=1), everybody[first:])


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), rank=st.integers(1, 20), kind=st.sampled_from(["plain", "likes", "hush"]))
def test_hostile_company_does_not_matter_and_every_result_is_finite(seed, rank, kind):
    coins = np.random.default_rng(seed)
    rows, design = hostile_rows(coins, 8, CATALOGUE), design_of(rank, kind, "float32")
    everybody = fold_in(rows, design, own_ridge(rows))
    assert np.isfinite(everybody).all()
    np.testing.assert_array_equal(
        in_blocks(lambda block: fold_in(block, design, own_ridge(block)), rows, 1), everybody
    )
    if kind != "likes":
        met = leave_one_out(rows, Design(design.factors, design.noise, None, design.intercept_variance), 1.0)
        assert np.isfinite(met.z).all()
        assert np.isfinite(met.r).all()
        assert np.linalg.norm(met.z.astype(np.float64), axis=1).max(initial=0) <= 1 + 1e-6

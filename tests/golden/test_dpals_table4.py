"""Table 4 of the DPALS paper, accounted three ways (P-13).

The paper's conversion on the paper's bill, which reproduces its columns; the exact curve on the same bill;
and the exact curve on the correct bill, in which the noisy mean of up to k ratings costs k times more.
"""

from __future__ import annotations

import math

import pytest

from hushfold.privacy.accountant import (
    DpalsRound,
    Gaussian,
    account,
    paper_dpals_epsilon,
    paper_dpals_rho2,
)

# T, k, sigma_G, sigma_g, sigma_p -> claimed; closed form; exact curve; exact curve on the correct bill
TOP400 = [
    (2, 40, 126.9, 63.4, 200, 0.8, 0.801, 0.584, 0.607),
    (2, 50, 29.0, 14.5, 200, 4, 4.006, 3.255, 3.263),
]
ML10M = [
    (2, 50, 125.9, 63.0, 100, 1, 1.001, 0.742, 0.833),
    (2, 50, 27.8, 13.9, 20, 5, 5.008, 4.124, 4.74),
    (2, 50, 15.5, 7.7, 10, 10, 10.041, 8.592, 10.155),
    (2, 50, 7.5, 3.8, 10, 20, 19.824, 17.533, 18.667),
]
DELTA = 1e-5


@pytest.mark.parametrize(
    ("steps", "items", "gram", "rhs", "pre", "claimed", "closed", "exact", "correct"), TOP400 + ML10M
)
def test_three_columns(steps, items, gram, rhs, pre, claimed, closed, exact, correct):
    root = math.sqrt(items)
    rounds = DpalsRound(gram / root, rhs / root, count=steps, gap=0)
    counts = Gaussian(pre / root, 2)
    mean_as_billed, mean_as_it_is = Gaussian(pre, 2), Gaussian(pre / root, 2)

    bill = paper_dpals_rho2(steps, items, gram, rhs, pre)
    assert round(paper_dpals_epsilon(bill, DELTA), 3) == closed
    assert closed == pytest.approx(claimed, rel=0.01)

    on_the_papers_bill = account([rounds, counts, mean_as_billed], DELTA)
    assert on_the_papers_bill.rho == pytest.approx(bill)
    assert round(on_the_papers_bill.epsilon, 3) == exact

    on_the_correct_bill = account([rounds, counts, mean_as_it_is], DELTA)
    assert round(on_the_correct_bill.epsilon, 3) == correct


# T, k, sigma of both statistics -> claimed; closed form; exact curve (two counts, no centring, K not billed)
ML20M = [
    (1, 60, 64.0, 1, 1.009, 0.75),
    (3, 60, 20.2, 5, 5.05, 4.17),
    (3, 100, 14.0, 10, 10.08, 8.65),
    (1, 60, 3.5, 20, 20.1, 17.9),
]


@pytest.mark.parametrize(("steps", "items", "sigma", "claimed", "closed", "exact"), ML20M)
def test_implicit_columns(steps, items, sigma, claimed, closed, exact):
    delta, root = 1 / 136_677, math.sqrt(items)
    statement = account(
        [DpalsRound(sigma / root, sigma / root, count=steps, gap=0), Gaussian(100 / root, 2)], delta
    )
    assert f"{paper_dpals_epsilon(statement.rho, delta):.{len(str(closed)) - 1}g}" == f"{closed:g}"
    assert f"{statement.epsilon:.{2 if exact < 1 else 3}g}" == f"{exact:g}"


def test_centring_billed_as_it_is_lifts_the_closed_form_too():
    """Guarantees 3a.2, second column: 1.115, 5.713, 11.77, 21.05 where 1, 5, 10, 20 were claimed."""
    for (steps, items, gram, rhs, pre, *_), lifted in zip(ML10M, (1.115, 5.713, 11.77, 21.05), strict=True):
        root = math.sqrt(items)
        events = [DpalsRound(gram / root, rhs / root, count=steps, gap=0), Gaussian(pre / root, 4)]
        rho = account(events, DELTA).rho
        assert f"{paper_dpals_epsilon(rho, DELTA):.4g}" == f"{lifted:.4g}"


def test_one_statistic_instead_of_two_would_be_noticed():
    """Negative control: the bill of the paper's Theorem 1 misses its own Table 4 in every column."""
    for steps, items, gram, rhs, pre, claimed, *_ in TOP400 + ML10M:
        one = paper_dpals_rho2(steps, items, gram, math.inf, pre)
        assert paper_dpals_epsilon(one, DELTA) < 0.75 * claimed
        assert rhs < gram

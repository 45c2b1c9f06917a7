"""Private selection: its price, its secret number of runs, what leaves, and a control that must be caught."""

from __future__ import annotations

import math
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy import stats
from tests.keys import numbered_keys

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.errors import ArgumentError, BudgetExceeded
from hushfold.privacy.budget import Budget, split
from hushfold.privacy.door_select import SCORE_SHARE, select
from hushfold.privacy.gdp import epsilon_at
from hushfold.privacy.ledger import Ledger, Total
from hushfold.privacy.select import Runs, base_mu, best, price
from hushfold.privacy.stream import secret_word
from hushfold.statistics.dense import dense
from hushfold.statistics.total import total
from hushfold.types import Rows, post

LAWS = ["poisson", "geometric"]
BUDGET = Budget(2.0, 1e-5, 0, "gaussian")


class TestRuns:
    @pytest.mark.parametrize("law", LAWS)
    def test_the_law_adds_up_and_has_its_mean(self, law):
        runs = Runs(7.0, law)
        sums = [0.0, *map(float, runs.cumulative(1e-20))]
        chances = np.diff(sums)
        assert sums[-1] == pytest.approx(1)
        assert (chances * np.arange(1, len(sums))).sum() == pytest.approx(runs.mean)
        expected = stats.poisson(7).pmf(range(1, 9)) / -math.expm1(-7)
        if law == "geometric":
            expected = stats.geom(1 / 7).pmf(range(1, 9))
        assert chances[:8] == pytest.approx(expected)

    @pytest.mark.parametrize("law", LAWS)
    def test_the_number_is_read_off_the_word(self, law):
        runs = Runs(4.0, law)
        words = [int(x) << 64 for x in np.random.default_rng(0).integers(0, 2**64, 3000, np.uint64)]
        numbers = [runs.number(word, 1e-12) for word in words]
        assert min(numbers) >= 1
        assert np.mean(numbers) == pytest.approx(runs.mean, abs=0.3)  # six standard errors, geometric
        assert runs.number(0, 1e-12) == 1
        assert runs.number(2**128 - 1, 1e-12) == runs.most(1e-12)

    @pytest.mark.parametrize("expected", [1, 0, -3, math.nan, 2000])
    def test_a_search_of_one_run_is_no_search(self, expected):
        with pytest.raises(ArgumentError, match="expected"):
            Runs(expected)


class TestPrice:
    @pytest.mark.parametrize("law", LAWS)
    def test_it_grows_with_the_runs_and_never_falls_below_the_base_run(self, law):
        costs = [price(0.3, Runs(expected, law), 1e-5) for expected in (2, 5, 20, 100)]
        assert costs == sorted(costs)
        assert costs[0] > epsilon_at(1e-5, 0.3)

    @pytest.mark.parametrize("law", LAWS)
    def test_many_runs_cost_far_less_than_their_composition(self, law):
        assert price(0.1, Runs(100, law), 1e-5) < 0.4 * epsilon_at(1e-5, 0.1 * 100)

    @pytest.mark.parametrize("law", LAWS)
    def test_the_base_run_is_the_largest_that_fits(self, law):
        mu = base_mu(2.0, 1e-5, Runs(10, law))
        assert price(mu, Runs(10, law), 1e-5) <= 2.0 < price(1.001 * mu, Runs(10, law), 1e-5)

    @pytest.mark.parametrize("law", LAWS)
    def test_it_covers_the_exact_divergence_of_a_worst_case(self, law):
        """Base run: a Gaussian that is its own score. The Renyi divergence of the maximum, by integration,
        stays below what the theorem charges at the same order.
        """
        from hushfold.privacy.select import _renyi

        mu, runs = 0.7, Runs(6.0, law)
        at = mpmath.mp
        mean, c = at.mpf(6), 1 / (at.expm1(6))

        def slope(q):  # of the generating function of the number of runs
            if law == "poisson":
                return mean * c * at.exp(mean * q)
            return (1 / mean) / (1 - (1 - 1 / mean) * q) ** 2

        for order in (1.5, 2.0, 4.0, 8.0):

            def integrand(x, shift, order=order):
                here, there = at.npdf(x - shift[0]), at.npdf(x - shift[1])
                a, b = slope(at.ncdf(x - shift[0])), slope(at.ncdf(x - shift[1]))
                return (here * a) ** order * (there * b) ** (1 - order)

            for shift in ((0, mu), (mu, 0)):
                whole = at.quad(partial(integrand, shift=shift), [-12, -4, 0, 4, 8, 14])
                assert at.log(whole) / (order - 1) <= _renyi(order, mu, runs) + 1e-9

    def test_too_little_for_the_choice_alone_is_refused(self):
        with pytest.raises(ArgumentError, match="epsilon"):
            base_mu(0.001, 1e-5, Runs(100))


def test_the_best_is_the_highest_that_is_a_number():
    assert best([math.nan, -3.0, 2.0, 2.0, -math.inf]) == 2
    assert best([math.nan]) == 0


def lower_mu(announce, claim: float, seed: int, n: int = 40_000) -> float:
    """A certified lower bound on mu of announcing a maximum: worlds with and without a user, level 1e-3."""
    rng = np.random.default_rng(seed)
    absent, present = announce(rng, 0.0, n), announce(rng, claim, n)
    cut = np.quantile(absent[: n // 2], 0.9)
    caught, false = (present[n // 2 :] > cut).sum(), (absent[n // 2 :] > cut).sum()
    half = n // 2
    least = stats.beta.ppf(5e-4, caught, half - caught + 1)
    most = stats.beta.ppf(1 - 5e-4, false + 1, half - false)
    return stats.norm.ppf(least) - stats.norm.ppf(most)


class TestDistinguishing:
    MU = 0.3

    def test_the_best_of_many_at_the_price_of_one_is_caught(self):
        """Negative control: 50 runs, whose maximum is announced as if it were one run. Canary: every score
        moves; the maximum of 50 has a third of the spread.
        """

        def announce(rng, shift, n):
            return (rng.standard_normal((n, 50)) + shift).max(axis=1)

        assert lower_mu(announce, self.MU, 0) > self.MU

    def test_one_run_passes(self):
        assert lower_mu(lambda rng, shift, n: rng.standard_normal(n) + shift, self.MU, 1) <= self.MU

    @pytest.mark.parametrize("law", LAWS)
    def test_the_announced_price_covers_the_search(self, law):
        """The same attack on a secret number of runs stays below the epsilon that `price` charges."""
        runs = Runs(50.0, law)

        def announce(rng, shift, n):
            words = rng.integers(0, 2**64, n, np.uint64)
            sums = np.array([float(x) for x in runs.cumulative(1e-12)])
            number = np.minimum(np.searchsorted(sums, words / 2.0**64), len(sums) - 1) + 1
            return stats.norm.ppf(rng.random(n) ** (1 / number)) + shift  # the maximum of so many

        found = lower_mu(announce, self.MU, 2)
        assert epsilon_at(1e-5, max(found, 1e-9)) <= price(self.MU, runs, 1e-5)


def rows_of(users: int) -> Rows:
    return Rows(
        np.arange(users + 1),
        np.arange(users, dtype=np.int32) % 5,
        np.ones(users, np.float32),
        np.arange(users, dtype=np.uint64),
        5,
    )


def counting(candidate, door):
    """A base run: counts at some bound, and a released score that prefers the bound 1."""
    users, engine = Users(rows_of(200)), LocalEngine(threads=1)
    fit, score = split(door.budget.units, [1 - SCORE_SHARE, SCORE_SHARE])
    (counts,) = door.gaussian("fit", engine.sum(users, lambda rows: (total(rows, candidate),)), fit)
    sums = engine.sum(users, lambda rows: (dense(np.full((len(rows), 1), float(candidate == 1.0)), 1.0),))
    (released,) = door.gaussian("score", sums, score)
    return post(lambda counts: {"counts": counts}, counts), post(lambda s: float(s[0]), released)


class TestSearch:
    def ledger(self, epsilon=2.0):
        return Ledger.throw_away(total=Total.approximate(epsilon, 1e-5))

    def test_one_row_is_charged_whatever_was_run_and_the_winner_leaves(self):
        ledger = self.ledger()
        run = ledger.run(method="search", config={}, claim="approximate")
        found = select(run, BUDGET, [0.2, 1.0, 5.0], counting, Runs(10))
        (row,) = run.rows()
        assert (row["units"], row["delta_units"], row["state"]) == (2 * 10**9, 10**13, "PUBLISHED")
        assert row["grade"] == "lattice"
        assert found.releases == (row["id"],)
        assert found.value.candidate == 1
        assert found.value.result["counts"].shape == (5,)
        assert len(ledger.books().runs) == 1

    def test_a_second_search_does_not_fit_the_same_budget(self):
        ledger = self.ledger()
        for attempt in (1, 2):
            run = ledger.run(method="search", config={}, claim="approximate")
            if attempt == 1:
                select(run, BUDGET, [1.0], counting, Runs(3))
            else:
                with pytest.raises(BudgetExceeded):
                    select(run, BUDGET, [1.0], counting, Runs(3))

    def test_a_finished_search_is_read_not_repeated(self):
        run = self.ledger().run(method="search", config={}, claim="approximate")
        first = select(run, BUDGET, [1.0, 2.0], counting, Runs(3))

        def never(candidate, door):
            raise AssertionError("it was committed")

        again = select(run, BUDGET, [1.0, 2.0], never, Runs(3))
        assert np.array_equal(first.value.result["counts"], again.value.result["counts"])

    def test_a_base_run_cannot_spend_more_than_its_part(self):
        def greedy(candidate, door):
            sums = LocalEngine(threads=1).sum(Users(rows_of(9)), lambda rows: (total(rows, 1.0),))
            door.gaussian("all", sums, door.budget.units)
            return door.gaussian("more", sums, 1000)

        run = self.ledger().run(method="search", config={}, claim="approximate")
        with pytest.raises(ArgumentError, match="units"):
            select(run, BUDGET, [1.0], greedy, Runs(3))
        assert run.rows()[0]["state"] == "RESERVED"  # charged up front, and never given back

    def test_known_coins_are_stamped(self):
        run = self.ledger().run(method="search", config={}, claim="approximate")
        select(run, BUDGET, [1.0], counting, Runs(3), new_key=numbered_keys("x"), secret=lambda bits: 0)
        assert "NOT PRIVATE" in run.rows()[0]["grade"]

    @pytest.mark.parametrize(("candidates", "claim"), [([], "approximate"), ([1.0], "gaussian")])
    def test_what_cannot_be_searched_is_refused_before_a_charge(self, candidates, claim):
        run = Ledger.throw_away().run(method="search", config={}, claim=claim)
        with pytest.raises(ArgumentError, match="candidates"):
            select(run, BUDGET, candidates, counting, Runs(3))
        assert not run.rows()


def test_secret_words_are_fresh_and_fill_their_range():
    words = {secret_word(128) for _ in range(64)}
    assert len(words) == 64
    assert max(words) < 2**128
    assert max(words) > 2**120

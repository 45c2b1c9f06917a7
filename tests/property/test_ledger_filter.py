"""L-05: no strategy, however it adapts to what it has seen, gets more than the total fixed in advance."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from hushfold.errors import BudgetExceeded
from hushfold.privacy.budget import NANO, multiplier, units_for
from hushfold.privacy.ledger import Ledger, Run, Total


class Strategy:
    """Somebody who wants more than the total, and chooses every next noise by what was granted before."""

    def __init__(self, ledger: Ledger, total: int, coins: random.Random) -> None:
        self.ledger, self.total, self.coins = ledger, total, coins
        self.granted: dict[str, int] = {}
        self.runs: list[Run] = [self.new_run()]

    def new_run(self) -> Run:
        return self.ledger.run(method="test", config={})

    def ask(self, run: Run, name: str, units: int) -> bool:
        """Whether it was granted; a promise about every answer is checked here."""
        covered = (
            units <= self.total - sum(self.granted.values())
            or self.granted.get(f"{run.id}/{name}/0") == units
        )
        try:
            reservation = run.reserve(name, 0, units, {})
        except BudgetExceeded:
            assert not covered
            return False
        assert covered
        self.granted[reservation.id] = units
        return True

    def play(self, moves: int) -> int:
        """What was granted in all."""
        appetite = self.coins.randint(1, 2 * self.total)
        for move in range(moves):
            if self.coins.random() < 0.15:
                self.runs.append(self.new_run())
            left = self.total - sum(self.granted.values())
            by_sigma = units_for(multiplier(appetite) * self.coins.uniform(0.5, 2))
            units = max(1, self.coins.choice([appetite, left, left + 1, left - 1, by_sigma]))
            run, name = self.coins.choice(self.runs), f"move-{move}"
            granted = self.ask(run, name, units)
            if granted and self.coins.random() < 0.2:
                self.ask(run, name, units)  # a retry
            appetite = max(1, appetite * 2 if granted else appetite // 3)
        return sum(self.granted.values())


def play(strategies: int, seed: int) -> None:
    coins = random.Random(seed)
    used_up = 0
    for _ in range(strategies):
        total = coins.choice([1, 7, 1000, 56_028_963, 10**12])
        with Ledger.throw_away(total=Total("gaussian", total)) as ledger:
            granted = Strategy(ledger, total, coins).play(coins.randint(1, 10))
            assert granted <= total
            assert ledger.books().populations["throw-away"].spent.get("gaussian", (0, 0)) == (granted, 0)
        used_up += granted == total
    assert used_up > strategies / 3  # the strategies are not too modest to test anything


def test_no_strategy_overspends() -> None:
    play(1000, seed=5)


@pytest.mark.slow
def test_ten_thousand_strategies_do_not_overspend() -> None:
    play(10_000, seed=6)


def test_granted_units_buy_noise_that_costs_no_more() -> None:
    """What the ledger adds up in units is an upper bound of the mu^2 of the noise drawn."""
    coins = random.Random(7)
    for _ in range(1000):
        units = coins.randint(1, 10 ** coins.randint(1, 12))
        assert Fraction(NANO) / Fraction(multiplier(units)) ** 2 <= units

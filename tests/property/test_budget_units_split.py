"""However a budget is divided, the parts are whole, positive and add up to it exactly."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hushfold.privacy.budget import NANO, decimal, multiplier, split, units_for

UNITS = st.integers(10**7, 20 * NANO)
SHARES = st.lists(st.floats(0.01, 100), min_size=1, max_size=20)


@given(UNITS, SHARES)
def test_parts_add_up_and_are_fair(units, shares):
    parts = split(units, shares)
    total = sum(decimal(share) for share in shares)
    assert sum(parts) == units
    assert len(parts) == len(shares)
    for part, share in zip(parts[:-1], shares[:-1], strict=True):
        assert part <= units * decimal(share) / total < part + 1
    assert parts[-1] >= units * decimal(shares[-1]) / total


@given(UNITS, SHARES)
def test_the_noise_of_all_parts_costs_at_most_the_whole(units, shares):
    multipliers = [multiplier(part) for part in split(units, shares)]
    assert sum(1 / Fraction(noise) ** 2 for noise in multipliers) * NANO <= units
    assert sum(units_for(noise) for noise in multipliers) == units


@given(UNITS, SHARES, st.integers(1, 1000))
def test_only_proportions_count(units, shares, factor):
    whole = [float(round(share * 100)) for share in shares]
    assert split(units, whole) == split(units, [share * factor for share in whole])

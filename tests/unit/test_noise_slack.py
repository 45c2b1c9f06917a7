"""What the sampler adds to epsilon and delta: the numbers of the lemma, rounded up, and its refusals."""

from __future__ import annotations

from math import log2

import pytest
from scipy import stats

from hushfold.errors import ArgumentError, NoiseError
from hushfold.privacy.noise import Slack, cut, gap, slack

BIG = 2**29


def test_the_gap_is_2_to_the_minus_47_at_14_standard_deviations() -> None:
    assert gap(14.0) == 2.0**-47
    gaps = [gap(z) for z in (14.0, 16.0, 20.0, 30.0, 45.0, 62.0)]
    assert gaps == sorted(gaps)


@pytest.mark.parametrize(("mu", "tail"), [(0.27, 4e-34), (1.12, 3e-29), (2.00, 2e-24), (3.45, 3e-17)])
def test_the_stated_numbers_at_2_to_the_29_coordinates(mu: float, tail: float) -> None:
    added = slack(BIG, mu, 1e-5)
    assert added.epsilon == pytest.approx(7.63e-6, rel=1e-3)
    assert added.delta == pytest.approx(3.815e-6 * 1e-5 + 2.0**30 * stats.norm.sf(14 - mu), rel=1e-3)
    assert 2.0**30 * stats.norm.sf(14 - mu) == pytest.approx(tail, rel=0.5)


def test_rounded_up() -> None:
    added = slack(BIG, 1.0, 1e-5)
    assert added.epsilon > 2 * 2.0**-47 * BIG
    assert added.delta > 2.0**-18 * 1e-5


def test_nothing_is_touched_nothing_is_added() -> None:
    assert slack(0, 1.0, 1e-6) == Slack(0, 1.0, 14.0, 2.0**-47, 0.0, 0.0)


def test_the_cut_follows_mu() -> None:
    assert [cut(mu) for mu in (0.0, 1.0, 3.45)] == [14.0] * 3
    assert cut(5.0) == 15.6
    assert slack(BIG, 8.0, 1e-6).z_max == 18.6
    assert log2(slack(BIG, 8.0, 1e-6).eta) <= -46


def test_refused_when_delta_would_grow_by_a_thousandth() -> None:
    slack(2**36, 1.0, 1e-6)
    with pytest.raises(NoiseError, match="2199023255552 coordinates"):
        slack(2**41, 1.0, 1e-6)
    with pytest.raises(NoiseError, match="more than a thousandth"):
        slack(BIG, 9.0, 1e-12, z_max=14.0)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((-1, 1.0, 1e-6), "touched"),
        ((1, 1.0, 0.0), "delta"),
        ((1, 1.0, 1.0), "delta"),
        ((1, float("nan"), 1e-6), "mu"),
        ((1, -1.0, 1e-6), "mu"),
        ((1, float("inf"), 1e-6), "mu"),
        ((1, 15.0, 1e-6, 14.0), "z_max"),
    ],
)
def test_arguments_are_checked(arguments: tuple[float, ...], named: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        slack(*arguments)  # type: ignore[arg-type]
    assert refused.value.argument == named

"""What releases guarantee together: composition, relations, kinds, and agreement with dp_accounting."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from hushfold.errors import ArgumentError
from hushfold.privacy.accountant import (
    DpalsRound,
    Gaussian,
    Laplace,
    SampledGaussian,
    account,
    lattice_gap,
    replaced_hush,
    replaced_round,
    together,
)
from hushfold.privacy.gdp import delta_at, epsilon_at, mu_for
from hushfold.privacy.pld import PrivacyLoss

K, T = 50, 2  # items per user and steps of the table below


def steps_of_the_paper(sigma):
    """DPALS with the paper's one sigma for both statistics, in multipliers."""
    return DpalsRound(sigma / math.sqrt(K), sigma / math.sqrt(K), count=T, gap=0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "printed", "true", "true_delta", "needed", "replaced"),
    [
        (0.5, 1e-5, 98.0, 0.508, 1.2e-5, 99.5, 0.79),
        (1, 1e-5, 50.0, 1.060, 2.3e-5, 52.8, 1.66),
        (1, 1e-6, 54.4, 1.106, 5.9e-6, 59.8, 1.72),
        (4, 1e-5, 13.9, 4.456, 6.3e-5, 15.3, 7.18),
        (10, 1e-5, 6.56, 10.97, 6.5e-5, 7.07, 18.4),
    ],
)
def test_what_the_sigma_of_the_papers_theorem_really_gives(
    epsilon, delta, printed, true, true_delta, needed, replaced
):
    """Theorem A on the sigma of the paper's Theorem 1, which bills one statistic of two."""
    sigma = math.sqrt(2 * K * T * (epsilon + math.log(1 / delta))) / epsilon
    statement = account([steps_of_the_paper(sigma)], delta)
    assert f"{sigma:.3g}" == f"{printed:.3g}"
    assert statement.epsilon == pytest.approx(true, abs=5.1e-4 if true < 10 else 5.1e-3)
    assert delta_at(epsilon, statement.mu) == pytest.approx(true_delta, rel=0.05)
    assert needed - (0.1 if needed > 10 else 0.01) < math.sqrt(2 * K * T) / mu_for(epsilon, delta) <= needed
    assert statement.replace_epsilon == pytest.approx(replaced, rel=5e-3)
    assert statement.replace_mu == pytest.approx(1.5 * statement.mu)


def test_the_joint_formula_is_the_maximum_over_pairs_of_users():
    """Two users of norm 1 on the same or on other items, ratings of opposite sign: no cosine does better."""
    rng = np.random.default_rng(7)
    for a, b in rng.uniform(0.01, 3, (200, 2)):
        cosine = np.linspace(-1, 1, 20_001)
        same = 2 * a * (1 - cosine**2) + 2 * b * (1 + cosine)
        best = max(same.max(), 2 * a + 2 * b)
        formula = float(replaced_round(Fraction(a), Fraction(b)))
        assert best <= formula + 1e-12
        assert formula <= best * (1 + 1e-6)


def test_random_pairs_of_users_stay_within_the_joint_formula():
    """Any norms, weights, ratings and overlaps within the bounds, in real arithmetic."""
    rng = np.random.default_rng(8)
    for _ in range(300):
        a, b = rng.uniform(0.05, 2, 2)
        u, v = (x / max(1, np.linalg.norm(x)) for x in rng.normal(0, 0.8, (2, 3)))
        w, z = (x / np.linalg.norm(x) for x in rng.random((2, 6)) * (rng.random((2, 6)) < 0.7) + 1e-9)
        y, x = rng.uniform(-1, 1, (2, 6))
        gram = sum(
            np.linalg.norm(p * np.outer(u, u) - q * np.outer(v, v)) ** 2 for p, q in zip(w, z, strict=True)
        )
        rhs = sum(np.linalg.norm(p * r * u - q * s * v) ** 2 for p, r, q, s in zip(w, y, z, x, strict=True))
        assert a * gram + b * rhs <= float(replaced_round(Fraction(a), Fraction(b))) * (1 + 1e-12)


def test_the_lattice_gap_covers_what_quantisation_parts():
    """The cross term of the right-hand sides exceeds the root of the Grams', but by less than the gap."""
    rng = np.random.default_rng(9)
    parted = []
    for items, rank, same in itertools.product((3, 400, 10_000), (2, 32), (False, True)):
        u, v = (x / np.linalg.norm(x) for x in rng.normal(size=(2, rank)))
        w, z = (x / np.linalg.norm(x) for x in rng.random((2, items)) ** 3)
        v, z = (u, w) if same else (v, z)
        p, q = (np.trunc(2**15 * np.sqrt(x)[:, None] * y) / 2**15 for x, y in ((w, u), (z, v)))
        w, z, u, v = (np.trunc(2**15 * x) / 2**15 for x in (w, z, u, v))
        parted.append((w @ z * abs(u @ v) - np.linalg.norm((p * q).sum(axis=1))) / lattice_gap(rank, items))
    assert 0 < max(parted) < 1  # a gap of 0 would not do
    assert lattice_gap(128, 20_000) < 0.01


def test_a_round_with_a_gap_costs_a_little_more_and_never_more_than_twice_mu():
    for gram, rhs in ((5.0, 5.0), (5.0, 1.0), (50.0, 5.0)):
        exact, lattice, huge = (DpalsRound(gram, rhs, gap=g) for g in (0.0, lattice_gap(128, 20_000), 9.0))
        assert exact.replace_mu2 < lattice.replace_mu2 < exact.replace_mu2 * Fraction(102, 100)
        assert huge.replace_mu2 == 4 * huge.mu2


def test_every_part_of_a_round_is_billed():
    statement = account([DpalsRound(4.0, 2.0, 8.0, count=3, gap=0), Gaussian(10.0, 2)], 1e-6)
    mu2 = 3 * (1 / 16 + 1 / 4 + 1 / 64) + 2 / 100
    assert statement.mu == pytest.approx(math.sqrt(mu2))
    assert statement.rho == pytest.approx(mu2 / 2)
    assert statement.claim == "gaussian"
    assert statement.epsilon == epsilon_at(1e-6, statement.mu)


def test_replacing_one_user_costs_at_most_twice_mu():
    statement = account(
        [Gaussian(3.0), Gaussian(4.0, 2, replace=math.sqrt(2)), Gaussian(5.0, replace=1)], 1e-6
    )
    assert statement.replace_mu == pytest.approx(math.sqrt(4 / 9 + 2 * 2 / 16 + 1 / 25))
    assert account([Gaussian(3.0)], 1e-6).replace_mu == pytest.approx(2 / 3)
    assert account([DpalsRound(1e9, 3.0, gap=0)], 1e-6).replace_mu <= 2 / 3 * (1 + 1e-9)


def test_hush_in_one_formula_is_hush_release_by_release():
    shares = [Fraction(n, 1000) for n in (6, 7, 1, 40, 9)]
    factors = (math.sqrt(2.1), 2.0, 1.0, math.sqrt(2), 2.0)
    events = [Gaussian(float(s) ** -0.5, replace=f) for s, f in zip(shares, factors, strict=True)]
    total = float(replaced_hush(*shares))
    assert float(sum(event.replace_mu2 for event in events)) == pytest.approx(total)
    assert total <= 4 * float(sum(shares))


def test_nothing_released_costs_nothing():
    assert account([], 1e-6).epsilon == 0


def test_laplace_releases_add_up_without_a_delta():
    statement = account([Laplace(4.0, 3), Laplace(10.0, replace=1)], 1e-6)
    assert (statement.claim, statement.delta, statement.mu, statement.rho) == ("pure", 0.0, None, None)
    assert statement.epsilon == pytest.approx(0.85)
    assert statement.replace_epsilon == pytest.approx(1.6)
    assert Fraction(statement.epsilon) >= Fraction(3, 4) + Fraction(1, 10)


def test_separate_rows_compose_by_addition():
    rows = [account([Gaussian(4.0)], 1e-6), account([Laplace(4.0)], 1e-6)]
    both = together(*rows)
    assert both.claim == "approximate"
    assert both.delta == 1e-6
    assert both.epsilon == pytest.approx(rows[0].epsilon + 0.25)
    assert both.replace_epsilon == pytest.approx(rows[0].replace_epsilon + 0.5)
    assert together(rows[1], rows[1]).claim == "pure"
    with pytest.raises(ArgumentError, match="delta"):
        together(account([Gaussian(4.0)], 0.6), account([Gaussian(4.0)], 0.6))


def test_the_exact_curve_is_where_dp_accounting_puts_it():
    """Below Renyi, and at the loss distribution of the same Gaussians, which is rounded up."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    for multiplier, count, delta in ((50.0, 3, 1e-5), (5.0, 10, 1e-6), (1.0, 2, 1e-8)):
        ours = account([Gaussian(multiplier, count)], delta).epsilon
        event = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(multiplier), count)
        loss = PLDAccountant().compose(event).get_epsilon(delta)
        renyi = RdpAccountant().compose(event).get_epsilon(delta)
        assert ours <= loss * (1 + 1e-9)
        assert loss <= ours * (1 + 1e-5)
        assert ours < renyi < ours * 1.3


def test_a_loss_distribution_is_never_below_the_exact_curve():
    """What floating point does to the sums is covered, also at a small delta and after many compositions."""
    for mu, count, delta in ((0.05, 1, 1e-5), (0.3, 100, 1e-10), (2.0, 10, 1e-12)):
        loss = PrivacyLoss(0.0, [], [(math.sqrt(count) / mu, 1.0, count)])
        exact = epsilon_at(delta, mu)
        assert exact <= loss.epsilon_at(delta) <= exact * 1.002


def test_secret_samples_amplify_and_are_one_row_of_their_own():
    sampled = account([SampledGaussian(1.0, 0.01, 200)], 1e-6)
    whole = account([Gaussian(1.0, 200)], 1e-6)
    assert sampled.claim == "approximate"
    assert sampled.mu is None
    assert sampled.epsilon < whole.epsilon / 20
    assert 2 * sampled.epsilon < sampled.replace_epsilon < 4 * sampled.epsilon
    more = account([SampledGaussian(1.0, 0.01, 200), Gaussian(10.0), Laplace(20.0, 2)], 1e-6)
    assert sampled.epsilon < more.epsilon < sampled.epsilon + account([Gaussian(10.0)], 1e-6).epsilon + 0.1


def test_sampled_gaussians_agree_with_dp_accounting():
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    one = dp_accounting.PoissonSampledDpEvent(0.02, dp_accounting.GaussianDpEvent(1.5))
    theirs = PLDAccountant().compose(dp_accounting.SelfComposedDpEvent(one, 100)).get_epsilon(1e-6)
    ours = account([SampledGaussian(1.5, 0.02, 100)], 1e-6).epsilon
    assert theirs <= ours <= theirs * (1 + 1e-5)


def test_too_fine_a_delta_for_a_loss_distribution_is_refused():
    with pytest.raises(ArgumentError, match=r"^delta: .* double precision"):
        account([SampledGaussian(1.0, 0.01)], 1e-13)
    assert account([SampledGaussian(1.0, 0.5)], 1e-12).replace_epsilon == math.inf


def test_an_unknown_event_is_an_error():
    with pytest.raises(ArgumentError, match=r"^events: a float cannot be accounted"):
        account([Gaussian(1.0), 3.0], 1e-6)


@pytest.mark.parametrize(
    ("argument", "build"),
    [
        ("multiplier", lambda bad: Gaussian(bad)),
        ("multiplier", lambda bad: Laplace(bad)),
        ("multiplier", lambda bad: SampledGaussian(bad, 0.1)),
        ("gram", lambda bad: DpalsRound(bad, 1.0, gap=0)),
        ("rhs", lambda bad: DpalsRound(1.0, bad, gap=0)),
        ("global_gram", lambda bad: DpalsRound(1.0, 1.0, bad, gap=0)),
        ("rate", lambda bad: SampledGaussian(1.0, bad)),
        ("replace", lambda bad: Gaussian(1.0, replace=bad)),
    ],
)
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_bad_numbers_are_named(argument, build, bad):
    with pytest.raises(ArgumentError, match=f"^{argument}: ") as caught:
        build(bad)
    assert caught.value.remedy


def test_bad_counts_and_gaps_are_named():
    with pytest.raises(ArgumentError, match=r"^count: "):
        Gaussian(1.0, 0)
    with pytest.raises(ArgumentError, match=r"^gap: "):
        DpalsRound(1.0, 1.0, gap=-0.1)

"""P-02, P-05, A-1: exact sensitivity of every shape on hostile neighbours, and controls to be caught."""

from __future__ import annotations

import numpy as np
import pytest
from subjects import OVERWEIGHT, SUBJECTS, SWAYED, bound_from_the_data, far_below_the_bound

from hushfold.privacy.audit.hostile import users_removed
from hushfold.privacy.audit.sensitivity import (
    Subject,
    check_bound,
    check_company,
    check_replacement,
    movement,
)
from hushfold.statistics.base import LATTICE, TILE, Spec, svec_size

PAIRS = 2000

every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)


def one_user_or_none(coins, catalogue):
    return users_removed(coins, catalogue, users=1)


def failed(checks):
    return [check for check in checks if not check.passed]


@every_subject
def test_no_neighbour_moves_a_statistic_by_more_than_its_bound_and_some_attain_it(subject):
    assert not failed(check_bound(subject, PAIRS))


@every_subject
def test_replacing_a_user_moves_a_statistic_by_at_most_its_stated_factor(subject):
    assert not failed(check_replacement(subject, PAIRS // 4))


@every_subject
def test_no_contribution_depends_on_who_shares_the_block(subject):
    assert not failed(check_company(subject))


@every_subject
def test_the_statistic_is_seen_over_at_least_three_tiles_of_items(subject):
    assert subject.catalogue > 2 * TILE or "spectral" in subject.name


@pytest.mark.parametrize("contribute", OVERWEIGHT, ids=lambda f: f.__name__)
def test_the_bound_catches(contribute):
    checks = failed(check_bound(Subject(contribute.__name__, contribute, tight=False), 100))
    assert [check for check in checks if check.figure > 1]


@pytest.mark.parametrize("contribute", SWAYED, ids=lambda f: f.__name__)
def test_company_catches(contribute):
    broken = Subject(contribute.__name__, contribute, tight=False)
    assert [check for check in failed(check_company(broken)) if check.name.endswith("company")]


@pytest.mark.parametrize("contribute", SWAYED, ids=lambda f: f.__name__)
def test_a_swayed_contribution_is_within_the_bound_for_every_single_user(contribute):
    """So it takes the check of company to see it; the bound alone would let it pass."""
    alone = Subject(contribute.__name__, contribute, neighbours=one_user_or_none, tight=False)
    assert not failed(check_bound(alone, 50))


def test_company_catches_a_bound_taken_from_the_data():
    broken = Subject("bound from the data", bound_from_the_data, tight=False)
    assert [check for check in failed(check_company(broken)) if "description" in check.name]


def test_a_bound_that_is_never_attained_is_reported_as_loose():
    checks = failed(check_bound(Subject("loose", far_below_the_bound), 50))
    assert [check.name for check in checks] == ["loose: total attains its bound"]


class TestMovement:
    def test_counts_off_diagonal_coordinates_of_a_triangle_twice(self):
        spec = Spec("moment", (1, svec_size(3)), 1.0, 6, 2.0, "svec")
        moved = np.array([[1, 10, 100, 2, 20, 3]])
        full = np.array([[1, 10, 100], [10, 2, 20], [100, 20, 3]])
        assert movement(spec, [moved], [0 * moved]) == (full**2).sum()

    def test_counts_a_panel_the_same_way(self):
        size = TILE + 40
        coins = np.random.default_rng(1)
        full = np.triu(coins.integers(-LATTICE, LATTICE, (size, size)))
        panels = [full[:TILE], full[TILE:, TILE:]]
        spec = Spec("moment", (size, size), 1.0, 1, 2.0, "triangle")
        whole = full.astype(object) + np.triu(full, 1).T.astype(object)
        assert movement(spec, panels, [0 * panel for panel in panels]) == (whole**2).sum()

    def test_is_exact_however_large_the_movement(self):
        spec = Spec("total", (3,), 1.0, 3, 2.0)
        moved = np.array([2**62, -(2**62) - 1, 2**43 - 1])
        assert movement(spec, [moved], [0 * moved]) == sum(int(x) ** 2 for x in moved)
        small = np.array([-(2**43) + 1, 2**43 - 1, -1])
        assert movement(spec, [small], [0 * small]) == sum(int(x) ** 2 for x in small)

    def test_of_the_one_norm_is_the_sum_of_sizes(self):
        spec = Spec("linear", (3,), 1.0, 3, 1.0, norm="l1")
        assert movement(spec, [np.array([3, -4, 0])], [np.array([0, 1, 0])]) == 8

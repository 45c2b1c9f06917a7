from __future__ import annotations

import numpy as np
import pytest
from local_rows import ITEMS, design_of, joined, row, rows_of

from hushfold.errors import ArgumentError
from hushfold.local.posterior import predictive_std, predictive_std_reference


@pytest.mark.parametrize("kind", ["plain", "intercept", "everything"])
@pytest.mark.parametrize("rank", [1, 6, 20])
def test_it_is_the_gaussian_posterior(rank, kind):
    rows, wanted = rows_of((0, 1, 5, 40)), rows_of((3, 0, 130, 7), seed=5)
    design = design_of(rank, kind)
    x = np.hstack([np.ones((ITEMS, design.start)), design.factors])
    noise = np.ones(ITEMS) if design.noise is None else design.noise
    prior = np.eye(design.unknowns) * 0.8
    if design.start:
        prior[0, 0] = 1 / design.intercept_variance
    if design.background is not None:
        prior[design.start :, design.start :] += design.background
    expected = [
        predictive_std_reference(x[own], noise[own], prior, x[asked], noise[asked])
        for (own, _), (asked, _) in zip(rows.each(), wanted.each(), strict=True)
    ]
    found = predictive_std(rows, design, wanted, ridge=0.8)
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-10)
    single = predictive_std(rows, design_of(rank, kind, "float32"), wanted, ridge=0.8)
    np.testing.assert_allclose(single, np.concatenate(expected), rtol=2e-5)


def test_who_has_said_more_is_known_better():
    design, wanted = design_of(5, "intercept"), row([7], [0])
    stds = [predictive_std(rows_of([length]), design, wanted)[0] for length in (0, 5, 50, 150)]
    assert stds == sorted(stds, reverse=True)
    assert stds[-1] > np.sqrt(design.noise[7])


def test_no_answer_is_infinite():
    design = design_of(5, "free intercept", "float32")
    rows = joined(row([], []), row([3], [1.0]))
    wanted = joined(row([2], [0]), row([2, -1, ITEMS], [0, 0, 0]))
    found = predictive_std(rows, design, wanted)
    assert np.isinf(found).tolist() == [True, False, True, True]


def test_other_users_are_refused():
    with pytest.raises(ArgumentError, match="wanted"):
        predictive_std(rows_of([3]), design_of(2), rows_of([3, 4]))

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from local_rows import row

from hushfold.algorithms import ease
from hushfold.data.users import Users
from hushfold.errors import ArgumentError
from hushfold.types import Unprotected


def likes(users=300, items=30, seed=0):
    """Some items are liked together; a dense 0/1 matrix."""
    coins = np.random.default_rng(seed)
    groups = coins.random((users, 3)) < 0.4
    return (coins.random((users, items)) < 0.05 + 0.4 * groups[:, np.arange(items) % 3]).astype(float)


def handle(x):
    users, items = np.nonzero(x)
    return Users.from_arrays(users, items, x[users, items], x.shape[1])


@pytest.mark.parametrize("items", [1, 30, 513])  # more than are computed at once
def test_it_is_the_closed_form(items):
    x = likes(items=items)
    np.testing.assert_allclose(
        ease.item_weights(sp.csr_array(x), 20.0), ease.item_weights_reference(x, 20.0), atol=1e-6
    )


def test_it_is_the_minimum_without_an_item_speaking_for_itself():
    x, ridge = likes(), 20.0
    weights = ease.item_weights_reference(x, ridge)
    slope = x.T @ (x @ weights - x) + ridge * weights
    np.fill_diagonal(slope, 0)  # the diagonal is held at zero
    np.testing.assert_allclose(slope, 0, atol=1e-8)
    assert not np.diag(ease.item_weights(sp.csr_array(x), ridge)).any()


def test_the_head_is_fitted_alone_and_the_rest_is_never_recommended():
    x = likes()
    x[:, 11] = x[:, 17] = 0
    model = ease.fit(handle(x), ridge=20.0, head=28).value
    known = np.setdiff1d(np.arange(30), [11, 17])
    np.testing.assert_array_equal(model.head, known)
    np.testing.assert_allclose(model.weights, ease.item_weights_reference(x[:, known], 20.0), atol=1e-6)
    scored = ease.scores(row([0, 11], [1, 1], 30), model)
    assert np.isneginf(scored[0, [11, 17]]).all()
    np.testing.assert_allclose(scored[0, known], model.weights[0])


def test_items_liked_together_are_recommended_together():
    model = ease.fit(handle(likes()), ridge=20.0).value
    scored = ease.scores(row([0, 3, 6], [1, 1, 1], 30), model)[0]
    scored[[0, 3, 6]] = -np.inf
    assert set(np.argsort(-scored)[:5] % 3) == {0}


def test_it_says_that_it_is_not_private():
    result = ease.fit(handle(likes()))
    assert isinstance(result, Unprotected)
    assert repr(result).startswith("NOT PRIVATE")
    assert repr(result.value) == "<EaseModel, NOT PRIVATE: 30 of 30 items>"


@pytest.mark.parametrize(
    ("settings", "named"), [({"ridge": 0.0}, "ridge"), ({"ridge": np.nan}, "ridge"), ({"head": 0}, "head")]
)
def test_settings_are_named(settings, named):
    with pytest.raises(ArgumentError, match=named):
        ease.fit(handle(likes()), **settings)

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushfold.errors import ArgumentError
from hushfold.privacy.audit.hostile import hostile_rows, pack
from hushfold.rng import PublicRandom
from hushfold.statistics.base import LATTICE
from hushfold.statistics.linear import LARGEST, Declared, Vectors, linear, linear_map, linear_reference
from hushfold.statistics.relation import Relation, fill_lattice
from hushfold.types import Rows

CATALOGUE = 25
DECLARED, VECTORS = Declared(8), Vectors(3, 0.7)


def summed(contribution):
    accumulator = contribution.accumulator()
    accumulator.add(contribution)
    return accumulator._total


def right_matrix(seed=0):
    return np.random.default_rng(seed).standard_cauchy((CATALOGUE, 4))


@pytest.mark.parametrize("kind", ["entry", "distance", "user"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("steps", [1, 50])
@pytest.mark.parametrize("right", [None, right_matrix()], ids=["identity", "matrix"])
@pytest.mark.parametrize("left", [DECLARED, VECTORS], ids=["declared", "vectors"])
def test_agrees_with_its_twin(kind, norm, steps, right, left):
    image = linear_map(Relation(kind, steps), CATALOGUE, left, right, value_step=0.5, norm=norm)
    for seed in range(4):
        rows = hostile_rows(PublicRandom(seed).stream("linear"), 6, CATALOGUE)
        coins = np.random.default_rng(seed)
        own = coins.integers(-2, 10, 6) if left is DECLARED else coins.normal(size=(6, 3))
        contribution = linear(rows, own, image)
        assert (summed(contribution) == linear_reference(rows, contribution.left, image)).all()
    nobody = linear(Rows.empty(CATALOGUE), own[:0], image)
    assert nobody.spec == image.spec
    assert not summed(nobody).any()


def test_what_is_released_is_the_image_under_the_applied_matrices():
    """Up to the rounding of floats: quantising the factors decides which image it is, no more."""
    coins = np.random.default_rng(3)
    table = coins.integers(-5, 6, (6, CATALOGUE)) * 0.5
    own = [(np.flatnonzero(row).astype(np.int32), row[row != 0].astype(np.float32)) for row in table]
    rows = pack(own, np.arange(6, dtype=np.uint64), CATALOGUE)
    phi, psi = coins.normal(size=(6, 3)), right_matrix(1)
    image = linear_map(Relation("distance", 3), CATALOGUE, Vectors(3, 2.0), psi, value_step=0.5)
    real = summed(linear(rows, phi, image)) * image.spec.step
    np.testing.assert_allclose(
        real, image.applied_left(phi).T @ table @ image.applied_right(), rtol=1e-9, atol=1e-7
    )
    np.testing.assert_allclose(image.applied_right(), psi, atol=1e-3 * np.abs(psi).max())
    items_first = linear_map(Relation("entry", 3), CATALOGUE, Vectors(3, 2.0), value_step=0.5)
    real = summed(linear(rows, phi, items_first)) * items_first.spec.step
    np.testing.assert_allclose(real, table.T @ items_first.applied_left(phi), atol=1e-9)
    listed = linear_map(Relation("entry", 1), CATALOGUE, Declared(6), psi, value_step=0.5)
    real = summed(linear(rows, np.arange(6), listed)) * listed.spec.step
    np.testing.assert_allclose(real, table @ listed.applied_right(), rtol=1e-9, atol=1e-7)


def test_a_cell_that_is_no_number_or_beyond_all_measure_stays_within_the_lattice():
    rows = pack(
        [(np.arange(3, dtype=np.int32), np.array([np.nan, 1e30, -1e30], np.float32))],
        np.zeros(1, np.uint64),
        3,
    )
    image = linear_map(Relation("entry", 1), 3, Declared(1))
    unit = int(image.right)
    assert summed(linear(rows, np.zeros(1, np.int64), image)).tolist() == [
        [0, LARGEST * unit, -LARGEST * unit]
    ]


def test_users_keep_within_their_steps_in_whole_numbers():
    rows = pack(
        [(np.arange(4, dtype=np.int32), np.array([7.0, -7.0, 3.0, 0.0], np.float32))],
        np.zeros(1, np.uint64),
        4,
    )
    whole = linear(rows, np.zeros(1, np.int64), linear_map(Relation("user", 10), 4, Declared(1))).whole
    assert whole.tolist() == [4, -4, 1, 0]


@given(
    st.sampled_from(["entry", "distance", "pair", "spectral", "user"]),
    st.integers(1, 5000),
    st.sampled_from(["l1", "l2"]),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_the_right_factor_fills_the_lattice_and_never_more(kind, steps, norm, seed, identity):
    relation = Relation(kind, steps)
    right = None if identity else right_matrix(seed)
    whole, _ = fill_lattice(right, CATALOGUE, relation, 1, norm)
    full = np.eye(CATALOGUE, dtype=np.int64) * whole if identity else whole
    sizes = [sum(abs(int(x)) if norm == "l1" else int(x) ** 2 for x in row) for row in full]
    reached = {"pair": 2, "spectral": CATALOGUE}.get(kind, 1)
    worst = sum(sorted(sizes)[-reached:])
    limit = LATTICE // steps if norm == "l1" else LATTICE**2 // steps**2
    assert worst <= limit
    assert worst >= 0.95 * limit


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"left": VECTORS}, (CATALOGUE, 3)),
        ({"left": VECTORS, "right": right_matrix()}, (3, 4)),
        ({"left": DECLARED}, (8, CATALOGUE)),
        ({"left": DECLARED, "right": right_matrix()}, (8, 4)),
    ],
)
def test_sizes_and_coordinates_touched(settings, size):
    entry = linear_map(Relation("entry", 2), CATALOGUE, **settings).spec
    assert entry.size == size
    assert entry.touched == (3 if settings["left"] is VECTORS else 1) * (4 if "right" in settings else 1)
    assert entry.replace == 1
    assert "one cell" in entry.relation
    user = linear_map(Relation("user", 2), CATALOGUE, **settings).spec
    assert user.replace == 2
    assert "one user" in user.relation


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: Relation("entry", 0), "relation"),
        (lambda: Relation("entry", 2**23), "relation"),
        (lambda: Relation("cell", 1), "relation"),
        (lambda: linear_map(Relation("pair", 1), 3, VECTORS), "relation"),
        (lambda: linear_map(Relation("spectral", 1), 3, VECTORS), "relation"),
        (lambda: linear_map(Relation("spectral", 1), 3, DECLARED, norm="l1"), "norm"),
        (lambda: linear_map(Relation("entry", 2**20), 3, VECTORS, np.ones((3, 1))), "relation"),
        (lambda: linear_map(Relation("entry", 1), 3, Vectors(2, 0.0)), "left"),
        (lambda: linear_map(Relation("entry", 1), 3, DECLARED, value_step=0.0), "value_step"),
        (lambda: linear_map(Relation("entry", 1), 3, DECLARED, np.zeros((3, 1))), "right"),
        (lambda: linear_map(Relation("entry", 1), 3, DECLARED, np.ones((2, 1))), "right"),
        (lambda: linear_map(Relation("entry", 1), 3, DECLARED, np.full((3, 1), np.nan)), "right"),
        (lambda: linear(Rows.empty(3), np.zeros(1), linear_map(Relation("entry", 1), 3, DECLARED)), "left"),
        (lambda: linear(Rows.empty(4), np.zeros(0), linear_map(Relation("entry", 1), 3, DECLARED)), "image"),
        (lambda: linear_map(Relation("entry", 1), 3, DECLARED).applied_left(np.ones((1, 1))), "vectors"),
    ],
)
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument

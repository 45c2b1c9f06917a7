from __future__ import annotations

import math

import numpy as np
import pytest

from hushfold.errors import ArgumentError, HushfoldError
from hushfold.privacy.audit.hostile import hostile_rows, pack
from hushfold.rng import PublicRandom
from hushfold.statistics.quantise import ONE_FACTOR
from hushfold.statistics.total import total, total_reference
from hushfold.types import Rows

CATALOGUE = 30


def people(seed=0, users=12):
    return hostile_rows(PublicRandom(seed).stream("total"), users, CATALOGUE)


def one_user(items, values):
    return pack(
        [(np.array(items, np.int32), np.array(values, np.float32))], np.zeros(1, np.uint64), CATALOGUE
    )


def summed(contribution):
    accumulator = contribution.accumulator()
    accumulator.add(contribution)
    return accumulator.tile(0)


@pytest.mark.parametrize("seed", range(10))
def test_agrees_with_its_twin(seed):
    rows = people(seed)
    extra = np.random.default_rng(seed).normal(0, 3, (len(rows), 2))
    assert (summed(total(rows, 2.5)) == total_reference(rows, 2.5)).all()
    assert (summed(total(rows, 2.5, extra)) == total_reference(rows, 2.5, extra)).all()


def test_a_light_user_is_counted_in_full():
    rows = one_user([2, 5], [3.0, -4.0])
    result = summed(total(rows, 10.0, np.array([[1.0]])))
    real = result * (10.0 / ONE_FACTOR)
    expected = np.zeros(CATALOGUE + 1)
    expected[[2, 5, CATALOGUE]] = [3, -4, 1]
    np.testing.assert_allclose(real, expected, atol=1e-8)


def test_scalars_share_the_clip_with_the_items():
    result = summed(total(one_user([0], [3.0]), 1.0, np.array([[4.0]])))
    np.testing.assert_allclose(result[[0, CATALOGUE]] / ONE_FACTOR, [0.6, 0.8], atol=1e-8)


def test_a_user_with_a_scalar_that_is_not_finite_counts_as_absent():
    assert not summed(total(one_user([0], [3.0]), 1.0, np.array([[np.nan]]))).any()


def test_negative_coordinates_are_cut_where_none_are_promised():
    contribution = total(one_user([0, 1], [-3.0, 0.5]), 1.0, np.array([[-1.0, 0.25]]), nonnegative=True)
    result = summed(contribution) / ONE_FACTOR
    assert result[[0, 1, CATALOGUE, CATALOGUE + 1]].tolist() == [0, 0.5, 0, 0.25]
    assert contribution.spec.replace == math.sqrt(2)
    assert total(people(), 1.0).spec.replace == 2


@pytest.mark.parametrize("wild", [-0.1, -1e9, 1e300, np.nan])
def test_signed_scalars_keep_to_their_share_in_integers(wild):
    contribution = total(
        one_user([0], [0.5]), 1.0, nonnegative=True, signed=np.array([[wild]]), signed_share=0.05
    )
    own = int(summed(contribution)[CATALOGUE])
    assert own**2 <= 0.05 * ONE_FACTOR**2
    assert math.isnan(wild) or own * wild > 0
    assert contribution.spec.replace == math.sqrt(2.1)


def test_the_description_depends_on_public_arguments_alone():
    nobody = total(Rows.empty(CATALOGUE), 2.0, np.empty((0, 3)))
    somebody = total(people(), 2.0, np.ones((12, 3)))
    assert nobody.spec == somebody.spec
    assert nobody.spec.size == (CATALOGUE + 3,)
    assert nobody.spec.touched == CATALOGUE + 3
    assert not summed(nobody).any()


def test_sums_of_different_statistics_do_not_mix():
    accumulator = total(people(), 2.0).accumulator()
    with pytest.raises(HushfoldError, match="another statistic"):
        accumulator.add(total(people(), 3.0))


def test_private_numbers_stay_out_of_the_representation():
    assert "[" not in repr(total(people(), 2.0))


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"bound": 0.0}, "bound"),
        ({"extra": np.ones(12)}, "extra"),
        ({"extra": np.ones((11, 1))}, "extra"),
        ({"signed": np.ones((12, 1)), "signed_share": 0.1}, "signed"),
        ({"signed": np.ones((12, 1)), "nonnegative": True}, "signed"),
        ({"signed": np.ones((12, 1)), "nonnegative": True, "signed_share": 1.5}, "signed"),
        ({"signed_share": 0.1}, "signed_share"),
    ],
)
def test_bad_arguments_are_named(settings, argument):
    with pytest.raises(ArgumentError) as caught:
        total(people(), **{"bound": 1.0, **settings})
    assert caught.value.argument == argument

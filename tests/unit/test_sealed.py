"""What cannot be done by accident: with a sealed value, with a released one, with the door's settings."""

from __future__ import annotations

import copy
import io
import json
import logging
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.errors import ArgumentError, NoiseError, SealError
from hushfold.privacy.budget import Budget, multiplier, units_for
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.privacy.noise import GaussianSampler, Key, LaplaceSampler, fixed_key_for_tests
from hushfold.statistics.base import Sum
from hushfold.statistics.total import total
from hushfold.types import Released, Rows, Sealed, Unprotected, UserResults, post, release

SECRET = 98_765.4321  # a rating that must never be seen


def people() -> Users:
    return Users.from_arrays([1, 1, 2], [0, 1, 2], [SECRET] * 3, 5)


def counts(rows: Rows):
    return (total(rows, 3.0),)


def door() -> Door:
    return Door(Ledger.throw_away().run(method="t", config={}), Budget.gaussian(1.0, 1e-6), threads=1)


MAKE: dict[str, Callable[[], Sealed]] = {
    "Sealed": lambda: Sealed(np.full(3, SECRET)),
    "Users": people,
    "Sum": lambda: LocalEngine().sum(people(), counts),
    "UserResults": lambda: LocalEngine().each(people(), lambda rows: np.full((len(rows), 1), SECRET)),
    "Key": Key,
    "FixedKey": lambda: fixed_key_for_tests(bytes(32)),
    "Stream": lambda: Key().open(),
    "Tile": lambda: Key().open().tile(0, 0),
    "KeyStream": lambda: Key().open().tile(0, 0).substream(0),
}

ARITHMETIC = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    *(operator.iadd, operator.imul, divmod),
)
PARTNERS = (1, 2.5, np.float64(2.0), np.ones(3), [1.0])

READING: dict[str, Callable[[Any], Any]] = {
    "negate": operator.neg,
    "invert": operator.invert,
    "abs": abs,
    "round": round,
    "bool": bool,
    "not": operator.not_,
    "len": len,
    "iterate": list,
    "unpack": lambda sealed: (*sealed,),
    "index": lambda sealed: sealed[0],
    "contains": lambda sealed: 1 in sealed,
    "call": lambda sealed: sealed(),
    "int": int,
    "float": float,
    "complex": complex,
    "bytes": bytes,
    "memoryview": memoryview,
    "format": "{:}".format,
    "format with a width": "{:>40}".format,
    "f-string": lambda sealed: f"{sealed}",
    "numpy array": np.asarray,
    "numpy copy": np.array,
    "numpy function": np.sum,
    "numpy elementwise": np.exp,
    "numpy stacking": lambda sealed: np.concatenate([np.ones(3), sealed]),
    "arrow": lambda sealed: pa.array([sealed]),
    "json": json.dumps,
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "vars": vars,
    "with": lambda sealed: sealed.__enter__(),
    **{f"pickle {protocol}": lambda s, p=protocol: pickle.dumps(s, p) for protocol in range(6)},
    "pickle inside": lambda sealed: pickle.dumps({"model": [sealed]}),
    "numpy file": lambda sealed: np.save(io.BytesIO(), sealed, allow_pickle=True),
}

every_sealed = pytest.mark.parametrize("name", MAKE)
refused = pytest.raises((SealError, TypeError, AttributeError, ValueError, pa.ArrowInvalid))


def test_every_sealed_type_of_the_package_is_tried():
    def below(kind: type) -> set[type]:
        return {kind, *(each for child in kind.__subclasses__() for each in below(child))}

    package = {kind for kind in below(Sealed) if kind.__module__.startswith("hushfold")}
    assert package <= {type(make()) for make in MAKE.values()}


@every_sealed
@pytest.mark.parametrize("operation", ARITHMETIC, ids=lambda operation: operation.__name__)
def test_no_arithmetic_and_no_comparison(name, operation):
    sealed = MAKE[name]()
    for partner in (*PARTNERS, sealed, MAKE[name]()):
        for operands in ((sealed, partner), (partner, sealed)):
            with refused:
                operation(*operands)


@every_sealed
@pytest.mark.parametrize("way", READING)
def test_no_way_of_reading(name, way):
    with refused:
        READING[way](MAKE[name]())


@every_sealed
def test_the_repr_is_silent_wherever_it_appears(name, caplog):
    sealed = MAKE[name]()
    with caplog.at_level(logging.INFO):
        logging.getLogger("test").info("%s %r", sealed, [sealed])
    for text in (str(sealed), repr({"a": sealed}), f"{sealed!r}", caplog.text):
        assert "sealed>" in text
        assert str(SECRET)[:4] not in text
    assert repr(sealed) == f"<{type(sealed).__name__}: sealed>"


@every_sealed
def test_nothing_can_be_attached(name):
    with pytest.raises(AttributeError):
        MAKE[name]().note = 1


def test_rows_say_nothing_either():
    (rows,) = people().blocks()
    assert repr(rows) == str(rows) == "<Rows: private>"


class TestReleased:
    def released(self) -> Released[np.ndarray]:
        return door().gaussian("counts", LocalEngine().sum(people(), counts), 1000)[0]

    @pytest.mark.parametrize("mint", [None, object(), "mint", 0])
    def test_cannot_be_forged(self, mint):
        with pytest.raises(SealError, match="only the door"):
            Released(1.0, ("run/counts/0",), mint=mint)
        with pytest.raises(TypeError):
            Released(1.0, ("run/counts/0",))  # type: ignore[call-arg]

    def test_cannot_be_without_a_release_that_paid(self):
        with pytest.raises(SealError):
            post(lambda: 1.0)
        with pytest.raises(SealError):
            post(lambda a: a, np.ones(3))

    def test_cannot_be_changed(self):
        released = self.released()
        for field in ("value", "releases", "new"):
            with pytest.raises(SealError, match="cannot be changed"):
                setattr(released, field, 1)
            with pytest.raises((SealError, AttributeError)):
                delattr(released, field)
        assert released.releases
        assert released.value.shape == (5,)

    def test_does_not_come_out_of_a_pickle(self):
        """An artefact holds arrays; a pickled Released would be a way of making one."""
        with pytest.raises(SealError):
            pickle.loads(pickle.dumps(release(1.0, "run/a/0")))
        with pytest.raises(SealError):
            copy.copy(release(1.0, "run/a/0"))


class TestPost:
    def test_keeps_the_ids_of_all_that_went_in(self):
        both = post(lambda a, b, c: a + b + c, release(1, "r/a/0"), b=release(2, "r/b/0"), c=3)
        assert both.value == 6
        assert both.releases == ("r/a/0", "r/b/0")

    @every_sealed
    def test_refuses_every_sealed_value(self, name):
        def look(*_: Any, **__: Any) -> None:
            raise AssertionError("the function was called")

        paid = release(1.0, "run/a/0")
        with pytest.raises(SealError, match="released and public"):
            post(look, paid, MAKE[name]())
        with pytest.raises(SealError, match="released and public"):
            post(look, paid, hidden=MAKE[name]())

    def test_refuses_the_unprotected(self):
        with pytest.raises(SealError):
            post(lambda a, b: b, release(1.0, "run/a/0"), Unprotected(1.0, "a baseline"))

    def test_the_unprotected_say_so(self):
        assert repr(Unprotected(3, "a baseline")).startswith("NOT PRIVATE (a baseline)")


class TestNoZeroNoise:
    @pytest.mark.parametrize("sigma", [0, -1, 0.5, 2.0**26 - 1, 2.0**49, math.inf, -math.inf, math.nan])
    def test_a_gaussian_has_a_standard_deviation_within_its_range(self, sigma):
        with pytest.raises(NoiseError):
            GaussianSampler(sigma)

    @pytest.mark.parametrize("scale", [0, -1])
    def test_a_laplace_has_a_scale(self, scale):
        with pytest.raises(NoiseError):
            LaplaceSampler(scale)

    @pytest.mark.parametrize("price", [0, -1, -(10**9)])
    def test_nothing_is_free_and_nothing_is_paid_back(self, price):
        through = door()
        with pytest.raises(ArgumentError, match="units"):
            through.gaussian("counts", LocalEngine().sum(people(), counts), price)
        with pytest.raises(ArgumentError):
            multiplier(price)
        assert through.run.rows() == []

    @pytest.mark.parametrize("price", [math.nan, math.inf, 0.5, "7", None])
    def test_a_price_is_a_whole_number(self, price):
        through = door()
        with pytest.raises((ArgumentError, TypeError)):
            through.gaussian("counts", LocalEngine().sum(people(), counts), price)
        assert through.run.rows() == []

    @pytest.mark.parametrize("multiple", [0.0, -1.0, math.inf, math.nan])
    def test_a_multiplier_is_a_finite_number_above_zero(self, multiple):
        with pytest.raises(ArgumentError):
            units_for(multiple)


def test_a_key_draws_once_also_through_the_door():
    one = Key()
    ledger = Ledger.throw_away()
    used = Door(ledger.run(method="t", config={}), Budget.gaussian(1.0, 1e-6), threads=1, new_key=lambda: one)
    sums = LocalEngine().sum(people(), counts)
    used.gaussian("first", sums, 1000)
    with pytest.raises(NoiseError, match="served its release"):
        used.gaussian("second", sums, 1000)


def test_results_of_each_and_sums_are_sealed():
    assert isinstance(MAKE["Sum"](), Sum)
    assert isinstance(MAKE["UserResults"](), UserResults)

"""The six shapes as subjects of the sensitivity checks. A new statistic joins with one line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.audit.matrices import matrices_changed
from hushfold.privacy.audit.sensitivity import Subject
from hushfold.rng import PublicRandom
from hushfold.statistics.base import Contribution
from hushfold.statistics.cross import cross
from hushfold.statistics.dense import dense, dense_rows
from hushfold.statistics.gram import gram
from hushfold.statistics.linear import Declared, LinearMap, Vectors, linear, linear_map
from hushfold.statistics.moment import moment
from hushfold.statistics.moment_rows import moment_rows
from hushfold.statistics.quantise import Norm
from hushfold.statistics.relation import Kind, Relation
from hushfold.statistics.total import total
from hushfold.types import Rows

_COINS = PublicRandom(0)
_WILD = (1.0, 1e-4, 1e4, 1e200, np.nan, np.inf, 0.0, 1.0)


def user_numbers(name: str, rows: Rows, width: int) -> NDArray[np.float64]:
    """Numbers a user might have computed, hostile ones among them: a function of own key and own row only."""
    numbers = _uniform(name, rows, width)
    wild = np.array(_WILD)[_COINS.per_user(f"{name} wild", rows.keys) % np.uint64(len(_WILD))]
    return numbers * (wild * _turn(rows))[:, None]


def _turn(rows: Rows) -> NDArray[np.float64]:
    """1 or -1, by the sign of the user's first value: turning a row round turns the numbers round."""
    first = np.r_[rows.values, np.float32(0)][rows.indptr[:-1]]
    return np.where((first < 0) & (np.diff(rows.indptr) > 0), -1.0, 1.0)


def _uniform(name: str, rows: Rows, width: int) -> NDArray[np.float64]:
    """Uniform numbers in [-1, 1) per user, by the key alone."""
    columns = np.tile(np.arange(width, dtype=np.int32), len(rows))
    words = _COINS.per_entry(name, np.repeat(rows.keys, width), columns)
    return (words.astype(np.float64) / 2.0**63 - 1).reshape(-1, width)


def _total(rows: Rows) -> tuple[Contribution, ...]:
    return (total(rows, 2.5),)


def _total_with_scalars(rows: Rows) -> tuple[Contribution, ...]:
    extra, signed = user_numbers("extra", rows, 2), user_numbers("signed", rows, 1)
    return (total(rows, 1.0, extra, nonnegative=True, signed=signed, signed_share=0.05),)


def _dense(rows: Rows) -> tuple[Contribution, ...]:
    return (dense(user_numbers("dense", rows, 12).reshape(-1, 4, 3), 0.3),)


def _dense_symmetric(rows: Rows) -> tuple[Contribution, ...]:
    return (dense(user_numbers("symmetric", rows, 16).reshape(-1, 4, 4), 7.0, symmetric=True),)


def _dense_rows(rows: Rows) -> tuple[Contribution, ...]:
    numbers = rows.values[:, None].astype(np.float64) * np.array([1.0, -0.5, 3.0])
    return (dense_rows(rows, numbers, 1.5),)


def _moment(rows: Rows) -> tuple[Contribution, ...]:
    numbers = user_numbers("moment", rows, 5)
    turned = _turn(rows) < 0
    numbers[turned, 0], numbers[turned, 1], numbers[turned, 2:] = -numbers[turned, 1], numbers[turned, 0], 0.0
    return (moment(numbers, 2.0),)


def _moment_rows(rows: Rows) -> tuple[Contribution, ...]:
    return (moment_rows(rows, np.arange(0, rows.catalogue, 2, dtype=np.int64), 3.0),)


def _cross(rows: Rows) -> tuple[Contribution, ...]:
    return (cross(rows, user_numbers("cross", rows, 4), 2.0, 0.7),)


def _gram(rows: Rows) -> tuple[Contribution, ...]:
    return (gram(rows, user_numbers("gram", rows, 4), 2.0, 0.7),)


def _declared(rows: Rows, image: LinearMap) -> tuple[Contribution, ...]:
    return (linear(rows, (rows.keys % np.uint64(12)).astype(np.int64), image),)  # of 10 declared rows


def _vectors(rows: Rows, image: LinearMap) -> tuple[Contribution, ...]:
    return (linear(rows, _uniform("phi", rows, 3), image),)


def _linear(kind: Kind, steps: int, norm: Norm, two_sided: bool, catalogue: int = 600) -> Subject:
    """An image of the data matrix; the rows of `right` are equally long, so that any cell is the worst."""
    relation = Relation(kind, steps)
    right = _COINS.stream("right").choice([-1.0, 1.0], (catalogue, 4))
    vectors = kind in ("entry", "distance") or (kind == "user" and two_sided)
    left = Vectors(3, 0.5) if vectors else Declared(10)
    image = linear_map(
        relation, catalogue, left, right if two_sided or not vectors else None, value_step=0.5, norm=norm
    )
    name = f"linear {kind} {norm}" + (" two-sided" if two_sided else "")
    contribute = _vectors if vectors else _declared
    if kind == "user":
        return Subject(name, contribute, (image,), catalogue)
    users = catalogue if kind == "spectral" else 10
    changed = matrices_changed(relation, 0.5, users)
    return Subject(name, contribute, (image,), catalogue, changed, replaced=None)


SHAPES = (
    Subject("total", _total),
    Subject("total with scalars", _total_with_scalars),
    Subject("dense", _dense),
    Subject("dense symmetric", _dense_symmetric),
    Subject("dense item rows", _dense_rows),
    Subject("moment", _moment),
    Subject("moment of rows", _moment_rows, catalogue=1100),
    Subject("cross", _cross),
    Subject("gram", _gram),
    _linear("entry", 3, "l2", two_sided=False),
    _linear("entry", 1, "l1", two_sided=True),
    _linear("distance", 7, "l1", two_sided=False),
    _linear("distance", 7, "l2", two_sided=True),
    _linear("pair", 2, "l2", two_sided=False),
    _linear("spectral", 5, "l2", two_sided=False, catalogue=10),
    _linear("user", 50, "l2", two_sided=False),
    _linear("user", 50, "l1", two_sided=True),
)

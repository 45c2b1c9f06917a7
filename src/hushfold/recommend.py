"""Recommendations for many users at once: each history is folded in alone, each answer goes to its user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hushfold.data.ratings import Ratings
from hushfold.data.users import identities
from hushfold.engines.base import Engine
from hushfold.engines.local import LocalEngine, deliver
from hushfold.errors import ArgumentError
from hushfold.linalg.topk import Top
from hushfold.model import Model
from hushfold.types import Rows

Answers = Iterator[tuple[Any, list[tuple[Any, float]]]]
"""`(user id, [(item id, score), ...])`, best first."""


def recommend_all(model: Model, histories: Ratings, n: int = 20, engine: Engine | None = None) -> Answers:
    """The `n` best items for every user of `histories`, which were read with the model's catalogue."""
    if len(histories.catalogue) != len(model.catalogue):
        raise ArgumentError("histories", "were read with another catalogue", "Pass catalogue=model.catalogue")

    def step(rows: Rows) -> np.ndarray[Any, Any]:
        top = model.recommend_rows(rows, n)
        return np.stack([top.items.astype(np.float64), top.scores.astype(np.float64)], axis=1)

    results = deliver((engine or LocalEngine()).each(histories.users, step))
    names = identities(histories.users)
    for place, (items, scores) in enumerate(results):
        (answer,) = model.named(Top(items[None].astype(np.int32), scores[None].astype(np.float32)))
        yield names[place].as_py() if names is not None else place, answer


def write_recommendations(answers: Iterable[tuple[Any, list[tuple[Any, float]]]], out: Path) -> int:
    """One row per user and item: user, place, item, score. Returns the number of rows."""
    rows = [
        (user, place, item, score) for user, items in answers for place, (item, score) in enumerate(items, 1)
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    table = pa.table(dict(zip(("user", "place", "item", "score"), map(list, columns), strict=True)))
    if out.suffix == ".parquet":
        pa.parquet.write_table(table, out)
    elif out.suffix == ".csv":
        pa.csv.write_csv(table, out)
    else:
        raise ArgumentError("out", "its name ends in neither .parquet nor .csv", "Name it answers.parquet")
    return len(rows)

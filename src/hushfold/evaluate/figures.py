"""Metrics put together: one table of figures with their slices, marked as not protected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfold.evaluate.metrics import calibration, ranking, rating
from hushfold.evaluate.metrics.coverage import coverage
from hushfold.evaluate.metrics.slices import Slices
from hushfold.linalg.topk import Lists

Table = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Figures:
    """Exact numbers about private users. For the operator: `protected` is False and stays so."""

    metrics: dict[str, float]
    errors: dict[str, float] = field(default_factory=dict[str, float])
    """Standard error over users, where a metric is a mean over users."""
    slices: dict[str, Table] = field(default_factory=dict[str, Table])

    @property
    def protected(self) -> bool:
        """Never: a metric that may be published is a charged release."""
        return False

    def to_json(self) -> dict[str, Any]:
        """The document a command prints; what is not a number is null."""
        slices = {
            name: {label: _plain(row) for label, row in table.items()} for name, table in self.slices.items()
        }
        return {
            "protected": self.protected,
            "metrics": _plain(self.metrics),
            "errors": _plain(self.errors),
            "slices": slices,
        }


def rating_figures(
    predicted: ArrayLike,
    actual: ArrayLike,
    *,
    std: ArrayLike | None = None,
    scale: tuple[float, float] | None = None,
    slices: Mapping[str, tuple[Slices, NDArray[np.integer[Any]]]] | None = None,
) -> Figures:
    """RMSE, MAE and calibration over held-out rows; predictions are clipped to the public `scale`.

    `slices={"popularity": (by_popularity(counts), item_of_every_row)}` adds the RMSE by slice; users
    likewise.
    """
    guess, truth = np.asarray(predicted, np.float64), np.asarray(actual, np.float64)
    if scale is not None:
        guess = np.clip(guess, *scale)
    metrics = {
        "rmse": rating.rmse(guess, truth),
        "mae": rating.mae(guess, truth),
        "calibration_error": calibration.calibration_error(guess, truth),
    }
    if std is not None:
        metrics["inside_90"] = calibration.interval_share(guess, truth, std)
    tables: dict[str, Table] = {}
    for name, (cut, keys) in (slices or {}).items():
        number = cut.of[keys]
        rows = {label: number == part for part, label in enumerate(cut.names)}
        tables[name] = {
            label: {"rmse": rating.rmse(guess[own], truth[own]), "rows": int(own.sum())}
            for label, own in rows.items()
        }
    return Figures(metrics, slices=tables)


def ranking_figures(
    items: ArrayLike,
    targets: Lists,
    *,
    catalogue: int,
    at: Sequence[int] = (20, 50),
    ndcg_at: int = 100,
    popularity: Slices | None = None,
    activity: Slices | None = None,
) -> Figures:
    """Recall and MRR at every k of `at`, NDCG, hit rate and coverage of recommendations (n x k, best first).

    `popularity` cuts the targets: recall of the head, of the tail. `activity` cuts the users. What lies
    beyond the width of `items` is left out.
    """
    ranked = np.asarray(items, np.int32)
    found = ranking.hits(ranked, targets)
    wanted = [k for k in at if k <= ranked.shape[1]] or [ranked.shape[1]]
    deepest = min(ndcg_at, ranked.shape[1])
    per_user = {f"recall@{k}": ranking.recall(found, k) for k in wanted}
    per_user[f"ndcg@{deepest}"] = ranking.ndcg(found, deepest)
    per_user[f"mrr@{wanted[0]}"] = ranking.mrr(found, wanted[0])
    per_user[f"hit_rate@{wanted[0]}"] = ranking.hit_rate(found, wanted[0])
    summary = {name: ranking.mean_and_error(values) for name, values in per_user.items()}
    metrics = {name: mean for name, (mean, _) in summary.items()}
    metrics[f"coverage@{wanted[0]}"] = coverage(ranked, wanted[0], catalogue)
    tables: dict[str, Table] = {}
    first = f"recall@{wanted[0]}"
    if activity is not None:
        groups = {label: activity.of == part for part, label in enumerate(activity.names)}
        tables["activity"] = {
            label: {first: ranking.mean_and_error(per_user[first][own])[0], "users": int(own.sum())}
            for label, own in groups.items()
        }
    if popularity is not None:
        tables["popularity"] = {}
        for part, label in enumerate(popularity.names):
            within = ranking.recall(ranking.hits(ranked, _only(targets, popularity.of == part)), wanted[0])
            users = int((~np.isnan(within)).sum())
            tables["popularity"][label] = {first: ranking.mean_and_error(within)[0], "users": users}
    return Figures(metrics, {name: error for name, (_, error) in summary.items()}, tables)


def lists_of(user: NDArray[np.int64], item: NDArray[np.int32], users: NDArray[np.int64]) -> Lists:
    """The increasing, distinct items of every user in `users` (increasing codes), from rows in any order."""
    place = np.searchsorted(users, user)
    known = place < len(users)
    known[known] = users[place[known]] == user[known]
    pairs = np.unique(place[known].astype(np.int64) << 32 | item[known].astype(np.int64))
    lengths = np.bincount(pairs >> 32, minlength=len(users))
    return np.concatenate(([0], np.cumsum(lengths))), (pairs & 0xFFFFFFFF).astype(np.int32)


def _only(lists: Lists, kept: NDArray[np.bool_]) -> Lists:
    indptr, items = lists
    own = kept[items]
    return np.concatenate(([0], np.cumsum(own)))[indptr], items[own]


def _plain(row: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in row.items()}

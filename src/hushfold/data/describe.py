"""What is in a data set, exactly: the operator's view of private rows. Never for publication."""

# pyright: basic
from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.data.ratings import Ratings

_FEW = 24  # as many distinct values are listed one by one


@dataclass(frozen=True, slots=True)
class Spread:
    """Counts per user or per item in five numbers."""

    min: int
    median: float
    mean: float
    p99: float
    max: int

    @staticmethod
    def of(counts: NDArray[np.int64]) -> Spread:
        """All zero if there is nobody."""
        if not len(counts):
            return Spread(0, 0.0, 0.0, 0.0, 0)
        middle, high = np.percentile(counts, [50, 99])
        return Spread(int(counts.min()), float(middle), float(counts.mean()), float(high), int(counts.max()))


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """Exact statistics of private users."""

    users: int
    items: int
    items_seen: int
    rows: int
    density: float
    mean: float | None
    std: float | None
    per_user: Spread
    single_users: int
    users_with_20: int
    per_item: Spread
    top_20_percent: float
    """Share of the rows on the most popular fifth of the items that occur."""
    correlation: float | None
    """Pearson, over rows, of the user's and the item's number of rows."""
    values: dict[float, int]
    """Rows by value, if there are few distinct ones."""
    activity: dict[str, int]
    """Users by their number of rows."""
    popularity: dict[str, int]
    """Items by their number of rows."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self) | {"values": [{"value": v, "rows": n} for v, n in self.values.items()]}

    def __repr__(self) -> str:
        return "NOT FOR PUBLICATION: exact statistics of private users; read the fields you need"


def describe(ratings: Ratings) -> Description:
    """Two passes over the rows."""
    per_item = np.zeros(len(ratings.catalogue), np.int64)
    per_user: list[NDArray[np.int64]] = []
    total = squares = 0.0
    values: dict[float, int] | None = {}
    for rows in ratings.users.blocks():
        per_user.append(np.diff(rows.indptr))
        per_item += np.bincount(rows.items, minlength=len(per_item))
        exact = rows.values.astype(np.float64)
        total, squares = total + exact.sum(), squares + np.square(exact).sum()
        values = _count(values, rows.values)
    counts = np.concatenate(per_user) if per_user else np.zeros(0, np.int64)
    rows_kept = int(counts.sum())
    seen = per_item[per_item > 0]
    valued = ratings.kind != "implicit" and rows_kept > 0
    mean = total / rows_kept if valued else None
    return Description(
        users=len(counts),
        items=len(per_item),
        items_seen=len(seen),
        rows=rows_kept,
        density=rows_kept / (len(counts) * len(per_item)) if rows_kept else 0.0,
        mean=mean,
        std=None if mean is None else float(np.sqrt(max(0.0, squares / rows_kept - mean**2))),
        per_user=Spread.of(counts),
        single_users=int((counts == 1).sum()),
        users_with_20=int((counts >= 20).sum()),
        per_item=Spread.of(seen),
        top_20_percent=_top_share(seen),
        correlation=_correlation(ratings, counts, per_item),
        values=dict(sorted(values.items())) if valued and values else {},
        activity=_histogram(counts),
        popularity=_histogram(per_item),
    )


def _count(known: dict[float, int] | None, values: NDArray[np.float32]) -> dict[float, int] | None:
    if known is None:
        return None
    distinct, counts = np.unique(values, return_counts=True)
    for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        known[value] = known.get(value, 0) + count
    return known if len(known) <= _FEW else None


def _top_share(seen: NDArray[np.int64]) -> float:
    if not len(seen):
        return 0.0
    fifth = max(1, round(len(seen) / 5))
    return float(np.sort(seen)[-fifth:].sum() / seen.sum())


def _correlation(ratings: Ratings, per_user: NDArray[np.int64], per_item: NDArray[np.int64]) -> float | None:
    """Over rows; None where one of the two does not vary."""
    rows_kept = float(per_user.sum())
    if not rows_kept:
        return None
    popularity = per_item.astype(np.float64)
    together = 0.0
    for rows in ratings.users.blocks():
        together += float(np.repeat(np.diff(rows.indptr), np.diff(rows.indptr)) @ popularity[rows.items])
    user_mean, item_mean = ((counts.astype(float) ** 2).sum() / rows_kept for counts in (per_user, per_item))
    user_var, item_var = (
        (counts.astype(float) ** 3).sum() / rows_kept - mean**2
        for counts, mean in ((per_user, user_mean), (per_item, item_mean))
    )
    if user_var <= 1e-9 * user_mean**2 or item_var <= 1e-9 * item_mean**2:
        return None
    return float((together / rows_kept - user_mean * item_mean) / np.sqrt(user_var * item_var))


def _histogram(counts: NDArray[np.int64]) -> dict[str, int]:
    """By 0, 1, 2-4, 5-9, 10-19, 20-49, ...; empty ends are left out."""
    edges = [0, 1, 2]
    while edges[-1] <= (counts.max() if len(counts) else 0):
        edges += [5 * edges[-1] // 2 if str(edges[-1])[0] == "2" else 2 * edges[-1]]
    bins = np.histogram(counts, bins=[*edges, np.inf])[0] if len(counts) else np.zeros(0, int)
    filled = np.flatnonzero(bins)
    if not len(filled):
        return {}
    shown = range(int(filled[0]), int(filled[-1]) + 1)
    return {_label(edges, i): int(bins[i]) for i in shown}


def _label(edges: list[int], i: int) -> str:
    last = edges[i + 1] - 1 if i + 1 < len(edges) else None
    return f"{edges[i]}" if last == edges[i] else f"{edges[i]}+" if last is None else f"{edges[i]}-{last}"

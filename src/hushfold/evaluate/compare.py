"""Methods side by side: the same split, the same budget, one table. Exact, so NOT PRIVATE.

Private methods are fitted on the training rows with throw-away ledgers. Beside them always stand the bias
(or popularity) model at the same budget, the constant, and non-private ALS: what privacy is measured against.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hushfold.algorithms.methods import Method, method
from hushfold.data.plain import plain_triplets
from hushfold.data.ratings import Ratings
from hushfold.data.split import Split, Triplets
from hushfold.estimators import fit_private
from hushfold.evaluate.figures import Figures
from hushfold.evaluate.judge import Judged, judge
from hushfold.evaluate.protocol import Protocol, protocol
from hushfold.evaluate.yardsticks import yardsticks
from hushfold.privacy.budget import Budget

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One method at one epsilon, averaged over the repeats."""

    method: str
    private: bool
    epsilon: float | None
    delta: float | None
    metric: str
    value: float
    std: float
    metrics: dict[str, float]
    seconds: float
    peak_mb: float

    def to_json(self) -> dict[str, Any]:
        """The stable row of `hushfold compare --json`."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole table. `protected` is False and stays so."""

    rows: list[Row]
    split: dict[str, Any]
    seed: int

    def to_json(self) -> dict[str, Any]:
        """The stable document of `hushfold compare --json`."""
        return {
            "protected": False,
            "rows": [row.to_json() for row in self.rows],
            "split": self.split,
            "seed": self.seed,
        }


def compare(
    ratings: Ratings,
    methods: Sequence[str],
    epsilons: Sequence[float],
    delta: float,
    *,
    name: str = "",
    split: str = "80/10/10",
    seed: int = 0,
    repeats: int = 1,
    metric: str | None = None,
    watch: Watch = lambda step, done, total: None,
) -> Comparison:
    """Fit every method at every epsilon on the same rows and judge them on the last part of the split."""
    explicit = ratings.kind == "explicit"
    how = name or ("rows" if explicit else "new-users")
    wanted = metric or ("rmse" if explicit else f"recall@{min(20, len(ratings.catalogue))}")
    chosen = [method(each, ratings.kind) for each in dict.fromkeys([*methods, "bias"])]
    triplets = plain_triplets(ratings.users).value
    asked = [(each, epsilon) for epsilon in epsilons for each in chosen]
    tried: dict[tuple[str, float | None], list[tuple[Figures, float, float]]] = {}
    for repeat in range(repeats):
        rule = protocol(how, split, seed + repeat)
        cut = rule.split(triplets)
        train = triplets.take(cut.train)
        for done, (each, epsilon) in enumerate(asked):
            watch(f"{each.name} at epsilon {epsilon:g}", done, len(asked))
            fit = _private(each, ratings, train, Budget.gaussian(epsilon, delta))
            tried.setdefault((each.name, epsilon), []).append(_judged(fit, triplets, cut, ratings))
        for stick in yardsticks(explicit):
            watch(stick.name, len(asked), len(asked))
            fit = partial(stick.fit, train, ratings.range)
            tried.setdefault((stick.name, None), []).append(_judged(fit, triplets, cut, ratings))
    rows = [_row(*key, delta, runs, wanted) for key, runs in tried.items()]
    return Comparison(rows, _described(protocol(how, split, seed), repeats), seed)


def _private(how: Method, ratings: Ratings, train: Triplets, budget: Budget) -> Callable[[], Judged]:
    """A fit to be timed, on the training rows alone."""
    seen = replace(ratings, users=train.handle(), ledger="throw-away", declared_users=None)

    def fit() -> Judged:
        model = fit_private(how, seen, budget)
        predict = how.predict
        return Judged(
            model.recommend_rows,
            None if predict is None else lambda shown, wanted: predict(model.state, shown, wanted),
        )

    return fit


def _judged(
    fit: Callable[[], Judged], triplets: Triplets, cut: Split, ratings: Ratings
) -> tuple[Figures, float, float]:
    with _peak_memory() as peak:
        started = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - started
    explicit = ratings.kind == "explicit"
    figures = judge(model, triplets, cut.test, explicit=explicit, scale=ratings.range)
    return figures, seconds, peak[0]


@contextmanager
def _peak_memory() -> Iterable[list[float]]:
    """The most memory this process held meanwhile, in MB, looked at twenty times a second."""
    peak, over = [_resident_mb()], threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            peak[0] = max(peak[0], _resident_mb())

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield peak
    finally:
        over.set()
        looking.join()
        peak[0] = max(peak[0], _resident_mb())


def _resident_mb() -> float:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * 4096 / 1e6 if statm.exists() else 0.0


def _row(
    name: str,
    epsilon: float | None,
    delta: float,
    runs: list[tuple[Figures, float, float]],
    metric: str,
) -> Row:
    tables = [figures.metrics for figures, _, _ in runs]
    metrics = {each: statistics.fmean(table[each] for table in tables) for each in tables[0]}
    values = [table.get(metric, float("nan")) for table in tables]
    return Row(
        name,
        epsilon is not None,
        epsilon,
        delta if epsilon is not None else None,
        metric,
        statistics.fmean(values),
        statistics.stdev(values) if len(values) > 1 else 0.0,
        metrics,
        statistics.fmean(seconds for _, seconds, _ in runs),
        max(peak for _, _, peak in runs),
    )


def _described(rule: Protocol, repeats: int) -> dict[str, Any]:
    return {**rule.model_dump(), "repeats": repeats}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return None if isinstance(value, float) and not np.isfinite(value) else value

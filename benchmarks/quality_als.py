"""Do the non-private yardsticks reach the quality of the best open implementations of the same methods?

    python benchmarks/quality_als.py [--sets ml-100k ml-1m ml-1m-implicit] [--seed 0] [--all]

Each at the best of its own settings, chosen on the test rows for ours and theirs alike. Ratings: test RMSE,
rows `default_rng(seed).random(rows) < .1`, against cmfrec (the same model: a centre and factors). Likes:
Recall@20 of new users who show 80 % of what they have, against `implicit`. Figures are exact statistics of
real people: for the operator. `--all` prints every setting tried. Sets are read where `--data` says, and
skipped if absent.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp

from hushfold.algorithms import als, ease
from hushfold.algorithms.als import AlsConfig
from hushfold.evaluate.metrics.ranking import hits, recall
from hushfold.evaluate.metrics.rating import rmse
from hushfold.linalg.topk import topk_of_scores
from hushfold.rng import PublicRandom
from hushfold.types import Rows

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
Figures = Iterator[tuple[str, dict[str, Any], float]]


def read(path: Path) -> tuple[Rows, np.ndarray]:
    """All rows, and the stored order of each."""
    table = pq.read_table(path)
    user, item = table["user"].to_numpy(), table["item"].to_numpy()
    value = table["rating"].to_numpy() if "rating" in table.column_names else np.ones(len(user), np.float32)
    indptr = np.r_[0, np.cumsum(np.bincount(user))].astype(np.int64)
    keys = np.arange(len(indptr) - 1, dtype=np.uint64)
    return Rows(indptr, item.astype(np.int32), value.astype(np.float32), keys, int(item.max()) + 1), user


def keep(rows: Rows, kept: np.ndarray) -> Rows:
    """Some entries of the same users."""
    before = np.r_[0, np.cumsum(kept)]
    return Rows(before[rows.indptr], rows.items[kept], rows.values[kept], rows.keys, rows.catalogue)


def split_ratings(path: Path, seed: int) -> tuple[Rows, Rows]:
    """Training and test entries of everybody."""
    rows, _ = read(path)
    test = np.random.default_rng(seed).random(len(rows.items)) < 0.1
    return keep(rows, ~test), keep(rows, test)


def split_likes(path: Path, seed: int) -> tuple[Rows, Rows, Rows]:
    """Rows to fit on; what new users show, and what is looked for."""
    rows, _ = read(path)
    lengths = np.diff(rows.indptr)
    coins = np.random.default_rng(seed)
    order = coins.permutation(np.flatnonzero(lengths >= 3))
    held = np.zeros(len(rows), bool)
    held[order[: min(2000, len(rows) // 10)]] = True
    new = rows.keep_users(held & (lengths >= 5))
    shown = coins.random(len(new.items)) < 0.8
    return rows.keep_users(~held), keep(new, shown), keep(new, ~shown)


def fitted(rows: Rows, config: AlsConfig, every: int = 5) -> Iterator[als.AlsModel]:
    """The model after every few steps."""
    problem = als.prepare(rows, config)
    state = als.start(problem, PublicRandom(0))
    while state.step < config.steps:
        state = als.step(state, problem)
        if state.step % every == 0:
            yield als.model(state, problem)


def our_ratings(train: Rows, test: Rows, ranks: list[int]) -> Figures:
    scale = float(train.values.min()), float(train.values.max())
    for rank, powers, ridge in itertools.product(ranks, ((0.5, 1), (1, 1)), (5, 7, 8.5, 10, 12, 15)):
        settings = {"rank": rank, "user_power": powers[0], "item_power": powers[1], "ridge": ridge}
        for number, model in enumerate(fitted(train, AlsConfig(steps=20, **settings))):
            predicted = np.clip(als.predict(train, test, model), *scale)
            yield "ours", {**settings, "steps": 5 * number + 5}, rmse(predicted, test.values)


def cmfrec_ratings(train: Rows, test: Rows, ranks: list[int]) -> Figures:
    import cmfrec
    import pandas as pd

    def frame(rows: Rows) -> Any:
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
        return pd.DataFrame({"UserId": owner, "ItemId": rows.items, "Rating": rows.values})

    wanted, scale = frame(test), (float(train.values.min()), float(train.values.max()))
    own = [(False, ridge) for ridge in (3, 6, 10, 15, 25)]
    for rank, (scaled, ridge), steps in itertools.product(
        ranks, [*own, *((True, ridge) for ridge in (0.03, 0.04, 0.05, 0.07, 0.1, 0.12, 0.15))], (10, 20)
    ):
        settings = {"k": rank, "lambda_": ridge, "scale_lam": scaled, "niter": steps}
        model = cmfrec.CMF(
            method="als",
            use_cg=False,
            user_bias=False,
            item_bias=False,
            verbose=False,
            nthreads=1,
            **settings,
        ).fit(frame(train))
        predicted = model.predict(user=wanted.UserId, item=wanted.ItemId)
        yield "cmfrec", settings, rmse(np.clip(np.nan_to_num(predicted, nan=3.5), *scale), test.values)


def recall_of(scores: np.ndarray, shown: Rows, wanted: Rows) -> float:
    best = topk_of_scores(scores, 20, (shown.indptr, shown.items))
    return float(np.nanmean(recall(hits(best.items, (wanted.indptr, wanted.items)), 20)))


def our_likes(train: Rows, shown: Rows, wanted: Rows, ranks: list[int]) -> Figures:
    for rank, weight, ridge in itertools.product(ranks, (0.03, 0.1, 0.3), (2, 5, 10, 20)):
        for power in (0.0, 0.5, 1.0):
            settings = {
                "rank": rank,
                "unobserved_weight": weight,
                "ridge": ridge,
                "user_power": power,
                "item_power": power,
            }
            for number, model in enumerate(fitted(train, AlsConfig(steps=15, **settings))):
                yield (
                    "ours",
                    {**settings, "steps": 5 * number + 5},
                    recall_of(als.scores(shown, model), shown, wanted),
                )


def implicit_likes(train: Rows, shown: Rows, wanted: Rows, ranks: list[int]) -> Figures:
    import implicit

    def matrix(rows: Rows) -> Any:
        return sp.csr_matrix((rows.values, rows.items, rows.indptr), (len(rows), rows.catalogue))

    for rank, alpha, ridge in itertools.product(
        ranks, (1.0, 3.0, 10.0, 30.0), (0.01, 1.0, 10.0, 30.0, 100.0)
    ):
        settings = {"factors": rank, "alpha": alpha, "regularization": ridge}
        model = implicit.cpu.als.AlternatingLeastSquares(
            iterations=15, num_threads=1, random_state=0, use_cg=True, **settings
        )
        model.fit(matrix(train), show_progress=False)
        users = model.recalculate_user(np.arange(len(shown)), matrix(shown))
        yield "implicit", settings, recall_of(users @ model.item_factors.T, shown, wanted)


def ease_likes(train: Rows, shown: Rows, wanted: Rows) -> Figures:
    for ridge in (100.0, 300.0, 1000.0):
        x = sp.csr_array((train.values, train.items, train.indptr), (len(train), train.catalogue))
        model = ease.EaseModel(np.arange(train.catalogue), ease.item_weights(x, ridge), train.catalogue)
        yield "ease", {"ridge": ridge}, recall_of(ease.scores(shown, model), shown, wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=["ml-100k", "ml-1m", "ml-1m-implicit"])
    parser.add_argument("--ranks", nargs="*", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    for name in given.sets:
        path = given.data / f"{name}.parquet"
        if not path.exists():
            print(f"{name}: not there")
            continue
        if name.endswith("implicit"):
            parts, ranks, better = split_likes(path, given.seed), given.ranks or [32, 64], max
            tried = itertools.chain(
                our_likes(*parts, ranks), implicit_likes(*parts, ranks), ease_likes(*parts)
            )
        else:
            parts, ranks, better = split_ratings(path, given.seed), given.ranks or [16, 32], min
            tried = itertools.chain(our_ratings(*parts, ranks), cmfrec_ratings(*parts, ranks))
        figures = []
        for figure in tried:
            figures.append(figure)
            if given.all:
                print(name, *figure, flush=True)
        for who in dict.fromkeys(who for who, _, _ in figures):
            mine = [(value, settings) for one, settings, value in figures if one == who]
            value, settings = better(mine, key=lambda pair: pair[0])
            print(f"{name:15} {who:9} {value:.4f}   {settings}", flush=True)


if __name__ == "__main__":
    main()

"""How good is Hush on likes? Recall on new users, as a share of EASE, which protects nobody.

    python benchmarks/quality_implicit.py --sets msweb,deezer --epsilon 1,5,20 --seeds 2

Whole users are held out (protocol `new-users`, seed 0) and show four fifths of their rows. Hush is fitted
through its own door, lattice noise and a throw-away ledger, delta 1e-5, nothing tuned; `--seeds` fits are
averaged. EASE is its closed form on raw counts over the 9,000 most popular items, at the best of three ridges
chosen on the test users; gowalla's takes all 41,000 items and 6.7 GB, and is given instead of run: .245. One
JSON line a set. Real sets are read in place from ../shared/data; one that is absent is skipped.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hushfold.algorithms.hush.implicit import fit, recommend
from hushfold.data.split import Part, Triplets
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.evaluate.figures import lists_of
from hushfold.evaluate.metrics import ranking
from hushfold.evaluate.protocol import NewUsers
from hushfold.linalg.topk import Lists, topk_of_scores
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.types import Rows

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RIDGES = (20.0, 100.0, 400.0)
EASE_ITEMS = 9000
EPSILONS = (1.0, 5.0, 20.0)


@dataclass(frozen=True)
class Case:
    """A set's file, its public number of items, how far lists are read, the shares it should reach."""

    file: str
    items: int
    k: int
    shares: tuple[float, float, float]
    at_least: float | None = None
    ease: float | None = None
    """Where it was measured before and takes too much memory here."""


CASES = {
    "msweb": Case("msweb", 285, 5, (0.94, 0.99, 1.00)),
    "webview-1": Case("bms-webview-1", 497, 20, (0.77, 0.93, 0.96)),
    "webview-2": Case("bms-webview-2", 3340, 20, (0.62, 0.87, 0.96)),
    "deezer": Case("deezer-genres", 86, 5, (1.00, 1.00, 1.00)),
    "ml-1m": Case("ml-1m", 3706, 20, (0.67, 0.82, 0.92), at_least=4),
    "retail": Case("retail", 16470, 20, (0.74, 0.85, 0.92)),
    "gowalla": Case("gowalla", 40981, 20, (0.26, 0.46, 0.64), ease=0.245),
}


class World:
    """A set, split: whom the fit sees, and what the tested users show and hide."""

    def __init__(self, case: Case, path: Path) -> None:
        table = pq.read_table(path)
        user, item = (table[name].to_numpy() for name in ("user", "item"))
        if case.at_least is not None:
            liked = table["rating"].to_numpy() >= case.at_least
            user, item = user[liked], item[liked]
        self.case = case
        self.triplets = Triplets.of(user, item, catalogue=case.items)
        split = NewUsers().split(self.triplets)
        self.train = self.triplets.take(split.train)
        self.shown, self.hidden = self._lists(split.test)

    def _lists(self, part: Part) -> tuple[Lists, Lists]:
        own = self.triplets
        people = np.unique(own.user[np.r_[part.query, part.target]])
        return (
            lists_of(own.user[part.query], own.item[part.query], people),
            lists_of(own.user[part.target], own.item[part.target], people),
        )

    def histories(self) -> Rows:
        indptr, items = self.shown
        keys = np.arange(len(indptr) - 1, dtype=np.uint64)
        return Rows(indptr.astype(np.int64), items, np.ones(len(items), np.float32), keys, self.case.items)

    def recall(self, items: NDArray[np.int32]) -> float:
        return ranking.mean_and_error(ranking.recall(ranking.hits(items, self.hidden), self.case.k))[0]

    def popularity(self) -> float:
        counts = np.bincount(self.train.item, minlength=self.case.items)
        scores = np.tile(counts.astype(np.float32), (len(self.shown[0]) - 1, 1))
        return self.recall(topk_of_scores(scores, self.case.k, self.shown).items)

    def ease(self) -> float:
        """Recall of `-P_jk / P_kk`, `P = (X^T X + ridge I)^-1`, at its best ridge."""
        counts = np.bincount(self.train.item, minlength=self.case.items)
        head = np.sort(np.argsort(-counts, kind="stable")[:EASE_ITEMS])
        train = _matrix(self.train.user, self.train.item, len(self.train.keys), self.case.items)[:, head]
        shown = _of_lists(self.shown, self.case.items)[:, head]
        gram = np.asarray((train.T @ train).todense(), np.float32)
        best = 0.0
        for ridge in RIDGES:
            weights = np.linalg.inv(gram + ridge * np.eye(len(head), dtype=np.float32))
            weights /= -weights.diagonal()
            np.fill_diagonal(weights, 0)
            scores = np.full((shown.shape[0], self.case.items), -np.inf, np.float32)
            scores[:, head] = shown @ weights
            best = max(best, self.recall(topk_of_scores(scores, self.case.k, self.shown).items))
        return best

    def hush(self, epsilon: float) -> dict[str, float]:
        start = time.perf_counter()
        budget = Budget.gaussian(epsilon, 1e-5)
        run = Ledger.throw_away().run(method="hush", config={})
        people = self.train.user
        users = Users.from_arrays(people, self.train.item, np.ones(len(people)), self.case.items)
        model = fit(users, LocalEngine(), Door(run, budget)).value
        seconds = time.perf_counter() - start
        return {
            "recall": self.recall(recommend(self.histories(), model, self.case.k)),
            "head": len(model.head),
            "factors": model.B.shape[1],
            "pairs": model.pairs.nnz // 2,
            "seconds": seconds,
        }


def _matrix(user: NDArray[np.int64], item: NDArray[np.int32], users: int, items: int) -> csr_array:
    return csr_array((np.ones(len(user), np.float32), (user, item)), shape=(users, items))


def _of_lists(lists: Lists, items: int) -> csr_array:
    indptr, own = lists
    return csr_array((np.ones(len(own), np.float32), own, indptr), shape=(len(indptr) - 1, items))


def measure(name: str, epsilons: list[float], seeds: int) -> dict[str, object]:
    """One set's line: popularity, EASE, Hush, and how far its shares are from the table's."""
    case = CASES[name]
    world = World(case, DATA / f"{case.file}.parquet")
    ease = case.ease or world.ease()
    figures: dict[str, object] = {
        "set": name,
        "popularity": round(world.popularity(), 4),
        "ease": round(ease, 4),
        "ease_in_this_run": case.ease is None,
        "tested": len(world.shown[0]) - 1,
    }
    for epsilon in epsilons:
        runs = [world.hush(epsilon) for _ in range(seeds)]
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        share = mean["recall"] / ease
        figures[f"eps {epsilon:g}"] = {key: round(value, 4) for key, value in mean.items()} | {
            "share_of_ease": round(share, 3)
        }
        if epsilon in EPSILONS:
            figures[f"eps {epsilon:g}"]["off_the_table"] = round(
                share - case.shares[EPSILONS.index(epsilon)], 3
            )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", default="msweb,webview-1,webview-2,deezer,ml-1m")
    parser.add_argument("--epsilon", default="1,5,20")
    parser.add_argument("--seeds", type=int, default=2, help="Fits per figure, each with noise of its own.")
    asked = parser.parse_args()
    for name in asked.sets.split(","):
        if not (DATA / f"{CASES[name].file}.parquet").exists():
            print(json.dumps({"set": name, "skipped": "its file is absent"}), flush=True)
            continue
        epsilons = [float(epsilon) for epsilon in asked.epsilon.split(",")]
        print(json.dumps(measure(name, epsilons, asked.seeds)), flush=True)


if __name__ == "__main__":
    main()

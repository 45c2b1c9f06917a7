"""Ranking metrics equal rectools' on 1,000 users to 1e-9.

The golden file holds what rectools 0.19 computed on `case()`. Where rectools is installed (it wants an older
numpy, so an environment of its own), the slow test computes it again; run as a program, this file writes it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).with_name("metrics_rectools.json")
USERS, ITEMS, DEPTH = 1000, 300, 50


def case() -> tuple[np.ndarray, list[np.ndarray]]:
    """Recommendations (50 each) and at least one target per user, likelier among the first places."""
    rng = np.random.default_rng(20)
    ranked = np.argsort(rng.random((USERS, ITEMS)), axis=1)[:, :DEPTH].astype(np.int32)
    targets = []
    for row in ranked:
        odds = np.ones(ITEMS)
        odds[row] += 8 / np.arange(1, DEPTH + 1)
        size = 1 + int(rng.geometric(0.08)) % 80
        targets.append(np.sort(rng.choice(ITEMS, size, replace=False, p=odds / odds.sum())).astype(np.int32))
    return ranked, targets


def by_rectools() -> dict[str, float]:
    import pandas as pd
    from rectools import Columns
    from rectools.metrics import MRR, NDCG, CatalogCoverage, HitRate, Precision, calc_metrics

    ranked, targets = case()
    users = np.arange(USERS)
    reco = pd.DataFrame(
        {
            Columns.User: np.repeat(users, DEPTH),
            Columns.Item: ranked.ravel(),
            Columns.Rank: np.tile(np.arange(1, DEPTH + 1), USERS),
        }
    )
    sizes = [len(own) for own in targets]
    wanted = pd.DataFrame({Columns.User: np.repeat(users, sizes), Columns.Item: np.concatenate(targets)})
    metrics = {}
    for k in (5, 20, 50):  # hits / min(k, targets) goes by the name of R-precision there
        metrics[f"recall@{k}"] = Precision(k, r_precision=True)
        metrics[f"ndcg@{k}"] = NDCG(k, divide_by_achievable=True)
        metrics[f"mrr@{k}"] = MRR(k)
        metrics[f"hit_rate@{k}"] = HitRate(k)
    for k in (1, 2):
        metrics[f"coverage@{k}"] = CatalogCoverage(k, normalize=True)
    found = calc_metrics(metrics, reco, interactions=wanted, catalog=np.arange(ITEMS))
    return {name: float(value) for name, value in found.items()}


def by_hushfold() -> dict[str, float]:
    from hushfold.evaluate.metrics import ranking
    from hushfold.evaluate.metrics.coverage import coverage

    ranked, targets = case()
    indptr = np.concatenate(([0], np.cumsum([len(own) for own in targets])))
    found = ranking.hits(ranked, (indptr, np.concatenate(targets)))
    metrics = {f"coverage@{k}": coverage(ranked, k, ITEMS) for k in (1, 2)}
    for k in (5, 20, 50):
        for name in ("recall", "ndcg", "mrr", "hit_rate"):
            metrics[f"{name}@{k}"] = float(getattr(ranking, name)(found, k).mean())
    return metrics


def test_metrics_equal_the_recorded_ones():
    assert by_hushfold() == pytest.approx(json.loads(GOLDEN.read_text()), rel=0, abs=1e-9)


@pytest.mark.slow
def test_metrics_equal_rectools():
    pytest.importorskip("rectools")
    assert by_hushfold() == pytest.approx(by_rectools(), rel=0, abs=1e-9)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(by_rectools(), indent=2) + "\n")

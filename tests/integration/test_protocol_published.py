"""The protocol `new-users` reproduces the published recall of popularity on real sets, within .001."""

from __future__ import annotations

import numpy as np
import pyarrow.compute
import pyarrow.parquet
import pytest

from hushfold.data.split import Triplets
from hushfold.evaluate.figures import lists_of
from hushfold.evaluate.metrics import ranking
from hushfold.evaluate.protocol import protocol
from hushfold.linalg.topk import topk

PUBLISHED = {
    "msweb": (5, 0.466),
    "bms-webview-1": (20, 0.278),
    "bms-webview-2": (20, 0.127),
    "deezer-genres": (5, 0.689),
    "ml-1m": (20, 0.170),
    "retail": (20, 0.210),
    "gowalla": (20, 0.031),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_popularity_on_new_users(real_data, name):
    k, published = PUBLISHED[name]
    table = pyarrow.parquet.read_table(real_data / f"{name}.parquet")
    if "rating" in table.column_names:
        table = table.filter(pyarrow.compute.greater_equal(table["rating"], 4.0))
    log = Triplets.of(table["user"].to_numpy(), table["item"].to_numpy())
    split = protocol("new-users", "90/10", seed=0).split(log)
    query, target = log.take(split.test.query), log.take(split.test.target)
    users = np.unique(np.concatenate([query.user, target.user]))
    popularity = np.bincount(log.item[split.train], minlength=log.catalogue)
    best = topk(np.ones((len(users), 1)), popularity[:, None], k, lists_of(query.user, query.item, users))
    found = ranking.hits(best.items, lists_of(target.user, target.item, users))
    recall, _ = ranking.mean_and_error(ranking.recall(found, k))
    assert recall == pytest.approx(published, abs=0.001)

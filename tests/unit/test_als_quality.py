"""The yardsticks are as good as the best open implementations of the same methods, on real sets.

Settings are the best of `benchmarks/quality_als.py` for either side.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from hushfold.algorithms import als, ease
from hushfold.algorithms.als import AlsConfig
from hushfold.data.plain import plain_rows
from hushfold.data.users import Users
from hushfold.evaluate.metrics.ranking import hits, recall
from hushfold.evaluate.metrics.rating import rmse
from hushfold.linalg.topk import topk_of_scores
from hushfold.threads import one_blas_thread

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # others' warnings


def columns(name):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{name} is not there")
    table = pq.read_table(path)
    user, item = table["user"].to_numpy(), table["item"].to_numpy()
    return user, item, table["rating"].to_numpy() if "rating" in table.column_names else np.ones(len(user))


def aligned(user, item, value, part, catalogue):
    """Part of the rows of everybody, user by user: who has none is there all the same."""
    indptr = np.r_[0, np.cumsum(np.bincount(user[part], minlength=user.max() + 1))]
    keys = np.arange(user.max() + 1, dtype=np.uint64)
    return als.Rows(indptr, item[part].astype(np.int32), value[part].astype(np.float32), keys, catalogue)


@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        (
            "ml-100k",
            AlsConfig(32, steps=20, ridge=8.5, user_power=0.5, item_power=1),
            {"k": 32, "lambda_": 0.12, "scale_lam": True, "niter": 20},
        ),
        (
            "ml-1m",
            AlsConfig(16, steps=20, ridge=10, user_power=0.5, item_power=1),
            {"k": 16, "lambda_": 10, "scale_lam": False, "niter": 20},
        ),
    ],
)
def test_ratings_are_predicted_as_well_as_by_cmfrec(name, ours, theirs):
    cmfrec, pd = pytest.importorskip("cmfrec"), pytest.importorskip("pandas")
    user, item, value = columns(name)
    test = np.random.default_rng(0).random(len(user)) < 0.1
    catalogue = int(item.max()) + 1
    model = als.fit(Users.from_arrays(user[~test], item[~test], value[~test], catalogue), ours).value
    train, wanted = (aligned(user, item, value, part, catalogue) for part in (~test, test))
    predicted = np.clip(als.predict(train, wanted, model), 1, 5)
    frame = pd.DataFrame({"UserId": user[~test], "ItemId": item[~test], "Rating": value[~test]})
    rival = cmfrec.CMF(
        method="als", use_cg=False, user_bias=False, item_bias=False, verbose=False, nthreads=1, **theirs
    ).fit(frame)
    rivals = np.clip(np.nan_to_num(rival.predict(user=user[test], item=item[test]), nan=3.5), 1, 5)
    assert rmse(predicted, value[test]) <= rmse(rivals, value[test]) + 0.002


def test_likes_are_found_as_well_as_by_implicit_and_better_by_ease():
    implicit = pytest.importorskip("implicit")
    user, item, value = columns("ml-1m-implicit")
    catalogue = int(item.max()) + 1
    coins = np.random.default_rng(0)
    held = np.isin(user, coins.permutation(user.max() + 1)[:600])
    people, new = np.unique(user[held], return_inverse=True)
    shown = coins.random(len(new)) < 0.8
    query, target = (aligned(new, item[held], value[held], part, catalogue) for part in (shown, ~shown))
    users = Users.from_arrays(user[~held], item[~held], value[~held], catalogue)

    def recall_of(scores):
        best = topk_of_scores(scores, 20, (query.indptr, query.items))
        return np.nanmean(recall(hits(best.items, (target.indptr, target.items)), 20))

    config = AlsConfig.likes(32, steps=5, ridge=10.0, unobserved_weight=0.3)
    ours = recall_of(als.scores(query, als.fit(users, config).value))
    rows = plain_rows(users).value
    matrix = sp.csr_matrix((rows.values, rows.items, rows.indptr), (len(rows), catalogue))
    rival = implicit.cpu.als.AlternatingLeastSquares(
        32, alpha=3.0, regularization=30.0, num_threads=1, random_state=0
    )
    with one_blas_thread():
        rival.fit(matrix, show_progress=False)
    asked = sp.csr_matrix((query.values, query.items, query.indptr), (len(query), catalogue))
    theirs = recall_of(rival.recalculate_user(np.arange(len(people)), asked) @ rival.item_factors.T)
    assert ours >= theirs - 0.003
    assert recall_of(ease.scores(query, ease.fit(users, 1000.0).value)) > ours

"""A saved model judged on two tables of the same users: what they show, and what is to be predicted."""

from __future__ import annotations

import numpy as np

from hushfold.data.plain import plain_triplets
from hushfold.data.ratings import Ratings
from hushfold.data.split import Part, Triplets
from hushfold.errors import InputError
from hushfold.evaluate.figures import Figures
from hushfold.evaluate.judge import Judged, judge
from hushfold.model import Model


def judge_saved(model: Model, shown: Ratings, wanted: Ratings) -> Figures:
    """Figures over the users of both tables; a user who shows nothing is judged without a history."""
    history, target = plain_triplets(shown.users).value, plain_triplets(wanted.users).value
    if not len(target):
        raise InputError("holdout: no row of it is in the model's catalogue")
    both = _joined(history, target)
    part = Part(np.arange(len(history)), np.arange(len(history), len(both)))
    predict = model.method.predict
    judged = Judged(
        model.recommend_rows,
        None if predict is None else lambda rows, items: predict(model.state, rows, items),
    )
    explicit = model.method.explicit
    return judge(judged, both, part, explicit=explicit, scale=model.range, popularity=model.popularity)


def _joined(history: Triplets, target: Triplets) -> Triplets:
    """One set of users for both tables: the same id has the same key."""
    keys, user = np.unique(
        np.concatenate([history.keys[history.user], target.keys[target.user]]), return_inverse=True
    )
    return Triplets(
        user.astype(np.int64),
        np.concatenate([history.item, target.item]),
        np.concatenate([history.value, target.value]),
        keys,
        history.catalogue,
    )

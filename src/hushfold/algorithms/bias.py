"""The bias model: a rating is a centre, an item's bias and a user's bias. The rival no method may lose to.

    1. `counts`  one row per user: items at unit length, one for being there, number of ratings, own mean
    2. `bias`    residuals after the mean and the user's own bias, summed by item
    3. `scale`   every user's root mean square residual, by then also after the items' biases
    5'. `second` the residuals of 3, summed by item: a second look at the biases, at a fraction of the noise

Release 1 comes first because everything else is shrunk towards it; Hush begins with the same three releases.
The items' biases are a posterior mean whose prior says that popular items are rated higher (how much so is
read off the released sums); a user's own bias is computed by that user alone. The exact number of users
enters nowhere. Guarantee: the released model and all other users' predictions are (epsilon, delta)-DP for
adding or removing one user. Proofs: `hush.md`, `total.md`, `dense.md`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.also_like import count_likes
from hushfold.algorithms.bias_posterior import (
    ITEMS,
    MEAN,
    MOST_RATINGS,
    RATINGS,
    USERS,
    BiasModel,
    Counts,
    Draft,
    Observed,
    draft_of,
    first_draft,
    model_of,
    read_counts,
)
from hushfold.data.users import Users
from hushfold.engines.base import Engine
from hushfold.errors import ArgumentError
from hushfold.local.preprocess import centre_and_clip, user_means
from hushfold.local.residual import root_mean_squares, shrunk_means
from hushfold.local.sample import public_lookup
from hushfold.local.weights import unit_weights
from hushfold.privacy.budget import Share, multiplier
from hushfold.privacy.door import Door
from hushfold.statistics.base import Contribution
from hushfold.statistics.dense import dense
from hushfold.statistics.rows import guard
from hushfold.statistics.total import total
from hushfold.types import Released, Rows, post

Floats = NDArray[np.float64]

SHARES = {"counts": 0.10, "bias": 0.45, "scale": 0.01, "second": 0.44}
BIAS_CLIP = 0.3  # of the range: the most that a user's row of residuals may weigh in the bias sums
USER_SHRINKAGE = 4.0  # ratings that a user's own bias is shrunk by
NOISE_MARGIN = 1.05  # squared residuals of one rating, over the square of the released mean of users' roots


def checked_range(low: float, high: float) -> tuple[float, float]:
    """The declared range of ratings, if it can be one."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError("range", f"({low}, {high}) is not a range", "Declare the lowest and the highest")
    return float(low), float(high)


# --- what each user contributes -------------------------------------------------------------------


def count_ratings(rows: Rows, low: float, high: float) -> tuple[Contribution, ...]:
    """Release 1: a row of norm at most 1. A user without a usable rating counts as absent."""
    rows = guard(rows)
    own = np.diff(rows.indptr)
    centred = centre_and_clip(rows, (low + high) / 2, (high - low) / 2)
    means = user_means(centred, 0.0) / ((high - low) / 2)
    present, many = own > 0, np.minimum(own, MOST_RATINGS) / MOST_RATINGS
    extra = np.stack([math.sqrt(USERS) * present, math.sqrt(RATINGS) * many], axis=1)
    weighted = replace(rows, values=math.sqrt(ITEMS) * unit_weights(rows))
    signed = math.sqrt(MEAN) * means[:, None]
    return (total(weighted, 1.0, extra, nonnegative=True, signed=signed, signed_share=MEAN),)


def sum_biases(rows: Rows, counts: Counts) -> tuple[Contribution, ...]:
    """Release 2: residuals after the mean and the user's own bias, at unit length."""
    left = unit_length(residuals(rows, counts, np.zeros(rows.catalogue)))
    return (total(left, BIAS_CLIP * counts.width),)


def sum_scale(rows: Rows, counts: Counts, biases: Floats) -> tuple[Contribution, ...]:
    """Release 3: the root mean square of what is left."""
    sizes = root_mean_squares(residuals(rows, counts, biases))
    return (dense(np.minimum(sizes, counts.width / 2), counts.width / 2, nonnegative=True),)


def sum_residuals(rows: Rows, draft: Draft) -> tuple[Contribution, ...]:
    """Release 5': what is left after the first biases, at unit length."""
    return (total(unit_length(residuals(rows, draft.counts, draft.biases)), draft.clip),)


def residuals(rows: Rows, counts: Counts, biases: Floats) -> Rows:
    """Ratings less the released mean, the items' biases and the user's own bias after these."""
    left = without_biases(rows, counts, biases)
    own = shrunk_means(left, USER_SHRINKAGE)
    return replace(left, values=left.values - np.repeat(own, np.diff(left.indptr)))


def without_biases(rows: Rows, counts: Counts, biases: Floats) -> Rows:
    """Sound rows of ratings, clipped to the range, less the released mean and the items' biases."""
    half = counts.width / 2
    centred = centre_and_clip(guard(rows), (counts.low + counts.high) / 2, half)
    left = centred.values - (counts.mean + public_lookup(biases, centred.items))
    return replace(centred, values=left)


def unit_length(rows: Rows) -> Rows:
    """Every user's values over the root of their number."""
    return replace(rows, values=rows.values * unit_weights(rows))


# --- the releases, in their order -----------------------------------------------------------------


def release_counts(
    users: Users, engine: Engine, door: Door, share: Share, low: float, high: float
) -> Released[Counts]:
    """Release 1."""
    low, high = checked_range(low, high)
    if not users.catalogue:
        raise ArgumentError("catalogue", "has no items", "Declare the items that can be rated")
    (released,) = door.gaussian("counts", engine.sum(users, count_ratings, low, high), share.units)
    return post(read_counts, released, share.multiplier, low, high)


def release_draft(
    users: Users, engine: Engine, door: Door, counts: Released[Counts], bias: Share, scale: Share
) -> Released[Draft]:
    """Releases 2 and 3."""
    (sums,) = door.gaussian("bias", engine.sum(users, sum_biases, counts.value), bias.units)
    observed = post(Observed, sums, bias.multiplier * BIAS_CLIP * counts.value.width)
    biases = post(first_draft, counts, observed)
    (scales,) = door.gaussian("scale", engine.sum(users, sum_scale, counts.value, biases.value), scale.units)
    return post(draft_of, counts, observed, biases, scales)


def release_second(
    users: Users, engine: Engine, door: Door, draft: Released[Draft], units: int
) -> Released[BiasModel]:
    """Release 5', and the finished model."""
    (second,) = door.gaussian("second", engine.sum(users, sum_residuals, draft.value), units)
    return post(model_of, draft, second, multiplier(units) * draft.value.clip)


def fit(users: Users, engine: Engine, door: Door, low: float, high: float) -> Released[BiasModel]:
    """The bias model of ratings on the declared range, for the door's whole budget."""
    first, bias, scale, second = door.budget.split(SHARES)
    counts = release_counts(users, engine, door, first, low, high)
    draft = release_draft(users, engine, door, counts, bias, scale)
    return release_second(users, engine, door, draft, second.units)


def fit_popularity(users: Users, engine: Engine, door: Door) -> Released[Floats]:
    """The rival of implicit feedback: how much each item is liked, for the door's whole budget."""
    (likes,) = door.gaussian("likes", engine.sum(users, count_likes), door.budget.units)
    return likes


# --- prediction, by each user alone ---------------------------------------------------------------


def predict(model: BiasModel, rows: Rows, wanted: Rows) -> Floats:
    """A rating for every entry of `wanted`, within the range. `rows` are the same users' own ratings."""
    own = shrunk_means(without_biases(rows, model.counts, model.biases), USER_SHRINKAGE)
    each = np.repeat(own, np.diff(wanted.indptr)) + public_lookup(model.biases, wanted.items)
    return np.clip(model.counts.centre + each, model.counts.low, model.counts.high)


def scores(model: BiasModel, rows: Rows) -> Floats:
    """Every user's prediction for every item, not clipped: no two items tie at the end of the range."""
    own = shrunk_means(without_biases(rows, model.counts, model.biases), USER_SHRINKAGE)
    return model.counts.centre + own[:, None] + model.biases


def predict_std(model: BiasModel, rows: Rows, wanted: Rows) -> Floats:
    """How far each prediction may be off, as a standard deviation."""
    own = np.diff(guard(rows).indptr)
    of_user = np.repeat(1 + 1 / (own + USER_SHRINKAGE), np.diff(wanted.indptr))
    one = NOISE_MARGIN * model.scale**2
    return np.sqrt(one * of_user + public_lookup(model.variance, wanted.items))

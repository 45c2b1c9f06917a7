"""Hush for ratings: biases first, then factors of what they leave, from one item-item moment.

    1. counts, users, mean    2. bias sums    3. scale        as in `bias`
    4. moment                 residuals over the head of items, every user's row clipped to norm 1
    5. round                  leave-one-out refinement of the factors and biases, where there is a tail
    5'. second                instead of the round, a second look at the biases where no factor shows

Which of these run, and at what price, is a plan made of released counts (`plan.py`). Everything between the
releases is public post-processing; every prediction is made by the user alone, as the posterior mean of a
Gaussian model given the user's own row. Guarantee: the model and all other users' predictions are
(epsilon, delta)-DP for adding or removing one user. Proof: `proofs/hush.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.algorithms import bias
from hushfold.algorithms.also_like import choose_head
from hushfold.algorithms.bias_posterior import BiasModel, Draft, model_of
from hushfold.algorithms.hush.factors import fit_factors, item_noise, refine
from hushfold.algorithms.hush.plan import FIRST_SHARE, VISIBLE, pair_factor, plan_explicit
from hushfold.algorithms.hush.round import Question, observation_of, sum_round
from hushfold.algorithms.hush.sweeps import Factors, Observation, factors_outside
from hushfold.data.users import Users
from hushfold.engines.base import Engine
from hushfold.linalg.panels import SymmetricPanels
from hushfold.local.design import Design
from hushfold.local.fold_in import fold_in
from hushfold.local.preprocess import only_items
from hushfold.local.sample import public_lookup
from hushfold.privacy.budget import Share
from hushfold.privacy.door import Door
from hushfold.statistics.base import Contribution
from hushfold.statistics.moment_rows import moment_rows
from hushfold.statistics.rows import guard
from hushfold.types import Released, Rows, post

Floats = NDArray[np.float64]

INTERCEPT = 0.3  # prior variance of a user's own intercept, over the square of the scale
ITEMS_AT_ONCE = 4096  # whose k x k posteriors are solved together
SAMPLING = 0.1  # how much the pairs of items vary beyond the noise drawn


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """What release 4 tells: the moment of residuals over a head of items, and the scales of its law."""

    head: NDArray[np.int64]
    panels: SymmetricPanels
    noise: float
    """Standard deviation of the noise on the diagonal."""
    strength: float
    """What t_j t_k F_j . F_k is multiplied by in it; not positive if nothing is seen."""
    sampling: float

    def law(self, draft: Draft) -> tuple[SymmetricPanels, Floats, float, float, float]:
        """As `fit_factors` is told it."""
        return self.panels, draft.counts.items[self.head], self.strength, self.noise, self.sampling


@dataclass(frozen=True, slots=True, eq=False)
class RatingsModel:
    """The finished model: biases, and the items' factors with the noise they leave; perhaps no factors."""

    bias: BiasModel
    factors: Floats
    """Items x k."""
    noise: Floats
    """psi_j: the variance of a rating around its prediction by a user who is known."""

    @property
    def design(self) -> Design:
        """What a user is told to fold in."""
        return design_of(self.factors, self.noise, self.bias.scale)


def design_of(factors: Floats, noise: Floats, scale: float) -> Design:
    """A user's linear model: an intercept and k factors, with their prior."""
    return Design(factors, noise, intercept_variance=INTERCEPT * scale**2)


# --- the releases, in their order ---


def fit(users: Users, engine: Engine, door: Door, low: float, high: float) -> Released[RatingsModel]:
    """Hush on ratings of the declared range, for the door's whole budget."""
    first, _ = door.budget.split({"counts": FIRST_SHARE, "rest": 1 - FIRST_SHARE})
    counts = bias.release_counts(users, engine, door, first, low, high)
    plan = post(plan_explicit, counts, door.budget.units)
    shares = {share.name: share for share in door.budget.split(plan.value.shares)}
    draft = bias.release_draft(users, engine, door, counts, shares["bias"], shares["scale"])
    if "moment" not in shares:
        units = shares["second"].units
        return post(without_factors, bias.release_second(users, engine, door, draft, units))
    moment = release_moment(users, engine, door, draft, shares["moment"])
    factors = post(factors_of, draft, moment)
    rest = [shares[name] for name in ("cross", "z-moment", "second") if name in shares]
    if factors.value.count and rest:
        return release_round(users, engine, door, draft, moment, factors, *rest)
    left = 0 if factors.value.count else sum(share.units for share in rest)
    finished = bias.release_second(users, engine, door, draft, left) if left else post(model_of, draft)
    return post(with_factors, finished, post(over_catalogue, draft, moment, factors))


def release_round(
    users: Users,
    engine: Engine,
    door: Door,
    draft: Released[Draft],
    moment: Released[Moment],
    factors: Released[Factors],
    *shares: Share,
) -> Released[RatingsModel]:
    """Release 5, and the finished model."""
    question = post(question_of, draft, moment, factors)
    cross, z_moment, second = door.gaussian(
        "round", engine.sum(users, sum_round, question.value), [share.units for share in shares]
    )
    observed = post(
        observation_of, question, cross, z_moment, shares[0].multiplier * question.value.block_clip
    )
    finished = post(model_of, draft, second, shares[2].multiplier * draft.value.clip)
    return post(with_factors, finished, post(refined, draft, moment, factors, observed))


def release_moment(
    users: Users, engine: Engine, door: Door, draft: Released[Draft], share: Share
) -> Released[Moment]:
    """Release 4."""
    head = post(head_of, draft, share.multiplier)
    (panels,) = door.gaussian("moment", engine.sum(users, sum_moment, draft.value, head.value), share.units)
    return post(moment_of, draft, head, panels, share.multiplier)


def sum_moment(rows: Rows, draft: Draft, head: NDArray[np.int64]) -> tuple[Contribution, ...]:
    """Release 4: the residuals of the draft on the head, at unit length there, over their clip."""
    wanted = np.zeros(rows.catalogue, bool)
    wanted[head] = True
    own = bias.unit_length(only_items(bias.residuals(rows, draft.counts, draft.biases), wanted))
    return (moment_rows(replace(own, values=own.values / draft.clip), head, 1.0),)


# --- what everybody makes of them ---


def head_of(draft: Draft, noise: float) -> NDArray[np.int64]:
    """The items that a moment under this noise can see, in catalogue order."""
    return choose_head(draft.counts.items, noise, VISIBLE)


def moment_of(draft: Draft, head: NDArray[np.int64], panels: SymmetricPanels, noise: float) -> Moment:
    """The released moment with the scales of its law."""
    counts, square = draft.counts, draft.scale**2
    total = float(counts.items.sum())
    share = float(panels.diagonal().sum(dtype=np.float64)) / (counts.users * square)
    strength = share * pair_factor(counts) * total / float(counts.items[head].sum())
    return Moment(
        head,
        panels,
        noise,
        strength if share > 0 else 0.0,
        SAMPLING * counts.users * (share * square / total) ** 2,
    )


def factors_of(draft: Draft, moment: Moment) -> Factors:
    """The factors of the head, in its order; perhaps none."""
    if moment.strength <= 0:
        none, ones = np.zeros((len(moment.head), 0)), np.ones(len(moment.head))
        return Factors(none, none, np.zeros(0), ones, ones)
    return fit_factors(*moment.law(draft))


def refined(draft: Draft, moment: Moment, factors: Factors, observed: Observation) -> Factors:
    """The factors of the whole catalogue by moment and round together."""
    head = refine(*moment.law(draft), factors, observed.take(moment.head))
    everything = over_catalogue(draft, moment, head)
    outside = np.setdiff1d(np.arange(len(everything.B)), moment.head)
    for start in range(0, len(outside), ITEMS_AT_ONCE):
        items = outside[start : start + ITEMS_AT_ONCE]
        everything.B[items], everything.V[items] = factors_outside(head.T, observed.take(items))
    return everything


def question_of(draft: Draft, moment: Moment, factors: Factors) -> Question:
    """What users are told before the round."""
    everything = over_catalogue(draft, moment, factors)
    noise = item_noise(everything, draft.counts.items, draft.scale)
    return Question(draft, design_of(everything.F, noise, draft.scale))


def over_catalogue(draft: Draft, moment: Moment, factors: Factors) -> Factors:
    """The factors of every item, as they are: outside the head mean 0 and the variance of the prior."""
    items = len(draft.counts.items)
    F, variance = np.zeros((items, factors.count)), np.tile(factors.T, (items, 1))
    F[moment.head], variance[moment.head] = factors.F, factors.variance
    return Factors(F, variance, factors.T, np.ones(items), np.ones(items))


def with_factors(model: BiasModel, factors: Factors) -> RatingsModel:
    """The finished model; `factors` of the whole catalogue, perhaps none."""
    return RatingsModel(model, factors.F, item_noise(factors, model.counts.items, model.scale))


def without_factors(model: BiasModel) -> RatingsModel:
    """The bias model as it is, where no factor was looked for."""
    items = len(model.biases)
    return RatingsModel(model, np.zeros((items, 0)), np.full(items, bias.NOISE_MARGIN * model.scale**2))


# --- prediction, by each user alone ---


def predict(model: RatingsModel, rows: Rows, wanted: Rows) -> Floats:
    """A rating for every entry of `wanted`, within the range. `rows` are the same users' own ratings."""
    if not model.factors.shape[1]:
        return bias.predict(model.bias, rows, wanted)
    counts = model.bias.counts
    each = np.empty(len(wanted.items))
    items = np.clip(wanted.items, 0, len(model.factors) - 1)
    _add_up(wanted.indptr, items, own_factors(model, rows), model.bias.biases, model.factors, each)
    return np.clip(counts.centre + each, counts.low, counts.high)


def scores(model: RatingsModel, rows: Rows) -> Floats:
    """Every user's prediction for every item, not clipped: no two items tie at the end of the range."""
    if not model.factors.shape[1]:
        return bias.scores(model.bias, rows)
    own = own_factors(model, rows)
    return model.bias.counts.centre + model.bias.biases + own[:, :1] + own[:, 1:] @ model.factors.T


def own_factors(model: RatingsModel, rows: Rows) -> Floats:
    """What each user folds in: an intercept, then k factors."""
    left = bias.without_biases(rows, model.bias.counts, model.bias.biases)
    return fold_in(left, model.design).astype(np.float64)


def predict_std(model: RatingsModel, rows: Rows, wanted: Rows) -> Floats:
    """How far each prediction may be off, as a standard deviation: noise, and what is unknown of the user."""
    if not model.factors.shape[1]:
        return bias.predict_std(model.bias, rows, wanted)
    rows = guard(rows)
    prior = np.diag(np.r_[1 / (INTERCEPT * model.bias.scale**2), np.ones(model.factors.shape[1])])
    x = np.hstack([np.ones((len(model.factors), 1)), model.factors])
    variance = public_lookup(model.noise + model.bias.variance, wanted.items)
    for user, (start, stop) in enumerate(pairwise(wanted.indptr.tolist())):
        seen = rows.items[rows.indptr[user] : rows.indptr[user + 1]]
        precision = prior + (x[seen].T / model.noise[seen]) @ x[seen]
        asked = x.take(wanted.items[start:stop], axis=0, mode="clip")
        variance[start:stop] += np.einsum("ek,ke->e", asked, np.linalg.solve(precision, asked.T))
    return np.sqrt(variance)


@njit(nogil=True, cache=True)
def _add_up(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    own: Floats,
    biases: Floats,
    factors: Floats,
    each: Floats,
) -> None:
    """Bias, intercept and taste of every wanted entry."""
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            item = items[entry]
            each[entry] = biases[item] + own[user, 0]
            for k in range(factors.shape[1]):
                each[entry] += own[user, k + 1] * factors[item, k]

"""Are pairs worth it? A criterion from the released moment alone, hence free of privacy cost.

Fresh public noise Z of the moment's own law makes two copies G + Z and G - Z whose noises are independent,
each of twice the variance. A model fitted on one is judged on the other: the loss of predicting item j from
all others by `w_j = -P_j / P_jj`, summed over users, is the quadratic form `p_j^T G p_j / P_jj^2` of the
moment, and an unbiased copy of the moment gives it an unbiased estimate. Pairs are kept if they lower it,
relative to likes, by more than a thousandth. The study:
`docs/decisions/0005-pairs-by-a-released-criterion.md`.
"""

# pyright: basic
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.hush.factors import QUICK, fit_model
from hushfold.algorithms.hush.model import MomentModel
from hushfold.algorithms.hush.precision import LikesPrecision, precision_of
from hushfold.linalg.panels import SymmetricPanels
from hushfold.rng import PublicRandom

Floats = NDArray[np.float64]

JUDGED = 1500  # the most liked items decide for all: there the signal is, and it takes a second
LEAST_GAIN = 1e-3


def pairs_are_worth_it(model: MomentModel) -> bool:
    """Whether pairs learnt on one noisy copy of the moment predict the other better than factors alone."""
    return gain_of_pairs(model) > LEAST_GAIN


def gain_of_pairs(model: MomentModel) -> float:
    """The share by which pairs lower the loss on the other copy, every item counted alike."""
    size = min(len(model), JUDGED)
    moment = model.moment.leading(size).to_dense().astype(np.float64)
    public = _noise(size, model.noise)
    likes = model.likes[:size]
    noise = np.sqrt(2) * model.noise
    learnt = MomentModel.of(SymmetricPanels.from_dense(moment + public), likes, 1.0, noise, 0.0)
    judge = moment - public
    fit = fit_model(learnt, QUICK)
    without, with_them = (_loss(precision_of(learnt, fit, pairs), judge, likes) for pairs in (False, True))
    return (without - with_them) / without if without > 0 else 0.0


def _loss(precision: LikesPrecision, judge: Floats, likes: Floats) -> float:
    """`sum_j p_j^T G p_j / (P_jj^2 t_j)`."""
    dense = precision.pairs.toarray() + precision.B @ precision.B.T + np.diag(precision.D)
    P = np.linalg.inv(dense)
    weights = P / P.diagonal()
    return float((np.einsum("jk,jk->k", weights, judge @ weights) / likes).sum())


def _noise(size: int, noise: float) -> Floats:
    """Public noise of the moment's law: standard deviation `noise` on the diagonal, 1/sqrt 2 of it off."""
    drawn = PublicRandom(0).stream("copies of the moment").standard_normal((size, size)) * noise
    upper = np.triu(drawn, 1) / np.sqrt(2)
    return upper + upper.T + np.diag(drawn.diagonal())

"""The releases of the bias model and of Hush on ratings, as subjects of the audit: steps and a public state.

The state is made up so that hostile users reach every bound: small clips, a first factor that nearly all
items share, a mean far from the middle of the range.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushfold.algorithms.bias import count_ratings, sum_biases, sum_residuals, sum_scale
from hushfold.algorithms.bias_posterior import Counts, Draft, Observed
from hushfold.algorithms.hush.explicit import design_of, sum_moment
from hushfold.algorithms.hush.round import Question, sum_round
from hushfold.privacy.audit.layouts import Named
from hushfold.privacy.audit.sensitivity import Subject
from hushfold.statistics.base import Contribution
from hushfold.types import Rows

LOW, HIGH = -2.0, 2.0
ITEMS = 600


def _draft(items: int) -> Draft:
    counts = Counts(LOW, HIGH, np.linspace(90, 0.5, items), 0.5, 1000.0, 20_000.0, mean=-1.0)
    return Draft(counts, Observed(np.zeros(items), 1.0), 0.4 * np.sin(np.arange(items)), scale=0.3)


def _question(items: int, rank: int = 3) -> Question:
    waves = np.cos(np.arange(items)[:, None] * np.arange(1, rank))
    factors = np.hstack([np.full((items, 1), 0.5), 0.2 * waves / np.sqrt(rank)])
    draft = _draft(items)
    return Question(draft, design_of(factors, np.full(items, 0.1), draft.scale))


_DRAFT, _QUESTION = _draft(ITEMS), _question(ITEMS)
_MANY_FACTORS = _question(ITEMS, 250)  # so that even the z-moment has many cells
_HEAD = np.arange(0, ITEMS, 2)

BIAS_SUBJECTS = (
    Subject("ratings: counts", count_ratings, (LOW, HIGH), catalogue=1100),
    Subject("ratings: bias sums", sum_biases, (_DRAFT.counts,)),
    Subject("ratings: scale", sum_scale, (_DRAFT.counts, _DRAFT.biases)),
    Subject("ratings: second bias sums", sum_residuals, (_DRAFT,)),
)
HUSH_SUBJECTS = (
    Subject("hush ratings: moment", sum_moment, (_DRAFT, _HEAD)),
    Subject("hush ratings: round", sum_round, (_QUESTION,)),
)


def _part(number: int) -> Callable[[Rows], tuple[Contribution, ...]]:
    return lambda rows: sum_round(rows, _MANY_FACTORS)[number : number + 1]


# The scale is missing: it is one cell of the layout `dense`, and a calibration takes forty thousand.
BIAS_RELEASES = (
    Named("ratings: counts", lambda rows: count_ratings(rows, LOW, HIGH), 3000),
    Named("ratings: bias sums", lambda rows: sum_biases(rows, _DRAFT.counts), ITEMS),
    Named("ratings: second bias sums", lambda rows: sum_residuals(rows, _DRAFT), ITEMS),
)
HUSH_RELEASES = (
    Named("hush ratings: moment", lambda rows: sum_moment(rows, _DRAFT, _HEAD), ITEMS),
    Named("hush ratings: cross", _part(0), ITEMS),
    Named("hush ratings: z-moment", _part(1), ITEMS),
    Named("hush ratings: last bias sums", _part(2), ITEMS),
)

"""What the sensitivity tests run on: the shapes of the package and the local steps of its algorithms."""

from __future__ import annotations

from hushfold.privacy.audit import broken_sums
from hushfold.privacy.audit.methods import METHOD_SUBJECTS
from hushfold.privacy.audit.sensitivity import Subject
from hushfold.privacy.audit.shapes import SHAPES

# An algorithm joins in `privacy/audit/methods.py`; what is no algorithm, by one line here.
SUBJECTS: tuple[Subject, ...] = (*SHAPES, *METHOD_SUBJECTS)

OVERWEIGHT = (
    broken_sums.no_clip,
    broken_sums.clip_per_tile,
    broken_sums.no_dedupe,
    broken_sums.clip_then_centre,
)
"""Caught by the bound: one user moves the sum too far."""
SWAYED = (
    broken_sums.cross_user_normaliser,
    broken_sums.position_keyed_coins,
    broken_sums.batch_dependent_factor,
)
"""Caught by the company a user keeps: every single user stays within the bound."""
bound_from_the_data = broken_sums.bound_from_the_data
far_below_the_bound = broken_sums.far_below_the_bound

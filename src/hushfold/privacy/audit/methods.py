"""What `hushfold audit --method` asks of an algorithm. One joins with one line in `METHODS`.

A method is audited by its own local steps: as subjects of the exact checks, and as releases of nobody's data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfold.algorithms.also_like import count_likes, count_pairs
from hushfold.privacy.audit.layouts import Named
from hushfold.privacy.audit.methods_dpals import DPALS_RELEASES, DPALS_SUBJECTS
from hushfold.privacy.audit.methods_ratings import (
    BIAS_RELEASES,
    BIAS_SUBJECTS,
    HUSH_RELEASES,
    HUSH_SUBJECTS,
)
from hushfold.privacy.audit.sensitivity import Subject


@dataclass(frozen=True, slots=True)
class Method:
    """The releases of an algorithm, each with its local step and a public state to run it under."""

    subjects: tuple[Subject, ...]
    releases: tuple[Named, ...]


_HEAD = np.arange(100, 500)

_LIKES = Method(  # Hush on likes asks the same two questions
    (Subject("also-like likes", count_likes), Subject("also-like pairs", count_pairs, (_HEAD,))),
    (Named("likes", count_likes, 3000), Named("pairs", lambda rows: count_pairs(rows, _HEAD), 600)),
)

METHODS: dict[str, Method] = {
    "also-like": _LIKES,
    "hush-likes": _LIKES,
    "dpals": Method(DPALS_SUBJECTS, DPALS_RELEASES),
    "bias": Method(BIAS_SUBJECTS, BIAS_RELEASES),
    "hush-ratings": Method((*BIAS_SUBJECTS, *HUSH_SUBJECTS), (*BIAS_RELEASES, *HUSH_RELEASES)),
}

METHOD_SUBJECTS = tuple({each.name: each for method in METHODS.values() for each in method.subjects}.values())
METHOD_RELEASES = tuple({each.name: each for method in METHODS.values() for each in method.releases}.values())
"""Of all methods, those they share once."""

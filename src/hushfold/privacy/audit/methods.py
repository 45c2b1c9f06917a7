"""What `hushfold audit --method` asks of an algorithm. One joins with one line in `METHODS`.

A method is audited by its own local steps: as subjects of the exact checks, and as releases of nobody's data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfold.algorithms.also_like import count_likes, count_pairs
from hushfold.privacy.audit.layouts import Named
from hushfold.privacy.audit.sensitivity import Subject


@dataclass(frozen=True, slots=True)
class Method:
    """The releases of an algorithm, each with its local step and a public state to run it under."""

    subjects: tuple[Subject, ...]
    releases: tuple[Named, ...]


_HEAD = np.arange(100, 500)

METHODS: dict[str, Method] = {
    "also-like": Method(
        (Subject("also-like likes", count_likes), Subject("also-like pairs", count_pairs, (_HEAD,))),
        (Named("likes", count_likes, 3000), Named("pairs", lambda rows: count_pairs(rows, _HEAD), 600)),
    ),
}

METHOD_SUBJECTS = tuple(subject for method in METHODS.values() for subject in method.subjects)
METHOD_RELEASES = tuple(named for method in METHODS.values() for named in method.releases)

"""P-03: the integers of every statistic are the same however the work is cut, ordered or started."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from subjects import SUBJECTS

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.audit.hostile import hostile_rows, take
from hushfold.rng import PublicRandom
from hushfold.statistics import cross, dense, gram, linear, moment, moment_rows, total
from hushfold.statistics.base import tiles_of
from hushfold.types import unseal

SHAPE_FILES = (cross, dense, gram, linear, moment, moment_rows, total)
USERS = 70


def data(subject):
    return hostile_rows(PublicRandom(5).stream(subject.name), USERS, subject.catalogue)


def digest(subject, rows, threads=1, users_per_block=4096):
    engine = LocalEngine(threads=threads, users_per_block=users_per_block)
    sums = unseal(engine.sum(Users(rows), subject.contribute, *subject.public))()
    words = hashlib.sha256()
    for accumulator in sums:
        for tile in tiles_of(accumulator.spec):
            words.update(np.ascontiguousarray(accumulator.tile(tile)).tobytes())
    return words.hexdigest()


def digests():
    return [digest(subject, data(subject)) for subject in SUBJECTS]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_threads_blocks_and_order_do_not_matter(subject):
    rows = data(subject)
    shuffled = take(rows, np.random.default_rng(2).permutation(USERS))
    expected = digest(subject, rows)
    for threads in (1, 2, 8):
        for users_per_block in (1, 7, 64):
            assert digest(subject, rows, threads, users_per_block) == expected
            assert digest(subject, shuffled, threads, users_per_block) == expected


def test_a_fresh_process_finds_the_same_integers():
    here = str(Path(__file__).parent)
    program = "import test_same_integers as t; print('\\n'.join(t.digests()))"
    fresh = subprocess.run(
        [sys.executable, "-c", program],
        cwd=here,
        env={**os.environ, "PYTHONPATH": here, "PYTHONHASHSEED": "7", "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert fresh.stdout.split() == digests()


def test_the_data_are_not_the_same_for_all():
    """The digests above can differ: they do between subjects, and when one user leaves."""
    assert len(set(digests())) == len(SUBJECTS)
    for subject in SUBJECTS:
        rows = data(subject)
        assert digest(subject, take(rows, np.arange(USERS // 2))) != digest(subject, rows)


def test_every_shape_has_a_subject():
    shapes = {file.__name__.rsplit(".", 1)[1].split("_")[0] for file in SHAPE_FILES}
    seen = {subject.name.split()[0] for subject in SUBJECTS}
    assert shapes <= seen

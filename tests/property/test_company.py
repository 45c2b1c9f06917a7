"""P-04, P-05 at the engine: whoever leaves or changes, nobody else's contribution or result moves by a bit.

The first user, users at the edges of blocks, one with 100 000 ratings; blocks of 1, 17 and 512 users; 1, 2
and 8 threads; a fresh process. Every subject of `subjects.py` takes part; a step of `each` joins in `STEPS`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from subjects import SUBJECTS

from hushfold.engines.local import LocalEngine
from hushfold.local.preprocess import centre_and_clip, user_means
from hushfold.local.sample import tail_sample, uniform_sample
from hushfold.local.weights import adaptive_weights, user_ridge
from hushfold.privacy.audit import broken_sums
from hushfold.privacy.audit.company import add_up, check_departures, check_results, light_rows, people
from hushfold.privacy.audit.hostile import without
from hushfold.privacy.audit.sensitivity import Subject
from hushfold.rng import PublicRandom
from hushfold.types import Rows

USERS, HEAVY = 40, 100_000
LEAVING = (0, 16, 17, USERS - 1)  # the first user, both sides of an edge, the last user
ENGINES = [LocalEngine(threads=2, users_per_block=block) for block in (1, 17, 512)]
MORE_THREADS = [LocalEngine(threads=threads, users_per_block=17) for threads in (1, 8)]
COINS = PublicRandom(1)
ITEMS, CROWD = 500, 10_000
COUNTS = np.arange(ITEMS, 0, -1.0)  # released counts, public

every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)


def failed(checks):
    return [check for check in checks if not check.passed]


@every_subject
def test_nobodys_contribution_changes_when_somebody_leaves_or_becomes_heavy(subject):
    assert not failed(check_departures(subject, USERS, ENGINES, LEAVING, heavy=HEAVY))


@every_subject
def test_the_number_of_threads_makes_no_difference_to_that(subject):
    assert not failed(check_departures(subject, USERS, MORE_THREADS, LEAVING[:2]))


def digests() -> list[str]:
    """Of what everybody but one contributes, for each subject: to be compared between processes."""
    found = []
    for subject in SUBJECTS:
        rows = without(people(subject.name, USERS, subject.catalogue), 0)
        sums = add_up(LocalEngine(threads=2, users_per_block=17), subject, rows)
        found.append(hashlib.sha256(b"".join(tile.tobytes() for tiles in sums for tile in tiles)).hexdigest())
    return found


def test_a_fresh_process_without_the_first_user_finds_the_others_unchanged():
    """There only the others exist; here they are what is left when the first user is taken off."""
    here, root = str(Path(__file__).parent), str(Path(__file__).parents[2])
    fresh = subprocess.run(
        [sys.executable, "-c", "import test_company as t; print(' '.join(t.digests()))"],
        cwd=here,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, root]), "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    left = []
    for subject in SUBJECTS:
        rows = people(subject.name, USERS, subject.catalogue)
        engine = LocalEngine(threads=1, users_per_block=512)
        everybody, first = (add_up(engine, subject, part) for part in (rows, rows.slice(0, 1)))
        tiles = [
            (a - b).tobytes()
            for ours, own in zip(everybody, first, strict=True)
            for a, b in zip(ours, own, strict=True)
        ]
        left.append(hashlib.sha256(b"".join(tiles)).hexdigest())
    assert fresh.stdout.split() == left


@pytest.mark.parametrize(
    "contribute",
    [broken_sums.cross_user_normaliser, broken_sums.position_keyed_coins, broken_sums.batch_dependent_factor],
    ids=lambda contribute: contribute.__name__,
)
def test_what_depends_on_others_is_caught(contribute):
    assert failed(check_departures(Subject("control", contribute), USERS, ENGINES, LEAVING))


# What `each` gives back: one row per user. ------------------------------------------------------------------


def first_entries(rows: Rows, values: np.ndarray, width: int = 4) -> np.ndarray:
    """The first few numbers of every user, as a row."""
    out = np.zeros((len(rows), width))
    for user, (start, stop) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
        own = values[start : min(stop, start + width)]
        out[user, : len(own)] = own
    return out


def means(rows: Rows) -> np.ndarray:
    return user_means(rows, 3.0)[:, None]


def ridges(rows: Rows) -> np.ndarray:
    return user_ridge(rows, 0.5, 10.0, 100.0)[:, None]


def centred(rows: Rows) -> np.ndarray:
    return first_entries(rows, centre_and_clip(rows, user_means(rows, 3.0), 1.5).values)


def weights(rows: Rows) -> np.ndarray:
    return first_entries(rows, adaptive_weights(rows, COUNTS, 0.3, 20.0))


def uniform(rows: Rows) -> np.ndarray:
    sample = uniform_sample(rows, 3, COINS)
    return first_entries(sample, sample.items)


def tail(rows: Rows) -> np.ndarray:
    sample = tail_sample(rows, 3, COUNTS)
    return first_entries(sample, sample.items)


STEPS = (means, ridges, centred, weights, uniform, tail)
"""Local steps whose results are to be the same for everybody who stays."""


@pytest.fixture(scope="module")
def crowd() -> Rows:
    return light_rows(CROWD, ITEMS)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize(
    "engine", [*ENGINES[1:], *MORE_THREADS], ids=lambda e: f"{e.threads}x{e.users_per_block}"
)
def test_of_ten_thousand_users_no_result_changes_by_a_bit(step, engine, crowd):
    leaving = (0, 17, CROWD // 2, CROWD - 1)
    assert not failed(check_results(step.__name__, step, (), crowd, leaving, [engine]))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_nor_in_blocks_of_one_user(step, crowd):
    few = crowd.slice(0, 200)
    assert not failed(check_results(step.__name__, step, (), few, (0, 100), ENGINES[:1]))


def means_by_differences(rows: Rows) -> np.ndarray:
    """Register 4: sums of segments as differences of one running sum over the whole block."""
    running = np.concatenate([np.zeros(1, np.float32), np.cumsum(rows.values, dtype=np.float32)])
    return ((running[rows.indptr[1:]] - running[rows.indptr[:-1]]) / np.maximum(np.diff(rows.indptr), 1))[
        :, None
    ]


def coins_by_place(rows: Rows) -> np.ndarray:
    """Register 16: coins of the place in the block."""
    return COINS.per_user("place", np.arange(len(rows), dtype=np.uint64))[:, None]


def centred_by_everybody(rows: Rows) -> np.ndarray:
    """Register 16: a mean over users enters each of them."""
    return (user_means(rows, 3.0) - (rows.values.mean() if len(rows.values) else 0))[:, None]


@pytest.mark.parametrize("broken", [means_by_differences, coins_by_place, centred_by_everybody])
def test_results_that_depend_on_others_are_caught(broken, crowd):
    assert failed(check_results("control", broken, (), crowd, (0,), ENGINES[1:2]))


def test_a_heavy_user_reaches_nobody_elses_result(crowd):
    """The same crowd, one of whom has rated everything: only that one's row may differ."""
    few = crowd.slice(0, 300)
    lengths = np.diff(few.indptr)
    lengths[7] = ITEMS
    entries = np.split(few.items, few.indptr[1:-1])
    values = np.split(few.values, few.indptr[1:-1])
    entries[7], values[7] = np.arange(ITEMS, dtype=np.int32), np.full(ITEMS, 1e5, np.float32)
    heavy = replace(
        few,
        indptr=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        items=np.concatenate(entries),
        values=np.concatenate(values),
    )
    for step in STEPS:
        before, after = step(few), step(heavy)
        assert np.delete(before, 7, axis=0).tobytes() == np.delete(after, 7, axis=0).tobytes()

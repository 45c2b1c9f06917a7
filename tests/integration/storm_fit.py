"""A small private method of three releases, run in a process of its own so that it can be killed any time.

    1. counts   total of every user's row at unit length
    2. pairs    moment of rows over the head of items that release 1 shows
    3. items    gram and right-hand side of public user vectors, of which only the solution is kept

What a witness outside sees (keys, published digests, draws that were never committed) goes to a folder beside
the ledger, which is no part of what is scanned.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.local.preprocess import only_items
from hushfold.local.weights import unit_weights
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger, Total
from hushfold.privacy.noise import Key, fixed_key_for_tests
from hushfold.privacy.run import Run
from hushfold.rng import PublicRandom
from hushfold.statistics.cross import cross
from hushfold.statistics.gram import gram
from hushfold.statistics.moment_rows import moment_rows
from hushfold.statistics.total import total
from hushfold.types import Rows, post, unseal

USERS, ITEMS, HEAD, RANK = 400, 600, 120, 4
RELEASES = ("counts", "pairs", "items")
BUDGET = Budget.gaussian(5.0, 1e-6)
SHARES = BUDGET.split({"counts": 0.1, "pairs": 0.4, "grams": 0.25, "sides": 0.25})
ENGINE = LocalEngine(threads=2, users_per_block=128)
COINS = PublicRandom(3)


def people() -> Users:
    """The same people every time."""
    random = np.random.default_rng(11)
    users, items = random.integers(0, USERS, 8000), random.integers(0, ITEMS, 8000)
    return Users.from_arrays(users, items, random.integers(1, 6, 8000), ITEMS)


def counts(rows: Rows):
    return (total(replace(rows, values=unit_weights(rows)), 1.0, nonnegative=True),)


def pairs(rows: Rows, head: np.ndarray):
    wanted = np.zeros(rows.catalogue, bool)
    wanted[head] = True
    own = only_items(rows, wanted)
    return (moment_rows(replace(own, values=unit_weights(own)), head, 1.0),)


def normal_equations(rows: Rows):
    """Users' vectors are public coins keyed by their id; weights fall within a budget of 20."""
    columns = np.tile(np.arange(RANK, dtype=np.int32), len(rows))
    words = COINS.per_entry("vectors", np.repeat(rows.keys, RANK), columns)
    vectors = (words.astype(np.float64) / 2.0**63 - 1).reshape(-1, RANK)
    weights = replace(rows, values=np.sqrt(np.float32(20.0)) * unit_weights(rows).astype(np.float32))
    return gram(weights, vectors, 20.0, 1.0), cross(replace(rows, values=rows.values / 5), vectors, 3.0, 1.0)


def solve(grams: np.ndarray, sides: np.ndarray) -> np.ndarray:
    whole = np.zeros((len(grams), RANK, RANK))
    upper = np.triu_indices(RANK)
    whole[:, upper[0], upper[1]] = whole[:, upper[1], upper[0]] = grams
    values, vectors = np.linalg.eigh(whole)
    whole = (vectors / (np.maximum(values, 0) + 10.0)[:, None]) @ vectors.swapaxes(1, 2)
    return (whole @ sides[:, :, None])[:, :, 0]


def choose_head(noisy: np.ndarray) -> np.ndarray:
    return np.sort(np.argsort(-noisy, kind="stable")[:HEAD])


def releases(users: Users, door: Door, seen: Callable[[str, np.ndarray], None]) -> dict[str, np.ndarray]:
    """All three releases, each shown to `seen` the moment it is published."""
    count_units, pair_units, gram_units, side_units = (share.units for share in SHARES)
    (noisy,) = door.gaussian("counts", ENGINE.sum(users, counts), count_units)
    seen("counts", noisy.value)
    head = post(choose_head, noisy).value
    (together,) = door.gaussian("pairs", ENGINE.sum(users, pairs, head), pair_units)
    seen("pairs", together.value.to_dense())
    (items,) = door.gaussian(
        "items", ENGINE.sum(users, normal_equations), [gram_units, side_units], step=1, solve=solve
    )
    seen("items", items.value)
    return {"counts": noisy.value, "pairs": together.value.to_dense(), "items": items.value}


def open_run(folder: Path) -> tuple[Ledger, Run]:
    ledger = Ledger.open(folder / "run" / "people.ledger", population="people", total=Total.of(BUDGET))
    return ledger, ledger.run("fit", method="storm", config={"rank": RANK}, data_digest=b"the same people")


def fit(folder: Path, die_before_committing: str | None = None) -> None:
    """The child process: fit or resume, and tell the witness. With a name, die with that draw in hand."""
    witness = folder / "witness"

    def recorded_key() -> Key:
        key = os.urandom(32)
        tell(witness / "keys", key.hex())
        return fixed_key_for_tests(key)

    def seen(name: str, value: np.ndarray) -> None:
        tell(witness / "seen", f"{name} {hashlib.sha256(np.ascontiguousarray(value)).hexdigest()}")

    if die_before_committing:
        Run.commit = dying(Run.commit, die_before_committing, witness)  # type: ignore[method-assign]
    users = people()
    tell(witness / "begun", "begun")
    run = open_run(folder)[1]
    releases(users, Door(run, BUDGET, threads=2, new_key=recorded_key), seen)


def dying(commit: Any, name: str, witness: Path) -> Any:
    def die(run: Run, reservation: Any, parts: Mapping[str, np.ndarray]) -> None:
        if reservation.name == name:
            np.savez(witness / "draw.npz", **dict(parts))
            os.kill(os.getpid(), signal.SIGKILL)
        commit(run, reservation, parts)

    return die


def tell(file: Path, line: str) -> None:
    """Append a line in one write: it is there even if the process dies right after."""
    out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(out, f"{line}\n".encode())
    os.close(out)


def exact_numbers(users: Users, head: np.ndarray) -> list[np.ndarray]:
    """The un-noised numbers of the three releases, as they lie in memory: int64, float64 and float32."""
    found: list[np.ndarray] = []
    rounds = ((counts,), (pairs, head), (normal_equations,))
    for contribute, *public in rounds:
        for accumulator in unseal(ENGINE.sum(users, contribute, *public))():
            tiles = [accumulator.tile(tile).ravel() for tile in range(accumulator.spec.tiles)]
            integers = np.concatenate(tiles)
            real = integers * accumulator.spec.step
            found += [integers, real, real.astype(np.float32)]
    return found

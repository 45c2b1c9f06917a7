"""Private selection through the door: one charge up front, a secret number of runs, only the winner leaves.

The base runs write no rows, cannot be resumed one by one, and are forgotten with the process. How long the
search took tells something about how many there were: do not publish it (`proofs/select.md`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import AlreadyCommitted, ArgumentError
from hushfold.privacy.budget import NANO, Budget, units_of, units_of_epsilon
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.privacy.ledger_state import ATTO
from hushfold.privacy.noise import GRADE, Key, slack
from hushfold.privacy.run import Reservation, Run
from hushfold.privacy.select import Runs, base_mu, best
from hushfold.privacy.stream import secret_word
from hushfold.types import Released, release

Arrays = Mapping[str, NDArray[Any]]
Base = Callable[[Any, Door], tuple[Released[Arrays], Released[float]]]
"""`(candidate, door) -> result, score`, both released within the door's budget."""

SCORE_SHARE = 0.05  # of a base run's mu^2: what its score may cost
_MOST_TOUCHED = 2**25  # coordinates that one user may move in one base run


@dataclass(frozen=True, slots=True)
class Winner:
    """What leaves the search: the chosen candidate, its released score and its result."""

    candidate: int
    score: float
    result: dict[str, NDArray[Any]]


def select(
    run: Run,
    budget: Budget,
    candidates: Sequence[Any],
    base: Base,
    runs: Runs,
    *,
    name: str = "selection",
    new_key: Callable[[], Key] = Key,
    secret: Callable[[int], int] = secret_word,
) -> Released[Winner]:
    """The best of a secret number of base runs, each of a random candidate, for one charge of `budget`.

    `run` is one of claim "approximate": the charge is a row with its own (epsilon, delta). `base` is handed a
    door with the budget of one run; it pays for its score from that too (`SCORE_SHARE`), the higher the
    better. A finished search is read from the ledger, an interrupted one starts again under its charge.
    """
    if not candidates or run.claim != "approximate":
        problem = "there are none" if not candidates else "the run's claim is not 'approximate'"
        raise ArgumentError("candidates", problem, "Pass candidates, and a run of claim 'approximate'")
    terms = _terms(budget, runs)
    reservation = run.reserve(
        name,
        0,
        units_of_epsilon(budget.epsilon),
        {
            "kind": "selection",
            "grade": GRADE if new_key is Key and secret is secret_word else "fixed key: NOT PRIVATE",
            "touched": 0,
            "law": runs.law,
            "expected": runs.expected,
            "base_mu2": terms.base.units / NANO,
            "candidates": len(candidates),
            "parts": [],
        },
        delta_units=math.ceil(budget.delta * ATTO),
    )
    if reservation.state == "RESERVED":
        found = _search(candidates, base, runs, terms, new_key, secret)
        with suppress(AlreadyCommitted):
            run.commit(reservation, _packed(found))
    winner = _unpacked(run, reservation)
    run.publish(reservation)
    return release(winner, reservation.id)


@dataclass(frozen=True, slots=True)
class _Terms:
    base: Budget
    tail: float


def _terms(budget: Budget, runs: Runs) -> _Terms:
    """What one base run may spend, once cutting the number of runs and the samplers have had their part.

    Of delta, a four-thousandth covers runs beyond the cut, in both worlds, and a thousandth the samplers of
    all base runs; of epsilon, a thousandth.
    """
    if not 0 < budget.epsilon <= 30:
        raise ArgumentError("epsilon", f"{budget.epsilon} is not from 0 to 30", "Pass such as 2.0")
    tail = budget.delta / 4000 / (1 + math.exp(budget.epsilon))
    mu = base_mu(budget.epsilon * (1 - 1e-3), budget.delta * (1 - 2e-3), runs)
    added = slack(_MOST_TOUCHED * runs.most(tail), mu, budget.delta)
    if added.epsilon > budget.epsilon * 1e-3:
        raise ArgumentError("expected", "the samplers' slack would show", "Expect fewer runs")
    return _Terms(Budget(budget.epsilon, budget.delta, units_of(mu)), tail)


def _search(
    candidates: Sequence[Any],
    base: Base,
    runs: Runs,
    terms: _Terms,
    new_key: Callable[[], Key],
    secret: Callable[[int], int],
) -> Winner:
    """The base runs, on ledgers that nobody reads. Neither their number nor any loser is kept."""
    winner: Winner | None = None
    for _ in range(runs.number(secret(128), terms.tail)):
        candidate = secret(128) % len(candidates)
        with Ledger.throw_away() as unseen:
            door = Door(unseen.run(method="selection", config={}), terms.base, new_key=new_key)
            result, score = base(candidates[candidate], door)
            touched = sum(row["touched"] for row in door.run.rows())
        if touched > _MOST_TOUCHED:
            raise ArgumentError("base", "moves too many coordinates to select among", "Fit a smaller model")
        found = Winner(candidate, float(score.value), dict(result.value))
        if winner is None or best([winner.score, found.score]) == 1:
            winner = found
    assert winner is not None  # the law begins at 1
    return winner


def _packed(winner: Winner) -> dict[str, NDArray[Any]]:
    about = {"candidate": np.array([winner.candidate]), "score": np.array([winner.score])}
    return about | {f"result.{name}": array for name, array in winner.result.items()}


def _unpacked(run: Run, reservation: Reservation) -> Winner:
    """What was committed, by this search or by one that was faster."""
    parts = run.result(reservation)
    result = {name.partition(".")[2]: array for name, array in parts.items() if name.startswith("result.")}
    return Winner(int(parts["candidate"][0]), float(parts["score"][0]), result)

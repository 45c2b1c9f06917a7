"""What may be said about a fit: the facts behind the privacy card, all of them public."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hushfold import __version__
from hushfold.algorithms.methods import Method
from hushfold.data.ratings import Ratings
from hushfold.privacy.budget import NANO
from hushfold.privacy.door import Door
from hushfold.privacy.gdp import delta_at, epsilon_at, sqrt_up

FORMAT = 1
EXCLUDED = (
    "a user's recommendations, shown to anybody else",
    "choosing settings by looking at the same data, unless charged",
    "timing and memory of the fit",
    "data poisoned on purpose, and one person with many accounts",
)


def card_of(how: Method, ratings: Ratings, door: Door, ledger_head: str, throw_away: bool) -> dict[str, Any]:
    """Everything a fit may state about its guarantee; `door` is the one it went through, its run still open.

    epsilon and delta are those of the budget that was fixed in advance (not of what a fit happened to use of
    it, which may depend on what it saw), with the sampler's slack added, rounded up.
    """
    releases, slack = door.run.rows(), door.slack()
    mu, delta = sqrt_up(Fraction(door.budget.units, NANO)), door.budget.delta
    more_epsilon, more_delta = (slack.epsilon, slack.delta) if slack else (0.0, 0.0)
    epsilon = _up(epsilon_at(delta, mu), more_epsilon)
    stamps = [release["grade"] for release in releases if "NOT PRIVATE" in release["grade"]]
    if throw_away:
        stamps.append("throw-away ledger: nobody remembers this spend")
    return {
        "format": FORMAT,
        "hushfold": __version__,
        "method": how.name,
        "guarantee": {
            "sentence": _sentence(how, ratings, epsilon, delta),
            "unit": "one user with all their rows (one account of this data)",
            "relation": "one user added or removed",
            "notion": "joint differential privacy; the released transcript is Gaussian-DP",
            "mu": mu,
            "epsilon": epsilon,
            "delta": _up(delta, more_delta),
            "asked": {"epsilon": door.budget.epsilon, "delta": delta},
            "replace_one_epsilon": _up(epsilon_at(delta, 2 * mu), 2 * more_epsilon),
            "curve": [
                [each, _up(delta_at(each, mu), more_delta)] for each in _grid(epsilon) if each > more_epsilon
            ],
        },
        "noise": {"grade": releases[0]["grade"], "slack_epsilon": more_epsilon, "slack_delta": more_delta},
        "spent": {
            "units": sum(release["units"] for release in releases),
            "of": door.budget.units,
        },
        "releases": releases,
        "population": ratings.population,
        "ledger_head": ledger_head,
        "stamps": stamps,
        "assumptions": _assumptions(ratings),
        "excluded": list(EXCLUDED),
    }


def _sentence(how: Method, ratings: Ratings, epsilon: float, delta: float) -> str:
    said = how.sentence.format(epsilon=f"{epsilon:.4g}", delta=f"{delta:g}")
    said += " for adding or removing one user"
    return f"{said}, assuming the list of items is public." if ratings.catalogue_from_data else f"{said}."


def _assumptions(ratings: Ratings) -> list[str]:
    stated = ["the list of items was taken from the data and is assumed to be public"]
    if not ratings.catalogue_from_data:
        stated = ["the list of items is public"]
    if ratings.range is not None:
        stated.append(f"values lie in the public range {ratings.range[0]:g} .. {ratings.range[1]:g}")
    if ratings.declared_users is not None:
        stated.append(f"the number of users is public: {ratings.declared_users}")
    return [
        *stated,
        "the random stream is AES-256 in counter mode under fresh keys",
        "this ledger only: other ledgers about the same people add up",
    ]


def _grid(epsilon: float) -> list[float]:
    return [epsilon * share for share in (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)]


def _up(value: float, more: float) -> float:
    return math.nextafter(value + more, math.inf) if more else value

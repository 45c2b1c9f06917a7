"""A-3, A-4: what the transcript of DPALS tells about a canary, held against what is claimed.

Worlds with and without one user are told apart by the exact log-likelihood ratio of the claimed mechanism;
the certified lower bound on mu must stay below the claim, and come close to it, or the audit would be
vacuous. The statistics are the algorithm's own local steps, the noise comes from the door's samplers under
fixed keys, the worlds of one key being the rows of one tall release. False alarm at most 1e-3 per test, split
over three scores. Black-box audits of the factors alone have no power and are not made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from tests.keys import numbered_keys

from hushfold.algorithms.dpals import item_statistics, user_design
from hushfold.algorithms.dpals_configs import DpalsConfig
from hushfold.algorithms.dpals_items import noise_edge, random_start, ridges_of, solve_items
from hushfold.algorithms.dpals_setup import Declared, Setup
from hushfold.privacy.budget import NANO, Budget, split
from hushfold.privacy.gdp import epsilon_at, mu_for
from hushfold.privacy.mechanisms import Gaussian
from hushfold.privacy.noise import cut
from hushfold.rng import PublicRandom
from hushfold.statistics.base import LATTICE, TILE, Spec, svec_diagonal, svec_size
from hushfold.statistics.cross import cross
from hushfold.statistics.gram import gram
from hushfold.types import Rows

RANK, ITEMS, K, DELTA, LEVEL = 4, 12, 4, 1e-5, 1e-3
TRIANGLE = svec_size(RANK)
COORDINATES = ITEMS * TRIANGLE, ITEMS * RANK
SCORES = {"joint": (1.0, 1.0), "gram": (1.0, 0.0), "rhs": (0.0, 1.0)}


@dataclass(frozen=True)
class Prices:
    """What the two statistics of one step are claimed to cost, and what their noise really is."""

    gram: int
    rhs: int
    gram_noise: float = 1.0
    rhs_noise: float = 1.0

    def broken(self, gram_noise: float, rhs_noise: float) -> Prices:
        return Prices(self.gram, self.rhs, gram_noise, rhs_noise)


def prices_of(epsilon: float, steps: int) -> Prices:
    return Prices(*split(Budget.gaussian(epsilon, DELTA).units // steps, [0.5, 0.5]))


def draw(worlds: int, coordinates: int, layout: str, price: int, scale: float, key: str) -> np.ndarray:
    """Noise of the door's mechanism at a price, isometric, in units of the claimed noise."""
    width = TRIANGLE if layout == "svec" else coordinates
    spec = Spec("gram", (worlds * coordinates // width, width), 1.0, 1, 2.0, layout)
    mechanism, stream = Gaussian(0, spec, price, cut(2.0)), numbered_keys(key)().open()
    drawn = np.zeros(spec.size, np.int64)
    for tile in range(spec.tiles):
        mechanism.add_noise(drawn[tile * TILE : (tile + 1) * TILE], stream, tile)
    whole = drawn.astype(np.float64)
    if layout == "svec":
        whole[:, ~svec_diagonal(width)] *= np.sqrt(2)
    return whole.reshape(worlds, coordinates) * (scale / (LATTICE * mechanism.multiplier))


def contribution(parts, prices: Prices) -> tuple[np.ndarray, np.ndarray]:
    """What a user adds to both statistics, whitened by the claimed noise; from the integers of the shapes."""
    whitened = []
    for part, price in zip(parts, (prices.gram, prices.rhs), strict=True):
        total = part.accumulator()
        total.add(part)
        moved = np.concatenate([total.tile(tile) for tile in range(part.spec.tiles)]).astype(np.float64)
        if part.spec.layout == "svec":
            moved[:, ~svec_diagonal(moved.shape[1])] *= np.sqrt(2)
        whitened.append(moved.ravel() / LATTICE * np.sqrt(price / NANO))
    return whitened[0], whitened[1]


def lower_mu(absent: np.ndarray, present: np.ndarray, level: float) -> float:
    """A certified lower bound on mu: the threshold from one half of the worlds, the counts from the other."""
    half = len(absent) // 2
    cuts = np.quantile(np.r_[absent[:half], present[:half]], np.linspace(0.05, 0.95, 37))
    certified = [_bound(absent[:half], present[:half], cut, level) for cut in cuts]
    return _bound(absent[half:], present[half:], cuts[int(np.argmax(certified))], level)


def _bound(absent: np.ndarray, present: np.ndarray, threshold: float, level: float) -> float:
    n = len(absent)
    caught, alarms = int((present > threshold).sum()), int((absent > threshold).sum())
    least = stats.beta.ppf(level / 2, caught, n - caught + 1) if caught else 0.0
    most = stats.beta.ppf(1 - level / 2, alarms + 1, n - alarms) if alarms < n else 1.0
    return float(stats.norm.ppf(least) - stats.norm.ppf(most))


def best_bound(scores: dict[str, tuple[np.ndarray, np.ndarray]]) -> float:
    return max(lower_mu(absent, present, LEVEL / len(scores)) for absent, present in scores.values())


# ---- one item step. The canary: K ratings at the bound on items nobody else rated, u = row_clip e_1.


def canary(items: int = K, value: float = 1.0, copies: int = 1) -> Rows:
    chosen = np.repeat(np.arange(items, dtype=np.int32), copies)
    values = np.full(len(chosen), value, np.float32)
    return Rows(np.array([0, len(chosen)]), chosen, values, np.array([7], np.uint64), ITEMS)


def shapes(rows: Rows, length: float = 1.0, budget: float = K) -> tuple:
    u = np.zeros((1, RANK))
    u[0, 0] = length
    ones = Rows(rows.indptr, rows.items, np.ones(len(rows.items), np.float32), rows.keys, ITEMS)
    return gram(ones, u, budget, 1.0), cross(rows, u, np.sqrt(budget), 1.0)


def v_step(prices: Prices, shift: tuple[np.ndarray, np.ndarray], worlds: int, key: str) -> float:
    """The certified mu of one step in which the canary moves the statistics by `shift`."""
    arms = []
    for arm in ("absent", "present"):
        noises = (
            draw(worlds, COORDINATES[0], "svec", prices.gram, prices.gram_noise, f"{key} gram {arm}"),
            draw(worlds, COORDINATES[1], "dense", prices.rhs, prices.rhs_noise, f"{key} rhs {arm}"),
        )
        arms.append([noise @ part for noise, part in zip(noises, shift, strict=True)])
    own = [float(part @ part) for part in shift]
    scored = {
        name: tuple(
            sum(w * (arm[q] + (own[q] if number else 0)) for q, w in enumerate(weights))
            for number, arm in enumerate(arms)
        )
        for name, weights in SCORES.items()
    }
    return best_bound(scored)


def honest(epsilon: float) -> tuple[Prices, tuple[np.ndarray, np.ndarray]]:
    prices = prices_of(epsilon, 1)
    return prices, contribution(shapes(canary()), prices)


def test_the_canary_is_the_worst_user():
    _, shift = honest(4.0)
    assert np.hypot(*map(np.linalg.norm, shift)) == pytest.approx(mu_for(4.0, DELTA), rel=1e-3)


@pytest.mark.parametrize(("epsilon", "tight"), [(1.0, 0.35), (4.0, 3.2)])
def test_a_step_tells_no_more_than_claimed(epsilon, tight):
    """N = 20,000 worlds; tightness as far as so few certify."""
    prices, shift = honest(epsilon)
    found = v_step(prices, shift, 20_000, f"step {epsilon}")
    assert found <= mu_for(epsilon, DELTA)
    assert epsilon_at(DELTA, found) >= tight


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "tight"), [(1.0, 0.65), (4.0, 3.4)])
def test_a_step_tells_no_more_than_claimed_in_many_worlds(epsilon, tight):
    prices, shift = honest(epsilon)
    found = v_step(prices, shift, 200_000, f"many {epsilon}")
    assert found <= mu_for(epsilon, DELTA)
    assert epsilon_at(DELTA, found) >= tight


# Broken on purpose: what the canary then moves the statistics by, in units of the claim, and their noise.
NOISES = {
    "half the noise": (0.5, 0.5),
    "the noise of Theorem 1": (np.sqrt(0.5), np.sqrt(0.5)),
    "right-hand sides without the rating bound": (1.0, 0.2),
}
SHIFTS = {
    "no clip": (9.0, 3.0),  # u three times as long
    "no cap": (np.sqrt(2), np.sqrt(2)),  # twice the items
    "no dedupe": (2.0, 2.0),  # K copies of one pair: K at one item instead of 1 at each of K
}


@pytest.mark.parametrize("name", [*NOISES, *SHIFTS])
def test_a_broken_step_is_caught(name):
    """Negative controls at epsilon 4, N = 20,000."""
    prices, shift = honest(4.0)
    noises, factors = NOISES.get(name, (1.0, 1.0)), SHIFTS.get(name, (1.0, 1.0))
    moved = (shift[0] * factors[0], shift[1] * factors[1])
    assert v_step(prices.broken(*noises), moved, 20_000, f"control {name}") > mu_for(4.0, DELTA)


@pytest.mark.slow
def test_a_tenth_less_noise_is_caught_in_many_worlds():
    prices, shift = honest(4.0)
    assert v_step(prices.broken(0.9, 0.9), shift, 200_000, "tenth") > mu_for(4.0, DELTA)


@pytest.mark.parametrize(
    "rows", [canary(2 * K), canary(value=3.0), canary(1, copies=K), canary(value=np.nan)], ids=str
)
def test_what_the_controls_break_the_shapes_enforce(rows):
    """The same canaries through the real shapes: none moves them by more than claimed."""
    prices, _ = honest(4.0)
    for length in (1.0, 3.0):
        shift = contribution(shapes(rows, length), prices)
        assert np.hypot(*map(np.linalg.norm, shift)) <= mu_for(4.0, DELTA)


def test_the_likelihood_is_blind_to_noise_that_is_missing_where_nobody_is():
    """Why cells that do not vary are looked for directly (P-06): with no noise on all other items the score
    of the claimed mechanism is what it was, since the canary does not touch them.
    """
    _, shift = honest(4.0)
    touched = shift[1].reshape(ITEMS, RANK).any(axis=1)
    assert touched.sum() == K
    assert not shift[0].reshape(ITEMS, TRIANGLE)[~touched].any()


# ---- two steps end to end. The canary's second contribution depends on the factors released first.


def end_to_end(epsilon: float, worlds: int, scale: float, key: str) -> float:
    """The certified mu of a transcript of two steps, scored adaptively: nobody against one user."""
    prices = prices_of(epsilon, 2).broken(scale, scale)
    cfg = DpalsConfig(rank=RANK, steps=2, items_per_user=K, sample="uniform", ridge=0.01, value_bound=1.0)
    coins = PublicRandom(0)
    ones = np.ones(ITEMS)
    setup = Setup(Declared(ITEMS, (-1.0, 1.0)), np.arange(ITEMS), ones, ones, 0.0, None, cfg, coins)
    rows = canary()
    start = random_start(ITEMS, cfg, coins.stream("dpals").standard_normal((ITEMS, RANK)))
    ridges = ridges_of(ones, cfg.ridge, 0.0) + noise_edge(prices.gram, K, cfg)
    bounds = np.sqrt(K), np.sqrt(K)
    llr = []
    for arm in (0, 1):
        factors, total = np.tile(start, (worlds, 1, 1)), np.zeros(worlds)
        for t in range(cfg.steps):
            name = f"{key} {arm} {t}"
            noisy = [
                draw(worlds, COORDINATES[0], "svec", prices.gram, scale, f"{name} gram"),
                draw(worlds, COORDINATES[1], "dense", prices.rhs, scale, f"{name} rhs"),
            ]
            moved = (np.zeros(0), np.zeros(0))
            for world in range(worlds):
                if t > 0 or world == 0:  # all worlds begin with the same factors
                    design = user_design(factors[world], cfg)
                    moved = contribution(item_statistics(rows, design, setup, t), prices)
                for part, own in zip(noisy, moved, strict=True):
                    part[world] += arm * own
                    total[world] += part[world] @ own - own @ own / 2
            grams, sides = (
                part / np.sqrt(price / NANO) * bound
                for part, price, bound in zip(noisy, (prices.gram, prices.rhs), bounds, strict=True)
            )
            grams = grams.reshape(-1, TRIANGLE)
            grams[:, ~svec_diagonal(TRIANGLE)] /= np.sqrt(2)
            solved = solve_items(grams, sides.reshape(-1, RANK), np.tile(ridges, worlds), "gram", None)
            factors = solved.reshape(worlds, ITEMS, RANK)
        llr.append(total)
    return lower_mu(llr[0], llr[1], LEVEL)


def test_two_steps_tell_no_more_than_claimed():
    found = end_to_end(4.0, 2_000, 1.0, "short")
    assert found <= mu_for(4.0, DELTA)
    assert epsilon_at(DELTA, found) >= 1.6


def test_two_steps_with_half_the_noise_are_caught():
    assert end_to_end(4.0, 1_000, 0.5, "short half") > mu_for(4.0, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "tight"), [(1.0, 0.4), (4.0, 3.0)])
def test_two_steps_tell_no_more_than_claimed_in_many_worlds(epsilon, tight):
    found = end_to_end(epsilon, 20_000, 1.0, f"long {epsilon}")
    assert found <= mu_for(epsilon, DELTA)
    assert epsilon_at(DELTA, found) >= tight

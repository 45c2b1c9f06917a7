"""The factor fit of Hush on moments whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from hushfold.algorithms.hush.factors import fit_factors, fit_model, head_blocks, item_noise, refine
from hushfold.algorithms.hush.model import MomentModel
from hushfold.algorithms.hush.sweeps import Factors, Observation, factors_outside, prior_variance, sweep
from hushfold.errors import ArgumentError
from hushfold.linalg.panels import SymmetricPanels

NOISE = 4.0


def world(items: int, count: int, strength: float, seed: int = 0):
    """(released moment, likes, true factors): the law of the model, items in no order."""
    rng = np.random.default_rng(seed)
    likes = 100 / (1 + np.arange(items)) ** 0.5 + 20
    rng.shuffle(likes)
    factors = rng.standard_normal((items, count)) * strength * np.linspace(1, 0.6, count)
    upper = np.triu(rng.standard_normal((items, items)), 1) * NOISE / np.sqrt(2)
    moment = np.outer(likes, likes) * (factors @ factors.T) + upper + upper.T
    np.fill_diagonal(moment, 300 + NOISE * rng.standard_normal(items))
    return SymmetricPanels.from_dense(moment), likes, factors


def error(fit: Factors, likes: np.ndarray, truth: np.ndarray) -> float:
    """Of the fitted moment off the diagonal, relative to the truth."""
    size = np.outer(likes, likes) * (1 - np.eye(len(likes)))
    return float(
        np.linalg.norm(size * (fit.F @ fit.F.T - truth @ truth.T)) / np.linalg.norm(size * (truth @ truth.T))
    )


@pytest.mark.parametrize("items", [60, 700])
def test_factors_above_the_noise_are_found_and_their_number_too(items: int):
    moment, likes, truth = world(items, 4, 0.05)
    fit = fit_factors(moment, likes, 1.0, NOISE, 0.0)
    assert fit.count == 4
    assert error(fit, likes, truth) < 0.2
    assert (fit.variance > 0).all()


def test_the_stated_variance_is_how_far_the_factors_are_off():
    moment, likes, truth = world(700, 3, 0.05)
    fit = fit_factors(moment, likes, 1.0, NOISE, 0.0)
    left, _, right = np.linalg.svd(fit.F.T @ truth)
    off = np.square(fit.F @ (left @ right) - truth).sum()
    assert 0.5 < off / fit.variance.sum() < 2


@pytest.mark.parametrize("seed", range(5))
def test_pure_noise_has_no_factors(seed: int):
    moment, likes, _ = world(600, 1, 0.0, seed)
    fit = fit_factors(moment, likes, 1.0, NOISE, 0.0)
    mean_square = np.square(fit.F * likes[:, None]).sum() / NOISE
    assert fit.count <= 1  # a chance direction of the smallest block
    assert mean_square < 5


def test_a_signal_below_the_noise_is_left_alone():
    moment, likes, _ = world(600, 2, 0.004)
    assert fit_factors(moment, likes, 1.0, NOISE, 0.0).count <= 1


def test_the_diagonal_is_never_looked_at():
    moment, likes, _ = world(300, 3, 0.05)
    other = moment.to_dense()
    np.fill_diagonal(other, 1e4 * np.random.default_rng(1).standard_normal(300))
    first = fit_factors(moment, likes, 1.0, NOISE, 0.0)
    second = fit_factors(SymmetricPanels.from_dense(other), likes, 1.0, NOISE, 0.0)
    np.testing.assert_allclose(first.F, second.F, atol=1e-4)


def test_the_order_of_the_items_does_not_matter():
    moment, likes, _ = world(300, 3, 0.05)
    order = np.random.default_rng(2).permutation(300)
    first = fit_factors(moment, likes, 1.0, NOISE, 0.0)
    second = fit_factors(moment.reorder(order), likes[order], 1.0, NOISE, 0.0)
    np.testing.assert_allclose(first.F[order], second.F, atol=1e-4)


def test_the_units_of_moment_and_noise_do_not_matter():
    """Everything released times 8, sc too: the same factors."""
    moment, likes, _ = world(300, 3, 0.05)
    larger = SymmetricPanels.from_dense(moment.to_dense() * 8)
    first = fit_factors(moment, likes, 1.0, NOISE, 0.02)
    second = fit_factors(larger, likes, 8.0, 8 * NOISE, 64 * 0.02)
    np.testing.assert_allclose(first.F, second.F, rtol=1e-3, atol=1e-6)


def test_more_noise_never_means_more_factors():
    moment, likes, _ = world(500, 6, 0.05)
    counts = [fit_factors(moment, likes, 1.0, noise, 0.0).count for noise in (4.0, 12.0, 60.0, 1e4)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0


def test_sampling_noise_turns_popular_items_down():
    moment, likes, _ = world(300, 3, 0.05)
    fit = fit_factors(moment, likes, 1.0, NOISE, 0.5)
    assert np.corrcoef(fit.q, likes)[0, 1] < -0.9


def test_a_product_with_panels_is_the_hollow_weighted_moment():
    moment, likes, _ = world(700, 3, 0.05)
    order = np.argsort(-likes, kind="stable")
    model = MomentModel.of(moment.reorder(order), likes[order], 1.0, NOISE, 0.3)
    dense = moment.to_dense()[np.ix_(order, order)] * np.outer(model.weights, model.weights)
    np.fill_diagonal(dense, 0)
    x = np.random.default_rng(0).standard_normal((700, 5))
    for size in (50, 300, 700):
        expected = dense[:size, :size] @ x[:size]
        np.testing.assert_allclose(model.times(x[:size], size), expected, atol=0.02)


def small_fit(model: MomentModel, count: int) -> Factors:
    rng = np.random.default_rng(5)
    B = rng.standard_normal((len(model), count))
    V = rng.random((len(model), count))
    return Factors(B, V, prior_variance(model.likes, model.strength, B, V), model.weights, model.strength)


def item_after_item(
    model: MomentModel, fit: Factors, observed: Observation | None
) -> tuple[np.ndarray, np.ndarray]:
    """The sweep as one would write it down: a posterior for every item."""
    shared = fit.B.T @ fit.B + np.diag(fit.V.sum(axis=0))
    dense = model.moment.to_dense() * np.outer(model.weights, model.weights)
    np.fill_diagonal(dense, 0)
    B, V = np.empty_like(fit.B), np.empty_like(fit.V)
    for j, own in enumerate(fit.B):
        precision = (shared - np.outer(own, own)) / model.variance + np.diag(1 / (fit.h[j] ** 2 * fit.T))
        information = dense[j] @ fit.B / model.variance
        if observed is not None:
            t, variance = observed.likes[j], observed.variance[j]
            precision += (t / fit.h[j]) ** 2 * observed.design @ observed.design / variance
            information += t / fit.h[j] * observed.design @ observed.g[j] / variance
        B[j] = (own + np.linalg.solve(precision, information)) / 2
        V[j] = np.diag(np.linalg.inv(precision))
    return B, V


@pytest.mark.parametrize("rounds", [False, True])
def test_a_sweep_is_every_items_posterior_halfway(rounds: bool):
    moment, likes, _ = world(120, 3, 0.05)
    order = np.argsort(-likes, kind="stable")
    model = MomentModel.of(moment.reorder(order), likes[order], 0.7, NOISE, 0.01)
    fit = small_fit(model, 5)
    observed = None
    if rounds:
        rng = np.random.default_rng(3)
        design = np.cov(rng.standard_normal((5, 40)))
        observed = Observation(rng.standard_normal((120, 5)) * 9, design, model.likes, rng.random(120) + 3)
    B, V = item_after_item(model, fit, observed)
    swept = sweep(model, fit, observed)
    np.testing.assert_allclose(swept.B, B, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(swept.V, V, rtol=1e-6)


def test_a_sweep_without_factors_does_nothing():
    moment, likes, _ = world(60, 1, 0.0)
    likes = np.sort(likes)[::-1]
    model = MomentModel.of(moment, likes, 1.0, NOISE, 0.0)
    assert sweep(model, small_fit(model, 0)).count == 0


def test_a_clear_further_observation_decides_what_the_factors_are():
    moment, likes, truth = world(300, 3, 0.05)
    fit = fit_factors(moment, likes, 1.0, NOISE, 0.0)
    left, _, right = np.linalg.svd(fit.F.T @ truth)
    turned = truth @ (left @ right).T
    design = np.diag([2.0, 1.0, 0.5])
    observed = Observation(likes[:, None] * turned @ design, design, likes, np.full(300, 1e-6))
    refined = refine(moment, likes, 1.0, NOISE, 0.0, fit, observed)
    np.testing.assert_allclose(refined.F, turned, atol=2e-3)
    assert refined.variance.max() < fit.variance.min()
    outside, variance = factors_outside(fit.T, observed)
    np.testing.assert_allclose(outside, turned, atol=1e-3)
    assert (variance < fit.T).all()


def test_items_outside_that_nobody_rated_keep_the_prior():
    nothing = Observation(np.zeros((4, 2)), np.eye(2), np.full(4, 1e-9), np.ones(4))
    mean, variance = factors_outside(np.array([0.5, 0.1]), nothing)
    np.testing.assert_allclose(mean, 0)
    np.testing.assert_allclose(variance, np.tile([0.5, 0.1], (4, 1)))


def test_item_noise_counts_what_is_not_known_about_the_factors():
    moment, likes, _ = world(300, 3, 0.05)
    fit = fit_factors(moment, likes, 1.0, NOISE, 0.0)
    noise = item_noise(fit, likes, 1.0)
    assert (noise > 0.3 * 1.05).all()
    assert noise[np.argmin(likes)] > noise[np.argmax(likes)]
    bare = Factors(np.zeros((300, 0)), np.zeros((300, 0)), np.zeros(0), fit.q, fit.h)
    np.testing.assert_allclose(item_noise(bare, likes, 2.0), 1.05 * 4)


@pytest.mark.parametrize("items", [1, 2, 3])
def test_tiny_catalogues_have_at_most_half_as_many_factors(items: int):
    moment = SymmetricPanels.from_dense(np.full((items, items), 1e5))
    fit = fit_factors(moment, np.full(items, 9.0), 1.0, 1.0, 0.0)
    assert fit.count <= items // 2
    assert np.isfinite(fit.F).all()


def test_head_blocks_are_nested_and_end_with_everything():
    assert list(head_blocks(1)) == [1]
    assert list(head_blocks(50)) == [50]
    assert list(head_blocks(450)) == [50, 100, 200, 400, 450]


def test_arguments_without_meaning_are_refused():
    moment = SymmetricPanels.from_dense(np.eye(3))
    for likes, scale, noise in (
        ([3.0, 2.0], 1.0, 1.0),
        ([3.0, 2.0, 0.0], 1.0, 1.0),
        ([3.0, 2.0, 1.0], 0.0, 1.0),
        ([3.0, 2.0, 1.0], 1.0, np.inf),
    ):
        with pytest.raises(ArgumentError):
            fit_factors(moment, np.array(likes), scale, noise, 0.0)
    with pytest.raises(ArgumentError):
        MomentModel.of(moment, np.array([1.0, 2.0, 3.0]), 1.0, 1.0, 0.0)


def test_a_fit_is_the_same_every_time():
    moment, likes, _ = world(500, 4, 0.05)
    order = np.argsort(-likes, kind="stable")
    model = MomentModel.of(moment.reorder(order), likes[order], 1.0, NOISE, 0.0)
    assert np.array_equal(fit_model(model).B, fit_model(model).B)

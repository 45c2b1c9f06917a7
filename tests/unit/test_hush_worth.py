"""Pairs are kept where they are there, and not where the truth is of low rank."""

from __future__ import annotations

import numpy as np
import pytest

from hushfold.algorithms.hush.model import MomentModel
from hushfold.algorithms.hush.worth import gain_of_pairs, pairs_are_worth_it
from hushfold.linalg.panels import SymmetricPanels

NOISE = 3.0


def world(partners: int, seed: int = 0, items: int = 300) -> MomentModel:
    """Likes with popularity, two tastes, and items that come in twos: the moment of 4,000 simulated users."""
    rng = np.random.default_rng(seed)
    likes = 1 / (1 + np.arange(items)) ** 0.6
    taste = rng.standard_normal((4000, 2)) @ rng.standard_normal((2, items)) * 0.5
    x = rng.random((4000, items)) < np.clip(12 * likes / likes.sum() * np.exp(taste), 0, 0.9)
    for item in range(0, 2 * partners, 2):
        x[:, item + 1] |= x[:, item] & (rng.random(4000) < 0.7)
    rows = x / np.sqrt(np.maximum(x.sum(axis=1, keepdims=True), 1))
    counts = rows.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    upper = np.triu(rng.standard_normal((items, items)), 1) * NOISE / np.sqrt(2)
    moment = rows[:, order].T @ rows[:, order] + upper + upper.T
    moment += NOISE * np.diag(rng.standard_normal(items))
    return MomentModel.of(
        SymmetricPanels.from_dense(moment), np.maximum(counts[order], NOISE), 1.0, NOISE, 0.0
    )


@pytest.mark.parametrize("seed", range(3))
def test_items_that_come_in_twos_are_worth_pairs(seed: int):
    model = world(30, seed)
    assert gain_of_pairs(model) > 0.01
    assert pairs_are_worth_it(model)


@pytest.mark.parametrize("seed", range(3))
def test_tastes_alone_are_not(seed: int):
    assert not pairs_are_worth_it(world(0, seed))


def test_the_answer_is_a_function_of_what_was_released():
    assert gain_of_pairs(world(30)) == gain_of_pairs(world(30))


@pytest.mark.parametrize("items", [1, 2, 50])
def test_tiny_heads_have_an_answer(items: int):
    model = MomentModel.of(SymmetricPanels.from_dense(np.eye(items)), np.ones(items), 1.0, 1.0, 0.0)
    assert np.isfinite(gain_of_pairs(model))

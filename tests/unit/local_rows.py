"""Rows and designs that the tests of local steps share."""

from __future__ import annotations

import math

import numpy as np

from hushfold.local.design import Design
from hushfold.types import Rows

ITEMS = 160


def rows_of(lengths, seed=0, catalogue=ITEMS):
    """One user per length, distinct items, values of either sign."""
    coins = np.random.default_rng(seed)
    items = [np.sort(coins.choice(catalogue, length, replace=False)) for length in lengths]
    return Rows(
        np.r_[0, np.cumsum(lengths)].astype(np.int64),
        np.concatenate([np.zeros(0, int), *items]).astype(np.int32),
        coins.normal(size=int(np.sum(lengths))).astype(np.float32),
        np.arange(len(lengths), dtype=np.uint64),
        catalogue,
    )


def design_of(rank, kind="plain", dtype="float64", catalogue=ITEMS):
    """A design of each kind that somebody uses."""
    coins = np.random.default_rng(rank)
    factors = coins.normal(size=(catalogue, rank)) / math.sqrt(rank)
    noise = coins.uniform(0.5, 2, catalogue)
    background = 0.1 * factors.T @ factors
    settings = {
        "plain": {},
        "noise": {"noise": noise},
        "intercept": {"intercept_variance": 0.3, "noise": noise},
        "free intercept": {"intercept_variance": math.inf},
        "background": {"background": background},
        "everything": {"background": background, "intercept_variance": 2.0, "noise": noise},
    }
    return Design(factors, dtype=dtype, **settings[kind])


KINDS = ("plain", "noise", "intercept", "free intercept", "background", "everything")


def row(items, values, catalogue=ITEMS):
    """The rows of one user."""
    return Rows(
        np.array([0, len(items)]),
        np.array(items, np.int32),
        np.array(values, np.float32),
        np.zeros(1, np.uint64),
        catalogue,
    )


def joined(*parts):
    """The users of several blocks, one after the other."""
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    return Rows(
        np.r_[0, np.cumsum(lengths)].astype(np.int64),
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.arange(len(lengths), dtype=np.uint64),
        parts[0].catalogue,
    )

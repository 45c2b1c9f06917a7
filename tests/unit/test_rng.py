"""Public coins: streams by name, users by key, the same on every platform, and uniform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hushfold.errors import ArgumentError
from hushfold.rng import PublicRandom

USERS = np.arange(200_000, dtype=np.uint64)  # keys as unlike random ones as keys can be
COINS = PublicRandom(7)
words = st.integers(0, 2**64 - 1)

GOLDEN_STREAM = [3331400191, 1778423590, 4093836085]
GOLDEN_USERS = [18371277002043586210, 15380792003664073557, 7885362646881332251]
GOLDEN_ENTRIES = [8082003421846999166, 4421967285804552942, 4478615214446544386]


def uniform_p(values: np.ndarray, cells: int = 1024) -> float:
    """Two-sided chi-square (too even is wrong too) of the leading and of the trailing bits: the worse."""
    bits = cells.bit_length() - 1
    ends = (values >> np.uint64(64 - bits), values & np.uint64(cells - 1))
    each = (stats.chisquare(np.bincount(end.astype(np.int64), minlength=cells)).pvalue for end in ends)
    return min(2 * min(p, 1 - p) for p in each)


def test_streams_are_what_they_have_always_been():
    """Golden: public sketches and starts of published models must be the same on every platform."""
    assert PublicRandom(0).stream("start").integers(0, 2**32, 3).tolist() == GOLDEN_STREAM
    assert COINS.per_user("sample", np.array([0, 1, 2**63], np.uint64)).tolist() == GOLDEN_USERS
    items = np.array([0, 1, 2**31 - 1], np.int32)
    assert COINS.per_entry("sample", np.full(3, 5, np.uint64), items).tolist() == GOLDEN_ENTRIES


def test_names_and_seeds_part_the_streams():
    draws = {
        (seed, name): PublicRandom(seed).stream(name).bytes(16)
        for seed in (0, 1, 256, 2**64 - 1)
        for name in ("", "a", "b", "ab", "start", "start ")
    }
    assert len(set(draws.values())) == len(draws)


def test_the_same_name_gives_the_same_stream_from_its_beginning():
    assert COINS.stream("a").bytes(64) == COINS.stream("a").bytes(64)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_is_a_64_bit_number(seed):
    with pytest.raises(ArgumentError, match="seed"):
        PublicRandom(seed)


@given(st.lists(words, min_size=1, max_size=30), st.data())
def test_a_users_word_depends_on_the_key_alone(keys, data):
    everybody = np.array(keys, np.uint64)
    place = data.draw(st.integers(0, len(keys) - 1))
    alone = COINS.per_user("sample", everybody[place : place + 1])
    assert COINS.per_user("sample", everybody)[place] == alone[0]
    entry = COINS.per_entry("sample", everybody, np.full(len(keys), 3, np.int32))
    assert entry[place] == COINS.per_entry("sample", everybody[place : place + 1], np.array([3], np.int32))[0]


def test_different_users_have_different_words():
    """Both mixes are bijections of the key, so that no two users share their coins."""
    assert len(np.unique(COINS.per_user("sample", USERS))) == len(USERS)


@pytest.mark.parametrize("name", ["sample", "other"])
def test_words_of_consecutive_keys_are_uniform(name):
    assert uniform_p(COINS.per_user(name, USERS)) > 1e-6
    entries = COINS.per_entry(name, np.full(len(USERS), 9, np.uint64), USERS.astype(np.int32))
    assert uniform_p(entries) > 1e-6


def test_keys_that_are_not_mixed_are_caught():
    """The control of the test above."""
    assert uniform_p(USERS) < 1e-6
    assert uniform_p(USERS * np.uint64(0x9E3779B97F4A7C15)) < 1e-6


def test_one_bit_of_a_key_moves_half_of_the_bits():
    base = COINS.per_user("sample", USERS[:2000])
    for bit in range(64):
        moved = COINS.per_user("sample", USERS[:2000] ^ (np.uint64(1) << np.uint64(bit)))
        share = np.bitwise_count(base ^ moved).mean() / 64
        assert 0.49 < share < 0.51, bit


def test_two_names_are_independent_for_the_same_users():
    a, b = COINS.per_user("a", USERS), COINS.per_user("b", USERS)
    assert uniform_p(a ^ b) > 1e-6
    pairs = (a >> np.uint64(59)) * np.uint64(32) + (b >> np.uint64(59))
    assert stats.chisquare(np.bincount(pairs.astype(np.int64), minlength=1024)).pvalue > 1e-6


def test_the_published_generator_is_numpys_own():
    assert PublicRandom(42).published().bytes(8) == np.random.default_rng(42).bytes(8)

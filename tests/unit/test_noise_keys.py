"""One key, one release, one range of counter blocks per tile (register 6 to 9; P-08)."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hushfold.errors import NoiseError, SealError
from hushfold.privacy.noise import GaussianSampler, Key, LaplaceSampler, fixed_key_for_tests

KNOWN = bytes(range(32))
GAUSSIAN = GaussianSampler(2.0**30)


def test_the_words_of_a_tile_are_aes_of_the_stated_counter_blocks() -> None:
    array, tile, substream, blocks = 0xBEEF, 0xDEADC0DE, 0x8001, 3000
    words = np.empty(2 * blocks, np.uint64)
    run = fixed_key_for_tests(KNOWN).open().tile(array, tile).substream(substream)
    run.fill(words[:5])  # a run goes on inside a block
    run.fill(words[5:])
    prefix = array.to_bytes(2, "big") + tile.to_bytes(4, "big") + substream.to_bytes(2, "big")
    counters = b"".join(prefix + block.to_bytes(8, "big") for block in range(blocks))
    aes = Cipher(algorithms.AES256(KNOWN), modes.ECB()).encryptor()
    assert words.astype("<u8").tobytes() == aes.update(counters)


def test_a_key_serves_one_release() -> None:
    key = Key()
    key.open()
    with pytest.raises(NoiseError, match="served its release"):
        key.open()


@pytest.mark.parametrize("sampler", [GAUSSIAN, LaplaceSampler(2**30)])
def test_a_tile_is_drawn_once(sampler: GaussianSampler | LaplaceSampler) -> None:
    stream = Key().open()
    sampler.draw(stream, 1, 2, 10)
    for other in (GAUSSIAN, LaplaceSampler(7)):
        with pytest.raises(NoiseError, match="drawn before"):
            other.draw(stream, 1, 2, 1)
    sampler.draw(stream, 2, 1, 10)


def test_a_substream_is_read_once() -> None:
    tile = Key().open().tile(0, 0)
    tile.substream(3)
    with pytest.raises(NoiseError, match="read before"):
        tile.substream(3)


@pytest.mark.parametrize(("array", "tile"), [(-1, 0), (2**16, 0), (0, -1), (0, 2**32)])
def test_fields_never_overflow_into_each_other(array: int, tile: int) -> None:
    with pytest.raises(NoiseError, match="16 and 32 bits"):
        Key().open().tile(array, tile)


def test_a_repeated_release_draws_other_noise() -> None:
    first, second = (GAUSSIAN.draw(Key().open(), 0, 0, 1000) for _ in range(2))
    assert not (first == second).any()  # a chance below 1e-6


def test_arrays_and_tiles_differ() -> None:
    stream = fixed_key_for_tests(KNOWN).open()
    draws = [GAUSSIAN.draw(stream, array, tile, 64) for array in range(3) for tile in range(3)]
    assert len(np.unique(np.concatenate(draws))) == 9 * 64


def test_secrets_are_silent_and_cannot_be_copied_or_compared() -> None:
    key = fixed_key_for_tests(KNOWN)
    secrets = [Key(), key, key.open(), Key().open().tile(0, 0), Key().open().tile(0, 1).substream(0)]
    for secret in secrets:
        assert repr(secret) == str(secret) == f"<{type(secret).__name__}: sealed>"
        for leak in (pickle.dumps, copy.copy, copy.deepcopy, bytes, list, lambda s: s == s, "{:}".format):
            with pytest.raises((SealError, TypeError)):
                leak(secret)


def test_only_an_injected_key_says_so() -> None:
    fresh, known = Key(), fixed_key_for_tests(KNOWN)
    assert (fresh.injected, known.injected) == (False, True)
    assert (fresh.open().injected, known.open().injected) == (False, True)
    with pytest.raises(NoiseError, match="32 bytes"):
        fixed_key_for_tests(b"short")


def test_without_cryptography_there_is_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(NoiseError, match="cryptography"):
        Key()


def test_without_entropy_there_is_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> bytes:
        raise NotImplementedError

    monkeypatch.setattr(os, "urandom", none)
    with pytest.raises(NotImplementedError):
        Key()


def test_keys_are_32_fresh_bytes_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    genuine = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or genuine(size))
    np.random.seed(0)  # noqa: NPY002  nobody's seed reaches a key
    Key()
    Key()
    assert asked == [32, 32]


def test_a_race_for_one_tile_has_one_winner() -> None:
    stream, key = Key().open(), Key()
    won: list[str] = []
    gate = threading.Barrier(8)

    def run() -> None:
        gate.wait()
        for name, take in (("tile", lambda: stream.tile(0, 0)), ("key", key.open)):
            try:
                take()
            except NoiseError:
                continue
            won.append(name)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == ["key", "tile"]

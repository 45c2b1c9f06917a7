"""Where noise takes its randomness from: one key of OS entropy per release, expanded by AES-256-CTR.

Every (array, tile) of a release owns a range of counter blocks that nothing else can reach, so tiles may be
drawn in any order and from several threads, and no two share a block of key stream (`proofs/keys.md`).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import NoiseError
from hushfold.types import Sealed

KEY_BYTES = 32
TIES = 2**15  # attempt a of a sampler reads sub-stream a, and breaks its ties with sub-stream 2^15 + a
PIECE = (
    2**12
)  # words encrypted at a time; a piece and its zeros stay in the first-level cache's neighbourhood
_ZEROS = np.zeros(8 * PIECE, np.uint8)
_ZEROS.setflags(write=False)


class Words(Protocol):
    """A run of uniform 64-bit words, read front to back."""

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite `words` with the next words of the run."""
        ...


class Source(Protocol):
    """The words of one (array, tile), split into sub-streams that may each be read once."""

    def substream(self, number: int) -> Words:
        """Sub-stream `number`, from its first word."""
        ...


class Key(Sealed):
    """32 bytes of OS entropy for one release: no repr, no pickle, no comparison, opened once, never written.

    A process forked after the key was made is refused: both would draw the same noise.
    """

    __slots__ = ("_lock", "_process", "injected")
    injected: bool
    """Whether a test put the key in: what is drawn from it is NOT PRIVATE."""

    _content: bytes | None

    def __init__(self) -> None:
        _aes()  # fails here, before anything is summed
        super().__init__(os.urandom(KEY_BYTES))
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.injected = False

    def open(self) -> Stream:
        """The key's one stream; a second call raises `NoiseError`."""
        _same_process(self._process)
        with self._lock:
            key, self._content = self._content, None
        if key is None:
            raise NoiseError("this key has served its release; every release draws a fresh one")
        return Stream(key, self._process, self.injected)


def fixed_key_for_tests(key: bytes) -> Key:
    """TEST ONLY: a key everybody knows. `injected` says so, and the door stamps what it draws NOT PRIVATE."""
    if len(key) != KEY_BYTES:
        raise NoiseError(f"a key has {KEY_BYTES} bytes")
    return _FixedKey(key)


class _FixedKey(Key):
    __slots__ = ()

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self._content = key
        self.injected = True


def secret_word(bits: int) -> int:
    """A uniform secret number of so many bits (whole bytes), of OS entropy: how often a search runs, say.

    Used once, kept nowhere. It is secret, so no seed reaches it.
    """
    return int.from_bytes(os.urandom(bits // 8), "big")


class Stream(Sealed):
    """The key stream of one release, in disjoint ranges. Each (array, tile) is handed out once."""

    __slots__ = ("_drawn", "_lock", "_process", "injected")
    injected: bool
    """Whether a test put the key in: what is drawn from it is NOT PRIVATE."""

    def __init__(self, key: bytes, process: int, injected: bool) -> None:
        super().__init__(key)
        self._drawn: set[tuple[int, int]] = set()
        self._lock = threading.Lock()
        self._process = process
        self.injected = injected

    def tile(self, array: int, tile: int) -> Source:
        """The words of one tile of one released array; asking for it twice raises `NoiseError`."""
        if not (0 <= array < 2**16 and 0 <= tile < 2**32):
            raise NoiseError(f"array {array}, tile {tile} lie outside the counter's 16 and 32 bits")
        _same_process(self._process)
        with self._lock:
            if (array, tile) in self._drawn:
                raise NoiseError(f"array {array}, tile {tile} was drawn before; noise is never replayed")
            self._drawn.add((array, tile))
        return _Tile(self._content, array, tile)


class _Tile(Sealed):
    """Counter block: array 16 bits, tile 32, sub-stream 16, block 64, most significant byte first."""

    __slots__ = ("_prefix", "_read")

    def __init__(self, key: bytes, array: int, tile: int) -> None:
        super().__init__(key)
        self._prefix = array.to_bytes(2, "big") + tile.to_bytes(4, "big")
        self._read: set[int] = set()

    def substream(self, number: int) -> Words:
        if number in self._read:
            raise NoiseError(f"sub-stream {number} was read before; noise is never replayed")
        self._read.add(number)
        return _KeyStream(self._content, self._prefix + number.to_bytes(2, "big") + bytes(8))


class _KeyStream(Sealed):
    """AES-256-CTR of zeros, as little-endian words."""

    __slots__ = ()

    def __init__(self, key: bytes, first_block: bytes) -> None:
        cipher, algorithms, modes = _aes()
        super().__init__(cipher(algorithms.AES(key), modes.CTR(first_block)).encryptor())

    def fill(self, words: NDArray[np.uint64]) -> None:
        space = words.view(np.uint8)
        for start in range(0, space.size, _ZEROS.size):
            piece = space[start : start + _ZEROS.size]
            self._content.update_into(_ZEROS[: piece.size], piece)
        if sys.byteorder == "big":
            words.byteswap(inplace=True)


def flat(out: NDArray[np.int64]) -> NDArray[np.int64]:
    """`out` as one run of integers, in place; else `NoiseError`, before a tile is used up."""
    if out.dtype != np.int64 or not out.flags.carray:
        raise NoiseError("noise is added to a writable contiguous int64 array")
    return out.reshape(-1)


def read(source: Source, number: int) -> Iterator[int]:
    """A sub-stream word by word, for the readable twins; it is opened with its first word."""
    run, words = source.substream(number), np.empty(256, np.uint64)
    while True:
        run.fill(words)
        yield from words.tolist()


def _same_process(process: int) -> None:
    if os.getpid() != process:
        raise NoiseError("a key crossed a fork: draw in the process that made it, or make a fresh one")


def _aes() -> tuple[Any, Any, Any]:
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError as missing:
        raise NoiseError(
            "no noise without AES-256 of the `cryptography` package: pip install cryptography"
        ) from missing
    return Cipher, algorithms, modes

"""F-01: text files. `python -m tests.fuzz.fuzz_csv --seconds 600`."""

from __future__ import annotations

import gzip
import random

from tests.fuzz.engine import main, mutate_bytes

_CELLS = (
    "1", "2", "7", "07", "-1", "3.5", "3,5", "1e999", "nan", "", " ", "a", "b", '"a"', '"a""b"', '"a\nb"',
    '"', "é", "\0", "x" * 300, "2024-01-01", "2024-01-01T10:00:00", "9" * 25, "::", "\ufeff", "\u202e",
    "inf", "\t",
)  # fmt: skip
_HEADERS = (
    "user,item,rating", "user,item,rating,timestamp", "userId,movieId", "a,b,c", "", "user", '"user","item"'
)  # fmt: skip


def generate(coins: random.Random) -> bytes:
    """A small file out of the grammar of text files."""
    delimiter = coins.choice((",", ",", ",", "\t", ";", "|", "::", " "))
    end = coins.choice(("\n", "\n", "\r\n", "\r"))
    header = coins.choice(_HEADERS).replace(",", delimiter)
    width = coins.choice((2, 3, 3, 4, 5))
    lines = [header] if header else []
    for _ in range(coins.choice((0, 1, 3, 12))):
        cells = width if coins.random() < 0.9 else coins.randrange(7)
        lines.append(delimiter.join(coins.choice(_CELLS) for _ in range(cells)))
    text = end.join(lines) + coins.choice((end, ""))
    data = text.encode(coins.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1")), "replace")
    return gzip.compress(data, 1) if coins.random() < 0.05 else data


def mutate(data: bytes, coins: random.Random) -> bytes:
    """A new file, a damaged one, or one with a cell out of place."""
    match coins.randrange(5):
        case 0:
            return generate(coins)
        case 1:
            at = coins.randrange(len(data) + 1)
            return data[:at] + coins.choice(_CELLS).encode() + coins.choice((b",", b"\n", b"")) + data[at:]
        case _:
            return mutate_bytes(data, coins)


def seeds() -> list[bytes]:
    """Two hundred files out of the grammar."""
    coins = random.Random(1)
    return [generate(coins) for _ in range(200)]


if __name__ == "__main__":
    main("tests.fuzz.fuzz_csv", "log.csv", seeds, mutate)

"""Keys that tests may know: a numbered sequence, so that a statistical test always gives the same verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import count

from hushfold.privacy.noise import Key, fixed_key_for_tests


def numbered_keys(name: str) -> Callable[[], Key]:
    """A source of keys for `Door.new_key`: the n-th key is a hash of `name` and n."""
    numbers = count()
    return lambda: fixed_key_for_tests(hashlib.sha256(f"{name} {next(numbers)}".encode()).digest())

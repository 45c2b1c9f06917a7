"""Secure noise: what the door draws, and what its finite tables and rounded exponential add to epsilon and delta.

Noise lives on the integers, its randomness is AES-256-CTR under a key of OS entropy that serves one release, and
no seed reaches it. Claims are therefore computational: add the distinguishing advantage of AES to delta.
"""

from __future__ import annotations

from hushfold.privacy.lattice import GaussianSampler
from hushfold.privacy.stream import Key, Stream, fixed_key_for_tests

GRADE = "lattice"

__all__ = ["GRADE", "GaussianSampler", "Key", "Stream", "fixed_key_for_tests"]

"""Twenty seconds of each fuzzer; `python -m tests.fuzz.fuzz_csv --seconds 600` is the long run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz import fuzz_csv, fuzz_parquet
from tests.fuzz.engine import RSS_MIB, Target, watch


@pytest.mark.slow
@pytest.mark.parametrize("script", ["tests.fuzz.fuzz_csv", "tests.fuzz.fuzz_parquet"])
def test_no_untyped_error_no_hang_no_crash(script: str, tmp_path: Path) -> None:
    findings = watch(script, 20, 0, tmp_path)
    assert findings.passed(fuzz_parquet.RSS_MIB if script.endswith("parquet") else RSS_MIB), findings
    assert findings.inputs > 200


@pytest.mark.parametrize("fuzzer", [fuzz_csv, fuzz_parquet])
def test_seeds_and_a_few_mutations_of_them(fuzzer: object, tmp_path: Path) -> None:
    target, coins = Target(tmp_path, "log"), random.Random(2)
    for sample in fuzzer.seeds()[:25]:  # type: ignore[attr-defined]
        target(sample)
        target(fuzzer.mutate(sample, coins))  # type: ignore[attr-defined]
    assert target.findings.untyped == []
    assert target.findings.read > 5


def test_the_fuzzer_would_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(tmp_path, "log")
    monkeypatch.setattr(target, "_read", lambda data: [].pop())
    target(b"x")
    assert not target.findings.passed()

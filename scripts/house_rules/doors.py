"""One door: who may draw, who may mark a value as released, and what may not be used at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from house_rules.source import PACKAGE, Finding, Source, within

GENERATORS = ("numpy.random", "random", "secrets", "os.urandom", "os.getrandom", "uuid")
MAY_REACH = (
    (r"rng", ("numpy.random",)),  # public coins
    (r"privacy\.stream", ("os.urandom",)),  # the key of a release
    (r"privacy\.ledger\w*", ("secrets",)),  # names of runs and the secret of a run folder: never noise
)
NOISE = re.compile(rf"{PACKAGE}\.privacy\.(noise|stream|lattice|laplace)(_\w+)?")
DOOR = re.compile(rf"{PACKAGE}\.privacy\.(door(_\w+)?|mechanisms)")  # one way out, in several small files
FACTS = {"GRADE", "Z_MAX", "slack", "Slack"}  # what is public about the noise

EXECUTES_WHAT_IT_LOADS = ("pickle", "_pickle", "joblib", "dill", "cloudpickle", "marshal", "shelve")


def coins_come_from_two_places(source: Source) -> Iterator[Finding]:
    """Public coins come from rng.py, noise keys from privacy/stream.py; nothing else reaches a generator."""
    short = source.module.removeprefix(f"{PACKAGE}.")
    allowed = [name for pattern, names in MAY_REACH if re.fullmatch(pattern, short) for name in names]
    for line, name in source.reached():
        if within(name, *GENERATORS) and not within(name, *allowed):
            yield source.finding(line, f"{name} is reached; take public coins from PublicRandom")
    for line, name in source.attributes():
        if name == "rvs":
            yield source.finding(line, "random variates are drawn; take public coins from PublicRandom")


def only_the_door_draws(source: Source) -> Iterator[Finding]:
    """Samplers and keys are imported by the door's files and by those that make them up."""
    if DOOR.fullmatch(source.module) or NOISE.fullmatch(source.module):
        return
    for line, name, _ in source.imports:
        module, _, last = name.rpartition(".")
        whole_module = NOISE.fullmatch(name)
        if whole_module or (NOISE.fullmatch(module) and last not in FACTS):
            yield source.finding(line, f"{name} is imported outside privacy/door*.py, the one door")


def only_the_door_releases(source: Source) -> Iterator[Finding]:
    """`types.release` and the mint behind it belong to the door's files and types.py."""
    if DOOR.fullmatch(source.module) or source.module == f"{PACKAGE}.types":
        return
    for line, name in source.reached():
        if within(name, f"{PACKAGE}.types.release", f"{PACKAGE}.types._MINT"):
            yield source.finding(line, f"{name} is used outside privacy/door*.py, the one door")


def nothing_loaded_is_executed(source: Source) -> Iterator[Finding]:
    """No pickle or its kin: an artefact is data."""
    for line, name, _ in source.imports:
        if within(name, *EXECUTES_WHAT_IT_LOADS):
            yield source.finding(line, f"{name} executes what it loads; use safetensors and JSON")
    for keyword in (node for node in ast.walk(source.tree) if isinstance(node, ast.keyword)):
        if keyword.arg == "allow_pickle" and _is_not(keyword.value, False):
            yield source.finding(keyword.value.lineno, "allow_pickle executes what it loads")


def kernels_are_serial(source: Source) -> Iterator[Finding]:
    """Engines drive nogil kernels from threads; a parallel reduction would leave its last bits to chance."""
    for line, name in source.reached():
        if within(name, "numba.prange"):
            yield source.finding(line, "a parallel kernel; engines drive serial ones")
    for keyword in (node for node in ast.walk(source.tree) if isinstance(node, ast.keyword)):
        if keyword.arg == "parallel" and _is_not(keyword.value, False):
            yield source.finding(keyword.value.lineno, "a parallel kernel; engines drive serial ones")


def _is_not(node: ast.expr, value: object) -> bool:
    return not (isinstance(node, ast.Constant) and node.value is value)

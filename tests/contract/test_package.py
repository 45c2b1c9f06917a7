"""Facts about the package: what it ships, what it declares, how little it loads before it must work."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from importlib.resources import files
from pathlib import Path

import pytest
from lock import LOCKS, SETS, declared, not_plain
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hushfold

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
HEAVY = {"numba", "scipy", "pyarrow", "pandas", "polars", "dp_accounting", "safetensors", "narwhals"}
ASK = """
import sys
from hushfold.cli.app import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def ask(*words: str) -> tuple[str, set[str]]:
    """What `hushfold WORDS` prints, and the top-level modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set(done.stderr.split())


def test_the_version_is_printed_without_loading_anything_heavy():
    printed, loaded = ask("--version")
    assert printed.strip() == f"hushfold {hushfold.__version__}"
    assert not loaded & HEAVY


def test_help_is_printed_without_loading_anything_heavy():
    printed, loaded = ask("--help")
    assert "plan" in printed
    assert not loaded & HEAVY


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, hushfold; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not set(loaded.split()) & (HEAVY | {"numpy"})


def test_types_are_shipped():
    assert files("hushfold").joinpath("py.typed").is_file()


def test_everything_imported_is_declared():
    """Every third-party module the source imports belongs to a declared dependency or extra."""
    groups = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    known = {canonicalize_name(Requirement(each).name) for group in groups for each in group}
    distributions = packages_distributions()
    for path in (ROOT / "src").rglob("*.py"):
        for module in _third_party(path):
            owners = {canonicalize_name(name) for name in distributions.get(module, [module])}
            assert owners & known, f"{path.name} imports {module}, which pyproject.toml does not declare"


def _third_party(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"hushfold"}


@pytest.mark.parametrize("name", SETS)
def test_a_lock_file_pins_what_is_declared_and_says_nothing_else(name: str):
    text = (LOCKS / f"{name}.txt").read_text()
    assert not_plain(text) == []
    pins = dict(line.split(" ")[0].split("==") for line in text.splitlines() if "==" in line)
    for each in map(Requirement, declared(PROJECT, name)):
        assert pins[canonicalize_name(each.name)] in each.specifier


def test_a_lock_line_with_an_address_is_caught():
    address = "https" + "://example.org/a.whl"
    for line in (f"a @ {address}", f"--index-url {address}", "-e .", "a==1.0", "a==1.0 ; x @ y \\"):
        assert not_plain(line) == [line]


def test_the_licence_and_the_changelog_are_there():
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert "Guarantees" in (ROOT / "CHANGELOG.md").read_text()

"""The pages keep their word: links lead somewhere, examples run, skeletons compile and import what exists."""

from __future__ import annotations

import ast
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pages import anchors, broken_links, examples, pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages(ROOT)]
VERB = "import sys; from hushfold.cli.app import main; main(sys.argv[1:])"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: Path):
    assert list(broken_links(page)) == []


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The Python blocks of a page, one after the other, in an empty folder of their own."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    for example in examples(page.read_text()):
        if example.words[:1] == ("python",):
            where = f"{page.name} at line {example.line}"
            tree = ast.parse(example.code, where)
            if "skeleton" in example.words:
                tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
            exec(compile(tree, where, "exec"), vars(module))


@pytest.mark.parametrize("page", PAGES)
def test_commands_run(page: Path, tmp_path: Path):
    """Lines `$ hushfold ...` of the console blocks of a page, in an empty folder of their own."""
    for example in examples(page.read_text()):
        if example.words == ("console",):
            for line in example.code.splitlines():
                if line.startswith("$ hushfold "):
                    words = shlex.split(line.removeprefix("$ hushfold "))
                    command = [sys.executable, "-W", "error", "-c", VERB, *words]
                    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
                    assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_every_example_says_what_it_is():
    """A block without a language would be run by nobody and coloured by chance."""
    known = {"python", "console", "text", "toml", "json", "bash", "markdown", "math", "diff", "mermaid"}
    for page in pages(ROOT):
        for example in examples(page.read_text()):
            assert known & set(example.words[:1]), f"{page.name} at line {example.line}"


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path):
    (tmp_path / "b.md").write_text("# The `door`, and *its* key\n")
    page = tmp_path / "a.md"
    page.write_text(
        "[good](b.md#the-door-and-its-key) [web](https://example.org)\n"
        "[gone](c.md) `[code](d.md)` [no anchor](b.md#window)\n```text\n[fenced](e.md)\n```\n"
    )
    assert anchors(tmp_path / "b.md") == {"the-door-and-its-key"}
    assert list(broken_links(page)) == ["a.md:2: c.md", "a.md:2: b.md#window"]

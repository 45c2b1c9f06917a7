"""The Markdown pages of the repository: their links, their anchors, their fenced examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*)\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced block: the words after the fence, the code, and the line it starts on."""

    words: tuple[str, ...]
    code: str
    line: int


def pages(root: Path) -> list[Path]:
    """Every page a reader is meant to open: those at the root, in docs/ and in proofs/."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "proofs").glob("*.md")])


def examples(text: str) -> Iterator[Example]:
    """The fenced blocks of a page, in order."""
    for block in FENCE.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        yield Example(tuple(block[2].split()), block[3], line)


def without_code(text: str) -> str:
    """The page with fenced blocks and `code` blanked out, line breaks kept."""
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    return re.sub(r"`[^`\n]*`", lambda code: " " * len(code[0]), text)


@lru_cache
def anchors(path: Path) -> frozenset[str]:
    """What `page.md#...` may name: headings in lower case, spaces to hyphens, other signs dropped."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", path.read_text())):
        plain = LINK.sub(lambda link: link["text"], heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        found.add(slug if slug not in found else f"{slug}-1")
    return frozenset(found)


def broken_links(path: Path) -> Iterator[str]:
    """`page:line: target` of every link inside the repository that leads nowhere."""
    text = without_code(path.read_text())
    for link in LINK.finditer(text):
        target, _, anchor = link["target"].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        page = (path.parent / target).resolve() if target else path
        missing = not page.exists() or (anchor and page.suffix == ".md" and anchor not in anchors(page))
        if missing:
            yield f"{path.name}:{text.count(chr(10), 0, link.start()) + 1}: {link['target']}"

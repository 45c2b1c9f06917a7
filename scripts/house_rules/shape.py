"""The shape of the code: small files, nothing left half done."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from house_rules.source import Finding, Source

CEILING = 300
LOOSE_END = re.compile(r"\b(TODO|FIXME|XXX)\b")


def files_are_small(source: Source) -> Iterator[Finding]:
    """At most 300 lines a file."""
    lines = len(source.text.splitlines())
    if lines > CEILING:
        yield source.finding(CEILING, f"{lines} lines, {lines - CEILING} above the ceiling; cut along a seam")


def nothing_is_half_done(source: Source) -> Iterator[Finding]:
    """No remark that something is left to do, and no function that only says it does not exist."""
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT and LOOSE_END.search(token.string):
            yield source.finding(token.start[0], "a loose end; finish it, or say so in docs/known-limits.md")
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and node.id == "NotImplementedError":
            yield source.finding(node.lineno, "a stub; finish it or leave it out")

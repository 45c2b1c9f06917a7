"""A source file as the rules see it: its module, its syntax tree, and every dotted name it reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "hushfold"


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a rule is broken, and what to do about it."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Source:
    """One Python file; `path` is relative to the package for files of the package."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def module(self) -> str:
        """The dotted name of the module, package first."""
        parts = Path(self.path).with_suffix("").parts
        return ".".join([PACKAGE, *(part for part in parts if part != "__init__")])

    @cached_property
    def imports(self) -> list[tuple[int, str, str]]:
        """(line, dotted name, name it is bound to) of every import, wherever it stands."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    found.append((node.lineno, alias.name, bound))
            elif isinstance(node, ast.ImportFrom):
                origin = self._origin(node)
                found += [(node.lineno, f"{origin}.{a.name}", a.asname or a.name) for a in node.names]
        return found

    def reached(self) -> Iterator[tuple[int, str]]:
        """(line, dotted name) of every import, and of every attribute of something imported."""
        yield from ((line, name) for line, name, _ in self.imports)
        origins = {bound: _origin_of(name, bound) for _, name, bound in self.imports}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute):
                first, *rest = _chain(node)
                if first in origins:
                    yield node.lineno, ".".join([origins[first], *rest])

    def attributes(self) -> Iterator[tuple[int, str]]:
        """(line, name) of every attribute of anything but `self`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and _chain(node)[:-1] != ["self"]:
                yield node.lineno, node.attr

    def finding(self, line: int, message: str) -> Finding:
        """A finding in this file."""
        return Finding(f"src/{PACKAGE}/{self.path}", line, message)

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        here = Path(self.path).parts[: -node.level]
        return ".".join([PACKAGE, *here, *([node.module] if node.module else [])])


def _origin_of(name: str, bound: str) -> str:
    """What a bound name stands for: `import a.b` binds `a`, everything else the whole dotted name."""
    return bound if name.startswith(f"{bound}.") else name


def _chain(node: ast.expr) -> list[str]:
    """`a.b.c` as a list of names; an empty first name where it does not start with a plain name."""
    if isinstance(node, ast.Attribute):
        return [*_chain(node.value), node.attr]
    return [node.id if isinstance(node, ast.Name) else ""]


def within(name: str, *prefixes: str) -> bool:
    """Whether a dotted name is one of `prefixes` or lies inside it."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)

"""The syntax trees of modules, for tests that read the source."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """The tree of a module, parsed once for all tests of a process; nobody changes it.

    The garbage collector does not see it: it would look at millions of nodes again and again, which
    took longer than the parser.
    """
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.freeze()
        gc.enable()


def statements(node: ast.AST, *, at_run_time: bool = False) -> Iterator[ast.stmt]:
    """All statements below a node, and none of their expressions: most of a tree are expressions.

    ``at_run_time``: leave out the imports that only a type checker sees.
    """
    if at_run_time and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from statements(inner, at_run_time=at_run_time)

"""The syntax trees of modules, for tests that read the source."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """The tree of a module, parsed once for all tests of a process; nobody changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))

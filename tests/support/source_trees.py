"""The syntax trees of modules, for tests that read the source."""

from __future__ import annotations

import ast
import gc
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

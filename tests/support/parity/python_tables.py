"""Programs of PyFlink's Table API with `millstream` for `pyflink`, and what Flink returned for them."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.parity.flink_env import ROOT

__all__ = ["ANSWERS", "ORIGINALS", "answer", "program_names", "recorded"]

ORIGINALS = ROOT / "tests/parity/on_flink"
ANSWERS = ROOT / "tests/parity/python_tables.json"
PACKAGE = "python_tables"
RUNNER = "run_python_tables"
KINDS = (["t_env"], ["b_env"], ["env", "s_env"])


@cache
def program_names() -> list[str]:
    """The names of all programs; nothing is imported."""
    found = []
    for path in sorted((ORIGINALS / PACKAGE).glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args] in KINDS:
                found.append(node.name)
    return found


@cache
def recorded() -> dict[str, Any]:
    """What each program returned on Flink."""
    found: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return found


@cache
def _runner() -> Any:
    """The module that runs programs, ported."""
    folder = Path(_keep().name)
    (folder / PACKAGE).mkdir()
    for path in [*(ORIGINALS / PACKAGE).glob("*.py"), ORIGINALS / f"{RUNNER}.py"]:
        text = re.sub(r"\bpyflink\b", "millstream", path.read_text(encoding="utf-8"))
        (folder / path.relative_to(ORIGINALS)).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    return importlib.import_module(RUNNER)


@cache
def _keep() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="ported-tables-")


def answer(name: str) -> Any:
    """What a program returns here."""
    runner = _runner()
    return runner.answer(*runner.programs()[name])

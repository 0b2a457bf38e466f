"""The programs of `flink_programs` by name, and their results as text that can be compared.

Nothing here imports PyFlink or Millstream: both sides use it.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2] / "parity"
PACKAGE = "flink_programs"
ORIGINALS = HERE / "on_flink" / PACKAGE
RECORDED = HERE / "flink_results.json"
NAMES = HERE / "flink_names.json"
DIFFERING = "differences"
"""The module of the programs whose results differ."""
MAIN = "results"
"""The name of a program's only stream."""

Program = Callable[[Any, Any], Any]
Results = dict[str, list[str]]
"""The records of each stream of a program, as text, in no order: sorted."""


@cache
def program_names() -> dict[str, str]:
    """The module of each program, by the program's name; nothing is imported."""
    found: dict[str, str] = {}
    for path in sorted(ORIGINALS.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and _arguments(node) == ["env", "timed"]:
                assert node.name not in found, f"two programs are called {node.name}"
                found[node.name] = path.stem
    return found


def _arguments(node: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in node.args.args]


def load(name: str) -> Program:
    """A program, from wherever the package is on the path of this process."""
    module = importlib.import_module(f"{PACKAGE}.{program_names()[name]}")
    program: Program = getattr(module, name)
    return program


def port(folder: Path) -> None:
    """Write the package into a folder, with `millstream` for `pyflink`: all that a port needs."""
    (folder / PACKAGE).mkdir()
    for path in ORIGINALS.glob("*.py"):
        text = re.sub(r"\bpyflink\b", "millstream", path.read_text(encoding="utf-8"))
        (folder / PACKAGE / path.name).write_text(text, encoding="utf-8")


def streams_of(built: Any) -> Mapping[str, Any]:
    """The streams that a program returned, by name."""
    return built if isinstance(built, dict) else {MAIN: built}


def shown(value: Any) -> str:
    """A record as text that tells types apart: 1 and 1.0, a tuple, a list and a row."""
    if hasattr(value, "as_dict"):
        fields = getattr(value, "_fields", None)
        names = fields if fields and len(fields) == len(value) else range(len(value))
        pairs = [f"{name}={shown(field)}" for name, field in zip(names, value, strict=True)]
        return f"Row({', '.join(pairs)})"
    if type(value) in (tuple, list):
        inner = ", ".join(map(shown, value))
        return f"({inner})" if type(value) is tuple else f"[{inner}]"
    return repr(value)


@cache
def recorded() -> dict[str, Results]:
    """What Flink gave for each program and query when `record.py` last ran it."""
    results: dict[str, Results] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return results

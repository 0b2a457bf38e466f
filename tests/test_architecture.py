"""The borders between the layers, and the size of modules."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "millstream"
MODULES = sorted(SOURCE.rglob("*.py"))

# What a layer may import of Millstream; imports go down only.
ALLOWED = {
    "common": {"common"},
    "metrics": {"metrics"},
    "kernel": {"common", "kernel"},
    "plan": {"common", "kernel", "plan"},
    "checkpoint": {"common", "kernel", "plan", "checkpoint"},
    "spark": {"common", "kernel", "plan", "checkpoint", "spark"},
    "testing": {"common", "kernel", "plan", "testing", "datastream"},
    "datastream": {"common", "metrics", "kernel", "plan", "spark", "datastream"},
    "state_processor": {"common", "kernel", "checkpoint", "spark", "state_processor"},
    "cli": {"common", "checkpoint", "spark", "state_processor", "cli"},
}
MAY_IMPORT_PYSPARK = {"spark", "checkpoint"}
MOST_LINES = 500


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path, *, top_level_only: bool = False) -> list[str]:
    tree = tree_of(path)
    names: list[str] = []
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.append(node.module)
    return names


def layer(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down_only(path: Path) -> None:
    own = layer(path)
    if own not in ALLOWED:
        return
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "millstream" and len(parts) > 1:
            assert parts[1] in ALLOWED[own], f"{path} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_runtime_imports_pyspark(path: Path) -> None:
    if layer(path) in MAY_IMPORT_PYSPARK:
        return
    found = [name for name in imports(path) if name.split(".")[0] == "pyspark"]
    allowed_lazily = layer(path) == "datastream"
    top = [n for n in imports(path, top_level_only=True) if n.split(".")[0] == "pyspark"]
    assert not top
    assert allowed_lazily or not found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_stay_readable(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES

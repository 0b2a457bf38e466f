"""The borders between the layers, and the size of modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.source_trees import tree_of

SOURCE = Path(__file__).resolve().parents[1] / "src" / "millstream"
MODULES = sorted(SOURCE.rglob("*.py"))

# What a layer may import of Millstream; imports go down only.
ALLOWED = {
    "common": {"common"},
    "metrics": {"metrics"},
    "connectors": {"common", "kernel", "connectors"},
    "kernel": {"common", "metrics", "kernel"},
    "plan": {"common", "connectors", "kernel", "plan"},
    "checkpoint": {"common", "metrics", "connectors", "kernel", "plan", "checkpoint"},
    "spark": {"common", "metrics", "connectors", "kernel", "plan", "checkpoint", "spark"},
    "testing": {"common", "metrics", "connectors", "kernel", "plan", "testing", "datastream"},
    "datastream": {
        "common",
        "metrics",
        "connectors",
        "kernel",
        "plan",
        "spark",
        "datastream",
    },
    "state_processor": {"common", "kernel", "checkpoint", "spark", "state_processor"},
    "cli": {"common", "metrics", "checkpoint", "spark", "state_processor", "cli"},
}
MAY_IMPORT_PYSPARK = {"spark", "state_processor"}
USES_PRIVATE_PYSPARK = SOURCE / "spark/jvm.py"
PRIVATE_PYSPARK = re.compile(
    r"\b_(jvm|jsc|jdf|jsparkSession|jschema|jsq|gateway|active_spark_context|instantiatedSession)\b"
)
MOST_LINES = 500


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements below a node, and none of their expressions: most of a tree are expressions."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from statements(inner)


@cache
def imports(path: Path, *, top_level_only: bool = False) -> list[str]:
    tree = tree_of(path)
    names: list[str] = []
    for node in tree.body if top_level_only else statements(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.append(node.module)
    return names


def layer(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else ""


def shown(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def test_imports_go_down_only() -> None:
    wrong = [
        f"{shown(path)} imports {name}"
        for path in MODULES
        if layer(path) in ALLOWED
        for name in imports(path)
        if name.startswith("millstream.") and name.split(".")[1] not in ALLOWED[layer(path)]
    ]
    assert wrong == []


def test_only_the_runtime_imports_pyspark() -> None:
    """What users call may import it too, when it is needed."""
    wrong = [
        shown(path)
        for path in MODULES
        if layer(path) not in MAY_IMPORT_PYSPARK
        for name in imports(path, top_level_only=layer(path) == "datastream")
        if name.split(".")[0] == "pyspark"
    ]
    assert wrong == []


def test_one_module_uses_private_attributes_of_pyspark() -> None:
    users = [path for path in MODULES if PRIVATE_PYSPARK.search(path.read_text())]
    assert users == [USES_PRIVATE_PYSPARK]


def test_the_engine_knows_kinds_of_sinks_and_no_sink() -> None:
    """Else a new sink would have to be added there."""
    kinds = {"DriverSink", "FrameSink"}
    wrong = [
        f"{shown(path)} imports {alias.name}"
        for path in MODULES
        if layer(path) in {"plan", "checkpoint", "spark", "testing"}
        for node in statements(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith(
            ("millstream.connectors.simple_sinks", "millstream.datastream.connectors")
        )
        for alias in node.names
        if alias.name.endswith(("Sink", "Function")) and alias.name not in kinds
    ]
    assert wrong == []


def test_modules_stay_readable() -> None:
    long = [shown(path) for path in MODULES if len(path.read_text().splitlines()) > MOST_LINES]
    assert long == []


def test_modules_are_found() -> None:
    assert SOURCE / "kernel/keyed.py" in MODULES


def test_imports_are_found_wherever_they_stand() -> None:
    text = """
import a
try:
    import b
except ImportError:
    import c
else:
    import d
finally:
    import e
class C:
    def f(self):
        with x:
            for y in z:
                while True:
                    if x:
                        pass
                    elif y:
                        import f
                    else:
                        match x:
                            case 1:
                                import g
        async def h():
            async with x:
                async for y in z:
                    from h import i
"""
    tree = ast.parse(text)
    found = [ast.unparse(node) for node in statements(tree)]
    every = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    assert sorted(found) == sorted(every)

"""The borders between the layers and their folders."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.support.source_trees import statements, tree_of

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
    "table": {"common", "connectors", "kernel", "plan", "datastream", "table"},
    # Snapshots of loops lie in checkpoint folders.
    "iteration": {"common", "checkpoint", "spark", "iteration"},
    # Of the kernel, the identity of keys.
    "dataset": {
        "common",
        "connectors",
        "kernel",
        "spark",
        "iteration",
        "datastream",
        "table",
        "dataset",
    },
    "graph": {"common", "iteration", "datastream", "dataset", "graph"},
    "ml": {"common", "spark", "iteration", "datastream", "table", "dataset", "ml"},
    "dstream": {"common", "connectors", "plan", "spark", "datastream", "dataset", "dstream"},
    "state_processor": {"common", "kernel", "checkpoint", "spark", "state_processor"},
    "cli": {
        "common",
        "metrics",
        "checkpoint",
        "spark",
        "state_processor",
        "datastream",
        "table",
        "cli",
    },
}
MAY_IMPORT_PYSPARK = {"spark", "state_processor"}
# Libraries import it in their folder `spark`, and elsewhere only when it is needed.
LIBRARIES = {"iteration", "dataset", "graph", "ml", "dstream"}
USES_PRIVATE_PYSPARK = SOURCE / "spark/session/jvm.py"
PRIVATE_PYSPARK = re.compile(
    r"\b_(jvm|jsc|jdf|jsparkSession|jschema|jsq|gateway|active_spark_context|instantiatedSession)\b"
)

# The folders of a package, in the order of their imports: a folder imports itself and those before it.
# Modules beside the folders are left out: in datastream and table they are PyFlink's places.
FOLDERS = {
    "kernel": (
        "keys",
        "records",
        "time",
        "state",
        "calls",
        "steps",
        "operators",
        "windows",
        "tables",
        "stages",
        "snapshot",
    ),
    "spark": ("tasks", "session", "io", "savepoint", "query", "job"),
    "table": (
        "sql",
        "types",
        "expressions",
        "functions",
        "logical",
        "catalog",
        "rules",
        "physical",
        "connectors",
        "execution",
        "fluent",
        "environment",
        "outputs",
    ),
    "iteration": ("kernel", "spark"),
    "dataset": ("plan", "kernel", "optimizer", "spark", "operations"),
    "graph": (
        "functions",
        "kernel",
        "loops",
        "drawing",
        "operations",
        "generator",
        "library",
        "asm",
    ),
    "ml": (
        "kernel",
        "frames",
        "spark",
        "util",
        "stages",
        "common",
        "online",
        "core",
        "feature",
        "stats",
        "evaluation",
        "classification",
        "clustering",
        "regression",
        "recommendation",
        "flinkml",
    ),
    "dstream": ("rdd", "spark", "receivers", "inputs", "nodes", "streams", "engine"),
    "datastream": (
        "functions",
        "building",
        "connectors",
        "formats",
        "windowing",
        "joining",
        "streams",
        "environment",
    ),
}


@cache
def imports(path: Path, *, top_level_only: bool = False, at_run_time: bool = False) -> list[str]:
    tree = tree_of(path)
    names: list[str] = []
    for node in tree.body if top_level_only else statements(tree, at_run_time=at_run_time):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # What is imported may be a module itself: from millstream.kernel import windows.
            names += [f"{module_of(node, path)}.{alias.name}" for alias in node.names]
    return names


def module_of(node: ast.ImportFrom, path: Path) -> str:
    """The module from which a statement imports, also if it says so by dots."""
    if not node.level:
        return str(node.module)
    package = ("millstream", *path.relative_to(SOURCE).parent.parts)
    parts = package[: len(package) - node.level + 1]
    return ".".join([*parts, node.module] if node.module else parts)


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
        if name != "millstream.__version__"
    ]
    assert wrong == []


def test_all_layers_have_a_place() -> None:
    assert {layer(path) for path in MODULES} == {"", *ALLOWED}


def test_only_the_runtime_imports_pyspark() -> None:
    """What users call may import it too, when it is needed."""
    wrong = [
        shown(path)
        for path in MODULES
        if layer(path) not in MAY_IMPORT_PYSPARK
        if layer(path) not in LIBRARIES or "spark" not in path.relative_to(SOURCE).parent.parts
        for name in imports(path, top_level_only=layer(path) in {"datastream", *LIBRARIES})
        if name.split(".")[0] == "pyspark"
    ]
    assert wrong == []


def test_one_module_uses_private_attributes_of_pyspark() -> None:
    # Contexts of DStreams say by that name of PySpark's that they have no JVM.
    none = "_jvm: ClassVar[None] = None"
    users = [path for path in MODULES if PRIVATE_PYSPARK.search(path.read_text().replace(none, ""))]
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


def folder_of(parts: Sequence[str]) -> tuple[str, str]:
    """The package and the folder in it: of `kernel/keys/hashing.py`, or of its dotted name."""
    return (parts[0], parts[1]) if len(parts) > 2 else (parts[0], "")


def test_folders_import_earlier_folders_only() -> None:
    wrong = []
    for path in MODULES:
        package, own = folder_of(path.relative_to(SOURCE).parts)
        order = FOLDERS.get(package, ())
        if own not in order:
            continue
        for name in imports(path, at_run_time=True):
            root, *parts = name.split(".")
            own_package = root == "millstream" and parts[:1] == [package]
            if own_package and len(parts) > 1 and parts[1] in order:
                if order.index(parts[1]) > order.index(own):
                    wrong.append(f"{shown(path)} imports {name}")
    assert wrong == []


def test_all_folders_have_a_place_in_the_order() -> None:
    for package, order in FOLDERS.items():
        folders = {p.name for p in (SOURCE / package).iterdir() if (p / "__init__.py").exists()}
        assert folders == set(order)


def test_modules_beside_the_folders_of_tables_are_places_of_pyflink() -> None:
    """What PyFlink does not have lives in a folder, which has a place in the order."""
    names = json.loads((SOURCE.parents[1] / "tests/parity/flink_names.json").read_text())["tables"]
    places = {name.split(".")[2] for name in names if name.count(".") == 2}
    beside = {path.stem for path in (SOURCE / "table").glob("*.py")} - {"__init__"}
    assert beside <= places


def test_folders_of_tables_know_none_of_the_classes_that_users_call() -> None:
    """Else a rule or a connector could depend on the whole environment."""
    above = {path.stem for path in (SOURCE / "table").glob("*.py")} - {"__init__"}
    wrong = [
        f"{shown(path)} imports {name}"
        for path in (SOURCE / "table").rglob("*.py")
        if folder_of(path.relative_to(SOURCE).parts)[1] not in ("", "fluent", "environment")
        for name in imports(path, at_run_time=True)
        if name.startswith("millstream.table.") and name.split(".")[2] in above
    ]
    assert wrong == []


def test_unit_tests_mirror_the_sources() -> None:
    """A test that bears the name of a module is where the module is; folders have the same names."""
    unit = SOURCE.parents[1] / "tests" / "unit"
    places: dict[tuple[str, str], set[Path]] = {}
    for path in MODULES:
        package = path.relative_to(SOURCE).parts[0]
        places.setdefault((package, path.stem), set()).add(path.relative_to(SOURCE).parent)
    wrong = []
    for path in unit.rglob("test_*.py"):
        here = path.relative_to(unit).parent
        if here.parts[:1] == ("tools",):
            continue
        known = places.get((str(here.parts[0]) if here.parts else "", path.stem[5:]), {here})
        if not (SOURCE / here).is_dir() or here not in known:
            wrong.append(str(path.relative_to(unit)))
    assert wrong == []


@pytest.mark.parametrize("package", [*FOLDERS, "plan", "checkpoint", "testing", "cli"])
def test_a_name_means_one_class_in_a_layer(package: str) -> None:
    """A name may come twice only where it is the same thing: in the tree of a statement and in what
    is made of it, and where PyFlink gives the name to a class that users call. Gelly has a package
    ``undirected`` beside each ``directed``, with the same names.
    """
    homes: dict[str, list[str]] = {}
    for path in sorted((SOURCE / package).rglob("*.py")):
        if package == "table" and named_by_others(path):
            continue
        if path.stem == "undirected" and path.with_name("directed.py").exists():
            continue
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(shown(path))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def named_by_others(path: Path) -> bool:
    """Whether a module of tables has names of PyFlink, the words of SQL, or what expressions print."""
    own = path.relative_to(SOURCE / "table")
    return (
        len(own.parts) == 1
        or own.parts[0] in ("sql", "environment", "fluent")
        or own.name in ("data_types.py", "user_classes.py")
    )


def test_modules_are_found() -> None:
    assert SOURCE / "kernel/operators/keyed.py" in MODULES


def test_imports_are_found_however_they_are_written() -> None:
    here = SOURCE / "kernel/keys/hashing.py"
    for text, name in {
        "from millstream import plan": "millstream.plan",
        "from millstream.kernel import windows": "millstream.kernel.windows",
        "from ...plan import graph": "millstream.plan.graph",
        "from .. import windows": "millstream.kernel.windows",
        "from . import encoding": "millstream.kernel.keys.encoding",
    }.items():
        (node,) = ast.parse(text).body
        assert isinstance(node, ast.ImportFrom)
        assert f"{module_of(node, here)}.{node.names[0].name}" == name


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

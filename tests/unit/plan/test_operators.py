"""The table of operators."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import millstream.kernel
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.tables.operator import TableOperator
from millstream.plan.operators import SPECS


def subclasses(cls: type[Any]) -> set[type[Any]]:
    below: list[type[Any]] = cls.__subclasses__()
    return {cls}.union(*(subclasses(sub) for sub in below))


def test_every_operator_of_the_kernel_is_in_the_table() -> None:
    """Missing is a base that no stage runs itself.

    One kind stands for all operators of tables: their specs build them.
    """
    known = {spec.operator for spec in SPECS.values()}
    own = {
        cls
        for cls in subclasses(KeyedOperator)
        if cls.__module__.startswith("millstream.kernel") and not issubclass(cls, TableOperator)
    } | {TableOperator}
    assert {cls.__name__ for cls in own - known} == {"DefaultTriggerOperator"}


def test_layouts_of_kinds_are_those_that_savepoints_have_had() -> None:
    """A layout is a part of the format of savepoints: its name stays."""
    found = {kind: spec.layout for kind, spec in SPECS.items() if spec.layout is not None}
    assert found == {
        "process": "pages",
        "reduce": "reduced values in pages",
        "rolling aggregate of records": "reduced values in pages",
        "co_process": "pages",
        "co_process without key": "pages",
        "broadcast": "pages",
        "broadcast without key": "pages",
        "interval_join": "joined records in pages",
        "aligned window": "windows in pages",
        "session runs": "windows in pages",
        "session window": "windows in pages",
        "window": "windows in pages",
    }


SOURCE = Path(millstream.kernel.__file__).parents[1]
FOLDERS = ("kernel/stages", "kernel/snapshot", "state_processor", "plan", "checkpoint", "spark")
OPEN = [
    path
    for folder in (*FOLDERS, "testing")
    for path in sorted((SOURCE / folder).rglob("*.py"))
    if path.name != "__init__.py"
]


@pytest.mark.parametrize("path", OPEN, ids=lambda path: str(path.relative_to(SOURCE)))
def test_who_runs_and_stores_operators_asks_none_for_its_class(path: Path) -> None:
    """What they have to know of an operator it says itself, see `StageMember` and `OperatorSpec`."""
    asked = [
        ast.unparse(call)
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") in ("isinstance", "issubclass")
        and "Operator" in ast.unparse(call.args[1])
    ]
    assert asked == []

"""The page about Flink's API is what its table says, and the table is right.

It has a row for every public name of Flink's API, names tests that exist, and does not say of
anything that it is here, or is not, against the evidence.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from millstream.datastream.connectors.absent import AbsentClass

ROOT = Path(__file__).parents[2]
NOT_IN_THE_NORMAL_SUITE = {"spark", "parity", "slow"}
# Where classes live that only Java has a module for; those of windows are all in `window`.
JAVA_HOMES = [
    "millstream.datastream",
    "millstream.datastream.window",
    "millstream.common.watermark_strategy",
    "millstream.datastream.joining.streams",
    "millstream.datastream.streams.interval_join",
]


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("flink_parity", ROOT / "tools/flink_parity.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


parity = load_generator()


def test_the_page_is_what_the_generator_makes() -> None:
    assert parity.PAGE.read_text(encoding="utf-8") == parity.render(), (
        "run python tools/flink_parity.py"
    )


def test_every_public_name_of_flink_has_a_row() -> None:
    assert sorted(parity.uncovered()) == []


def test_every_row_is_about_a_name_of_flink() -> None:
    assert sorted(parity.unknown()) == []


def test_a_row_has_one_of_three_answers() -> None:
    for row in parity.rows():
        assert row.status in parity.STATUSES, row
        assert (row.status == "same") == (not row.note), row


@cache
def known_tests(path: Path) -> dict[str, set[str]]:
    """The tests of a file, by what comes after ``::``, each with its markers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    of_all = set().union(*(markers(node) for node in tree.body if isinstance(node, ast.Assign)))
    found: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = of_all | markers(*node.decorator_list)
        elif isinstance(node, ast.ClassDef):
            of_class = of_all | markers(*node.decorator_list)
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    name = f"{node.name}::{method.name}"
                    found[name] = of_class | markers(*method.decorator_list)
    return {
        name: marks for name, marks in found.items() if name.split("::")[-1].startswith("test_")
    }


def markers(*nodes: ast.AST) -> set[str]:
    """The names of ``pytest.mark`` in some code."""
    attributes = [n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Attribute)]
    return {
        attribute.attr
        for attribute in attributes
        if isinstance(attribute.value, ast.Attribute) and attribute.value.attr == "mark"
    }


def parameters_of(test: str) -> set[str]:
    """The ids of a parametrised test of the comparison with Flink."""
    path, _, function = test.partition("::")
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    if function == "test_differs_as_said":
        return set(parity.DIFFERING_NAMES)
    lists = {
        "test_same_as_flink": module.PROGRAMS,
        "test_same_as_flink_sql": module.SQL,
        "test_same_as_flink_java": module.JAVA,
    }
    return set(lists[function]) - set(parity.DIFFERING_NAMES)


def what_is_wrong_with(row: Any) -> str | None:
    """What there is to say against the test that a row names."""
    test, _, parameter = row.test.removesuffix("]").partition("[")
    path, _, name = test.partition("::")
    tests = known_tests(ROOT / path)
    if name not in tests or (parameter and parameter not in parameters_of(test)):
        return f"{row.test} does not exist"
    if row.status == "same" and tests[name] & NOT_IN_THE_NORMAL_SUITE:
        return f"{row.test} is not run by make check"
    return None


def test_the_tests_that_rows_name_exist() -> None:
    tested = [row for row in parity.rows() if row.status != "none"]
    assert len(tested) > 200
    assert [wrong for row in tested if (wrong := what_is_wrong_with(row))] == []


def home_of(module: str, name: str) -> Any:
    """A class of Flink here: in the module that a port makes of its own, None if it is not there."""
    if name in parity.homes():
        return _class_in(parity.homes()[name], name)
    if module:
        return _class_in(ported(module), name)
    places = (_class_in(home, part) for part in (name, name.split(".")[-1]) for home in JAVA_HOMES)
    return next((found for found in places if found is not None), None)


def ported(module: str) -> str:
    return module.replace("pyflink", "millstream", 1)


def _class_in(module: str, name: str) -> Any:
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            if isinstance(found, AbsentClass):
                break
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    # A name that can only be imported is not here.
    return None if isinstance(found, AbsentClass) else found


def test_what_is_said_to_be_here_is_and_nothing_else() -> None:
    wrong = []
    for module, name, member in parity.operations():
        row = parity.row_of(name, member) or parity.row_of(module, parity.ALL)
        here = home_of(module, name)
        is_here = here is not None and (member == parity.ALL or hasattr(here, member))
        if is_here != (row.status != "none"):
            wrong.append(f"{module}:{name}.{member} {'is' if is_here else 'is not'} here")
    assert wrong == []


def test_a_class_said_to_be_elsewhere_is_not_where_flink_has_it() -> None:
    modules = {name: module for module, classes in parity.flink_names().items() for name in classes}
    found = [name for name in parity.homes() if _class_in(ported(modules[name]), name)]
    assert found == []

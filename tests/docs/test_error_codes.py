"""Every error code of the source is on the page of errors, and every code of the page exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.source_trees import tree_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/errors.md"
CODE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")


def codes_in(tree: ast.Module) -> set[str]:
    """The codes that some code gives to errors: the first argument, or ``code=``.

    Errors are made by calls of something named error: ``PlanError``, ``_error``, ``plan_error``.
    """
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    given = (argument for call in _calls(tree) for argument in _code_arguments(call))
    return {
        code for argument in given for code in _texts(argument, constants) if CODE.fullmatch(code)
    }


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if "error" in name.lower():
                yield node


def _code_arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args[:1], *(word.value for word in call.keywords if word.arg == "code")]


def _texts(node: ast.expr, constants: dict[str, ast.expr]) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body, constants)
        yield from _texts(node.orelse, constants)
    elif isinstance(node, ast.Name) and node.id in constants:
        yield from _texts(constants[node.id], {})


@cache
def codes_in_src() -> frozenset[str]:
    return frozenset().union(*(codes_in(tree_of(path)) for path in ROOT.glob("src/**/*.py")))


def documented_codes() -> list[str]:
    """The codes in the first columns of the page's tables, once for each row."""
    rows = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    cells = [row.split("|")[1] for row in rows]
    return [code for cell in cells for code in re.findall(rf"`({CODE.pattern})`", cell)]


def test_codes_are_found_however_they_are_given() -> None:
    source = (
        'A = "NAMED"\n'
        'raise PlanError("PLAIN", "text")\n'
        'raise self.plan_error("ONE" if x else "OTHER", "text")\n'
        "raise EnvironmentSetupError(A, hint='NOT_A_CODE')\n"
        'raise _error("no code", code="WORD")\n'
        'print("NO_ERROR")\n'
    )
    assert codes_in(ast.parse(source)) == {"PLAIN", "ONE", "OTHER", "NAMED", "WORD"}


def test_every_code_is_documented() -> None:
    assert len(codes_in_src()) > 200
    assert sorted(codes_in_src() - set(documented_codes())) == []


def test_every_documented_code_exists() -> None:
    assert sorted(set(documented_codes()) - codes_in_src()) == []


def test_a_code_stands_in_one_row() -> None:
    twice = {code for code in documented_codes() if documented_codes().count(code) > 1}
    assert twice == {"USER_CODE"}, "USER_CODE has a second row for one of its messages"

"""TO_CHANGELOG and FROM_CHANGELOG: columns, arguments, and what is refused."""

from __future__ import annotations

import pytest

from millstream.table.logical.algebra import FromChangelog, Relation, ToChangelog
from millstream.table.sql.errors import SqlError
from tests.support.sql import Tables, bound

CODES = "MAP['c, r', 'INSERT', 'b', 'UPDATE_BEFORE', 'a', 'UPDATE_AFTER', 'd', 'DELETE']"


def tables() -> Tables:
    found = Tables().add("t", "id INT NOT NULL, name STRING", [(1, "ann")])
    return found.add("log", "id INT, op STRING, code INT", [(1, "INSERT", 2)])


def columns(relation: Relation) -> list[str]:
    return [f"{each.name} {each.type}" for each in relation.row_type.fields]


def call(text: str) -> Relation:
    found = bound(f"SELECT * FROM {text}", tables())
    return next(each for each in found.walk() if isinstance(each, ToChangelog | FromChangelog))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("TO_CHANGELOG(input => TABLE t)", ["op STRING", "id INT NOT NULL", "name STRING"]),
        ("TO_CHANGELOG(TABLE t)", ["op STRING", "id INT NOT NULL", "name STRING"]),
        ("to_changelog(TABLE t, DESCRIPTOR(x))", ["x STRING", "id INT NOT NULL", "name STRING"]),
        (
            "TO_CHANGELOG(input => (SELECT id FROM t), op => DEFAULT)",
            ["op STRING", "id INT NOT NULL"],
        ),
        ("FROM_CHANGELOG(input => TABLE log)", ["id INT", "code INT"]),
        (
            f"FROM_CHANGELOG(TABLE t, DESCRIPTOR(name), {CODES})",
            ["id INT NOT NULL"],
        ),
    ],
)
def test_columns(text: str, wanted: list[str]) -> None:
    assert columns(call(text)) == wanted


def test_codes_may_share_a_kind_and_kinds_a_code() -> None:
    to = call(
        "TO_CHANGELOG(TABLE t, op_mapping => MAP['INSERT, UPDATE_AFTER', 'f', 'DELETE', 't'])"
    )
    assert isinstance(to, ToChangelog)
    assert to.codes == (("INSERT", "f"), ("UPDATE_AFTER", "f"), ("DELETE", "t"))
    back = call(f"FROM_CHANGELOG(TABLE log, op_mapping => {CODES})")
    assert isinstance(back, FromChangelog)
    assert back.codes[:2] == (("c", "INSERT"), ("r", "INSERT"))


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("TO_CHANGELOG(op => DESCRIPTOR(x))", "WRONG_ARGUMENTS", "is a table"),
        ("TO_CHANGELOG(TABLE t PARTITION BY id)", "WRONG_ARGUMENTS", "no PARTITION BY"),
        ("TO_CHANGELOG(TABLE t, mapping => 1)", "NAMED_ARGUMENT", "no parameter mapping"),
        ("TO_CHANGELOG(TABLE t, op => DESCRIPTOR(a, b))", "WRONG_ARGUMENTS", "one column"),
        ("TO_CHANGELOG(TABLE t, op => 'x')", "WRONG_ARGUMENTS", "one column"),
        ("TO_CHANGELOG(TABLE t, op_mapping => 'x')", "WRONG_ARGUMENTS", "a MAP of texts"),
        ("TO_CHANGELOG(TABLE t, op_mapping => MAP['a', UPPER('b')])", "WRONG_ARGUMENTS", "texts"),
        ("TO_CHANGELOG(TABLE t, op_mapping => MAP['insert', 'i'])", "WRONG_ARGUMENTS", "'insert'"),
        (
            "TO_CHANGELOG(TABLE t, op_mapping => MAP['INSERT', 'i', 'DELETE, INSERT', 'd'])",
            "WRONG_ARGUMENTS",
            "INSERT twice",
        ),
        ("FROM_CHANGELOG(TABLE t)", "UNKNOWN_COLUMN", "no column op"),
        ("FROM_CHANGELOG(TABLE log, DESCRIPTOR(cod))", "UNKNOWN_COLUMN", "no column cod"),
        ("FROM_CHANGELOG(TABLE log, DESCRIPTOR(code))", "WRONG_ARGUMENTS", "is INT"),
        (
            "FROM_CHANGELOG(TABLE log, op_mapping => MAP['c', 'INSERT', 'r', 'INSERT'])",
            "WRONG_ARGUMENTS",
            "INSERT twice",
        ),
        (
            "FROM_CHANGELOG(TABLE log, op_mapping => MAP['c, d', 'INSERT', 'd', 'DELETE'])",
            "WRONG_ARGUMENTS",
            "'d' twice",
        ),
        (
            "FROM_CHANGELOG(TABLE log, op_mapping => MAP['c', 'INSERT', 'u', 'UPDATE_AFTER'])",
            "WRONG_ARGUMENTS",
            "without UPDATE_BEFORE",
        ),
    ],
)
def test_what_is_refused_says_where_and_what_to_do(text: str, code: str, words: str) -> None:
    with pytest.raises(SqlError) as caught:
        call(text)
    assert caught.value.code == code
    assert words in caught.value.message
    assert caught.value.hint
    assert caught.value.line == 1

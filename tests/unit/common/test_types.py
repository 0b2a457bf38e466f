"""Rows."""

from __future__ import annotations

import copy
import pickle

import pytest

from millstream.common.pickling import dumps_apart, loads_apart
from millstream.common.types import Row, RowKind, like, rows_of


def test_row_by_position() -> None:
    row = Row("a", 1, 2.5)
    assert (row[0], row[-1], row[:2], len(row), list(row)) == ("a", 2.5, ["a", 1], 3, ["a", 1, 2.5])
    row[1] = 7
    assert row[1] == 7


def test_row_by_name() -> None:
    row = Row(name="a", age=1)
    assert (row.name, row["age"], row[1]) == ("a", 1, 1)
    row["age"] = 2
    assert row.age == 2


def test_named_values_keep_their_order() -> None:
    assert list(Row(b=1, a=2)) == [1, 2]
    assert repr(Row(b=1, a=2)) == "Row(b=1, a=2)"


def test_values_and_named_values_do_not_mix() -> None:
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)


def test_unknown_names() -> None:
    row = Row(a=1)
    with pytest.raises(AttributeError):
        _ = row.b
    with pytest.raises(ValueError, match="'b'"):
        _ = row["b"]
    with pytest.raises(AttributeError):
        row.b = 1  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="'a'"):
        _ = Row(1)["a"]
    with pytest.raises(AttributeError):
        _ = Row(1).a


def test_membership_is_of_names_or_else_of_values() -> None:
    assert "a" in Row(a=1) and 1 not in Row(a=1)
    assert 1 in Row(1) and "a" not in Row(1)
    assert "f0" in Row(1) and "f1" not in Row(1)


def test_fields_without_names_answer_to_their_numbers() -> None:
    row = Row(*"abcdefghijkl")
    assert (row.f0, row["f11"]) == ("a", "l")
    row["f1"] = "B"
    assert row.get_fields_by_names(["f2", "f1"]) == ["c", "B"]
    assert Row(1, Row(2)).as_dict(True) == {"f0": 1, "f1": {"f0": 2}}
    with pytest.raises(AttributeError):
        _ = row.f12
    assert Row(1) != Row(f0=1)
    with pytest.raises(AttributeError):
        _ = Row(a=1).f0


def test_rows_of_an_unnamed_type_show_numbers() -> None:
    (row,) = rows_of(None, [[1, "a"]], numbered=True)
    copies = [
        pickle.loads(pickle.dumps(row)),
        copy.deepcopy(row),
        like(row, [1, "a"]),
        *loads_apart(dumps_apart([row, row])),
        loads_apart(dumps_apart([Row(1, "a"), row]))[1],
    ]
    assert {repr(one) for one in [row, *copies]} == {"Row(f0=1, f1='a')"}
    assert all(one == row == Row(1, "a") and hash(one) == hash(row) for one in copies)
    assert repr(loads_apart(dumps_apart([Row(1)]))[0]) == "<Row(1)>"
    row.set_field_names(["n", "s"])
    assert repr(row) == "Row(n=1, s='a')"


def test_row_as_a_class() -> None:
    person = Row("name", "age")
    assert person("x", 1) == Row(name="x", age=1)
    with pytest.raises(ValueError, match="3 values"):
        person(1, 2, 3)


def test_as_dict() -> None:
    row = Row(a=1, b=[Row(c=2)], d={"e": Row(f=3)}, g=Row(h=4))
    assert row.as_dict()["g"] == Row(h=4)
    assert row.as_dict(True) == {"a": 1, "b": [{"c": 2}], "d": {"e": {"f": 3}}, "g": {"h": 4}}


def test_fields_by_names() -> None:
    assert Row(a=1, b=2, c=3).get_fields_by_names(["c", "a"]) == [3, 1]
    assert Row(1, 2).get_fields_by_names(["x", "y"]) == [1, 2]
    with pytest.raises(ValueError, match="'z'"):
        Row(a=1).get_fields_by_names(["z"])


def test_set_field_names() -> None:
    row = Row(1, 2)
    row.set_field_names(["a", "b"])
    assert row == Row(a=1, b=2)
    with pytest.raises(ValueError, match="1 names"):
        row.set_field_names(["a"])


def test_equality_and_hash() -> None:
    assert Row(1, 2) == Row(1, 2) != Row(2, 1)
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1) != Row(b=1)
    assert Row(a=1) != Row(1)
    assert Row(1) != (1,)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)
    assert {Row(1, 2): "x"}[Row(1, 2)] == "x"


def test_row_kind() -> None:
    row = Row(1)
    assert row.get_row_kind() is RowKind.INSERT and row._is_accumulate_msg()
    row.set_row_kind(RowKind.UPDATE_BEFORE)
    assert row.get_row_kind() is RowKind.UPDATE_BEFORE and row._is_retract_msg()
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    assert Row.of_kind(RowKind.DELETE, a=1).a == 1


@pytest.mark.parametrize(
    "row", [Row(), Row(1, "a"), Row(a=1, b=Row(c=2)), Row.of_kind(RowKind.UPDATE_AFTER, a=1)]
)
def test_copies(row: Row) -> None:
    for twin in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
        assert twin == row and twin is not row
        assert twin.get_row_kind() is row.get_row_kind()


def test_copy_does_not_share_its_values() -> None:
    row = Row(a=1)
    twin = copy.copy(row)
    twin["a"] = 2
    assert row.a == 1


def test_repr_without_names() -> None:
    assert repr(Row("a", 1)) == "<Row('a', 1)>"

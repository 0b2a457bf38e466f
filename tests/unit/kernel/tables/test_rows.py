"""Rows of keys as bytes of a page, and back."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import Row, Types
from millstream.common.errors import CheckpointError
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.tables.rows import RowForm, concat_rows, decoded_rows

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
FORM = RowForm(PAIR, KeyColumns((0,), (Types.STRING(),), True))
NAMED = Types.ROW_NAMED(["n", "k", "j"], [Types.LONG(), Types.STRING(), Types.INT()])
BY_TWO = RowForm(NAMED, KeyColumns((1, 2), (Types.STRING(), Types.INT()), False))


@pytest.mark.parametrize(
    ("form", "keys", "values"),
    [
        (FORM, ["a", "b"], [("a", 1), ("b", None)]),
        (FORM, [], []),
        (BY_TWO, [("a", 1), ("a", None)], [Row(n=1, k="a", j=1), Row(n=2, k="a", j=None)]),
    ],
)
def test_rows_come_back_from_their_page(form: RowForm, keys: list[Any], values: list[Any]) -> None:
    page = form.encode(form.rows(keys, values, [True] * len(values)))
    assert decoded_rows(page, "op") == (keys, [stable_hash(key) for key in keys], values)
    assert form.values(form.decode(page, "op")) == values


def test_what_columns_cannot_hold_comes_back_too() -> None:
    values = [("a", 2**70), ("b", 2), ("c", "text")]
    fits = [FORM.holds(value) for value in values]
    assert fits == [False, True, False]
    rows = FORM.rows(["a", "b", "c"], values, fits)
    whole = concat_rows([rows, FORM.rows(["d"], [("d", 4)], [True])])
    page = FORM.encode(whole)
    assert decoded_rows(page, "op")[2] == [*values, ("d", 4)]
    assert FORM.encode(FORM.decode(page, "op")) == page


def test_a_page_of_another_form_is_converted() -> None:
    wide = RowForm(Types.TUPLE([Types.STRING(), Types.BIG_INT()]), FORM.key)
    values = [("a", 2**70), ("b", 7)]
    page = wide.encode(wide.rows(["a", "b"], values, [True, True]))
    rows = FORM.decode(page, "op")
    assert FORM.values(rows) == values
    assert rows.arrays[1].to_pylist() == [None, 7]


def test_another_format_is_refused() -> None:
    page = bytearray(FORM.encode(FORM.rows(["a"], [("a", 1)], [True])))
    page[4] = 9
    with pytest.raises(CheckpointError, match=r"PAGE_FORMAT.*row format 9, this is 1"):
        FORM.decode(bytes(page), "op")

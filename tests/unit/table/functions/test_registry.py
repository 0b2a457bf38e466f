"""Binding of functions: names, arguments, and errors that help."""

from __future__ import annotations

import pytest

from millstream.table.expressions import Literal, kinds
from millstream.table.functions import BindError, bind, lookup


def _text(value: str) -> Literal:
    return Literal(kinds.not_null(kinds.char(len(value))), value)


def test_names_have_no_case() -> None:
    assert lookup("upper") is lookup("UPPER")


def test_unknown_functions_name_similar_ones() -> None:
    with pytest.raises(BindError, match="there is no function uper; similar: UPPER"):
        lookup("uper")


def test_wrong_arguments_show_the_syntax() -> None:
    with pytest.raises(
        BindError, match=r"SUBSTRING\(CHAR\(1\) NOT NULL\).*It is written SUBSTRING"
    ):
        bind("SUBSTRING", [_text("a")])


def test_the_result_is_nullable_if_an_argument_is() -> None:
    assert not bind("CHAR_LENGTH", [_text("a")]).type.nullable
    assert bind("CHAR_LENGTH", [Literal(kinds.STRING, None)]).type.nullable

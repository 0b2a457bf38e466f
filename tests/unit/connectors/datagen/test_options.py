"""Options of Flink's table connector datagen."""

from __future__ import annotations

import datetime as dt

import pytest

from millstream.common import Types
from millstream.common.errors import PlanError
from millstream.connectors.datagen.fields import FieldGenerator
from millstream.connectors.datagen.options import fields_of, number

COLUMNS = {"id": Types.LONG(), "word": Types.STRING(), "at": Types.SQL_TIMESTAMP()}
AT = {"fields.at.min": "2026-01-01T00:00:00", "fields.at.max": "2026-01-02 00:00:00"}


def test_options_mean_what_the_generators_mean() -> None:
    found = fields_of(
        COLUMNS,
        {
            "connector": "datagen",
            "fields.id.kind": "sequence",
            "fields.id.start": "1",
            "fields.id.end": "9",
            "fields.word.length": "3",
            "fields.word.var-len": "true",
            "fields.word.null-rate": "0.5",
            **AT,
        },
    )
    assert found == {
        "id": FieldGenerator.sequence(1, 9),
        "word": FieldGenerator.random(
            Types.STRING(), length=3, variable_length=True, null_rate=0.5
        ),
        "at": FieldGenerator.random(
            Types.SQL_TIMESTAMP(), dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)
        ),
    }


def test_a_column_without_options_is_random() -> None:
    assert fields_of({"word": Types.STRING()}, {}) == {
        "word": FieldGenerator.random(Types.STRING(), length=100)
    }


def test_numbers_of_the_source() -> None:
    assert number({"number-of-rows": "7"}, "number-of-rows") == 7
    assert number({}, "number-of-rows") is None
    with pytest.raises(PlanError, match=r"'7\.5' is no whole number"):
        number({"number-of-rows": "7.5"}, "number-of-rows")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("fields.id.kind", "choice"),
        ("fields.id.kind", "sequence"),
        ("fields.id.start", "1"),
        ("fields.id.min", "one"),
        ("fields.none.min", "1"),
        ("rows", "1"),
        ("fields.word.max-past", "1 d"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(option: str, value: str) -> None:
    with pytest.raises(PlanError, match=r"option 'fields|option 'rows'") as info:
        fields_of(COLUMNS, {**AT, option: value})
    assert info.value.code == "BAD_DATAGEN_OPTION"

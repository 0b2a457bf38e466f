"""Generators of fields: types, bounds, shares, and what cannot be generated."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from millstream.common import Row, Types
from millstream.common.errors import MillstreamError, PlanError, UserCodeError
from millstream.common.typeinfo import TypeInformation, from_arrow
from millstream.connectors.datagen.draws import Draws
from millstream.connectors.datagen.fields import FieldGenerator
from millstream.kernel.records.columns import Columns

BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
MIDNIGHT = dt.datetime(2026, 1, 1)


def values(field: FieldGenerator, rows: int = 2_000, seed: int = 1) -> list[Any]:
    column = field.column(Draws(seed, "field", np.arange(rows)), None)
    assert field.type_info in (from_arrow(column.type), Types.BIG_DEC())
    return Columns(field.type_info, [column]).tolist()


@pytest.mark.parametrize(
    ("type_info", "least", "most"),
    [
        (Types.BYTE(), -3, 3),
        (Types.SHORT(), 0, 5),
        (Types.INT(), 1, 6),
        (Types.LONG(), 10**12, 10**12 + 4),
        (Types.BIG_DEC(), Decimal("0.00"), Decimal("0.04")),
        (Types.SQL_DATE(), dt.date(2026, 2, 27), dt.date(2026, 3, 2)),
        (Types.SQL_TIME(), dt.time(12), dt.time(12, 0, 0, 4_000)),
        (Types.SQL_TIMESTAMP(), MIDNIGHT, MIDNIGHT + dt.timedelta(milliseconds=4)),
    ],
    ids=repr,
)
def test_random_values_reach_both_bounds_and_stay_within(
    type_info: TypeInformation, least: Any, most: Any
) -> None:
    found = values(FieldGenerator.random(type_info, least, most))
    assert (min(found), max(found)) == (least, most)
    counts = Counter(found)
    assert min(counts.values()) > 0.7 * len(found) / len(counts)
    assert all(type_info.check(value) is None for value in found)


@pytest.mark.parametrize("name", ["BYTE", "SHORT", "INT", "LONG", "SQL_TIME", "BOOLEAN"])
def test_types_with_bounds_of_their_own_need_none(name: str) -> None:
    type_info = getattr(Types, name)()
    found = values(FieldGenerator.random(type_info))
    assert len(set(found)) > 1 and all(type_info.check(value) is None for value in found)


def test_random_numbers_with_a_point() -> None:
    found = values(FieldGenerator.random(Types.DOUBLE()))
    assert 0 <= min(found) < 0.01 and 0.99 < max(found) < 1
    wide = values(FieldGenerator.random(Types.DOUBLE(), min=-1.7e308, max=1.7e308))
    assert min(wide) < -1e308 and max(wide) > 1e308
    assert all(Types.FLOAT().check(x) is None for x in values(FieldGenerator.random(Types.FLOAT())))


@pytest.mark.parametrize("length", [1, 5, 16, 33])
def test_texts_and_bytes_have_the_length(length: int) -> None:
    texts = values(FieldGenerator.random(Types.STRING(), length=length), 50)
    assert {len(text) for text in texts} == {length}
    assert set("".join(texts)) <= set("0123456789abcdef")
    assert {len(data) for data in values(FieldGenerator.random(BYTES, length=length), 50)} == {
        length
    }
    some = values(FieldGenerator.random(Types.STRING(), length=length, variable_length=True), 500)
    assert {len(text) for text in some} == set(range(1, length + 1))


def test_choices_come_by_their_weights() -> None:
    counts = Counter(values(FieldGenerator.choice({"view": 9, "buy": 1, "never": 0}), 10_000))
    assert set(counts) == {"view", "buy"} and 850 < counts["buy"] < 1_150
    assert set(values(FieldGenerator.choice([Decimal("0.5"), Decimal(2)]))) == {Decimal("0.5"), 2}
    assert set(values(FieldGenerator.choice([1, 2], [1, 0]))) == {1}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (FieldGenerator.sequence(5, step=2), [5, 7, 9]),
        (FieldGenerator.sequence(1, type_info=Types.STRING()), ["1", "2", "3"]),
        (FieldGenerator.sequence(0, step=-1, type_info=Types.DOUBLE()), [0.0, -1.0, -2.0]),
        (
            FieldGenerator.sequence(MIDNIGHT, step="10 s", type_info=Types.SQL_TIMESTAMP()),
            [MIDNIGHT + dt.timedelta(seconds=s) for s in (0, 10, 20)],
        ),
        (
            FieldGenerator.sequence(
                Decimal("0.1"), step=Decimal("0.05"), type_info=Types.BIG_DEC()
            ),
            [Decimal("0.10"), Decimal("0.15"), Decimal("0.20")],
        ),
        (
            FieldGenerator.sequence(dt.date(2024, 2, 28), type_info=Types.SQL_DATE()),
            [dt.date(2024, 2, 28), dt.date(2024, 2, 29), dt.date(2024, 3, 1)],
        ),
    ],
    ids=["step", "text", "back", "time", "decimal", "date"],
)
def test_sequences(field: FieldGenerator, expected: list[Any]) -> None:
    assert values(field, 3) == expected


@pytest.mark.parametrize(
    ("start", "end", "step", "count"), [(1, 5, 1, 5), (1, 6, 2, 3), (5, 1, -2, 3), (4, 4, 1, 1)]
)
def test_a_sequence_with_an_end_has_a_count(start: int, end: int, step: int, count: int) -> None:
    assert FieldGenerator.sequence(start, end, step=step).count == count


def test_a_sequence_that_passes_its_type_says_so() -> None:
    field = FieldGenerator.sequence(120, type_info=Types.BYTE())
    assert values(field, 8)[-1] == 127
    with pytest.raises(PlanError, match="no BYTE for row 8") as info:
        values(field, 9)
    assert info.value.code == "SEQUENCE_PASSED"


def test_the_null_rate_is_kept_and_leaves_other_values_as_they_are() -> None:
    plain = FieldGenerator.random(Types.INT(), 0, 9)
    found = values(plain.with_null_rate(0.25), 10_000)
    assert 2_300 < found.count(None) < 2_700
    assert all(a in (None, b) for a, b in zip(found, values(plain, 10_000), strict=True))
    assert set(values(plain.with_null_rate(1))) == {None}


def test_an_expression_sees_the_row_so_far() -> None:
    before = Columns(
        Types.ROW_NAMED(["n", "s"], [Types.LONG(), Types.STRING()]),
        [Types.LONG().to_arrow_arrays([1, 2])[0], Types.STRING().to_arrow_arrays(["a", None])[0]],
    )
    seen: list[Row] = []

    def doubled(row: Row) -> int:
        seen.append(row)
        return int(row.n) * 2

    field = FieldGenerator.expression(doubled, Types.LONG())
    assert field.column(Draws(0, "e", np.arange(2)), before).to_pylist() == [2, 4]
    assert seen == [Row(n=1, s="a"), Row(n=2, s=None)]


def test_a_failing_expression_names_the_field_and_the_row() -> None:
    before = Columns(Types.ROW_NAMED(["n"], [Types.LONG()]), Types.LONG().to_arrow_arrays([7]))
    with pytest.raises(UserCodeError, match="field 'e' of the generator") as info:
        FieldGenerator.expression(lambda row: row.n / 0, Types.LONG()).column(
            Draws(0, "e", np.arange(1)), before
        )
    assert "n=7" in str(info.value)
    with pytest.raises(PlanError, match="gives 'x' for Row"):
        FieldGenerator.expression(lambda row: "x", Types.LONG()).column(
            Draws(0, "e", np.arange(1)), before
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda: FieldGenerator.random(Types.INT(), 5, 4),
        lambda: FieldGenerator.random(Types.INT(), 0, 2**31),
        lambda: FieldGenerator.random(Types.INT(), 0.5, 2),
        lambda: FieldGenerator.random(Types.INT(), True, 2),
        lambda: FieldGenerator.random(Types.BIG_DEC()),
        lambda: FieldGenerator.random(Types.BIG_DEC(), "0.001", 1),
        lambda: FieldGenerator.random(Types.SQL_TIMESTAMP(), MIDNIGHT),
        lambda: FieldGenerator.random(Types.DOUBLE(), 0, float("inf")),
        lambda: FieldGenerator.random(Types.STRING(), length=0),
        lambda: FieldGenerator.random(Types.MAP(Types.INT(), Types.INT())),
        lambda: FieldGenerator.random(Types.INT(), null_rate=1.5),
        lambda: FieldGenerator.sequence(1, 5, step=0),
        lambda: FieldGenerator.sequence(5, 1),
        lambda: FieldGenerator.sequence(1, step=0.5),
        lambda: FieldGenerator.choice([]),
        lambda: FieldGenerator.choice("abc"),
        lambda: FieldGenerator.choice(["a", 1]),
        lambda: FieldGenerator.choice([object()]),
        lambda: FieldGenerator.choice(["a"], [1, 2]),
        lambda: FieldGenerator.choice(["a"], [-1]),
        lambda: FieldGenerator.choice(["a"], [0]),
        lambda: FieldGenerator.choice([1], type_info=Types.BIG_INT()),
        lambda: FieldGenerator.expression(7, Types.INT()),  # type: ignore[arg-type]
        lambda: FieldGenerator.expression(len, Types.PICKLED_BYTE_ARRAY()),
    ],
)
def test_what_cannot_be_generated_is_refused_at_the_line(make: Any) -> None:
    with pytest.raises(MillstreamError) as info:
        make()
    assert info.value.code == "BAD_FIELD_GENERATOR"
    assert info.value.hint
    assert info.value.location is not None and info.value.location.file == __file__

"""Data types: what they print, which are found from values, which values they take."""

from __future__ import annotations

import array
import datetime
from decimal import Decimal

from pyflink.common import Row
from pyflink.table import DataTypes, Schema, TableSchema
from pyflink.table.expressions import col

from .showing import failed, final, ordered, shown, typed

ALL = {
    "CHAR": DataTypes.CHAR(3),
    "VARCHAR": DataTypes.VARCHAR(3),
    "STRING": DataTypes.STRING(),
    "BINARY": DataTypes.BINARY(3),
    "VARBINARY": DataTypes.VARBINARY(3),
    "BYTES": DataTypes.BYTES(),
    "BOOLEAN": DataTypes.BOOLEAN(),
    "TINYINT": DataTypes.TINYINT(),
    "SMALLINT": DataTypes.SMALLINT(),
    "INT": DataTypes.INT(),
    "BIGINT": DataTypes.BIGINT(),
    "FLOAT": DataTypes.FLOAT(),
    "DOUBLE": DataTypes.DOUBLE(),
    "DECIMAL": DataTypes.DECIMAL(10, 2),
    "DATE": DataTypes.DATE(),
    "TIME": DataTypes.TIME(),
    "TIMESTAMP": DataTypes.TIMESTAMP(),
    "TIMESTAMP3": DataTypes.TIMESTAMP(3),
    "LTZ": DataTypes.TIMESTAMP_LTZ(3),
    "LOCAL": DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(),
    "ARRAY": DataTypes.ARRAY(DataTypes.INT()),
    "MAP": DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
    "MULTISET": DataTypes.MULTISET(DataTypes.STRING()),
    "ROW": DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())]
    ),
    "NESTED": DataTypes.ROW(
        [
            DataTypes.FIELD(
                "r", DataTypes.ARRAY(DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())]))
            )
        ]
    ),
    "NULL": DataTypes.NULL(),
    "YEARS": DataTypes.INTERVAL(DataTypes.YEAR()),
    "YEAR_TO_MONTH": DataTypes.INTERVAL(DataTypes.YEAR(4), DataTypes.MONTH()),
    "DAYS": DataTypes.INTERVAL(DataTypes.DAY(5), DataTypes.SECOND(3)),
    "SECONDS": DataTypes.INTERVAL(DataTypes.SECOND()),
    "MINUTES": DataTypes.INTERVAL(DataTypes.MINUTE(), DataTypes.SECOND()),
}


def types_printed(t_env):
    return {
        name: [str(kind), repr(kind.not_null()), str(kind.nullable() == kind), kind.type_name()]
        for name, kind in ALL.items()
    }


def types_equal(t_env):
    return [
        DataTypes.INT() == DataTypes.INT(),
        DataTypes.INT() == DataTypes.BIGINT(),
        DataTypes.INT() == DataTypes.INT(False),
        DataTypes.VARCHAR(3) == DataTypes.VARCHAR(4),
        DataTypes.DECIMAL(3, 1) == DataTypes.DECIMAL(3, 1),
        DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
        == DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]),
        DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
        == DataTypes.ROW([DataTypes.FIELD("b", DataTypes.INT())]),
        hash(DataTypes.INT()) == hash(DataTypes.INT()),
        DataTypes.STRING() == DataTypes.VARCHAR(0x7FFFFFFF),
        DataTypes.BYTES() == DataTypes.VARBINARY(0x7FFFFFFF),
        DataTypes.TIMESTAMP() == DataTypes.TIMESTAMP(6),
    ]


def row_types(t_env):
    kind = DataTypes.ROW().add("a", DataTypes.INT()).add("b", DataTypes.STRING())
    return [
        str(kind),
        kind.field_names(),
        [str(each) for each in kind.field_types()],
        len(kind),
        [str(each) for each in kind],
        str(kind["a"]),
        str(kind[1]),
        str(kind[0:1]),
        str(DataTypes.FIELD("a", DataTypes.INT())),
        str(DataTypes.FIELD("a", DataTypes.INT(), "words")),
        failed(lambda: kind["nothing"]),
        failed(lambda: kind[7]),
        kind.names,
        kind.fields[0].name,
    ]


def types_found(t_env):
    class Point:
        def __init__(self):
            self.x, self.y = 1, 2.5

    return [
        typed(t_env.from_elements([(1, "x", 1.5, True, bytearray(b"b"), Decimal("1.5"))])),
        typed(
            t_env.from_elements([(datetime.date(2020, 1, 1), datetime.time(1, 2, 3))], ["d", "t"])
        ),
        typed(t_env.from_elements([([1, 2], {"a": 1.5}, (1, "x"))], ["a", "m", "r"])),
        typed(t_env.from_elements([Row(a=1, b="x"), Row(a=2, b=None)])),
        typed(t_env.from_elements([{"b": 1, "a": "x"}])),
        typed(t_env.from_elements([(1, None), (None, "x")], ["a", "b"])),
        typed(t_env.from_elements([([], 1), ([2], 2)], ["a", "b"])),
        typed(t_env.from_elements([(array.array("d", [1.5, 2.5]),)], ["a"])),
        typed(t_env.from_elements([(1, (2, [3]))], ["a"])),
        failed(lambda: t_env.from_elements([])) is not None,
        failed(lambda: t_env.from_elements([(1,), ("x",)])) is not None,
        failed(lambda: t_env.from_elements([(1,), (1, 2)])) is not None,
        failed(lambda: t_env.from_elements([1, 2])) is not None,
        failed(lambda: t_env.from_elements([(None,)])) is not None,
        failed(lambda: t_env.from_elements([(object(),)])) is not None,
    ]


def elements_with_schemas(t_env):
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.TINYINT()),
            DataTypes.FIELD("b", DataTypes.CHAR(3)),
            DataTypes.FIELD("c", DataTypes.FLOAT()),
        ]
    )
    return [
        typed(t_env.from_elements([(1, "abc", 1.5)], kind)),
        typed(t_env.from_elements([[1, "abc", 1.5]], kind)),
        typed(t_env.from_elements([{"a": 1, "c": 1.5, "b": "abc"}], kind)),
        typed(t_env.from_elements([Row(1, "abc", 1.5)], kind)),
        typed(
            t_env.from_elements(
                [(1,)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT(False))])
            )
        ),
        typed(t_env.from_elements([(1, 2)], ["a"])),
    ]


def wrong_elements(t_env):
    def made(kind, value):
        row = DataTypes.ROW([DataTypes.FIELD("a", kind)])
        return failed(lambda: t_env.from_elements([(value,)], row)) is not None

    return [
        made(DataTypes.INT(), "x"),
        made(DataTypes.INT(), 1.5),
        made(DataTypes.INT(), 2**31),
        made(DataTypes.TINYINT(), 128),
        made(DataTypes.SMALLINT(), -32769),
        made(DataTypes.STRING(), 1),
        made(DataTypes.BOOLEAN(), 1),
        made(DataTypes.INT(), True),
        made(DataTypes.DATE(), "2020-01-01"),
        made(DataTypes.TIMESTAMP(3), datetime.date(2020, 1, 1)),
        made(DataTypes.BYTES(), "x"),
        made(DataTypes.ARRAY(DataTypes.INT()), (1, 2)),
        made(DataTypes.ARRAY(DataTypes.INT()), ["x"]),
        made(DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), {"a": "x"}),
        made(DataTypes.INT(False), None),
        made(DataTypes.STRING(), None),
        made(DataTypes.BYTES(), bytearray(b"x")),
    ]


def elements_of_all_types(t_env):
    kinds = [
        (DataTypes.CHAR(3), "abc"),
        (DataTypes.VARCHAR(5), "ab"),
        (DataTypes.BINARY(2), bytearray(b"ab")),
        (DataTypes.VARBINARY(5), bytearray(b"ab")),
        (DataTypes.TINYINT(), -128),
        (DataTypes.SMALLINT(), 32767),
        (DataTypes.INT(), -(2**31)),
        (DataTypes.BIGINT(), 2**63 - 1),
        (DataTypes.FLOAT(), 0.1),
        (DataTypes.DOUBLE(), 0.1),
        (DataTypes.DOUBLE(), float("nan")),
        (DataTypes.DOUBLE(), float("-inf")),
        (DataTypes.DECIMAL(38, 18), Decimal("1.123456789012345678")),
        (DataTypes.DATE(), datetime.date(1, 1, 1)),
        (DataTypes.TIME(), datetime.time(23, 59, 59)),
        (DataTypes.TIMESTAMP(3), datetime.datetime(2020, 1, 1, 1, 2, 3, 123456)),
        (DataTypes.TIMESTAMP(6), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)),
        (DataTypes.TIMESTAMP_LTZ(3), datetime.datetime(2020, 1, 1)),
        (DataTypes.ARRAY(DataTypes.DECIMAL(5, 2)), [Decimal("1.5"), None]),
        (DataTypes.ARRAY(DataTypes.DATE()), [datetime.date(2020, 1, 1)]),
        (
            DataTypes.MAP(DataTypes.BIGINT(), DataTypes.ARRAY(DataTypes.STRING())),
            {1: ["a"], 2: None},
        ),
        (
            DataTypes.ROW(
                [
                    DataTypes.FIELD("x", DataTypes.TIMESTAMP(3)),
                    DataTypes.FIELD("y", DataTypes.BYTES()),
                ]
            ),
            Row(datetime.datetime(2020, 1, 1), bytearray(b"x")),
        ),
    ]
    schema = DataTypes.ROW([DataTypes.FIELD(f"c{at}", kind) for at, (kind, _) in enumerate(kinds)])
    t = t_env.from_elements([tuple(value for _, value in kinds), (None,) * len(kinds)], schema)
    return typed(t)


def table_schemas(t_env):
    schema = (
        TableSchema.builder().field("a", DataTypes.INT()).field("b", DataTypes.STRING()).build()
    )
    same = TableSchema(["a", "b"], [DataTypes.INT(), DataTypes.STRING()])
    return [
        str(schema),
        repr(schema),
        schema == same,
        schema.get_field_names(),
        schema.get_field_name(1),
        schema.get_field_name(9),
        schema.get_field_count(),
        str(schema.get_field_data_type("a")),
        str(schema.get_field_data_type(1)),
        str(schema.get_field_data_type("z")),
        str(schema.to_row_data_type()),
        schema.copy() == schema,
        [str(each) for each in schema.get_field_data_types()],
    ]


def schemas(t_env):
    built = (
        Schema.new_builder()
        .column("a", DataTypes.INT().not_null())
        .column("b", "STRING")
        .column_by_expression("c", "a + 1")
        .column_by_metadata("d", DataTypes.TIMESTAMP(3), "timestamp", True)
        .column_by_metadata("e", "INT")
        .watermark("d", "d - INTERVAL '5' SECOND")
        .primary_key("a")
        .build()
    )
    named = Schema.new_builder().column("a", "INT NOT NULL").primary_key_named("key", "a").build()
    from_fields = (
        Schema.new_builder().from_fields(["x", "y"], [DataTypes.INT(), DataTypes.BIGINT()]).build()
    )
    from_row = (
        Schema.new_builder()
        .from_row_data_type(DataTypes.ROW([DataTypes.FIELD("z", DataTypes.INT())]))
        .build()
    )
    computed = (
        Schema.new_builder()
        .column("n", DataTypes.BIGINT())
        .column_by_expression("m", col("n") * 2)
        .build()
    )
    return [
        str(built),
        str(named),
        str(from_fields),
        str(from_row),
        built == built,
        str(Schema.new_builder().from_schema(named).build()),
        len(str(computed)) > 0,
    ]


def rows_collected(t_env):
    t = t_env.from_elements(
        [(1, "x", None)],
        DataTypes.ROW(
            [
                DataTypes.FIELD("a", DataTypes.INT()),
                DataTypes.FIELD("b", DataTypes.STRING()),
                DataTypes.FIELD("c", DataTypes.ARRAY(DataTypes.INT())),
            ]
        ),
    )
    with t.execute().collect() as rows:
        found = next(rows)
    return [
        repr(found),
        str(found),
        found.get_row_kind().name,
        shown(found),
        len(found),
        found[1],
        found == Row(1, "x", None),
    ]


def changes_collected(t_env):
    t = t_env.from_elements([("a", 1)], ["k", "v"])
    with t.group_by(t.k).select(t.k, t.v.sum).execute().collect() as rows:
        return [(row.get_row_kind().name, shown(row)) for row in rows]


def collected_in_order(b_env):
    return ordered(b_env.from_elements([(3, "c"), (1, "a"), (2, "b")], ["n", "s"]))


def multisets(t_env):
    t = t_env.from_elements([("a", 1), ("b", 1), ("a", 2)], ["s", "k"])
    return final(t.select(t.s.collect))

"""Who reads files, and why."""

from __future__ import annotations

import pytest

from millstream.connectors.files.choice import reader_of, refusal
from millstream.connectors.files.columns import Column, columns_of

ESCAPE = {"escape": '"'}


@pytest.mark.parametrize(
    ("name", "schema", "options", "reason"),
    [
        ("csv", "s STRING, n BIGINT", {}, None),
        ("csv", "s STRING", {"header": "FALSE", "Delimiter": "|", "pathGlobFilter": "*.csv"}, None),
        ("csv", "s STRING, n BIGINT NOT NULL", {"inferSchema": "true"}, None),
        ("csv", "s STRING, n DECIMAL(10, 2)", {}, "column n is DECIMAL(10,2)"),
        ("csv", "n FLOAT", {}, "column n is FLOAT"),
        ("csv", "n DATE", {}, "column n is DATE"),
        ("csv", "s VARCHAR(3)", {}, "column s is nested or special"),
        ("csv", "s STRING, S STRING", {}, "two columns have one name"),
        ("csv", "n INT, _corrupt_record STRING", {}, "column _corrupt_record"),
        ("csv", "s STRING", {"escape": "\\"}, "quotes in quotes are not doubled: option escape"),
        ("csv", "s STRING", {"sep": "||"}, "option sep"),
        ("csv", "s STRING", {"nullValue": "-"}, "option nullValue"),
        ("csv", "s STRING", {"multiLine": "true"}, "option multiLine"),
        ("csv", "s STRING", {"mode": "DROPMALFORMED"}, "option mode"),
        ("csv", "s STRING", {"header": "maybe"}, "option header"),
        ("csv", "", {}, "there are no columns"),
        ("json", "s STRING, l BIGINT, t BOOLEAN", {"maxFilesPerTrigger": "1"}, None),
        ("json", "t TIMESTAMP", {}, "column t is TIMESTAMP"),
        ("json", "s STRING", {"multiLine": "true"}, "option multiLine"),
        ("parquet", "t TIMESTAMP, d DECIMAL(5), n DATE, b BINARY", {}, None),
        ("orc", "d DECIMAL(5), n DATE, b BINARY", {}, None),
        ("orc", "t TIMESTAMP", {}, "column t is TIMESTAMP"),
        ("text", None, {}, None),
        ("text", None, {"wholetext": "true"}, "option wholetext"),
    ],
)
def test_reasons(
    name: str, schema: str | None, options: dict[str, str], reason: str | None
) -> None:
    options = {**(ESCAPE if name == "csv" else {}), **options}
    columns = columns_of(schema)
    assert refusal("/in", name, options, columns) == reason
    if reason is None:
        assert reader_of(name, options, columns or ()).by_ranges


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("s3a://bucket/in", None),
        ("hdfs:/in", None),
        ("file:///in", None),
        ("ftp://host/in", "Arrow has no file system for ftp:"),
    ],
)
def test_places(path: str, reason: str | None) -> None:
    assert refusal(path, "text", {}, None) == reason


def test_columns_of_ddl() -> None:
    assert columns_of("`a ``b` INT, c: decimal, d DEC(4,2) not null") == (
        Column("a `b", "int"),
        Column("c", "decimal(10,0)"),
        Column("d", "decimal(4,2)"),
    )
    assert columns_of("a ARRAY<INT>") is None

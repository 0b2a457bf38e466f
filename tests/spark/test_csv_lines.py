"""What is read as lines is what Spark's CSV reader reads."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from millstream.common import WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors.file_system import FileSource
from millstream.plan.specs import FilesSpec
from millstream.spark.io import csv_lines as module
from millstream.spark.io.csv_lines import csv_lines
from millstream.spark.io.file_listing import file_channel
from tests.support.spark.spark_support import Collecting

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]

ALL = "s STRING, b TINYINT, h SMALLINT, i INT, l BIGINT, d DOUBLE, t BOOLEAN, z STRING"
NUMBERS = "i INT, d DOUBLE"
TEXT = "s STRING"
CASES = [
    (ALL, True, ","),
    (ALL, False, ";"),
    (NUMBERS, False, ","),
    (NUMBERS, True, ";"),
    (TEXT, False, ","),
    (TEXT, True, "\t"),
]

NASTY = [
    b"a,1,2,3,4,5.5,true,z", b"1,2", b"3,4,5", b"+5,+5", b"-0,-0", b"-,-", b"+,+", b"007,00.5",
    b"1e3,1e3", b"0x1F,0x1F", b"0x1,0x1p3", b" 5,5", b"5 , 5 ", b"5,NaN", b"5,nan", b"5,Inf",
    b"5,-Inf", b"5,+Inf", b"5,inf", b"5,Infinity", b"5,-Infinity", b"5,1d", b"5,1.5f", b"5,1L",
    b"5,.5", b"5,5.", b"5,.", b"5,1e400", b"5,1e-400", b"5,0x1p2000", b"5,1_0", b"1_0,1 0",
    b"99999999999999999999,99999999999999999999", b"2147483647,9007199254740993",
    b"2147483648,4.9e-324", b"-2147483648,2.2250738585072011e-308",
    b"0000000000000000000000000000005,0.1000000000000000055511151231257827",
    b"x,128,32768,2147483648,9223372036854775808,1,tRuE,",
    b"x,-128,-32768,-2147483648,-9223372036854775808,-0,FALSE,",
    b"x,-129,-32769,-2147483649,-9223372036854775809,-0.0,t,", b"x,1,1,1,1,1,1,1",
    b"x,1,1,1,1,1, true,1", b"x,1,1,1,1,1,fal\xc5\xbfe,\xd9\xa1", b"\xd9\xa1\xd9\xa2,\xd9\xa1",
    b"\xf0\x9d\x9f\x8f,\xc2\xa01", b",,,,,,,", b",", b",,", b"a", b"a,b",
    b"1,2,3,4,5,6,true,8,9,10", b'\\,\\', b"a\\,b", b'a\\"b,1', b"#a,1", b"'a,b',1", b"\0", b"\0,1",
    b"a\0b,1\0", b"5,\x001\x01", b"   ", b"", b"\t", b"\t\t", b"\x01\x1f", b"\x0b\x0c", b"\xc2\xa0",
    b"\xe3\x80\x80", b"a\x0bb\x0c,1", b"\xe2\x80\xa8,1\xc2\x85", b"\xef\xbb\xbf5,5",
    b"\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80,1", b"\xff", b"\xff\xfe,1", b"\xed\xa0\x80,1",
    b"\xf0\x9f\x98,1", b"\xc0\x80,\xe2\x82", b"1,\xff1", b'\xff"a,b"\xff', b'"a",1', b'"a,b","1"',
    b'"a""b",1', b'""', b'"",""', b'" "', b'" a ", 1 ', b'"5","5.5"', b'""""', b'"a"b,1', b'"a,1',
    b'a"b",1', b'a "b,c",1', b'"a" ,1', b' "a",1', b'"a\\",1', b'"a\\"b",1', b'",",","', b'"',
    b'""a"",1', b'"a"",1', b'"NaN","NaN"', b'"\0",1', b'"\t",1', b'"#",1',
    b'"x","128","1","1","1","1e400","True"',
]  # fmt: skip


def random_lines(seed: int, characters: str, count: int) -> list[bytes]:
    chosen = random.Random(seed)
    return [
        "".join(chosen.choices(characters, k=chosen.randint(0, 16))).encode() for _ in range(count)
    ]


def number_lines(seed: int, count: int) -> list[bytes]:
    """Lines that mostly are what they should be."""
    chosen = random.Random(seed)
    fields = [
        lambda: chosen.choice(["", "a", "b c", "x", "ä"]),
        lambda: str(chosen.randint(-140, 140)),
        lambda: str(chosen.randint(-40_000, 40_000)),
        lambda: str(chosen.randint(-(2**32), 2**32)),
        lambda: str(chosen.randint(-(2**64), 2**64)),
        lambda: repr(chosen.uniform(-1, 1) * 10.0 ** chosen.randint(-320, 308)),
        lambda: chosen.choice(["true", "false", "True", "", "yes"]),
        lambda: chosen.choice(["", "z"]),
    ]
    return [",".join(field() for field in fields).encode() for _ in range(count)]


def write_files(folder: Path, separator: bytes) -> None:
    """Files with all that is nasty, one kind of nastiness by itself or all at once."""
    folder.mkdir()
    files = {f"nasty-{n}": line + b"\n5,5\n" for n, line in enumerate(NASTY) if n % 6 == 0}
    files |= {
        "nasty": b"\n".join(NASTY),
        "no-quotes": b"\n".join(line for line in NASTY if b'"' not in line),
        "random": b"\n".join(random_lines(1, ',,,;;""" 0123456789+-.eExab\\\t\0äß日', 400)),
        "no-random-quotes": b"\n".join(random_lines(2, ",,,;; 0123456789+-.eExab\\\t\0äß日", 400)),
        "digits": b"\n".join(random_lines(3, ",,0123456789-", 400)),
        "numbers": b"\n".join(number_lines(4, 400)),
        "crlf": b"a,1\r\n1,2\r\n\r\n3,4\r\n",
        "cr": b"a,1\r1,2\r\r3,4",
        "mark": b"\xef\xbb\xbf7,7\n8,8\n",
        "mark-later": b"i,d\n\xef\xbb\xbf7,7\n8,8\n",
        "hexadecimal": b"1,2\n0x11,2\n",
        "blank-first": b"\n \n\t\n1,2\n\n3,4\n",
        "header-only": b"i,d\n",
        "header-only-no-end": b"i,d",
        "blank-only": b"\n  \n\n",
        "quoted-header": b'"i","d"\n1,2\n',
        "empty": b"",
    }
    for name, data in files.items():
        data = data.replace(b",", b"\0\0").replace(separator, b",").replace(b"\0\0", separator)
        (folder / f"{name}.csv").write_bytes(data)
    (folder / "packed.csv.gz").write_bytes(gzip.compress(b"1%b2\n3%b4\n" % (separator, separator)))


@pytest.fixture
def whatever_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_mostly_quoted", lambda spec: False)


def by_spark(spark: SparkSession, spec: FilesSpec) -> list[str]:
    """Rows in the order of channels, as batch mode has it."""
    frame = spark.read.schema(spec.schema).options(**spec.options).csv(spec.path)
    found = frame.select(file_channel(), F.struct("*")).collect()
    return [repr(tuple(row)) for _, row in sorted(found, key=lambda pair: pair[0])]


def collected(env: StreamExecutionEnvironment, *sources: FileSource) -> list[Collecting]:
    sinks = [Collecting() for _ in sources]
    for source, sink in zip(sources, sinks, strict=True):
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
        rows.map(lambda row: repr(tuple(row))).sink_to(sink)
    env.execute()
    return sinks


@pytest.mark.usefixtures("whatever_is_quoted")
def test_rows_are_those_of_sparks_reader(
    spark: SparkSession, make_env: MakeEnv, tmp_path: Path
) -> None:
    sources = []
    for number, (schema, header, separator) in enumerate(CASES):
        folder = tmp_path / str(number)
        write_files(folder, separator.encode())
        sources.append(FileSource.csv(str(folder), schema=schema, header=header, sep=separator))
    # Large files are cut in parts, small ones go together.
    sizes = {"maxPartitionBytes": "10000", "openCostInBytes": "0"}
    env = make_env("batch", {f"spark.sql.files.{name}": size for name, size in sizes.items()})
    for source, sink in zip(sources, collected(env, *sources), strict=True):
        assert csv_lines(spark, source.parts()[0]) is not None
        expected = by_spark(spark, source.parts()[0])
        assert len(expected) > 1000
        assert sink.values == expected


def test_streaming_reads_what_batch_reads(make_env: MakeEnv, tmp_path: Path) -> None:
    for name in ("a", "b"):
        lines = "".join(f'{name}{n},{n}\n"{name},{n}",x\n\n' for n in range(100))
        (tmp_path / f"{name}.csv").write_text("s,n\n" + lines)
    source = FileSource.csv(str(tmp_path), schema="s STRING, n INT")
    (batch,) = collected(make_env("batch"), source)
    (stream,) = collected(make_env("streaming", {"millstream.epoch.max-files": "1"}), source)
    assert len([records for _, records in stream.deliveries if records]) == 2
    assert sorted(stream.values) == sorted(batch.values)
    for name in ("a", "b"):
        own = [value for value in batch.values if value[2] == name]
        assert own[:2] == [f"('{name}0', 0)", f"('{name},0', None)"]
        assert len(own) == 200
        assert own == [value for value in stream.values if value[2] == name]


def test_folders_with_values_are_columns(make_env: MakeEnv, tmp_path: Path) -> None:
    (tmp_path / "day=7").mkdir()
    (tmp_path / "day=7" / "a.csv").write_text("n\n1\n")
    (found,) = collected(make_env("batch"), FileSource.csv(str(tmp_path), schema="n INT"))
    assert found.values == ["(1, 7)"]


@pytest.mark.parametrize(
    ("schema", "options", "fast"),
    [
        ("s STRING, n BIGINT", {}, True),
        ("s STRING, n BIGINT", {"header": "FALSE", "Delimiter": "|", "pathGlobFilter": "*.csv"}, True),
        ("s STRING, n BIGINT NOT NULL", {"inferSchema": "true"}, True),
        ("s STRING, n DECIMAL(10, 2)", {}, False),
        ("s STRING, n FLOAT", {}, False),
        ("s STRING, n DATE", {}, False),
        ("s VARCHAR(3)", {}, False),
        ("s STRING COLLATE UTF8_LCASE", {}, False),
        ("s STRING, S STRING", {}, False),
        ("n INT, _corrupt_record STRING", {}, False),
        ("s STRING", {"escape": "\\"}, False),
        ("s STRING", {"sep": "||"}, False),
        ("s STRING", {"sep": "a"}, False),
        ("s STRING", {"nullValue": "-"}, False),
        ("s STRING", {"multiLine": "true"}, False),
        ("s STRING", {"mode": "DROPMALFORMED"}, False),
        ("s STRING", {"header": "maybe"}, False),
    ],
)  # fmt: skip
def test_what_is_read_as_lines(
    spark: SparkSession, schema: str, options: dict[str, str], fast: bool
) -> None:
    spec = FilesSpec(path="/in", format="csv", options={"escape": '"', **options}, schema=schema)
    assert (csv_lines(spark, spec) is not None) == fast


@pytest.mark.parametrize(
    ("text", "fast"), [('"a",1\nb,2\n"c",3\n', False), ('"a",1\nb,2\nc,3\n', True), ("", True)]
)
def test_files_full_of_quotes_are_left_to_sparks_reader(
    spark: SparkSession, tmp_path: Path, text: str, fast: bool
) -> None:
    (tmp_path / "a.csv").write_text(text)
    for path in (tmp_path, tmp_path / "a.csv"):
        spec = FileSource.csv(str(path), schema="s STRING, n INT").parts()[0]
        assert (csv_lines(spark, spec) is not None) == fast

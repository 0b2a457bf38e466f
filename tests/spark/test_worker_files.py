"""What the workers read is what Spark's readers read."""

from __future__ import annotations

import bz2
import datetime as dt
import decimal
import gzip
import json
import os
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from millstream.common import WatermarkStrategy
from millstream.common.errors import MillstreamError
from millstream.connectors.sink import SinkContext
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors.file_system import FileSource
from tests.support.spark.spark_support import Collecting, cancel, wait_for_job

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


def write_csv(folder: Path, separator: bytes) -> None:
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


JSON = "s STRING, b TINYINT, h SMALLINT, i INT, l BIGINT, d DOUBLE, t BOOLEAN"
NASTY_JSON = [
    b'{"s":"a","i":1,"d":1.5,"t":true}', b' {"s":"a"} ', b"{}", b"[]", b'[{"s":"a"},{"s":"b"}]',
    b'[{"s":"a"},1]', b"[1]", b"1", b'"x"', b"null", b"{", b'{"s":"a"', b'{"s":"a",}', b'{"s":"a"}}',
    b'{"s":"a"}{"s":"b"}', b'{"s":"a"} x', b"{'s':'a\"b'}", b'{s:"a"}', b'{"s":1.50}', b'{"s":true}',
    b'{"s":null}', b'{"s":{"x":1, "y": [1,2 , 3]}}', b'{"s":[1, "a" , null]}', b'{"s":NaN}',
    b'{"s":"\\u00e9\\n\\/\\"\\\\ \xc3\xa9"}', b'{"s":"\\ud83d\\ude00"}', b'{"s":"\\ud83d"}',
    b'{"s":"\\x"}', b'{"s":"a\tb"}', b'{"s":"a\\u0000b"}', b'{"i":"5"}', b'{"i":1.0}', b'{"i":1e3}',
    b'{"i":-0}', b'{"i":+5}', b'{"i":007}', b'{"i":2147483648}', b'{"l":9223372036854775808}',
    b'{"l":"x","s":"kept"}', b'{"b":128,"h":32768}', b'{"b":255}', b'{"b":256}', b'{"d":1}',
    b'{"d":"NaN"}', b'{"d":"INF"}', b'{"d":-INF}', b'{"d":1e400}', b'{"d":.5}', b'{"d":""}',
    b'{"t":"true"}', b'{"s":"a","s":"b"}', b'{"s":"a","s":null}', b'{"i":1,"i":"x"}', b'{"S":"upper"}',
    b'{"\\u0073":"esc"}', b'{"x":{"s":"in"},"s":"out"}', b'{"s":"out","x":01}', b'{"i":5 /* c */}',
    b'{"i":5} // c', b"# comment", b" ", b"", b"\t", b'{"s":"\xff"}', b'{"s":"a\x00b"}', b"\xff",
    b'\xc2\xa0{"s":"a"}', b'{"i":5}\x00', b"{'s':'\\''}", b'{"s":"\\\\\'"}', b'{"s":"\xef\xbf\xbd\\n"}',
    b'{"x":' + b"[" * 998 + b"]" * 998 + b',"s":"a"}', b'{"x":' + b"[" * 999 + b"]" * 999 + b',"s":"a"}',
    b'{"x":' + b"[" * 1000 + b"]" * 1000 + b',"s":"a"}',
    b'[{"x":' + b"[" * 998 + b"]" * 998 + b',"s":"a"}]',
    b'{"d":' + b"1" * 1000 + b"}", b'{"d":' + b"1" * 1001 + b"}", b'{"s":"' + b"x" * 20_000 + b'"}',
    b'{"i":1,"s":"caf\xe9","l":5}', b'{"i":1,"s":"M\xfcller","l":5}', b'{"i":1,"x":"caf\xe9","l":5}',
    b'{"i":1,"s":"a\\x","l":5}', b'{"l":"caf\xe9","i":1}', b'{"i":1,"s":"\\u12","l":5}', b'{"i":5}\xff',
    b'{"i":1,"s":"\xed\xa0\x80","l":5}', b'{"i":1,"s":"\xc3","l":5}', b'{"i":1,"s":"\xf0\x9f","l":5}',
    b'{"i":1,"s":"\xe9', b"{'i':1,'s':'caf\xe9','l':5}", b'{"i":1,"s":"caf\xe9"}', b'{"d":"\xe9","i":1}',
    b'{"d":0.' + b"1" * 999 + b"}", b'{"x":' + b"1" * 1001 + b',"s":"a"}',
]  # fmt: skip


def random_json(seed: int, count: int, *nested: Any) -> list[bytes]:
    """Objects that mostly are what they should be; texts may be other values too."""
    chosen = random.Random(seed)
    makers: dict[str, Callable[[], Any]] = {
        "s": lambda: chosen.choice(["", "ä", 'q"\\', "\u2028", 5, None, *nested]),
        "b": lambda: chosen.randint(-140, 260),
        "h": lambda: chosen.randint(-40_000, 40_000),
        "i": lambda: chosen.choice([chosen.randint(-(2**32), 2**32), 1.5, "7"]),
        "l": lambda: chosen.randint(-(2**64), 2**64),
        "d": lambda: chosen.uniform(-1, 1) * 10.0 ** chosen.randint(-320, 308),
        "t": lambda: chosen.choice([True, False, None]),
        "z": lambda: {"deep": ["x"]},
    }
    lines = []
    for _ in range(count):
        names = chosen.sample(sorted(makers), chosen.randint(0, 8))
        made = {name: makers[name]() for name in names}
        lines.append(json.dumps(made, ensure_ascii=chosen.random() < 0.5).encode())
    return lines


def broken_json(seed: int, count: int) -> list[bytes]:
    """Objects of which some bytes are others.

    What Spark makes of an array that is broken, where a text should be, nobody knows before.
    """
    chosen = random.Random(seed)
    lines = []
    for line in random_json(seed, count):
        data = bytearray(line or b"{}")
        for _ in range(chosen.randint(0, 2)):
            data[chosen.randrange(len(data))] = chosen.choice(b"{}[]\",:'\\ 0eE+-.ntu\xc3")
        lines.append(bytes(data))
    return lines


def write_json(folder: Path) -> None:
    folder.mkdir()
    plain = [json.dumps({"s": f"w{n}", "l": n, "d": n / 7, "t": n % 2 == 0}) for n in range(2000)]
    files = {
        "nasty": b"\n".join(NASTY_JSON),
        "random": b"\n".join(random_json(1, 400, [1, {"a": "b"}])) + b"\n",
        "plain": "\n".join(plain).encode(),
        "crlf": b'{"i":1}\r\n{"i":2}\r{"i":3}',
        "mark": b'\xef\xbb\xbf{"i":7}\n',
        "blank": b"\n \n",
    }
    for name, data in files.items():
        (folder / f"{name}.json").write_bytes(data)
    (folder / "packed.json.gz").write_bytes(gzip.compress(files["random"]))
    (folder.parent / "broken.json").write_bytes(b"\n".join(broken_json(2, 1500)))


def write_text(folder: Path, spark: SparkSession) -> None:
    chosen = random.Random(8)
    lines = "".join(
        chosen.choices(["a", "bc", " ", "\t", "ä", "\n", "\r", "\r\n", "\x0b", "\u2028"], k=30_000)
    )
    numbers = "".join(f"line {n}\n" for n in range(3000)).encode()
    for codec in ("snappy", "lz4", "deflate", "bzip2", "gzip"):
        frame = spark.range(20_000).selectExpr("concat('line ', id) AS value").coalesce(1)
        frame.write.option("compression", codec).text(f"{folder}/{codec}")
    for path in list(folder.glob("*/part-*")):
        path.rename(folder / path.name)
    for path in [entry for entry in folder.iterdir() if entry.is_dir()]:
        for hidden in path.iterdir():
            hidden.unlink()
        path.rmdir()
    files = {
        "ends.txt": lines.encode(),
        "numbers.txt": numbers,
        "mark.txt": b"\xef\xbb\xbfa\nb",
        "mark-only.txt": b"\xef\xbb\xbf",
        "empty.txt": b"",
        "one.txt": b"\n",
        "long.txt": b"x" * 50_000 + b"\r\n" + b"y" * 25_000,
        "twice.txt.gz": gzip.compress(numbers) + gzip.compress(b"again\n"),
        "twice.txt.bz2": bz2.compress(numbers) + bz2.compress(b"again\n"),
        "short.txt.deflate": zlib.compress(b"a\nb\n"),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)


STORED: dict[str, list[Any]] = {
    "s": ["a", None, ""],
    "y": [b"\x00\xff", None, b""],
    "i": [1, None, -(2**31)],
    "l": [2**62, None, 0],
    "f": [1.5, None, -0.0],
    "d": [0.1, None, 1e300],
    "t": [True, None, False],
    "day": [dt.date(2024, 2, 29), None, dt.date(1970, 1, 1)],
    "m": [decimal.Decimal("1.50"), None, decimal.Decimal("-99999999.99")],
}
TYPES = [
    pa.string(), pa.binary(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(),
    pa.date32(), pa.decimal128(10, 2),
]  # fmt: skip
TIMES: dict[str, list[Any]] = {
    "at": [dt.datetime(2024, 2, 29, 12, 0, 0, 1, dt.UTC), None, dt.datetime(1969, 7, 20, tzinfo=dt.UTC)],
    "clock": [dt.datetime(2024, 2, 29, 12, 0, 0, 123_456), None, dt.datetime(1969, 7, 20)],
}  # fmt: skip


def stored_table(*, times: bool) -> pa.Table:
    arrays = [
        pa.array(values * 200, kind) for values, kind in zip(STORED.values(), TYPES, strict=True)
    ]
    table = pa.table(arrays, list(STORED))
    if times:
        table = table.append_column("at", pa.array(TIMES["at"] * 200, pa.timestamp("us", "UTC")))
        table = table.append_column("clock", pa.array(TIMES["clock"] * 200, pa.timestamp("us")))
    return table


def write_parquet(folder: Path, spark: SparkSession) -> None:
    folder.mkdir()
    table = stored_table(times=True)
    pq.write_table(table, folder / "groups.parquet", row_group_size=50)
    pq.write_table(table.slice(0, 0), folder / "none.parquet")
    pq.write_table(table.select(["l", "s"]), folder / "few.parquet", compression="zstd")
    pq.write_table(
        table.rename_columns([n.upper() for n in table.column_names]), folder / "upper.parquet"
    )
    old = table.drop_columns("clock")
    pq.write_table(old, folder / "old-times.parquet", use_deprecated_int96_timestamps=True)
    frame = spark.read.parquet(str(folder / "groups.parquet"))
    frame.coalesce(1).write.parquet(f"{folder}-spark")


def write_orc(folder: Path, spark: SparkSession) -> None:
    (folder.parent / "for-orc").mkdir()
    pq.write_table(stored_table(times=False), folder.parent / "for-orc" / "a.parquet")
    frame = spark.read.parquet(str(folder.parent / "for-orc"))
    frame.coalesce(1).write.orc(str(folder))
    frame.select("s", "l").coalesce(1).write.mode("append").orc(str(folder))


def collected(env: StreamExecutionEnvironment, *sources: FileSource) -> list[list[str]]:
    sinks = [Collecting() for _ in sources]
    for source, sink in zip(sources, sinks, strict=True):
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
        rows.map(lambda row: repr(row) if isinstance(row, str) else repr(tuple(row))).sink_to(sink)
    env.execute()
    return [sink.values for sink in sinks]


BY_SPARK = {"millstream.files.reader": "spark"}
SMALL_SPLITS = {
    "spark.sql.files.maxPartitionBytes": "10000",
    "spark.sql.files.openCostInBytes": "0",
}
STORED_DDL = (
    "s STRING, y BINARY, i INT, l BIGINT, f FLOAT, d DOUBLE, t BOOLEAN, day DATE, m DECIMAL(10, 2)"
)
TIMES_DDL = f"{STORED_DDL}, at TIMESTAMP, clock TIMESTAMP_NTZ"


def all_sources(folder: Path, spark: SparkSession) -> dict[str, FileSource]:
    """Folders with everything that is nasty, and how they are read."""
    found = {}
    for number, (schema, header, separator) in enumerate(CASES):
        place = folder / f"csv-{number}"
        write_csv(place, separator.encode())
        found[f"csv {number}"] = FileSource.csv(
            str(place), schema=schema, header=header, sep=separator
        )
    write_json(folder / "json")
    found["json"] = FileSource.json(str(folder / "json"), schema=JSON)
    found["json broken"] = FileSource.json(str(folder / "broken.json"), schema=JSON)
    found["json text"] = FileSource.json(str(folder / "json"), schema="t STRING, s STRING")
    (folder / "text").mkdir()
    write_text(folder / "text", spark)
    found["text"] = FileSource.text(str(folder / "text"))
    write_parquet(folder / "parquet", spark)
    found["parquet"] = FileSource.parquet(str(folder / "parquet"), schema=TIMES_DDL)
    found["parquet of Spark"] = FileSource.parquet(str(folder / "parquet-spark"))
    wide = "L BIGINT, i BIGINT, f DOUBLE, m DECIMAL(20, 4), missing STRING"
    found["parquet wide"] = FileSource.parquet(str(folder / "parquet"), schema=wide)
    found["parquet nothing"] = FileSource.parquet(str(folder / "parquet"), schema="missing STRING")
    write_orc(folder / "orc", spark)
    found["orc"] = FileSource.orc(str(folder / "orc"), schema=f"{STORED_DDL}, missing STRING")
    found["orc as it is"] = FileSource.orc(str(folder / "orc"))
    return found


def test_records_are_those_of_sparks_readers(
    spark: SparkSession, make_env: MakeEnv, tmp_path: Path
) -> None:
    """In batch mode both readers give the order of channels and positions."""
    sources = all_sources(tmp_path, spark)
    env = make_env("batch", SMALL_SPLITS)
    read_here = collected(env, *sources.values())
    read_by_spark = collected(make_env("batch", {**SMALL_SPLITS, **BY_SPARK}), *sources.values())
    wrong = {}
    for name, ours, sparks in zip(sources, read_here, read_by_spark, strict=True):
        pairs = [pair for pair in zip(ours, sparks, strict=False) if pair[0] != pair[1]]
        if pairs or len(ours) != len(sparks) or len(sparks) < 200:
            wrong[name] = len(ours), len(sparks), pairs[:3]
    assert wrong == {}


def test_streaming_reads_what_batch_reads(make_env: MakeEnv, tmp_path: Path) -> None:
    for name in ("a", "b"):
        lines = "".join(f'{name}{n},{n}\n"{name},{n}",x\n\n' for n in range(100))
        (tmp_path / f"{name}.csv").write_text("s,n\n" + lines)
    source = FileSource.csv(str(tmp_path), schema="s STRING, n INT")
    (batch,) = collected(make_env("batch"), source)
    settings = {"millstream.epoch.max-files": "1", "spark.sql.files.maxPartitionBytes": "500"}
    (stream,) = collected(make_env("streaming", settings), source)
    assert sorted(stream) == sorted(batch)
    for name in ("a", "b"):
        own = [value for value in batch if value[2] == name]
        assert own[:2] == [f"('{name}0', 0)", f"('{name},0', None)"]
        assert len(own) == 200
        assert own == [value for value in stream if value[2] == name]


def test_folders_with_values_are_columns(make_env: MakeEnv, tmp_path: Path) -> None:
    (tmp_path / "day=7").mkdir()
    (tmp_path / "day=7" / "a.csv").write_text("n\n1\n")
    (found,) = collected(make_env("batch"), FileSource.csv(str(tmp_path), schema="n INT"))
    assert found == ["(1, 7)"]


@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_what_cannot_be_read_fails_whoever_reads(
    make_env: MakeEnv, tmp_path: Path, reader: str
) -> None:
    """Errors of Spark's readers are its own; those of the workers name the file."""
    (tmp_path / "no.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "short.txt.gz").write_bytes(gzip.compress(random.Random(1).randbytes(9_999))[:-99])
    pq.write_table(pa.table({"s": ["text"]}), tmp_path / "other.parquet")
    for name, source in {
        "no.parquet": FileSource.parquet(str(tmp_path / "no.parquet"), schema="s STRING"),
        "other.parquet": FileSource.parquet(str(tmp_path / "other.parquet"), schema="s INT"),
        "short.txt.gz": FileSource.text(str(tmp_path / "short.txt.gz")),
    }.items():
        with pytest.raises(Exception, match=name) as caught:
            collected(make_env("batch", {"millstream.files.reader": reader}), source)
        if reader == "auto":
            assert isinstance(caught.value, MillstreamError)
            assert caught.value.code == "SOURCE_FILE_UNREADABLE"


@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_bytes_that_are_no_text(make_env: MakeEnv, tmp_path: Path, reader: str) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\xffb\n")
    env = make_env("batch", {"millstream.files.reader": reader})
    with pytest.raises(Exception, match="Wrapping"):
        collected(env, FileSource.text(str(tmp_path)))


def test_avro_files_with_and_without_a_schema(make_env: MakeEnv, tmp_path: Path) -> None:
    written = {"type": "record", "name": "R", "fields": [
        {"name": "s", "type": ["null", "string"]}, {"name": "n", "type": "int"},
    ]}  # fmt: skip
    files: dict[str, list[tuple[Any, int]]] = {"a": [("x", 1), (None, 2)], "b": [("y", 3)]}
    for name, rows in files.items():
        with (tmp_path / f"{name}.avro").open("wb") as file:
            fastavro.writer(file, written, [{"s": s, "n": n} for s, n in rows])
    wanted = {"type": "record", "name": "R", "fields": [
        {"name": "n", "type": "long"}, {"name": "more", "type": "string", "default": "-"},
    ]}  # fmt: skip
    found, projected = collected(
        make_env("streaming", {"millstream.epoch.max-files": "1"}),
        FileSource.avro(str(tmp_path)),
        FileSource.avro(str(tmp_path), schema=wanted),
    )
    assert sorted(found) == ["('x', 1)", "('y', 3)", "(None, 2)"]
    assert sorted(projected) == ["(1, '-')", "(2, '-')", "(3, '-')"]


def test_a_checkpoint_of_sparks_reader_goes_on(make_env: MakeEnv, tmp_path: Path) -> None:
    """Before the workers read files, all checkpoints were of Spark's readers."""
    (tmp_path / "in").mkdir()
    for number in range(4):
        path = tmp_path / "in" / f"{number}.csv"
        path.write_text(f"s,n\na{number},1\nb{number},2\n")
        os.utime(path, (1_700_000_000 + number,) * 2)

    def run(reader: str, sink: Collecting) -> None:
        settings = {"millstream.epoch.max-files": "1", "millstream.files.reader": reader}
        env = make_env("streaming", settings).set_checkpoint_directory(str(tmp_path / "checkpoint"))
        source = FileSource.csv(str(tmp_path / "in"), schema="s STRING, n INT")
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").uid("rows")
        rows.map(lambda row: row.s).sink_to(sink)
        env.execute()

    with pytest.raises(Exception, match="enough"):
        run("spark", FailingAfter(2))
    later = Collecting()
    run("auto", later)
    assert later.values == ["a2", "b2", "a3", "b3"]


def test_a_savepoint_of_sparks_reader_is_restored(make_env: MakeEnv, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a b.txt").write_text("old\n")

    def start(reader: str, sink: Collecting, saved: str | None) -> Any:
        env = make_env("streaming", {"millstream.files.reader": reader})
        env.set_checkpoint_directory(str(tmp_path / f"checkpoint-{reader}"))
        source = FileSource.text(str(tmp_path / "in"), watch=True)
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").uid("lines")
        lines.sink_to(sink)
        if saved is not None:
            env.restore_from_savepoint(saved)
        return env.execute_async()

    first, later = Collecting(), Collecting()
    client = start("spark", first, None)
    wait_for_job(lambda: first.values, client, "the first line")
    saved = client.stop_with_savepoint(str(tmp_path / "saved"))
    (tmp_path / "in" / "c.txt").write_text("new\n")
    client = start("auto", later, saved)
    wait_for_job(lambda: later.values, client, "the second line")
    cancel(client)
    assert (first.values, later.values) == (["old"], ["new"])


class FailingAfter(Collecting):
    """Fails when it has got the records of some epochs."""

    def __init__(self, epochs: int) -> None:
        super().__init__()
        self.epochs = epochs

    def deliver(self, context: SinkContext, epoch: int, records: list[Any]) -> None:
        if len([delivered for _, delivered in self.deliveries if delivered]) == self.epochs:
            raise RuntimeError("enough")
        super().deliver(context, epoch, records)

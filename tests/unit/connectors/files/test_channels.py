"""Files as channels: the contract, the list that is made once, what is refused."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import CheckpointError, MillstreamError, PlanError
from millstream.connectors import ChannelName, ChannelSource, Chunk
from millstream.connectors.files import channels
from millstream.connectors.files.channels import FileChannels, file_channels
from millstream.connectors.reading import Progress
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import FileSource, HybridSource
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.plan.options import JobOptions
from millstream.testing import CollectSink, LocalJob, run_local
from millstream.testing.connectors import check_source

SCHEMA = "word STRING, n BIGINT"
PAIRS = [(f"w{n}", n) for n in range(30)]
ROWS = [Row(word=word, n=n) for word, n in PAIRS]
AVRO = {
    "type": "record",
    "name": "Word",
    "fields": [{"name": "word", "type": "string"}, {"name": "n", "type": "long"}],
}


def csv_text(pairs: list[tuple[str, int]], end: str = "\n") -> str:
    # Blank lines before the header are no records, wherever an epoch ends.
    return f"\n \nword,n{end}" + "".join(f"{word},{n}{end}" for word, n in pairs)


def write_csv(folder: Path) -> None:
    (folder / "a.csv").write_text(csv_text(PAIRS[:12]))
    (folder / "b.csv").write_bytes(csv_text(PAIRS[12:20], "\r\n").encode())
    (folder / "c.csv.gz").write_bytes(gzip.compress(csv_text(PAIRS[20:]).encode()))
    (folder / "d.csv").write_text("word,n\n")


def write_json(folder: Path) -> None:
    lines = [json.dumps({"word": word, "n": n}) for word, n in PAIRS]
    (folder / "a.json").write_text("\n".join(lines))


def write_parquet(folder: Path) -> None:
    columns = {"word": [word for word, _ in PAIRS], "n": [n for _, n in PAIRS]}
    pq.write_table(pa.table(columns), folder / "a.parquet", row_group_size=7)
    pq.write_table(pa.table(columns).slice(0, 0), folder / "empty.parquet")


def write_orc(folder: Path) -> None:
    columns = {"word": [word for word, _ in PAIRS], "n": [n for _, n in PAIRS]}
    pa.orc.write_table(pa.table(columns), folder / "a.orc")


def write_avro(folder: Path) -> None:
    with open(folder / "a.avro", "wb") as file:
        fastavro.writer(file, AVRO, [{"word": word, "n": n} for word, n in PAIRS])


@pytest.mark.parametrize(
    ("write", "source"),
    [
        (write_csv, lambda path: FileSource.csv(path, schema=SCHEMA)),
        (write_json, lambda path: FileSource.json(path, schema=SCHEMA)),
        (write_parquet, FileSource.parquet),
        (write_orc, lambda path: FileSource.orc(path, schema=SCHEMA)),
        (write_orc, FileSource.orc),
        (write_avro, FileSource.avro),
    ],
    ids=["csv", "json", "parquet", "orc", "orc without a schema", "avro"],
)
def test_every_format_keeps_the_contract(
    write: Callable[[Path], None], source: Callable[[str], FileSource], tmp_path: Path
) -> None:
    write(tmp_path)
    passed = check_source(lambda: source(str(tmp_path)).parts()[0].channels(), expected=ROWS)
    assert "savepoints" in passed
    check_source(lambda: HybridSource(source(str(tmp_path))), expected=ROWS)


def test_text_keeps_the_contract(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\nb\r\nc\rd\n\ne")
    (tmp_path / "b").write_text("".join(f"line {n}\n" for n in range(20)))
    expected = ["a", "b", "c", "d", "", "e", *(f"line {n}" for n in range(20))]
    check_source(lambda: text(tmp_path), expected=expected)


def test_columns_that_arrow_says_too_little_of_are_read_as_objects(tmp_path: Path) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "tags", "type": {"type": "map", "values": "string"}}],
    }
    with open(tmp_path / "a.avro", "wb") as file:
        fastavro.writer(file, schema, [{"tags": {"a": "b"}}] * 3)
    source = FileSource.avro(str(tmp_path)).parts()[0].channels()
    check_source(lambda: source, expected=[Row(tags={"a": "b"})] * 3)


# -- the list is made once -------------------------------------------------------------------------


def text(path: Path) -> FileChannels:
    return file_channels(str(path), "text", {}, None)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("a1\na2\na3\n")
    (tmp_path / "b").write_text("b1\n")
    return tmp_path


def test_files_that_come_later_are_not_read(two: Path) -> None:
    first = Progress(text(two), limit=1).next({})
    (two / "c").write_text("late\n")
    second = Progress(text(two)).next(first)
    assert sorted(second) == [str(two / "a"), str(two / "b")]
    assert [at[0] for at in second.values()] == [9, 3]


def test_files_that_are_read_may_go(two: Path) -> None:
    first = Progress(text(two), limit=1).next({})
    os.remove(two / "b")
    progress = Progress(text(two))
    second = progress.next(first)
    (rest,) = progress.reads(first, second).ranges
    assert rest.channel == str(two / "a") and rest.finished


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda path: os.remove(path), "SOURCE_FILE_GONE.*about to read is gone: .*/a$"),
        (lambda path: path.write_text("other\n"), "SOURCE_FILE_CHANGED.*since the job listed it"),
        (lambda path: os.utime(path, (1, 1)), "SOURCE_FILE_CHANGED"),
    ],
    ids=["gone", "written", "touched"],
)
def test_files_must_stay_as_they_are(two: Path, change: Any, error: str) -> None:
    source = text(two)
    end = source.latest()[str(two / "a")]
    change(two / "a")
    with pytest.raises(MillstreamError, match=f"(?m){error}"):
        list(source.read(str(two / "a"), 0, end))


def test_a_list_of_another_path_is_refused(two: Path, tmp_path: Path) -> None:
    offset = Progress(text(two)).next({})
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(CheckpointError, match=r"FILES_ELSEWHERE.*its source is .*/other now"):
        Progress(text(other)).next(offset)
    # The name of one folder may be the beginning of another one's.
    shorter = Path(str(two)[:-1])
    shorter.mkdir()
    with pytest.raises(CheckpointError, match="FILES_ELSEWHERE"):
        Progress(text(shorter)).next(offset)


def test_files_whose_turn_has_not_come_are_looked_at_again(two: Path) -> None:
    """They were announced with the last records before them, and nothing else is known of them."""
    found = text(two).latest_after({str(two / "a"): 0, str(two / "b"): 0})
    assert [at[0] for at in found.values()] == [9, 3]
    with pytest.raises(MillstreamError, match="SOURCE_FILE_GONE"):
        text(two).latest_after({str(two / "c"): 0})


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no parquet")
    source = file_channels(str(tmp_path), "parquet", {}, SCHEMA)
    with pytest.raises(MillstreamError, match=r"SOURCE_FILE_UNREADABLE.*a\.parquet"):
        source.latest()
    with pytest.raises(MillstreamError, match=r"SOURCE_FILE_UNREADABLE.*a\.parquet"):
        file_channels(str(tmp_path), "parquet", {}, None)


# -- how much an epoch reads -----------------------------------------------------------------------


def test_large_files_are_read_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "EPOCH_BYTES", 200)
    monkeypatch.setattr(channels, "SMALLEST_STEP", 10)
    write_csv(tmp_path)
    progress = Progress(file_channels(str(tmp_path), "csv", {"escape": '"'}, SCHEMA))
    first = progress.next({})
    # 50 bytes of each of four files; what is compressed is read at once.
    read = {os.path.basename(name): (at[0], at[1]) for name, at in first.items()}
    assert read["a.csv"] == (50, 74) and read["b.csv"][0] == 50
    assert read["c.csv.gz"][0] == read["c.csv.gz"][1] and read["d.csv"] == (7, 7)
    rest = progress.reads(first, progress.next(first)).ranges
    assert {os.path.basename(str(one.channel)) for one in rest} == {"a.csv", "b.csv"}


def test_steps_of_parquet_are_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "EPOCH_BYTES", 10)
    monkeypatch.setattr(channels, "SMALLEST_STEP", 10)
    write_parquet(tmp_path)
    progress = Progress(file_channels(str(tmp_path / "a.parquet"), "parquet", {}, SCHEMA))
    offset: dict[str, Any] = {}
    seen = []
    for _ in range(5):
        offset = progress.next(offset)
        seen.append(offset[str(tmp_path / "a.parquet")][0])
    assert seen == [7, 14, 21, 28, 30]


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (lambda path: FileSource.csv(path), "Spark has to find its columns"),
        (lambda path: FileSource.csv(path, schema=SCHEMA, multiLine=True), "option multiLine"),
        (lambda path: FileSource.text(path), None),
        (
            lambda path: FileSource.csv(path, schema=SCHEMA, modifiedAfter="2024-01-01T00:00:00"),
            "option modifiedAfter",
        ),
        (lambda path: FileSource.csv(path, schema="a ARRAY<STRING>"), "Spark has to find"),
        (lambda path: FileSource.parquet(f"{path}/none*"), "no such file or folder"),
        (lambda path: FileSource.text("ftp://host/x"), "no file system for ftp"),
    ],
)
def test_what_only_spark_reads_is_refused(tmp_path: Path, source: Any, reason: str | None) -> None:
    (tmp_path / "a").write_text("x")
    if reason is None:
        assert HybridSource(source(str(tmp_path))).bounded
        return
    with pytest.raises(MillstreamError, match=reason) as info:
        HybridSource(source(str(tmp_path)))
    if isinstance(info.value, PlanError):
        assert info.value.code == "BAD_HYBRID"
        assert info.value.location is not None and info.value.location.file == __file__


# -- before a log ----------------------------------------------------------------------------------


class Log(ChannelSource):
    """Rows that come after the files."""

    bounded = True

    def latest(self) -> dict[ChannelName, int]:
        return {"log": 4}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk([Row(word=f"w{n % 2}", n=n) for n in range(30 + start, 30 + stop)])

    def get_produced_type(self) -> Any:
        return Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])


def windows(folder: Path, env: StreamExecutionEnvironment) -> Any:
    """How many rows each ten milliseconds have: those of files that overlap, and of the log."""
    source = HybridSource(FileSource.csv(str(folder), schema=SCHEMA), Log())
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row.n
    )
    rows = env.from_source(source, strategy, "rows")
    pairs = rows.map(lambda row: ("all", 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
    return pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10)).sum(1)


@pytest.mark.parametrize("epochs", [1, 3, 12, 13, 14])
def test_a_savepoint_before_at_and_after_the_switch(tmp_path: Path, epochs: int) -> None:
    write_csv(tmp_path)
    env = StreamExecutionEnvironment.get_execution_environment()
    windows(tmp_path, env).sink_to(CollectSink()).name("out")
    stopped = LocalJob(env._job_graph(), JobOptions())
    for _ in range(epochs):
        stopped.epoch(1)
    saved = stopped.savepoint()
    (tmp_path / "late.csv").write_text(csv_text([("late", 0)]))
    rest = LocalJob(env._job_graph(), JobOptions(parallelism=3, slots=2), savepoint=saved)
    rest.run_all(2)
    found = [pair[1] for job in (stopped, rest) for pair, _ in job.outputs["out"]]
    assert found == [10, 10, 10, 4]


def test_no_record_of_a_file_or_the_log_is_late(tmp_path: Path) -> None:
    write_csv(tmp_path)
    for epochs in (None, 1, 5):
        found = run_local(lambda env: windows(tmp_path, env), epochs=epochs, batch=False)
        assert [pair[1] for pair in found.values()] == [10, 10, 10, 4]

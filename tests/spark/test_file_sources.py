"""File sources on Spark: what a path may be, for every format and in both modes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.common import WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import FileSource
from tests.support.spark.spark_support import Collecting

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
WORDS = ["to", "be", "or", "not"]
SCHEMA = "word STRING"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for each format, with the words in one file that has a name with a space in it."""
    names = {"text": "a b.txt", "csv": "a b.csv", "json": "a b.json", "parquet": "a b.parquet"}
    files = {kind: tmp_path / kind / name for kind, name in names.items()}
    for file in files.values():
        file.parent.mkdir()
    files["text"].write_text("".join(f"{word}\n" for word in WORDS))
    files["csv"].write_text("word\n" + "".join(f"{word}\n" for word in WORDS))
    files["json"].write_text("".join(f'{{"word": "{word}"}}\n' for word in WORDS))
    pq.write_table(pa.table({"word": WORDS}), files["parquet"])
    return tmp_path


def source_of(kind: str, path: str) -> FileSource:
    if kind == "text":
        return FileSource.text(path)
    made: FileSource = getattr(FileSource, kind)(path, schema=SCHEMA)
    return made


@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize("place", ["file", "folder", "glob"])
def test_a_path_is_a_file_a_folder_or_a_pattern(
    make_env: MakeEnv, folder: Path, place: str, mode: str
) -> None:
    """One job reads all four formats, each in a query of its own."""
    env = make_env(mode)
    sinks = {kind: Collecting() for kind in ("text", "csv", "json", "parquet")}
    for kind, sink in sinks.items():
        (file,) = (folder / kind).iterdir()
        path = {"file": str(file), "folder": str(folder / kind), "glob": f"{folder}/{kind}/a*"}
        source = source_of(kind, path[place])
        words = env.from_source(source, WatermarkStrategy.no_watermarks(), kind)
        words.map(lambda record: record if isinstance(record, str) else record.word).sink_to(sink)
    env.execute()
    assert {kind: sink.values for kind, sink in sinks.items()} == dict.fromkeys(sinks, WORDS)


@pytest.mark.parametrize("name", ["in.txt", "ünï.txt", "100%.txt", "k=v.txt", "a'b,(c)^$.txt"])
def test_a_stream_reads_one_file_and_not_those_beside_it(
    make_env: MakeEnv, tmp_path: Path, name: str
) -> None:
    env, sink = make_env(), Collecting()
    (tmp_path / name).write_text("wanted\n")
    (tmp_path / f"{name}.other").write_text("not wanted\n")
    (tmp_path / f"x{name}").write_text("not wanted\n")
    env.read_text_file(str(tmp_path / name)).sink_to(sink)
    env.execute()
    assert sink.values == ["wanted"]

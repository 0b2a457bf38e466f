"""Input that changes while it is read, a source that never answers, a source that has become shorter."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.common import WatermarkStrategy
from millstream.common.errors import CheckpointError, MillstreamError
from millstream.common.job import JobStatus
from millstream.connectors import ChannelName, ChannelSource, Chunk
from millstream.connectors.sink import SinkContext
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGeneratorSource,
    FileSource,
    RateLimiterStrategy,
)
from tests.support.spark.spark_programs import Count, numbered
from tests.support.spark.spark_support import Collecting, cancel, wait_for_job, wait_until

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]


# -- files that change -----------------------------------------------------------------------------


class ActingOnce(Collecting):
    """Does something when the first records come: within their epoch, before the next is planned."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self.act: Callable[[], object] | None = act

    def deliver(self, context: SinkContext, epoch: int, records: list[Any]) -> None:
        super().deliver(context, epoch, records)
        if records and self.act is not None:
            act, self.act = self.act, None
            act()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of two lines; Spark reads the oldest first."""
    for number in range(3):
        path = tmp_path / f"{number}.txt"
        path.write_text(f"{number}a\n{number}b\n")
        os.utime(path, (1_700_000_000 + number,) * 2)
    return tmp_path


def read(make_env: MakeEnv, folder: Path, act: Callable[[], object], **settings: str) -> list[str]:
    """The lines of a folder, a file an epoch, of which something is changed within the first."""
    env = make_env("streaming", {"millstream.epoch.max-files": "1", **settings})
    sink = ActingOnce(act)
    source = FileSource.text(str(folder))
    env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").sink_to(sink)
    env.execute()
    return sink.values


def test_a_file_that_is_deleted_before_it_is_read_is_an_error(
    make_env: MakeEnv, folder: Path
) -> None:
    """Spark reads the other files and says nothing."""
    with pytest.raises(MillstreamError) as caught:
        read(make_env, folder, (folder / "1.txt").unlink)
    error = caught.value
    assert error.code == "SOURCE_FILE_GONE"
    assert f"{folder}/1.txt" in error.message
    assert error.location is not None
    assert error.location.file == __file__
    assert "ignoreMissingFiles" in (error.hint or "")


def test_a_job_may_go_on_without_files_that_are_gone(make_env: MakeEnv, folder: Path) -> None:
    settings = {"spark.sql.files.ignoreMissingFiles": "true"}
    lines = read(make_env, folder, (folder / "1.txt").unlink, **settings)
    assert lines == ["0a", "0b", "2a", "2b"]


def test_a_file_that_is_renamed_before_it_is_read_is_an_error(
    make_env: MakeEnv, folder: Path
) -> None:
    with pytest.raises(MillstreamError, match="SOURCE_FILE_GONE"):
        read(make_env, folder, lambda: (folder / "1.txt").rename(folder / "9.txt"))


def test_a_file_is_read_as_it_is_when_its_turn_comes_and_only_once(
    make_env: MakeEnv, folder: Path
) -> None:
    """The first file has been read, the second not: both are changed."""

    def change() -> None:
        (folder / "0.txt").write_text("0X\n0Y\n0Z\n")
        with (folder / "1.txt").open("a") as file:
            file.write("1c\n")
        (folder / "2.txt").write_text("2X\n")

    assert read(make_env, folder, change) == ["0a", "0b", "1a", "1b", "1c", "2X"]


def test_a_file_with_another_name_is_another_file(make_env: MakeEnv, folder: Path) -> None:
    lines = read(make_env, folder, lambda: (folder / "0.txt").rename(folder / "9.txt"))
    assert sorted(lines) == ["0a", "0a", "0b", "0b", "1a", "1b", "2a", "2b"]


# -- a source that never answers ---------------------------------------------------------------


class Blocking(ChannelSource):
    """A source that has nothing to say, and does not say so."""

    def __init__(self, where: str, mark: Path) -> None:
        self.where, self.mark = where, str(mark)

    def latest(self) -> dict[ChannelName, None]:
        self._block_if("latest")
        return {0: None}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        self._block_if("read")
        yield Chunk(list(range(start, stop)))

    def _block_if(self, where: str) -> None:
        if where == self.where:
            Path(self.mark).touch()
            while True:
                time.sleep(3_600)  # noqa: TID251


@pytest.mark.parametrize("where", ["read", "latest"])
def test_a_job_whose_source_blocks_can_be_cancelled(
    make_env: MakeEnv, tmp_path: Path, where: str
) -> None:
    env, mark = make_env(), tmp_path / "blocks"
    numbers = env.from_source(Blocking(where, mark), WatermarkStrategy.no_watermarks(), "blocks")
    numbers.key_by(lambda n: n).process(Count()).sink_to(Collecting())
    client = env.execute_async()
    wait_for_job(mark.exists, client, "a source that blocks")
    client.cancel().result(60)
    assert client.get_job_status().result() is JobStatus.CANCELED


# -- a source that has become shorter ------------------------------------------------------------


def counted(env: StreamExecutionEnvironment, folder: Path, number: int, sink: Collecting) -> Any:
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    source = DataGeneratorSource(numbered, number, RateLimiterStrategy.per_checkpoint(4))
    pairs = env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs")
    pairs.key_by(lambda pair: pair[0]).process(Count()).uid("count").sink_to(sink)
    return env.execute_async()


def test_a_job_does_not_wait_for_records_that_are_gone(make_env: MakeEnv, tmp_path: Path) -> None:
    sink = Collecting()
    client = counted(make_env(), tmp_path, 1_000_000, sink)
    wait_for_job(lambda: len(sink.records) >= 12, client, "some epochs")
    cancel(client)
    with pytest.raises(CheckpointError) as caught:
        counted(make_env(), tmp_path, 3, Collecting()).wait(120)
    assert caught.value.code == "SOURCE_SHORTER"
    assert "'pairs' ends at 3 now" in caught.value.message
    assert caught.value.location is not None


# -- who can reach the session -------------------------------------------------------------------


def listening(process: int) -> list[str]:
    """The addresses on which a process waits for connections, as the kernel writes them."""
    sockets = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        if entry.is_symlink() and os.readlink(entry).startswith("socket:["):
            sockets.add(os.readlink(entry)[8:-1])
    found = []
    for table in ("tcp", "tcp6"):
        path = Path(f"/proc/{process}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                found.append(fields[1].rpartition(":")[0])
    return found


LOOPBACK = {
    "0100007F",
    "0000000000000000FFFF00000100007F",
    "00000000000000000000000001000000",
}


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="there is no /proc")
def test_nobody_outside_of_the_machine_can_reach_the_session(spark: Any) -> None:
    jvm = spark.sparkContext._gateway.proc.pid
    found = wait_until(lambda: listening(jvm), "ports of the JVM") + listening(os.getpid())
    assert len(found) >= 2, "the gateway and the block manager"
    assert set(found) <= LOOPBACK

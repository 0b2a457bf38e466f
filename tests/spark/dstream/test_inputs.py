"""Inputs of DStreams side by side with those of PySpark: the same files, the same server."""

from __future__ import annotations

import os
import socket
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.dstream import StreamingContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WAIT = 120
SECONDS: Any = 0.5
LENGTH = 4
LINES = b"to be\r\nor not to be \xff\n\nthat is \xc3\xa4 question"
FILES = {"a.txt": b"one\ntwo\n\nthree", "b.txt": b"", "c.bin": b"abcdefgh", ".hidden": b"never"}


class Seen:
    """The batches with records of each stream, until there are enough records."""

    def __init__(self, **enough: int) -> None:
        self.batches: dict[str, list[list[Any]]] = {name: [] for name in enough}
        self._missing = dict(enough)
        self._change = threading.Condition()

    def attach(self, name: str, stream: Any) -> None:
        def keep(rdd: Any) -> None:
            records = rdd.collect()
            if records:
                with self._change:
                    self.batches[name].append(records)
                    self._missing[name] -= len(records)
                    self._change.notify_all()

        stream.foreachRDD(keep)

    def wait(self) -> None:
        with self._change:
            done = self._change.wait_for(
                lambda: all(left <= 0 for left in self._missing.values()), WAIT
            )
        assert done, self.batches


def serve(listening: socket.socket, done: threading.Event) -> None:
    """Send the lines to two connections, which stay open until the test is done."""
    connections = [listening.accept()[0] for _ in range(2)]
    for connection in connections:
        connection.sendall(LINES + b"\n")
    done.wait(WAIT)
    for connection in connections:
        connection.close()


def test_files_and_sockets_give_the_same(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.streaming import StreamingContext as Theirs

    files, old = tmp_path / "files", tmp_path / "files" / "old.txt"
    files.mkdir()
    old.write_text("there before")
    os.utime(old, (1_000, 1_000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Theirs(spark.sparkContext, SECONDS)
    contexts: dict[str, Any] = {"ours": StreamingContext(None, SECONDS), "spark": theirs}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        done = threading.Event()
        server = threading.Thread(target=serve, args=(listening, done), daemon=True)
        server.start()
        found = {}
        for name, ssc in contexts.items():
            found[name] = seen = Seen(text=5, binary=5, lines=4)
            seen.attach("text", ssc.textFileStream(str(files)))
            seen.attach("binary", ssc.binaryRecordsStream(str(tmp_path / "bin"), LENGTH))
            seen.attach("lines", ssc.socketTextStream("127.0.0.1", listening.getsockname()[1]))
        (tmp_path / "bin").mkdir()
        for ssc in contexts.values():
            ssc.start()
        try:
            for file, content in FILES.items():
                (files / f".{file}.part").write_bytes(content)
                (files / f".{file}.part").rename(files / file)
            (tmp_path / "bin" / "d").write_bytes(b"01234567")
            (tmp_path / "bin" / "e").write_bytes(b"abcdefghijkl")
            for seen in found.values():
                seen.wait()
        finally:
            contexts["ours"].stop()
            theirs.stop(False)
            done.set()
            server.join(WAIT)
    ours, expected = (
        {
            stream: sorted(record for batch in batches for record in batch)
            for stream, batches in found[name].batches.items()
        }
        for name in ("ours", "spark")
    )
    assert ours == expected
    assert ours["text"] == ["", "abcdefgh", "one", "three", "two"]

"""A DStream program that tests kill and start again: it prints each batch as a line of JSON.

python -m tests.support.dstream.killed files|receiver|kafka FOLDER [SERVERS TOPIC]
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

from millstream.dstream import Receiver, SparkContext, StreamingContext

BATCH_SECONDS = 0.1


class Spool(Receiver):
    """Takes the files of a folder, and deletes a file when its records are stored: a reliable source."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = Path(folder)

    def onStart(self) -> None:
        threading.Thread(target=self.receive, daemon=True).start()

    def receive(self) -> None:
        pause = threading.Event()
        while not self.isStopped():
            for path in sorted(self.folder.iterdir()):
                if not path.name.startswith("."):
                    self.store(path.read_text().splitlines())
                    path.unlink()
            pause.wait(0.02)


def show(time: Any, rdd: Any) -> None:
    records = rdd.collect()
    if records:
        print(json.dumps([time.timestamp(), records]), flush=True)


def setup(kind: str, folder: Path, arguments: list[str]) -> StreamingContext:
    """The program: numbers, and how many there were until now."""
    ssc = StreamingContext(SparkContext("local[2]"), BATCH_SECONDS)
    if kind == "kafka":
        from millstream.dstream.kafka import KafkaUtils

        servers, topic = arguments
        params = {"bootstrap.servers": servers, "auto.offset.reset": "earliest"}
        numbers = KafkaUtils.createDirectStream(ssc, [topic], params).map(lambda pair: pair[1])
    elif kind == "receiver":
        numbers = ssc.receiverStream(Spool(str(folder / "in")))
    else:
        numbers = ssc.fileStream(str(folder / "in"), newFilesOnly=False)
    numbers.foreachRDD(show)
    counts = numbers.map(lambda each: ("count", 1)).updateStateByKey(
        lambda values, before: sum(values, before or 0)
    )
    counts.foreachRDD(lambda rdd: _write(folder / "count", dict(rdd.collect()).get("count", 0)))
    return ssc


def _write(path: Path, count: int) -> None:
    working = path.with_suffix(".new")
    working.write_text(str(count))
    working.replace(path)


def main(kind: str, name: str, *arguments: str) -> None:
    folder = Path(name)
    ssc = StreamingContext.getOrCreate(
        str(folder / "checkpoint"), lambda: setup(kind, folder, list(arguments))
    )
    ssc.start()
    ssc.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])

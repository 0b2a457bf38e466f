"""The control channel: the driver's voice in a streaming query.

Commands are small files in a folder beside the checkpoint, read by a streaming file source that is
unioned into the query. Spark's source log says which epoch heard which command, so a replayed epoch
hears exactly what it heard first, after a crash of the driver too. A file holds the rows for all
slots as they are, so no Python process is needed to read it.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pyarrow.fs as pafs

from millstream.checkpoint.durable import make_folder, write_at
from millstream.checkpoint.folder import open_path
from millstream.kernel.stages.programs import control_rows
from millstream.kernel.time.watermarks import Control
from millstream.spark.tasks.named_sources import stream_reader
from millstream.spark.tasks.rows import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEPT_COMMANDS = 100


class ControlChannel:
    """The commands of one query in one run."""

    def __init__(self, path: str, run: str, slots: tuple[int, ...]) -> None:
        self.path = path
        self.run = run
        self.slots = slots
        self.fs, self.folder = open_path(path)
        make_folder(self.fs, self.folder)
        self.count = 0

    def has_spoken(self) -> bool:
        """Whether any run has posted a command, be it heard or not."""
        found = self.fs.get_file_info(pafs.FileSelector(self.folder))
        return any(not info.base_name.startswith(".") for info in found)

    def rows(self, spark: SparkSession) -> DataFrame:
        """The rows the stages get."""
        return stream_reader(spark, "control").format("json").schema(SCHEMA).load(self.path)

    def post(self, control: Control) -> None:
        """Send a message to all slots with the next epoch."""
        lines = [
            json.dumps(
                {
                    "slot": self.slots[row.slot],
                    "kind": row.kind,
                    "tag": row.tag,
                    "header": "",
                    "payload": base64.b64encode(row.payload).decode(),
                }
            )
            for row in control_rows(control, len(self.slots))
        ]
        # Spark writes down that it has heard a command; then the command must be there for good.
        write_at(self.fs, self._name(self.count), "\n".join(lines).encode())
        self.count += 1
        self._forget(self.count - KEPT_COMMANDS)

    def _forget(self, number: int) -> None:
        """Remove a command whose epoch was committed long ago."""
        if number >= 0:
            self.fs.delete_file(self._name(number))

    def _name(self, number: int) -> str:
        return f"{self.folder}/{self.run}-{number:08d}.json"

"""The control source: the driver's voice in a streaming query.

Its commands live in its offsets, so Spark's offset log is their durable copy and a replayed epoch
hears exactly what it heard first. ``latestOffset`` runs in a process of its own beside the driver;
what the driver says after the start reaches it through a mailbox file.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from millstream.kernel.stages import control_rows
from millstream.kernel.time import Control
from millstream.spark.rows import SCHEMA, to_arrow
from millstream.spark.worker import wall_clock_ms

END = "end"
START = "start"
TICK = "tick"


@dataclass(frozen=True)
class ControlSettings:
    """What the source knows from the start of a run."""

    run: str
    announced: tuple[tuple[int, int], ...]
    ends: tuple[int, ...]
    tick_ms: int | None
    mailbox: str
    slots: tuple[int, ...]


class Mailbox:
    """A file that says whether the driver has called for the end."""

    def __init__(self, path: str) -> None:
        self.path = path

    @staticmethod
    def create() -> Mailbox:
        handle, path = tempfile.mkstemp(prefix="millstream-mailbox-")
        os.close(handle)
        return Mailbox(path)

    def post(self, command: str) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(command)

    def read(self) -> str:
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def remove(self) -> None:
        if os.path.exists(self.path):
            os.remove(self.path)


class ControlReader(DataSourceStreamReader):
    """Offsets are {"n", "run", "ended", "at", "commands"}."""

    def __init__(self, settings: ControlSettings) -> None:
        self._settings = settings
        self._mailbox = Mailbox(settings.mailbox)

    def initialOffset(self) -> dict[str, Any]:
        return {"n": 0, "run": "", "ended": False, "at": 0, "commands": []}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        command = self._next_command(start)
        if command is None:
            return start
        return {
            "n": start["n"] + 1,
            "run": self._settings.run,
            "ended": start["ended"] or command["type"] == END,
            "at": wall_clock_ms(),
            "commands": [command],
        }

    def _next_command(self, start: dict[str, Any]) -> dict[str, Any] | None:
        settings = self._settings
        if start["run"] != settings.run:
            return {"type": START, "announced": settings.announced}
        if start["ended"]:
            return None
        if self._mailbox.read() == END:
            return {"type": END, "timelines": settings.ends}
        if settings.tick_ms is not None and wall_clock_ms() - start["at"] >= settings.tick_ms:
            return {"type": TICK}
        return None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(json.dumps(end["commands"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for command in json.loads(partition.value):
            rows = control_rows(to_control(command), len(self._settings.slots))
            yield from to_arrow(rows, self._settings.slots)

    def commit(self, end: dict[str, Any]) -> None:
        pass


def to_control(command: dict[str, Any]) -> Control:
    """The message that a command is to the stages."""
    if command["type"] == START:
        announced = tuple((timeline, channel) for timeline, channel in command["announced"])
        return Control(started=True, announced=announced)
    if command["type"] == END:
        return Control(ended=frozenset(command["timelines"]))
    return Control()


class ControlSource(DataSource):
    """Registered once; the settings of a run come as an option."""

    @classmethod
    def name(cls) -> str:
        return "millstream_control"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> ControlReader:
        fields = json.loads(self.options["settings"])
        fields["announced"] = tuple((t, c) for t, c in fields["announced"])
        fields["ends"], fields["slots"] = tuple(fields["ends"]), tuple(fields["slots"])
        return ControlReader(ControlSettings(**fields))


def settings_option(settings: ControlSettings) -> str:
    """The settings as an option string."""
    return json.dumps(asdict(settings))


def is_control_offset(offset: Any) -> bool:
    """Whether an offset in a progress report is this source's; Spark does not name Python sources."""
    return isinstance(offset, dict) and "commands" in offset and "ended" in offset

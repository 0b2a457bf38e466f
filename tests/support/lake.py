"""Sinks of tables, driven by hand: attempts of drivers and tasks, in any order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.common import Types
from millstream.common.typeinfo import TypeInformation
from millstream.connectors import PartContext, SinkContext, TwoPhaseSink
from millstream.kernel.records.columns import record_batch

PAIRS = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


@dataclass
class Attempt:
    """One attempt to run a job that writes to a sink."""

    sink: TwoPhaseSink
    number: int = 1
    job: str = "job"
    type_info: TypeInformation = PAIRS
    tasks: int = 0

    def __post_init__(self) -> None:
        self.context = SinkContext(
            job_id=self.job,
            sink="out",
            attempt=self.number,
            name="out",
            type_info=self.type_info,
        )
        self.committer = self.sink.open_committer(self.context)

    def recover(self) -> Attempt:
        self.last = self.committer.recover()
        return self

    def stage(self, epoch: int, rows: Iterable[Any], part: int = 0) -> Any:
        """Let a task write a part."""
        self.tasks += 1
        context = PartContext(**vars(self.context), epoch=epoch, part=part, task_attempt=self.tasks)
        writer = self.sink.open_part(context)
        try:
            takes_columns = self.sink.takes_columns
            writer.write(record_batch(list(rows), self.type_info) if takes_columns else list(rows))
            return writer.finish()
        finally:
            writer.close()

    def write(self, epoch: int, *parts: Iterable[Any]) -> None:
        """Write an epoch from beginning to end."""
        staged = [self.stage(epoch, rows, number) for number, rows in enumerate(parts)]
        self.committer.commit(epoch, staged)


def parquet_files(folder: Path) -> list[Path]:
    """All Parquet files below a folder."""
    return sorted(folder.rglob("*.parquet"))

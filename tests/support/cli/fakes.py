"""Jobs that exist only in the registry's answers, and savepoints that exist nowhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from millstream.checkpoint.registry import JobRecord

Run = Callable[..., tuple[int, str, str]]
Json = Callable[..., tuple[int, Any]]


def make_record(number: int = 1, **changes: Any) -> JobRecord:
    """A job that runs."""
    fields: dict[str, Any] = {
        "name": f"job-{number}",
        "job_id": f"{number:x}" * 32,
        "status": "RUNNING",
        "epoch": 7,
        "records_in": 12_000,
        "records_out": 300,
        "watermark": None,
        "started_ms": 1_700_000_000_000 + number,
        "updated_ms": 1_700_000_060_000,
        "pid": 4000 + number,
        "host": "here",
        "command": None,
        "error": None,
        "restarts": 0,
        "parallelism": 2,
        "ui": None,
        "path": f"/jobs/{number}/000001",
        "directory": f"/jobs/{number}",
        "alive": True,
    }
    return JobRecord(**{**fields, **changes})


@dataclass
class Registry:
    """The jobs there are, and what they were asked."""

    jobs: list[JobRecord] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    requests: list[tuple[str, str, str | None, bool]] = field(default_factory=list)
    on_request: Callable[[], object] = lambda: None
    watched: dict[str, bool] = field(default_factory=dict)
    """By the path of a run: what a watch of its lease finds, if that is not what one look says."""

    def find_jobs(self, root: str) -> list[JobRecord]:
        self.roots.append(root)
        below = [one for one in self.jobs if f"{one.directory}/".startswith(f"{root}/")]
        return below if root.startswith("/jobs/") else list(self.jobs)

    def lives(self, record: JobRecord, watch: object) -> bool:
        alive = any(one.alive for one in self.jobs if one.path == record.path)
        return self.watched.get(record.path, alive)

    def known(self, record: JobRecord) -> JobRecord:
        return replace(record, alive=self.lives(record, None))

    def request(
        self,
        record: JobRecord,
        command: str,
        path: str | None = None,
        drain: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> str | None:
        self.requests.append((record.job_id, command, path, drain))
        if on_progress is not None:
            on_progress(1, 2)
        self.on_request()
        return None if command == "cancel" else path or "/sp/default"


@dataclass
class Savepoints:
    """The functions on savepoints; `calls` has what they were asked."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    manifest: dict[str, Any] = field(default_factory=dict)
    epochs: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    differences: list[dict[str, Any]] = field(default_factory=list)

    def describe(self, path: str) -> dict[str, Any]:
        self.calls.append(("describe", path))
        return self.manifest

    def dispose(self, path: str) -> None:
        self.calls.append(("dispose", path))

    def take_offline(
        self,
        spark: Any,
        run_directory: str,
        path: str,
        epoch: int | None = None,
        on_progress: Any = None,
    ) -> str:
        self.calls.append(("take_offline", spark, run_directory, path, epoch))
        on_progress(2, 2)
        return path

    def retained(self, run_directory: str) -> list[dict[str, Any]]:
        self.calls.append(("retained", run_directory))
        return self.epochs

    def load(self, spark: Any, path: str, trusted: bool | None = None) -> Any:
        self.calls.append(("load", spark, path, trusted))
        return SimpleNamespace(state=self._read)

    def _read(self, uid: str, name: str) -> Any:
        self.calls.append(("read", uid, name))
        return Frame(self.rows)

    def diff(self, spark: Any, left: str, right: str, trusted: bool | None) -> list[dict[str, Any]]:
        self.calls.append(("diff", spark, left, right, trusted))
        return self.differences


@dataclass
class Frame:
    """As much of a DataFrame as the commands use."""

    rows: list[dict[str, Any]]

    @property
    def columns(self) -> list[str]:
        return list(self.rows[0])

    def limit(self, number: int) -> Frame:
        return Frame(self.rows[:number])

    def collect(self) -> list[Any]:
        return [SimpleNamespace(asDict=lambda recursive, row=row: row) for row in self.rows]

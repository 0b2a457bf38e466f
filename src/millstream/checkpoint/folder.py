"""The checkpoint folder of a job: numbered runs, each with a manifest beside Spark's own files.

``<directory>/<run>/job.json`` says which program wrote the run; ``FINISHED`` marks a run whose input
has ended: a job resumes only an unfinished run, else it begins the next one.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass
from typing import Any

import pyarrow.fs as pafs

from millstream.common.errors import CheckpointError

FORMAT = 1


def open_path(path: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URI, and the path within it.

    A relative path is the driver's: tasks and the JVM have working directories of their own.
    """
    if "://" in path:
        fs, inner = pafs.FileSystem.from_uri(path)
        return fs, inner
    return pafs.LocalFileSystem(), os.path.abspath(path.removeprefix("file:"))


@dataclass(frozen=True)
class Run:
    """One run of a job under its checkpoint directory."""

    path: str
    job_id: str
    resumed: bool

    @property
    def is_local(self) -> bool:
        """Whether it lies on a disk of this machine."""
        return isinstance(open_path(self.path)[0], pafs.LocalFileSystem)

    def query_path(self, component: int) -> str:
        """Where Spark keeps the checkpoint of a component's query."""
        return f"{self.path}/query-{component}"


class CheckpointFolder:
    """Finds or makes the run to work in."""

    def __init__(self, directory: str) -> None:
        self.directory = directory.rstrip("/")
        self.fs, self.inner = open_path(self.directory)

    def open_run(self, manifest: dict[str, Any]) -> Run:
        """The unfinished run to resume, if its program fits this one; else a new run."""
        numbers = self._runs()
        if numbers:
            last = numbers[-1]
            if not self._exists(f"{last}/FINISHED") and self._exists(f"{last}/job.json"):
                stored = json.loads(self._read(f"{last}/job.json"))
                self._check(stored, manifest, last)
                return Run(f"{self.directory}/{last}", stored["job_id"], resumed=True)
        name = f"{len(numbers) + 1:06d}"
        job_id = uuid.uuid4().hex
        self.fs.create_dir(f"{self.inner}/{name}", recursive=True)
        content = {"format": FORMAT, "job_id": job_id, **manifest}
        self._write(f"{name}/job.json", json.dumps(content, indent=2))
        return Run(f"{self.directory}/{name}", job_id, resumed=False)

    def finish(self, run: Run) -> None:
        """Mark a run as one whose input has ended."""
        self._write(f"{run.path.rsplit('/', 1)[1]}/FINISHED", "")

    def _runs(self) -> list[str]:
        if not self._exists(""):
            return []
        found = self.fs.get_file_info(pafs.FileSelector(self.inner))
        return sorted(info.base_name for info in found if info.base_name.isdigit())

    def _check(self, stored: dict[str, Any], manifest: dict[str, Any], run: str) -> None:
        if stored.get("format") != FORMAT:
            raise CheckpointError(
                "MANIFEST_FORMAT",
                f"{self.directory}/{run} has manifest format {stored.get('format')}, "
                f"this is {FORMAT}",
                hint="run it with the Millstream version that wrote it",
            )
        differences = describe_difference(stored["operators"], manifest["operators"])
        if stored["slots"] != manifest["slots"]:
            differences.append(f"slots: {stored['slots']} -> {manifest['slots']}")
        if stored["parallelism"] != manifest["parallelism"]:
            differences.append(f"parallelism: {stored['parallelism']} -> {manifest['parallelism']}")
        if stored["mode"] != manifest["mode"]:
            differences.append(f"channel order: {stored['mode']} -> {manifest['mode']}")
        if differences:
            raise CheckpointError(
                "CHECKPOINT_MISMATCH",
                f"the program does not fit the unfinished checkpoint {self.directory}/{run}:\n  "
                + "\n  ".join(differences),
                hint="undo the change, or choose another checkpoint directory, "
                "or remove this one to begin anew",
            )

    def _exists(self, name: str) -> bool:
        path = f"{self.inner}/{name}" if name else self.inner
        return bool(self.fs.get_file_info(path).type != pafs.FileType.NotFound)

    def _read(self, name: str) -> str:
        with self.fs.open_input_stream(f"{self.inner}/{name}") as stream:
            return bytes(stream.read()).decode()

    def _write(self, name: str, text: str) -> None:
        """Write a file in one step: readers see all of it or nothing."""
        path = f"{self.inner}/{name}"
        with self.fs.open_output_stream(f"{path}.tmp") as stream:
            stream.write(text.encode())
        self.fs.move(f"{path}.tmp", path)


def describe_difference(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    """What has changed between two lists of operators, a line each.

    Examples
    --------
    >>> describe_difference([{"uid": "a", "kind": "map"}], [{"uid": "b", "kind": "map"}])
    ["- operator 'a' (map) is gone", "+ operator 'b' (map) is new"]
    """
    before = {operator["uid"]: operator for operator in old}
    after = {operator["uid"]: operator for operator in new}
    lines = [f"- operator {uid!r} ({before[uid]['kind']}) is gone" for uid in before.keys() - after]
    lines += [f"+ operator {uid!r} ({after[uid]['kind']}) is new" for uid in after.keys() - before]
    for uid in before.keys() & after.keys():
        for name in sorted(before[uid].keys() | after[uid].keys()):
            was, now = before[uid].get(name), after[uid].get(name)
            if was != now:
                lines.append(f"~ operator {uid!r}: {name} {was} -> {now}")
    return sorted(lines, key=lambda line: line[2:])

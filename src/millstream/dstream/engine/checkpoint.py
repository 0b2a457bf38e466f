"""Checkpoints of a streaming context: its program, the batch log, state, and what is done.

In the folder are

- ``program.pickle``: the nodes with the user's functions;
- ``program.json``: facts that rebuilt code must agree with;
- ``batches/``: the batch log. What a batch has taken is written before the batch is processed;
- ``state/``: snapshots of all state after a batch: files of nodes, and a manifest that names them;
- ``done.json``: the last batch whose outputs have run;
- ``inputs/``: what inputs keep, such as the blocks of receivers.

After a crash state is that of the newest snapshot. The batch log brings it up to the last done batch,
without running outputs; the outputs of all later batches run.
"""

from __future__ import annotations

import fcntl
import json
import pickle
import shutil
from pathlib import Path
from typing import IO, Any, Self

from millstream.common.errors import CheckpointError, user_location
from millstream.common.paths import local_path
from millstream.common.pickling import dumps
from millstream.dstream.errors import call_error
from millstream.dstream.nodes import Graph, StatefulNode
from millstream.dstream.receivers.write_ahead_log import WriteAheadLog, durable_write

__all__ = ["Checkpoint"]

_PROGRAM, _FACTS, _DONE = "program.pickle", "program.json", "done.json"
_OURS = (_PROGRAM, _FACTS, _DONE, "batches", "state", "inputs")
_LOCK = "lock"
_FORMAT = 2
_SNAPSHOT_MS = 10_000
_MANIFESTS = 2


class Checkpoint:
    """The checkpoint folder of one context.

    Parameters
    ----------
    folder : str
        A folder of this machine, or one that is mounted.
    """

    def __init__(self, folder: str) -> None:
        local = local_path(folder)
        if local is None:
            raise call_error(
                "DSTREAM_CHECKPOINT_REMOTE",
                f"the checkpoint of a StreamingContext cannot be at {folder}",
                "use a folder of this machine, or one that is mounted here",
            )
        self._folder = Path(local)
        self.snapshot_ms: int | None = None
        self.recovers = False
        self._program: bytes | None = None
        self._log: WriteAheadLog | None = None
        self._numbers: dict[int, int] = {}  # of the blocks of batches, by their time
        self._done_ms = 0
        self._snapshots: list[dict[str, Any]] = []
        self._lock: IO[bytes] | None = None

    @property
    def path(self) -> str:
        """The folder."""
        return str(self._folder)

    def made(self) -> Self:
        """The checkpoint, with its folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def exists(self) -> bool:
        """Whether there is a program to go on with."""
        return (self._folder / _PROGRAM).exists()

    def facts(self) -> dict[str, Any]:
        """Properties of the program in the folder: its times, context, inputs and state."""
        found: dict[str, Any] = json.loads((self._folder / _FACTS).read_bytes())
        if found["format"] != _FORMAT:
            raise self._damaged(f"its format is {found['format']}, not {_FORMAT}")
        return found

    def read_program(self) -> bytes:
        """The program in the folder."""
        return (self._folder / _PROGRAM).read_bytes()

    def write_program(self, graph: Graph, program: bytes, context: dict[str, Any]) -> None:
        """Make this the program of the folder. One that does not recover begins again."""
        self.made()._take_lock()
        if not self.recovers:
            self._clear()
        facts = {
            "format": _FORMAT,
            "zero_ms": graph.zero_ms,
            "batch_ms": graph.batch_ms,
            "context": context,
            **shape(graph),
        }
        # The program says that there is a checkpoint, so it comes last.
        durable_write(self._folder / _FACTS, json.dumps(facts).encode())
        durable_write(self._folder / _PROGRAM, program)

    def _take_lock(self) -> None:
        """Keep others away; the system gives the lock back when the process dies."""
        lock = open(self._folder / _LOCK, "wb")  # noqa: SIM115
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise CheckpointError(
                "DSTREAM_CHECKPOINT_IN_USE",
                f"another context uses the checkpoint at {self._folder}",
                location=user_location(),
                hint="stop it first, or give this one another folder",
            ) from error
        self._lock = lock

    def _clear(self) -> None:
        for name in _OURS:
            path = self._folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def folder_of_input(self, number: int) -> str:
        """A folder for what an input keeps."""
        return str(self._folder / "inputs" / str(number))

    # Recovery.

    def begin(self, graph: Graph) -> list[int]:
        """Open the log, and bring state to the last done batch; the batches to run again."""
        assert graph.zero_ms is not None
        (self._folder / "state").mkdir(parents=True, exist_ok=True)
        self._log = WriteAheadLog(str(self._folder / "batches"))
        self._done_ms = graph.zero_ms
        for block in self._log.blocks():
            time_ms, taken = pickle.loads(block.read())
            graph.taken[time_ms] = taken
            self._numbers[time_ms] = block.number
            for source, each in zip(graph.inputs, taken, strict=True):
                source.restore(each, time_ms)
        self._load_state(graph)
        done = self._folder / _DONE
        if done.exists():
            self._done_ms = max(self._done_ms, int(json.loads(done.read_bytes())["time_ms"]))
        since = self._snapshots[-1]["time_ms"] if self._snapshots else graph.zero_ms
        times = sorted(graph.taken)
        for time_ms in times:
            if since < time_ms <= self._done_ms:
                graph.advance(time_ms)
                graph.clear(time_ms)
        return [time_ms for time_ms in times if time_ms > self._done_ms]

    def _load_state(self, graph: Graph) -> None:
        manifests = sorted((self._folder / "state").glob("manifest-*.json"))
        self._snapshots = [json.loads(path.read_bytes()) for path in manifests]
        if not self._snapshots:
            return
        newest = self._snapshots[-1]
        self._done_ms = newest["time_ms"]
        for node, files in zip(graph.stateful(), newest["nodes"], strict=True):
            contents = [
                pickle.loads((self._folder / "state" / name).read_bytes()) for name in files
            ]
            node.load(contents)

    # A running context.

    def log(self, time_ms: int, taken: list[Any]) -> None:
        """Write down what a batch has taken: from now on the batch is fixed."""
        assert self._log is not None
        self._numbers[time_ms] = self._log.append(dumps((time_ms, taken))).number

    def commit(self, graph: Graph, time_ms: int) -> None:
        """Write down that the outputs of a batch have run, and its state if it is time."""
        durable_write(self._folder / _DONE, json.dumps({"time_ms": time_ms}).encode())
        self._done_ms = time_ms
        every = self.snapshot_ms or max(graph.batch_ms, _SNAPSHOT_MS)
        last = self._snapshots[-1]["time_ms"] if self._snapshots else graph.zero_ms or 0
        if time_ms - last >= every:
            self._snapshot(graph, time_ms)

    def _snapshot(self, graph: Graph, time_ms: int) -> None:
        folder = self._folder / "state"
        before = self._snapshots[-1]["nodes"] if self._snapshots else None
        nodes: list[list[str]] = []
        for place, node in enumerate(graph.stateful()):
            whole, content = node.save()
            name = f"state-{place}-{time_ms}.pickle"
            durable_write(folder / name, dumps(content))
            nodes.append([name] if whole or before is None else [*before[place], name])
        manifest = {"time_ms": time_ms, "nodes": nodes}
        durable_write(folder / f"manifest-{time_ms:020d}.json", json.dumps(manifest).encode())
        self._snapshots.append(manifest)
        self._drop_snapshots(folder)

    def _drop_snapshots(self, folder: Path) -> None:
        for old in self._snapshots[:-_MANIFESTS]:
            (folder / f"manifest-{old['time_ms']:020d}.json").unlink(missing_ok=True)
        self._snapshots = self._snapshots[-_MANIFESTS:]
        used = {name for each in self._snapshots for files in each["nodes"] for name in files}
        for path in folder.glob("state-*.pickle"):
            if path.name not in used:
                path.unlink(missing_ok=True)

    def forget(self, graph: Graph) -> int:
        """Drop batches from the log that no recovery needs; up to which time."""
        assert self._log is not None and graph.zero_ms is not None
        oldest = self._snapshots[0]["time_ms"] if self._snapshots else graph.zero_ms
        limit: int = oldest - graph.input_memory_ms()
        old = [time_ms for time_ms in list(self._numbers) if time_ms <= limit]
        if old:
            self._log.forget(max(self._numbers.pop(time_ms) for time_ms in old) + 1)
        return limit

    def close(self, graph: Graph | None) -> None:
        """Close the log, with a last snapshot of the program if it has not failed."""
        last = self._snapshots[-1]["time_ms"] if self._snapshots else None
        if (
            graph is not None
            and graph.zero_ms is not None
            and self._done_ms > (last or graph.zero_ms)
        ):
            self._snapshot(graph, self._done_ms)
        if self._log is not None:
            self._log.close()
        if self._lock is not None:
            self._lock.close()

    def agree(self, graph: Graph) -> None:
        """Check that rebuilt code can go on with the state and the inputs of the folder."""
        facts = self.facts()
        for what, now in {"batch_ms": graph.batch_ms, **shape(graph)}.items():
            if facts[what] != now:
                raise CheckpointError(
                    "DSTREAM_REBUILD",
                    f"the new program does not fit the checkpoint at {self._folder}: "
                    f"{what} was {facts[what]} and is {now}",
                    location=user_location(),
                    hint="keep the duration of batches, and number, kind and order of inputs and "
                    "of operators with state; functions may change. Else begin with another folder",
                )

    def _damaged(self, why: str) -> CheckpointError:
        return CheckpointError(
            "DSTREAM_CHECKPOINT",
            f"Failed to read checkpoint from directory {self._folder}: {why}",
            location=user_location(),
            hint="use the release that wrote it, or begin with another folder",
        )


def shape(graph: Graph) -> dict[str, Any]:
    """Properties of a program that its state and its batch log depend on."""
    stateful: list[StatefulNode] = graph.stateful()
    return {
        "inputs": [type(source).__name__ for source in graph.inputs],
        "state": [node.kind for node in stateful],
    }

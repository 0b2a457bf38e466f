"""Snapshots of a loop: a file per task, and a manifest that says that they are whole.

``<checkpoint>/<loop>/<superstep>/<task>`` has the state of a task after a superstep and the messages
that it has received. ``manifest-<superstep>.json`` is written when all of these files are there.
"""

from __future__ import annotations

import json
import re
import uuid
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow.fs as pafs

from millstream.checkpoint.durable import make_folder, write_at
from millstream.checkpoint.folder import open_path
from millstream.checkpoint.small_files import (
    BadFile,
    is_mapping,
    is_natural,
    names_in,
    number_of,
    read_small,
)
from millstream.checkpoint.trust import require_trusted
from millstream.common.errors import CheckpointError
from millstream.common.paths import absolute_path
from millstream.iteration.kernel.wire import decoded, encoded

__all__ = ["Snapshot", "Snapshots"]

FORMAT = 1
KEPT = 2
"""How many snapshots stay: a new one is whole before an old one goes."""

OWNER = "owner"
_MANIFEST = re.compile(r"manifest-([0-9]+)\.json")


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that is whole: after which superstep it was taken, and the checksum of each part."""

    step: int
    checksums: Sequence[int]

    @property
    def tasks(self) -> int:
        """How many tasks the loop had."""
        return len(self.checksums)


class Snapshots:
    """The snapshots of one loop.

    Parameters
    ----------
    checkpoint
        The folder that the user has given.
    name
        The name of the loop, and which of the loops of this name it is.
    identity
        What makes it the same loop: a snapshot of another one is refused.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> snapshots = Snapshots(folder.name, "ranks-1", {"name": "ranks"})
    >>> snapshots.last() is None
    True
    >>> snapshots.claim()
    >>> snapshots.commit(5, [snapshots.write(5, 0, {"state": 3})])
    >>> snapshots.last().step, snapshots.read(snapshots.last(), 0)
    (5, {'state': 3})
    >>> folder.cleanup()
    """

    def __init__(self, checkpoint: str, name: str, identity: Mapping[str, Any]) -> None:
        self.path = f"{absolute_path(checkpoint)}/{re.sub(r'[^A-Za-z0-9._-]', '_', name)}"
        self._identity = json.loads(json.dumps(identity))
        self._run = uuid.uuid4().hex

    def _place(self) -> tuple[pafs.FileSystem, str]:
        return open_path(self.path)

    def claim(self) -> None:
        """Make this the run of the loop that writes snapshots: tasks of an earlier one may still live,
        after their driver is gone.
        """
        fs, folder = self._place()
        try:
            make_folder(fs, folder)
            write_at(fs, f"{folder}/{OWNER}", self._run.encode())
        except OSError as error:
            raise self._failed(f"cannot be written to: {error}") from error

    def _refuse_others(self, fs: pafs.FileSystem, folder: str) -> None:
        try:
            with fs.open_input_stream(f"{folder}/{OWNER}") as stream:
                owner = bytes(stream.read()).decode(errors="replace")
        except OSError as error:
            raise self._failed("what the driver has written is not there for a worker") from error
        if owner != self._run:
            raise CheckpointError(
                "LOOP_TAKEN_OVER",
                f"another run of the loop goes on from {self.path}",
                hint="nothing, if this program was started again; else give each its own folder",
            )

    def write(self, step: int, task: int, value: Any) -> int:
        """Write the part of a task; its checksum."""
        fs, folder = self._place()
        data = b"".join(encoded(value))
        try:
            make_folder(fs, f"{folder}/{step}")
            write_at(fs, f"{folder}/{step}/{task}", data)
        except OSError as error:
            raise self._failed(f"cannot write the snapshot of superstep {step}: {error}") from error
        return zlib.crc32(data)

    def commit(self, step: int, checksums: Sequence[int]) -> None:
        """Make a snapshot count, of which all parts are written; older ones go."""
        fs, folder = self._place()
        self._refuse_others(fs, folder)
        manifest = {"format": FORMAT, "loop": self._identity, "checksums": [*checksums]}
        try:
            write_at(fs, f"{folder}/manifest-{step}.json", json.dumps(manifest).encode())
        except OSError as error:
            raise self._failed(f"cannot write the snapshot of superstep {step}: {error}") from error
        kept = {*sorted(self._steps())[-KEPT:]}
        for name in names_in(fs, folder):
            found = _MANIFEST.fullmatch(name)
            number = int(found[1]) if found else number_of(name)
            if number is not None and number not in kept:
                with suppress(OSError):
                    (fs.delete_file if found else fs.delete_dir)(f"{folder}/{name}")

    def last(self) -> Snapshot | None:
        """The last whole snapshot of this loop; None if there is none."""
        step = max(self._steps(), default=None)
        if step is None:
            return None
        require_trusted(self.path, f"the snapshot {self.path}")
        fs, folder = self._place()
        shape = {"format": is_natural, "loop": is_mapping, "checksums": _is_naturals}
        try:
            found = read_small(fs, f"{folder}/manifest-{step}.json", shape)
        except BadFile as error:
            raise self._damaged(f"manifest-{step}.json", str(error)) from error
        content = {} if found is None else found.content
        if content.get("format") != FORMAT or content["loop"] != self._identity:
            raise CheckpointError(
                "LOOP_OTHER_SNAPSHOT",
                f"{self.path} has a snapshot of another loop: of {content.get('loop')}, this one is "
                f"{self._identity}",
                hint="use another checkpoint folder, or delete the snapshot to start from the beginning",
            )
        return Snapshot(step, content["checksums"])

    def read(self, snapshot: Snapshot, task: int) -> Any:
        """The part of a task."""
        fs, folder = self._place()
        name = f"{snapshot.step}/{task}"
        try:
            with fs.open_input_stream(f"{folder}/{name}") as stream:
                data = bytearray(stream.read())
        except OSError as error:
            raise self._damaged(name, str(error)) from error
        if zlib.crc32(data) != snapshot.checksums[task]:
            raise self._damaged(name, "its checksum is wrong")
        return decoded(data)

    def forget(self) -> None:
        """Delete all snapshots: the loop has ended."""
        fs, folder = self._place()
        with suppress(OSError):
            fs.delete_dir(folder)

    def _steps(self) -> list[int]:
        fs, folder = self._place()
        found = [_MANIFEST.fullmatch(name) for name in names_in(fs, folder)]
        return [int(each[1]) for each in found if each]

    def _failed(self, what: str) -> CheckpointError:
        return CheckpointError(
            "LOOP_SNAPSHOT",
            f"{what}, in {self.path}",
            hint="give a checkpoint folder that all workers can write to",
        )

    def _damaged(self, name: str, why: str) -> CheckpointError:
        return CheckpointError(
            "CHECKPOINT_DAMAGED",
            f"{self.path}/{name} cannot be used: {why}",
            hint="delete the folder: the loop starts from its beginning",
        )


def _is_naturals(value: object) -> bool:
    return isinstance(value, list) and all(map(is_natural, value))

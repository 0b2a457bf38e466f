"""A disk that can be full, and files that are cut short."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

SIZE_MB = 64
PAGE = 4096


class SmallDisk:
    """A disk of its own for a folder; needs root, or sudo without a password."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.ballast = folder / ".ballast"
        owner = f"uid={os.getuid()},gid={os.getgid()}"
        options = f"size={SIZE_MB}m,mode=700,{owner}"
        subprocess.run([*_ROOT, "mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)

    def fill(self, pages_left: int) -> None:
        """Leave so many pages free, and no more."""
        with open(self.ballast, "wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(PAGE))
            except OSError as error:
                assert error.errno == errno.ENOSPC
            if pages_left:
                ballast.truncate(max(ballast.tell() - pages_left * PAGE, 0))

    def free(self) -> None:
        self.ballast.unlink(missing_ok=True)

    def remove(self) -> None:
        # Lazily: a process that was killed may need a moment to let its files go.
        subprocess.run([*_ROOT, "umount", "--lazy", self.folder], check=True)


_ROOT = [] if os.getuid() == 0 else ["sudo", "-n"]


def can_mount() -> bool:
    """Whether there can be a `SmallDisk` here."""
    tried = ["unshare", "--mount", "true"] if os.getuid() == 0 else [*_ROOT, "true"]
    return shutil.which(tried[0]) is not None and subprocess.run(tried, check=False).returncode == 0


CUT = {
    "offsets": "checkpoint/*/query-0/offsets/[0-9]*",
    "commits": "checkpoint/*/query-0/commits/[0-9]*",
    "state": "checkpoint/*/query-0/state/[0-9]/[0-9]/*.changelog",
    "source log": "checkpoint/*/query-0/sources/*/[0-9]*",
    "control": "checkpoint/*/query-0-control/[0-9a-f]*.json",
    "states": "checkpoint/*/states.json",
    "lease": "checkpoint/lease/[0-9]*.json",
    "sink": "out/_millstream/*/[0-9]*.json",
}
"""Files of which the last one can be found cut short after a crash of the machine."""


def cut_last(folder: Path, what: str, share: float) -> Path | None:
    """Cut the file that was written last; returns which, None if there is none yet."""
    found = [path for path in folder.glob(CUT[what]) if not path.name.startswith(".")]
    if not found:
        return None
    last = max(found, key=lambda path: path.stat().st_mtime_ns)
    os.truncate(last, int(last.stat().st_size * share))
    return last

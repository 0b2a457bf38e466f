"""Folders of runs that have no checkpoint directory: nothing of them is left when the process ends."""

from __future__ import annotations

import atexit
import shutil
import tempfile

__all__ = ["forget_folder", "temporary_folder"]

_made: set[str] = set()


def temporary_folder() -> str:
    """Make a folder for a run that only this process knows."""
    if not _made:
        atexit.register(_forget_all)
    folder = tempfile.mkdtemp(prefix="millstream-")
    _made.add(folder)
    return folder


def forget_folder(folder: str) -> None:
    """Delete the folder of a run that has ended."""
    shutil.rmtree(folder, ignore_errors=True)


def _forget_all() -> None:
    """Delete them again: a task of Spark's that ended late may have made one again."""
    for folder in _made:
        forget_folder(folder)

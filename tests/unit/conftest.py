"""Files of other users, for tests that may or may not run as root; and no waiting for disks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SOMEBODY = 54_321


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks() -> Iterator[None]:
    """Leaves out `os.fsync`: these tests kill no machine, so none can see whether it was called.

    Tests of who calls it put their own function in its place.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a file or folder one of another user.

    Root can give files away. For anybody else the process becomes another user, as far as Millstream
    can see: then all files are of somebody else.
    """

    def give_away(path: Path) -> None:
        if os.getuid() == 0:
            os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)

    return give_away

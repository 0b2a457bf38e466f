"""Crashes at lines of a connector."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from millstream.testing.connectors.crash import Crash, CrashAt


def deletes_nothing() -> None:
    for _ in range(3):
        with suppress(FileNotFoundError):
            Path("/no/such/folder/file").unlink()


def test_a_crash_leaves_no_exception_behind() -> None:
    """Errors of later programs would show it as their cause."""
    counting = CrashAt(__name__.split(".")[0])
    counting.run(deletes_nothing)
    assert counting.lines > 5
    for line in range(1, counting.lines + 1):
        with suppress(Crash):
            CrashAt(counting.package, line).run(deletes_nothing)
        with pytest.raises(KeyError) as found:
            raise KeyError("later")
        assert found.value.__context__ is None

"""Progress of savepoints and restores."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from millstream.checkpoint.folder import folder_bytes

WATCH_SECONDS = 0.5


@contextmanager
def watched(
    folder: str, expected: int, on_progress: Callable[[int, int], None] | None
) -> Iterator[None]:
    """Tell from time to time how much has been written to a folder, of about so many bytes."""
    if on_progress is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_SECONDS):
            done = folder_bytes(folder)
            on_progress(done, max(done, expected))

    watcher = threading.Thread(target=watch, name="millstream-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    done = folder_bytes(folder)
    on_progress(done, done)


class RestoreLine:
    """How much of a state is restored, on a terminal only."""

    def __init__(self, wanted: bool | None) -> None:
        self._on = sys.stderr.isatty() if wanted is None else wanted
        self._shown = False

    def show(self, done: int, total: int) -> None:
        """Refresh the line."""
        if self._on:
            self._shown = True
            share = f"{done / 1e6:,.1f} MB of about {total / 1e6:,.1f} MB"
            sys.stderr.write(f"\rrestoring state: {share}".ljust(60))
            sys.stderr.flush()

    def finish(self) -> None:
        """Leave the last state on the terminal."""
        if self._shown:
            sys.stderr.write("\n")

"""Pickles of stored state. They live longer than the modules that the kernel's classes stand in."""

from __future__ import annotations

import io
import pickle
from typing import Any

MOVED = {
    "millstream.kernel.buckets": "millstream.kernel.state.buckets",
    "millstream.kernel.keys": "millstream.kernel.keys.identity",
    "millstream.kernel.large": "millstream.kernel.state.large",
    "millstream.kernel.pages": "millstream.kernel.state.pages",
    "millstream.kernel.slot_state": "millstream.kernel.state.slot",
    "millstream.kernel.time": "millstream.kernel.time.watermarks",
    "millstream.kernel.two_inputs.interval_join": (
        "millstream.kernel.operators.two_inputs.interval_join"
    ),
}
"""Where classes of stored state stand now, by the modules they were in when they were stored."""


def loads(data: bytes) -> Any:
    """Read stored state.

    Only a pickle that names a module of before is read with the table of moves: a page is read in each
    epoch, and the table would cost a call for each class.
    """
    try:
        return pickle.loads(data)
    except (ModuleNotFoundError, AttributeError):
        return _Moved(io.BytesIO(data)).load()


class _Moved(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(MOVED.get(module, module), name)

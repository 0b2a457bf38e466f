"""Running checkpoints of before: the kernel's classes in them are found where they stand now.

stored-pickles.json has, for each class of the kernel that was in a stored value, the smallest such
value, as it was written before the kernel had folders.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from millstream.kernel.operators.two_inputs.broadcast_maps import FORMAT, decoded_maps
from millstream.kernel.state import stored_pickles
from millstream.kernel.state.large import BigMap, moved_out
from millstream.kernel.state.pages import MemoryStore

VALUES = {
    name: base64.b64decode(text)
    for name, text in json.loads(
        (Path(__file__).parent / "stored-pickles.json").read_text()
    ).items()
}


def classes_in(value: Any) -> set[str]:
    """The classes of the kernel that a stored value names."""
    found = set()

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.startswith("millstream.kernel"):
                found.add(name)
            return super().find_class(module, name)

    Reader(io.BytesIO(value)).load()
    return found


@pytest.mark.parametrize("name", VALUES)
def test_a_stored_value_of_before_is_read(name: str) -> None:
    again = pickle.dumps(stored_pickles.loads(VALUES[name]), 5)
    assert name.rpartition(".")[2] in classes_in(again)


def test_the_handle_of_a_large_broadcast_map_of_before_is_read() -> None:
    """Broadcast maps are in no page: they were read without the table of moves once."""
    store = MemoryStore()
    handle = moved_out(dict.fromkeys(range(20000), "x" * 100), "rules", store, "uid")
    now = pickle.dumps((FORMAT, {"rules": handle}), 3)  # A form in which names end with a line.
    before = now
    for old, new in stored_pickles.MOVED.items():
        before = before.replace(f"c{new}\n".encode(), f"c{old}\n".encode())
    assert b"cmillstream.kernel.large\n" in before and b"kernel.state" not in before
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(before)
    found = decoded_maps(before, "uid")["rules"]
    assert isinstance(found, BigMap)
    found.bind(store, "uid")
    assert found[7] == "x" * 100

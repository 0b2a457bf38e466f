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

from millstream.kernel.state import stored_pickles

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

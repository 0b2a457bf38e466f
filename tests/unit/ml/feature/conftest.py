"""Jobs of these tests run in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millstream.testing import in_memory


@pytest.fixture(autouse=True)
def _in_memory() -> Iterator[None]:
    with in_memory():
        yield

"""Examples in docstrings of tables and data sets run in memory: what they show needs no JVM."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.doctest import DoctestItem


@pytest.fixture(autouse=True)
def examples_in_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let jobs of the examples of `millstream.table` and `millstream.dataset` run without Spark."""
    if isinstance(request.node, DoctestItem) and {"table", "dataset"} & {*request.node.path.parts}:
        from millstream.testing import in_memory

        with in_memory():
            yield
    else:
        yield

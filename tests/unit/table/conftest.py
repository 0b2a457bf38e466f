"""Statements of these tests run in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millstream.testing import in_memory


@pytest.fixture(autouse=True)
def jobs_in_memory() -> Iterator[None]:
    """Let all jobs of a test run without a JVM."""
    with in_memory():
        yield

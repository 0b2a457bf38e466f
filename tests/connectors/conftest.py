"""Topics on the broker of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.kafka import Topics
    from tools.servers import Kafka


@pytest.fixture(scope="session")
def topics(kafka: Kafka) -> Topics:
    from tests.support.kafka import Topics

    return Topics(kafka.bootstrap)

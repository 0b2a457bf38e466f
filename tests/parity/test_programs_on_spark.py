"""The same programs on Spark, all that read the same records in one job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.testing import collect
from tests.support.parity.catalogue import Results, program_names, recorded, shown
from tests.support.parity.millstream_side import Timed, built

pytestmark = pytest.mark.spark

MODULES = ["time_windows", "session_windows", "window_triggers", "window_lateness"]
OF_THEIR_OWN_SOURCE = {"tumbling_before_1970", "tumbling_monotonous"}
NAMES = [
    name
    for name, module in program_names().items()
    if module in MODULES and name not in OF_THEIR_OWN_SOURCE
]

_known: dict[str, dict[str, Results] | Exception] = {}


def run_all(env: Any) -> dict[str, Results]:
    timed = Timed(env)
    collected = {
        name: {label: collect(stream) for label, stream in built(name, timed).items()}
        for name in NAMES
    }
    env.execute("parity")
    return {
        name: {label: sorted(map(shown, records.values())) for label, records in streams.items()}
        for name, streams in collected.items()
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_same_as_flink_on_spark(make_env: Callable[..., Any], mode: str, name: str) -> None:
    if mode not in _known:
        try:
            _known[mode] = run_all(make_env(mode))
        except Exception as error:
            _known[mode] = error
    found = _known[mode]
    if isinstance(found, Exception):
        raise found
    assert found[name] == recorded()[name]

"""Functions of a main script, and what they use, in another process."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle  # type: ignore[import-untyped, unused-ignore]
import pyspark.cloudpickle
import pytest

from millstream.common.by_value import dumps_by_value

pytestmark = pytest.mark.parametrize("cloud", [cloudpickle, pyspark.cloudpickle])


def _of_the_script(function: Any, **names: Any) -> Callable[[], Any]:
    """A function as if the main script had defined it, with these global names."""
    return FunctionType(function.__code__, {"__name__": "__main__", **names})


def test_classes_of_c_libraries_that_name_a_wrong_module_are_found(cloud: ModuleType) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    names = ("Consumer", "KafkaException", "Producer", "TopicPartition")
    used = {name: getattr(kafka, name) for name in names}
    function = _of_the_script(lambda: (Consumer, KafkaException, Producer, TopicPartition), **used)  # type: ignore[name-defined]  # noqa: F821

    copy = pickle.loads(dumps_by_value(function, cloud))

    assert copy() == tuple(used.values())


def test_a_class_goes_by_a_module_that_has_it(
    cloud: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = ModuleType("vendor.native")
    native.Client = type("Client", (), {"__module__": "native"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vendor.native", native)
    monkeypatch.setitem(sys.modules, "vendor", ModuleType("vendor"))
    monkeypatch.setitem(sys.modules, "another", ModuleType("another"))
    sys.modules["another"].Client = native.Client  # type: ignore[attr-defined]

    data = dumps_by_value([native.Client], cloud)

    assert b"vendor.native" in data
    assert pickle.loads(data)[0] is native.Client


def test_a_class_that_no_module_has_goes_by_value(cloud: ModuleType) -> None:
    lost = type("Lost", (), {"__module__": "nowhere", "value": 3})

    assert pickle.loads(dumps_by_value(lost, cloud)).value == 3


def test_classes_of_the_script_go_by_value(cloud: ModuleType) -> None:
    own = type("Own", (), {"__module__": "__main__", "value": 4})

    assert pickle.loads(dumps_by_value(own, cloud)).value == 4

"""Connectors of PyFlink that are not here: names for imports, and one clear line for their use."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.datastream import connectors
from millstream.datastream.connectors.absent import ABSENT, AbsentClass

NAMES = [(module, name) for module, absent in ABSENT.items() for name in absent.names]
HERE = "millstream.datastream.connectors"
FLINK = Path(__file__).parents[3] / "parity" / "flink_names.json"


def found(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{HERE}.{module}"), name)


def test_all_names_of_flink_are_in_the_table() -> None:
    flink = json.loads(FLINK.read_text(encoding="utf-8"))["python"]
    for module, absent in ABSENT.items():
        public = {
            name for name in flink[f"pyflink.datastream.connectors.{module}"] if "." not in name
        }
        here = getattr(importlib.import_module(f"{HERE}.{module}"), "__all__", [])
        assert {*absent.names, *here} == public


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_can_be_imported_and_its_use_is_refused(module: str, name: str) -> None:
    absent = found(module, name)
    assert absent is found(module, name)
    # A name of one of Millstream's own connectors is that one in the package.
    assert (getattr(connectors, name) is absent) == (name not in connectors.__all__)
    uses = [lambda: absent("x"), lambda: absent.builder, lambda: type("Mine", (absent,), {})]
    for use in uses:
        with pytest.raises(PlanError) as info:
            use()
        assert info.value.code == "CONNECTOR_ABSENT"
        assert info.value.message == f"there is no {name}: {ABSENT[module].instead}"
        assert info.value.location is not None and info.value.location.file == __file__


def test_a_class_statement_is_refused_at_its_line() -> None:
    emitter = found("elasticsearch", "ElasticsearchEmitter")
    with pytest.raises(PlanError, match="there is no ElasticsearchEmitter"):

        class Mine(emitter):  # type: ignore[misc, valid-type]
            pass


def test_names_may_be_looked_at() -> None:
    source = found("pulsar", "PulsarSource")
    assert isinstance(source, AbsentClass) and inspect.isclass(source)
    assert source.__name__ == "PulsarSource" and source.__doc__ is None
    assert not isinstance("x", source)
    assert inspect.unwrap(source) is source
    assert pickle.loads(pickle.dumps(source)) is source


def test_what_all_connectors_share_can_be_taken_from_each() -> None:
    assert found("pulsar", "DeliveryGuarantee") is connectors.DeliveryGuarantee


def test_other_names_are_none_of_the_module() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        found("pulsar", "Nonsense")
    with pytest.raises(ImportError):
        exec("from millstream.datastream.connectors.pulsar import Nonsense")

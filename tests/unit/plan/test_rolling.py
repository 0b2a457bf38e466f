"""The operator that each rolling aggregate gets, and why; no job runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.common import Types
from millstream.kernel.operators.reduce import ReduceOperator
from millstream.kernel.records.buffers import ArrowCodec
from millstream.kernel.tables.rolling import IN_COLUMNS, RollingAggregateOperator
from millstream.plan.explain import explain
from millstream.plan.operators import REDUCED_IN_PAGES
from millstream.plan.options import JobOptions
from millstream.plan.physical import Choice, Stored
from millstream.plan.restoring import refuse_other_layouts
from millstream.testing import run_local
from tests.support.plan_support import component, environment, hosted, ids, plan_of

FIELDS = [
    Types.STRING(),
    Types.LONG(),
    Types.DOUBLE(),
    Types.FLOAT(),
    Types.BIG_INT(),
    Types.SQL_DATE(),
]
RECORD = Types.TUPLE(FIELDS)
NAMED = Types.ROW_NAMED(list("abcdef"), FIELDS)


def text(record: Any) -> str:
    return str(record[0])


def hinted(record: Any) -> tuple[str, int]:
    return record[0], record[1]


def stream_of(build: Callable[[Any], Any], type_info: Any = RECORD) -> Any:
    env = environment()
    return build(env.from_collection([], type_info=type_info)).uid("case")


def choice_of(stream: Any, stored: Stored | None = None) -> Choice:
    stream.print()
    planned = plan_of(stream._env, stored or Stored())
    return planned.choices[ids(planned)["case"]]


@pytest.mark.parametrize(
    ("build", "type_info"),
    [
        (lambda s: s.key_by(0).sum(1), RECORD),
        (lambda s: s.key_by(lambda r: (r[0], r[5])).sum(2), RECORD),
        (lambda s: s.key_by("a").sum("b"), NAMED),
        (lambda s: s.key_by(1).max(0), RECORD),
        (lambda s: s.key_by(0).min_by(3), RECORD),
        (lambda s: s.key_by(0).max_by(5), RECORD),
    ],
)
def test_by_column(build: Callable[[Any], Any], type_info: Any) -> None:
    stream = stream_of(build, type_info)
    choice = choice_of(stream)
    assert choice.operator is RollingAggregateOperator
    assert (choice.layout, choice.edge) == (IN_COLUMNS, "columns")
    runs = hosted(component(stream._env))["case"]
    assert type(runs.operator) is RollingAggregateOperator
    assert all(isinstance(edge.codec, ArrowCodec) for edge in runs.edges)


@pytest.mark.parametrize(
    ("build", "type_info", "why"),
    [
        (
            lambda s: s.map(hinted).key_by(0).sum(1),
            RECORD,
            "nobody declares the type of its records",
        ),
        (lambda s: s.key_by(0).sum(1), None, "nobody declares the type of its records"),
        (
            lambda s: s.key_by(lambda n: n).max(),
            Types.LONG(),
            "its records, of type LONG, have no fields",
        ),
        (
            lambda s: s.key_by(text).sum(1),
            RECORD,
            "its key is computed by a function, and is no field of the record",
        ),
        (lambda s: s.key_by(2).sum(1), RECORD, "its key is a DOUBLE"),
        (lambda s: s.key_by(1).sum(1), RECORD, "the field is a part of the key"),
        (lambda s: s.key_by(0).sum(3), RECORD, "the field is a FLOAT"),
        (lambda s: s.key_by(0).sum(4), RECORD, "the field is a BIG_INT"),
        (lambda s: s.key_by(0).max(4), RECORD, "the field is a BIG_INT"),
        (
            lambda s: s.key_by(0).sum(1).on_error("skip"),
            RECORD,
            "a record that fails is undone and skipped by itself",
        ),
    ],
)
def test_record_by_record_and_explain_says_why(
    build: Callable[[Any], Any], type_info: Any, why: str
) -> None:
    stream = stream_of(build, type_info)
    choice = choice_of(stream)
    assert choice.operator is ReduceOperator
    assert choice.layout == REDUCED_IN_PAGES
    shown = explain(stream._env._job_graph(), JobOptions(parallelism=1)).text
    assert f"aggregate: record by record: {why}" in shown


def test_a_reduce_function_of_the_program_has_nothing_to_explain() -> None:
    stream = stream_of(lambda s: s.key_by(0).reduce(lambda a, b: a))
    assert choice_of(stream).kind == "reduce"
    assert "aggregate:" not in explain(stream._env._job_graph(), JobOptions(parallelism=1)).text


class ByParity:
    """A selector of the program's: its attribute is no field of the record."""

    field = 2

    def __call__(self, record: Any) -> int:
        parity: int = record[0] % 2
        return parity


def test_attributes_of_a_selector_say_nothing_of_its_key() -> None:
    env = environment()
    triples = Types.TUPLE([Types.LONG()] * 3)
    stream = env.from_collection([(1, 2, 7), (3, 4, 8), (5, 5, 9)], type_info=triples)
    found = run_local(stream.key_by(ByParity()).sum(1)).values()
    assert found == [(1, 2, 7), (1, 6, 7), (1, 11, 7)]


def test_stored_values_become_columns_in_a_savepoint_and_stay_in_a_restart() -> None:
    stream = stream_of(lambda s: s.key_by(0).sum(1))
    stored = Stored({"case": REDUCED_IN_PAGES})
    after = choice_of(stream, stored)
    assert after.operator is RollingAggregateOperator
    assert after.reason.endswith(
        "; the stored state has values of single keys, and becomes columns"
    )
    restart = choice_of(stream, Stored({"case": REDUCED_IN_PAGES}, converts=False))
    assert restart.operator is ReduceOperator
    assert "it could be by column, but the stored state has values of single keys" in restart.reason


@pytest.mark.parametrize("was", [REDUCED_IN_PAGES, IN_COLUMNS])
@pytest.mark.parametrize("key", [0, text])
def test_both_layouts_can_be_taken_over(was: str, key: Any) -> None:
    stream = stream_of(lambda s: s.key_by(key).sum(1))
    stream.print()
    refuse_other_layouts({"case": was}, [component(stream._env)])

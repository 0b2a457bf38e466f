"""A savepoint is restored whatever operator the planner chooses today, with the results of one run.

The planner's choice depends on how a key selector is written, on a type, on a late side output. State
by column then becomes windows of single records, and windows of single records stay what they are.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from millstream.common import Row, Types
from millstream.common.errors import CheckpointError
from millstream.common.output_tag import OutputTag
from millstream.datastream import DataStream
from millstream.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.kernel.windows.pane_layout import IN_PAGES, PaneLayout
from millstream.plan.options import ChannelOrder
from millstream.testing.engine.local import LocalSavepoint
from tests.support.properties.savepoint_cases import (
    RECORD,
    SLIDING,
    TUMBLING,
    Applied,
    Case,
    Listed,
    by_key,
    by_pair,
    of_function,
    pair_of_function,
    summary,
    untyped,
)
from tests.support.properties.savepoint_runs import (
    ORDERS,
    Input,
    Run,
    Setting,
    before,
    drawn_for,
    expected,
    going_on,
    rest,
)
from tests.support.strategies import crossed, scaled, thinned

ROUNDS = scaled(2, fewest=1)
SLOTS = [(2, 2), (2, 5), (3, 1), (1, 4), (4, 3)]
LATE = OutputTag("late", RECORD)
Windows = Callable[[Any], Any]
Operation = Callable[[Any], DataStream]


def without_type(stream: DataStream) -> Any:
    return by_key(stream.map(lambda record: record, output_type=Types.PICKLED_BYTE_ARRAY()))


def case(key: Callable[[DataStream], Any], windows: Windows, operation: Operation) -> Case:
    return Case("case", lambda s, _: operation(windows(key(s))))


def with_late_output(
    key: Callable[[DataStream], Any], windows: Windows, operation: Operation
) -> Case:
    def build(stream: DataStream, _: DataStream) -> DataStream:
        results = operation(windows(key(stream)).side_output_late_data(LATE))
        results.get_side_output(LATE).print().name("late").uid("late")
        return results

    return Case("case", build)


WINDOWS: dict[str, Windows] = {
    "tumbling": lambda keyed: keyed.window(TUMBLING),
    "sliding": lambda keyed: keyed.window(SLIDING),
    "with an offset": lambda keyed: keyed.window(SlidingEventTimeWindows.of(9, 6, 2)),
}
OPERATIONS: dict[str, Operation] = {
    "sum": lambda w: w.sum(1),
    "min": lambda w: w.min(1),
    "max": lambda w: w.max(1),
    "min_by": lambda w: w.min_by(1),
    "max_by": lambda w: w.max_by(1),
    "count": lambda w: w.count(),
    "summarize": lambda w: w.summarize(("avg", 1), "count", ("min", 1), ("sum", 1)),
    "process": lambda w: w.process(Listed()),
    "apply": lambda w: w.apply(Applied()),
}
OTHER_KEYS = {"function": of_function, "no type": without_type}
WAYS = list(product(WINDOWS, OTHER_KEYS))


def every_operation(name: str) -> Any:
    """All operations with all windows; `make check` takes a third of the operations, by the name."""
    some = crossed(thinned(OPERATIONS, name), WINDOWS)
    return pytest.mark.parametrize(("operation", "windows"), some)


def runs(name: str, *orders: ChannelOrder) -> Any:
    """Settings in turn, each with input of its own."""
    rng = random.Random(name)
    orders = orders or ORDERS
    for _ in range(ROUNDS):
        slots, later = SLOTS[rng.randrange(len(SLOTS))]
        yield Setting(slots, later, rng.choice(orders), batch=rng.random() < 0.2), rng


def flat(results: list[list[Any]]) -> Counter[str]:
    return Counter(repr(record) for epoch in results for record in epoch)


def layout(savepoint: LocalSavepoint) -> str:
    return savepoint.layouts["case"]


def interrupted(
    first: Case, second: Case, data: Input, setting: Setting
) -> tuple[LocalSavepoint, Run]:
    savepoint = before(first, data, setting).job.savepoint()
    run = going_on(second, data, setting, savepoint)
    rest(run, data, setting)
    return savepoint, run


@pytest.mark.parametrize(
    ("operation", "windows", "changed"),
    [(one, *way) for one, way in crossed(thinned(OPERATIONS, "keys"), WAYS)],
)
def test_another_key_selector_or_type(operation: str, windows: str, changed: str) -> None:
    by_column = case(by_key, WINDOWS[windows], OPERATIONS[operation])
    by_record = case(OTHER_KEYS[changed], WINDOWS[windows], OPERATIONS[operation])
    for setting, rng in runs(f"{windows} {operation}"):
        data = drawn_for(by_column, setting, rng)
        wanted = expected(by_column, data, setting)
        savepoint, run = interrupted(by_column, by_record, data, setting)
        assert PaneLayout.read(layout(savepoint)) is not None
        assert run.results["out"] == wanted["out"]
        data = drawn_for(by_record, setting, rng)
        wanted = expected(by_record, data, setting)
        savepoint, run = interrupted(by_record, by_column, data, setting)
        assert layout(savepoint) == IN_PAGES
        becomes_columns = (windows, changed) == ("tumbling", "function")
        assert (layout(run.job.savepoint()) != IN_PAGES) == becomes_columns
        assert run.results["out"] == wanted["out"]


OF_PAIRS: dict[str, Operation] = {
    "sum": lambda w: w.sum(2),
    "max_by": lambda w: w.max_by(2),
    "count": lambda w: w.count(),
    "summarize": summary,
    "process": lambda w: w.process(Listed()),
}
BY_THEMSELVES = ("count", "summarize")
"""Keys are stored without their records: as what, a function that cannot be read does not tell."""


@pytest.mark.parametrize(("operation", "windows"), crossed(thinned(OF_PAIRS, "pairs"), WINDOWS))
def test_another_selector_of_a_key_of_two_columns(windows: str, operation: str) -> None:
    by_column = case(by_pair, WINDOWS[windows], OF_PAIRS[operation])
    by_record = case(pair_of_function, WINDOWS[windows], OF_PAIRS[operation])
    for setting, rng in runs(f"pairs {windows} {operation}"):
        data = drawn_for(by_column, setting, rng)
        wanted = expected(by_record, data, setting)
        assert expected(by_column, data, setting)["out"] == wanted["out"]
        savepoint, run = interrupted(by_column, by_record, data, setting)
        assert PaneLayout.read(layout(savepoint)) is not None
        assert run.results["out"] == wanted["out"]
        savepoint, run = interrupted(by_record, by_column, data, setting)
        assert layout(savepoint) == IN_PAGES
        becomes_columns = windows == "tumbling" and operation not in BY_THEMSELVES
        assert (layout(run.job.savepoint()) != IN_PAGES) == becomes_columns
        assert run.results["out"] == wanted["out"]


@pytest.mark.parametrize("operation", ["sum", "count", "process"])
def test_other_keys_are_refused_where_records_were_kept_by_column(operation: str) -> None:
    windows, setting = WINDOWS["tumbling"], Setting()
    first = case(by_key, windows, OPERATIONS[operation])
    second = case(lambda s: s.key_by(lambda r: r[0] + "x"), windows, OPERATIONS[operation])
    data = drawn_for(first, setting, random.Random(2))
    savepoint = before(first, data, setting).job.savepoint()
    if operation == "count":
        # A number of records does not tell what else their key could be.
        going_on(second, data, setting, savepoint)
        return
    with pytest.raises(CheckpointError, match="by other keys") as caught:
        going_on(second, data, setting, savepoint)
    assert caught.value.code == "KEYS_CHANGED" and caught.value.hint


def test_other_aggregates_are_refused() -> None:
    windows, setting = WINDOWS["tumbling"], Setting()
    first = case(by_key, windows, lambda w: w.summarize(("sum", 1)))
    data = drawn_for(first, setting, random.Random(3))
    savepoint = before(first, data, setting).job.savepoint()
    assert layout(savepoint).startswith("aggregates (sum of 1) of TUPLE(")
    for key in (by_key, of_function):
        other = case(key, windows, lambda w: w.summarize(("sum", 1), ("max", 1)))
        with pytest.raises(CheckpointError) as caught:
            going_on(other, data, setting, savepoint)
        assert caught.value.code == "STATE_LAYOUT_CHANGED"
        same = case(key, windows, lambda w: w.summarize("count", ("avg", 1)))
        going_on(same, data, setting, savepoint)


@every_operation("late")
def test_a_late_side_output_is_added(windows: str, operation: str) -> None:
    plain = case(by_key, WINDOWS[windows], OPERATIONS[operation])
    aside = with_late_output(by_key, WINDOWS[windows], OPERATIONS[operation])
    for setting, rng in runs(f"late {windows} {operation}"):
        data = drawn_for(plain, setting, rng)
        wanted = expected(aside, data, setting)
        _, run = interrupted(plain, aside, data, setting)
        assert run.results["out"] == wanted["out"]
        found, all_late = flat(run.results["late"]), flat(wanted["late"])
        if setting.order == "arrival":
            assert run.results["late"] == wanted["late"]
        else:
            # Of records that wait, those that are late have been counted before they were added up.
            assert not found - all_late


CHANGES: dict[str, tuple[Windows, Windows]] = {
    "lateness is added": (WINDOWS["tumbling"], lambda k: k.window(TUMBLING).allowed_lateness(6)),
    "lateness is added to sliding windows": (
        WINDOWS["sliding"],
        lambda k: k.window(SLIDING).allowed_lateness(6),
    ),
    "lateness is taken away": (
        lambda k: k.window(TUMBLING).allowed_lateness(6),
        WINDOWS["tumbling"],
    ),
    "lateness becomes shorter": (
        lambda k: k.window(SLIDING).allowed_lateness(9),
        lambda k: k.window(SLIDING).allowed_lateness(2),
    ),
    "another size": (WINDOWS["tumbling"], lambda k: k.window(TumblingEventTimeWindows.of(7))),
    "another slide": (WINDOWS["sliding"], WINDOWS["with an offset"]),
    "a trigger": (
        WINDOWS["tumbling"],
        lambda k: k.window(TUMBLING).trigger(PurgingTrigger.of(CountTrigger.of(3))),
    ),
    "sessions": (
        WINDOWS["tumbling"],
        lambda k: k.window(EventTimeSessionWindows.with_gap(4)),
    ),
}


@pytest.mark.parametrize(
    ("change", "operation"), crossed(CHANGES, ["sum", "max_by", "count", "apply"])
)
def test_windows_by_column_change_as_windows_of_single_records_do(
    change: str, operation: str
) -> None:
    """What a change of the windows means does not depend on the operator.

    Sums that wait for other channels have their windows already, records that wait have not.
    """
    first, second = CHANGES[change]
    for setting, rng in runs(f"{change} {operation}", "arrival"):
        data = drawn_for(case(by_key, first, OPERATIONS[operation]), setting, rng)
        results = []
        for key in (by_key, untyped):
            old, new = (case(key, windows, OPERATIONS[operation]) for windows in (first, second))
            results.append(interrupted(old, new, data, setting)[1].results["out"])
        assert results[0] == results[1]


@pytest.mark.parametrize("operation", ["sum", "count", "process"])
def test_a_window_that_lateness_was_added_to_goes_in_time(operation: str) -> None:
    """No window outlives the end of the input, and no timer is without its window."""
    first, second = CHANGES["lateness is added"]
    for setting, rng in runs(f"cleared {operation}"):
        for key in (by_key, untyped):
            old, new = (case(key, windows, OPERATIONS[operation]) for windows in (first, second))
            data = drawn_for(old, setting, rng)
            _, run = interrupted(old, new, data, setting)
            tables = run.job.savepoint().state.tables
            assert {name for uid, name in tables if uid == "case"} <= {"fired"}


@every_operation("from now on")
def test_records_are_skipped_from_now_on(windows: str, operation: str) -> None:
    plain = case(by_key, WINDOWS[windows], OPERATIONS[operation])
    skips = case(by_key, WINDOWS[windows], lambda w: OPERATIONS[operation](w).on_error("skip"))
    by_record = case(
        of_function, WINDOWS[windows], lambda w: OPERATIONS[operation](w).on_error("skip")
    )
    for setting, rng in runs(f"skip {windows} {operation}"):
        data = drawn_for(plain, setting, rng)
        wanted = expected(plain, data, setting)
        for later in (skips, by_record):
            _, run = interrupted(plain, later, data, setting)
            assert run.results["out"] == wanted["out"]


@pytest.mark.parametrize(
    ("operation", "windows"), crossed(["sum", "min_by", "count", "process"], WINDOWS)
)
def test_a_job_goes_to_and_fro(windows: str, operation: str) -> None:
    """A savepoint after each epoch, with the one or the other operator; the last one decides nothing."""
    cases = [case(key, WINDOWS[windows], OPERATIONS[operation]) for key in (by_key, of_function)]
    for setting, rng in runs(f"to and fro {windows} {operation}"):
        setting = replace(setting, batch=False)
        data = replace(drawn_for(cases[0], setting, rng), taken=1)
        wanted = expected(cases[0], data, setting)
        run = before(cases[0], data, setting)
        run.results = {}
        for number, reads in enumerate(data.epochs[1:], start=1):
            setting = replace(setting, later_slots=1 + number % 3)
            results, run = (
                run.results,
                going_on(cases[number % 2], data, setting, run.job.savepoint()),
            )
            run.results = results
            run.epoch(reads, number)
        run.epoch(dict.fromkeys(data.epochs[0], 0), len(data.epochs), end=True)
        assert run.results["out"] == wanted["out"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("sum", "process"),
        ("sum", "count"),
        ("count", "sum"),
        ("process", "sum"),
        ("count", "apply"),
        ("count", "summarize"),
        ("summarize", "sum"),
    ],
)
@pytest.mark.parametrize("key", [by_key, of_function], ids=["by column", "by record"])
def test_another_function_cannot_go_on_from_what_was_made_of_the_records(
    first: str, second: str, key: Any
) -> None:
    windows = WINDOWS["tumbling"]
    setting = Setting()
    one = case(by_key, windows, OPERATIONS[first])
    data = drawn_for(one, setting, random.Random(first))
    savepoint = before(one, data, setting).job.savepoint()
    with pytest.raises(CheckpointError) as caught:
        going_on(case(key, windows, OPERATIONS[second]), data, setting, savepoint)
    assert caught.value.code == "STATE_LAYOUT_CHANGED"


def test_another_key_is_refused_where_its_field_becomes_the_key() -> None:
    """Windows of the old keys have no column with them."""
    windows, setting = WINDOWS["tumbling"], Setting()
    doubled = case(lambda s: s.key_by(lambda r: r[0] + r[0]), windows, OPERATIONS["sum"])
    data = drawn_for(doubled, setting, random.Random(1))
    savepoint = before(doubled, data, setting).job.savepoint()
    with pytest.raises(CheckpointError, match="key of its records is") as caught:
        going_on(case(by_key, windows, OPERATIONS["sum"]), data, setting, savepoint)
    assert caught.value.code == "KEYS_CHANGED" and caught.value.hint


ROW = Types.ROW_NAMED(["key", "number", "time"], [Types.STRING(), Types.INT(), Types.LONG()])


def rows(stream: DataStream) -> DataStream:
    return stream.map(lambda r: Row(key=r[0], number=r[1], time=r[2]), output_type=ROW)


@pytest.mark.parametrize(
    ("operation", "windows"),
    crossed(["sum", "max_by", "count", "apply"], ["tumbling", "sliding"]),
)
def test_named_rows_come_back_as_named_rows(windows: str, operation: str) -> None:
    by_column, by_record = (
        case(key, WINDOWS[windows], OPERATIONS[operation])
        for key in (
            lambda stream: rows(stream).key_by(lambda row: row.key),
            lambda stream: rows(stream).key_by(lambda row: str(row["key"])),
        )
    )
    for setting, rng in runs(f"rows {windows} {operation}"):
        data = drawn_for(by_column, setting, rng)
        wanted = expected(by_column, data, setting)["out"]
        for first, second in ((by_column, by_record), (by_record, by_column)):
            _, run = interrupted(first, second, data, setting)
            assert [list(map(repr, epoch)) for epoch in run.results["out"]] == [
                list(map(repr, epoch)) for epoch in wanted
            ]

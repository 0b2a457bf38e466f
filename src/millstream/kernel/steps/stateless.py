"""Steps: stateless operators that a batch of records runs through.

Steps work on whole batches, not record by record: a map is one list comprehension. A step keeps, for
each value, the row of the record it came from; event times and order keys are taken once, at the
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.common.errors import (
    MillstreamError,
    PlanError,
    TypeMismatchError,
    user_code_error,
)
from millstream.common.output_tag import OutputTag
from millstream.common.recognition import fields_returned_by
from millstream.common.stored_values import is_plain_tuple
from millstream.common.typeinfo import TypeInformation
from millstream.common.types import Row, RowKind
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.invoke import apply_each
from millstream.kernel.calls.policy import FAILING, Outcome, Policy
from millstream.kernel.calls.reports import OperatorCounts
from millstream.kernel.records.buffers import NO_TIMESTAMP, Records
from millstream.kernel.records.columns import Columns, Values, as_list
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.order import Ints, OrderKeys, arrival_step, run_ordinals
from millstream.kernel.records.side_outputs import (
    any_for_side,
    checked_sides,
    refuse_side,
    without_sides,
)


@dataclass(slots=True)
class Flow:
    """Values on their way through the steps, beside the rows of ``base`` they came from.

    ``rows`` None: value i came from row i. ``base_weights``: see `Records`.
    """

    values: Values
    base_ts: Ints
    base_keys: OrderKeys
    rows: Ints | None = None
    base_weights: Ints | None = None

    def row_numbers(self) -> Ints:
        return np.arange(len(self.values)) if self.rows is None else self.rows

    def timestamps(self) -> Ints:
        return self.base_ts if self.rows is None else self.base_ts[self.rows]

    def keep(self, places: Sequence[int] | Ints) -> Flow:
        """The values at some places."""
        values: Values
        if isinstance(self.values, Columns):
            values = self.values.take(np.array(places, np.int64))
        else:
            values = list(map(self.values.__getitem__, places))
        rows = np.array(places, np.int64) if self.rows is None else self.rows[places]
        return Flow(values, self.base_ts, self.base_keys, rows, self.base_weights)

    def replace(self, values: Values) -> Flow:
        """Other values in the same places."""
        return Flow(values, self.base_ts, self.base_keys, self.rows, self.base_weights)

    def records(self) -> Records:
        """The values with event times and order keys of their own."""
        if self.rows is None:
            return Records(self.values, self.base_ts, self.base_keys, weights=self.base_weights)
        keys = self.base_keys.take(self.rows)
        return Records(self.values, self.base_ts[self.rows], keys, weights=self.weights())

    def weights(self) -> Ints | None:
        """The weight of each value, None if all count once."""
        if self.base_weights is None or self.rows is None:
            return self.base_weights
        return self.base_weights[self.rows]

    def branched(self, results: list[list[Any]], turn: int) -> Flow:
        """The results of an operator for each of the values; paths have one more step."""
        rows = np.repeat(self.row_numbers(), [len(result) for result in results])
        values = [value for result in results for value in result]
        keys = self.base_keys.take(rows).through(arrival_step(turn, None))
        weights = None if self.base_weights is None else self.base_weights[rows]
        return Flow(values, self.base_ts[rows], keys.extended(run_ordinals(rows)), None, weights)


class Step:
    """A node of the tree. ``send`` hands a flow to all following nodes.

    ``sides``: by tag, what follows a side output. ``counts_records``: what it gets and sends counts as
    what its operator gets and emits. ``takes_columns``: its values may come as Arrow columns.
    ``takes_weights``: records may count more than once, or be taken back; its results count as often.
    ``policy``: what happens when its function fails; it is given to the step when the step is made.
    """

    takes_columns = False
    takes_weights = False
    counts_records = False
    policy: Policy = FAILING

    def __init__(self, info: OperatorInfo) -> None:
        self.info = info
        self.records_in = 0
        self.records_out = 0
        self.children: list[Step] = []
        self.sides: dict[str, Step] = {}

    def followers(self) -> list[Step]:
        return [*self.children, *self.sides.values()]

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self.policy.open(lambda: make_context(self.info, None).counts)
        for step in self.followers():
            step.open(make_context)

    def close(self) -> None:
        for step in self.followers():
            step.close()

    def send(self, flow: Flow) -> None:
        if not flow.values:
            return
        shared, number = len(self.children) > 1, len(flow.values)
        self.records_out += number
        for child in self.children:
            # A dead letter would count once, however often its record does.
            if flow.base_weights is not None and (not child.takes_weights or child.policy.skips):
                raise changes_refused(child.info)
            child.records_in += number
            if child.takes_columns:
                child.push(flow)
            elif isinstance(flow.values, Columns):
                child.push(flow.replace(flow.values.tolist()))
            else:
                # A function may change its record; other branches must not see that.
                child.push(flow.replace([frozen(v) for v in flow.values]) if shared else flow)

    def push(self, flow: Flow) -> None:
        self.send(flow)

    def each(self, flow: Flow, call: Callable[[Any], Any]) -> tuple[Flow, list[Any]]:
        """Call a function with each value: the values that it did not fail on, and their results."""
        found = self.policy.each(call, as_list(flow.values), self.failure, flow.timestamps)
        if found.places is None:
            return flow, found.results
        self.send_letters(flow, found)
        return flow.keep(found.places), found.results

    def send_letters(self, flow: Flow, found: Outcome) -> None:
        """Send on the dead letters of a flow, in the places of its records."""
        side = self.sides.get(self.policy.tag or "")
        if side is not None:
            rows = flow.row_numbers()[found.failed]
            side.send(Flow(found.letters, flow.base_ts, flow.base_keys, rows))

    def flush(self) -> None:
        for step in self.followers():
            step.flush()

    def report(self, counts: OperatorCounts) -> None:
        """Count the records for the operator, and start again from 0."""
        counts.records_in += self.records_in
        self.records_in = 0
        for step in (self, *self.sides.values()):
            counts.records_out += step.records_out
            step.records_out = 0

    def failure(self, error: BaseException, value: Any) -> MillstreamError:
        return user_code_error(
            error, self.info.name, self.info.uid, value, location=self.info.location
        )


def changes_refused(info: OperatorInfo) -> PlanError:
    """The error of an operator that gets records that are taken back, and cannot do so."""
    return PlanError(
        "CHANGES_REFUSED",
        f"operator {info.name!r} gets the changes of a changelog, and cannot take a record back",
        location=info.location,
        hint="a changelog goes through map, filter and flat_map, into count, and into sum and avg of "
        "summarize over windows by column, and to sinks of rows",
    )


class ChangelogStep(Step):
    """Rows of a changelog as records that count once, or are taken back; kinds are no more."""

    counts_records = True

    def push(self, flow: Flow) -> None:
        rows = as_list(flow.values)
        for row in rows:
            if not isinstance(row, Row):
                raise PlanError(
                    "NO_ROW_KIND",
                    f"operator {self.info.name!r}: {row!r:.200} is no row, so it has no kind",
                    location=self.info.location,
                    hint="map the records to Row.of_kind(...) before changelog()",
                )
        weights = np.array([_WEIGHTS[row.get_row_kind()] for row in rows], np.int64)
        if flow.rows is not None:
            flow = Flow(rows, flow.timestamps(), flow.base_keys.take(flow.rows))
        self.send(Flow(list(map(_plain, rows)), flow.base_ts, flow.base_keys, None, weights))


class RowKindsStep(Step):
    """The opposite of `ChangelogStep`: changes as rows with their kinds, which count once.

    ``changes``: gives for rows that are inserted or deleted the changes that they are together, each
    with the place of the row whose event time and order it has.
    """

    takes_weights = True
    counts_records = True

    def __init__(
        self, info: OperatorInfo, changes: Callable[[list[Row]], Iterable[tuple[int, Row]]]
    ) -> None:
        super().__init__(info)
        self._changes = changes

    def push(self, flow: Flow) -> None:
        weights = flow.weights()
        rows = [_plain(row) for row in as_list(flow.values)]
        places = flow.row_numbers()
        if weights is not None:
            repeated = np.repeat(np.arange(len(rows)), np.abs(weights))
            places = places[repeated]
            rows = [
                _of_kind(rows[at], RowKind.INSERT if weights[at] > 0 else RowKind.DELETE)
                for at in repeated
            ]
        changes = list(self._changes(rows))
        taken = places[np.array([at for at, _ in changes], np.int64)]
        keys = flow.base_keys.take(taken).extended(run_ordinals(taken))
        self.send(Flow([row for _, row in changes], flow.base_ts[taken], keys))


def _of_kind(row: Row, kind: RowKind) -> Row:
    found = _plain(row)
    found.set_row_kind(kind)
    return found


_WEIGHTS = {
    RowKind.INSERT: 1,
    RowKind.UPDATE_AFTER: 1,
    RowKind.UPDATE_BEFORE: -1,
    RowKind.DELETE: -1,
}


def _plain(row: Row) -> Row:
    found = Row(*row)
    if row._fields is not None:
        found.set_field_names(row._fields)
    return found


class FunctionStep(Step):
    """A step that calls a user function, opened before its first record."""

    method = ""
    counts_records = True

    def __init__(self, info: OperatorInfo, function: Any) -> None:
        super().__init__(info)
        self.function = function
        self.call: Callable[..., Any] = getattr(function, self.method, function)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        opener = getattr(self.function, "open", None)
        if opener is not None and not isinstance(self.function, type):
            self._guarded(lambda: opener(make_context(self.info, None)))
        super().open(make_context)

    def close(self) -> None:
        closer = getattr(self.function, "close", None)
        if closer is not None and not isinstance(self.function, type):
            self._guarded(closer)
        super().close()

    def _guarded(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failure(error, None) from error


class FieldStep(FunctionStep):
    """A step whose function may only read fields: then columns stay columns."""

    def __init__(self, info: OperatorInfo, function: Any) -> None:
        super().__init__(info, function)
        self.fields = fields_returned_by(self.call)
        self.takes_columns = self.fields is not None

    def read(self, flow: Flow) -> Columns | None:
        """The results of the function as columns, None if it has to be called."""
        if self.fields is None or not isinstance(flow.values, Columns):
            return None
        return flow.values.read(self.fields)


class MapStep(FieldStep):
    method = "map"
    takes_weights = True

    def push(self, flow: Flow) -> None:
        columns = self.read(flow)
        if columns is not None:
            self.send(flow.replace(columns))
            return
        kept, results = self.each(flow, self._without_side if self.policy.skips else self.call)
        if any_for_side(results):
            self._refuse_sides(as_list(kept.values), results)
        self.send(kept.replace(results))

    def _without_side(self, value: Any) -> Any:
        result = self.call(value)
        refuse_side(result)
        return result

    def _refuse_sides(self, values: list[Any], results: list[Any]) -> None:
        of_values = iter(results)
        apply_each(lambda _: refuse_side(next(of_values)), values, self.failure)


class StoredStep(Step):
    """Values as their declared type stores them: a function sees a Row where a Row was promised."""

    takes_columns = True
    takes_weights = True

    def __init__(self, info: OperatorInfo, type_info: TypeInformation) -> None:
        super().__init__(info)
        self.type_info = type_info
        self._is_plain_tuple = is_plain_tuple(type_info)

    def push(self, flow: Flow) -> None:
        if isinstance(flow.values, Columns):
            if flow.values.type_info == self.type_info:
                self.send(flow)
                return
            flow = flow.replace(flow.values.tolist())
        if self._is_plain_tuple and set(map(type, flow.values)) <= {tuple, type(None)}:
            # They are stored as they are; the buffer's codec checks the fields.
            self.send(flow)
            return
        try:
            columns = self.type_info.to_arrow_arrays(as_list(flow.values))
        except TypeMismatchError as error:
            raise TypeMismatchError(
                error.code,
                f"operator {self.info.name!r}: {error.message}",
                parameters=error.parameters,
                location=self.info.location,
                hint="return what output_type says, or declare what is returned",
            ) from None
        self.send(flow.replace(Columns(self.type_info, columns)))


class FilterStep(FieldStep):
    method = "filter"
    takes_weights = True

    def push(self, flow: Flow) -> None:
        results = self.read(flow)
        is_kept = None if results is None else results.is_true()
        if is_kept is not None:
            self.send(flow.keep(np.flatnonzero(is_kept)))
            return
        kept, verdicts = self.each(flow.replace(as_list(flow.values)), self.call)
        self.send(kept.keep([place for place, verdict in enumerate(verdicts) if verdict]))


def gathered(results: Any) -> list[Any]:
    """Collect the results of a function. A generator may change a value after yielding it."""
    if results is None:
        return []
    if results.__class__ is list:
        return results
    return [frozen(value) for value in results]


class FlatMapStep(FunctionStep):
    method = "flat_map"
    takes_weights = True

    def results(self, flow: Flow) -> tuple[Flow, list[list[Any]]]:
        """The values that the function did not fail on, and the results of each."""
        return self.each(flow, self.one)

    def one(self, value: Any) -> list[Any]:
        """The results for one value."""
        return without_sides(gathered(self.call(value)))

    def push(self, flow: Flow) -> None:
        kept, results = self.results(flow)
        self.send(kept.branched(results, self.info.turn))


class ProcessContext:
    """The context of a function without a key: event time, but no timers and no watermark."""

    def __init__(self, info: OperatorInfo, now_ms: Callable[[], int]) -> None:
        self._info = info
        self._now_ms = now_ms
        self.current: int = NO_TIMESTAMP

    def timestamp(self) -> int | None:
        return None if self.current == NO_TIMESTAMP else self.current

    def timer_service(self) -> ProcessContext:
        return self

    def current_processing_time(self) -> int:
        return self._now_ms()

    def current_watermark(self) -> int:
        raise needs_key(self._info, "reads the watermark")

    def register_event_time_timer(self, timestamp: int) -> None:
        raise needs_key(self._info, "registers a timer")

    register_processing_time_timer = register_event_time_timer
    delete_event_time_timer = register_event_time_timer
    delete_processing_time_timer = register_event_time_timer


def needs_key(info: OperatorInfo, what: str) -> PlanError:
    """The error of a function that does without a key what only a key makes possible."""
    return PlanError(
        "NEEDS_KEY",
        f"operator {info.name!r} {what}, but its input is not keyed",
        location=info.location,
        hint="call key_by(...) before process(...)",
    )


class ProcessStep(FlatMapStep):
    """A `ProcessFunction` without key; what it yields with a tag goes to the side outputs."""

    method = "process_element"
    takes_weights = False

    def __init__(self, info: OperatorInfo, function: Any, now_ms: Callable[[], int]) -> None:
        super().__init__(info, function)
        self.context = ProcessContext(info, now_ms)

    def results(self, flow: Flow) -> tuple[Flow, list[list[Any]]]:
        times = iter(flow.timestamps().tolist())
        context, call = self.context, self.call

        def one(value: Any) -> list[Any]:
            context.current = next(times)
            return checked_sides(gathered(call(value, context)))

        return self.each(flow, one)

    def push(self, flow: Flow) -> None:
        kept, results = self.results(flow)
        out = kept.branched(results, self.info.turn)
        main: list[int] = []
        tagged: dict[str, list[int]] = {}
        values = as_list(out.values)
        for place, value in enumerate(values):
            if value.__class__ is tuple and len(value) == 2 and value[0].__class__ is OutputTag:
                tagged.setdefault(value[0].tag_id, []).append(place)
                values[place] = value[1]
            else:
                main.append(place)
        self.send(out.keep(main))
        for tag, places in tagged.items():
            if tag in self.sides:
                self.sides[tag].send(out.keep(places))

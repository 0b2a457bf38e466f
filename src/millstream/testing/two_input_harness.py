"""A harness for functions of connected streams."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from millstream.common.errors import CheckpointError, PlanError, short_repr, user_location
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.watermark_strategy import Watermark
from millstream.datastream.building.stream_types import key_of
from millstream.datastream.functions import KeySelector
from millstream.datastream.functions.adapters import KeyedCoFlatMap, KeyedCoMap
from millstream.datastream.functions.checks import (
    CO_FLAT_MAP,
    CO_MAP,
    CO_PROCESS,
    KEY,
    KEYED_CO_PROCESS,
    check_function,
    plain_callable,
)
from millstream.kernel.operators.two_inputs.connected import CoProcessOperator, PairKey
from millstream.kernel.records.buffers import Records
from millstream.testing.engine.cores import Core, KeyedCore
from millstream.testing.engine.marks import checked_time
from millstream.testing.harness import _Harness

__all__ = ["KeyedTwoInputHarness"]

_KINDS = (CO_MAP, CO_FLAT_MAP, CO_PROCESS, KEYED_CO_PROCESS)


class _TwoInputCore(KeyedCore):
    """Gives a record the watermark of its own input as its stamp."""

    stamp = MIN_TIMESTAMP

    def _hashed(self, records: Records) -> Records:
        records.keys.stamp = np.array([self.stamp], np.int64)
        return super()._hashed(records)


class KeyedTwoInputHarness(_Harness):
    """Runs a function on connected streams with keys; time is moved by hand, for each input.

    It has everything of `KeyedProcessHarness`, except for its input.

    Parameters
    ----------
    function
        A `KeyedCoProcessFunction`, `CoProcessFunction`, `CoMapFunction` or `CoFlatMapFunction`.
    key_selector1, key_selector2
        For each input, as in ``key_by``: a function, or the position or name of a field.
    name
        The name of the operator in errors and metrics.

    Examples
    --------
    >>> from millstream.datastream import KeyedCoProcessFunction
    >>> from millstream.datastream.state import ValueStateDescriptor
    >>> class Match(KeyedCoProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.order = runtime_context.get_state(ValueStateDescriptor("order"))
    ...
    ...     def process_element1(self, order, ctx):
    ...         self.order.update(order)
    ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
    ...
    ...     def process_element2(self, payment, ctx):
    ...         yield self.order.value(), payment
    ...         self.order.clear()
    ...
    ...     def on_timer(self, timestamp, ctx):
    ...         if self.order.value() is not None:
    ...             yield "unpaid", ctx.get_current_key()
    >>> harness = KeyedTwoInputHarness(Match(), 0, 0)
    >>> harness.process_element1(("a", "tea"), 1)
    >>> harness.process_element1(("b", "milk"), 2)
    >>> harness.process_element2(("a", 3), 4)
    >>> harness.process_watermark1(20)
    >>> harness.current_watermark() < 0  # The other input holds it.
    True
    >>> harness.process_watermark2(15)
    >>> harness.get_output()[1:]
    [StreamRecord(value=('unpaid', 'b'), timestamp=12), Watermark(timestamp=15)]
    """

    _core: _TwoInputCore

    def __init__(
        self,
        function: Any,
        key_selector1: Callable[[Any], Any] | KeySelector | int | str,
        key_selector2: Callable[[Any], Any] | KeySelector | int | str,
        *,
        name: str = "Keyed Co-Process",
    ) -> None:
        self._selector = PairKey(_selector(key_selector1), _selector(key_selector2))
        self._watermarks = [MIN_TIMESTAMP, MIN_TIMESTAMP]
        kinds = next((k for k in _KINDS if isinstance(function, k[0].base)), KEYED_CO_PROCESS)
        for kind in kinds:
            check_function(function, kind)
        super().__init__(function, name)

    def _make_core(self, function: Any) -> Core:
        for kinds, adapter in ((CO_MAP, KeyedCoMap), (CO_FLAT_MAP, KeyedCoFlatMap)):
            if isinstance(function, kinds[0].base):
                function = adapter(function)
        return _TwoInputCore(CoProcessOperator(self.info, function, self._selector, timed=True))

    # -- input -----------------------------------------------------------------------------------

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """Give the function a record of the first input, with its event time if it has one."""
        self._process(0, value, timestamp)

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """Give the function a record of the second input, with its event time if it has one."""
        self._process(1, value, timestamp)

    def _process(self, number: int, value: Any, timestamp: int | None) -> None:
        self.open()
        self._core.stamp = self._watermarks[number]
        super().process_element((number, value), timestamp)

    def process_watermark1(self, timestamp: int | Watermark) -> None:
        """Move the watermark of the first input; the lower one of both fires timers."""
        self._move(0, timestamp)

    def process_watermark2(self, timestamp: int | Watermark) -> None:
        """Move the watermark of the second input; the lower one of both fires timers."""
        self._move(1, timestamp)

    def process_watermark(self, timestamp: int | Watermark) -> None:
        """Move the watermarks of both inputs."""
        self._move(0, timestamp)
        self._move(1, timestamp)

    def _move(self, number: int, timestamp: int | Watermark) -> None:
        time = timestamp.timestamp if isinstance(timestamp, Watermark) else checked_time(timestamp)
        moved = list(self._watermarks)
        moved[number] = max(moved[number], time)
        if min(moved) > min(self._watermarks):
            super().process_watermark(Watermark(min(moved)))
        # Not before: if a timer fails, nothing has happened.
        self._watermarks = moved

    def process_element(self, value: Any, timestamp: int | None = None) -> NoReturn:
        """Refuse: there are two inputs."""
        raise PlanError(
            "WHICH_INPUT",
            f"of which input is {short_repr(value)}?",
            location=user_location(),
            hint="call process_element1 or process_element2",
        )

    # -- state -----------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The content of a checkpoint: state, timers and clocks."""
        return pickle.dumps((super().snapshot(), self._watermarks), protocol=5)

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot, as a restarted task does: with a new copy of the function."""
        try:
            state, watermarks = pickle.loads(snapshot)
        except Exception as error:
            raise CheckpointError("BAD_SNAPSHOT", f"this is no snapshot: {error}") from error
        super().restore(state)
        self._watermarks = watermarks


def _selector(selector: Any) -> Callable[[Any], Any]:
    if isinstance(selector, int | str):
        return key_of(None, selector)[0]
    return plain_callable(selector, KEY)

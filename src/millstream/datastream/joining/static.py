"""Joins of a stream with a table: one that stays as it is, or one that is read again and again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, cast

from millstream.common.arguments import positive_int
from millstream.common.errors import PlanError, user_location
from millstream.common.time import positive_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.type_variables import IN, T
from millstream.common.typeinfo import TypeInformation
from millstream.datastream.building.operator_settings import StreamSettings
from millstream.datastream.building.stream_types import key_of
from millstream.datastream.functions import FlatMapFunction, KeySelector, ProcessFunction
from millstream.datastream.functions.checks import (
    FLAT_MAP,
    PROCESS,
    FunctionKind,
    NoFunctionClass,
    check_function,
    plain_callable,
)
from millstream.datastream.joining.functions import (
    FlatJoinFunction,
    JoinFunction,
    PairFunction,
    pair_function,
)
from millstream.datastream.joining.static_tables import MAX_BYTES, Rows, StaticTable, read_table
from millstream.datastream.joining.streams import check_key_types

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V
    from millstream.datastream.functions.types import Key
    from millstream.datastream.streams.data_stream import DataStream

    _PairLike: TypeAlias = (
        Callable[[IN, Any], object]
        | JoinFunction[IN, Any, object]
        | FlatJoinFunction[IN, Any, object]
    )

__all__ = ["TableJoinMethods"]

How = Literal["inner", "left"]

_LOAD = FunctionKind("join_changing", NoFunctionClass, "", ())


# -- the functions ---------------------------------------------------------------------------------


class _TableJoin:
    """Joins records with the rows of a table."""

    def __init__(self, key: Callable[[Any], Any], pairs: PairFunction, how: How) -> None:
        self._key = key
        self._pairs = pairs
        self._keeps_all = how == "left"

    def open(self, runtime_context: Any) -> None:
        self._pairs.open(runtime_context)

    def close(self) -> None:
        self._pairs.close()

    def _joined(self, value: Any, table: StaticTable) -> list[Any]:
        rows: list[Any] = table.rows(self._key(value))
        if not rows and self._keeps_all:
            rows = [None]
        pairs = self._pairs
        return [result for row in rows for result in pairs(value, row)]


class _StaticJoin(_TableJoin, FlatMapFunction):
    def __init__(
        self, table: StaticTable, key: Callable[[Any], Any], pairs: PairFunction, how: How
    ) -> None:
        super().__init__(key, pairs, how)
        self._table = table

    def flat_map(self, value: Any) -> list[Any]:
        return self._joined(value, self._table)


class _ChangingJoin(_TableJoin, ProcessFunction):
    """``load`` gives the table; it is called again when what it gave is ``refresh_ms`` old."""

    def __init__(
        self,
        load: Callable[[], StaticTable],
        refresh_ms: int,
        key: Callable[[Any], Any],
        pairs: PairFunction,
        how: How,
    ) -> None:
        super().__init__(key, pairs, how)
        self._load = load
        self._refresh_ms = refresh_ms
        self._table: StaticTable | None = None
        self._loaded_ms = 0

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> list[Any]:
        now_ms = ctx.timer_service().current_processing_time()
        if self._table is None or now_ms - self._loaded_ms >= self._refresh_ms:
            self._table, self._loaded_ms = self._load(), now_ms
        return self._joined(value, self._table)


@dataclasses.dataclass(frozen=True)
class _Loader:
    """Reads a table again, in a task."""

    load: Callable[[], Any]
    right_key: Key
    max_bytes: int

    def __call__(self) -> StaticTable:
        rows = read_table(self.load(), self.max_bytes)
        return rows.by(_right_selector(rows, self.right_key, "join_changing")[0])


# -- the methods of streams ------------------------------------------------------------------------


class TableJoinMethods(StreamSettings, Generic[T]):
    """The methods of `DataStream` that join it with tables."""

    def join_static(
        self,
        table: Any,
        left_key: Key[T],
        right_key: Key | None = None,
        how: How = "inner",
        function: _PairLike[T] | None = None,
        output_type: TypeLike[V] | None = None,
        *,
        max_bytes: int = MAX_BYTES,
    ) -> DataStream[V]:
        """Join each record with the rows of a table that does not change.

        The table is read now, here on the driver, and travels with the function: there is no
        exchange, and a record is joined where it is. Keys that are None meet nothing.

        Parameters
        ----------
        table
            A Spark or pandas DataFrame, an Arrow table, or a list of rows, tuples or dicts.
        left_key
            The key of a record: a function, or the position or name of a field.
        right_key
            The key of a row likewise; by default the same field as ``left_key``.
        how
            ``"inner"`` drops records without a row, ``"left"`` gives them None.
        function
            A function of record and row, see `WithWindow.apply`. Without one the results are pairs
            (record, row); rows are `Row` objects with the names of the columns.
        output_type
            The type of the results, see `DataStream.map`.
        max_bytes
            Refuse a larger table.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.testing import run_local
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> orders = env.from_collection([("pen", 3), ("ink", 1)])
        >>> prices = [{"item": "pen", "price": 2.5}]
        >>> joined = orders.join_static(prices, 0, "item")
        >>> run_local(joined).values()
        [(('pen', 3), Row(item='pen', price=2.5))]
        """
        stream = cast("DataStream[T]", self)
        rows = read_table(table, positive_int("max_bytes", max_bytes))
        left = stream.key_by(left_key)
        right, right_type = _right_selector(rows, _or_left(right_key, left_key), "join_static")
        check_key_types(left._key_type, right_type, "join_static")
        types = (stream._node.output_type, rows.type_info)
        pairs, type_info = pair_function(function, output_type, types, "join_static", shared=True)
        join = _StaticJoin(rows.by(right), left._selector, pairs, _checked_how(how))
        return stream._stateless("flat_map", "Join Static", join, FLAT_MAP, type_info)

    def join_changing(
        self,
        load: Callable[[], Any],
        left_key: Key[T],
        right_key: Key | None = None,
        refresh: DurationLike = "1 min",
        how: How = "inner",
        function: _PairLike[T] | None = None,
        output_type: TypeLike[V] | None = None,
        *,
        max_bytes: int = MAX_BYTES,
    ) -> DataStream[V]:
        """Join each record with the rows of a table that changes slowly.

        Every task loads the table at its first record, and again when it has become too old. So
        which version a record meets depends on when it is processed: results are not the same
        under every schedule, nor when an epoch is repeated after a failure. Where they must be,
        bring the changes in as a stream: with broadcast state (``connect`` with a broadcast
        stream), or with ``interval_join``.

        Parameters
        ----------
        load
            A function without arguments that returns a table, as in `join_static`; it runs in the
            tasks, so it cannot use Spark.
        left_key, right_key, how, function, output_type, max_bytes
            As in `join_static`.
        refresh
            How old the table may become, in processing time.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.testing import run_local
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> orders = env.from_collection([("pen", 3), ("ink", 1)])
        >>> prices = lambda: [("pen", 2.5)]
        >>> amounts = orders.join_changing(
        ...     prices, 0, refresh="10 min", how="left", function=lambda o, p: p and o[1] * p.f1
        ... )
        >>> run_local(amounts).values()
        [7.5, None]
        """
        stream = cast("DataStream[T]", self)
        check_function(load, _LOAD)
        types = (None, None)
        pairs, type_info = pair_function(function, output_type, types, "join_changing", shared=True)
        loader = _Loader(load, _or_left(right_key, left_key), positive_int("max_bytes", max_bytes))
        refresh_ms = positive_millis(refresh, "refresh")
        selector = stream.key_by(left_key)._selector
        join = _ChangingJoin(loader, refresh_ms, selector, pairs, _checked_how(how))
        return stream._stateless("process", "Join Changing", join, PROCESS, type_info)


def _or_left(right_key: Key | None, left_key: Key) -> Key:
    if right_key is not None:
        return right_key
    if isinstance(left_key, int | str):
        return left_key
    raise _error(
        "NO_RIGHT_KEY",
        "left_key is a function, and it is not said what the key of the table is",
        'add right_key="name", or a function of the row',
    )


def _right_selector(
    rows: Rows, right_key: Key, call: str
) -> tuple[Callable[[Any], Any], TypeInformation | None]:
    if isinstance(right_key, int | str):
        return key_of(rows.type_info, right_key)
    return plain_callable(right_key, FunctionKind(call, KeySelector, "get_key", ("row",))), None


def _checked_how(how: object) -> How:
    if how in ("inner", "left"):
        return how
    raise _error("BAD_JOIN", f"how is 'inner' or 'left', got {how!r}", 'for example how="left"')


def _error(code: str, message: str, hint: str) -> PlanError:
    return PlanError(code, message, location=user_location(), hint=hint)

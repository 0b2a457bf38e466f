"""Operations on whole inputs: the input has an end, and all results come then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millstream.common.arguments import positive_int
from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import TypeInformation
from millstream.datastream.windowing.adapters import PassedOn
from millstream.datastream.windowing.triggers import EndOfStreamTrigger
from millstream.datastream.windowing.untimed import EndOfStreamWindows
from millstream.kernel.windows.contents import Reduced
from millstream.kernel.windows.spec import WindowSpec
from millstream.plan.graph import KeyedNode, Node, Selector, SourceNode

if TYPE_CHECKING:
    from millstream.datastream.streams.data_stream import DataStream, KeyedStream

__all__ = [
    "Earliest",
    "distinct",
    "first_records",
    "follows_sources",
    "require_bounded",
    "whole_input",
    "whole_input_spec",
]


def require_bounded(call: str, streams: Iterable[DataStream], hint: str) -> None:
    """Raise a `PlanError` at the user's line if a source behind one of the streams never ends.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.socket_text_stream("localhost", 9999).distinct()
    Traceback (most recent call last):
    millstream.common.errors.PlanError: [UNBOUNDED_INPUT] distinct gives its results at the end of \
the input, and source 'Socket' has none
    ...
    """
    for stream in streams:
        for node in _upstream(stream):
            if isinstance(node, SourceNode) and not node.source.bounded:
                raise PlanError(
                    "UNBOUNDED_INPUT",
                    f"{call} gives its results at the end of the input, "
                    f"and source {node.name!r} has none",
                    location=user_location(),
                    hint=hint,
                )


def follows_sources(stream: DataStream) -> bool:
    """Return whether records come from their sources without an exchange by key."""
    return not any(isinstance(node, KeyedNode) for node in _upstream(stream))


def _upstream(stream: DataStream) -> Iterator[Node]:
    """A stream's operator and all operators before it."""
    graph = stream.get_execution_environment()._graph
    todo, seen = [stream._id], set[int]()
    while todo:
        node_id = todo.pop()
        if node_id not in seen:
            seen.add(node_id)
            todo.extend(graph[node_id].inputs)
            yield graph[node_id]


def whole_input_spec(function: Any, **options: Any) -> WindowSpec:
    """Return a window that holds everything and fires at the end; ``options`` of `WindowSpec`."""
    return WindowSpec(
        assigner=EndOfStreamWindows.get(),
        trigger=EndOfStreamTrigger.create(),
        function=function,
        **options,
    )


def whole_input(
    stream: DataStream,
    name: str,
    function: Any,
    output_type: TypeInformation | None,
    *,
    selector: Selector,
    key_type: TypeInformation | None = None,
    fold: Any = None,
) -> DataStream:
    """Add an operator that calls a window function with all records of each key, at the end."""
    return stream._then(
        KeyedNode,
        name=name,
        kind="window",
        function=whole_input_spec(function, fold=fold),
        selector=selector,
        key_type=key_type,
        output_type=output_type,
    )


# -- distinct and first ----------------------------------------------------------------------------


def distinct(keyed: KeyedStream) -> DataStream:
    """Keep the earliest record of each key."""
    return whole_input(
        keyed,
        "Distinct",
        PassedOn(),
        keyed._node.output_type,
        selector=keyed._selector,
        key_type=keyed._key_type,
        fold=Reduced(_older, prefers_older=True, selects=True),
    )


def itself(value: Any) -> Any:
    """Return a value: the key of records that are their own key."""
    return value


def _older(older: Any, newer: Any) -> Any:
    return older


def first_records(
    stream: DataStream, n: int, selector: Selector, key_type: TypeInformation | None
) -> DataStream:
    """Keep the earliest records of each key."""
    require_bounded("first", [stream], "use count_window(n), or a window with a CountTrigger")
    fold = Earliest(positive_int("the number of records", n))
    output_type = stream._node.output_type
    return whole_input(
        stream, "First", PassedOn(), output_type, selector=selector, key_type=key_type, fold=fold
    )


@dataclass(frozen=True)
class Earliest:
    """The first records of a window, in the order of the job.

    Examples
    --------
    >>> fold, content = Earliest(2), None
    >>> for order, value in enumerate("dabc"):
    ...     content = fold.add(content, value, 0, (-order,))
    >>> fold.elements(content)
    ['c', 'b']
    """

    count: int
    needs_order = True
    layout = "the earliest records"
    is_ours = True

    def add(self, content: Any, value: Any, ts: int, order: Any) -> Any:
        kept = [] if content is None else content
        kept.append((order, value))
        # Sorting now and then costs less than keeping the list in order.
        return self._cut(kept) if len(kept) >= 2 * self.count + 16 else kept

    def merge(self, contents: Sequence[Any]) -> Any:
        return self._cut([entry for content in contents for entry in content])

    def elements(self, content: Any) -> list[Any]:
        return [value for _, value in self._cut(content)]

    def _cut(self, entries: list[Any]) -> list[Any]:
        return sorted(entries, key=_order_of)[: self.count]


def _order_of(entry: tuple[Any, Any]) -> Any:
    return entry[0]

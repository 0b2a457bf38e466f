"""Fused stateless steps: what they do with values, event times and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import MillstreamError, PlanError, UserCodeError
from millstream.common.output_tag import OutputTag
from millstream.common.typeinfo import Types
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.buffers import (
    DATA,
    NO_TIMESTAMP,
    ArrowCodec,
    PickleCodec,
    Records,
    concat_records,
    decode,
)
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.stages.edges import InEdge
from millstream.kernel.stages.programs import Block
from millstream.kernel.steps.chain import EdgeStep, Stay, TimestampStep
from millstream.kernel.steps.routing import Place
from millstream.kernel.steps.stateless import Flow, Step
from millstream.plan.graph import (
    JobGraph,
    SideOutputNode,
    SinkNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
)
from millstream.testing import LocalJob
from tests.support.kernel_support import source_of
from tests.support.strategies import examples

ODD = OutputTag("odd")
NUMBERS = [(number, number * 10) for number in range(6)]


class Graph:
    """A graph of stateless steps over one source."""

    def __init__(self, events: list[tuple[Any, int]], *, timed: bool = True) -> None:
        self.graph = JobGraph()
        self.source = source_of(self.graph, events, timed=timed)
        self.events = events

    def columns(self) -> tuple[list[Any], Any]:
        return [value for value, _ in self.events], np.array([ts for _, ts in self.events])

    def step(self, kind: str, function: Any, after: int | None = None) -> int:
        inputs = (self.source if after is None else after,)
        return self.graph.add(
            StatelessNode, name=kind, uid=f"{kind}-uid", inputs=inputs, kind=kind, function=function
        ).id

    def side(self, after: int, tag: str = "odd") -> int:
        return self.graph.add(SideOutputNode, name=tag, inputs=(after,), tag=tag).id

    def sink(self, after: int, name: str = "out") -> None:
        self.graph.add(SinkNode, name=name, inputs=(after,), sink=DiscardingSink())

    def job(self) -> LocalJob:
        return LocalJob(self.graph)

    def run(self, after: int) -> list[Any]:
        self.sink(after)
        return self.job().run_all()["out"]


class TestKinds:
    def test_map_keeps_event_times(self) -> None:
        graph = Graph(NUMBERS)
        assert graph.run(graph.step("map", lambda n: n + 1)) == [
            (1, 0),
            (2, 10),
            (3, 20),
            (4, 30),
            (5, 40),
            (6, 50),
        ]

    def test_filter_keeps_what_is_true(self) -> None:
        graph = Graph(NUMBERS)
        assert graph.run(graph.step("filter", lambda n: n % 3)) == [
            (1, 10),
            (2, 20),
            (4, 40),
            (5, 50),
        ]

    def test_flat_map_gives_none_one_or_many(self) -> None:
        graph = Graph(NUMBERS[:3])
        assert graph.run(graph.step("flat_map", lambda n: ["x"] * n)) == [
            ("x", 10),
            ("x", 20),
            ("x", 20),
        ]

    def test_flat_map_may_return_none_or_a_generator(self) -> None:
        def flat(number: int) -> Any:
            return None if number == 0 else (n for n in range(number))

        graph = Graph(NUMBERS[:3])
        assert graph.run(graph.step("flat_map", flat)) == [(0, 10), (0, 20), (1, 20)]

    def test_process_sees_event_time_and_sends_aside(self) -> None:
        class Split:
            def process_element(self, value: int, ctx: Any) -> Any:
                yield value, ctx.timestamp()
                if value % 2:
                    yield ODD, value

        graph = Graph(NUMBERS[:4])
        node = graph.step("process", Split())
        graph.sink(graph.side(node), "odd")
        graph.sink(node)
        assert graph.job().run_all() == {
            "odd": [(1, 10), (3, 30)],
            "out": [((0, 0), 0), ((1, 10), 10), ((2, 20), 20), ((3, 30), 30)],
        }

    def test_side_output_nobody_reads_is_dropped(self) -> None:
        class Split:
            def process_element(self, value: int, ctx: Any) -> Any:
                return [(ODD, value), value]

        graph = Graph(NUMBERS[:1])
        assert graph.run(graph.step("process", Split())) == [(0, 0)]

    def test_side_output_goes_through_steps_of_its_own(self) -> None:
        class Split:
            def process_element(self, value: int, ctx: Any) -> Any:
                return [(ODD, value)] if value % 2 else [value]

        graph = Graph(NUMBERS[:4])
        node = graph.step("process", Split())
        graph.sink(graph.step("map", str, after=graph.side(node)), "odd")
        graph.sink(node)
        assert graph.job().run_all() == {
            "odd": [("1", 10), ("3", 30)],
            "out": [(0, 0), (2, 20)],
        }

    def test_process_without_timestamps_sees_none(self) -> None:
        class Times:
            def process_element(self, value: Any, ctx: Any) -> Any:
                return [ctx.timestamp()]

        graph = JobGraph()
        stream = source_of(graph, [(0, -(2**63))], timed=False)
        node = graph.add(
            StatelessNode, name="p", inputs=(stream,), kind="process", function=Times()
        )
        graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
        assert LocalJob(graph).run_all()["out"] == [(None, None)]

    def test_process_without_a_key_has_no_timers(self) -> None:
        class Timers:
            def process_element(self, value: Any, ctx: Any) -> Any:
                ctx.timer_service().register_event_time_timer(5)

        graph = Graph(NUMBERS[:1])
        with pytest.raises(MillstreamError, match="NEEDS_KEY"):
            graph.run(graph.step("process", Timers()))

    def test_functions_may_be_objects_with_open_and_close(self) -> None:
        class Adder:
            def open(self, context: Any) -> None:
                self.n = 100

            def map(self, value: int) -> int:
                return value + self.n

            def close(self) -> None:
                self.n = 0

        adder = Adder()
        graph = Graph(NUMBERS[:2])
        graph.sink(graph.step("map", adder))
        job = graph.job()
        assert job.run_all()["out"] == [(100, 0), (101, 10)]
        for program in job.programs.sources.values():
            program.close()
        assert adder.n == 0


class TestOrder:
    def records(self, graph: Graph, after: int) -> Records:
        """What leaves the source stage, as it comes, with its order keys."""
        graph.sink(after)
        (program,) = graph.job().programs.sources.values()
        block = Block(*graph.columns(), channel=0, frag=0, first_pos=0)
        rows = [row for row in program.run([block], 0) if row.kind == DATA]
        return concat_records([decode(row.header, row.payload, PickleCodec()) for row in rows])

    def keys(self, graph: Graph, after: int) -> list[tuple[int, bytes]]:
        keys = self.records(graph, after).keys
        paths = [keys.path] * len(keys) if isinstance(keys.path, bytes) else keys.path.tolist()
        return list(zip(keys.pos.tolist(), paths, strict=True))

    def test_order_keys_are_positions_and_ordinals(self) -> None:
        graph = Graph(NUMBERS[:4])
        keys = self.keys(graph, graph.step("flat_map", lambda n: ["x"] * (n % 3)))
        assert [position for position, _ in keys] == [1, 2, 2]
        assert keys == sorted(keys)
        assert len(set(keys)) == 3

    def test_ordinals_of_a_flat_map_of_a_flat_map_count_on(self) -> None:
        graph = Graph(NUMBERS[:3])
        twice = graph.step("flat_map", lambda n: [n, n], graph.step("flat_map", lambda n: [n, n]))
        keys = self.keys(graph, twice)
        assert [position for position, _ in keys] == [0] * 4 + [1] * 4 + [2] * 4
        assert keys == sorted(keys)
        assert len(set(keys)) == 12

    def test_path_does_not_depend_on_what_else_is_in_the_block(self) -> None:
        """A block without repeated rows takes a short cut; its keys must be the same."""
        alone, among = Graph(NUMBERS[1:2]), Graph(NUMBERS[1:3])
        flat: list[Any] = ["flat_map", lambda n: ["x"] * n]
        (one,) = self.keys(alone, alone.step(*flat))
        first, *_ = self.keys(among, among.step(*flat))
        assert one == first

    STEPS = st.lists(st.sampled_from(("map", "filter", "flat_map")), max_size=4)
    FUNCTIONS = {
        "map": lambda n: n * 2 + 1,
        "filter": lambda n: n % 4 != 3,
        "flat_map": lambda n: [n + i for i in range(n % 3)],
    }

    @examples(60)
    @given(STEPS, st.lists(st.integers(0, 20), max_size=8), st.integers(1, 4))
    def test_any_chain_is_the_chain_of_comprehensions_in_order(
        self, steps: list[str], numbers: list[int], splits: int
    ) -> None:
        graph = Graph([(number, 0) for number in numbers], timed=False)
        node, expected = graph.source, numbers
        for step in steps:
            node = graph.step(step, self.FUNCTIONS[step], after=node)
            expected = self.apply(step, expected)
        graph.sink(node)
        got = graph.job().run_all(splits=splits)["out"]
        assert [value for value, _ in got] == expected

    def apply(self, step: str, numbers: list[int]) -> list[int]:
        function = self.FUNCTIONS[step]
        if step == "map":
            return [function(n) for n in numbers]
        if step == "filter":
            return [n for n in numbers if function(n)]
        return [m for n in numbers for m in function(n)]


class TestBranches:
    def test_stream_used_twice_is_read_once_and_goes_both_ways(self) -> None:
        graph = Graph(NUMBERS[:2])
        graph.sink(graph.step("map", str), "text")
        graph.sink(graph.source, "numbers")
        assert graph.job().run_all() == {
            "text": [("0", 0), ("1", 10)],
            "numbers": [(0, 0), (1, 10)],
        }

    def test_union_of_a_stream_with_itself_has_everything_twice(self) -> None:
        graph = Graph(NUMBERS[:2])
        union = graph.graph.add(UnionNode, name="u", inputs=(graph.source, graph.source)).id
        assert graph.run(union) == [(0, 0), (0, 0), (1, 10), (1, 10)]

    def test_map_that_changes_its_record_does_not_change_it_for_other_branches(self) -> None:
        def change(record: list[int]) -> list[int]:
            record.append(9)
            return record

        graph = Graph([([1], 0)])
        graph.sink(graph.step("map", change), "changed")
        graph.sink(graph.source, "as it was")
        assert graph.job().run_all() == {"changed": [([1, 9], 0)], "as it was": [([1], 0)]}

    @pytest.mark.parametrize("kind", ["flat_map", "process"])
    def test_yielded_object_is_emitted_as_it_was_when_yielded(self, kind: str) -> None:
        class Prefixes:
            def flat_map(self, record: list[int], ctx: Any = None) -> Any:
                prefix: list[int] = []
                for number in record:
                    prefix.append(number)
                    yield prefix

            process_element = flat_map

        graph = Graph([([1, 2], 0)])
        assert graph.run(graph.step(kind, Prefixes())) == [([1], 0), ([1, 2], 0)]


class TestTimestamps:
    def assign(self, graph: Graph, strategy: WatermarkStrategy) -> int:
        return graph.graph.add(
            TimestampsNode, name="times", inputs=(graph.source,), strategy=strategy
        ).id

    def test_assigner_gets_the_earlier_timestamp(self) -> None:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda value, earlier: earlier + value
        )
        graph = Graph(NUMBERS[:3])
        assert graph.run(self.assign(graph, strategy)) == [(0, 0), (1, 11), (2, 22)]

    def test_without_an_assigner_the_sources_timestamps_stay(self) -> None:
        graph = Graph(NUMBERS[:2], timed=False)
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        assert graph.run(self.assign(graph, strategy)) == [(0, 0), (1, 10)]

    @pytest.mark.parametrize("bad", [None, 1.5, "1", True, 2**63, -(2**63) - 1])
    def test_timestamp_that_is_no_int_is_refused(self, bad: Any) -> None:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda value, earlier: bad
        )
        graph = Graph(NUMBERS[:1])
        with pytest.raises(MillstreamError, match="BAD_TIMESTAMP"):
            graph.run(self.assign(graph, strategy))

    def test_record_without_a_timestamp_is_refused(self) -> None:
        graph = Graph([("x", -(2**63))], timed=False)
        with pytest.raises(MillstreamError, match="NO_TIMESTAMP"):
            graph.run(self.assign(graph, WatermarkStrategy.for_monotonous_timestamps()))


class TestErrors:
    FAILING = {
        "map": lambda n: 1 // (n - 3),
        "filter": lambda n: 1 // (n - 3),
        "flat_map": lambda n: [1 // (n - 3)],
    }

    @pytest.mark.parametrize("kind", list(FAILING))
    def test_exception_names_operator_uid_and_record(self, kind: str) -> None:
        graph = Graph(NUMBERS)
        with pytest.raises(UserCodeError) as caught:
            graph.run(graph.step(kind, self.FAILING[kind]))
        error = caught.value
        assert (error.operator, error.uid, error.record) == (kind, f"{kind}-uid", "3")

    def test_exception_in_a_generator_names_the_record(self) -> None:
        def flat(number: int) -> Any:
            yield 1 // (number - 3)

        graph = Graph(NUMBERS)
        with pytest.raises(UserCodeError) as caught:
            graph.run(graph.step("flat_map", flat))
        assert caught.value.record == "3"

    def test_error_is_that_of_the_operator_next_to_the_cause(self) -> None:
        graph = Graph(NUMBERS)
        node = graph.step("map", lambda n: n + 1)
        with pytest.raises(UserCodeError) as caught:
            graph.run(graph.step("filter", self.FAILING["filter"], after=node))
        assert (caught.value.operator, caught.value.record) == ("filter", "3")


class _Taken(Step):
    """Keeps the flows that it gets."""

    takes_columns = True

    def __init__(self) -> None:
        super().__init__(OperatorInfo("taken", "taken"))
        self.flows: list[Flow] = []

    def push(self, flow: Flow) -> None:
        self.flows.append(flow)


@pytest.mark.parametrize(
    "strategy",
    [WatermarkStrategy.no_watermarks(), WatermarkStrategy.for_monotonous_timestamps()],
    ids=["none", "monotonous"],
)
def test_columns_stay_columns_where_records_keep_their_times(strategy: WatermarkStrategy) -> None:
    step, taken = TimestampStep(OperatorInfo("times", "times"), 1, strategy, False), _Taken()
    step.children.append(taken)
    type_info = Types.TUPLE([Types.STRING()])
    values = Columns(type_info, ArrowCodec(type_info).arrays([("a",), ("b",)]))
    times = np.array([5, 3])
    step.push(Flow(values, times, OrderKeys.of_fragment(times, 0, 0, 0)))
    (flow,) = taken.flows
    assert isinstance(flow.values, Columns)
    assert flow.timestamps().tolist() == [5, 3]


def test_a_record_in_columns_without_a_time_is_shown() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    step = TimestampStep(OperatorInfo("times", "times"), 1, strategy, False)
    type_info = Types.TUPLE([Types.STRING()])
    values = Columns(type_info, ArrowCodec(type_info).arrays([("a",)]))
    times = np.array([NO_TIMESTAMP])
    with pytest.raises(PlanError, match=r"NO_TIMESTAMP.*\('a',\) has no timestamp"):
        step.push(Flow(values, times, OrderKeys.of_fragment(times, 0, 0, 0)))


INFO = OperatorInfo("reader", "reader", None)
LONGS = ArrowCodec(Types.LONG())


def flow_of(values: Any, weights: Any = None) -> Flow:
    times = np.zeros(len(values), np.int64)
    return Flow(values, times, OrderKeys.of_fragment(times, 0, 0, 0), None, weights)


class TestOperatorsOfOneStage:
    def edges(self, sent: list[Any]) -> tuple[EdgeStep, InEdge]:
        reader = InEdge(1, LONGS, None, stays=True)
        stay = Stay(None, reader.handed)
        edge = EdgeStep(INFO, 1, LONGS, 1, Place.ONE_SLOT, raised=True, stay=stay)
        edge.bind(sent.append, 0)
        return edge, reader

    def test_columns_are_handed_over_once_and_not_written(self) -> None:
        sent: list[Any] = []
        edge, reader = self.edges(sent)
        weights = np.array([1, -1])
        edge.push(flow_of(Columns(Types.LONG(), [pa.array([1, 2])]), weights))
        edge.push(flow_of(Columns(Types.LONG(), [pa.array([3])]), np.array([1])))
        edge.flush()
        assert sent == []
        one, other = reader.arrived([], None)  # type: ignore[arg-type]
        assert one.decoded(LONGS).values == [1, 2] and one.weights is not None
        assert one.weights.tolist() == [1, -1]
        assert other.decoded(LONGS).values == [3]
        assert other.weights is None, "an operator that takes no weights may get them"
        assert reader.arrived([], None) == []  # type: ignore[arg-type]

    def test_objects_are_written_because_a_function_may_change_them(self) -> None:
        sent: list[Any] = []
        edge, reader = self.edges(sent)
        edge.push(flow_of([1, 2]))
        edge.flush()
        assert len(sent) == 1 and reader.handed == []

"""From the stores of slots to tables, and from tables to the stores of other slots."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from millstream.common.errors import CheckpointError
from millstream.common.output_tag import OutputTag
from millstream.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millstream.common.typeinfo import Types
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.kernel.operators.two_inputs import interval_join
from millstream.kernel.operators.two_inputs.specs import BroadcastSpec, IntervalJoinSpec
from millstream.kernel.snapshot import build, export
from millstream.kernel.snapshot.job import exported
from millstream.kernel.state import large
from millstream.kernel.state.pages import SPLIT_KEYS
from millstream.kernel.steps.routing import Place
from millstream.plan.graph import JobGraph, KeyedNode, SinkNode
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob
from tests.support.kernel_support import Function, first, keyed_job, source_of, values
from tests.support.strategies import crossed, thinned

UID = "the-uid"
Events = list[tuple[Any, int]]


def gone_on(job: LocalJob, slots: int, **options: Any) -> LocalJob:
    """A job with the same program and other slots that goes on from this one."""
    found = JobOptions(parallelism=1, slots=slots)
    return LocalJob(job.component.graph, found, savepoint=job.savepoint(), **options)


def rows_of(job: LocalJob, table: str) -> int:
    tables = job.savepoint().state.tables.get((UID, table), [])
    return sum(found.num_rows for found in tables)


def same_state(one: LocalJob, other: LocalJob) -> bool:
    """Whether two jobs hold the same, by the rows of their tables in any order."""
    told = []
    for job in (one, other):
        state = job.savepoint().state
        told.append(
            {
                name: sorted(repr(row) for table in tables for row in table.to_pylist())
                for name, tables in state.tables.items()
            }
        )
    return bool(told[0]) and told[0] == told[1]


# -- large lists and maps --------------------------------------------------------------------------


def grown(self: Any, value: Any, ctx: Any) -> Any:
    key, number = value
    if number < 0:
        yield key, list(self.list.get()), list(self.map.items())
        return
    for i in range(number):
        self.list.add(f"{key} {i} " + "x" * 90)
        self.map.put((key, number - i), "y" * 90)


def growing() -> Function:
    return Function(
        grown,
        list=lambda c: c.get_list_state(ListStateDescriptor("list", Types.STRING())),
        map=lambda c: c.get_map_state(MapStateDescriptor("map", None, Types.STRING())),
    )


@pytest.mark.parametrize("slots", [1, 3])
def test_lists_and_maps_that_have_outgrown_their_pages(slots: int) -> None:
    records = [(key, number) for number in (700, 3, 400) for key in "abc"]
    asked = [(key, -1) for key in "abc"]
    events: Events = [(record, 0) for record in [*records, *asked]]
    whole = keyed_job(events, growing(), slots=2)
    whole.run_all(len(records))
    job = keyed_job(events, growing(), slots=2)
    job.epoch(len(records))
    names = [name for store in job.committed.stores.values() for name in store]
    assert any(len(name.split("/")) == 3 for name in names), "nothing is large"
    assert rows_of(job, "list") == 3 * 1103
    assert rows_of(job, "map") == 3 * 700

    later = gone_on(job, slots)
    moved = [name for store in later.committed.stores.values() for name in store]
    assert any(len(name.split("/")) == 3 for name in moved), "nothing has become large again"
    assert same_state(job, later)
    later.run_all()
    assert sorted(values(later.outputs)) == sorted(values(whole.outputs))


def test_a_large_cell_shrinks_and_its_values_go() -> None:
    def cleared(self: Any, value: Any, ctx: Any) -> Any:
        if value[1]:
            self.list.add("z" * (large.LARGE_BYTES // 2))
        else:
            self.list.clear()

    function = Function(
        cleared, list=lambda c: c.get_list_state(ListStateDescriptor("list", Types.STRING()))
    )
    job = keyed_job([(("a", 1), 0)] * 5 + [(("a", 0), 0)], function)
    job.epoch(5)
    later = gone_on(job, 2)
    assert later.state_entries() > 1
    later.run_all()
    assert later.state_entries() == 0


# -- state that expires ----------------------------------------------------------------------------


class Sum:
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator


def expiring(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(10).build())
    return descriptor


def used(self: Any, value: Any, ctx: Any) -> Any:
    key, number = value
    if number:
        self.value.update(number)
        self.list.add(number)
        self.map.put(number, -number)
        self.reducing.add(number)
        self.aggregating.add(number)
    yield (
        key,
        self.value.value(),
        list(self.list.get()),
        dict(self.map.items()),
        self.reducing.get(),
        self.aggregating.get(),
    )


@pytest.mark.parametrize("slots", [1, 3])
def test_what_expires_does_so_at_the_same_time(slots: int) -> None:
    long = Types.LONG()

    def function() -> Function:
        return Function(
            used,
            value=lambda c: c.get_state(expiring(ValueStateDescriptor("value", long))),
            list=lambda c: c.get_list_state(expiring(ListStateDescriptor("list", long))),
            map=lambda c: c.get_map_state(expiring(MapStateDescriptor("map", long, long))),
            reducing=lambda c: c.get_reducing_state(
                expiring(ReducingStateDescriptor("reducing", max, long))
            ),
            aggregating=lambda c: c.get_aggregating_state(
                expiring(AggregatingStateDescriptor("aggregating", Sum(), long))
            ),
        )

    events: Events = [((key, n), 0) for n in (1, 2, 0, 3, 0) for key in "abc"]
    times = (0, 6, 9, 12, 17)
    whole = keyed_job(events, function(), slots=2)
    job = keyed_job(events, function(), slots=2)
    for now_ms in times:
        whole.epoch(3, now_ms=now_ms)
    for now_ms in times[:3]:
        job.epoch(3, now_ms=now_ms)
    schemas = {t: job.savepoint().state.tables[UID, t][0].schema.names for t in ("value", "map")}
    assert all("last_used" in names for names in schemas.values())
    later = gone_on(job, slots)
    for now_ms in times[3:]:
        later.epoch(3, now_ms=now_ms)
    assert job.outputs["out"] + later.outputs["out"] == whole.outputs["out"]
    expired = {value[0]: value for value in values(later.outputs)}["a"]
    assert expired == ("a", 3, [3], {3: -3}, 3, 6), "what was used at 6 has expired at 17"


# -- other states ----------------------------------------------------------------------------------


def asked_late(self: Any, value: Any, ctx: Any) -> Any:
    key, number = value
    state = self.context.get_state(ValueStateDescriptor(f"s{number % 2}", Types.LONG()))
    state.update((state.value() or 0) + number)
    yield key, number, state.value()


def test_state_that_is_asked_for_late() -> None:
    def function() -> Function:
        return Function(asked_late, context=lambda context: context)

    events: Events = [((key, n), 0) for n in (1, 3, 2, 5, 4) for key in "abcd"]
    whole = keyed_job(events, function(), slots=2)
    whole.run_all(4)
    for taken in (1, 2, 3, 4):
        job = keyed_job(events, function(), slots=2)
        for _ in range(taken):
            job.epoch(4)
        later = gone_on(job, 3)
        later.run_all(4)
        assert job.outputs["out"] + later.outputs["out"] == whole.outputs["out"]


def test_a_state_that_the_program_does_not_ask_for_is_kept() -> None:
    descriptor = ValueStateDescriptor("kept", Types.LONG())

    def kept(self: Any, value: Any, ctx: Any) -> Any:
        self.kept.update(value[1])
        yield self.kept.value()

    def other(self: Any, value: Any, ctx: Any) -> Any:
        yield value

    events: Events = [(("a", 1), 0), (("a", 2), 0)]
    job = keyed_job(events, Function(kept, kept=lambda c: c.get_state(descriptor)))
    job.epoch(1)
    (node,) = [n for n in job.component.graph if isinstance(n, KeyedNode)]
    object.__setattr__(node, "function", Function(other))
    later = gone_on(job, 2)
    later.epoch(1)
    table = later.savepoint().state.tables[UID, "kept"][0]
    assert table.column("value").to_pylist() == [1]
    assert table.column("value").type == Types.LONG().to_arrow()


def renamed_job(now: list[str]) -> LocalJob:
    """A job that has kept a state under another name than those that its function asks for now."""
    events: Events = [(("a", n), 0) for n in (1, 2, 3)]

    def process(self: Any, value: Any, ctx: Any) -> Any:
        yield value

    def asking(*names: str) -> Function:
        found = {n: ValueStateDescriptor(n, Types.LONG()) for n in names}
        return Function(process, **{n: lambda c, d=d: c.get_state(d) for n, d in found.items()})

    job = keyed_job(events, asking("total"))
    job.epoch(1)
    (node,) = [n for n in job.component.graph if isinstance(n, KeyedNode)]
    object.__setattr__(node, "function", asking(*now))
    return job


def test_a_renamed_state_is_refused_and_both_are_named() -> None:
    with pytest.raises(CheckpointError) as caught:
        gone_on(renamed_job(["sum"]), 2).epoch(1)
    assert caught.value.code == "STATE_RENAMED"
    assert "'total'" in caught.value.message and "'sum'" in caught.value.message
    assert "'the-uid'" in caught.value.message
    assert "ignore-unclaimed-state" in (caught.value.hint or "")


def test_a_renamed_state_is_refused_after_a_restart_too() -> None:
    job = renamed_job(["sum"])
    job.start()
    with pytest.raises(CheckpointError, match="STATE_RENAMED"):
        job.epoch(1)


def test_it_may_be_allowed_and_is_not_asked_about_again() -> None:
    later = gone_on(renamed_job(["sum"]), 2, allow_non_restored_state=True)
    later.epoch(1)
    gone_on(later, 1).epoch(1)


@pytest.mark.parametrize("now", [["total", "sum"], []])
def test_a_state_may_be_added_or_left_out(now: list[str]) -> None:
    gone_on(renamed_job(now), 2).epoch(1)


def test_keys_of_another_type_are_refused() -> None:
    job = keyed_job([(("a", 1), 0)], Function(lambda self, value, ctx: iter(())))
    (node,) = [n for n in job.component.graph if isinstance(n, KeyedNode)]
    object.__setattr__(node, "key_type", Types.STRING())
    saved = job.savepoint()
    object.__setattr__(node, "key_type", Types.LONG())
    with pytest.raises(CheckpointError, match=r"KEY_TYPE_CHANGED(.|\n)*were STRING, and are LONG"):
        LocalJob(job.component.graph, JobOptions(parallelism=1), savepoint=saved)


def counted(self: Any, value: Any, ctx: Any) -> Any:
    self.n.update((self.n.value() or 0) + 1)
    ctx.timer_service().register_event_time_timer(1000 + value[1])
    yield value[0], self.n.value()


def fired(self: Any, timestamp: int, ctx: Any) -> Any:
    yield "timer", ctx.get_current_key(), timestamp, self.n.value()


def counting() -> Function:
    descriptor = ValueStateDescriptor("n", Types.LONG())
    return Function(counted, fired, n=lambda context: context.get_state(descriptor))


@pytest.mark.parametrize(
    ("shelf", "slots"), crossed(thinned([build.SHELF_ROWS, 200, 20], "shelves"), [1, 3])
)
def test_many_keys_on_many_pages_and_shelves(
    slots: int, shelf: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = 3 * SPLIT_KEYS
    events: Events = [((f"key {n}", n), n) for n in range(keys)]
    events += [((f"key {n}", n), keys) for n in range(0, keys, 7)]
    whole = keyed_job(events, counting(), slots=2)
    whole.run_all(keys)
    job = keyed_job(events, counting(), slots=2)
    job.epoch(keys)
    monkeypatch.setattr(build, "SHELF_ROWS", shelf)
    monkeypatch.setattr(export, "ROWS", 500)
    assert len(job.savepoint().state.tables[UID, "n"]) > 1
    later = gone_on(job, slots)
    assert same_state(job, later)
    assert later.state_entries() > slots, "there is more than one page in a slot"
    later.run_all()
    assert sorted(values(job.outputs) + values(later.outputs)) == sorted(values(whole.outputs))
    assert rows_of(later, "timers") == 0


def test_pages_do_not_reach_beyond_their_shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is ready of one shelf is handed over before the next one comes."""
    job = keyed_job([((n, n), n) for n in range(500)], counting())
    job.epoch()
    monkeypatch.setattr(build, "SHELF_ROWS", 50)
    later = gone_on(job, 1)
    header = later.committed.stores[0, 0]
    bits = build.shelf_bits(1000, 1)
    assert bits == 5
    depths = {int(n.split("/")[1].split(".")[0]) for n in header if n.startswith(f"{UID}/")}
    assert min(depths) >= bits


def test_keys_of_any_type() -> None:
    keys = [1, "1", 2.5, ("a", None), b"x", frozenset({1, 2}), "\ud800", 1 << 80, True, "é"]
    events: Events = [((key, n), n) for n, key in enumerate(keys * 3)]
    whole = keyed_job(events, counting(), slots=2)
    whole.run_all(10)
    job = keyed_job(events, counting(), slots=2)
    job.epoch(17)
    later = gone_on(job, 5)
    later.run_all(4)
    found = values(job.outputs) + values(later.outputs)
    assert sorted(map(repr, found)) == sorted(map(repr, values(whole.outputs)))


@pytest.mark.parametrize("uid", ["held", "header", "a/pane", "held/1", "broadcast", "é ü"])
def test_uids_that_look_like_something_else(uid: str) -> None:
    graph = JobGraph()
    events: Events = [((n % 5, n), n) for n in range(20)]
    source = source_of(graph, events)
    for name in (uid, "a"):
        node = graph.add(
            KeyedNode,
            name=name,
            uid=name,
            inputs=(source,),
            selector=first,
            kind="process",
            function=counting(),
        )
        graph.add(SinkNode, name=f"out {name}", inputs=(node.id,), sink=DiscardingSink())
    job = LocalJob(graph, JobOptions(parallelism=1))
    job.epoch(7)
    later = gone_on(job, 3)
    assert same_state(job, later)
    later.run_all(4)
    assert len(later.outputs[f"out {uid}"]) == len(later.outputs["out a"]) == 13 + 20


# -- two inputs ------------------------------------------------------------------------------------


class Pairs:
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right, ctx.get_timestamp()


def join_job(lefts: Events, rights: Events, slots: int = 2) -> LocalJob:
    graph = JobGraph()
    node = graph.add(
        KeyedNode,
        name="op",
        uid=UID,
        inputs=(source_of(graph, lefts), source_of(graph, rights)),
        selector=first,
        second=first,
        kind="interval_join",
        function=IntervalJoinSpec(function=Pairs(), lower_ms=-50, upper_ms=50),
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    return LocalJob(graph, JobOptions(parallelism=1, slots=slots))


@pytest.mark.parametrize("slots", [1, 3])
def test_long_sides_of_an_interval_join(slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_join, "SEGMENT", 4)
    # Equal times, in an order that only the order of arrival gives.
    lefts: Events = [(("ab"[n % 2], n), n // 6) for n in range(60)]
    rights: Events = [(("ab"[n % 2], -n), n // 3) for n in range(30)]
    whole = join_job(lefts, rights)
    job = join_job(lefts, rights)
    for reads in ({(0, 0): 40, (1, 0): 3}, {(0, 0): 12, (1, 0): 4}):
        whole.epoch(reads)
        job.epoch(reads)
    names = [name for store in job.committed.stores.values() for name in store]
    assert any(len(name.split("/")) == 3 for name in names), "no side is long"
    later = gone_on(job, slots)
    assert rows_of(job, "older left") == 0
    for reads in ({(0, 0): 5, (1, 0): 5}, {(0, 0): 100, (1, 0): 100}):
        whole.epoch(reads)
        later.epoch(reads)
    assert job.outputs["out"] + later.outputs["out"] == whole.outputs["out"]


def test_a_state_called_like_a_cell_of_a_join() -> None:
    descriptor = ValueStateDescriptor("older left", Types.LONG())

    def process(self: Any, value: Any, ctx: Any) -> Any:
        self.s.update((self.s.value() or 0) + 1)
        yield self.s.value()

    function = Function(process, s=lambda context: context.get_state(descriptor))
    job = keyed_job([(("a", n), n) for n in range(4)], function)
    job.epoch(2)
    later = gone_on(job, 2)
    later.run_all()
    assert values(later.outputs) == [3, 4]


RULES = MapStateDescriptor("rules")


class Rules:
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, list(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(value[1], value[0] * value[1])


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("size", [3, 400])
def test_broadcast_maps_of_any_size(slots: int, size: int) -> None:
    def job_of() -> LocalJob:
        graph = JobGraph()
        events: Events = [((f"k{n}", n), n) for n in range(6)]
        rules: Events = [(("x" * 3, n), n) for n in range(size)]
        node = graph.add(
            KeyedNode,
            name="op",
            uid=UID,
            inputs=(source_of(graph, events), source_of(graph, rules)),
            selector=first,
            second=Place.EVERY_SLOT,
            kind="broadcast",
            function=BroadcastSpec(Rules(), ("rules",)),
        )
        graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
        return LocalJob(graph, JobOptions(parallelism=1, slots=3))

    job, whole = job_of(), job_of()
    reads = {(0, 0): 2, (1, 0): size}
    job.epoch(reads)
    whole.epoch(reads)
    assert rows_of(job, "broadcast/rules") == size, "every slot has it, but it is there once"
    if size > 100:
        assert any(
            "/broadcast/" in name for store in job.committed.stores.values() for name in store
        )
    later = gone_on(job, slots)
    assert same_state(job, later)
    later.run_all()
    whole.run_all()
    assert job.outputs["out"] + later.outputs["out"] == whole.outputs["out"]


def test_renamed_broadcast_state_is_refused() -> None:
    graph = JobGraph()
    sources = (source_of(graph, [(("a", 1), 1)]), source_of(graph, [(("r", 1), 1), (("r", 2), 2)]))
    node = graph.add(
        KeyedNode,
        name="op",
        uid=UID,
        inputs=sources,
        selector=first,
        second=Place.EVERY_SLOT,
        kind="broadcast",
        function=BroadcastSpec(Rules(), ("rules",)),
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    job = LocalJob(graph, JobOptions(parallelism=1, slots=2))
    job.epoch(1)
    object.__setattr__(node, "function", BroadcastSpec(Rules(), ("norms",)))
    with pytest.raises(
        CheckpointError, match=r"STATE_RENAMED.*'broadcast/rules'.*'broadcast/norms'"
    ):
        gone_on(job, 1).epoch(0)


class Spoken:
    """A broadcast function that tells of each rule, once."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[0], (rules.get(value[0]) or 0) + 1)
        yield "rule", value, rules.get(value[0])


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("order", ["watermark", "arrival"])
def test_broadcast_records_that_wait_for_other_channels(slots: int, order: ChannelOrder) -> None:
    """Every slot has them before, and has them once after; they are of a later stage, too."""

    def job_of(slots: int, order: ChannelOrder, **options: Any) -> LocalJob:
        graph = JobGraph()
        events: Events = [((f"k{n}", n), n) for n in range(6)]
        rules: Events = [(("x", n), n + 10) for n in range(5)]
        left, right = source_of(graph, events), source_of(graph, rules)
        counted = graph.add(
            KeyedNode,
            name="counted",
            uid="counted",
            inputs=(left,),
            selector=first,
            kind="process",
            function=counting(),
        )
        node = graph.add(
            KeyedNode,
            name="op",
            uid=UID,
            inputs=(counted.id, right),
            selector=Place.BY_POSITION,
            second=Place.EVERY_SLOT,
            kind="broadcast",
            function=BroadcastSpec(Spoken(), ("rules",)),
        )
        graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
        return LocalJob(
            graph, JobOptions(parallelism=1, slots=slots, channel_order=order), **options
        )

    whole, job = job_of(3, "watermark"), job_of(3, "watermark")
    for run in (whole, job):
        run.epoch(2)
        assert not values(run.outputs) or "rule" not in values(run.outputs)[0]
    savepoint = job.savepoint()
    assert savepoint.state.tables["", "held"]
    later = job_of(slots, order, savepoint=savepoint)
    for run in (whole, later):
        run.run_all(2)
    found = values(job.outputs) + values(later.outputs)
    assert sorted(map(repr, found)) == sorted(map(repr, values(whole.outputs)))
    told = [value for value in found if value[0] == "rule"]
    assert [count for _, _, count in told] == [1, 2, 3, 4, 5]


# -- edges of what can be stored -------------------------------------------------------------------


def test_a_savepoint_before_the_first_epoch() -> None:
    events: Events = [((n % 3, n), n) for n in range(9)]
    whole = keyed_job(events, counting())
    whole.run_all(4)
    job = keyed_job(events, counting())
    later = gone_on(job, 2)
    later.run_all(4)
    assert later.outputs == whole.outputs


@pytest.mark.parametrize("seed", range(3))
def test_rows_may_come_in_any_order(seed: int) -> None:
    """Files are read by many tasks."""
    rng = random.Random(seed)

    def process(self: Any, value: Any, ctx: Any) -> Any:
        self.list.add(value[1])
        self.map.put(-value[1], value[1])
        ctx.timer_service().register_event_time_timer(200 - value[1])
        yield value[0], list(self.list.get()), list(self.map.items())

    def on_timer(self: Any, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp

    def function() -> Function:
        return Function(
            process,
            on_timer,
            list=lambda c: c.get_list_state(ListStateDescriptor("list", Types.LONG())),
            map=lambda c: c.get_map_state(MapStateDescriptor("map", Types.LONG(), Types.LONG())),
        )

    events: Events = [((n % 3, n), 0) for n in range(60)]
    whole, job = keyed_job(events, function()), keyed_job(events, function())
    whole.run_all(40)
    job.epoch(40)
    savepoint = job.savepoint()
    for name, tables in savepoint.state.tables.items():
        table = pa.concat_tables(tables)
        rows = rng.sample(range(table.num_rows), table.num_rows)
        parts = [table.take(pa.array(some)) for some in (rows[:17], rows[17:]) if some]
        savepoint.state.tables[name] = parts
    later = LocalJob(job.component.graph, JobOptions(parallelism=1, slots=2), savepoint=savepoint)
    later.run_all()
    assert job.outputs["out"] + later.outputs["out"] == whole.outputs["out"]


def test_side_outputs_and_timers_of_keys_without_state() -> None:
    tag = OutputTag("aside")

    def process(self: Any, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(100 + value[1])
        ctx.timer_service().register_processing_time_timer(50 + value[1])
        yield tag, value

    def on_timer(self: Any, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp

    events: Events = [((n % 3, n), n) for n in range(9)]
    unused = ValueStateDescriptor("unused")

    def function() -> Function:
        return Function(process, on_timer, unused=lambda c: c.get_state(unused))

    whole, job = keyed_job(events, function()), keyed_job(events, function())
    whole.epoch(6)
    job.epoch(6)
    assert rows_of(job, "timers") == 12
    later = gone_on(job, 2)
    for run in (whole, later):
        run.epoch(1, now_ms=53)
        run.epoch(2, now_ms=100)
        run.epoch(0, end=True)
    assert sorted(values(later.outputs)) == sorted(values(whole.outputs))
    assert (0, 50) in values(later.outputs) and (2, 108) in values(later.outputs)


def test_a_job_whose_input_has_ended() -> None:
    job = keyed_job([(("a", 1), 1)], counting())
    job.run_all()
    with pytest.raises(CheckpointError, match="SAVEPOINT_ENDED"):
        gone_on(job, 2)


def test_nothing_in_a_store_belongs_to_nobody() -> None:
    job = keyed_job([(("a", 1), 1)], counting())
    job.epoch()
    state = exported(job.committed.stores, {UID: None}, {UID: 1})
    assert {uid for uid, _ in state.tables} == {UID}
    assert state.rows(UID) == 2


def test_none_is_a_value_of_a_rolling_reduce() -> None:
    """The first record of a key may be None, and the result of the function as well."""
    events: Events = [(None, 1), (1, 2), (2, 3), (3, 4)]
    job = keyed_job(
        events,
        lambda one, other: None if other == 1 else (one, other),
        key=lambda value: "k",
        kind="reduce",
        slots=2,
    )
    for expected in (None, None, (None, 2), ((None, 2), 3)):
        assert values(job.epoch(1), "out") == [expected]
        job = gone_on(job, slots=3)

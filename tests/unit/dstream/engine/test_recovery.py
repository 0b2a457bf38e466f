"""Recovery from a checkpoint: what is in the folder after the death of a process is enough."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import CheckpointError, MillstreamError, PlanError, UserCodeError
from millstream.dstream import ManualClock, SparkContext, StateSpec, StreamingContext

PROGRAM = '''
import json, sys
from pathlib import Path
from millstream.dstream import SparkContext, StateSpec, StreamingContext

folder = Path(sys.argv[1])


def write(time, rdd):
    """An output that writes under the time of the batch, and tells that it has."""
    path = folder / "out" / f"{round(time.timestamp() * 1000)}"
    path.write_text(json.dumps(sorted(rdd.collect())))
    print(path.name, flush=True)


def add(values, total):
    return sum(values, total or 0)


def last(key, value, state):
    before = state.getOption(0)
    state.update(before + value)
    return key, before


def setup():
    print("setup", flush=True)
    ssc = StreamingContext(SparkContext("local[2]"), 0.05)
    numbers = ssc.queueStream([[("a", n), ("b", 1)] for n in range(40)])
    totals = numbers.updateStateByKey(add)
    totals.checkpoint(0.2)
    seen = numbers.mapWithState(StateSpec.function(last))
    totals.join(numbers.reduceByKeyAndWindow(lambda x, y: x + y, lambda x, y: x - y, 0.25, 0.05)) \\
        .leftOuterJoin(seen).foreachRDD(write)
    return ssc


ssc = StreamingContext.getOrCreate(str(folder / "checkpoint"), setup)
ssc.start()
ssc.awaitTermination()
'''


@pytest.mark.slow
def test_a_killed_process_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    (tmp_path / "out").mkdir()
    lines = [_killed_after(outputs, script, tmp_path) for outputs in (7, 13, 25)]
    assert [each[0] == "setup" for each in lines] == [True, False, False]
    found = [json.loads(p.read_text()) for p in sorted((tmp_path / "out").iterdir(), key=_number)]
    times = sorted(map(_number, (tmp_path / "out").iterdir()))
    assert times == list(range(times[0], times[0] + 50 * len(times), 50))
    assert len(found) >= 40
    for n, batch in enumerate(found[:40]):
        window = range(max(0, n - 4), n + 1)
        assert batch == [
            ["a", [[sum(range(n + 1)), sum(window)], sum(range(n))]],
            ["b", [[n + 1, len(window)], n]],
        ]


def _number(path: Path) -> int:
    return int(path.name)


def _killed_after(outputs: int, script: Path, folder: Path) -> list[str]:
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in range(outputs)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    return lines


class Run:
    """Contexts of one checkpoint folder, one after another."""

    def __init__(self, folder: Path, setup: Callable[[StreamingContext], None]) -> None:
        self.folder = folder
        self.build = setup
        self.calls = 0

    def advance(self, start_s: int, seconds: int, **options: Any) -> StreamingContext:
        clock = ManualClock(start_s * 1000)

        def setup() -> StreamingContext:
            self.calls += 1
            ssc = StreamingContext(SparkContext("local[1]"), 1, clock=clock)
            self.build(ssc)
            return ssc

        ssc = StreamingContext.getOrCreate(str(self.folder), setup, clock=clock, **options)
        try:
            ssc.start()
            clock.advance(seconds)
            ssc.awaitTerminationOrTimeout(0)
        finally:
            ssc.stop()
        return ssc


SEEN: list[Any] = []


def remember(time: Any, rdd: Any) -> None:
    SEEN.append((int(time.timestamp()), rdd.collect()))


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


def test_setup_is_called_once(tmp_path: Path) -> None:
    run = Run(tmp_path, lambda ssc: ssc.queueStream([[n] for n in range(9)]).foreachRDD(remember))
    run.advance(0, 2)
    run.advance(2, 2)
    assert run.calls == 1
    assert SEEN == [(1, [0]), (2, [1]), (3, [2]), (4, [3])]


def test_batches_of_the_time_without_a_process_come_first(tmp_path: Path) -> None:
    def program(ssc: StreamingContext) -> None:
        stream = ssc.queueStream([[("a", 1)], [("a", 2)]])
        stream.updateStateByKey(lambda values, n: (n or 0) + 1).foreachRDD(remember)

    run = Run(tmp_path, program)
    run.advance(0, 1)
    run.advance(4, 1)
    assert [(time, [("a", time)]) for time in range(1, 6)] == SEEN


def test_the_batch_that_failed_comes_again(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.touch()

    def output(time: Any, rdd: Any) -> None:
        if broken.exists() and rdd.first()[1] == 3:
            raise OSError("the database is away")
        remember(time, rdd)

    def program(ssc: StreamingContext) -> None:
        stream = ssc.queueStream([[("a", n)] for n in (1, 2, 4)])
        stream.updateStateByKey(lambda values, n: sum(values, n or 0)).foreachRDD(output)

    run = Run(tmp_path / "checkpoint", program)
    with pytest.raises(UserCodeError, match="the database is away"):
        run.advance(0, 3)
    assert SEEN == [(1, [("a", 1)])]
    broken.unlink()
    run.advance(3, 0)
    assert SEEN == [(1, [("a", 1)]), (2, [("a", 3)]), (3, [("a", 7)])]


def test_rebuilt_code_goes_on_with_the_state(tmp_path: Path) -> None:
    factor = 1

    def program(ssc: StreamingContext) -> None:
        stream = ssc.queueStream([[("a", 1)]] * 4)
        times = factor
        stream.updateStateByKey(lambda values, n: times * sum(values) + (n or 0)).foreachRDD(
            remember
        )

    run = Run(tmp_path, program)
    run.advance(0, 2)
    factor = 10
    run.advance(2, 1)
    run.advance(3, 1, rebuild=True)
    assert [values for _, values in SEEN] == [[("a", n)] for n in (1, 2, 3, 13)]


@pytest.mark.parametrize(("before", "after"), [(2, 3), (4, 2), (3, 1)])
@pytest.mark.parametrize("shift", [0, 1])
def test_rebuilt_code_finds_states_in_other_partitions(
    tmp_path: Path, before: int, after: int, shift: int
) -> None:
    def count(key: int, value: int | None, state: Any) -> tuple[int, Any]:
        if state.isTimingOut():
            return key, "gone"
        state.update(state.getOption(0) + value)
        return key, state.get()

    def program(size: int, place: Callable[[int], int]) -> Callable[[StreamingContext], None]:
        spec = StateSpec.function(count).numPartitions(size).partitioner(place).timeout(2)

        def build(ssc: StreamingContext) -> None:
            keys = [range(6), range(6), range(3), [], []]
            pairs = ssc.queueStream([[(key, 1) for key in batch] for batch in keys])
            pairs.mapWithState(spec).foreachRDD(remember)

        return build

    run = Run(tmp_path, program(before, lambda key: key))
    run.advance(0, 2)
    run.build = program(after, lambda key: key + shift)
    run.advance(2, 3, rebuild=True)
    run.advance(5, 1, rebuild=True)
    assert [sorted(values) for _, values in SEEN] == [
        [(key, 1) for key in range(6)],
        [(key, 2) for key in range(6)],
        [(key, 3) for key in range(3)],
        [],
        [(key, "gone") for key in range(3, 6)],
        [(key, "gone") for key in range(3)],
    ]


@pytest.mark.parametrize(("length", "slide"), [(7, 1), (6, 1), (5, 1), (10, 2), (3, 1)])
def test_rebuilt_code_may_have_other_windows(tmp_path: Path, length: int, slide: int) -> None:
    def program(length: int, slide: int) -> Callable[[StreamingContext], None]:
        def build(ssc: StreamingContext) -> None:
            pairs = ssc.queueStream([[("a", 10**n)] for n in range(24)])
            pairs.reduceByKeyAndWindow(
                lambda x, y: x + y, lambda x, y: x - y, length, slide
            ).foreachRDD(remember)

        return build

    run = Run(tmp_path, program(5, 1))
    run.advance(0, 8)
    SEEN.clear()
    run.build = program(length, slide)
    run.advance(8, 14, rebuild=True)
    # The first ones may lack batches that the shorter window did not keep.
    after = [each for each in SEEN if each[0] >= 8 + length]
    assert len(after) >= 2
    for time, values in after:
        assert values == [("a", sum(10**n for n in range(time - length, time)))]


@pytest.mark.parametrize(
    "other",
    [
        lambda ssc: ssc.queueStream([]).foreachRDD(remember),
        lambda ssc: ssc.queueStream([]).mapWithState(StateSpec.function(max)).foreachRDD(remember),
        lambda ssc: (
            ssc.queueStream([])
            .union(ssc.queueStream([]))
            .updateStateByKey(max)
            .foreachRDD(remember)
        ),
    ],
)
def test_other_programs_do_not_fit(tmp_path: Path, other: Any) -> None:
    run = Run(tmp_path, lambda ssc: ssc.queueStream([]).updateStateByKey(max).foreachRDD(remember))
    run.advance(0, 2)
    run.build = other
    with pytest.raises(CheckpointError, match="DSTREAM_REBUILD"):
        run.advance(2, 2, rebuild=True)


def test_a_context_that_does_not_recover_begins_again(tmp_path: Path) -> None:
    for _ in range(2):
        clock = ManualClock()
        ssc = StreamingContext(None, 1, clock=clock)
        ssc.checkpoint(str(tmp_path))
        ssc.queueStream([[("a", 1)]] * 2).updateStateByKey(
            lambda values, n: sum(values, n or 0)
        ).foreachRDD(remember)
        ssc.start()
        clock.advance(2)
        ssc.stop()
    assert SEEN == [(1, [("a", 1)]), (2, [("a", 2)])] * 2


def test_a_context_that_recovers_may_name_its_folder_again(tmp_path: Path) -> None:
    def program(ssc: StreamingContext) -> None:
        ssc.queueStream([[1], [2]]).foreachRDD(remember)

    run = Run(tmp_path, program)
    run.advance(0, 1)
    clock = ManualClock(1000)
    ssc = StreamingContext.getOrCreate(str(tmp_path), lambda: pytest.fail("called"), clock=clock)
    ssc.checkpoint(str(tmp_path))
    ssc.start()
    clock.advance(1)
    ssc.stop()
    assert SEEN == [(1, [1]), (2, [2])]


def test_programs_with_a_context_cannot_be_kept(tmp_path: Path) -> None:
    sc = SparkContext("local[1]")
    ssc = StreamingContext(sc, 1)
    ssc.checkpoint(str(tmp_path))
    ssc.queueStream([[1]]).foreachRDD(lambda rdd: sc.parallelize([1]))
    with pytest.raises(PlanError, match="attempting to reference SparkContext"):
        ssc.start()
    assert StreamingContext.getActive() is None
    ssc.stop()


def test_functions_may_use_the_streaming_context(tmp_path: Path) -> None:
    def program(ssc: StreamingContext) -> None:
        stream = ssc.queueStream([[1]] * 3)
        stream.transform(lambda rdd: rdd.union(ssc._rdds.parallelize([2], 1))).foreachRDD(remember)

    run = Run(tmp_path, program)
    run.advance(0, 1)
    run.advance(1, 1)
    assert SEEN == [(1, [1, 2]), (2, [1, 2])]


def test_what_functions_share_is_kept(tmp_path: Path) -> None:
    def program(ssc: StreamingContext) -> None:
        sc = ssc.sparkContext
        names, seen = sc.broadcast({1: "one"}), sc.accumulator(0)
        static = sc.parallelize([(1, "static")], 1)

        def look(number: int) -> tuple[int, str]:
            seen.add(1)
            return number, names.value[number]

        pairs = ssc.queueStream([[1]] * 3).map(look).transform(lambda rdd: rdd.join(static))
        pairs.foreachRDD(lambda time, rdd: remember(time, rdd.map(lambda kv: (kv, seen.value))))

    run = Run(tmp_path, program)
    run.advance(0, 2)
    run.advance(2, 1)
    joined = (1, ("one", "static"))
    assert [(1, [(joined, 1)]), (2, [(joined, 2)]), (3, [(joined, 1)])] == SEEN


def test_what_cannot_be_pickled(tmp_path: Path) -> None:
    lock = threading.Lock()
    ssc = StreamingContext(None, 1)
    ssc.checkpoint(str(tmp_path))
    ssc.queueStream([[1]]).foreachRDD(lambda rdd: lock.locked())
    with pytest.raises(PlanError, match="DSTREAM_NOT_SERIALIZABLE"):
        ssc.start()
    ssc.stop()


def test_damaged_and_remote_folders(tmp_path: Path) -> None:
    run = Run(tmp_path, lambda ssc: ssc.queueStream([[1]]).foreachRDD(remember))
    run.advance(0, 1)
    (tmp_path / "program.pickle").write_bytes(b"nothing")
    with pytest.raises(MillstreamError, match="Failed to read checkpoint from directory"):
        run.advance(1, 1)
    facts = json.loads((tmp_path / "program.json").read_text())
    (tmp_path / "program.json").write_text(json.dumps({**facts, "format": 99}))
    with pytest.raises(MillstreamError, match="its format is 99"):
        run.advance(1, 1)
    with pytest.raises(PlanError, match="DSTREAM_CHECKPOINT_REMOTE"):
        StreamingContext(None, 1).checkpoint("s3a://bucket/folder")


def test_one_context_uses_a_folder(tmp_path: Path) -> None:
    first, second = (StreamingContext(None, 1, clock=ManualClock()) for _ in range(2))
    for ssc in (first, second):
        ssc.checkpoint(str(tmp_path))
        ssc.queueStream([[1]]).foreachRDD(remember)
    first.start()
    StreamingContext._activeContext = None
    with pytest.raises(CheckpointError, match="DSTREAM_CHECKPOINT_IN_USE"):
        second.start()
    first.stop()
    second.start()
    second.stop()


def test_the_log_and_old_snapshots_are_dropped(tmp_path: Path) -> None:
    def program(ssc: StreamingContext) -> None:
        stream = ssc.queueStream([[("a", 1)]] * 400)
        totals = stream.updateStateByKey(lambda values, n: sum(values, n or 0))
        totals.checkpoint(2)
        totals.foreachRDD(lambda rdd: None)

    ssc = Run(tmp_path, program).advance(0, 50)
    assert min(ssc._graph.taken) > 45_000
    assert len(list((tmp_path / "state").iterdir())) == 4


def test_a_word_count_of_files_goes_on(tmp_path: Path) -> None:
    """The program of PySpark's own test of getOrCreate."""
    folder = tmp_path / "in"
    folder.mkdir()

    def program(ssc: StreamingContext) -> None:
        words = ssc.textFileStream(str(folder)).map(lambda line: (line, 1))
        counts = words.updateStateByKey(lambda values, n: sum(values, n or 0))
        counts.map("{0[0]},{0[1]}".format).saveAsTextFiles(str(tmp_path / "out" / "words"))
        counts.checkpoint(1)

    run = Run(tmp_path / "checkpoint", program)
    for time in range(4):
        path = folder / str(time)
        path.write_text("a\nb\n")
        os.utime(path, (time + 0.5, time + 0.5))
        run.advance(time, 1)
    read = SparkContext("local[1]").textFile
    found = [sorted(read(str(tmp_path / f"out/words-{n}000")).collect()) for n in range(1, 5)]
    assert found == [[f"a,{n}", f"b,{n}"] for n in range(1, 5)]
    assert run.calls == 1


class TheirContext:
    """As much of PySpark's context as a streaming context needs."""

    master, appName, defaultParallelism = "local[3]", "theirs", 3

    def getConf(self) -> Any:
        return {"spark.app.name": "theirs", "spark.driver.port": "1", "spark.user": 2}

    def parallelize(self, values: Any) -> Any:
        return values

    def stop(self) -> None:
        """Nothing."""


def test_a_recovered_context_has_pysparks_if_the_first_one_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyspark = pytest.importorskip("pyspark")
    theirs = TheirContext()
    confs: list[Any] = []

    def active(conf: Any) -> TheirContext:
        confs.append(dict(conf.getAll()))
        return theirs

    def setup() -> StreamingContext:
        ssc = StreamingContext(theirs, 1, clock=ManualClock())
        ssc.queueStream([[1], [2]]).foreachRDD(remember)
        return ssc

    monkeypatch.setattr(pyspark.SparkContext, "getOrCreate", active)
    for second in range(2):
        clock = ManualClock(1000 * second)
        ssc = StreamingContext.getOrCreate(str(tmp_path), setup, clock=clock)
        assert ssc.sparkContext is theirs
        ssc.start()
        ssc.awaitTerminationOrTimeout(1)
        ssc.stop()
    assert SEEN == [(1, [1]), (2, [2])]
    (conf,) = confs
    assert conf["spark.app.name"] == "theirs" and "spark.driver.port" not in conf

"""Transcripts: what goes into an operator step by step, and what comes out at each step.

::

    a1@3 b2@5          a record with key a, value 1, event time 3; another one; nothing comes out
    w9 -> a [0,10) 1 @9; b [0,10) 2 @9
                       the watermark comes to 9; a line of output for each key
    a7@4 -> late       the record is late
    p20 -> ...         processing time comes to 20
    end -> ...         the input ends

Outputs of one key come in this order; nothing is said about the order of different keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

from millstream.common import Types, WatermarkStrategy
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.connectors.collection import CollectionSource
from millstream.connectors.source import Limits
from millstream.datastream import DataStream, StreamExecutionEnvironment
from millstream.datastream.connectors.base import Source
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob
from tests.support.semantics.transcript_functions import (
    LATE,
    Line,
    Marks,
    OfCase,
    PassedOn,
    Record,
    is_element,
    key_and_value,
    key_of,
    shown_time,
    time_of,
)

RECORD = Types.TUPLE([Types.STRING(), Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG()])
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
LINE = Types.TUPLE([Types.STRING(), Types.STRING(), Types.STRING(), Types.STRING()])

MAIN, SIDE = "main", "late"

_ELEMENT = re.compile(r"([a-z]+)(-?\d+)@(\S+)")
_TIME = re.compile(r"(MAX|MIN)?([+-]?\d+)?")
_ENDS = {"MAX": MAX_TIMESTAMP, "MIN": MIN_TIMESTAMP, None: 0}


@dataclass(frozen=True)
class Step:
    """A record, a watermark, a processing time, or the end; and what comes out with it."""

    kind: str
    time: int = 0
    key: str = ""
    value: int = 0
    outputs: tuple[str, ...] = ()
    late: bool = False

    @property
    def is_read(self) -> bool:
        """Whether it is read from the source, as a record on its way."""
        return self.kind in ("element", "watermark")


def parsed_time(text: str) -> int:
    found = _TIME.fullmatch(text)
    assert found, f"{text!r} is no time"
    return _ENDS[found[1]] + int(found[2] or 0)


def _step(token: str) -> Step:
    if found := _ELEMENT.fullmatch(token):
        return Step("element", parsed_time(found[3]), found[1], int(found[2]))
    if token == "end":
        return Step("end")
    kinds = {"w": "watermark", "p": "processing"}
    return Step(kinds[token[0]], parsed_time(token[1:]))


def parse(transcript: str) -> tuple[Step, ...]:
    """The steps of a transcript; the end is always the last one."""
    steps: list[Step] = []
    for line in filter(None, map(str.strip, transcript.splitlines())):
        tokens, _, outputs = line.partition("->")
        *before, last = map(_step, tokens.split())
        lines = [text for text in map(str.strip, outputs.split(";")) if text]
        late = lines == ["late"]
        told = () if late else tuple(lines)
        steps += [*before, Step(last.kind, last.time, last.key, last.value, told, late)]
    return tuple(steps if steps and steps[-1].kind == "end" else [*steps, Step("end")])


ByKey = dict[str, list[str]]
Outputs = dict[str, ByKey]
"""Lines of the main output and of the late side output, by key."""


@dataclass(frozen=True, eq=False)
class Case:
    """An operator and its transcript.

    Parameters
    ----------
    build
        Makes the stream of results of a keyed stream of pairs (key, value).
    aside
        Late records go to a side output; else they are counted.
    keyed
        If not, ``build`` gets the stream without keys.
    leaves_state
        Something stays in state after the end: global windows, for example.
    """

    name: str
    build: Callable[[Any], DataStream]
    transcript: str
    aside: bool = False
    keyed: bool = True
    leaves_state: bool = False

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return parse(self.transcript)

    @property
    def is_timed_by_hand(self) -> bool:
        """Whether processing time moves in it, which only the kernel lets a test do."""
        return any(step.kind == "processing" for step in self.steps)

    @property
    def dropped(self) -> int:
        """How many late records are counted."""
        return 0 if self.aside else sum(step.late for step in self.steps)

    def records(self) -> list[Record]:
        """What the source gives."""
        return [(self.name, s.kind, s.key, s.value, s.time) for s in self.steps if s.is_read]

    def outputs_of(self, steps: Iterable[Step]) -> Outputs:
        """What comes out with some steps."""
        lines: Outputs = {}
        for step in steps:
            for text in step.outputs:
                _add(lines, MAIN, text.split()[0], text)
            if step.late and self.aside:
                text = f"{step.key} {step.value} @{shown_time(step.time)}"
                _add(lines, SIDE, step.key, text)
        return lines

    def __str__(self) -> str:
        return self.name


def _add(lines: Outputs, output: str, key: str, text: str) -> None:
    lines.setdefault(output, {}).setdefault(key, []).append(text)


# -- one job for any number of cases ---------------------------------------------------------------


class Script(Source):
    """The steps of all cases in one channel, in turn; ``per_epoch`` cuts them."""

    def __init__(self, cases: Sequence[Case], per_epoch: int | None = None) -> None:
        turns = zip_longest(*(case.records() for case in cases))
        records = tuple(record for turn in turns for record in turn if record is not None)
        self._records = CollectionSource((records,), (None,), Limits(per_epoch=per_epoch))

    def parts(self) -> tuple[CollectionSource]:
        return (self._records,)

    def get_produced_type(self) -> Any:
        return RECORD


def lines_of(
    env: StreamExecutionEnvironment, cases: Sequence[Case], per_epoch: int | None = None
) -> DataStream:
    """The outputs of many cases, each with a time of its own, as one stream of lines.

    One source serves them all. Cases get their times behind a keyed stage: branches of one source
    with several strategies would wait for each other, and here nobody is to wait.
    """
    script = env.from_source(
        Script(cases, per_epoch), WatermarkStrategy.no_watermarks(), "script", RECORD
    )
    steps = script.key_by(key_of, Types.STRING()).process(PassedOn(), RECORD)
    streams = [_branch(steps.filter(OfCase(case.name)), case) for case in cases]
    return streams[0].union(*streams[1:])


def lines_of_one(env: StreamExecutionEnvironment, case: Case) -> DataStream:
    """The outputs of one case."""
    return _branch(env.from_collection(case.records(), RECORD), case)


def _branch(steps: DataStream, case: Case) -> DataStream:
    strategy = WatermarkStrategy.for_generator(Marks).with_timestamp_assigner(time_of)
    timed = steps.assign_timestamps_and_watermarks(strategy)
    pairs = timed.filter(is_element).map(key_and_value, PAIR)
    results = case.build(pairs.key_by(key_of, Types.STRING()) if case.keyed else pairs)
    lines = results.process(Line(case.name, MAIN), LINE)
    if not case.aside:
        return lines
    return lines.union(results.get_side_output(LATE).process(Line(case.name, SIDE), LINE))


def by_case(lines: Iterable[tuple[str, str, str, str]]) -> dict[str, Outputs]:
    """Lines of a job, by case, output and key."""
    cases: dict[str, Outputs] = {}
    for case, output, key, text in lines:
        _add(cases.setdefault(case, {}), output, key, text)
    return cases


# -- running a case in memory ----------------------------------------------------------------------


@dataclass
class Run:
    """A case on its way through the kernel, epoch by epoch."""

    case: Case
    job: LocalJob = field(init=False)

    def __post_init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        lines_of_one(env, self.case).print().name("lines")
        options = JobOptions(parallelism=1, slots=1)
        self.job = LocalJob(env._job_graph(), options, copy_functions=True)

    def take(self, steps: Sequence[Step]) -> Outputs:
        """Run an epoch; if one of its steps moves processing time, it is the first."""
        for step in steps:
            if step.kind == "processing":
                self.job.now_ms = step.time
        reads = sum(step.is_read for step in steps)
        end = any(step.kind == "end" for step in steps)
        lines = self.job.epoch(reads, end=end).get("lines", [])
        return by_case(line for line, _ in lines).get(self.case.name, {})

    def restart(self) -> None:
        self.job.close()
        self.job.start()

    @property
    def dropped(self) -> int:
        """How many late records the job has counted."""
        return sum(one.late for one in self.job.metrics.operators.values())


def pieces(case: Case, cut: Callable[[int], Iterable[int]]) -> list[tuple[Step, ...]]:
    """The steps in epochs: ``cut`` of their number gives where epochs end.

    A step that moves processing time always begins an epoch, for it holds for all of it.
    """
    steps = case.steps
    moved = {i for i, step in enumerate(steps) if step.kind == "processing"}
    borders = sorted({0, len(steps), *moved, *cut(len(steps))})
    return [steps[start:end] for start, end in pairwise(borders)]

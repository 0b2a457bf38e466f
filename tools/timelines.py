"""Draws the timelines of the documentation, docs/images/timelines: ``python tools/timelines.py``.

A scenario is a script of records and watermarks, and windows over them. It runs through the real
operator in memory, one step an epoch, so that what comes out with a step is what the step caused.
What a picture shows of windows, firings and late records is what the operator did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from millstream.common import WatermarkStrategy
from millstream.common.time import MAX_WATERMARK, MIN_TIMESTAMP
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.datastream import OutputTag, StreamExecutionEnvironment, window
from millstream.datastream.functions import ProcessWindowFunction
from millstream.datastream.state import ValueStateDescriptor
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob, TestSource

IMAGES = Path(__file__).parents[1] / "docs/images/timelines"
LATE = OutputTag("late")
SECOND = 1_000
END = -1
UID = "windows"


@dataclass(frozen=True)
class Step:
    """A record, a watermark (no key), or the end (no time); times are in units of the scenario."""

    key: str = ""
    value: int = 0
    time: int = END
    channel: int = 0


_STEP = re.compile(r"(?:([a-z]+?)(\d+)@|w)(\d+)(?:/(\d))?")


def parsed(word: str) -> Step:
    """A step: ``ada2@1`` is a record, ``ada2@1/1`` one of channel 1, ``w5`` a watermark."""
    if word == "end":
        return Step()
    found = _STEP.fullmatch(word)
    assert found, f"{word!r} is no step"
    return Step(found[1] or "", int(found[2] or 0), int(found[3]), int(found[4] or 0))


class Summed(ProcessWindowFunction):
    """Emits what a picture tells of a firing: key, window, clock, and the sum of the records."""

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        found = context.window()
        span = getattr(found, "start", None), getattr(found, "end", None)
        text = self.text([element[2] for element in elements], context)
        yield key, span, context.current_watermark(), text

    def text(self, values: list[int], context: Any) -> str:
        return str(sum(values))


class Listed(Summed):
    """Tells the records themselves."""

    def text(self, values: list[int], context: Any) -> str:
        return " ".join(map(str, values))


class Numbered(Summed):
    """Tells the first result of a window from its updates, by state of the window."""

    firings = ValueStateDescriptor("firings")

    def text(self, values: list[int], context: Any) -> str:
        state = context.window_state().get_state(self.firings)
        number = state.value() or 0
        state.update(number + 1)
        return f"{f'update {number}' if number else 'first'}, {sum(values)}"

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.firings).clear()


@dataclass(frozen=True)
class Scenario:
    """What a picture shows; ``code`` is called on the keyed stream, and shown as it is called.

    ``bound``: how much out of order records may be; None if the script has the watermarks.
    """

    name: str
    title: str
    code: str
    script: str
    bound: int | None = None
    function: ProcessWindowFunction = field(default_factory=Summed)
    channels: tuple[str, ...] = ("",)
    until: int = 20
    tick: int = 5
    unit: str = "s"

    @property
    def steps(self) -> list[Step]:
        return [parsed(word) for word in self.script.split()]

    @property
    def scale(self) -> int:
        return {"s": SECOND, "min": 60 * SECOND}[self.unit]


@dataclass(frozen=True)
class Firing:
    """A call of the window function: what it gave, at which clock, with which event time."""

    key: str
    start: int | None
    end: int | None
    clock: int
    text: str
    time: int
    by_record: bool


@dataclass(frozen=True)
class Moment:
    """A step and what came of it."""

    step: Step
    watermarks: tuple[int, ...]
    clock: int
    firings: tuple[Firing, ...]
    late: bool


class Scripted(WatermarkGenerator):
    """Emits the watermarks of the script."""

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        if not event[1]:
            output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: Any) -> None:
        pass


def run(scenario: Scenario) -> list[Moment]:
    """The course of a scenario."""
    job = LocalJob(_program(scenario)._job_graph(), JobOptions(parallelism=1))
    marks, before, moments = [MIN_TIMESTAMP] * len(scenario.channels), MIN_TIMESTAMP, []
    for step in scenario.steps:
        ends = step.time == END
        outputs = job.epoch({} if ends else {(0, step.channel): 1}, end=ends)
        if not ends:
            marks[step.channel] = max(marks[step.channel], _watermark(step, scenario))
        reached = job.metrics.operators[UID].watermark
        clock = MAX_WATERMARK if ends else MIN_TIMESTAMP if reached is None else reached
        firings = tuple(
            # A record that fires its window finds the clock as it was; a timer finds its own time.
            Firing(key, *span, at, text, time, by_record=bool(step.key) and at <= before)
            for (key, span, at, text), time in outputs.get("fired", ())
        )
        moments.append(Moment(step, tuple(marks), clock, firings, bool(outputs.get("late"))))
        before = clock
    return moments


def _program(scenario: Scenario) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = TestSource(*(_elements(scenario, n) for n in range(len(scenario.channels))))
    scale, strategy = scenario.scale, WatermarkStrategy.for_generator(Scripted)
    if scenario.bound is not None:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(scenario.bound * scale)
    strategy = strategy.with_timestamp_assigner(lambda event, _: event[3] * scale)
    events = env.from_source(source, strategy, "script").filter(lambda event: bool(event[1]))
    keyed = events.key_by(lambda event: event[1])
    windows = eval(f"keyed.{scenario.code}", vars(window) | {"keyed": keyed})
    fired = windows.side_output_late_data(LATE).process(scenario.function).uid(UID)
    fired.print().name("fired")
    fired.get_side_output(LATE).print().name("late")
    return env


def _elements(scenario: Scenario, channel: int) -> list[tuple[int, str, int, int]]:
    mine = [step for step in scenario.steps if step.channel == channel and step.time != END]
    # A channel that has been read to its end would leave the clock: the last element is not read.
    return [(channel, s.key, s.value, s.time) for s in (*mine, Step(time=0))]


def _watermark(step: Step, scenario: Scenario) -> int:
    """What a step says of how far its channel is."""
    if not step.key:
        return step.time * scenario.scale
    bound = scenario.bound
    return MIN_TIMESTAMP if bound is None else (step.time - bound) * scenario.scale - 1


# -- drawing ---------------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT = 880, 180, 612
ASIDE = RIGHT + 20
CHAR = 12 * 0.602  # The fonts named below are all as wide as this, or narrower.
LINE = 19
GRID = "#d1d9e0"
RECORD, LATE_RED, FIRED = "#0969da", "#cf222e", "#1a7f37"
WINDOW, WINDOW_EDGE, PAST = "#ddf4ff", "#54aeff", "#fff1c2"
CHANNEL = ("#8250df", "#bc4c00")
FADED = {"class": "f"}
STYLE = (
    "text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f2328}"
    ".f{fill:#59636e}.b{font-weight:bold}.t{font-weight:bold;font-size:14px}"
)


def _short(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


@dataclass
class Picture:
    """An SVG that grows downwards; ``y`` is where it ends so far."""

    scenario: Scenario
    parts: list[str] = field(default_factory=list)
    y: float = 62

    def x(self, millis: float) -> float:
        """Where a time lies; times outside of the axis lie at its ends."""
        share = millis / (self.scenario.until * self.scenario.scale)
        return round(LEFT + min(max(share, 0), 1) * (RIGHT - LEFT), 1)

    def at(self, step: Step) -> float:
        return self.x(step.time * self.scenario.scale)

    def add(self, name: str, content: str = "", **attributes: object) -> None:
        given = "".join(f' {k.replace("_", "-")}="{_short(v)}"' for k, v in attributes.items())
        end = f">{escape(content)}</{name}>" if content else "/>"
        self.parts.append(f"<{name}{given}{end}")

    def text(self, x: float, y: float, content: str, **attributes: object) -> None:
        self.add("text", content, x=x, y=y, **attributes)

    def rule(self) -> None:
        self.add("path", d=f"M16 {_short(self.y)}H{WIDTH - 16}", stroke=GRID)

    def record(self, x: float, y: float, channel: int, late: bool) -> None:
        colour = CHANNEL[channel] if len(self.scenario.channels) > 1 else RECORD
        look = {"fill": "#ffffff" if late else colour, "stroke": LATE_RED if late else colour}
        if channel:
            self.add("rect", x=x - 5, y=y - 5, width=10, height=10, stroke_width=2, **look)
        else:
            self.add("circle", cx=x, cy=y, r=5, stroke_width=2, **look)

    def firing(self, x: float, y: float) -> None:
        self.add("path", d=f"M{_short(x)} {_short(y - 6)}l6 6l-6 6l-6-6z", fill=FIRED)

    def swatch(self, x: float, y: float, height: int = 12, **look: object) -> None:
        self.add("rect", x=x - 9, y=y - height / 2, width=18, height=height, **look)

    def svg(self) -> str:
        height = round(self.y)
        size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        inner = f'x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"'
        card = f'<rect {inner} fill="#ffffff" stroke="{GRID}"/>'
        title = f"<title>{escape(self.scenario.title)}</title><style>{STYLE}</style>"
        return "\n".join([head, title, card, *self.parts, "</svg>"]) + "\n"


def draw(scenario: Scenario) -> str:
    """The picture of a scenario."""
    moments, picture = run(scenario), Picture(scenario)
    picture.text(16, 26, scenario.title, **{"class": "t"})
    bound = "" if scenario.bound is None else f", out of orderness {scenario.bound} {scenario.unit}"
    picture.text(16, 46, scenario.code + bound, **FADED)
    for key in dict.fromkeys(m.step.key for m in moments if m.step.key):
        _lane(picture, key, moments)
    _axis(picture)
    _course(picture, moments)
    _legend(picture, moments)
    return picture.svg()


def rows_of(spans: Sequence[tuple[float, float]]) -> list[int]:
    """For each span the first row in which it overlaps none before it."""
    taken: list[list[tuple[float, float]]] = []
    found = []
    for start, end in spans:
        free = (r for r, row in enumerate(taken) if all(end <= a or b <= start for a, b in row))
        row = next(free, len(taken))
        taken += [[]] if row == len(taken) else []
        taken[row].append((start, end))
        found.append(row)
    return found


def _lane(picture: Picture, key: str, moments: Sequence[Moment]) -> None:
    """The records of a key, and its windows with what each firing gave."""
    mine = [m for m in moments if m.step.key == key]
    top = picture.y
    picture.text(16, top + 30, key, **{"class": "b"})
    places = [picture.at(m.step) for m in mine]
    rows = rows_of([(x - 12, x + 12) for x in places])
    for moment, x, row in zip(mine, places, rows, strict=True):
        y = top + 26 + row * 30
        picture.record(x, y, moment.step.channel, moment.late)
        picture.text(x, y - 9, str(moment.step.value), text_anchor="middle")
    picture.y = top + 42 + max(rows, default=0) * 30
    _spans(picture, [f for m in moments for f in m.firings if f.key == key])
    picture.y += 8
    picture.rule()


def _spans(picture: Picture, firings: Sequence[Firing]) -> None:
    results: dict[tuple[int | None, int | None], list[str]] = {}
    for firing in firings:
        results.setdefault((firing.start, firing.end), []).append(firing.text)
    bars = []
    for (start, end), texts in results.items():
        x1, x2 = picture.x(start or 0), RIGHT if end is None else picture.x(end)
        label = " | ".join(texts)
        # A label that is too long for its window stands behind it.
        room = len(label) * CHAR + 12
        bars.append((x1, x2, label, x2 if room <= x2 - x1 else x2 + room))
    rows = rows_of([(x1 + 0.5, stop - 0.5) for x1, _, _, stop in bars])
    for (x1, x2, label, stop), row in zip(bars, rows, strict=True):
        y = picture.y + row * 26
        look = {"fill": WINDOW, "stroke": WINDOW_EDGE, "rx": 4}
        picture.add("rect", x=x1 + 1, y=y, width=x2 - x1 - 2, height=21, **look)
        if stop > x2:
            picture.add("rect", x=x2 + 3, y=y, width=stop - x2 - 4, height=21, fill="#fff")
        middle = (x1 + x2) / 2 if stop == x2 else (x2 + stop) / 2
        picture.text(middle, y + 15, label, text_anchor="middle")
    picture.y += (max(rows, default=-1) + 1) * 26


def _axis(picture: Picture) -> None:
    scenario = picture.scenario
    y = picture.y + 20
    picture.text(16, y, "event time", **FADED)
    for time in range(0, scenario.until + 1, scenario.tick):
        x = picture.x(time * scenario.scale)
        picture.add("rect", x=x - 24, y=y - 12, width=48, height=17, fill="#ffffff")
        picture.text(x, y, f"{time} {scenario.unit}", text_anchor="middle", **FADED)
        # Behind everything: the first parts are drawn first.
        picture.parts.insert(
            0, f'<path d="M{x} 62V@bottom" stroke="{GRID}" stroke-dasharray="2 3"/>'
        )
    picture.y = y + 12


def _course(picture: Picture, moments: Sequence[Moment]) -> None:
    """The steps in the order they come, how far the clock is after each, and what fires."""
    picture.text(16, picture.y + 14, "in order of arrival", **FADED)
    picture.text(ASIDE, picture.y + 14, "what fires", **FADED)
    picture.y += 22
    lines = [max(1, len(m.firings) + m.late) for m in moments]
    tops = [picture.y + sum(lines[:n]) * LINE + n * 6 for n in range(len(moments) + 1)]
    for moment, (top, bottom) in zip(moments, pairwise(tops), strict=True):
        width = picture.x(moment.clock) - LEFT
        picture.add("rect", x=LEFT, y=top, width=width, height=bottom - top, fill=PAST)
    _channel_lines(picture, moments, tops)
    for number, moment in enumerate(moments):
        _moment(picture, number + 1, moment, tops[number] + LINE / 2 + 3)
    picture.parts = [part.replace("@bottom", str(tops[-1])) for part in picture.parts]
    picture.y = tops[-1] + 8


def _channel_lines(picture: Picture, moments: Sequence[Moment], tops: Sequence[float]) -> None:
    for channel, name in enumerate(picture.scenario.channels):
        corners = []
        for moment, (top, bottom) in zip(moments, pairwise(tops), strict=True):
            mark = moment.watermarks[channel]
            if mark > MIN_TIMESTAMP and moment.step.time != END:
                corners += [f"{picture.x(mark)},{top}", f"{picture.x(mark)},{bottom}"]
        if name and corners:
            look = {"fill": "none", "stroke": CHANNEL[channel], "stroke_width": 2}
            picture.add("polyline", points=" ".join(corners), **look)


def _moment(picture: Picture, number: int, moment: Moment, y: float) -> None:
    step, unit = moment.step, picture.scenario.unit
    picture.text(16, y + 4, f"{number:>2}", **FADED)
    what = f"{step.key} {step.value} at" if step.key else "watermark"
    told = "end of input" if step.time == END else f"{what} {step.time} {unit}"
    picture.text(42, y + 4, told)
    for row, firing in enumerate(moment.firings):
        # Beside the record, which would hide it.
        x = picture.at(step) + 14 if firing.by_record else picture.x(firing.clock)
        picture.firing(x, y + row * LINE)
        picture.text(ASIDE, y + 4 + row * LINE, _told(firing, picture.scenario))
    if step.key:
        picture.record(picture.at(step), y, step.channel, moment.late)
    if moment.late:
        picture.text(ASIDE, y + 4 + len(moment.firings) * LINE, "late", style=f"fill:{LATE_RED}")


def _told(firing: Firing, scenario: Scenario) -> str:
    """As ``key [start, end): result @event time``; a global window has no times."""
    if firing.start is None or firing.end is None:
        return f"{firing.key}: {firing.text}"
    start, end = firing.start // scenario.scale, firing.end // scenario.scale
    told = f"{firing.key} [{start}, {end}): {firing.text}"
    return f"{told} @{firing.time / SECOND:g}" if scenario.unit == "s" else told


def _legend(picture: Picture, moments: Sequence[Moment]) -> None:
    picture.rule()
    y, x = picture.y + 20, 24.0
    for label, mark in _legend_entries(picture, moments):
        if x + 15 + len(label) * CHAR > WIDTH - 16:
            y, x = y + 20, 24.0
        mark(x, y)
        picture.text(x + 15, y + 4, label, **FADED)
        x += len(label) * CHAR + 44
    picture.y = y + 18


def _legend_entries(picture: Picture, moments: Sequence[Moment]) -> Iterable[tuple[str, Any]]:
    names = picture.scenario.channels
    for channel, name in enumerate(names):
        yield name or "record", partial(picture.record, channel=channel, late=False)
    if any(moment.late for moment in moments):
        yield "late", partial(picture.record, channel=0, late=True)
    yield "window", partial(picture.swatch, fill=WINDOW, stroke=WINDOW_EDGE, rx=3)
    yield "firing", picture.firing
    if any(moment.clock > MIN_TIMESTAMP for moment in moments):
        yield "event time up to the clock", partial(picture.swatch, fill=PAST)
    for channel, name in enumerate(names):
        if name:
            yield f"watermark of {name}", partial(picture.swatch, fill=CHANNEL[channel], height=3)


# -- the pictures ----------------------------------------------------------------------------------

TENS = 'window(TumblingEventTimeWindows.of("10 s"))'
FIVES = 'window(TumblingEventTimeWindows.of("5 s"))'
# fmt: off
SCENARIOS = (
    Scenario(
        "tumbling", "Tumbling windows: each fires once, when the clock passes its end", FIVES,
        "ada2@1 bob4@3 ada1@2 ada5@6 bob3@4 ada7@12 end", bound=1, until=15,
    ),
    Scenario(
        "sliding", "Sliding windows: a record is in several",
        'window(SlidingEventTimeWindows.of("10 s", "5 s"))', "ada1@7 ada2@11 w10 w15 w20",
    ),
    Scenario(
        "sessions", "Sessions: those that touch are one, and fire when the clock is at their end",
        'window(EventTimeSessionWindows.with_gap("5 s"))',
        "ada1@1 ada2@6 w8 ada4@2 ada8@13 w11 ada9@4 w18",
    ),
    Scenario(
        "late-firings", "Allowed lateness: a late record fires its window again, until it is cleared",
        f'{FIVES}.allowed_lateness("5 s")', "ada2@1 w6 ada3@4 ada1@7 w10 ada4@2", until=15,
    ),
    Scenario(
        "lateness-channel", "Late is judged in the record's own channel", FIVES,
        "ada1@1 ada2@1/1 ada4@12 ada9@3 ada8@3/1 ada5@13/1 end",
        bound=0, channels=("channel 0", "channel 1"), until=15,
    ),
    Scenario(
        "slow-channel", "A channel an hour behind holds the clock, and loses nothing",
        'window(TumblingEventTimeWindows.of("10 min"))',
        "north1@61 south3@1/1 north2@65 north4@72 south5@5/1 north7@78 south6@12/1 end",
        bound=1, channels=("north", "south"), until=80, tick=20, unit="min",
    ),
    Scenario(
        "continuous-trigger", "A continuous trigger: results on the way, and one at the end",
        f'{TENS}.trigger(ContinuousEventTimeTrigger.of("4 s"))',
        "ada1@1 w4 ada2@5 w8 ada3@9 w10", until=12, tick=2,
    ),
    Scenario(
        "count-trigger", "A count trigger that purges: every second record, with what is new",
        f"{TENS}.trigger(PurgingTrigger.of(CountTrigger.of(2)))",
        "ada1@1 bob7@2 ada2@3 ada3@5 ada4@7 ada5@8 w10", function=Listed(), until=12, tick=2,
    ),
    Scenario(
        "count-evictor", "A count evictor: the last three records, at every second one",
        "window(GlobalWindows.create()).trigger(CountTrigger.of(2)).evictor(CountEvictor.of(3))",
        "ada1@1 ada2@3 ada3@5 ada4@7 ada5@9 ada6@11", function=Listed(), until=12, tick=2,
    ),
    Scenario(
        "window-state", "State of a window: its first result and its updates are told apart",
        f'{FIVES}.allowed_lateness("5 s")', "ada2@1 ada4@3 w5 ada3@4 ada1@2 w10",
        function=Numbered(), until=12, tick=2,
    ),
)
# fmt: on


if __name__ == "__main__":
    for scenario in SCENARIOS:
        (IMAGES / f"{scenario.name}.svg").write_text(draw(scenario), encoding="utf-8")

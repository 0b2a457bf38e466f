"""Transcripts by what window functions see, emit and remember, and of windows of windows."""

from __future__ import annotations

from typing import Any

from millstream.common import Types
from millstream.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.support.semantics.transcript_functions import (
    ASIDE,
    Applied,
    Firings,
    Listed,
    Nothing,
    Remembering,
    Scattered,
    SinceLast,
    add,
    key_of,
    with_digits,
)
from tests.support.semantics.transcripts import Case

__all__ = ["CASES"]

TENS = TumblingEventTimeWindows.of(10)
SESSIONS = EventTimeSessionWindows.with_gap(10)
SLIDING = SlidingEventTimeWindows.of(10, 5)
TRIPLE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


def by_field(method: str, assigner: Any = TENS) -> Any:
    """Builds an aggregation of the tens."""

    def build(stream: Any) -> Any:
        windowed = stream.map(with_digits, TRIPLE).key_by(key_of, Types.STRING()).window(assigner)
        return getattr(windowed, method)(1)

    return build


FUNCTIONS = [
    Case(
        "apply: key, window and records",
        lambda s: s.window(TENS).apply(Applied()),
        """
        a1@1 b2@2 a3@3
        w9 -> a [0,10) 1 3 @9; b [0,10) 2 @9
        """,
    ),
    Case(
        "process: any number of results, all with the window's time",
        lambda s: s.window(TENS).process(Scattered()),
        """
        a1@1 a0@2 a3@3 b0@4
        w9 -> a [0,10) 1 @9; a [0,10) 3 @9
        """,
    ),
    Case(
        "process: results aside have the window's time too",
        lambda s: s.window(TENS).process(Scattered()).get_side_output(ASIDE),
        """
        a1@1 a-2@2 a-3@3
        w9 -> a [0,10) -2 @9; a [0,10) -3 @9
        """,
    ),
    Case(
        "process: nothing to say",
        lambda s: s.window(TENS).process(Nothing()),
        "a1@1 w9",
    ),
    Case(
        "process: the watermark at a firing, at a late one, and at the end",
        lambda s: s.window(TENS).allowed_lateness(5).process(Listed(clock=True)),
        """
        a1@1
        w12 -> a [0,10) clock=9 1 @9
        a2@2 -> a [0,10) clock=12 1 2 @9
        a3@13
        end -> a [10,20) clock=MAX 3 @19
        """,
    ),
    Case(
        "process: the watermark when a session fires",
        lambda s: s.window(SESSIONS).process(Listed(clock=True)),
        """
        a1@0 a2@20
        w15 -> a [0,10) clock=10 1 @9
        end -> a [20,30) clock=MAX 2 @29
        """,
    ),
    Case(
        "state: of a window, and of its key",
        lambda s: s.window(TENS).allowed_lateness(5).process(Firings()),
        """
        a1@1
        w9 -> a [0,10) 1 1 @9
        a2@2 -> a [0,10) 2 2 @9
        b3@2 -> b [0,10) 1 1 @9
        a4@12
        w19 -> a [10,20) 1 3 @19
        """,
        leaves_state=True,
    ),
    Case(
        "state: of a window, cleared with it",
        lambda s: s.window(TENS).trigger(CountTrigger.of(1)).process(Remembering()),
        """
        a1@1 -> a [0,10) 1 @9
        a2@2 -> a [0,10) 1 3 @9
        a3@12 -> a [10,20) 3 @19
        a4@3 -> a [0,10) 1 3 7 @9
        w9
        a5@13 -> a [10,20) 3 8 @19
        """,
    ),
    Case(
        "state: of a window, outlives a purge",
        lambda s: (
            s.window(TENS).trigger(PurgingTrigger.of(CountTrigger.of(1))).process(Remembering())
        ),
        """
        a1@1 -> a [0,10) 1 @9
        a2@2 -> a [0,10) 1 2 @9
        """,
    ),
    Case(
        "state: of a key, from window to window",
        lambda s: s.window(TENS).process(SinceLast()),
        """
        a1@1 b2@1 a3@15
        w9 -> a [0,10) 1 None @9; b [0,10) 2 None @9
        w19 -> a [10,20) 3 1 @19
        b5@25
        w29 -> b [20,30) 5 2 @29
        """,
        leaves_state=True,
    ),
    Case(
        "state: of a key, from session to session",
        lambda s: s.window(SESSIONS).process(SinceLast()),
        """
        a1@0 a2@20 a4@25
        w10 -> a [0,10) 1 None @9
        w35 -> a [20,35) 6 1 @34
        """,
        leaves_state=True,
    ),
    Case(
        "state: behind a reduce",
        lambda s: s.window(TENS).allowed_lateness(9).reduce(add, Firings()),
        """
        a1@1
        w9 -> a [0,10) 1 1 @9
        a2@1 -> a [0,10) 2 2 @9
        """,
        leaves_state=True,
    ),
    Case(
        "chain: windows of windows have all that came before their end",
        lambda s: (
            s.window(TENS)
            .reduce(add)
            .key_by(lambda pair: "x", Types.STRING())
            .window(TumblingEventTimeWindows.of(20))
            .process(Listed())
        ),
        """
        a1@1 a2@5 b4@11 w18
        w19 -> x [0,20) 3 4 @19
        a8@25 w30
        end -> x [20,40) 8 @39
        """,
    ),
    Case(
        "chain: windows of the same size on top of each other",
        lambda s: (
            s.window(TENS)
            .reduce(add)
            .key_by(lambda pair: "x", Types.STRING())
            .window(TENS)
            .reduce(lambda one, other: ("x", one[1] + other[1]))
        ),
        """
        a1@1 a2@5 w8
        w9 -> a 3 @9
        a4@11 a5@12
        w19 -> a 9 @19
        """,
    ),
    Case(
        "chain: a session's result is on time for a window that ends with it",
        lambda s: (
            s.window(SESSIONS)
            .reduce(add)
            .key_by(key_of, Types.STRING())
            .window(TENS)
            .process(Listed())
        ),
        """
        a1@0
        w10 -> a [0,10) 1 @9
        """,
    ),
    Case(
        "chain: sessions of results of sessions",
        lambda s: (
            s.window(SESSIONS)
            .reduce(add)
            .key_by(lambda pair: "x", Types.STRING())
            .window(EventTimeSessionWindows.with_gap(15))
            .process(Listed())
        ),
        """
        a1@0 b2@12 a3@50
        end -> x [9,36) 1 2 @35; x [59,74) 3 @73
        """,
    ),
    Case(
        "chain: late firings go on into the next window",
        lambda s: (
            s.window(TENS)
            .allowed_lateness(10)
            .reduce(add)
            .key_by(key_of, Types.STRING())
            .window(TumblingEventTimeWindows.of(20))
            .process(Listed())
        ),
        """
        a1@1 w9
        a2@2 a4@12
        w19 -> a [0,20) 1 3 4 @19
        """,
    ),
]

CASES = [*FUNCTIONS]

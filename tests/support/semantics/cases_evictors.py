"""Transcripts by evictor."""

from __future__ import annotations

from millstream.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
)
from tests.support.semantics.transcript_functions import (
    LATE,
    Average,
    Folded,
    Listed,
    OnlyNearEnd,
    WithoutOdd,
    add,
    distance,
)
from tests.support.semantics.transcripts import Case
from tests.support.semantics.window_builders import evicting, purging

__all__ = ["CASES"]

TENS = TumblingEventTimeWindows.of(10)
GLOBAL = GlobalWindows.create()
SESSIONS = EventTimeSessionWindows.with_gap(10)
SLIDING = SlidingEventTimeWindows.of(10, 5)


EVICTORS = [
    Case(
        "count evictor: the last records before the function",
        evicting(TENS, CountEvictor.of(2)),
        """
        a1@1 a2@2 a3@3 b4@4
        w9 -> a [0,10) 2 3 @9; b [0,10) 4 @9
        """,
    ),
    Case(
        "count evictor: what is evicted has left the window",
        evicting(GLOBAL, CountEvictor.of(3), CountTrigger.of(2)),
        """
        a1@0
        a2@0 -> a all 1 2 @MAX
        a3@0
        a4@0 -> a all 2 3 4 @MAX
        a5@0
        a6@0 -> a all 4 5 6 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "count evictor: after the function",
        evicting(GLOBAL, CountEvictor.of(1, True), CountTrigger.of(3)),
        """
        a1@0 a2@0
        a3@0 -> a all 1 2 3 @MAX
        a4@0 a5@0
        a6@0 -> a all 3 4 5 6 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "count evictor: nothing left, the function is called with nothing",
        evicting(TENS, CountEvictor.of(0)),
        """
        a1@1
        w9 -> a [0,10) @9
        """,
    ),
    Case(
        "count evictor: nothing left after the function, the window is empty",
        evicting(TENS, CountEvictor.of(0, True), ContinuousEventTimeTrigger.of(3)),
        """
        a1@1
        w3 -> a [0,10) 1 @9
        w6 a2@7
        w9 -> a [0,10) 2 @9
        """,
    ),
    Case(
        "count evictor: late firings evict again",
        evicting(TENS, CountEvictor.of(2), lateness=5),
        """
        a1@1 a2@2 a3@3
        w9 -> a [0,10) 2 3 @9
        a4@1 -> a [0,10) 3 4 @9
        """,
    ),
    Case(
        "count evictor: purging leaves nothing to evict",
        evicting(GLOBAL, CountEvictor.of(2), purging(CountTrigger.of(3))),
        """
        a1@0 a2@0
        a3@0 -> a all 2 3 @MAX
        a4@0 a5@0
        a6@0 -> a all 5 6 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "count evictor: sliding windows evict each for itself",
        evicting(SLIDING, CountEvictor.of(1)),
        """
        a1@6 a2@7 a3@11
        w9 -> a [0,10) 2 @9
        w14 -> a [5,15) 3 @14
        end -> a [10,20) 3 @19
        """,
    ),
    Case(
        "count evictor: in a session, by the order of arrival",
        evicting(SESSIONS, CountEvictor.of(2)),
        """
        a1@20 a2@0 a3@10
        w30 -> a [0,30) 2 3 @29
        """,
    ),
    Case(
        "time evictor: counts back from the newest record",
        evicting(TENS, TimeEvictor.of(5)),
        """
        a1@1 a2@8 a3@3 a4@4
        w9 -> a [0,10) 2 4 @9
        """,
    ),
    Case(
        "time evictor: after the function",
        evicting(TENS, TimeEvictor.of(5, True), CountTrigger.of(2)),
        """
        a1@1
        a2@7 -> a [0,10) 1 2 @9
        a3@8
        a4@9 -> a [0,10) 2 3 4 @9
        """,
    ),
    Case(
        "time evictor: in a session that has merged",
        evicting(SESSIONS, TimeEvictor.of(12)),
        """
        a1@0 a2@20 a3@10
        w30 -> a [0,30) 2 3 @29
        """,
    ),
    Case(
        "delta evictor: what is near the last record stays",
        evicting(TENS, DeltaEvictor.of(5, distance)),
        """
        a1@1 a12@2 a4@3 a9@4
        w9 -> a [0,10) 12 9 @9
        """,
    ),
    Case(
        "delta evictor: after the function",
        evicting(TENS, DeltaEvictor.of(5, distance, True), CountTrigger.of(2)),
        """
        a1@1
        a9@2 -> a [0,10) 1 9 @9
        a8@3
        a7@4 -> a [0,10) 9 8 7 @9
        """,
    ),
    Case(
        "custom evictor: before the function",
        evicting(TENS, WithoutOdd()),
        """
        a1@1 a2@2 a3@3 a4@4
        w9 -> a [0,10) 2 4 @9
        """,
    ),
    Case(
        "custom evictor: after the function",
        evicting(TENS, WithoutOdd(after=True), CountTrigger.of(2)),
        """
        a1@1
        a2@2 -> a [0,10) 1 2 @9
        a3@3
        a5@4 -> a [0,10) 2 3 5 @9
        a6@5
        a7@6 -> a [0,10) 2 6 7 @9
        """,
    ),
    Case(
        "custom evictor: by window and event time",
        evicting(SLIDING, OnlyNearEnd(5)),
        """
        a1@6 a2@3
        w4 -> a [-5,5) 2 @4
        w9 -> a [0,10) 1 @9
        w14 -> a [5,15) @14
        """,
    ),
    Case(
        "evictor: a reduce folds what is left",
        lambda s: s.window(TENS).evictor(CountEvictor.of(2)).reduce(add),
        """
        a1@1 a2@2 a3@3
        w9 -> a 5 @9
        """,
    ),
    Case(
        "evictor: a reduce with a window function",
        lambda s: s.window(TENS).evictor(CountEvictor.of(2)).reduce(add, Folded()),
        """
        a1@1 a2@2 a3@3
        w9 -> a [0,10) ('a', 5) @9
        """,
    ),
    Case(
        "evictor: an aggregate folds what is left",
        lambda s: s.window(TENS).evictor(CountEvictor.of(2)).aggregate(Average()),
        """
        a1@1 a2@2 a3@3
        w9 -> a 2.5 @9
        """,
    ),
    Case(
        "evictor: with lateness and a late side output",
        lambda s: (
            s.window(TENS)
            .evictor(TimeEvictor.of(3))
            .allowed_lateness(5)
            .side_output_late_data(LATE)
            .process(Listed())
        ),
        """
        a1@1 a2@5
        w9 -> a [0,10) 2 @9
        a3@4 -> a [0,10) 2 3 @9
        a4@7 -> a [0,10) 2 4 @9
        w14
        a5@7 -> late
        """,
        aside=True,
    ),
]

CASES = [*EVICTORS]

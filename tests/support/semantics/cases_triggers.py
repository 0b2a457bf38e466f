"""Transcripts by trigger."""

from __future__ import annotations

from millstream.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.support.semantics.transcript_functions import (
    EarlyAndLate,
    OnEven,
    PurgeOnZero,
    WhenSumReaches,
    distance,
)
from tests.support.semantics.transcripts import Case
from tests.support.semantics.window_builders import on, purging

__all__ = ["CASES"]

TENS = TumblingEventTimeWindows.of(10)
GLOBAL = GlobalWindows.create()
SESSIONS = EventTimeSessionWindows.with_gap(10)
SLIDING = SlidingEventTimeWindows.of(10, 5)


COUNTS = [
    Case(
        "count trigger: fires for every second record, and not at the end of the window",
        on(TENS, CountTrigger.of(2)),
        """
        a1@0
        a2@1 -> a [0,10) 1 2 @9
        a3@2
        a4@3 -> a [0,10) 1 2 3 4 @9
        a5@4 w9
        a6@5 -> late
        """,
    ),
    Case(
        "count trigger: purging, fires with the records since the last time",
        on(TENS, purging(CountTrigger.of(2))),
        """
        a1@0
        a2@1 -> a [0,10) 1 2 @9
        a3@2
        a4@3 -> a [0,10) 3 4 @9
        a5@4 w9
        """,
    ),
    Case(
        "count trigger: each window and each key counts by itself",
        on(TENS, CountTrigger.of(2)),
        """
        a1@0 b2@0 a3@11
        a4@1 -> a [0,10) 1 4 @9
        b5@12
        a6@12 -> a [10,20) 3 6 @19
        b7@2 -> b [0,10) 2 7 @9
        """,
    ),
    Case(
        "count trigger: sliding windows fire one by one",
        on(SLIDING, CountTrigger.of(2)),
        """
        a1@6
        a2@11 -> a [5,15) 1 2 @14
        a3@7 -> a [0,10) 1 3 @9
        """,
    ),
    Case(
        "count trigger: sessions add their counts when they merge",
        on(SESSIONS, CountTrigger.of(3)),
        """
        a1@0 a2@20
        a3@10 -> a [0,30) 1 2 3 @29
        a4@25 a5@50 a6@40
        a7@35 -> a [0,60) 1 2 3 4 5 6 7 @59
        w60
        """,
    ),
    Case(
        "count trigger: sessions, the record that merges counts too",
        on(SESSIONS, CountTrigger.of(2)),
        """
        a1@0
        a2@5 -> a [0,15) 1 2 @14
        a3@8 a4@20
        a5@14 -> a [0,30) 1 2 3 4 5 @29
        a6@28
        w38
        """,
    ),
    Case(
        "count trigger: sessions, purging",
        on(SESSIONS, purging(CountTrigger.of(2))),
        """
        a1@0
        a2@5 -> a [0,15) 1 2 @14
        a3@8
        a4@9 -> a [0,19) 3 4 @18
        """,
    ),
    Case(
        "count trigger: on the global window it never forgets",
        on(GLOBAL, CountTrigger.of(2)),
        """
        a1@0 b2@0
        a3@1 -> a all 1 3 @MAX
        a4@2
        a5@3 -> a all 1 3 4 5 @MAX
        b6@0 -> b all 2 6 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "count trigger: on the global window, purging",
        on(GLOBAL, purging(CountTrigger.of(2))),
        """
        a1@0
        a2@1 -> a all 1 2 @MAX
        a3@2
        a4@3 -> a all 3 4 @MAX
        a5@4
        """,
        leaves_state=True,
    ),
    Case(
        "count trigger: late records count within the lateness",
        on(TENS, CountTrigger.of(2), lateness=5),
        """
        a1@0 w11
        a2@1 -> a [0,10) 1 2 @9
        w14
        a3@1 -> late
        """,
    ),
    Case(
        "count trigger: of one fires for every record",
        on(TENS, CountTrigger.of(1)),
        """
        a1@0 -> a [0,10) 1 @9
        a2@1 -> a [0,10) 1 2 @9
        """,
    ),
]

TIMES = [
    Case(
        "event-time trigger: said aloud it is the default",
        on(TENS, EventTimeTrigger.create()),
        """
        a1@0 w8
        w9 -> a [0,10) 1 @9
        """,
    ),
    Case(
        "event-time trigger: on the global window it fires at the end of the input",
        on(GLOBAL, EventTimeTrigger.create()),
        """
        a1@0 w1000
        a2@1 b3@5
        end -> a all 1 2 @MAX; b all 3 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "event-time trigger: purging with lateness, late firings have the late records only",
        on(TENS, purging(EventTimeTrigger.create()), lateness=5),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        a2@2 -> a [0,10) 2 @9
        a3@3 -> a [0,10) 3 @9
        w14
        a4@3 -> late
        """,
    ),
    Case(
        "event-time trigger: purging without lateness changes nothing",
        on(TENS, purging(EventTimeTrigger.create())),
        """
        a1@1 a2@3
        w9 -> a [0,10) 1 2 @9
        a3@2 -> late
        """,
    ),
    Case(
        "never trigger: nothing fires, late is late",
        on(TENS, NeverTrigger.create()),
        """
        a1@1 w9
        a2@2 -> late
        """,
    ),
    Case(
        "continuous trigger: at every multiple of the interval, and at the end",
        on(TENS, ContinuousEventTimeTrigger.of(3)),
        """
        a1@0 w2
        w3 -> a [0,10) 1 @9
        a2@4
        w6 -> a [0,10) 1 2 @9
        w9 -> a [0,10) 1 2 @9
        """,
    ),
    Case(
        "continuous trigger: the first multiple after the first record",
        on(TENS, ContinuousEventTimeTrigger.of(3)),
        """
        a1@4 w5
        w6 -> a [0,10) 1 @9
        w8
        w9 -> a [0,10) 1 @9
        """,
    ),
    Case(
        "continuous trigger: a jump fires as if time had passed every instant",
        on(TENS, ContinuousEventTimeTrigger.of(4)),
        """
        a1@1
        w20 -> a [0,10) 1 @9; a [0,10) 1 @9; a [0,10) 1 @9
        """,
    ),
    Case(
        "continuous trigger: purging, and nothing comes of an empty window",
        on(TENS, purging(ContinuousEventTimeTrigger.of(3))),
        """
        a1@0
        w3 -> a [0,10) 1 @9
        w6 a2@7
        w9 -> a [0,10) 2 @9
        """,
    ),
    Case(
        "continuous trigger: at the end of the input it does not register again",
        on(TENS, ContinuousEventTimeTrigger.of(3)),
        """
        a1@0
        end -> a [0,10) 1 @9; a [0,10) 1 @9
        """,
    ),
    Case(
        "continuous trigger: lateness, late records fire at once",
        on(TENS, ContinuousEventTimeTrigger.of(5), lateness=5),
        """
        a1@0
        w9 -> a [0,10) 1 @9; a [0,10) 1 @9
        a2@3 -> a [0,10) 1 2 @9
        w14
        a3@3 -> late
        """,
    ),
    Case(
        "continuous trigger: on the global window it goes on, and ends",
        on(GLOBAL, ContinuousEventTimeTrigger.of(10)),
        """
        a1@3
        w10 -> a all 1 @MAX
        w20 -> a all 1 @MAX
        a2@24 w29
        w41 -> a all 1 2 @MAX; a all 1 2 @MAX
        end -> a all 1 2 @MAX; a all 1 2 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "continuous trigger: sessions keep the earliest firing when they merge",
        on(SESSIONS, ContinuousEventTimeTrigger.of(4)),
        """
        a1@1
        w4 -> a [1,11) 1 @10
        a2@6
        w8 -> a [1,16) 1 2 @15
        w12 -> a [1,16) 1 2 @15
        w15
        w16 -> a [1,16) 1 2 @15
        """,
    ),
    Case(
        "continuous trigger: sliding windows fire each for itself",
        on(SLIDING, ContinuousEventTimeTrigger.of(8)),
        """
        a1@6
        w8 -> a [0,10) 1 @9; a [5,15) 1 @14
        w9 -> a [0,10) 1 @9
        w14 -> a [5,15) 1 @14
        """,
    ),
]

DELTAS = [
    Case(
        "delta trigger: fires when a record is further than the threshold from the last that did",
        on(GLOBAL, DeltaTrigger.of(5, distance)),
        """
        a1@0 a4@0 a6@0
        a7@0 -> a all 1 4 6 7 @MAX
        a12@0
        a13@0 -> a all 1 4 6 7 12 13 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "delta trigger: purging, in windows of time",
        on(TENS, purging(DeltaTrigger.of(5, distance))),
        """
        a1@0
        a9@1 -> a [0,10) 1 9 @9
        a3@2 -> a [0,10) 3 @9
        a20@12 a4@3
        w9
        a40@13 -> a [10,20) 20 40 @19
        """,
    ),
]

CUSTOM = [
    Case(
        "custom trigger: at once for even values, and at the end",
        on(TENS, OnEven()),
        """
        a1@0
        a2@1 -> a [0,10) 1 2 @9
        a3@2
        w9 -> a [0,10) 1 2 3 @9
        """,
    ),
    Case(
        "custom trigger: throws content away without a word",
        on(TENS, PurgeOnZero()),
        """
        a1@0 a0@1 a2@2
        w9 -> a [0,10) 2 @9
        a3@10 a0@11 w19
        """,
    ),
    Case(
        "custom trigger: state by window, fires and purges",
        on(TENS, WhenSumReaches(5)),
        """
        a3@0 a4@11
        a2@1 -> a [0,10) 3 2 @9
        a4@2
        a1@12 -> a [10,20) 4 1 @19
        w9
        """,
    ),
    Case(
        "custom trigger: state of sessions that merge",
        on(SESSIONS, WhenSumReaches(6)),
        """
        a2@0 a3@20
        a1@10 -> a [0,30) 2 3 1 @29
        a5@5
        """,
    ),
    Case(
        "custom trigger: a timer deleted does not fire",
        on(TENS, EarlyAndLate(3)),
        """
        a1@0 a2@2 w4
        w5 -> a [0,10) 1 2 @9
        w9 -> a [0,10) 1 2 @9
        """,
    ),
    Case(
        "custom trigger: a timer in the past fires right away",
        on(TENS, EarlyAndLate(1)),
        """
        a1@5 w5
        w6 -> a [0,10) 1 @9
        w8
        a2@3 -> a [0,10) 1 2 @9
        w9 -> a [0,10) 1 2 @9
        """,
    ),
]

CASES = [*COUNTS, *TIMES, *DELTAS, *CUSTOM]

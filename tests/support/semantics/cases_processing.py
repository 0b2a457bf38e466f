"""Transcripts in processing time, which only the kernel lets a test move."""

from __future__ import annotations

from millstream.datastream.window import (
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.support.semantics.transcript_functions import AfterDelay, GapOfValue, Listed, add
from tests.support.semantics.transcripts import Case
from tests.support.semantics.window_builders import listed

__all__ = ["CASES"]

TENS = TumblingProcessingTimeWindows.of(10)
SESSIONS = ProcessingTimeSessionWindows.with_gap(10)
EVENT_TENS = TumblingEventTimeWindows.of(10)
GLOBAL = GlobalWindows.create()


WINDOWS = [
    Case(
        "processing tumbling: fires at the last instant of the window",
        listed(TENS),
        """
        p0 a1@500
        p5 a2@-3 b3@0
        p8
        p9 -> a [0,10) 1 2 @9; b [0,10) 3 @9
        p10 a4@0
        p25 -> a [10,20) 4 @19
        """,
    ),
    Case(
        "processing tumbling: an offset",
        listed(TumblingProcessingTimeWindows.of(10, 3)),
        """
        p1 a1@0
        p3 -> a [-7,3) 1 @2
        a2@0
        p12 -> a [3,13) 2 @12
        """,
    ),
    Case(
        "processing tumbling: watermarks mean nothing, and nothing is late",
        listed(TENS),
        """
        p0 w1000 a1@0 w2000
        p9 -> a [0,10) 1 @9
        p10 a2@0
        p19 -> a [10,20) 2 @19
        """,
    ),
    Case(
        "processing tumbling: the end drops timers",
        listed(TENS),
        "p0 a1@0 a2@0 p5",
        leaves_state=True,
    ),
    Case(
        "processing tumbling: the end does not fire what processing time has not reached",
        listed(TENS),
        """
        p0 a1@0
        p9 -> a [0,10) 1 @9
        p12 a2@0
        """,
        leaves_state=True,
    ),
    Case(
        "processing sliding: a record is in several windows",
        listed(SlidingProcessingTimeWindows.of(10, 5)),
        """
        p7 a1@0
        p9 -> a [0,10) 1 @9
        p11 a2@0
        p14 -> a [5,15) 1 2 @14
        p19 -> a [10,20) 2 @19
        """,
    ),
    Case(
        "processing session: a pause ends it",
        listed(SESSIONS),
        """
        p0 a1@0
        p5 a2@0 b3@0
        p13
        p16 -> a [0,15) 1 2 @14; b [5,15) 3 @14
        p20 a4@0
        p31 -> a [20,30) 4 @29
        """,
    ),
    Case(
        "processing session: each record says how long to wait",
        listed(ProcessingTimeSessionWindows.with_dynamic_gap(GapOfValue())),
        """
        p0 a5@0
        p3 a20@0
        p8
        p24 -> a [0,23) 5 20 @22
        """,
    ),
    Case(
        "processing session: reduced",
        lambda s: s.window(SESSIONS).reduce(add),
        """
        p0 a1@0
        p5 a2@0
        p8 a4@0
        p18 -> a 7 @17
        """,
    ),
    Case(
        "processing tumbling: reduced, over several epochs of one instant",
        lambda s: s.window(TENS).reduce(add),
        """
        p0 a1@0 a2@0 b5@0 a3@0
        p9 -> a 6 @9; b 5 @9
        """,
    ),
    Case(
        "processing tumbling: processing time at a firing is the epoch's",
        lambda s: s.window(TENS).process(Listed(now=True)),
        """
        p0 a1@0
        p14 -> a [0,10) now=14 1 @9
        """,
    ),
]

TRIGGERS = [
    Case(
        "processing tumbling: a count trigger fires early, and not at the end",
        listed(TENS, CountTrigger.of(2)),
        """
        p0 a1@0
        a2@0 -> a [0,10) 1 2 @9
        p5 a3@0
        p9
        p10 a4@0
        a5@0 -> a [10,20) 4 5 @19
        """,
        leaves_state=True,
    ),
    Case(
        "processing tumbling: evicted before the function",
        listed(TENS, evictor=CountEvictor.of(2)),
        """
        p0 a1@0 a2@0 a3@0
        p9 -> a [0,10) 2 3 @9
        """,
    ),
    Case(
        "processing tumbling: purging",
        listed(TENS, PurgingTrigger.of(ContinuousProcessingTimeTrigger.of(4))),
        """
        p0 a1@0
        p4 -> a [0,10) 1 @9
        p8 a2@0
        p9 -> a [0,10) 2 @9
        """,
    ),
    Case(
        "processing session: a count trigger adds the counts of what merges",
        listed(SESSIONS, CountTrigger.of(3)),
        """
        p0 a1@0
        p4 a2@0
        p8 a3@0 -> a [0,18) 1 2 3 @17
        p19
        """,
    ),
    Case(
        "continuous processing: at every multiple of the interval",
        listed(TumblingProcessingTimeWindows.of(20), ContinuousProcessingTimeTrigger.of(5)),
        """
        p2 a1@0
        p5 -> a [0,20) 1 @19
        p7 a2@0
        p12 -> a [0,20) 1 2 @19
        p15 -> a [0,20) 1 2 @19
        p19 -> a [0,20) 1 2 @19
        """,
    ),
    Case(
        "continuous processing: an epoch later than several multiples fires for each",
        listed(TumblingProcessingTimeWindows.of(20), ContinuousProcessingTimeTrigger.of(5)),
        """
        p2 a1@0
        p16 -> a [0,20) 1 @19; a [0,20) 1 @19; a [0,20) 1 @19
        """,
        leaves_state=True,
    ),
    Case(
        "continuous processing: on the global window it goes on until the end",
        listed(GLOBAL, ContinuousProcessingTimeTrigger.of(10)),
        """
        p3 a1@0
        p10 -> a all 1 @MAX
        p15 a2@0
        p20 -> a all 1 2 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "continuous processing: early results of event-time windows",
        listed(TumblingEventTimeWindows.of(1000), ContinuousProcessingTimeTrigger.of(10)),
        """
        p3 a1@5
        p10 -> a [0,1000) 1 @999
        a2@6
        p20 -> a [0,1000) 1 2 @999
        w999
        p30
        """,
    ),
    Case(
        "processing trigger: on event-time windows, the watermark only cleans up",
        listed(EVENT_TENS, ProcessingTimeTrigger.create()),
        """
        p0 a1@0 a2@5
        p8
        p9 -> a [0,10) 1 2 @9
        w9
        a3@1 -> late
        """,
    ),
    Case(
        "processing trigger: on event-time windows, a watermark before the time loses them",
        listed(EVENT_TENS, ProcessingTimeTrigger.create()),
        """
        p0 a1@0 w9
        p9
        """,
    ),
    Case(
        "custom trigger: some processing time after each record",
        listed(GLOBAL, AfterDelay(5)),
        """
        p0 a1@0
        p3 a2@0
        p5 -> a all 1 2 @MAX
        p8 -> a all 1 2 @MAX
        p20
        """,
        leaves_state=True,
    ),
    Case(
        "custom trigger: the end drops what processing time would fire",
        listed(EVENT_TENS, AfterDelay(5)),
        """
        p0 a1@0
        p5 -> a [0,10) 1 @9
        a2@1
        """,
    ),
    Case(
        "timeout trigger: fires when another one takes too long",
        listed(GLOBAL, ProcessingTimeoutTrigger.of(CountTrigger.of(3), 10)),
        """
        p0 a1@0
        p5 a2@0
        p10 -> a all 1 2 @MAX
        p12 a3@0 a4@0
        a5@0 -> a all 1 2 3 4 5 @MAX
        p30
        """,
        leaves_state=True,
    ),
    Case(
        "timeout trigger: each record begins the timeout anew",
        listed(GLOBAL, ProcessingTimeoutTrigger.of(CountTrigger.of(3), 10, True)),
        """
        p0 a1@0
        p5 a2@0
        p10
        p15 -> a all 1 2 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "event-time windows do not care for processing time",
        listed(EventTimeSessionWindows.with_gap(10)),
        """
        p0 a1@0
        p1000 a2@5
        w15 -> a [0,15) 1 2 @14
        p2000
        """,
    ),
]

CASES = [*WINDOWS, *TRIGGERS]

"""Transcripts of tumbling and sliding windows of event time."""

from __future__ import annotations

from millstream.datastream.window import (
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.support.semantics.transcript_functions import (
    Listed,
)
from tests.support.semantics.transcripts import Case
from tests.support.semantics.window_builders import aside, sliding, tumbling

__all__ = ["CASES"]


TUMBLING = [
    Case(
        "tumbling: fires at the last instant of the window, not before",
        tumbling(),
        """
        a1@0 a2@9 w8
        w9 -> a [0,10) 1 2 @9
        """,
    ),
    Case(
        "tumbling: the end of a window is the start of the next",
        tumbling(),
        """
        a1@9 a2@10
        w9 -> a [0,10) 1 @9
        w19 -> a [10,20) 2 @19
        """,
    ),
    Case(
        "tumbling: content is in the order of arrival, not of event time",
        tumbling(),
        """
        a3@7 a1@2 a2@5
        w9 -> a [0,10) 3 1 2 @9
        """,
    ),
    Case(
        "tumbling: a watermark that jumps fires windows in the order of time",
        tumbling(),
        """
        a1@25 a2@5 a3@15
        w100 -> a [0,10) 2 @9; a [10,20) 3 @19; a [20,30) 1 @29
        """,
    ),
    Case(
        "tumbling: keys have windows of their own",
        tumbling(),
        """
        a1@1 b2@2 a3@3 b4@14
        w9 -> a [0,10) 1 3 @9; b [0,10) 2 @9
        b5@13 a6@12
        w19 -> a [10,20) 6 @19; b [10,20) 4 5 @19
        """,
    ),
    Case(
        "tumbling: a key without records has no window",
        tumbling(),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        b2@15 w18
        w19 -> b [10,20) 2 @19
        """,
    ),
    Case(
        "tumbling: the end of the input fires what is open",
        tumbling(),
        """
        a1@13 a2@3 w8
        end -> a [0,10) 2 @9; a [10,20) 1 @19
        """,
    ),
    Case("tumbling: without records nothing comes", tumbling(), "w5 w100"),
    Case(
        "tumbling: a window that was passed over without records is late all the same",
        tumbling(),
        """
        w9
        a1@9 -> late
        a2@10
        end -> a [10,20) 2 @19
        """,
    ),
    Case(
        "tumbling: late after the firing, dropped and counted",
        tumbling(),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        a2@5 -> late
        b3@0 -> late
        a4@12
        end -> a [10,20) 4 @19
        """,
    ),
    Case(
        "tumbling: late records aside, with their event time",
        aside(TumblingEventTimeWindows.of(10)),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        a2@5 -> late
        b3@9 -> late
        a4@2 -> late
        a5@10
        w19 -> a [10,20) 5 @19
        """,
        aside=True,
    ),
    Case(
        "tumbling: behind the watermark, but its window is open",
        tumbling(),
        """
        a1@8 w8
        a2@3
        w9 -> a [0,10) 1 2 @9
        """,
    ),
    Case(
        "tumbling: a watermark does not go back",
        tumbling(),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        w3
        a2@5 -> late
        """,
    ),
    Case(
        "tumbling: the same watermark again fires nothing again",
        tumbling(),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        w9 w9 w10
        """,
    ),
    Case(
        "tumbling: a positive offset",
        tumbling(10, 3),
        """
        a1@2 a2@3 a3@12 a4@13
        w2 -> a [-7,3) 1 @2
        w12 -> a [3,13) 2 3 @12
        end -> a [13,23) 4 @22
        """,
    ),
    Case(
        "tumbling: a negative offset",
        tumbling(10, -3),
        """
        a1@6 a2@7 a3@-3
        w6 -> a [-3,7) 1 3 @6
        w16 -> a [7,17) 2 @16
        """,
    ),
    Case(
        "tumbling: negative times",
        tumbling(),
        """
        a1@-1 a2@-10 a3@-11 a4@0
        w-11 -> a [-20,-10) 3 @-11
        w-2
        w-1 -> a [-10,0) 1 2 @-1
        a5@-5 -> late
        w9 -> a [0,10) 4 @9
        """,
    ),
    Case(
        "tumbling: negative times with an offset",
        tumbling(10, 4),
        """
        a1@-7 a2@-6 a3@3
        w-7 -> a [-16,-6) 1 @-7
        w3 -> a [-6,4) 2 3 @3
        """,
    ),
    Case(
        "tumbling: windows of one instant",
        tumbling(1),
        """
        a1@5 a2@6 a3@5 w4
        w5 -> a [5,6) 1 3 @5
        w6 -> a [6,7) 2 @6
        """,
    ),
    Case(
        "tumbling: lateness keeps the window, and every late record fires it",
        tumbling(lateness=5),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        a2@2 -> a [0,10) 1 2 @9
        w13
        a3@3 -> a [0,10) 1 2 3 @9
        w14
        a4@4 -> late
        """,
    ),
    Case(
        "tumbling: lateness, the first record of a window comes late",
        tumbling(lateness=5),
        """
        w12
        a1@3 -> a [0,10) 1 @9
        a2@4 -> a [0,10) 1 2 @9
        w14
        a3@3 -> late
        """,
    ),
    Case(
        "tumbling: lateness, a jump over firing and cleanup fires once",
        tumbling(lateness=5),
        """
        a1@3 a2@13
        w100 -> a [0,10) 1 @9; a [10,20) 2 @19
        a3@13 -> late
        """,
    ),
    Case(
        "tumbling: lateness longer than the window, two windows take late records",
        tumbling(lateness=25),
        """
        a1@1 a2@11
        w19 -> a [0,10) 1 @9; a [10,20) 2 @19
        a3@12 -> a [10,20) 2 3 @19
        a4@2 -> a [0,10) 1 4 @9
        w34
        a5@2 -> late
        a6@12 -> a [10,20) 2 3 6 @19
        """,
    ),
    Case(
        "tumbling: lateness with a side output for what is later still",
        aside(TumblingEventTimeWindows.of(10), lateness=5),
        """
        a1@1
        w10 -> a [0,10) 1 @9
        a2@2 -> a [0,10) 1 2 @9
        w14
        a3@3 -> late
        """,
        aside=True,
    ),
    Case(
        "tumbling: lateness at the end of the input",
        tumbling(lateness=5),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        a2@11
        end -> a [10,20) 2 @19
        """,
    ),
    Case(
        "tumbling: judged by the operator's clock, which is the same with one channel",
        lambda s: (
            s.window(TumblingEventTimeWindows.of(10), lateness="operator")
            .allowed_lateness(5)
            .process(Listed())
        ),
        """
        a1@1
        w9 -> a [0,10) 1 @9
        w13
        a2@2 -> a [0,10) 1 2 @9
        w14
        a3@2 -> late
        """,
    ),
]

SLIDING = [
    Case(
        "sliding: a record is in several windows",
        sliding(10, 5),
        """
        a1@7
        w9 -> a [0,10) 1 @9
        w14 -> a [5,15) 1 @14
        """,
    ),
    Case(
        "sliding: windows share records",
        sliding(10, 5),
        """
        a1@1 a2@6 a3@11
        w4 -> a [-5,5) 1 @4
        w9 -> a [0,10) 1 2 @9
        w14 -> a [5,15) 2 3 @14
        w19 -> a [10,20) 3 @19
        """,
    ),
    Case(
        "sliding: late for one window, on time for the other",
        sliding(10, 5),
        """
        w9 a1@7
        w14 -> a [5,15) 1 @14
        """,
    ),
    Case(
        "sliding: late for all windows",
        aside(SlidingEventTimeWindows.of(10, 5)),
        """
        w14
        a1@7 -> late
        a2@10
        w19 -> a [10,20) 2 @19
        """,
        aside=True,
    ),
    Case(
        "sliding: a slide beyond the size leaves gaps, records in them are in no window",
        sliding(5, 10),
        """
        a1@3 a2@7 a3@5 a4@10
        w4 -> a [0,5) 1 @4
        w14 -> a [10,15) 4 @14
        """,
    ),
    Case(
        "sliding: a record in a gap is late if the watermark has passed it, as in Flink",
        aside(SlidingEventTimeWindows.of(5, 10)),
        """
        w20
        a1@17 -> late
        a2@27 a3@21
        end -> a [20,25) 3 @24
        """,
        aside=True,
    ),
    Case(
        "sliding: an offset",
        sliding(10, 5, 2),
        """
        a1@7 a2@6
        w6 -> a [-3,7) 2 @6
        w11 -> a [2,12) 1 2 @11
        w16 -> a [7,17) 1 @16
        """,
    ),
    Case(
        "sliding: negative times",
        sliding(10, 5),
        """
        a1@-1 a2@-6 w-7
        w-6 -> a [-15,-5) 2 @-6
        w-1 -> a [-10,0) 1 2 @-1
        w4 -> a [-5,5) 1 @4
        """,
    ),
    Case(
        "sliding: a size that is no multiple of the slide",
        sliding(7, 3),
        """
        a1@6
        w6 -> a [0,7) 1 @6
        w9 -> a [3,10) 1 @9
        w12 -> a [6,13) 1 @12
        """,
    ),
    Case(
        "sliding: lateness",
        sliding(10, 5, lateness=5),
        """
        a1@7
        w9 -> a [0,10) 1 @9
        a2@8 -> a [0,10) 1 2 @9
        w14 -> a [5,15) 1 2 @14
        a3@6 -> a [5,15) 1 2 3 @14
        w19
        a4@6 -> late
        """,
    ),
    Case(
        "sliding: lateness, a record fires the later window first",
        sliding(10, 5, lateness=20),
        """
        w14
        a1@7 -> a [5,15) 1 @14; a [0,10) 1 @9
        """,
    ),
    Case(
        "sliding: the end of the input fires windows in the order of time",
        sliding(10, 5),
        """
        a1@7 b2@2
        end -> a [0,10) 1 @9; a [5,15) 1 @14; b [-5,5) 2 @4; b [0,10) 2 @9
        """,
    ),
    Case(
        "sliding: a slide of the size is tumbling",
        sliding(10, 10),
        """
        a1@9 a2@10
        w9 -> a [0,10) 1 @9
        w19 -> a [10,20) 2 @19
        """,
    ),
]

CASES = [*TUMBLING, *SLIDING]

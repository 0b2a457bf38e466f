"""Transcripts of global, counted, keyless and custom windows, and of the ends of time."""

from __future__ import annotations

from millstream.datastream.window import (
    CountTrigger,
    EndOfStreamWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.support.semantics.transcript_functions import (
    LATE,
    AppliedAll,
    ByTens,
    FoldedAll,
    Listed,
    ListedAll,
    Neighbours,
    SkippingZeros,
    add,
)
from tests.support.semantics.transcripts import Case
from tests.support.semantics.window_builders import session, sliding, tumbling

__all__ = ["CASES"]


OTHERS = [
    Case(
        "global: never fires by itself",
        lambda s: s.window(GlobalWindows.create()).process(Listed()),
        "a1@0 a2@100 w1000",
        leaves_state=True,
    ),
    Case(
        "global: fires at the end of the stream",
        lambda s: s.window(GlobalWindows.create_with_end_of_stream_trigger()).process(Listed()),
        """
        a1@5 b2@3 w100
        a3@1
        end -> a all 1 3 @MAX; b all 2 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "end of stream: one window for all of time",
        lambda s: s.window(EndOfStreamWindows.get()).process(Listed()),
        """
        a1@5 w100
        a2@-7 b3@3
        end -> a [MIN+1,MAX) 1 2 @MAX-1; b [MIN+1,MAX) 3 @MAX-1
        """,
        leaves_state=True,
    ),
    Case(
        "global: nothing is ever late",
        lambda s: s.window(GlobalWindows.create()).trigger(CountTrigger.of(2)).process(Listed()),
        """
        w1000 a1@0
        a2@1 -> a all 1 2 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "count: so many records of a key, whatever their time",
        lambda s: s.count_window(3).process(Listed(window=False)),
        """
        a1@0 b2@0 a3@500 w1000
        a4@0 -> a 1 3 4 @MAX
        b5@0
        b6@0 -> b 2 5 6 @MAX
        a7@0 a8@0
        """,
        leaves_state=True,
    ),
    Case(
        "count: windows follow each other",
        lambda s: s.count_window(2).reduce(add),
        """
        a1@0
        a2@0 -> a 3 @MAX
        a3@0
        a4@0 -> a 7 @MAX
        a5@0
        """,
        leaves_state=True,
    ),
    Case(
        "count: windows of one record",
        lambda s: s.count_window(1).process(Listed(window=False)),
        """
        a1@0 -> a 1 @MAX
        a2@0 -> a 2 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "count: sliding windows fire when they are full",
        lambda s: s.count_window(4, 2).process(Listed(window=False)),
        """
        a1@0 a2@0 a3@0
        a4@0 -> a 1 2 3 4 @MAX
        a5@0
        a6@0 -> a 3 4 5 6 @MAX
        a7@0
        """,
        leaves_state=True,
    ),
    Case(
        "count: a slide of one",
        lambda s: s.count_window(2, 1).process(Listed(window=False)),
        """
        a1@0 b7@0
        a2@0 -> a 1 2 @MAX
        a3@0 -> a 2 3 @MAX
        b8@0 -> b 7 8 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "count: a slide beyond the size leaves records out",
        lambda s: s.count_window(2, 3).process(Listed(window=False)),
        """
        a1@0
        a2@0 -> a 1 2 @MAX
        a3@0 a4@0
        a5@0 -> a 4 5 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "all: windows over all keys",
        lambda s: s.window_all(TumblingEventTimeWindows.of(10)).process(ListedAll()),
        """
        a1@1 b2@2 c3@12
        w9 -> * [0,10) 1 2 @9
        w19 -> * [10,20) 3 @19
        """,
        keyed=False,
    ),
    Case(
        "all: sessions",
        lambda s: s.window_all(EventTimeSessionWindows.with_gap(10)).apply(AppliedAll()),
        """
        a1@1 b2@20 c3@11 w29
        w30 -> * [1,30) 1 2 3 @29
        """,
        keyed=False,
    ),
    Case(
        "all: sliding, reduced",
        lambda s: s.window_all(SlidingEventTimeWindows.of(10, 5)).reduce(add, FoldedAll()),
        """
        a1@1 b2@6
        w4 -> * [-5,5) ('a', 1) @4
        w9 -> * [0,10) ('a', 3) @9
        w14 -> * [5,15) ('b', 2) @14
        """,
        keyed=False,
    ),
    Case(
        "all: late records of any key",
        lambda s: (
            s.window_all(TumblingEventTimeWindows.of(10))
            .side_output_late_data(LATE)
            .process(ListedAll())
        ),
        """
        a1@1
        w9 -> * [0,10) 1 @9
        b2@2 -> late
        a3@12
        w19 -> * [10,20) 3 @19
        """,
        keyed=False,
        aside=True,
    ),
    Case(
        "all: counted records",
        lambda s: s.count_window_all(3).process(ListedAll()),
        """
        a1@0 b2@0
        c3@0 -> * #0 1 2 3 @MAX
        a4@0
        """,
        keyed=False,
        leaves_state=True,
    ),
    Case(
        "all: sliding over counted records",
        lambda s: s.count_window_all(2, 1).sum(1),
        """
        a1@0
        b2@0 -> a 3 @MAX
        c3@0 -> b 5 @MAX
        """,
        keyed=False,
        leaves_state=True,
    ),
    Case(
        "custom: an assigner of two windows a record",
        lambda s: s.window(ByTens()).process(Listed()),
        """
        a1@5 a2@15
        w9 -> a [0,10) 1 @9
        w19 -> a [10,20) 2 @19
        w50 a3@7
        w99 -> a [0,100) 1 2 3 @99
        a4@97 -> late
        """,
    ),
    Case(
        "custom: an assigner that leaves records out, which are not late",
        lambda s: s.window(SkippingZeros()).side_output_late_data(LATE).process(Listed()),
        """
        a1@5 a0@6
        w9 -> a [0,10) 1 @9
        end -> a [0,100) 1 @99
        """,
        aside=True,
    ),
    Case(
        "custom: a merging assigner with rules of its own",
        lambda s: s.window(Neighbours()).process(Listed()),
        """
        a1@5 a2@15
        w20 -> a [0,20) 1 2 @19
        a3@35 a4@45 a5@55 a6@65
        end -> a [30,60) 3 4 5 @59; a [60,70) 6 @69
        """,
    ),
    Case(
        "custom: a merging assigner, and a neighbour that has gone",
        lambda s: s.window(Neighbours()).process(Listed()),
        """
        a1@5 a2@25 w9
        w10 -> a [0,10) 1 @9
        a3@15
        w30 -> a [10,30) 2 3 @29
        """,
    ),
]

ENDS_OF_TIME = [
    Case(
        "ends of time: the first whole window",
        tumbling(),
        """
        a1@MIN+8 a2@MIN+17
        wMIN+17 -> a [MIN+8,MIN+18) 1 2 @MIN+17
        """,
    ),
    Case(
        "ends of time: a window that would begin before time is cut off",
        tumbling(),
        """
        a1@MIN+3
        wMIN+7 -> a [MIN+1,MIN+8) 1 @MIN+7
        """,
    ),
    Case(
        "ends of time: the last whole window",
        tumbling(),
        """
        a1@MAX-17 a2@MAX-8 wMAX-9
        wMAX-8 -> a [MAX-17,MAX-7) 1 2 @MAX-8
        """,
    ),
    Case(
        "ends of time: a window that would end after time is cut off",
        tumbling(),
        """
        a1@MAX-3
        end -> a [MAX-7,MAX) 1 @MAX-1
        """,
    ),
    Case(
        "ends of time: lateness beyond the end of time never ends",
        tumbling(lateness=100),
        """
        a1@MAX-15 wMAX-9
        wMAX-8 -> a [MAX-17,MAX-7) 1 @MAX-8
        wMAX-2
        a2@MAX-10 -> a [MAX-17,MAX-7) 1 2 @MAX-8
        """,
        leaves_state=True,
    ),
    Case(
        "ends of time: sliding",
        sliding(10, 5),
        """
        a1@MAX-8
        wMAX-8 -> a [MAX-17,MAX-7) 1 @MAX-8
        end -> a [MAX-12,MAX-2) 1 @MAX-3
        """,
    ),
    Case(
        "ends of time: a session that ends with time",
        session(100),
        """
        a1@MAX-150 a2@MAX-60 wMAX-51
        end -> a [MAX-150,MAX) 1 2 @MAX-1
        """,
    ),
    Case(
        "ends of time: sessions at the beginning",
        session(10),
        """
        a1@MIN+1 a2@MIN+11
        wMIN+21 -> a [MIN+1,MIN+21) 1 2 @MIN+20
        """,
    ),
]

CASES = [*OTHERS, *ENDS_OF_TIME]

"""Transcripts of windows that fold their records: reduce, aggregate, and fields."""

from __future__ import annotations

from typing import Any

from millstream.common import Types
from millstream.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.support.semantics.transcript_functions import (
    LATE,
    Average,
    Folded,
    FoldedApplied,
    Gathered,
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


REDUCES = [
    Case(
        "reduce: one value for a window",
        lambda s: s.window(TENS).reduce(add),
        """
        a1@1 b2@2 a3@3
        w9 -> a 4 @9; b 2 @9
        a5@12
        w19 -> a 5 @19
        """,
    ),
    Case(
        "reduce: one record is not reduced",
        lambda s: s.window(TENS).reduce(add),
        """
        a7@1
        end -> a 7 @9
        """,
    ),
    Case(
        "reduce: a process window function sees the one value",
        lambda s: s.window(TENS).reduce(add, Folded()),
        """
        a1@1 a2@2 a3@3
        w9 -> a [0,10) ('a', 6) @9
        """,
    ),
    Case(
        "reduce: a window function sees the one value",
        lambda s: s.window(TENS).reduce(add, FoldedApplied()),
        """
        a1@1 a2@2
        w9 -> a [0,10) ('a', 3) @9
        """,
    ),
    Case(
        "reduce: late records go on from the value",
        lambda s: s.window(TENS).allowed_lateness(5).reduce(add),
        """
        a1@1
        w9 -> a 1 @9
        a2@2 -> a 3 @9
        a3@3 -> a 6 @9
        w14
        a4@4 -> late
        """,
    ),
    Case(
        "reduce: purged, it begins anew",
        lambda s: (
            s.window(TENS)
            .trigger(PurgingTrigger.of(EventTimeTrigger.create()))
            .allowed_lateness(5)
            .reduce(add)
        ),
        """
        a1@1
        w9 -> a 1 @9
        a2@2 -> a 2 @9
        """,
    ),
    Case(
        "reduce: sliding",
        lambda s: s.window(SLIDING).reduce(add),
        """
        a1@1 a2@6 a3@11
        w4 -> a 1 @4
        w9 -> a 3 @9
        w14 -> a 5 @14
        w19 -> a 3 @19
        """,
    ),
    Case(
        "reduce: sessions that merge",
        lambda s: s.window(SESSIONS).reduce(add, Folded()),
        """
        a1@0 a2@20 a4@40 a8@10
        w30 -> a [0,30) ('a', 11) @29
        w50 -> a [40,50) ('a', 4) @49
        """,
    ),
    Case(
        "reduce: count trigger on the global window",
        lambda s: s.window(GlobalWindows.create()).trigger(CountTrigger.of(2)).reduce(add),
        """
        a1@0
        a2@0 -> a 3 @MAX
        a3@0
        a4@0 -> a 10 @MAX
        """,
        leaves_state=True,
    ),
    Case(
        "reduce: continuous trigger tells where it stands",
        lambda s: s.window(TENS).trigger(ContinuousEventTimeTrigger.of(4)).reduce(add),
        """
        a1@0
        w4 -> a 1 @9
        a2@5 a3@6
        w8 -> a 6 @9
        w9 -> a 6 @9
        """,
    ),
    Case(
        "reduce: late records aside",
        lambda s: s.window(TENS).side_output_late_data(LATE).reduce(add),
        """
        a1@1
        w9 -> a 1 @9
        a2@2 -> late
        """,
        aside=True,
    ),
]

AGGREGATES = [
    Case(
        "aggregate: an accumulator of another type",
        lambda s: s.window(TENS).aggregate(Average()),
        """
        a1@1 b8@2 a2@3
        w9 -> a 1.5 @9; b 8.0 @9
        """,
    ),
    Case(
        "aggregate: a process window function sees the result",
        lambda s: s.window(TENS).aggregate(Average(), Folded()),
        """
        a1@1 a2@3
        w9 -> a [0,10) ('a', 1.5) @9
        """,
    ),
    Case(
        "aggregate: a window function sees the result",
        lambda s: s.window(TENS).aggregate(Average(), FoldedApplied()),
        """
        a1@1 a2@3
        w9 -> a [0,10) ('a', 1.5) @9
        """,
    ),
    Case(
        "aggregate: sessions merge accumulators",
        lambda s: s.window(SESSIONS).aggregate(Average(), Folded()),
        """
        a1@0 a5@20 a3@10
        w30 -> a [0,30) ('a', 3.0) @29
        """,
    ),
    Case(
        "aggregate: late records go on from the accumulator",
        lambda s: s.window(TENS).allowed_lateness(5).aggregate(Average()),
        """
        a1@1
        w9 -> a 1.0 @9
        a4@2 -> a 2.5 @9
        """,
    ),
    Case(
        "aggregate: an accumulator that changes in place, windows share nothing",
        lambda s: s.window(SLIDING).aggregate(Gathered(), Folded()),
        """
        a1@6 a2@7 a3@11
        w9 -> a [0,10) (1, 2) @9
        w14 -> a [5,15) (1, 2, 3) @14
        w19 -> a [10,20) (3,) @19
        """,
    ),
    Case(
        "aggregate: an accumulator that changes in place, fired twice",
        lambda s: s.window(TENS).trigger(CountTrigger.of(2)).aggregate(Gathered(), Folded()),
        """
        a1@6
        a2@7 -> a [0,10) (1, 2) @9
        a3@6
        a4@7 -> a [0,10) (1, 2, 3, 4) @9
        """,
    ),
]

FIELDS = [
    Case(
        "sum: other fields are the first record's",
        by_field("sum"),
        """
        a31@1 a12@2 b53@3
        w9 -> a 4 1 @9; b 5 3 @9
        """,
        keyed=False,
    ),
    Case(
        "min: other fields are the first record's",
        by_field("min"),
        """
        a31@1 a12@2 a23@3
        w9 -> a 1 1 @9
        """,
        keyed=False,
    ),
    Case(
        "max: other fields are the first record's",
        by_field("max"),
        """
        a11@1 a32@2 a23@3
        w9 -> a 3 1 @9
        """,
        keyed=False,
    ),
    Case(
        "min by: the first of the smallest",
        by_field("min_by"),
        """
        a31@1 a12@2 a13@3
        w9 -> a 1 2 @9
        """,
        keyed=False,
    ),
    Case(
        "max by: the first of the largest",
        by_field("max_by"),
        """
        a31@1 a12@2 a33@3
        w9 -> a 3 1 @9
        """,
        keyed=False,
    ),
    Case(
        "max by: the first of the largest in sessions that merge is the first to come",
        by_field("max_by", SESSIONS),
        """
        a31@20 a32@0 a13@10
        w30 -> a 3 1 @29
        """,
        keyed=False,
    ),
    Case(
        "sum: sessions",
        by_field("sum", SESSIONS),
        """
        a11@20 a22@0 a33@10 b14@0
        w10 -> b 1 4 @9
        w30 -> a 6 1 @29
        """,
        keyed=False,
    ),
    Case(
        "sum: sliding",
        by_field("sum", SLIDING),
        """
        a11@6 a22@11
        w9 -> a 1 1 @9
        w14 -> a 3 1 @14
        w19 -> a 2 2 @19
        """,
        keyed=False,
    ),
    Case(
        "sum: late records are dropped and counted",
        by_field("sum"),
        """
        a11@1 w8
        a22@2
        w9 -> a 3 1 @9
        a33@3 -> late
        """,
        keyed=False,
    ),
    Case(
        "sum: the last field, negative numbers",
        lambda s: s.window(TENS).sum(1),
        """
        a5@1 a-7@2
        w9 -> a -2 @9
        """,
    ),
    Case(
        "count: pairs of key and number",
        lambda s: s.window(TENS).count(),
        """
        a1@1 b2@2 a3@3
        w9 -> a 2 @9; b 1 @9
        """,
    ),
    Case(
        "count: of a session",
        lambda s: s.window(SESSIONS).count(),
        """
        a1@0 a3@20 a5@10
        w30 -> a 3 @29
        """,
    ),
    Case(
        "count: late records within the lateness",
        lambda s: s.window(TENS).allowed_lateness(5).count(),
        """
        a1@1
        w9 -> a 1 @9
        a2@1 -> a 2 @9
        """,
    ),
]

CASES = [*REDUCES, *AGGREGATES, *FIELDS]

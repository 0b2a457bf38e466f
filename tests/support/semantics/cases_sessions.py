"""Transcripts of session windows of event time."""

from __future__ import annotations

from millstream.datastream.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
)
from tests.support.semantics.transcript_functions import (
    GapOfValue,
    Listed,
)
from tests.support.semantics.transcripts import Case
from tests.support.semantics.window_builders import aside, session

__all__ = ["CASES"]


SESSIONS = [
    Case(
        "session: fires when the watermark comes to its end, not to its last instant",
        session(),
        """
        a1@0 a2@5 w14
        w15 -> a [0,15) 1 2 @14
        """,
    ),
    Case(
        "session: a pause ends it",
        session(),
        """
        a1@0 a2@11
        w10 -> a [0,10) 1 @9
        w21 -> a [11,21) 2 @20
        """,
    ),
    Case(
        "session: sessions that touch are one",
        session(),
        """
        a1@0 a2@10 w19
        w20 -> a [0,20) 1 2 @19
        """,
    ),
    Case(
        "session: a record at the very end is on time while the watermark is before it",
        session(),
        """
        a1@0 w9
        a2@10 w19
        w20 -> a [0,20) 1 2 @19
        """,
    ),
    Case(
        "session: a record behind all others begins it earlier",
        session(),
        """
        a1@10 a2@3
        w20 -> a [3,20) 1 2 @19
        """,
    ),
    Case(
        "session: a record between two makes one of three",
        session(),
        """
        a1@0 a2@20 b9@0 a3@10
        w10 -> b [0,10) 9 @9
        w30 -> a [0,30) 1 2 3 @29
        """,
    ),
    Case(
        "session: many merge, one after the other",
        session(),
        """
        a1@0 a2@40 a3@20 a4@10 a5@30
        w49
        w50 -> a [0,50) 1 2 3 4 5 @49
        """,
    ),
    Case(
        "session: a record inside changes nothing but the content",
        session(),
        """
        a1@0 a2@9 a3@4 a4@9
        w19 -> a [0,19) 1 2 3 4 @18
        """,
    ),
    Case(
        "session: late by itself, but its session is open",
        session(),
        """
        a1@0 a2@8 w12
        a3@1
        w18 -> a [0,18) 1 2 3 @17
        """,
    ),
    Case(
        "session: late, and no session is near",
        session(),
        """
        a1@30 w25
        a2@5 -> late
        end -> a [30,40) 1 @39
        """,
    ),
    Case(
        "session: late aside, after its session has gone",
        aside(EventTimeSessionWindows.with_gap(10)),
        """
        a1@0
        w14 -> a [0,10) 1 @9
        a2@4 -> late
        a3@5 -> late
        a4@6
        w16 -> a [6,16) 4 @15
        a5@6 -> late
        """,
        aside=True,
    ),
    Case(
        "session: after its session has fired a record begins a new one",
        session(),
        """
        a1@0
        w10 -> a [0,10) 1 @9
        a2@5 w14
        w15 -> a [5,15) 2 @14
        """,
    ),
    Case(
        "session: a late record leaves nothing behind",
        session(),
        """
        a1@20 w12
        a2@1 -> late
        a3@12 w29
        w30 -> a [12,30) 1 3 @29
        """,
    ),
    Case(
        "session: keys have sessions of their own",
        session(),
        """
        a1@0 b2@5 a3@8 b4@20
        w15 -> b [5,15) 2 @14
        w18 -> a [0,18) 1 3 @17
        w30 -> b [20,30) 4 @29
        """,
    ),
    Case(
        "session: lateness, a late record lets the session wait on",
        session(lateness=10),
        """
        a1@0
        w10 -> a [0,10) 1 @9
        a2@5
        w15 -> a [0,15) 1 2 @14
        """,
    ),
    Case(
        "session: lateness, a late record inside fires it again",
        session(lateness=10),
        """
        a1@0 a2@5
        w16 -> a [0,15) 1 2 @14
        a3@2 -> a [0,15) 1 2 3 @14
        w30
        a4@3 -> late
        """,
    ),
    Case(
        "session: lateness, at its last instant it has not fired yet",
        session(lateness=5),
        """
        a1@0 w9
        a2@0
        w10 -> a [0,10) 1 2 @9
        a3@0 -> a [0,10) 1 2 3 @9
        """,
    ),
    Case(
        "session: lateness, a late record makes one of two that have fired",
        session(lateness=100),
        """
        a1@0 a2@15
        w10 -> a [0,10) 1 @9
        w25 -> a [15,25) 2 @24
        a3@9 -> a [0,25) 1 2 3 @24
        """,
    ),
    Case(
        "session: lateness, one that has fired merges with one that has not",
        session(lateness=100),
        """
        a1@0 a2@15
        w12 -> a [0,10) 1 @9
        a3@8
        w25 -> a [0,25) 1 2 3 @24
        """,
    ),
    Case(
        "session: lateness, after the cleanup a record begins a new one",
        session(lateness=10),
        """
        a1@0
        w10 -> a [0,10) 1 @9
        w25
        a2@9 -> a [9,19) 2 @18
        """,
    ),
    Case(
        "session: lateness, what has been purged is not there again",
        session(lateness=10, trigger=PurgingTrigger.of(EventTimeTrigger.create())),
        """
        a1@0
        w10 -> a [0,10) 1 @9
        a2@5
        w15 -> a [0,15) 2 @14
        a3@3 -> a [0,15) 3 @14
        """,
    ),
    Case(
        "session: negative times",
        session(),
        """
        a1@-15 a2@-5 a3@6
        w5 -> a [-15,5) 1 2 @4
        w16 -> a [6,16) 3 @15
        """,
    ),
    Case(
        "session: the end of the input fires what is open",
        session(),
        """
        a1@0 a2@30 b3@4
        end -> a [0,10) 1 @9; a [30,40) 2 @39; b [4,14) 3 @13
        """,
    ),
    Case(
        "session: each record says how long to wait",
        lambda s: s.window(EventTimeSessionWindows.with_dynamic_gap(GapOfValue())).process(
            Listed()
        ),
        """
        a5@0 a20@3 w5
        a1@23 w23
        w24 -> a [0,24) 5 20 1 @23
        """,
    ),
    Case(
        "session: a short one inside a long one",
        lambda s: s.window(DynamicEventTimeSessionWindows.with_dynamic_gap(lambda e: e[1])).process(
            Listed()
        ),
        """
        a20@0 a2@5 w7
        a3@21
        w20 -> a [0,20) 20 2 @19
        w24 -> a [21,24) 3 @23
        """,
    ),
]

CASES = [*SESSIONS]

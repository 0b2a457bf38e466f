"""Programs that do not give what they give on Flink: what each side gives, and why.

Records that both give are left out. The page docs/reference/flink_parity.md shows these differences.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.parity.catalogue import MAIN, Results


@dataclass(frozen=True)
class Difference:
    """What only one side gives; ``error`` is the code of the error that Millstream raises instead."""

    name: str
    why: str
    flink: Results = field(default_factory=dict)
    millstream: Results = field(default_factory=dict)
    error: str | None = None


def _one(*records: str) -> Results:
    return {MAIN: list(records)}


KNOWN_DIFFERENCES = [
    Difference(
        "the_clock_in_a_timer",
        "Timers fire as if the clock passed through every instant, so in `on_timer` the watermark "
        "is the timer's own time. Flink shows the watermark that made it fire, which depends on how "
        "often watermarks come.",
        _one("(1010, 1046)", "(1020, 1046)", "(1057, 1199)", "(1067, 1199)"),
        _one("(1010, 1010)", "(1020, 1020)", "(1057, 1057)", "(1067, 1067)"),
    ),
    Difference(
        "the_clock_in_a_window_function",
        "As in a timer: a window fires at its last instant.",
        _one("(1000, 1046)", "(1040, 1199)"),
        _one("(1000, 1009)", "(1040, 1049)"),
    ),
    Difference(
        "a_timer_in_the_past_set_twice",
        "A timer for a time that has passed fires right after the record that set it, so the same "
        "timer can be set again. Flink waits for the next watermark, and there is one timer then.",
        {},
        _one("('a', 1)"),
    ),
    Difference(
        "a_session_ends_where_the_next_begins",
        "Sessions that touch are one, so a session ends when the watermark has passed its end: no "
        "record that is on time can miss it. Flink ends it one millisecond before.",
        _one("('a', 1000, 1010, [1])", "('a', 1010, 1020, [3])"),
        _one("('a', 1000, 1020, [1, 3])"),
    ),
    Difference(
        "a_record_that_joins_two_sessions",
        "A mistake of PyFlink 2.3: `reduce` and `aggregate` lose the records of one session when a "
        "record joins two. Flink's Java API and Flink SQL give what Millstream gives "
        "(`java_session_sum`, `sql_session_bridged`).",
        _one("('a', 1000, 1028, [('a', 6, 1009)])", "('b', 1001, 1030, [('b', 10, 1020)])"),
        _one("('a', 1000, 1028, [('a', 9, 1018)])", "('b', 1001, 1030, [('b', 12, 1020)])"),
    ),
    Difference(
        "continuous_firing_over_a_jump",
        "When the input ends, a continuous trigger fires for what is due and at the end of the "
        "window. Flink also fires at every multiple of the interval between the two.",
        _one(*["('b', 1200, 1300, [3])"] * 3),
        {},
    ),
    Difference(
        "java_end_of_stream",
        "Records of an end-of-stream window come in the order of arrival. Flink sorts its input by "
        "time first.",
        _one("(('b', 23, 1002), 9223372036854775807)"),
        _one("(('b', 23, 1004), 9223372036854775807)"),
    ),
    Difference(
        "timers_with_an_input_without_times",
        "An event-time timer needs timestamps on all inputs. In Flink an input without watermarks "
        "holds the timer to the end of the job.",
        _one(
            "('a', 10000, [5, 15, 40, 60, 80, 45], [('even', 10), ('odd', 5)])",
            "('b', 10000, [20, 25, 35], [('even', 10), ('odd', 5)])",
        ),
        error="NO_TIMESTAMPS",
    ),
]
DIFFERING_NAMES = {difference.name for difference in KNOWN_DIFFERENCES}

"""Sessions: count the clicks of each user until that user is silent for half an hour.

Two values of keyed state and one event-time timer a key. Each click moves the timer; when no click
moves it any more, it fires and the session is over.

Prints:
    ('ada', 3, '09:00 to 09:50')
    ('bob', 1, '09:05 to 09:05')
    ('ada', 1, '11:00 to 11:00')
"""

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.state import ValueStateDescriptor

MINUTE = 60_000
GAP = 30 * MINUTE


def clock(millis):
    return f"{millis // 3_600_000:02d}:{millis // MINUTE % 60:02d}"


def at(text):
    hours, minutes = text.split(":")
    return (int(hours) * 60 + int(minutes)) * MINUTE


class Sessions(KeyedProcessFunction):
    def open(self, runtime_context):
        state = runtime_context.get_state
        self.clicks = state(ValueStateDescriptor("clicks", Types.LONG()))
        self.first = state(ValueStateDescriptor("first", Types.LONG()))
        self.last = state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, click, ctx):
        now, timers = ctx.timestamp(), ctx.timer_service()
        last = self.last.value()
        if last is None:
            self.first.update(now)
        else:
            timers.delete_event_time_timer(last + GAP)
        self.last.update(now)
        self.clicks.update((self.clicks.value() or 0) + 1)
        timers.register_event_time_timer(now + GAP)

    def on_timer(self, timestamp, ctx):
        span = f"{clock(self.first.value())} to {clock(self.last.value())}"
        yield ctx.get_current_key(), self.clicks.value(), span
        for state in (self.clicks, self.first, self.last):
            state.clear()


CLICKS = [
    ("ada", "09:00"),
    ("bob", "09:05"),
    ("ada", "09:25"),
    ("ada", "09:50"),
    ("ada", "11:00"),
]

env = StreamExecutionEnvironment.get_execution_environment()
clicks = env.from_collection(CLICKS).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda click, _: at(click[1])
    )
)
clicks.key_by(lambda click: click[0]).process(Sessions()).print()
env.execute("sessions")

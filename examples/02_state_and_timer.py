"""Sessions: count the clicks of each user until that user is silent for half an hour.

Keyed state and one event-time timer a key. Each click moves the timer; when no click moves it any
more, it fires and the session is over. A watermark follows its record, so a click may come in before
the timer it is behind: then the click itself ends the session.

Prints:
    bob: 1 from 09:05 to 09:05
    ada: 3 from 09:00 to 09:50
    ada: 1 from 11:00 to 11:00
"""

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.state import ValueStateDescriptor

MINUTE = 60_000
GAP = 30 * MINUTE


def millis(text):
    hours, minutes = map(int, text.split(":"))
    return (hours * 60 + minutes) * MINUTE


def clock(time):
    return f"{time // (60 * MINUTE):02d}:{time // MINUTE % 60:02d}"


class Sessions(KeyedProcessFunction):
    def open(self, runtime_context):
        triple = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
        self.session = runtime_context.get_state(ValueStateDescriptor("session", triple))

    def process_element(self, click, ctx):
        now, timers = ctx.timestamp(), ctx.timer_service()
        count, first, last = self.session.value() or (0, now, now)
        if count:
            timers.delete_event_time_timer(last + GAP)
        if now >= last + GAP:
            yield self.summary(ctx)
            count, first = 0, now
        self.session.update((count + 1, first, now))
        timers.register_event_time_timer(now + GAP)

    def on_timer(self, timestamp, ctx):
        yield self.summary(ctx)
        self.session.clear()

    def summary(self, ctx):
        count, first, last = self.session.value()
        return f"{ctx.get_current_key()}: {count} from {clock(first)} to {clock(last)}"


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
        lambda click, _: millis(click[1])
    )
)
clicks.key_by(lambda click: click[0]).process(Sessions(), output_type=Types.STRING()).print()
env.execute("sessions")

"""Event time: totals per minute of records that come out of order.

The strategy says how disordered the input may be: up to 20 seconds. So the watermark stays 20
seconds behind the newest record, and a minute is closed when the watermark has passed it. A record
that comes after that is late. It goes to a side output; nothing is dropped silently.

Prints:
    north 10:00: 12
    south 10:00: 4
    north 10:01: 7
    late: ('north', 9, '10:00:30')
    north 10:03: 1
"""

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from millstream.datastream.state import MapStateDescriptor

MINUTE = 60_000
late = OutputTag("late")


def millis(text):
    hours, minutes, seconds = map(int, text.split(":"))
    return ((hours * 60 + minutes) * 60 + seconds) * 1000


class TotalPerMinute(KeyedProcessFunction):
    def open(self, runtime_context):
        descriptor = MapStateDescriptor("totals", Types.LONG(), Types.LONG())
        self.totals = runtime_context.get_map_state(descriptor)

    def process_element(self, sale, ctx):
        end = ctx.timestamp() // MINUTE * MINUTE + MINUTE - 1
        if end <= ctx.timer_service().current_watermark():
            yield late, sale
            return
        self.totals.put(end, (self.totals.get(end) or 0) + sale[1])
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, end, ctx):
        minute = f"{end // 3_600_000:02d}:{end // MINUTE % 60:02d}"
        yield f"{ctx.get_current_key()} {minute}: {self.totals.get(end)}"
        self.totals.remove(end)


SALES = [
    ("north", 5, "10:00:10"),
    ("north", 7, "10:01:05"),
    ("south", 4, "10:00:58"),
    ("north", 7, "10:00:59"),  # six seconds behind: in time
    ("north", 1, "10:03:00"),
    ("north", 9, "10:00:30"),  # two and a half minutes behind: late
]

env = StreamExecutionEnvironment.get_execution_environment()
strategy = WatermarkStrategy.for_bounded_out_of_orderness("20 s").with_timestamp_assigner(
    lambda sale, _: millis(sale[2])
)
sales = env.from_collection(SALES).assign_timestamps_and_watermarks(strategy)
totals = sales.key_by(lambda sale: sale[0]).process(TotalPerMinute())
totals.union(totals.get_side_output(late).map(lambda sale: f"late: {sale}")).print()
env.execute("totals per minute")

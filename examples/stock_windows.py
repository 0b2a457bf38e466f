"""Stock prices: windows over several streams, warnings when a price moves, and a correlation.

Prices of three symbols come from three sources and are one stream. Sliding windows give the lowest price
of all, and the highest and the mean of each symbol. A delta trigger warns when a price is more than 5 %
away from that of the last warning. Warnings are counted per half minute, joined with how often people
mention the symbol, and correlated.

Prints:
    10 s highest  FTSE 1080.0
    10 s highest  GEN  41.0
    10 s highest  SPX  1010.0
    10 s lowest   GEN  40.0
    10 s mean     FTSE 1077.0
    10 s mean     GEN  40.5
    10 s mean     SPX  1005.0
    10 s warning  GEN  43.0
    10 s warning  SPX  1075.0
    15 s warning  GEN  46.0
    20 s highest  FTSE 1085.0
    20 s highest  GEN  46.0
    20 s highest  SPX  1075.0
    20 s lowest   GEN  40.0
    20 s mean     FTSE 1079.5
    20 s mean     GEN  42.5
    20 s mean     SPX  1038.75
    20 s warning  FTSE 1150.0
    20 s warning  GEN  42.0
    20 s warning  SPX  1140.0
    25 s warning  GEN  47.0
    30 s correlated all  0.98
    30 s highest  FTSE 1190.0
    30 s highest  GEN  47.0
    30 s highest  SPX  1140.0
    30 s lowest   GEN  42.0
    30 s mean     FTSE 1126.0
    30 s mean     GEN  44.5
    30 s mean     SPX  1103.75
    40 s highest  FTSE 1190.0
    40 s highest  GEN  47.0
    40 s highest  SPX  1140.0
    40 s lowest   GEN  42.0
    40 s mean     FTSE 1170.0
    40 s mean     GEN  44.5
    40 s mean     SPX  1135.0
"""

from math import sqrt

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.window import (
    DeltaTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

SLIDING = SlidingEventTimeWindows.of("20 s", "10 s")
HALF_MINUTE = TumblingEventTimeWindows.of("30 s")
EVERY_SECONDS = 5
PRICES = {
    "FTSE": [1080.0, 1074.0, 1085.0, 1079.0, 1150.0, 1190.0],
    "GEN": [40.0, 41.0, 43.0, 46.0, 42.0, 47.0],
    "SPX": [1000.0, 1010.0, 1075.0, 1070.0, 1140.0, 1130.0],
}
MENTIONS = [
    ("GEN will rise, buy GEN", 3),
    ("SPX or GEN?", 8),
    ("all my GEN is sold, so is FTSE", 14),
    ("SPX, SPX, SPX!", 21),
    ("who needs GEN?", 26),
]
PRICE = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])
COUNT = Types.TUPLE([Types.STRING(), Types.LONG()])


def timed(stream, at):
    """The stream with its seconds as event times."""
    nearly_in_order = WatermarkStrategy.for_bounded_out_of_orderness("5 s")
    return stream.assign_timestamps_and_watermarks(
        nearly_in_order.with_timestamp_assigner(lambda value, _: value[at] * 1_000)
    )


class Show(ProcessFunction):
    """A line of a word, a symbol and a number; a window's result has the time of its last instant."""

    def __init__(self, word, place=1):
        self.word, self.place = word, place

    def process_element(self, value, ctx):
        yield f"{(ctx.timestamp() + 1) // 1_000:2} s {self.word:<8} {value[0]:<4} {value[self.place]}"


class Warn(ProcessWindowFunction):
    """The price that made the window of its symbol fire."""

    def process(self, key, context, elements):
        yield list(elements)[-1]


class Correlation(ProcessAllWindowFunction):
    """Pearson's correlation of the warnings and mentions of the symbols."""

    def process(self, context, elements):
        pairs = list(elements)
        means = [sum(each) / len(pairs) for each in zip(*pairs, strict=True)]
        apart = [[value - mean for value, mean in zip(pair, means, strict=True)] for pair in pairs]
        both = sum(x * y for x, y in apart)
        squares = sum(x * x for x, _ in apart) * sum(y * y for _, y in apart)
        yield "all", round(both / sqrt(squares), 2) if squares else None


def moved(old, new):
    return abs(new[1] / old[1] - 1)


env = StreamExecutionEnvironment.get_execution_environment()
quotes, *others = [
    timed(
        env.from_collection(
            [(symbol, price, place * EVERY_SECONDS) for place, price in enumerate(prices)], PRICE
        ),
        at=2,
    )
    for symbol, prices in PRICES.items()
]
quotes = quotes.union(*others)
by_symbol = quotes.key_by(lambda quote: quote[0])

lowest = quotes.window_all(SLIDING).min_by(1)
highest = by_symbol.window(SLIDING).max_by(1)
mean = by_symbol.window(SLIDING).summarize(("avg", 1))

warnings = (
    by_symbol.window(GlobalWindows.create())
    .trigger(PurgingTrigger.of(DeltaTrigger.of(0.05, moved, PRICE)))
    .process(Warn(), PRICE)
)
warnings = timed(warnings, at=2)  # windows without an end have no time to give to their results
warned = warnings.map(lambda warning: (warning[0], 1), COUNT).key_by(lambda pair: pair[0])
mentioned = (
    timed(env.from_collection(MENTIONS), at=1)
    .flat_map(
        lambda mention: mention[0].replace(",", " ").replace("?", " ").split(), Types.STRING()
    )
    .filter(lambda word: word in PRICES)
    .map(lambda symbol: (symbol, 1), COUNT)
    .key_by(lambda pair: pair[0])
)
correlation = (
    warned.window(HALF_MINUTE)
    .sum(1)
    .join(mentioned.window(HALF_MINUTE).sum(1))
    .where(lambda count: count[0])
    .equal_to(lambda count: count[0])
    .window(HALF_MINUTE)
    .apply(lambda warned, mentioned: (warned[1], mentioned[1]))
    .window_all(HALF_MINUTE)
    .process(Correlation(), Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
)

shown = {"lowest": lowest, "highest": highest, "mean": mean, "warning": warnings}
lines = [stream.process(Show(word), Types.STRING()) for word, stream in shown.items()]
lines.append(correlation.process(Show("correlated"), Types.STRING()))
with lines[0].union(*lines[1:]).execute_and_collect("stock prices") as results:
    print(*sorted(results), sep="\n")  # several tasks have made them

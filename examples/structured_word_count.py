"""The word count of Structured Streaming, with its three output modes.

Lines come two by two, each pair in an epoch. "complete" gives all counts each time, "update" those that
have changed, and "append" what changes no more: the counts of minutes that the watermark has passed.

Prints:
    complete:
      apache=2 hadoop=1 spark=1
      apache=2 hadoop=2 spark=2 streaming=1
      apache=3 hadoop=2 spark=3 storm=1 streaming=1
    update:
      apache=2 hadoop=1 spark=1
      hadoop=2 spark=2 streaming=1
      apache=3 spark=3 storm=1
    append:
      09:00:apache=2 09:00:hadoop=1 09:00:spark=2 09:00:streaming=1
      09:01:hadoop=1 09:02:apache=1 09:02:spark=1
      09:03:storm=1
"""

from datetime import datetime, timedelta

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, RateLimiterStrategy
from millstream.table import StreamTableEnvironment
from millstream.table.outputs import foreach_output

NINE = datetime(2026, 1, 1, 9)
# What people said, and how many seconds after nine.
LINES = [
    ("apache spark", 5),
    ("apache hadoop", 20),
    ("spark streaming", 50),
    ("hadoop", 70),
    ("apache spark", 130),
    ("storm", 200),
]


def line_of(number):
    text, seconds = LINES[number]
    return text, NINE + timedelta(seconds=seconds)


def started():
    """A table environment with the table `words`, and its stream environment."""
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    # lines = spark.readStream...load()
    two_by_two = RateLimiterStrategy.per_checkpoint(2)
    source = DataGeneratorSource(line_of, len(LINES), two_by_two, parts=1)
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    # words = lines.select(explode(split("line", " ")).alias("word"), "said")
    words = lines.flat_map(
        lambda line: [(word, line[1]) for word in line[0].split()],
        Types.TUPLE([Types.STRING(), Types.SQL_TIMESTAMP()]),
    )
    # .withWatermark("said", "10 seconds")
    table = t_env.from_data_stream(words).alias("word", "said").with_watermark("said", "10 seconds")
    t_env.create_temporary_view("words", table)
    return env, t_env


def show(rows, epoch):
    print(" ", *sorted(f"{row.word}={row.n}" for row in rows))


def show_minutes(rows, epoch):
    print(" ", *sorted(f"{row.since:%H:%M}:{row.word}={row.n}" for row in rows))


for mode in ("complete", "update"):
    print(f"{mode}:")
    env, t_env = started()
    counts = t_env.sql_query("SELECT word, COUNT(*) AS n FROM words GROUP BY word")
    # counts.writeStream.outputMode(mode).foreachBatch(show).start().awaitTermination()
    foreach_output(counts, show, mode)
    env.execute(mode)

print("append:")
env, t_env = started()
# words.groupBy(window("said", "1 minute"), "word").count()
minutes = t_env.sql_query("""
    SELECT `window`.`start` AS since, word, COUNT(*) AS n FROM words
    GROUP BY WINDOW(said, '1 minute'), word
""")
foreach_output(minutes, show_minutes, "append")
env.execute("append")

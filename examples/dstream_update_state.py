"""Word count since the beginning, with updateStateByKey, by a program that is stopped and goes on.

`getOrCreate` makes the program once. The second time it comes from the checkpoint, with its counts and
at its place in the input: as after the death of the process.

Prints:
    a new program
    00:01: [('a', 1), ('b', 1)]
    00:02: [('a', 3), ('b', 1)]
    stopped
    00:03: [('a', 3), ('b', 1), ('c', 1)]
    00:04: [('a', 4), ('b', 1), ('c', 1)]
"""

import tempfile

from millstream.dstream import ManualClock, StreamingContext

LINES = [["a b"], ["a a"], ["c"], ["a"]]


def update(new_values, count):
    """Called for each known word in every batch, also without new values."""
    return sum(new_values, count or 0)


def setup():
    print("a new program")
    ssc = StreamingContext(None, 1, clock=ManualClock())
    pairs = ssc.queueStream(LINES).flatMap(str.split).map(lambda word: (word, 1))
    counts = pairs.updateStateByKey(update)
    counts.foreachRDD(lambda time, rdd: print(f"{time:%M:%S}: {sorted(rdd.collect())}"))
    return ssc


def run(folder, clock):
    ssc = StreamingContext.getOrCreate(folder, setup, clock=clock)
    ssc.start()
    ssc.awaitTerminationOrTimeout(2)
    ssc.stop()


def main():
    with tempfile.TemporaryDirectory() as folder:
        run(folder, ManualClock())
        print("stopped")
        run(folder, ManualClock(2000))


if __name__ == "__main__":
    main()

"""Word count in batches, the first program of Spark Streaming.

A clock that the program moves stands for the time that passes. Without ``clock=`` batches end by the
clock of the machine, and ``ssc.awaitTermination()`` waits.

Prints:
    00:01: [('be', 2), ('not', 1), ('or', 1), ('to', 2)]
    00:02: [('is', 1), ('question', 1), ('that', 1), ('the', 1)]
    00:03: []
"""

from millstream.dstream import ManualClock, StreamingContext

LINES = [["to be or", "not to be"], ["that is the question"]]


def main():
    clock = ManualClock()
    ssc = StreamingContext(None, 1, clock=clock)
    words = ssc.queueStream(LINES).flatMap(str.split)
    counts = words.map(lambda word: (word, 1)).reduceByKey(lambda x, y: x + y)
    counts.foreachRDD(lambda time, rdd: print(f"{time:%M:%S}: {sorted(rdd.collect())}"))
    ssc.start()
    clock.advance(3)
    ssc.stop()


if __name__ == "__main__":
    main()

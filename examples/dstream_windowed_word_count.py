"""Word count over the last five seconds, every second.

The window follows from the one before: words that come in are added, those that have left are taken out.

Prints:
    00:01: [('a', 1), ('b', 1)]
    00:02: [('a', 2), ('b', 1)]
    00:03: [('a', 3), ('b', 1), ('c', 1)]
    00:04: [('a', 3), ('b', 2), ('c', 1)]
    00:05: [('a', 3), ('b', 2), ('c', 2)]
    00:06: [('a', 2), ('b', 1), ('c', 2)]
    00:07: [('a', 1), ('b', 1), ('c', 2)]
    00:08: [('b', 1), ('c', 1)]
"""

from operator import add, sub

from millstream.dstream import ManualClock, StreamingContext

LINES = [["a b"], ["a"], ["a c"], ["b"], ["c"]]


def main():
    clock = ManualClock()
    ssc = StreamingContext(None, 1, clock=clock)
    pairs = ssc.queueStream(LINES).flatMap(str.split).map(lambda word: (word, 1))
    counts = pairs.reduceByKeyAndWindow(add, sub, 5, 1, filterFunc=lambda pair: pair[1] > 0)
    counts.foreachRDD(lambda time, rdd: print(f"{time:%M:%S}: {sorted(rdd.collect())}"))
    ssc.start()
    clock.advance(8)
    ssc.stop()


if __name__ == "__main__":
    main()

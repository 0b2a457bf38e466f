"""Word count since the beginning, with mapWithState: a batch costs what its words cost, not all words.

The function returns a result for each word that comes. Words that were not there for three seconds are
forgotten, and `stateSnapshots` shows what is left.

Prints:
    00:01: ['a 1', 'b 11'] of [('a', 1), ('b', 11)]
    00:02: ['a 2', 'a 3'] of [('a', 3), ('b', 11)]
    00:03: ['c 1'] of [('a', 3), ('b', 11), ('c', 1)]
    00:04: [] of [('a', 3), ('b', 11), ('c', 1)]
    00:05: ['b gone after 11'] of [('a', 3), ('c', 1)]
    00:06: ['a gone after 3'] of [('c', 1)]
"""

from millstream.dstream import ManualClock, StateSpec, StreamingContext

LINES = [["a b"], ["a a"], ["c"]]


def count(word, one, state):
    if state.isTimingOut():
        return f"{word} gone after {state.get()}"
    state.update(state.getOption(0) + one)
    return f"{word} {state.get()}"


def main():
    clock = ManualClock()
    ssc = StreamingContext(None, 1, clock=clock)
    pairs = ssc.queueStream(LINES).flatMap(str.split).map(lambda word: (word, 1))
    counts = pairs.mapWithState(StateSpec.function(count).initialState([("b", 10)]).timeout(3))
    both = counts.transformWith(
        lambda results, known: results.glom().zip(known.glom()), counts.stateSnapshots()
    )

    def show(time, rdd):
        parts = rdd.collect()
        results = sorted(result for part, _ in parts for result in part)
        print(f"{time:%M:%S}: {results} of {sorted(pair for _, part in parts for pair in part)}")

    both.foreachRDD(show)
    ssc.start()
    clock.advance(6)
    ssc.stop()


if __name__ == "__main__":
    main()

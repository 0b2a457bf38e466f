"""Test a program without a JVM: the same code that runs on Spark, in memory, epoch by epoch.

The functions below are ordinary tests; pytest finds them in a file named test_*.py.

Prints:
    test_counts: ok
    test_results_do_not_depend_on_epochs: ok
    test_a_crash_changes_nothing: ok
"""

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import KeyedProcessFunction
from millstream.datastream.state import ValueStateDescriptor
from millstream.testing import TestSource, rebatch, run_local


class CountWords(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, word, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield word, count


def counts_of(words):
    return words.key_by(lambda word: word).process(CountWords())


def test_counts():
    results = run_local(lambda env: counts_of(env.from_collection(["a", "b", "a"])))
    assert results.values() == [("a", 1), ("b", 1), ("a", 2)]


def test_results_do_not_depend_on_epochs():
    def program(env):
        return counts_of(env.from_collection(["a", "b", "a", "c", "a", "b"]))

    rebatch(program)  # many cuts, slots and tasks, restarts, and as a batch


def test_a_crash_changes_nothing():
    def program(env):
        # The first epoch is committed; the second one crashes in the middle, once.
        source = TestSource(["a", "a", TestSource.EPOCH(), "b", TestSource.ABORT(), "a"])
        words = env.from_source(source, WatermarkStrategy.no_watermarks(), "words")
        return counts_of(words)

    results = run_local(program, restarts=1)
    assert results.restarts == 1
    assert results.values() == [("a", 1), ("a", 2), ("b", 1), ("a", 3)]


if __name__ == "__main__":
    for test in (
        test_counts,
        test_results_do_not_depend_on_epochs,
        test_a_crash_changes_nothing,
    ):
        test()
        print(f"{test.__name__}: ok")

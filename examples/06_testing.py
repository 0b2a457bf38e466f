"""Test a program without a JVM: the same code that runs on Spark, in memory, epoch by epoch.

The functions below are ordinary tests; pytest finds them in a file named test_*.py.

Prints:
    test_counts: ok
    test_results_do_not_depend_on_epochs: ok
    test_a_failed_epoch_leaves_no_trace: ok
"""

from millstream.common import Types
from millstream.common.errors import UserCodeError
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.datastream.state import ValueStateDescriptor
from millstream.testing import LocalJob


class CountWords(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, word, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield word, count


def local_job(words, function):
    env = StreamExecutionEnvironment.get_execution_environment()
    counts = env.from_collection(words).key_by(lambda word: word).process(function)
    counts.sink_to(DiscardingSink()).name("counts")
    return LocalJob(env._job_graph())


def values(outputs):
    return [value for value, timestamp in outputs["counts"]]


def test_counts():
    job = local_job(["a", "b", "a"], CountWords())
    assert values(job.run_all()) == [("a", 1), ("b", 1), ("a", 2)]


def test_results_do_not_depend_on_epochs():
    words = ["a", "b", "a", "c", "a", "b"]
    whole = values(local_job(words, CountWords()).run_all())
    for per_epoch in (1, 2, 5):
        assert values(local_job(words, CountWords()).run_all(per_epoch)) == whole


def test_a_failed_epoch_leaves_no_trace():
    class FailsOnce(CountWords):
        failed = False

        def process_element(self, word, ctx):
            yield from super().process_element(word, ctx)
            if word == "b" and not FailsOnce.failed:
                FailsOnce.failed = True
                raise ValueError("no luck")

    job = local_job(["a", "a", "b", "a"], FailsOnce())
    job.epoch(2)
    try:
        job.epoch(2)
    except UserCodeError:
        job.start()  # a restart: fresh functions, the state of the last committed epoch
    assert values(job.run_all()) == [("a", 1), ("a", 2), ("b", 1), ("a", 3)]


if __name__ == "__main__":
    for test in (
        test_counts,
        test_results_do_not_depend_on_epochs,
        test_a_failed_epoch_leaves_no_trace,
    ):
        test()
        print(f"{test.__name__}: ok")

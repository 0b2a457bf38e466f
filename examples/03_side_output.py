"""Send bad records another way instead of failing on them.

A process function yields a value for its stream, and a pair of a tag and a value for a side output.
Both are streams; here they are merged again, and the records are in the order of the input.

Prints:
    number 17
    bad line 'n/a': invalid literal for int() with base 10: 'n/a'
    number 4
"""

from millstream.common import Types
from millstream.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

bad = OutputTag("bad", Types.STRING())


class Parse(ProcessFunction):
    def process_element(self, line, ctx):
        try:
            yield int(line)
        except ValueError as error:
            yield bad, f"bad line {line!r}: {error}"


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection(["17", "n/a", "4"]).process(Parse(), output_type=Types.LONG())
good = numbers.map(lambda number: f"number {number}", output_type=Types.STRING())
good.union(numbers.get_side_output(bad)).print()
env.execute("side output")

"""Send bad records another way instead of failing on them.

A process function yields a value for its stream, and a pair of a tag and a value for a side output.

Prints:
    bad> line 'n/a': invalid literal for int() with base 10: 'n/a'
    good> 17
    good> 4
"""

from millstream.common import Types
from millstream.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from millstream.datastream.connectors import PrintSink

bad = OutputTag("bad", Types.STRING())


class Parse(ProcessFunction):
    def process_element(self, line, ctx):
        try:
            yield int(line)
        except ValueError as error:
            yield bad, f"line {line!r}: {error}"


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection(["17", "n/a", "4"]).process(Parse(), output_type=Types.LONG())
numbers.get_side_output(bad).sink_to(PrintSink("bad"))
numbers.sink_to(PrintSink("good"))
env.execute("side output")

"""Degrees of a graph whose edges come and go, and how many vertices have each degree.

Each event adds or removes an edge. A vertex is a key, and its degree is its state. A change of a degree
moves the vertex from one degree to another one; the numbers of vertices per degree are keyed by degree.

Prints:
    a has degree 1
    degree 1: 1 vertices
    b has degree 1
    degree 1: 2 vertices
    a has degree 2
    degree 1: 1 vertices
    degree 2: 1 vertices
    c has degree 1
    degree 1: 2 vertices
    b has degree 2
    degree 1: 1 vertices
    degree 2: 2 vertices
    c has degree 2
    degree 1: 0 vertices
    degree 2: 3 vertices
    a has degree 1
    degree 2: 2 vertices
    degree 1: 1 vertices
    b has degree 1
    degree 2: 1 vertices
    degree 1: 2 vertices
"""

import millstream as ms
from millstream import Types

EVENTS = [("+", "a", "b"), ("+", "a", "c"), ("+", "b", "c"), ("-", "a", "b")]


def ends(event):
    """A change for both vertices of an edge."""
    change = 1 if event[0] == "+" else -1
    yield event[1], change
    yield event[2], change


class Degree(ms.KeyedProcessFunction):
    def open(self, runtime_context):
        self.degree = runtime_context.get_state(ms.ValueStateDescriptor("degree", Types.LONG()))

    def process_element(self, value, ctx):
        before = self.degree.value() or 0
        after = before + value[1]
        self.degree.update(after)
        yield value[0], before, after


def moves(change):
    """A vertex leaves one degree and comes to another one; degree 0 is not counted."""
    _, before, after = change
    if before:
        yield before, -1
    if after:
        yield after, 1


env = ms.StreamExecutionEnvironment.get_execution_environment()
pair = Types.TUPLE([Types.STRING(), Types.LONG()])
triple = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
numbers = Types.TUPLE([Types.LONG(), Types.LONG()])

degrees = (
    env.from_collection(EVENTS)
    .flat_map(ends, output_type=pair)
    .key_by(lambda end: end[0])
    .process(Degree(), output_type=triple)
)
distribution = degrees.flat_map(moves, output_type=numbers).key_by(lambda move: move[0]).sum(1)

degrees.map(lambda d: f"{d[0]} has degree {d[2]}", output_type=Types.STRING()).union(
    distribution.map(lambda d: f"degree {d[0]}: {d[1]} vertices", output_type=Types.STRING())
).print()
env.execute("degrees")

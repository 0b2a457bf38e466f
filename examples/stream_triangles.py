"""Estimates of the number of triangles in a graph whose edges arrive one by one, in constant memory.

Each estimator is a key, and keeps a sample of 60 of the edges that have arrived: reservoir sampling, as
TRIEST does it. An edge closes a triangle with each common neighbour that its vertices have in the
sample. Both other edges are in the sample with a known chance, so such a triangle counts as many
triangles as that chance stands for. The mean of several estimators is nearer to the truth than one.

Prints:
    40 edges: 8 triangles, in truth 8
    80 edges: 76 triangles, in truth 75
    120 edges: 290 triangles, in truth 285
    160 edges: 672 triangles, in truth 671
    190 edges: 1130 triangles, in truth 1140
"""

import random
from itertools import combinations

import millstream as ms
from millstream import Types

SAMPLE, ESTIMATORS = 60, 16
VERTICES = 20

# The edges of the complete graph, in some order.
EDGES = list(combinations(range(VERTICES), 2))
random.Random(7).shuffle(EDGES)


class Estimator(ms.KeyedProcessFunction):
    def open(self, runtime_context):
        long, pair = Types.LONG(), Types.TUPLE([Types.LONG(), Types.LONG()])
        numbers = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
        self.total = runtime_context.get_state(ms.ValueStateDescriptor("total", numbers))
        self.sample = runtime_context.get_map_state(ms.MapStateDescriptor("sample", long, pair))
        self.near = runtime_context.get_map_state(
            ms.MapStateDescriptor("near", long, Types.LIST(long))
        )

    def process_element(self, value, ctx):
        estimator, edge = value[0], (value[1], value[2])
        seen, triangles = self.total.value() or (0, 0.0)
        seen += 1
        common = set(self.near.get(edge[0]) or ()) & set(self.near.get(edge[1]) or ())
        weight = max(1.0, (seen - 1) * (seen - 2) / (SAMPLE * (SAMPLE - 1)))
        triangles += weight * len(common)
        self.total.update((seen, triangles))
        # The same choice again if this record is processed again.
        place = random.Random(f"{estimator} {seen}").randrange(seen)
        if seen <= SAMPLE:
            self.keep(seen - 1, edge)
        elif place < SAMPLE:
            self.drop(self.sample.get(place))
            self.keep(place, edge)
        yield seen, triangles

    def keep(self, place, edge):
        self.sample.put(place, edge)
        for one, other in (edge, edge[::-1]):
            self.near.put(one, [*(self.near.get(one) or ()), other])

    def drop(self, edge):
        for one, other in (edge, edge[::-1]):
            self.near.put(one, [each for each in self.near.get(one) if each != other])


class Mean(ms.KeyedProcessFunction):
    """The mean of all estimators after so many edges."""

    def open(self, runtime_context):
        numbers = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
        self.total = runtime_context.get_state(ms.ValueStateDescriptor("total", numbers))

    def process_element(self, value, ctx):
        count, total = self.total.value() or (0, 0.0)
        count, total = count + 1, total + value[1]
        self.total.update((count, total))
        if count == ESTIMATORS:
            self.total.clear()
            yield value[0], total / count


def true_number(count):
    """All triangles of the first edges, counted."""
    edges = {frozenset(edge) for edge in EDGES[:count]}
    triples = combinations(range(VERTICES), 3)
    return sum(all(frozenset(e) in edges for e in combinations(t, 2)) for t in triples)


def line(value):
    return f"{value[0]} edges: {value[1]:.0f} triangles, in truth {true_number(value[0])}"


env = ms.StreamExecutionEnvironment.get_execution_environment()
triple = Types.TUPLE([Types.LONG()] * 3)
result = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
estimates = (
    env.from_collection(EDGES)
    .flat_map(lambda edge: [(key, *edge) for key in range(ESTIMATORS)], output_type=triple)
    .key_by(lambda value: value[0])
    .process(Estimator(), output_type=result)
    .filter(lambda value: value[0] % 40 == 0 or value[0] == len(EDGES))
    .key_by(lambda value: value[0])
    .process(Mean(), output_type=result)
)
estimates.map(line, output_type=Types.STRING()).print()
env.execute("triangles")

"""Connected components of a graph whose edges arrive one by one.

Edges are spread over several keys. Each key has a forest of the vertices that it has seen, and hands on
only edges that connect two of its trees; all others change nothing. So of any number of edges at most
one per vertex and key comes to the second step, which merges the forests of all keys under one key, and
says for each vertex whose component is another one now which one it is: that of its smallest vertex.

Prints:
    1 is in component 1
    2 is in component 1
    3 is in component 3
    4 is in component 3
    5 is in component 5
    6 is in component 5
    3 is in component 1
    4 is in component 1
    5 is in component 1
    6 is in component 1
    7 is in component 7
    8 is in component 7
"""

import millstream as ms
from millstream import Types

# The edges (1, 3), (2, 4) and (6, 1) close circles.
EDGES = [(1, 2), (3, 4), (5, 6), (2, 4), (1, 3), (2, 4), (6, 4), (6, 1), (7, 8)]
KEYS = 4


class Forest:
    """Which tree a vertex is in: a map from vertices to vertices nearer to the root."""

    def __init__(self, parents):
        self.parents = parents

    def root(self, vertex):
        way = []
        while (parent := self.parents.get(vertex)) is not None and parent != vertex:
            way.append(vertex)
            vertex = parent
        for each in way[:-1]:
            self.parents.put(each, vertex)
        return vertex

    def join(self, one, other):
        """Make one tree of two; false if it was one already."""
        one, other = sorted((self.root(one), self.root(other)))
        if one == other:
            return False
        self.parents.put(other, one)
        return True


class ConnectingEdges(ms.KeyedProcessFunction):
    """Edges that connect what no earlier edge of this key has connected."""

    def open(self, runtime_context):
        parents = ms.MapStateDescriptor("parents", Types.LONG(), Types.LONG())
        self.forest = Forest(runtime_context.get_map_state(parents))

    def process_element(self, edge, ctx):
        if self.forest.join(*edge):
            yield edge


class Components(ms.KeyedProcessFunction):
    """The component of each vertex, when it changes."""

    def open(self, runtime_context):
        component = ms.MapStateDescriptor("component", Types.LONG(), Types.LONG())
        members = ms.MapStateDescriptor("members", Types.LONG(), Types.LIST(Types.LONG()))
        self.component = runtime_context.get_map_state(component)
        self.members = runtime_context.get_map_state(members)

    def process_element(self, edge, ctx):
        for vertex in edge:
            if not self.component.contains(vertex):
                self.component.put(vertex, vertex)
                self.members.put(vertex, [vertex])
        one, other = sorted(self.component.get(vertex) for vertex in edge)
        new = [vertex for vertex in edge if self.members.get(vertex) == [vertex]]
        moved = self.members.get(other) if one != other else []
        if moved:
            self.members.put(one, self.members.get(one) + moved)
            self.members.remove(other)
        for vertex in moved:
            self.component.put(vertex, one)
        for vertex in dict.fromkeys([*new, *moved]):
            yield vertex, self.component.get(vertex)


env = ms.StreamExecutionEnvironment.get_execution_environment()
pair = Types.TUPLE([Types.LONG(), Types.LONG()])
components = (
    env.from_collection(EDGES, type_info=pair)
    .key_by(lambda edge: min(edge) % KEYS)
    .process(ConnectingEdges(), output_type=pair)
    .key_by(lambda edge: 0)
    .process(Components(), output_type=pair)
)
components.map(lambda c: f"{c[0]} is in component {c[1]}", output_type=Types.STRING()).print()
env.execute("components")

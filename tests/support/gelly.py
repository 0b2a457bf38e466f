"""The values of Gelly's own tests of graph operations: programs, and what they give.

The names of cases are those of Gelly's tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.graph import (
    Edge,
    EdgeDirection,
    EdgeJoinFunction,
    EdgesFunction,
    EdgesFunctionWithVertexValue,
    Graph,
    InvalidVertexIdsValidator,
    NeighborsFunction,
    NeighborsFunctionWithVertexValue,
    ReduceEdgesFunction,
    ReduceNeighborsFunction,
    Vertex,
)
from tests.support.graphs import EDGES, VERTICES

IN, OUT, ALL = EdgeDirection.IN, EdgeDirection.OUT, EdgeDirection.ALL
ZERO_DEGREE = [(1, 2, 12), (1, 4, 14), (1, 5, 15), (2, 3, 23), (3, 5, 35), (4, 5, 45)]
DISCONNECTED = [(1, 2, 12), (1, 3, 13), (2, 3, 23), (4, 5, 45)]
PAIRS = [(1, 10), (2, 20), (3, 30), (4, 40), (6, 60)]
BY_SOURCE = [(1, 10), (1, 20), (2, 30), (3, 40), (3, 50), (4, 60), (6, 70)]
BY_TARGET = [(2, 10), (3, 20), (3, 30), (4, 40), (6, 50), (6, 60), (1, 70)]
TRIPLES = [(1, 2, 12), (1, 3, 13), (2, 3, 23), (3, 4, 34), (3, 6, 36), (4, 6, 46), (6, 1, 61)]

Case = tuple[Callable[[Any, Any], Any], str]
CASES: dict[str, Case] = {}


def case(expected: str) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """A program of a graph and its environment, with the lines that it gives."""

    def keep(program: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        CASES[program.__name__] = (program, expected)
        return program

    return keep


def long_graph(env: Any, edges: Any = EDGES, vertices: Any = VERTICES) -> Graph[int, int, int]:
    """The graph of most tests."""
    return Graph.from_data_set(
        env.from_collection([Vertex(*v) for v in vertices]),
        env.from_collection([Edge(*e) for e in edges]),
        env,
    )


def shown(values: list[Any]) -> list[str]:
    """Elements as Gelly's tests write them, sorted."""
    return sorted(
        ",".join("(null)" if field is None else str(field) for field in value)
        if isinstance(value, tuple)
        else str(value)
        for value in values
    )


def outcome(name: str, env: Any) -> tuple[list[str], list[str]]:
    """The lines that a case gives, and those that it should give."""
    program, expected = CASES[name]
    found = program(long_graph(env), env)
    values = found.collect() if hasattr(found, "collect") else found
    return shown(values), sorted(expected.split())


# GraphOperationsITCase


@case(
    "1,2,12 2,1,12 1,3,13 3,1,13 2,3,23 3,2,23 3,4,34 4,3,34 3,5,35 5,3,35 4,5,45 5,4,45 5,1,51 1,5,51"
)
def undirected(g: Any, env: Any) -> Any:
    return g.get_undirected().get_edges()


@case("2,1,12 3,1,13 3,2,23 4,3,34 5,3,35 5,4,45 1,5,51")
def reverse(g: Any, env: Any) -> Any:
    return g.reverse().get_edges()


@case("3,5,35 4,5,45")
def subgraph(g: Any, env: Any) -> Any:
    return g.subgraph(lambda v: v.get_value() > 2, lambda e: e.get_value() > 34).get_edges()


@case("3,4,34 3,5,35 4,5,45")
def filter_vertices(g: Any, env: Any) -> Any:
    return g.filter_on_vertices(lambda v: v.get_value() > 2).get_edges()


@case("3,5,35 4,5,45 5,1,51")
def filter_edges(g: Any, env: Any) -> Any:
    return g.filter_on_edges(lambda e: e.get_value() > 34).get_edges()


@case("5 7")
def numbers(g: Any, env: Any) -> Any:
    return [g.number_of_vertices(), g.number_of_edges()]


@case("1 2 3 4 5")
def vertex_ids(g: Any, env: Any) -> Any:
    return g.get_vertex_ids()


@case("1,2 1,3 2,3 3,4 3,5 4,5 5,1")
def edge_ids(g: Any, env: Any) -> Any:
    return g.get_edge_ids()


@case("1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45 5,1,51 6,1,61")
def union(g: Any, env: Any) -> Any:
    return g.union(Graph.from_collection([Vertex(6, 6)], [Edge(6, 1, 61)], env)).get_edges()


def other(env: Any) -> Any:
    edges = [(1, 3, 13), (1, 6, 26), (6, 3, 63)]
    return long_graph(env, edges, [(1, 1), (3, 3), (6, 6)])


@case("4,5,45")
def difference(g: Any, env: Any) -> Any:
    return g.difference(other(env)).get_edges()


@case("2,2 4,4 5,5")
def difference_vertices(g: Any, env: Any) -> Any:
    return g.difference(other(env)).get_vertices()


@case("1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45 5,1,51")
def difference_2(g: Any, env: Any) -> Any:
    return g.difference(long_graph(env, [(6, 6, 66)], [(6, 6)])).get_edges()


def intersection(env: Any, left: list[int], right: list[int], distinct: bool) -> Any:
    one = Graph.from_collection([Edge(1, 3, value) for value in left], env)
    two = Graph.from_collection([Edge(1, 3, value) for value in right], env)
    found = one.intersect(two, distinct)
    return found.get_vertices().collect() + found.get_edges().collect()


@case("1,(null) 3,(null) 1,3,13")
def intersect(g: Any, env: Any) -> Any:
    return intersection(env, [12, 13, 14], [13], True)


@case("1,(null) 3,(null) 1,3,13 1,3,13 1,3,13 1,3,13 1,3,14 1,3,14")
def intersect_with_pairs(g: Any, env: Any) -> Any:
    return intersection(env, [12, 13, 13, 13, 14], [13, 13, 14], False)


@case("1,2,1,2,12 1,3,1,3,13 2,3,2,3,23 3,4,3,4,34 3,5,3,5,35 4,5,4,5,45 5,1,5,1,51")
def triplets(g: Any, env: Any) -> Any:
    return g.get_triplets()


# GraphMutationsITCase


@case("1,1 2,2 3,3 4,4 5,5 6,6")
def add_vertex(g: Any, env: Any) -> Any:
    return g.add_vertex(Vertex(6, 6)).get_vertices()


@case("1,1 2,2 3,3 4,4 5,5 6,6 7,7")
def add_vertices(g: Any, env: Any) -> Any:
    return g.add_vertices([Vertex(5, 0), Vertex(6, 6), Vertex(7, 7)]).get_vertices()


@case("1,1 2,2 3,3 4,4 5,5")
def add_vertices_both_existing(g: Any, env: Any) -> Any:
    return g.add_vertices([Vertex(1, 1), Vertex(3, 3)]).get_vertices()


@case("1,2,12 1,3,13 2,3,23 3,4,34")
def remove_vertex(g: Any, env: Any) -> Any:
    return g.remove_vertex(Vertex(5, 5)).get_edges()


@case("3,4,34 3,5,35 4,5,45")
def remove_vertices(g: Any, env: Any) -> Any:
    return g.remove_vertices([Vertex(1, 1), Vertex(2, 2)]).get_edges()


@case("2,3,23 3,4,34 3,5,35 4,5,45")
def remove_one_valid_one_invalid_vertex(g: Any, env: Any) -> Any:
    return g.remove_vertices([Vertex(1, 1), Vertex(7, 7)]).get_edges()


@case("1,1 2,2 3,3 4,4 5,5")
def remove_both_invalid_vertices_vertex_result(g: Any, env: Any) -> Any:
    return g.remove_vertices([Vertex(6, 6), Vertex(7, 7)]).get_vertices()


@case("1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45 5,1,51 6,1,61")
def add_edge(g: Any, env: Any) -> Any:
    return g.add_edge(Vertex(6, 6), Vertex(1, 1), 61).get_edges()


@case("1,2,12 1,3,13 2,3,23 2,4,24 3,4,34 3,5,35 4,1,41 4,5,45 5,1,51")
def add_edges(g: Any, env: Any) -> Any:
    return g.add_edges([Edge(2, 4, 24), Edge(4, 1, 41)]).get_edges()


@case("1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45 5,1,51")
def add_edges_invalid_vertices(g: Any, env: Any) -> Any:
    return g.add_edges([Edge(6, 1, 61), Edge(7, 1, 71)]).get_edges()


@case("1,2,12 1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45 5,1,51")
def add_existing_edge(g: Any, env: Any) -> Any:
    return g.add_edge(Vertex(1, 1), Vertex(2, 2), 12).get_edges()


@case("1,2,12 1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45")
def remove_edge(g: Any, env: Any) -> Any:
    more = g.add_edge(Vertex(1, 1), Vertex(2, 2), 12)
    return more.remove_edge(Edge(5, 1, 51)).get_edges()


@case("1,2,12 1,2,12 1,3,13 3,4,34 3,5,35 4,5,45")
def remove_edges(g: Any, env: Any) -> Any:
    more = g.add_edge(Vertex(1, 1), Vertex(2, 2), 12)
    return more.remove_edges([Edge(5, 1, 51), Edge(2, 3, 23)]).get_edges()


@case("1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45")
def remove_same_edge_twice(g: Any, env: Any) -> Any:
    return g.remove_edges([Edge(5, 1, 51), Edge(5, 1, 51)]).get_edges()


@case("1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45 5,1,51")
def remove_one_valid_one_invalid_edge(g: Any, env: Any) -> Any:
    return g.remove_edges([Edge(1, 1, 51), Edge(6, 1, 61)]).get_edges()


# DegreesITCase


@case("1,2 2,1 3,2 4,1 5,1")
def out_degrees(g: Any, env: Any) -> Any:
    return g.out_degrees()


@case("1,3 2,1 3,1 4,1 5,0")
def out_degrees_with_no_out_edges(g: Any, env: Any) -> Any:
    return long_graph(env, ZERO_DEGREE).out_degrees()


@case("1,1 2,1 3,2 4,1 5,2")
def in_degrees(g: Any, env: Any) -> Any:
    return g.in_degrees()


@case("1,0 2,1 3,1 4,1 5,3")
def in_degrees_with_no_in_edge(g: Any, env: Any) -> Any:
    return long_graph(env, ZERO_DEGREE).in_degrees()


@case("1,3 2,2 3,4 4,2 5,3")
def degrees(g: Any, env: Any) -> Any:
    return g.get_degrees()


@case("1,2 2,1 3,0 4,1 5,0")
def degrees_with_disconnected_data(g: Any, env: Any) -> Any:
    return Graph.from_data_set(env.from_collection(DISCONNECTED), env).out_degrees()


# GraphCreationITCase, GraphCreationWithMapperITCase, FromCollectionITCase


@case("1,(null) 2,(null) 3,(null) 4,(null) 5,(null)")
def create_without_vertex_values(g: Any, env: Any) -> Any:
    return Graph.from_data_set(env.from_collection(EDGES), env).get_vertices()


@case("1,1 2,2 3,3 4,4 5,5")
def create_with_mapper(g: Any, env: Any) -> Any:
    return Graph.from_data_set(env.from_collection(EDGES), lambda key: key, env).get_vertices()


class Custom:
    """A value without a type of its own."""

    def __init__(self, number: int = 0, other: Any = None) -> None:
        self.number = number
        self.other = other

    def __str__(self) -> str:
        return f"({self.other},{self.number})"


class AssignCustomVertexValue:
    """Gives the same object for all vertices, as Gelly's test does."""

    def __init__(self) -> None:
        self.value = Custom()

    def map(self, vertex_id: int) -> Custom:
        self.value.number, self.value.other = vertex_id - 1, vertex_id * 2.0
        return self.value


@case("1,(2.0,0) 2,(4.0,1) 3,(6.0,2) 4,(8.0,3) 5,(10.0,4)")
def create_with_custom_vertex_value(g: Any, env: Any) -> Any:
    edges = env.from_collection(EDGES)
    return Graph.from_data_set(edges, AssignCustomVertexValue(), env).get_vertices()


@case("True False False")
def validate(g: Any, env: Any) -> Any:
    vertices = long_graph(env, EDGES, [*VERTICES[1:], (15, 1)])
    edges = long_graph(env, [*EDGES[1:], (3, 13, 13)])
    return [each.validate(InvalidVertexIdsValidator()) for each in (g, vertices, edges)]


@case(
    "1,(null) 2,(null) 3,(null) 4,(null) 6,(null) 10,(null) 20,(null) 30,(null) 40,(null) 60,(null)"
)
def from_tuple_2(g: Any, env: Any) -> Any:
    return Graph.from_tuple2_data_set(env.from_collection(PAIRS), env).get_vertices()


@case("1,boo 2,boo 3,boo 4,boo 6,boo 10,boo 20,boo 30,boo 40,boo 60,boo")
def from_tuple_2_with_mapper(g: Any, env: Any) -> Any:
    edges = env.from_collection(PAIRS)
    return Graph.from_tuple2_data_set(edges, lambda key: "boo", env).get_vertices()


@case("1,2,12 1,3,13 2,3,23 3,4,34 3,5,35 4,5,45 5,1,51")
def from_collection_vertices_edges(g: Any, env: Any) -> Any:
    vertices = [Vertex(*v) for v in VERTICES]
    return Graph.from_collection(vertices, [Edge(*e) for e in EDGES], env).get_edges()


@case("1,2 2,4 3,6 4,8 5,10")
def from_collection_with_initializer(g: Any, env: Any) -> Any:
    return Graph.from_collection(EDGES, lambda key: key * 2, env).get_vertices()


# MapVerticesITCase, MapEdgesITCase, translations


@case("1,2 2,3 3,4 4,5 5,6")
def map_vertices(g: Any, env: Any) -> Any:
    return g.map_vertices(lambda v: v.get_value() + 1).get_vertices()


@case("1,one 2,two 3,three 4,four 5,five")
def map_vertices_to_strings(g: Any, env: Any) -> Any:
    names = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
    return g.map_vertices(lambda v: names[v.get_value()]).get_vertices()


@case("1,2,13 1,3,14 2,3,24 3,4,35 3,5,36 4,5,46 5,1,52")
def map_edges(g: Any, env: Any) -> Any:
    return g.map_edges(lambda e: e.get_value() + 1).get_edges()


@case("1,2,s12 1,3,s13 2,3,s23 3,4,s34 3,5,s35 4,5,s45 5,1,s51")
def map_edges_to_strings(g: Any, env: Any) -> Any:
    return g.map_edges(lambda e: f"s{e.get_value()}").get_edges()


@case("a1,1 a2,2 a3,3 a4,4 a5,5 a1,a2,12 a1,a3,13 a2,a3,23 a3,a4,34 a3,a5,35 a4,a5,45 a5,a1,51")
def translate_ids(g: Any, env: Any) -> Any:
    found = g.translate_graph_ids(lambda key: f"a{key}")
    return found.get_vertices().collect() + found.get_edges().collect()


@case("1,-1 2,-2 3,-3 4,-4 5,-5 1,2,-12 1,3,-13 2,3,-23 3,4,-34 3,5,-35 4,5,-45 5,1,-51")
def translate_values(g: Any, env: Any) -> Any:
    found = g.translate_vertex_values(lambda n: -n).translate_edge_values(lambda n: -n)
    return found.get_vertices().collect() + found.get_edges().collect()


# JoinWithVerticesITCase, JoinWithEdgesITCase


@case("1,2 2,4 3,6 4,8 5,10")
def join_with_vertex_set(g: Any, env: Any) -> Any:
    return g.join_with_vertices(g.get_vertices(), lambda old, new: old + new).get_vertices()


@case("1,20 2,40 3,60 4,80 5,5")
def join_with_different_keys(g: Any, env: Any) -> Any:
    others = env.from_collection(PAIRS)
    return g.join_with_vertices(others, lambda old, new: new * 2).get_vertices()


@case("1,10 2,20 3,30 4,40 5,5")
def join_with_custom_type(g: Any, env: Any) -> Any:
    others = env.from_collection([(n, Custom(n * 10, n * 10.0)) for n in range(1, 5)])
    return g.join_with_vertices(others, lambda old, new: new.number).get_vertices()


class AddValues(EdgeJoinFunction[Any, Any]):
    def edge_join(self, edge_value: int, input_value: int) -> int:
        return edge_value + input_value


class DoubleInput(EdgeJoinFunction[Any, Any]):
    def edge_join(self, edge_value: int, input_value: int) -> int:
        return input_value * 2


@case("1,2,24 1,3,26 2,3,46 3,4,68 3,5,70 4,5,90 5,1,102")
def with_edges_input_data_set(g: Any, env: Any) -> Any:
    return g.join_with_edges(g.get_edges_as_tuple3(), AddValues()).get_edges()


@case("1,2,24 1,3,26 2,3,46 3,4,68 3,5,35 4,5,45 5,1,51")
def with_no_common_keys(g: Any, env: Any) -> Any:
    return g.join_with_edges(env.from_collection(TRIPLES), DoubleInput()).get_edges()


@case("1,2,20 1,3,20 2,3,60 3,4,80 3,5,80 4,5,120 5,1,51")
def on_source_with_no_common_keys(g: Any, env: Any) -> Any:
    others = env.from_collection(BY_SOURCE).group_by(0).min(1)
    return g.join_with_edges_on_source(others, DoubleInput()).get_edges()


@case("1,2,20 1,3,40 2,3,40 3,4,80 3,5,35 4,5,45 5,1,140")
def on_target_with_no_common_keys(g: Any, env: Any) -> Any:
    others = env.from_collection(BY_TARGET).group_by(0).min(1)
    return g.join_with_edges_on_target(others, DoubleInput()).get_edges()


# ReduceOnEdgesMethodsITCase


class MinWeightNeighbor(EdgesFunctionWithVertexValue[Any, Any, Any, Any]):
    def iterate_edges(self, vertex: Any, edges: Any, out: Any) -> None:
        least = min(edges, key=lambda edge: edge.get_value())
        out.collect((vertex.get_id(), least.get_target()))


class Others(EdgesFunction[Any, Any, Any]):
    def __init__(self, *excluded: int) -> None:
        self.excluded = excluded

    def iterate_edges(self, edges: Any, out: Any) -> None:
        for key, edge in edges:
            if key not in self.excluded:
                source = edge.get_source()
                out.collect((key, edge.get_target() if key == source else source))


class OthersOfLarge(EdgesFunctionWithVertexValue[Any, Any, Any, Any]):
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def iterate_edges(self, vertex: Any, edges: Any, out: Any) -> Any:
        for edge in edges:
            if vertex.get_value() > self.limit:
                source = edge.get_source()
                yield vertex.get_id(), edge.get_target() if vertex.get_id() == source else source


@case("1,2 2,3 3,4 4,5 5,1")
def lowest_weight_out_neighbor(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(MinWeightNeighbor(), OUT)


@case("1,2 1,3 2,3 3,4 3,5 4,5 5,1")
def all_out_neighbors(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(Others(), OUT)


@case("1,2 1,3 2,3 3,4 3,5 4,5")
def all_out_neighbors_no_value(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(Others(5), OUT)


@case("3,4 3,5 4,5 5,1")
def all_out_neighbors_with_value_greater_than_two(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(OthersOfLarge(2), OUT)


@case("1,5 2,1 3,1 3,2 4,3 5,3 5,4")
def all_in_neighbors(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(Others(), IN)


@case("3,1 3,2 4,3 5,3 5,4")
def all_in_neighbors_with_value_greater_than_two(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(OthersOfLarge(2), IN)


@case("1,2 1,3 1,5 2,1 2,3 3,1 3,2 3,4 3,5 4,3 4,5 5,1 5,3 5,4")
def all_neighbors(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(Others(), ALL)


@case("1,2 1,3 1,5 3,1 3,2 3,4 3,5 4,3 4,5")
def all_neighbors_no_value(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(Others(5, 2), ALL)


@case("5,1 5,3 5,4")
def all_neighbors_with_value_greater_than_four(g: Any, env: Any) -> Any:
    return g.group_reduce_on_edges(OthersOfLarge(4), ALL)


class Least(ReduceEdgesFunction[int]):
    def reduce_edges(self, first_edge_value: int, second_edge_value: int) -> int:
        return min(first_edge_value, second_edge_value)


@case("1,12 2,23 3,34 4,45 5,51")
def lowest_weight_out_neighbor_no_value(g: Any, env: Any) -> Any:
    return g.reduce_on_edges(Least(), OUT)


@case("1,51 2,12 3,13 4,34 5,35")
def lowest_weight_in_neighbor_no_value(g: Any, env: Any) -> Any:
    return g.reduce_on_edges(Least(), IN)


@case("1,51 2,23 3,35 4,45 5,51")
def max_weight_all_neighbors(g: Any, env: Any) -> Any:
    return g.reduce_on_edges(max, ALL)


# ReduceOnNeighborMethodsITCase


class SumOfOthers(NeighborsFunctionWithVertexValue[Any, Any, Any, Any]):
    def __init__(self, weighted: bool = False, own: bool = False, above: int = 0) -> None:
        self.weighted, self.own, self.above = weighted, own, above

    def iterate_neighbors(self, vertex: Any, neighbors: Any, out: Any) -> None:
        total = vertex.get_value() if self.own else 0
        for edge, neighbor in neighbors:
            total += neighbor.get_value() * (edge.get_value() if self.weighted else 1)
        if vertex.get_id() > self.above:
            out.collect((vertex.get_id(), total))


class SumTwice(NeighborsFunction[Any, Any, Any, Any]):
    def __init__(self, weighted: bool = False) -> None:
        self.weighted = weighted

    def iterate_neighbors(self, neighbors: Any, out: Any) -> None:
        total, key = 0, None
        for key, edge, neighbor in neighbors:  # noqa: B007 - all have one id
            total += neighbor.get_value() * (edge.get_value() if self.weighted else 1)
        if key is not None and key > 2:
            out.collect((key, total))
            out.collect((key, total * 2))


class Sum(ReduceNeighborsFunction[int]):
    def reduce_neighbors(self, first_neighbor: int, second_neighbor: int) -> int:
        return first_neighbor + second_neighbor


@case("1,5 2,3 3,9 4,5 5,1")
def sum_of_out_neighbors(g: Any, env: Any) -> Any:
    return g.group_reduce_on_neighbors(SumOfOthers(), OUT)


@case("1,255 2,12 3,59 4,102 5,285")
def sum_of_in_neighbors(g: Any, env: Any) -> Any:
    return g.group_reduce_on_neighbors(SumOfOthers(weighted=True), IN)


@case("1,11 2,6 3,15 4,12 5,13")
def sum_of_all_neighbors(g: Any, env: Any) -> Any:
    return g.group_reduce_on_neighbors(SumOfOthers(own=True), ALL)


@case("4,12 5,13")
def sum_of_all_neighbors_id_greater_than_three(g: Any, env: Any) -> Any:
    return g.group_reduce_on_neighbors(SumOfOthers(own=True, above=3), ALL)


@case("1,5 2,3 3,9 4,5 5,1")
def sum_of_out_neighbors_no_value(g: Any, env: Any) -> Any:
    return g.reduce_on_neighbors(Sum(), OUT)


@case("1,10 2,4 3,12 4,8 5,8")
def sum_of_all_neighbors_no_value(g: Any, env: Any) -> Any:
    return g.reduce_on_neighbors(Sum(), ALL)


@case("3,9 3,18 4,5 4,10 5,1 5,2")
def sum_of_out_neighbors_multiplied_by_two(g: Any, env: Any) -> Any:
    return g.group_reduce_on_neighbors(SumTwice(), OUT)


@case("3,59 3,118 4,204 4,102 5,570 5,285")
def sum_of_in_neighbors_multiplied_by_two(g: Any, env: Any) -> Any:
    return g.group_reduce_on_neighbors(SumTwice(weighted=True), IN)


@case("3,12 3,24 4,8 4,16 5,8 5,16")
def sum_of_all_neighbors_multiplied_by_two(g: Any, env: Any) -> Any:
    return g.group_reduce_on_neighbors(SumTwice(), ALL)

"""Graphs, by Gelly's names."""

from __future__ import annotations

from millstream.graph.elements import Edge, EdgeDirection, Neighbor, Triplet, Vertex
from millstream.graph.functions.base import MessageIterator
from millstream.graph.functions.configuration import (
    GSAConfiguration,
    IterationConfiguration,
    ScatterGatherConfiguration,
    VertexCentricConfiguration,
)
from millstream.graph.functions.messages import (
    ApplyFunction,
    ComputeFunction,
    GatherFunction,
    MessageCombiner,
    ScatterFunction,
    SumFunction,
)
from millstream.graph.functions.neighbourhood import (
    EdgeJoinFunction,
    EdgesFunction,
    EdgesFunctionWithVertexValue,
    NeighborsFunction,
    NeighborsFunctionWithVertexValue,
    ReduceEdgesFunction,
    ReduceNeighborsFunction,
    TranslateFunction,
    VertexJoinFunction,
)
from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm, GraphAnalytic
from millstream.graph.graph_csv_reader import GraphCsvReader
from millstream.graph.validation import (
    DuplicateVertexIdsValidator,
    GraphValidator,
    InvalidVertexIdsValidator,
)

__all__ = [
    "ApplyFunction",
    "ComputeFunction",
    "DuplicateVertexIdsValidator",
    "Edge",
    "EdgeDirection",
    "EdgeJoinFunction",
    "EdgesFunction",
    "EdgesFunctionWithVertexValue",
    "GSAConfiguration",
    "GatherFunction",
    "Graph",
    "GraphAlgorithm",
    "GraphAnalytic",
    "GraphCsvReader",
    "GraphValidator",
    "InvalidVertexIdsValidator",
    "IterationConfiguration",
    "MessageCombiner",
    "MessageIterator",
    "Neighbor",
    "NeighborsFunction",
    "NeighborsFunctionWithVertexValue",
    "ReduceEdgesFunction",
    "ReduceNeighborsFunction",
    "ScatterFunction",
    "ScatterGatherConfiguration",
    "SumFunction",
    "TranslateFunction",
    "Triplet",
    "Vertex",
    "VertexCentricConfiguration",
    "VertexJoinFunction",
]

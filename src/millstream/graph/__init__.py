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
from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm, GraphAnalytic

__all__ = [
    "ApplyFunction",
    "ComputeFunction",
    "Edge",
    "EdgeDirection",
    "GSAConfiguration",
    "GatherFunction",
    "Graph",
    "GraphAlgorithm",
    "GraphAnalytic",
    "IterationConfiguration",
    "MessageCombiner",
    "MessageIterator",
    "Neighbor",
    "ScatterFunction",
    "ScatterGatherConfiguration",
    "SumFunction",
    "Triplet",
    "Vertex",
    "VertexCentricConfiguration",
]

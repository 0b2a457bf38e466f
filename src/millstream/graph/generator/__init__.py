"""Graphs that rules describe, by the names of Gelly's generators."""

from __future__ import annotations

from millstream.graph.generator.base import GraphGenerator
from millstream.graph.generator.random import (
    BlockInfo,
    JDKRandomGeneratorFactory,
    MersenneTwisterFactory,
    RandomGenerableFactory,
)
from millstream.graph.generator.regular import (
    CirculantGraph,
    CompleteGraph,
    CycleGraph,
    EchoGraph,
    EmptyGraph,
    GridGraph,
    HypercubeGraph,
    PathGraph,
    SingletonEdgeGraph,
    StarGraph,
)
from millstream.graph.generator.rmat import RMatGraph

__all__ = [
    "BlockInfo",
    "CirculantGraph",
    "CompleteGraph",
    "CycleGraph",
    "EchoGraph",
    "EmptyGraph",
    "GraphGenerator",
    "GridGraph",
    "HypercubeGraph",
    "JDKRandomGeneratorFactory",
    "MersenneTwisterFactory",
    "PathGraph",
    "RMatGraph",
    "RandomGenerableFactory",
    "SingletonEdgeGraph",
    "StarGraph",
]

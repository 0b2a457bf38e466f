"""Algorithms on graphs, by the names of Gelly's library. `Graph.run` runs them."""

from __future__ import annotations

from millstream.graph.library.base import Analytic, LibraryAlgorithm
from millstream.graph.library.communities import (
    CommunityDetection,
    CommunityDetectionLabelPropagation,
    LabelPropagation,
)
from millstream.graph.library.components import ConnectedComponents, GSAConnectedComponents
from millstream.graph.library.cores import CoreNumbers, KCore
from millstream.graph.library.linkanalysis import HITS, PageRank, PersonalizedPageRank
from millstream.graph.library.paths import (
    BreadthFirstSearch,
    GSASingleSourceShortestPaths,
    SingleSourceShortestPaths,
)
from millstream.graph.library.similarity import AdamicAdar, JaccardIndex
from millstream.graph.library.summarization import Summarization
from millstream.graph.library.triangles import TriangleEnumerator

__all__ = [
    "HITS",
    "AdamicAdar",
    "Analytic",
    "BreadthFirstSearch",
    "CommunityDetection",
    "CommunityDetectionLabelPropagation",
    "ConnectedComponents",
    "CoreNumbers",
    "GSAConnectedComponents",
    "GSASingleSourceShortestPaths",
    "JaccardIndex",
    "KCore",
    "LabelPropagation",
    "LibraryAlgorithm",
    "PageRank",
    "PersonalizedPageRank",
    "SingleSourceShortestPaths",
    "Summarization",
    "TriangleEnumerator",
]

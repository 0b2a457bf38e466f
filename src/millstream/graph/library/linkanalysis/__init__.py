"""Scores of vertices by the edges that lead to them."""

from __future__ import annotations

from millstream.graph.library.linkanalysis.hits import HITS
from millstream.graph.library.linkanalysis.pagerank import PageRank, PersonalizedPageRank

__all__ = ["HITS", "PageRank", "PersonalizedPageRank"]

"""How closely the neighbours of vertices are connected: of graphs with and without directions."""

from __future__ import annotations

from millstream.graph.library.clustering import directed, undirected

__all__ = ["directed", "undirected"]

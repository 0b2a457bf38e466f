"""Numbers about whole graphs, with and without directions."""

from __future__ import annotations

from millstream.graph.library.metric import directed, undirected

__all__ = ["directed", "undirected"]

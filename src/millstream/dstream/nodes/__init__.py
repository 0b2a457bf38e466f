"""Nodes of a streaming program: each makes one RDD per batch."""

from millstream.dstream.nodes.base import Graph, Node, OutputNode, StatefulNode
from millstream.dstream.nodes.basic import InputNode, TransformedNode
from millstream.dstream.nodes.mapped_state import MapWithStateNode, StateSnapshotsNode
from millstream.dstream.nodes.update_state import UpdateStateNode
from millstream.dstream.nodes.windows import ReducedWindowNode, WindowNode

__all__ = [
    "Graph",
    "InputNode",
    "MapWithStateNode",
    "Node",
    "OutputNode",
    "ReducedWindowNode",
    "StateSnapshotsNode",
    "StatefulNode",
    "TransformedNode",
    "UpdateStateNode",
    "WindowNode",
]

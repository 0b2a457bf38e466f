"""Which functions ask for the watermark: they see the records of a channel in their order."""

from __future__ import annotations

from millstream.plan.graph import Node, StatelessNode


def reads_watermark(node: Node) -> bool:
    """Whether a process function without a key mentions the watermark in its code."""
    if not isinstance(node, StatelessNode) or node.kind != "process":
        return False
    return mentions_watermark(node.function)


def mentions_watermark(function: object) -> bool:
    """Whether the code of a function object asks for the watermark."""
    for owner in type(function).__mro__:
        for member in vars(owner).values():
            code = getattr(member, "__code__", None)
            if code is not None and "current_watermark" in code.co_names:
                return True
    return False

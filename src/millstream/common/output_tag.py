"""Names of side outputs."""

from __future__ import annotations

from typing import Generic

from millstream.common.type_variables import V
from millstream.common.typeinfo import TypeInformation


class OutputTag(Generic[V]):
    """Names a side output: a function yields ``tag, value`` to send a value there.

    Two tags with one id are the same side output. ``OutputTag[str]("late")`` says to a type checker
    what values go there, if no type does.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> OutputTag("late", Types.STRING())
    OutputTag('late', STRING)
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(self, tag_id: str, type_info: TypeInformation[V] | None = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise ValueError(f"an output tag needs a non-empty string as its id, got {tag_id!r}")
        self.tag_id = tag_id
        self.type_info = type_info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        kind = "" if self.type_info is None else f", {self.type_info}"
        return f"OutputTag({self.tag_id!r}{kind})"

"""How a job will run, to read and to look at."""

from __future__ import annotations

from typing import Any, Self

__all__ = ["ExecutionPlan"]


class ExecutionPlan(str):
    """The text of a plan; a notebook that knows Mermaid shows it as a diagram.

    Attributes
    ----------
    mermaid
        The source of the diagram.

    Examples
    --------
    >>> plan = ExecutionPlan("source -> sink", "graph LR; source --> sink")
    >>> plan
    source -> sink
    >>> plan.mermaid
    'graph LR; source --> sink'
    """

    mermaid: str

    def __new__(cls, text: str, mermaid: str) -> Self:
        plan = super().__new__(cls, text)
        plan.mermaid = mermaid
        return plan

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        # No text/html: a notebook that knows Mermaid would prefer it to the diagram.
        return {"text/plain": str(self), "text/vnd.mermaid": self.mermaid}

"""Operators that a changelog must not reach, found before the job starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.kernel.stages.programs import KeyedProgram, SourceProgram
from millstream.kernel.steps.chain import EdgeStep, walk
from millstream.kernel.steps.stateless import ChangelogStep, RowKindsStep, Step, changes_refused
from millstream.kernel.windows.columnar import PartialEdge

__all__ = ["refuse_changes"]


def refuse_changes(sources: Iterable[SourceProgram], stages: Iterable[KeyedProgram]) -> None:
    """Refuse operators that would count records of a changelog that are taken back."""
    hosted = [one for stage in stages for one in stage.operators]
    operators = {edge.tag: one.operator for one in hosted for edge in one.edges}
    chains = [source.chain for source in sources]
    chains += [chain for one in hosted for chain in one.outputs.values()]
    changelogs = (
        step for chain in chains for step in walk(chain.root) if isinstance(step, ChangelogStep)
    )
    for changelog in changelogs:
        for step in _behind(changelog):
            # Partial sums have taken back what is to be taken back.
            if isinstance(step, EdgeStep) and not isinstance(step, PartialEdge):
                operator = operators.get(step.tag)
                if operator is not None and not operator.takes_weights:
                    raise changes_refused(operator.info)


def _behind(changelog: Step) -> Iterator[Step]:
    """All steps that get the changes; none of them is one that cannot."""
    for step in changelog.children:
        if not step.takes_weights or step.policy.skips:
            raise changes_refused(step.info)
        yield step
        if not isinstance(step, RowKindsStep):
            yield from _behind(step)

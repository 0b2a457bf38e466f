"""The plan of a program as text: what runs where, and why."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.dataset.optimizer.rules import (
    aggregate_in_engine,
    extreme_in_engine,
    join_plan,
    key_columns,
    same_keys,
)
from millstream.dataset.plan.keys import Keys
from millstream.dataset.plan.nodes import (
    Aggregate,
    BulkLoop,
    CoGroup,
    Cross,
    DeltaLoop,
    Distinct,
    Each,
    Extreme,
    First,
    GroupCombine,
    GroupReduce,
    Join,
    Node,
    Numbered,
    Partition,
    Placeholder,
    Project,
    Reduce,
    SortPartition,
    Union,
    Where,
)

__all__ = ["explained"]

SPARK, PYTHON = "Spark", "Python"


def explained(
    root: Node, notes: Mapping[Node, str] | None = None, loops: Mapping[Node, str] | None = None
) -> str:
    """The operators of a program, the last one first, each with the place where it runs.

    Parameters
    ----------
    root
        The last operator.
    notes
        How operators ran, where only a run could decide.
    loops
        How iterations would run, and why.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> print(explained(env.from_elements(("a", 1)).group_by(0).sum(1)._node))
    Aggregate: TUPLE(STRING, LONG)  [Spark: sum(1) by 0]
      Collection: TUPLE(STRING, LONG)  [1 element of the program]
    """
    lines: list[str] = []
    readers: dict[Node, int] = {}
    _count(root, readers, set())
    _walk(root, 0, lines, readers, {}, notes or {}, loops or {})
    return "\n".join(lines)


def _count(node: Node, readers: dict[Node, int], seen: set[Node]) -> None:
    if node in seen:
        return
    seen.add(node)
    for other in _shown_inputs(node):
        readers[other] = readers.get(other, 0) + 1
        _count(other, readers, seen)


def _shown_inputs(node: Node) -> list[Node]:
    return [*node.inputs, *node.broadcasts.values()]


def _walk(
    node: Node,
    depth: int,
    lines: list[str],
    readers: dict[Node, int],
    named: dict[Node, int],
    notes: Mapping[Node, str],
    loops: Mapping[Node, str],
) -> None:
    indent = "  " * depth
    if node in named:
        lines.append(f"{indent}(the same as #{named[node]})")
        return
    label = ""
    if readers.get(node, 0) > 1:
        named[node] = len(named) + 1
        label = f"#{named[node]} "
        kept = ", kept for several readers" if pending(node) else ""
    else:
        kept = ""
    ran = f"  ran as {notes[node]}" if node in notes else ""
    lines.append(f"{indent}{label}{node.title}: {node.type}  [{decision(node, loops)}{kept}]{ran}")
    for other in node.inputs:
        _walk(other, depth + 1, lines, readers, named, notes, loops)
    for name, other in node.broadcasts.items():
        lines.append(f"{indent}  broadcast set {name!r}:")
        _walk(other, depth + 2, lines, readers, named, notes, loops)
    steps = _steps(node)
    for name, step in steps:
        lines.append(f"{indent}  {name}:")
        _walk(step, depth + 2, lines, {}, {}, notes, loops)


def _steps(node: Node) -> list[tuple[str, Node]]:
    if isinstance(node, BulkLoop):
        found = [("step", node.result)]
        return found if node.termination is None else [*found, ("until empty", node.termination)]
    if isinstance(node, DeltaLoop):
        return [("changes", node.delta), ("next workset", node.next_workset)]
    return []


def pending(node: Node) -> bool:
    """Whether Python functions have to run before the columns of a node are there."""
    if isinstance(node, Each | Reduce | GroupReduce | GroupCombine | CoGroup):
        return True
    if isinstance(node, Join | Cross):
        return node.function is not None
    if isinstance(node, Project | Where):
        return pending(node.inputs[0])
    return False


def decision(node: Node, loops: Mapping[Node, str] | None = None) -> str:
    """Where a node runs, and why.

    Examples
    --------
    >>> decision(Placeholder(name="the workset"))
    'of this superstep'
    """
    if isinstance(node, Each):
        fused = pending(node.inputs[0])
        return f"{PYTHON}: {node.kind}" + (", in the same pass as its input" if fused else "")
    if isinstance(node, Project):
        if node.fields.positions is None or pending(node.inputs[0]):
            return f"{PYTHON}: fields {node.fields.text}"
        return f"{SPARK}: fields {node.fields.text}"
    if isinstance(node, Where):
        fused = pending(node.inputs[0])
        where = f"{PYTHON}: filter, in the same pass as its input" if fused else f"{SPARK}: filter"
        return f"{where} {node.condition}"
    if isinstance(node, Join):
        return _join(node)
    if isinstance(node, Aggregate | Extreme | Distinct | First):
        return _in_engine(node)
    if isinstance(node, Reduce | GroupReduce | GroupCombine | CoGroup):
        return _grouped(node)
    if isinstance(node, BulkLoop | DeltaLoop):
        unknown = "in tasks that stay if all can run at once, which is known with a Spark session"
        return f"at most {node.most} supersteps; {(loops or {}).get(node, unknown)}"
    return _other(node)


def _other(node: Node) -> str:
    records = getattr(node, "records", None)
    if records is not None:
        return f"{len(records)} element{'s' * (len(records) != 1)} of the program"
    if isinstance(node, Placeholder):
        return "of this superstep"
    if isinstance(node, Partition):
        key = "Python makes the key" if _bytes(node, node.keys) else "keys are columns"
        return f"{SPARK}: by {node.kind} of {node.keys.text}; {key}"
    if isinstance(node, SortPartition):
        return f"{SPARK}: by {', '.join(key.keys.text for key in node.sort)}"
    if isinstance(node, Numbered):
        return f"{SPARK}: a pass counts the partitions" if node.consecutive else SPARK
    if isinstance(node, Union | Cross):
        function = getattr(node, "function", None)
        return SPARK if function is None else f"{SPARK}, then {PYTHON}"
    return SPARK


def _bytes(node: Node, keys: Keys) -> bool:
    return key_columns(node.inputs[0].type, keys) is None


def _by(node: Node, keys: Keys | None) -> str:
    if keys is None:
        return "of all"
    made = " (Python makes the key)" if _bytes(node, keys) else ""
    return f"by {keys.text}{made}"


def _in_engine(node: Aggregate | Extreme | Distinct | First) -> str:
    by = _by(node, node.keys)
    if isinstance(node, Distinct | First):
        return f"{SPARK}: {by}"
    if isinstance(node, Extreme):
        where = SPARK if extreme_in_engine(node) else PYTHON
        return f"{where}: {node.name}({node.fields.text}) {by}"
    where = SPARK if aggregate_in_engine(node) else PYTHON
    what = ", ".join(f"{how.value}({field.text})" for how, field in node.aggregates)
    return f"{where}: {what} {by}"


def _grouped(node: Reduce | GroupReduce | GroupCombine | CoGroup) -> str:
    if isinstance(node, GroupCombine):
        return f"{PYTHON}: {_by(node, node.keys)}, in each task"
    if isinstance(node, CoGroup):
        made = "" if same_keys(node.left, node.right) else " (Python makes the keys)"
        return (
            f"{PYTHON}: by {node.left.text} and {node.right.text}{made}, groups are read in order"
        )
    if isinstance(node, Reduce) or node.combine is not None:
        return f"{PYTHON}: {_by(node, node.keys)}, first in each task, then of all"
    return f"{PYTHON}: {_by(node, node.keys)}, groups are read in order"


def _join(node: Join) -> str:
    made = "" if same_keys(node.left, node.right) else "; Python makes the keys"
    after = f", then {PYTHON}" if node.function is not None else ""
    return f"{SPARK}: {join_plan(node).text}{made}{after}"

"""Settings of an operator: name, uid, error policy, Flink's hints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from millstream.common.absent import missing_method
from millstream.common.arguments import positive_int
from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.execution_config import accepted_without_effect
from millstream.common.output_tag import OutputTag
from millstream.datastream.slot_sharing_group import SlotSharingGroup
from millstream.plan.graph import (
    JobGraph,
    KeyedNode,
    Node,
    OnError,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
)

if TYPE_CHECKING:
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["OperatorSettings", "positive_int"]

Policy = Literal["fail", "skip"]

_CHAINING = "stateless operators always fuse into the stage before them; the plan shows which"
_LONGEST_UID = 200
_UID_HASH = re.compile(r"[0-9a-fA-F]{32}")


class OperatorSettings:
    """The operator that a stream or a sink stands for."""

    def __init__(self, env: StreamExecutionEnvironment, graph: JobGraph, node_id: int) -> None:
        self._env = env
        self._graph = graph
        self._node_id = node_id

    if not TYPE_CHECKING:  # A type checker would take every name for a method.

        def __getattr__(self, name: str) -> Any:
            raise missing_method(self, name)

    @property
    def _id(self) -> int:
        """The operator in the current graph, taken over from an earlier job if need be."""
        if self._graph is not self._env._graph:
            self._node_id = self._env._adopt(self._graph, self._node_id)
            self._graph = self._env._graph
        return self._node_id

    @property
    def _node(self) -> Node:
        return self._graph[self._node_id]

    def _operator(self, setting: str) -> int:
        """The operator that a setting is about; a subclass may refuse."""
        return self._id

    def _change(self, setting: str, **changes: object) -> Self:
        node_id = self._operator(setting)
        self._graph.update(node_id, **changes)
        return self

    def _note(self, setting: str, why: str) -> Self:
        self._operator(setting)
        accepted_without_effect(setting, why)
        return self

    def name(self, name: str) -> Self:
        """Name the operator, for plans, metrics and errors.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([1, 2]).map(str).name("to text").get_name()
        'to text'
        """
        return self._change("name", name=_text("name", name))

    def uid(self, uid: str) -> Self:
        """Give the operator an id, by which its state is found.

        Without one, the id comes from the operator's place in the program, so that a savepoint
        fits only the program it was taken from. Two operators of a job cannot share a uid. That of a
        sink is part of the name of a folder: no slashes, no control characters, at most 200 bytes.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([1]).print().uid("../out")
        Traceback (most recent call last):
        ...
        millstream.common.errors.PlanError: [BAD_UID] the uid of a sink cannot be '../out'
        ...
        """
        _text("uid", uid)
        if isinstance(self._node, SinkNode):
            _refuse_as_folder(uid)
        return self._change("uid", uid=uid)

    def on_error(self, policy: Policy, output_tag: OutputTag | None = None) -> Self:
        """Set what happens to a record on which the operator's function fails.

        Parameters
        ----------
        policy
            ``"fail"``: the job fails. ``"skip"``: the record is ignored; state,
            timers and output of the failed call are undone.
        output_tag
            The side output of skipped records, as `DeadLetter` objects. Without one they are
            only counted, as ``skipped:`` and the operator's name.

        Examples
        --------
        >>> from millstream.common.output_tag import OutputTag
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.testing import run_local
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> numbers = env.from_collection(["1", "x", "3"]).map(int).on_error("skip")
        >>> run_local(numbers).values()
        [1, 3]
        """
        self._operator("on_error")
        found = checked_policy(policy, output_tag)
        for node in self._with_functions():
            refuse_policy(node)
        return self._change("on_error", on_error=found)

    def _with_functions(self) -> list[Node]:
        """The operator; of a function of two streams without keys, both of its parts."""
        from millstream.datastream.functions.adapters import OneInput

        if isinstance(self._node, UnionNode):
            inputs = [self._graph[node_id] for node_id in self._node.inputs]
            if all(isinstance(getattr(node, "function", None), OneInput) for node in inputs):
                return inputs
        return [self._node]

    def set_parallelism(self, parallelism: int) -> Self:
        """Ask for a number of parallel tasks; the plan shows the actual number.

        Results do not depend on it.
        """
        return self._change("set_parallelism", parallelism=positive_int("parallelism", parallelism))

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Accept Flink's hash of a uid, 32 hexadecimal digits; it has no meaning here."""
        if not isinstance(uid_hash, str) or not _UID_HASH.fullmatch(uid_hash):
            raise PlanError(
                "BAD_UID_HASH",
                f"a uid hash has 32 hexadecimal digits, got {uid_hash!r}",
                location=user_location(),
                hint="use uid(...) instead",
            )
        return self._note("set_uid_hash", "state is found by uid, not by Flink's hashes; use uid()")

    def set_description(self, description: str) -> Self:
        """Accept a longer text about the operator; plans show its name and the program's line."""
        _text("description", description)
        return self._note("set_description", "plans show the name and the program's line")

    def disable_chaining(self) -> Self:
        """Accept Flink's hint not to fuse the operator with its neighbours."""
        return self._note("disable_chaining", _CHAINING)

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Accept Flink's hint which operators may share a task slot."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            _text("slot_sharing_group", slot_sharing_group)
        return self._note("slot_sharing_group", "Spark places tasks itself")


class StreamSettings(OperatorSettings):
    """The settings that only streams have, not sinks."""

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Accept Flink's upper limit of the parallelism.

        Flink cuts the key space into that many groups forever; here it is cut into
        ``env.set_slots(n)`` slots, and a savepoint can be restored into any number of them.
        """
        positive_int("max_parallelism", max_parallelism)
        return self._note("set_max_parallelism", "a savepoint fits any number of slots")

    def force_non_parallel(self) -> Self:
        """Run the operator in one task: ``set_parallelism(1)``."""
        return self._change("force_non_parallel", parallelism=1)

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accept Flink's time limit for network buffers."""
        if not isinstance(timeout_millis, int) or timeout_millis < -1:
            raise PlanError(
                "BAD_NUMBER",
                f"buffer timeout is milliseconds, or -1 for none; got {timeout_millis!r}",
                location=user_location(),
            )
        return self._note(
            "set_buffer_timeout", "latency follows the epochs: see enable_checkpointing(interval)"
        )

    def start_new_chain(self) -> Self:
        """Accept Flink's hint to begin a new chain of fused operators."""
        return self._note("start_new_chain", _CHAINING)


def checked_policy(policy: object, output_tag: object) -> OnError:
    """Return a policy for records that a function fails on."""
    if policy not in get_args(Policy) or (policy == "fail" and output_tag is not None):
        raise PlanError(
            "BAD_ERROR_POLICY",
            f"on_error cannot be {policy!r}{'' if output_tag is None else ' with a tag'}",
            location=user_location(),
            hint='write on_error("fail"), on_error("skip") or on_error("skip", OutputTag("name"))',
        )
    if output_tag is None:
        return OnError(policy)  # type: ignore[arg-type]
    if not isinstance(output_tag, OutputTag) or output_tag.type_info is not None:
        raise PlanError(
            "NOT_A_TAG",
            f"on_error needs an OutputTag without a type, got {short_repr(output_tag)}",
            location=user_location(),
            hint='write OutputTag("name"): what comes out are DeadLetter objects',
        )
    return OnError("skip", output_tag.tag_id)


def refuse_policy(node: Node) -> None:
    """Raise a `PlanError` if an operator has no function that could fail on a record."""
    if isinstance(node, KeyedNode | TimestampsNode):
        return
    hint = "call it on the stream that map(...), process(...) or the like has returned"
    if isinstance(node, StatelessNode):
        if node.kind not in ("async", "changelog"):
            return
        if node.kind == "async":
            hint = "give the request a retry strategy, or let timeout(...) give a result"
    elif isinstance(node, SinkNode):
        hint = "what cannot be written is lost: filter such records out before the sink"
    elif isinstance(node, SourceNode):
        if node.decoder is not None:
            return
        hint = "call it on what reads the source, or on assign_timestamps_and_watermarks(...)"
    raise PlanError(
        "NO_ERROR_POLICY",
        f"operator {node.name!r} cannot skip records",
        location=user_location(),
        hint=hint,
    )


def _refuse_as_folder(uid: str) -> None:
    """Raise a `PlanError` if a uid cannot be a part of the name of a folder."""
    plain = uid.isprintable() and "/" not in uid and "\\" not in uid and uid not in (".", "..")
    if not plain or len(uid.encode()) > _LONGEST_UID:
        raise PlanError(
            "BAD_UID",
            f"the uid of a sink cannot be {short_repr(uid)}",
            location=user_location(),
            hint="use letters, digits and the like: no slashes, no control characters, and at most "
            f"{_LONGEST_UID} bytes of UTF-8",
        )


def _text(what: str, text: object) -> str:
    if not isinstance(text, str) or not text:
        raise PlanError(
            "BAD_NAME",
            f"{what} must be a string that is not empty, got {text!r}",
            location=user_location(),
        )
    return text

"""Two-phase sinks in the manifest of a job: rebuilt without the program, to take back epochs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from millstream.common.errors import CheckpointError, PlanError, short_repr
from millstream.connectors.sink import Committer, SinkContext, TwoPhaseSink
from millstream.connectors.sink_calls import committer_of, named_call

__all__ = ["describe_sink", "described_sink", "is_described_sink", "take_back"]

Described = Mapping[str, Any]
"""The class of a sink, as ``module:name``, and its configuration."""

_FILE_SINK = "millstream.datastream.connectors.file_system:FileSink"


def describe_sink(sink: TwoPhaseSink) -> dict[str, Any]:
    """A sink as the manifest of a job describes it."""
    config = dict(sink.to_config())
    try:
        json.dumps(config)
    except (TypeError, ValueError) as error:
        raise PlanError(
            "SINK_CONFIG",
            f"what {type(sink).__name__} is made of cannot be written as JSON: {error}",
            hint="define to_config() and from_config(), with texts and numbers only",
        ) from error
    return {"class": f"{type(sink).__module__}:{type(sink).__qualname__}", "config": config}


def described_sink(detail: Mapping[str, Any]) -> Described | None:
    """The description of a two-phase sink among the details of an operator; None if it is none."""
    if "files" in detail:
        # Manifests of earlier versions know file sinks only, and of them the folder.
        return {"class": _FILE_SINK, "config": {"path": detail["files"]}}
    found: Described | None = detail.get("sink")
    return found


def is_described_sink(value: object) -> bool:
    """Whether a value has the form of a described sink."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("class"), str)
        and isinstance(value.get("config"), dict)
    )


def take_back(
    manifest: Mapping[str, Any], job: str, first_epoch: int, epochs: Mapping[int, int]
) -> None:
    """Take back what sinks have committed of epochs after the given ones.

    A dead driver may have committed an epoch to a sink that Spark has not committed. The job that
    continues from the last committed one writes its records again.
    """
    found: list[tuple[Committer, SinkContext, int]] = []
    for uid, detail in manifest["details"].items():
        described = described_sink(detail)
        if described is not None:
            context = SinkContext(job_id=job, sink=uid)
            committer = committer_of(_made(described, context), context)
            found.append((committer, context, first_epoch + epochs[detail["query"]]))
    for committer, context, _ in found:
        with named_call(context, "check_take_back()"):
            committer.check_take_back()
    for committer, context, last in found:
        with named_call(context, f"take_back({last})"):
            committer.take_back(last)
        with named_call(context, "close()"):
            committer.close()


def _made(described: Described, context: SinkContext) -> TwoPhaseSink:
    uid = context.sink
    module, _, name = described["class"].partition(":")
    try:
        made: Any = import_module(module)
        for part in name.split("."):
            made = getattr(made, part)
    except (ImportError, AttributeError) as error:
        raise _not_found(described, uid, str(error)) from error
    if not isinstance(made, type) or not issubclass(made, TwoPhaseSink):
        raise _not_found(described, uid, "it is no TwoPhaseSink")
    with named_call(context, f"from_config({short_repr(described['config'])})"):
        return made.from_config(described["config"])


def _not_found(described: Described, uid: str, why: str) -> CheckpointError:
    return CheckpointError(
        "SINK_NOT_FOUND",
        f"sink {uid!r} is a {described['class']}, which cannot be made here: {why}; what it has of "
        "epochs that were never committed cannot be taken back",
        hint="put the class into a module of its own, and name the folder of that module in PYTHONPATH",
    )

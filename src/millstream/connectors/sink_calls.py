"""Calls of the methods that the author of a sink writes: failures are named, answers are checked."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from millstream.common.errors import (
    CheckpointError,
    MillstreamError,
    PlanError,
    short_repr,
    user_code_error,
)
from millstream.connectors.fingerprints import parts_of, same_records
from millstream.connectors.sink import (
    Committer,
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartMarker,
    PartSink,
    PartWriter,
    SinkContext,
    TwoPhaseSink,
)

__all__ = [
    "bad_sink",
    "begun",
    "committer_of",
    "markers_of",
    "named_call",
    "refuse_other_parts",
    "same_part",
    "stageable",
    "vanished_part",
    "whole_epoch",
    "writer_of",
]

_FAILED = (
    "a job starts again after a failure if it has a restart strategy; failures that pass by themselves "
    "can also be tried again in the method"
)


@contextmanager
def named_call(context: SinkContext, call: str) -> Iterator[None]:
    """Say which call of which sink an exception belongs to."""
    try:
        yield
    except MillstreamError:
        raise
    except BaseException as error:
        # sys.exit() in a sink would end the thread on which Spark waits.
        raise user_code_error(
            error,
            context.name or context.sink,
            context.sink,
            location=context.location,
            subject=f"{_subject(context)}: {call}{_part(context)}",
            hint=_FAILED,
        ) from error


def bad_sink(context: SinkContext, message: str, hint: str) -> PlanError:
    """The error for a sink that does not do what the contract says."""
    message = f"{_subject(context)}: {message}"
    return PlanError("BAD_SINK", message, location=context.location, hint=hint)


def _subject(context: SinkContext) -> str:
    return f"sink {(context.name or context.sink)!r}"


def _part(context: SinkContext) -> str:
    if isinstance(context, PartContext):
        return f" for part {context.part} of epoch {context.epoch}"
    return ""


# -- what methods may answer -----------------------------------------------------------------------


def writer_of(sink: PartSink, context: PartContext) -> PartWriter:
    """The writer of a part."""
    with named_call(context, "open_part()"):
        writer: Any = sink.open_part(context)
    wanted = IdempotentWriter if isinstance(sink, IdempotentSink) else PartWriter
    if not isinstance(writer, wanted):
        raise bad_sink(
            context,
            f"open_part() returns {short_repr(writer)}",
            f"return an object of a class that is derived from {wanted.__name__}",
        )
    return writer


def begun(writer: IdempotentWriter, context: PartContext) -> str | None:
    """The fingerprint that the marker of a part has, None if there is no marker."""
    with named_call(context, "begin()"):
        found: Any = writer.begin()
    if found is None or isinstance(found, str):
        return found
    raise bad_sink(
        context,
        f"begin() returns {short_repr(found)}",
        "return the fingerprint that the marker has, a text; None if there is no marker",
    )


# -- parts that are there already ------------------------------------------------------------------

_AS_BEFORE = (
    "the epoch is replayed with another number of tasks, or a function is not deterministic: start the "
    "job on as many cores as before, until the epoch is through"
)


def same_part(found: str, context: PartContext) -> None:
    """Refuse a part that is there already with other records: with another fingerprint."""
    refuse_other_parts(context, context.epoch, parts_of(found), parts_of(context.fingerprint))
    if same_records(found, context.fingerprint):
        return
    raise CheckpointError(
        "PART_CHANGED",
        f"sink {context.sink!r} has part {context.part} of epoch {context.epoch} already, with "
        f"other records than the part has now ({found!r}, now {context.fingerprint!r})",
        location=context.location,
        hint=_AS_BEFORE,
    )


def refuse_other_parts(context: SinkContext, epoch: int, before: int, now: int) -> None:
    """Refuse an epoch that was begun in another number of parts; 0: the number is not known."""
    if before == now or 0 in (before, now):
        return
    raise CheckpointError(
        "PART_CHANGED",
        f"sink {context.sink!r} has parts of epoch {epoch} already, which was written in {before} "
        f"parts and is replayed in {now}: records would be there twice, or not at all",
        location=context.location,
        hint="Spark divides the input by the number of cores: start the job on as many as before, or "
        "with the same spark.default.parallelism, until the epoch is through; after that, stop it "
        "with a savepoint to change the number",
    )


def vanished_part(context: SinkContext, epoch: int, part: int) -> CheckpointError:
    """The error for a part that is there already, and has no records in the replay."""
    return CheckpointError(
        "PART_CHANGED",
        f"sink {context.sink!r} has part {part} of epoch {epoch} already, and the part has no "
        "records now: they have come to other parts",
        location=context.location,
        hint=_AS_BEFORE,
    )


def markers_of(sink: IdempotentSink, context: SinkContext) -> Mapping[int, PartMarker] | None:
    """The last marker of each part of a sink."""
    with named_call(context, "last_markers()"):
        found: Any = sink.last_markers(context)
    if found is None or (isinstance(found, Mapping) and all(map(_is_marker, found.items()))):
        return found
    raise bad_sink(
        context,
        f"last_markers() returns {short_repr(found)}",
        "return a PartMarker for each number of a part, None if they cannot be listed",
    )


def _is_marker(item: tuple[Any, Any]) -> bool:
    return isinstance(item[0], int) and isinstance(item[1], PartMarker)


# -- what other methods may answer -----------------------------------------------------------------


def stageable(staged: Any, context: PartContext) -> Any:
    """Return what a writer has staged, if it can be sent to the driver."""
    try:
        pickle.dumps(staged)
    except Exception as error:
        raise bad_sink(
            context,
            f"finish() returns {short_repr(staged)}, which cannot be sent to the driver: {error}",
            "return plain values that tell the committer what is staged: names of files, ids",
        ) from error
    return staged


def committer_of(sink: TwoPhaseSink, context: SinkContext) -> Committer:
    """The driver's side of a sink."""
    with named_call(context, "open_committer()"):
        found = sink.open_committer(context)
    return a_committer(found, context)


def a_committer(committer: Any, context: SinkContext) -> Committer:
    """Check the answer of `open_committer`."""
    if not isinstance(committer, Committer):
        raise bad_sink(
            context,
            f"open_committer() returns {short_repr(committer)}",
            "return an object of a class that is derived from Committer",
        )
    return committer


def whole_epoch(found: Any, context: SinkContext, call: str) -> int | None:
    """The number of an epoch that a method has returned."""
    if found is None or (isinstance(found, int) and not isinstance(found, bool)):
        return found
    raise bad_sink(
        context,
        f"{call} returns {short_repr(found)}",
        "return the number of the last committed epoch, None if there is none",
    )

"""Records with their subdirectories, and the end of each: what a file sink with buckets gets.

The steps are a part of the job, so that event time, state and crashes are the engine's matter: a bucket
is complete when a timer fires, and a timer fires once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.typesystem.certainty import is_declared
from millstream.datastream.connectors.file_policies import BucketAssigner
from millstream.datastream.functions import KeyedProcessFunction, ProcessFunction

__all__ = ["bucketed"]


def bucketed(stream: Any, buckets: BucketAssigner, success_delay_ms: int | None) -> Any:
    """Return a stream of triples: the bucket, whether it is complete, and the record.

    ``success_delay_ms``: how long after its end a bucket is complete; None: nobody wants to know.
    """
    of_record = stream.get_type()
    triple: TypeInformation | None = None
    if is_declared(of_record):
        triple = Types.TUPLE([Types.STRING(), Types.BOOLEAN(), of_record])
    assigned = stream.process(_Assigned(buckets), triple).name("Buckets")
    if success_delay_ms is None:
        return assigned
    names = assigned.map(_bucket_of, Types.STRING()).name("Bucket Names")
    ends = names.key_by(_itself, Types.STRING()).process(_Ends(buckets, success_delay_ms), triple)
    return assigned.union(ends.name("Complete Buckets"))


def _bucket_of(triple: Any) -> str:
    bucket: str = triple[0]
    return bucket


def _itself(bucket: str) -> str:
    return bucket


class _Assigned(ProcessFunction[Any, Any]):
    def __init__(self, buckets: BucketAssigner) -> None:
        self.buckets = buckets

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self.buckets.bucket(value, ctx.timestamp()), False, value


class _Ends(KeyedProcessFunction[Any, Any, Any]):
    def __init__(self, buckets: BucketAssigner, delay_ms: int) -> None:
        self.buckets = buckets
        self.delay_ms = delay_ms

    def process_element(self, value: Any, ctx: Any) -> None:
        assert self.buckets.times is not None, "the builder has looked"
        end_ms = self.buckets.times.end_ms(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(end_ms - 1 + self.delay_ms)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), True, None

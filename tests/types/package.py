"""The names of ``import millstream as ms``, as mypy sees them. Nothing in this file runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

import millstream as ms


class Count(ms.KeyedProcessFunction[str, str, tuple[str, int]]):
    def open(self, runtime_context: ms.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ms.ValueStateDescriptor("count", ms.Types.LONG()))

    def process_element(
        self, value: str, ctx: ms.KeyedProcessFunction.Context[str]
    ) -> Iterator[tuple[str, int]]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value() or 0


def program() -> None:
    env = ms.StreamExecutionEnvironment.get_execution_environment()
    words = env.from_collection(["to", "be"])
    assert_type(words, ms.DataStream[str])
    assert_type(words.key_by(str.lower), ms.KeyedStream[str, str])
    assert_type(words.key_by(str.lower).process(Count()), ms.DataStream[tuple[str, int]])
    ms.Nonsense  # type: ignore[attr-defined]  # noqa: B018

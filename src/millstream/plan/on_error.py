"""The policy for records that operators fail on, and the steps that run "skip"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from millstream.common.errors import ConfigurationError
from millstream.kernel.chain import EdgeStep, TimestampStep
from millstream.kernel.dead_letters import DeadLetters
from millstream.kernel.runtime import OperatorInfo
from millstream.kernel.skipping_steps import (
    SkippingEdgeStep,
    SkippingFilterStep,
    SkippingFlatMapStep,
    SkippingMapStep,
    SkippingProcessStep,
    SkippingTimestampStep,
)
from millstream.kernel.steps import FilterStep, FlatMapStep, MapStep, ProcessStep
from millstream.plan.graph import OnError

ON_ERROR = "millstream.on-error"
"""The configuration key of the policy of operators that have none of their own."""

K = TypeVar("K")


class Kinds(Protocol):
    """Of a class of steps, what makes one with a policy."""

    def __call__(self, base: type[K], /) -> Callable[..., K]: ...


_SKIPPING: dict[type, type] = {
    MapStep: SkippingMapStep,
    FilterStep: SkippingFilterStep,
    FlatMapStep: SkippingFlatMapStep,
    ProcessStep: SkippingProcessStep,
    TimestampStep: SkippingTimestampStep,
    EdgeStep: SkippingEdgeStep,
}


def default_policy(configuration: Mapping[str, str]) -> OnError:
    """The policy of operators that have none of their own.

    Examples
    --------
    >>> default_policy({})
    OnError(policy='fail', tag=None)
    >>> default_policy({"millstream.on-error": "skip"}).policy
    'skip'
    """
    policy = configuration.get(ON_ERROR, "fail")
    if policy == "skip":
        return OnError("skip")
    if policy == "fail":
        return OnError("fail")
    raise ConfigurationError(
        "INVALID_OPTION_VALUE",
        f"{ON_ERROR} cannot be {policy!r}",
        parameters={"key": ON_ERROR, "value": policy},
        hint="use fail or skip",
    )


def kinds_for(on_error: OnError) -> Kinds:
    """Make steps with a policy; steps that cannot skip stay as they are.

    Examples
    --------
    >>> kinds_for(OnError("fail"))(MapStep)
    <class 'millstream.kernel.steps.MapStep'>
    >>> type(kinds_for(OnError("skip"))(MapStep)(OperatorInfo("to text", "t"), str)).__name__
    'SkippingMapStep'
    """

    def kind(base: type[K], /) -> Callable[..., K]:
        cls = base if on_error.policy == "fail" else _SKIPPING.get(base, base)
        if cls is base:
            return base

        def make(info: OperatorInfo, *arguments: Any, **options: Any) -> K:
            made: Any = cls(info, *arguments, **options)
            made.letters = DeadLetters(info, on_error.tag)
            return made  # type: ignore[no-any-return]

        return make

    return kind

"""The policy for failures: that of operators without one of their own, and what the kernel is given."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.common.errors import ConfigurationError
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.calls.dead_letters import DeadLetters
from millstream.kernel.calls.policy import FAILING, Policy, Skipping
from millstream.plan.graph import OnError

ON_ERROR = "millstream.on-error"
"""The configuration key of the policy of operators that have none of their own."""


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


def policy_of(on_error: OnError, info: OperatorInfo) -> Policy:
    """The policy of an operator, as its steps and the operator itself are given it.

    Examples
    --------
    >>> policy_of(OnError("fail"), OperatorInfo("to text", "t")).skips
    False
    >>> policy_of(OnError("skip", "bad"), OperatorInfo("to text", "t")).tag
    'bad'
    """
    return FAILING if on_error.policy == "fail" else Skipping(DeadLetters(info, on_error.tag))

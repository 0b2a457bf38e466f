"""Random functions of broadcast streams, as source code: what they keep and how they branch decides who
has to speak."""

from __future__ import annotations

import textwrap
from random import Random

CONDITIONS = (
    "found",
    "not found",
    "len(found) % 2",
    "value[2] == 1",
    "self.n",
    "self.n % 2",
    "seen",
    'total["n"] % 2',
    "self.kept",
)
SWEEPS = (
    "lambda k, s: found.append((k, s.value()))",
    'lambda k, s: total.update(n=total["n"] + s.value())',
    "lambda k, s: seen.add(k)",
    "lambda k, s: None",
    "lambda k, s: s.update(s.value() + 1)",
    "self.tell",
    "self.count_keys",
    "self.tell_some",
    "partial(self.into, found)",
    "partial(self.into, self.kept)",
)
ELEMENTS = ("pass", "self.n += 1", 'self.mode = "b"', "self.tag = OTHER", "self.kept.append(value)")
FAILURES = ("1 / len(found)", "found[0]", "assert not found", "1 / (self.n % 2)", "1 / value[2]")
CLASS = """
class Function:
    def open(self, context):
        self.n, self.mode, self.tag, self.kept = 0, "a", SIDE, []
        {open}

    def process_element(self, value, ctx):
        {keyed}
        {element}

    def on_timer(self, timestamp, ctx):
        pass

    def tell(self, key, state):
        yield key, state.value()

    def tell_some(self, key, state):
        if state.value() % 2:
            yield key, state.value()
        else:
            self.n += 1

    def count_keys(self, key, state):
        self.n += 1

    @staticmethod
    def into(found, key, state):
        found.append((key, "into", state.value()))

    def helper(self, value, found):
        yield "helper", value
        if found:
            yield "helped"

    def process_broadcast_element(self, value, ctx):
        found, total, seen, text = [], {{"n": 0}}, set(), "none"
        yield "begun"
{body}
"""


class Writer:
    """Writes the body of a function."""

    def __init__(self, random: Random, keyed: bool) -> None:
        self.random = random
        self.keyed = keyed
        self.texts = 0

    def source(self) -> str:
        return CLASS.format(
            open="self.count = context.get_state(COUNT)" if self.keyed else "",
            keyed="self.count.update((self.count.value() or 0) + 1)" if self.keyed else "",
            element=self.random.choice(ELEMENTS),
            body=textwrap.indent("\n".join(self.block(0)), " " * 8),
        )

    def text(self) -> str:
        self.texts += 1
        return f'"text {self.texts}"'

    def condition(self) -> str:
        return self.random.choice(CONDITIONS)

    def value(self) -> str:
        one, other, condition = self.text(), self.text(), self.condition()
        return self.random.choice(
            (
                one,
                f"({one}, value)",
                "value",
                "value[1]",
                "('n', len(found))",
                "('self', self.n)",
                f"{one} if {condition} else {other}",
                f"({one}, {other})[bool({condition})]",
                f"value[1] if {condition} else value[0]",
                f"SIDE, {one}",
                f"(SIDE if {condition} else OTHER), {one}",
                "self.tag, 'tagged'",
                "text",
                "(text, value)",
                f"({condition}) and {one} or {other}",
                "(self.mode, value)",
                "f'{value[1]} of it'",
                "f'{len(found)} of it'",
                "value[len(found) % 2]",
                "tuple(self.kept)",
            )
        )

    def block(self, depth: int) -> list[str]:
        lines = self.random.randint(1, 3 if depth else 6)
        return [line for _ in range(lines) for line in self.statement(depth)]

    def inner(self, depth: int) -> list[str]:
        return [f"    {line}" for line in self.block(depth + 1)]

    def statement(self, depth: int) -> list[str]:
        simple = [
            self.emits,
            self.emits,
            self.sweeps,
            lambda: ["yield from found"],
            lambda: ["yield from self.helper(value, found)"],
            lambda: [f"text = {self.text()} if {self.condition()} else {self.text()}"],
            lambda: ["self.n += 1"],
            lambda: ["value = value[::-1] if found else value"],
        ]
        nested = [self.branches, self.loops, self.catches]
        if depth < 3 and self.random.random() < 0.3:
            return self.random.choice(nested)(depth)
        return self.random.choice([*simple, self.returns])()

    def emits(self) -> list[str]:
        return [f"yield {self.value()}"]

    def sweeps(self) -> list[str]:
        if not self.keyed:
            return self.emits()
        return [f"ctx.apply_to_keyed_state(COUNT, {self.random.choice(SWEEPS)})"]

    def branches(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *self.inner(depth)]
        return [*lines, "else:", *self.inner(depth)] if self.random.random() < 0.4 else lines

    def loops(self, depth: int) -> list[str]:
        heads = ("for x in found[:2]:", "for x in value:", "while found and found.pop():")
        return [self.random.choice(heads), *self.inner(depth)]

    def catches(self, depth: int) -> list[str]:
        failure = f"    {self.random.choice(FAILURES)}"
        if self.random.random() < 0.3:
            return ["with suppress(ZeroDivisionError, LookupError, AssertionError):", failure,
                    *self.inner(depth)]  # fmt: skip
        caught = "except (ZeroDivisionError, LookupError, AssertionError):"
        lines = ["try:", failure, *self.inner(depth), caught, *self.inner(depth)]
        return [*lines, "finally:", "    yield 'finally'"] if self.random.random() < 0.3 else lines

    def returns(self) -> list[str]:
        return [f"if {self.condition()}:", "    return"]

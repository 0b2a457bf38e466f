"""Which slots say what a broadcast record emits, for many ways to keep something in an instance.

Each program is compared with Flink's rule, where every instance says everything. Nothing that Flink says
may be missing. What a program calls the record's own comes once, however many instances there are.
"""

from __future__ import annotations

import functools
import queue
import re
import sqlite3
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from millstream.common.output_tag import OutputTag
from millstream.kernel.operators.two_inputs.reach import Reach
from millstream.kernel.operators.two_inputs.told import Told
from millstream.kernel.state.sweep import place_of_other
from tests.support.kernel_support import values
from tests.support.strategies import crossed, thinned
from tests.unit.kernel.operators.two_inputs.test_broadcast import COUNT, RULES, at_once, job

SLOTS = 3
KEYS = "abcdefghij"
RECORDS = at_once(
    *[(key,) for key in KEYS], ("rule", "x", 1), *[(key,) for key in KEYS], ("rule", "y", 2)
)
SIDE = OutputTag("side")


class Program:
    """Counts the records of each key, and keeps something in the instance."""

    def open(self, context: Any) -> None:
        self.context = context
        if self.keyed:
            self.count = context.get_state(COUNT)

    keyed = True

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        raise NotImplementedError

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        raise NotImplementedError


# -- what a sweep leaves behind --------------------------------------------------------------------


class InAList(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(COUNT, lambda key, state: found.append((key, state.value())))
        yield "own rule", value
        yield from found
        yield "own done"


class InADefault(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []

        def collect(key: Any, state: Any, found: Any = found) -> None:
            found.append((key, state.value()))

        ctx.apply_to_keyed_state(COUNT, collect)
        for key, n in found:
            yield f"{key} has {n}"


class InAKeywordDefault(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: set[Any] = set()

        def collect(key: Any, state: Any, *, into: Any = found) -> None:
            into.add(key)

        ctx.apply_to_keyed_state(COUNT, collect)
        for key in sorted(found):
            yield f"has {key}"


class InAPartial(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(COUNT, functools.partial(self.collect, found))
        for key in found:
            yield f"has {key}"

    @staticmethod
    def collect(found: list[Any], key: Any, state: Any) -> None:
        found.append(key)


class Collector:
    """Can be called, and keeps what it was called with."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def __call__(self, key: Any, state: Any) -> None:
        self.found.append(key)


class InACallable(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        collector = Collector()
        ctx.apply_to_keyed_state(COUNT, collector)
        for key in collector.found:
            yield f"has {key}"


class StateFunction:
    def __init__(self) -> None:
        self.total = 0

    def process(self, key: Any, state: Any) -> None:
        self.total += state.value()


class InAStateFunction(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        function = StateFunction()
        ctx.apply_to_keyed_state(COUNT, function)
        yield "total", function.total


class InALocalClass(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        class Sum:
            total = 0

        kept = Sum()

        def add(key: Any, state: Any) -> None:
            kept.total += state.value()

        ctx.apply_to_keyed_state(COUNT, add)
        yield "total", kept.total


class InANonlocal(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        total = 0

        def add(key: Any, state: Any) -> None:
            nonlocal total
            total += state.value()

        ctx.apply_to_keyed_state(COUNT, add)
        yield "total", total


class InAnInnerFunction(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: dict[str, int] = {}

        def note(key: Any, n: int) -> None:
            found[key] = n

        ctx.apply_to_keyed_state(COUNT, lambda key, state: note(key, state.value()))
        yield dict(found)


class NestedDeep(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: dict[str, Any] = {"inner": {"list": []}}
        ctx.apply_to_keyed_state(COUNT, lambda key, state: found["inner"]["list"].append(key))
        for key in found["inner"]["list"]:
            yield f"has {key}"


class WithALock(Program):
    """The lock cannot be pickled; what lies beside it counts all the same."""

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        kept = {"lock": threading.Lock(), "total": 0}

        def add(key: Any, state: Any) -> None:
            with kept["lock"]:  # type: ignore[attr-defined]
                kept["total"] += state.value()

        ctx.apply_to_keyed_state(COUNT, add)
        yield "total", kept["total"]


class WhetherSomethingWasFound(Program):
    """A fixed text, but only some instances say it."""

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(
            COUNT, lambda key, state: found.append(key) if key == self.wanted else None
        )
        if found:
            yield "alert"
            yield "alert", value

    wanted = "a"


class WhetherAnotherWasFound(WhetherSomethingWasFound):
    wanted = "b"


class WhetherAThirdWasFound(WhetherSomethingWasFound):
    wanted = "d"


class EarlyReturn(Program):
    wanted = "b"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(
            COUNT, lambda key, state: found.append(key) if key == self.wanted else None
        )
        if not found:
            return
        yield "alert"


class NothingFound(Program):
    wanted = "b"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(
            COUNT, lambda key, state: found.append(key) if key == self.wanted else None
        )
        if found:
            yield "found"
        else:
            yield "nothing"


class AReturnedList(Program):
    wanted = "b"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        found: list[Any] = []
        ctx.apply_to_keyed_state(
            COUNT, lambda key, state: found.append(key) if key == self.wanted else None
        )
        return ["alert" for _ in found]


class ALoopOfFixedTexts(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(COUNT, lambda key, state: found.append(key))
        for _ in found:
            yield "one more"


class ADelegate(Program):
    wanted = "b"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(COUNT, lambda key, state: found.append(key))
        yield from self.report(self.wanted in found)

    def report(self, found: bool) -> Iterator[Any]:
        if found:
            yield "alert"


class YieldsPerKey(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "own before"
        ctx.apply_to_keyed_state(COUNT, self.tell)
        yield "own after", len(value)

    def tell(self, key: Any, state: Any) -> Iterator[Any]:
        yield key, state.value()


class OnlyClears(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.apply_to_keyed_state(COUNT, lambda key, state: state.clear())
        if value:
            yield "own cleared", len(value)


class OnlySets(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.apply_to_keyed_state(COUNT, lambda key, state: state.update(value[2]))
        if value:
            yield "own set", len(value)


class WhatTheRecordSays(Program):
    """A condition before the sweep is the same in all instances."""

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value[2] == 2:
            found: list[Any] = []
            ctx.apply_to_keyed_state(COUNT, lambda key, state: found.append(key))
            yield from found
            yield "own report", value


class UntilAllIsFound(Program):
    """The first round decides whether there is a second one."""

    wanted = "b"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        while self.wanted not in found and len(found) < 2 * len(KEYS):
            ctx.apply_to_keyed_state(COUNT, lambda key, state: found.append(key))
            found.extend([None] * len(KEYS))
            yield "a round"


class SideOutputs(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(COUNT, lambda key, state: found.append(key))
        for key in found:
            yield SIDE, f"has {key}"
        yield f"{len(found)} keys"


# -- what records of the other input leave in the instance -----------------------------------------


class Kept(Program):
    """Keeps records until a rule comes."""

    def __init__(self) -> None:
        self.kept: Any = []

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.kept.append(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        while self.kept:
            yield f"kept {self.kept.pop()}"
        yield "own rule", value


class KeptByName(Kept):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        kept = getattr(self, "ke" + "pt")
        while kept:
            yield f"kept {kept.pop()}"


class KeptInVars(Kept):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        kept = vars(self)["kept"]
        while kept:
            yield f"kept {kept.pop()}"


class KeptInADict(Kept):
    def __init__(self) -> None:
        self.kept = defaultdict(lambda: [])

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.kept["x"].append(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for key in self.kept.pop("x", ()):
            yield f"kept {key}"


class KeptInAQueue(Kept):
    def __init__(self) -> None:
        self.kept = queue.Queue()

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.kept.put(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        while not self.kept.empty():
            yield f"kept {self.kept.get()}"


@dataclass
class Buffer:
    """A helper of the user's, with a lock in it."""

    items: deque[Any] = field(default_factory=deque)
    lock: Any = field(default_factory=threading.Lock)

    def __call__(self, item: Any) -> None:
        self.items.append(item)

    def drain(self) -> Iterator[Any]:
        while self.items:
            yield self.items.popleft()


class KeptInAHelper(Kept):
    """The helper can be called, and cannot be pickled."""

    def __init__(self) -> None:
        self.kept = Buffer()

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.kept(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for key in self.kept.drain():
            yield f"kept {key}"


def buffer() -> tuple[Callable[[Any], None], Callable[[], list[Any]]]:
    kept: list[Any] = []

    def drain() -> list[Any]:
        found = kept[:]
        kept.clear()
        return found

    return kept.append, drain


class KeptInAClosure(Kept):
    def __init__(self) -> None:
        self.push, self.drain = buffer()

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.push(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for key in self.drain():
            yield f"kept {key}"


class KeptInAPartial(Kept):
    def __init__(self) -> None:
        kept: list[Any] = []
        self.push, self.size = kept.append, functools.partial(len, kept)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.push(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield f"{self.size()} kept"


class KeptInADatabase(Kept):
    """Nobody can look into it: in doubt every instance speaks."""

    def __init__(self) -> None:
        self.kept = None

    def open(self, context: Any) -> None:
        super().open(context)
        self.kept = sqlite3.connect(":memory:", check_same_thread=False)
        self.kept.execute("create table kept (key text)")

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.kept.execute("insert into kept values (?)", value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for (key,) in self.kept.execute("select key from kept").fetchall():
            yield f"kept {key}"


class KeptInAProperty(Kept):
    @property
    def waiting(self) -> list[Any]:
        return self.kept

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for key in self.waiting:
            yield f"kept {key}"


class KeptBehindAMethod(Kept):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.drained()

    def drained(self) -> Iterable[Any]:
        return [f"kept {key}" for key in self.kept]


class KeptBehindSuper(KeptBehindAMethod):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from super().process_broadcast_element(value, ctx)

    def drained(self) -> Iterable[Any]:
        return reversed(list(super().drained()))


class KeptInASlot(Kept):
    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: list[Any] = []

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.waiting.append(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for key in self.waiting:
            yield f"kept {key}"


class KeptBehindGetattr(Kept):
    """The name that the code uses is not that of an attribute."""

    def __getattr__(self, name: str) -> Any:
        if name == "waiting":
            return self.kept
        raise AttributeError(name)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for key in self.waiting:
            yield f"kept {key}"


class KeptInTheClass(Kept):
    """All instances of a process share it; here every one has a class of its own."""

    def __init__(self) -> None:
        self.place: Any = type("Place", (), {"kept": []})

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.place.kept.append(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for key in self.place.kept:
            yield f"kept {key}"


class ASmallNumber(Kept):
    """Python has one object for each small number: the count looks like a field of the record."""

    def __init__(self) -> None:
        self.seen = 0

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen = 1 + self.seen % 2

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "seen", self.seen


class WhetherSomethingIsKept(Kept):
    """A fixed text, but only an instance that has kept the key says it."""

    wanted = "b"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self.wanted in self.kept:
            yield "alert"


class ACount(Kept):
    def __init__(self) -> None:
        self.seen = 0

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen += 1

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "seen", self.seen


class AMetric(Kept):
    def open(self, context: Any) -> None:
        super().open(context)
        self.seen = context.get_metrics_group().counter("seen")

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.inc()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "seen", self.seen.get_count()


class AMetricNobodyReads(Kept):
    def open(self, context: Any) -> None:
        super().open(context)
        self.seen = context.get_metrics_group().counter("seen")

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.inc()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.inc()
        if value:
            yield "own rule", len(value)


class NotUsed(Kept):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value:
            yield "own rule", len(value)


class ALockBesides(Kept):
    def open(self, context: Any) -> None:
        super().open(context)
        self.lock = threading.Lock()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        with self.lock:
            yield "own rule", len(value)


class ByIndex(Program):
    """Each instance says something of its own, or one that is not the first does."""

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        index = self.context.get_index_of_this_subtask()
        yield "instance", index
        if index == SLOTS - 1:
            yield "the last one"


class ByIndexKept(Program):
    def open(self, context: Any) -> None:
        super().open(context)
        self.last = context.get_index_of_this_subtask() == SLOTS - 1

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self.last:
            yield "the last one"


class BroadcastStateOnly(Program):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[1], value[2])
        for name, content in sorted(rules.items()):
            yield "own", name, content, len(value)


class CountsRules(Program):
    """An attribute that only broadcast records change is the same everywhere."""

    def __init__(self) -> None:
        self.rules = 0

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.rules += 1
        yield "own rules", self.rules


def programs(base: type[Program]) -> list[type[Program]]:
    below = [one for child in base.__subclasses__() for one in programs(child)]
    return below if base is Program else [base, *below]


def said(program: type[Program], size: int | None) -> Counter[str]:
    """What the instances say, each in a process of its own."""
    started, *others = [job(RECORDS, program(), slots=SLOTS) for _ in range(SLOTS + 1)]
    whole = started.programs.stages[0]
    stages = [other.programs.stages[0] for other in others]
    whole.run = lambda slot, *rest: stages[slot].run(slot, *rest)  # type: ignore[method-assign]
    got = values(started.run_all(size))
    side = [value for value, _ in started.outputs.get("side", ())]
    return Counter(map(repr, [*got, *side]))


@pytest.mark.parametrize(
    ("program", "size"),
    crossed(thinned(programs(Program), "told"), [1, None]),
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_nothing_that_flink_says_is_missing(
    program: type[Program], size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = said(program, size)

    def everybody(told: Told, value: Any) -> None:
        told._own += 1
        told._emit(place_of_other(told._order, told._own, 0, 0, b""), value)

    monkeypatch.setattr(Told, "take", everybody)
    flink = said(program, size)
    own = {value for value in flink if "'own" in value}
    assert {value: got[value] for value in own} == {value: flink[value] // SLOTS for value in own}
    assert {v: n for v, n in got.items() if v not in own} == {
        v: n for v, n in flink.items() if v not in own
    }


# -- what a function can reach ---------------------------------------------------------------------

SEEN = 0
HELPER = Buffer()


class Shelf:
    kept: ClassVar[list[Any]] = []


def seen() -> int:
    return SEEN


def helped() -> int:
    return len(HELPER.items)


def shelved() -> int:
    return len(Shelf.kept)


def by_another() -> int:
    return seen() + 1


def count() -> None:
    global SEEN
    SEEN += 1


@pytest.mark.parametrize(
    ("function", "change"),
    [
        (seen, count),
        (by_another, count),
        (helped, lambda: HELPER(1)),
        (shelved, lambda: Shelf.kept.append(1)),
    ],
)
def test_what_lies_in_the_module_is_within_reach(
    function: Callable[[], int], change: Callable[[], object]
) -> None:
    before = Reach(function).fingerprint()
    assert Reach(function).fingerprint() == before
    change()
    assert Reach(function).fingerprint() != before


def test_what_libraries_keep_is_not() -> None:
    def looks(text: str) -> bool:
        return re.match("[a-z]+", text) is not None

    before = Reach(looks).fingerprint()
    re.purge()
    assert looks("a")
    assert Reach(looks).fingerprint() == before


def test_the_users_code_is_not_run() -> None:
    class Function:
        @property
        def dangerous(self) -> int:
            raise AssertionError("nobody asked for it")

        def use(self) -> int:
            return self.dangerous

    function = Function()
    assert Reach(function.use, function).things == []

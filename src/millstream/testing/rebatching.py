"""One program under many schedules: the results must be the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from millstream.common.errors import PlanError, user_location
from millstream.plan.options import ChannelOrder
from millstream.testing.engine.comparison import Comparison, Difference, first_field
from millstream.testing.programs import Program, Sources
from millstream.testing.results import Results
from millstream.testing.runner import Settings, execute
from millstream.testing.schedules import Cut, Schedule

__all__ = ["RebatchReport", "rebatch"]

REFERENCE = Schedule(epochs="all", slots=1, parallelism=1, restarts="marks")


@dataclass(frozen=True)
class RebatchReport:
    """The result of `rebatch`.

    Attributes
    ----------
    schedules : tuple of Schedule
        Those that the program ran under; the first is the one that the others were compared with.
    results : Results
        What the program brings.
    """

    schedules: tuple[Schedule, ...]
    results: Results

    def __len__(self) -> int:
        return len(self.schedules)

    def __str__(self) -> str:
        records = sum(map(len, self.results.sinks.values()))
        return f"{records} records, the same under {len(self)} schedules"


def rebatch(
    program: Program,
    *,
    cuts: Sequence[Cut] = (1, 7, "random", "all"),
    slots: Sequence[int] = (1, 2, 4),
    parallelism: Sequence[int] = (1, 2),
    splits: Sequence[int] = (1, 3),
    seeds: Sequence[int] = (0, 1),
    restarts: bool = True,
    batch: bool = True,
    channel_order: ChannelOrder | None = None,
    compare: Literal["exact", "per_key", "unordered"] = "exact",
    key: Callable[[Any], Any] = first_field,
    rolling: bool = False,
    normalize: Callable[[Any], Any] | None = None,
    sources: Sources | None = None,
    ms_per_epoch: int = 1_000,
    copy_functions: bool = True,
) -> RebatchReport:
    """Check that the results of a program do not depend on the schedule.

    The program runs with its input cut into epochs of different sizes, over different numbers of
    slots and tasks, with restarts and in batch mode. All sinks must get the same records, with the
    same event times, as with everything in one epoch. ABORT marks of a `TestSource` act in every
    run, and the run goes on after them.

    Parameters
    ----------
    program
        As in `run_local`. A function is called for each run; it should create its sources each time.
    cuts, slots, parallelism
        The program runs under all combinations of these.
    splits
        Into how many fragments reads are cut; the combinations take turns with these.
    seeds
        For the cut ``"random"``.
    restarts
        Restart the job after every epoch in half of the runs.
    batch
        Run in batch mode too.
    channel_order
        In place of the program's. With several channels most programs need ``"watermark"``.
    compare
        ``"exact"``: the same records in the same order. ``"per_key"``: in the same order for each
        key. ``"unordered"``: the same records.
    key
        For ``"per_key"`` and ``rolling``, the key of a value: by default the first field of a
        tuple or row, and any other value itself.
    rolling
        The program ends with a rolling aggregation (``sum``, ``reduce``, ...), which tells every
        change in a stream and only the last value in batch mode: compare these there.
    normalize
        Changes values before they are compared: to round floats, for example.
    sources, ms_per_epoch, copy_functions
        As in `run_local`.

    Returns
    -------
    RebatchReport
        The schedules, and the results.

    Raises
    ------
    AssertionError
        The results of two schedules differ. The message shows where, and how to repeat it.

    Examples
    --------
    >>> def program(env):
    ...     words = env.from_collection(["to", "be", "or", "not", "to", "be"])
    ...     return words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    >>> print(rebatch(program, cuts=(1, "all"), rolling=True))
    6 records, the same under 19 schedules
    """
    plan = (REFERENCE, *_schedules(cuts, slots, parallelism, splits, seeds, restarts, batch))
    if channel_order is not None:
        plan = tuple(_with_order(schedule, channel_order) for schedule in plan)
    settings = Settings(sources or {}, ms_per_epoch, copy_functions)
    streaming = Comparison(compare, key, normalize)
    in_batch = Comparison("last_per_key" if rolling else compare, key, normalize)
    reference = _run(program, plan[0], settings)
    for schedule in plan[1:]:
        results = _run(program, schedule, settings)
        comparison = in_batch if schedule.batch else streaming
        difference = comparison.difference(reference.sinks, results.sinks)
        if difference is not None:
            raise AssertionError(_message(plan[0], schedule, difference))
    return RebatchReport(plan, reference)


def _schedules(
    cuts: Sequence[Cut],
    slots: Sequence[int],
    parallelism: Sequence[int],
    splits: Sequence[int],
    seeds: Sequence[int],
    restarts: bool,
    batch: bool,
) -> Iterator[Schedule]:
    for name, choices in (("slots", slots), ("parallelism", parallelism), ("splits", splits)):
        if not choices or isinstance(choices, str):
            raise PlanError(
                "BAD_SCHEDULE",
                f"{name} cannot be {choices!r}",
                location=user_location(),
                hint=f"give a list of numbers, as in {name}=[1, 2]",
            )
    layouts = [
        (s, p, i + j, i + 2 * j) for i, s in enumerate(slots) for j, p in enumerate(parallelism)
    ]
    for number, (cut, seed) in enumerate(_seeded(cuts, seeds)):
        for slot_count, tasks, even, turn in layouts:
            # A chequerboard: every cut, number of slots and number of tasks meets both.
            choices = ((number + even) % 2 == 1,) if len(layouts) > 1 else (False, True)
            for every in choices if restarts else (False,):
                yield Schedule(
                    epochs=cut,
                    seed=seed,
                    slots=slot_count,
                    parallelism=tasks,
                    splits=splits[(number + turn) % len(splits)],
                    restarts="every" if every else "marks",
                )
    for slot_count, tasks, _, turn in layouts if batch else ():
        yield Schedule(
            batch=True,
            slots=slot_count,
            parallelism=tasks,
            splits=splits[turn % len(splits)],
            restarts="marks",
        )


def _seeded(cuts: Sequence[Cut], seeds: Sequence[int]) -> Iterator[tuple[Cut, int]]:
    for cut in cuts:
        for seed in seeds if cut == "random" else (0,):
            yield cut, seed


def _with_order(schedule: Schedule, order: ChannelOrder) -> Schedule:
    return Schedule(**{**schedule.__dict__, "channel_order": order})


def _run(program: Program, schedule: Schedule, settings: Settings) -> Results:
    try:
        return execute(program, schedule, settings, rearm=True)
    except Exception as error:
        error.add_note(f"rebatch ran the program with {schedule}")
        error.add_note(f"to repeat: run_local(program, {schedule.arguments()})")
        raise


def _message(reference: Schedule, schedule: Schedule, difference: Difference) -> str:
    lines = [f"the results depend on the schedule: {difference.place()}"]
    for run, records in ((reference, difference.expected), (schedule, difference.found)):
        lines.append(f"  with {run}, {difference.count(records)}:")
        lines += [f"    {line}" for line in difference.window(records)]
    lines += [f"  {hint}" for hint in _hints(reference, schedule, difference)]
    lines.append(f"  to repeat: run_local(program, {schedule.arguments()})")
    return "\n".join(lines)


def _hints(reference: Schedule, schedule: Schedule, difference: Difference) -> Iterator[str]:
    if schedule == reference:
        yield "both runs had the same schedule: the program keeps something outside of its state"
    if difference.is_order_only:
        yield 'only the order differs: compare="per_key" or "unordered" would accept that'
    if schedule.batch and difference.is_same_at_last:
        yield "the last records of each key are the same: rolling=True would accept that"

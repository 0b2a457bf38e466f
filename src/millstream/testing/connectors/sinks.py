"""The contract of sinks as scenarios: failures at every point, and what a reader must see after them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.common.errors import CheckpointError, PlanError, short_repr, user_location
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.sink import IdempotentSink, PartMarker, PartSink, TwoPhaseSink
from millstream.connectors.sink_calls import markers_of
from millstream.testing.connectors.crash import spread
from millstream.testing.connectors.sink_trial import POINTS, ContractError, Driver, Kit, Trial

__all__ = ["check_sink"]

PAIRS = Types.TUPLE([Types.STRING(), Types.LONG()])


def numbered(number: int) -> tuple[str, int]:
    """The record of a number, unless the author gives another one."""
    return f"record {number}", number


def check_sink(
    make: Callable[[Path], PartSink],
    read: Callable[[Path], Iterable[Any]],
    *,
    record: Callable[[int], Any] = numbered,
    type_info: TypeInformation | None = PAIRS,
    crashes: int = 16,
) -> list[str]:
    """Run a sink through failures, and compare what a reader sees with what must be there.

    A job writes epochs of 12 records. Tasks fail, die, run twice, and wake up late. Drivers die at
    every point; inside ``finish``, ``commit``, ``recover`` and ``take_back`` before each line of the
    sink's own code. The reader of a `FunctionSink` may see a record twice; no other may.

    Parameters
    ----------
    make
        Makes the sink, given an empty folder that no other scenario has. A sink that writes to a server
        takes the name of the folder as that of its table or topic.
    read
        What a reader sees now, given the same folder: the records, in any order. It is also called
        before anything is written.
    record
        Makes a record of a number: other numbers, other records.
    type_info
        The type of the records.
    crashes
        At how many lines of each method to crash, at most; they are spread evenly.

    Returns
    -------
    list of str
        The scenarios that the sink has passed.

    Raises
    ------
    ContractError
        The sink does not keep its contract: in which scenario, what happened, and what to look at.

    Examples
    --------
    >>> from millstream.datastream.connectors import FileSink
    >>> def lines(folder):
    ...     files = [path for path in folder.iterdir() if path.is_file()]
    ...     return [line for path in files for line in path.read_text().splitlines()]
    >>> passed = check_sink(
    ...     lambda folder: FileSink.text(str(folder)), lines,
    ...     record=str, type_info=Types.STRING(), crashes=2)
    >>> passed[0], "epochs are taken back" in passed
    ('nothing fails', True)
    """
    with _new_folder() as folder:
        sink = make(Path(folder))
    if not isinstance(sink, PartSink):
        raise PlanError(
            "NOT_A_SINK",
            f"make() gives {short_repr(sink)}, and the kit checks sinks that tasks write to",
            location=user_location(),
            hint="derive the sink from FunctionSink, IdempotentSink or TwoPhaseSink",
        )
    kit = Kit(make, read, record, type_info, crashes, type(sink))
    passed = []
    for scenario in _scenarios(kit.sink_class):
        with _new_folder() as folder:
            scenario.run(_Places(kit, Path(folder), scenario))
        passed.append(scenario.name)
    return passed


def _new_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="sink_", dir=_memory())


def _memory() -> str | None:
    """A folder in memory, if there is one: no machine dies here, so nobody has to wait for a disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


# -- running scenarios -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scenario:
    """A scenario, in one or more trials; ``hint``: what to look at in a sink that does not pass."""

    name: str
    run: Callable[[_Places], None]
    hint: str


class _Places:
    """Gives each trial of a scenario a new place."""

    def __init__(self, kit: Kit, folder: Path, scenario: _Scenario) -> None:
        self.kit = kit
        self.folder = folder
        self.scenario = scenario
        self.count = 0

    def trial(self) -> Trial:
        self.count += 1
        # Servers know places by name: it is unique among runs, too.
        place = self.folder / f"{self.folder.name}_{self.count}"
        place.mkdir()
        trial = Trial(self.kit, place, self.scenario.name, self.scenario.hint)
        trial.check("before anything is written")
        return trial

    def lines(self, count: int) -> list[int]:
        """The lines of an operation to crash at, given how many it has."""
        return spread(count, self.kit.crashes)


def _scenarios(sink_class: type[PartSink]) -> Iterator[_Scenario]:
    yield from _EVERY_SINK
    if issubclass(sink_class, IdempotentSink):
        yield from _IDEMPOTENT
    if issubclass(sink_class, TwoPhaseSink):
        yield from _TWO_PHASE


def _go_on(trial: Trial, parts: int = 2) -> None:
    """Start the job again, replay epoch 1, write epoch 2: each must be there as it should."""
    driver = trial.start()
    driver.epoch(1, parts)
    trial.check("after epoch 1 is replayed")
    driver.epoch(2, parts)
    trial.check("after epoch 2")


def _begun(places: _Places) -> tuple[Trial, Driver]:
    """A job that has written epoch 0."""
    trial = places.trial()
    driver = trial.start()
    driver.epoch(0)
    trial.check("after epoch 0")
    return trial, driver


def _hidden(trial: Trial, when: str) -> None:
    """A reader of a two-phase sink sees nothing that is not committed."""
    if issubclass(trial.kit.sink_class, TwoPhaseSink):
        trial.check(when)


# -- every sink ------------------------------------------------------------------------------------


def _nothing_fails(places: _Places) -> None:
    trial, driver = _begun(places)
    for epoch in (1, 2):
        driver.epoch(epoch)
        trial.check(f"after epoch {epoch}")


def _a_task_is_lost(places: _Places) -> None:
    for point in POINTS:
        for ends in ("fails", "dies"):
            trial, driver = _begun(places)
            lost = driver.task(1, 0).to(point)
            getattr(lost, ends)()
            _hidden(trial, "after a task is lost")
            driver.epoch(1)
            trial.check("after the task is repeated")
            driver.epoch(2)
            trial.check("after epoch 2")


def _a_driver_dies(places: _Places) -> None:
    for points in (
        *((point,) for point in POINTS),
        ("finished", "half written"),
        2 * ("finished",),
    ):
        trial, driver = _begun(places)
        tasks = [driver.task(1, part).to(point) for part, point in enumerate(points)]
        for task in tasks:
            task.dies()
        driver.dies()
        _hidden(trial, "after the driver died before the commit")
        _go_on(trial)


def _committed_but_not_logged(places: _Places) -> None:
    trial, driver = _begun(places)
    driver.epoch(1)
    driver.dies()
    driver = trial.start()
    driver.epoch(1)
    trial.check("after epoch 1 is replayed")
    driver.dies()
    _go_on(trial)


def _crash_in_finish(places: _Places) -> None:
    trial, driver = _begun(places)
    for line in places.lines(driver.task(1, 0).to("written").finish()):
        trial, driver = _begun(places)
        task = driver.task(1, 0).to("written")
        task.finish(crash=line)
        task.dies()
        driver.dies()
        _hidden(trial, "after a task died in finish()")
        _go_on(trial)


def _two_attempts(places: _Places) -> None:
    for reported in (0, 1):
        trial, driver = _begun(places)
        attempts = [driver.task(1, 0).to("half written") for _ in range(2)]
        staged = _of_both(attempts, reported)
        driver.commit(1, [staged, driver.task(1, 1).run()])
        trial.check("after both attempts have finished")
        driver.epoch(2)
        trial.check("after epoch 2")


def _of_both(attempts: list[Any], reported: int) -> Any:
    """Return what the reported attempt has staged. If the sink refused it, Spark tries once more."""
    done = [attempt.tries() for attempt in attempts]
    if done[reported]:
        return attempts[reported].staged
    again = attempts[reported].driver.task(1, 0)
    return again.run()


def _a_zombie_task(places: _Places) -> None:
    for point in POINTS[:-1]:
        for same_driver in (True, False):
            trial, driver = _begun(places)
            zombie = driver.task(1, 0).to(point)
            driver = driver if same_driver else trial.start()
            driver.epoch(1)
            trial.check("after epoch 1, while the zombie sleeps")
            driver.epoch(2)
            zombie.tries()
            trial.check("after the zombie went on")
            driver.dies()
            trial.start().epoch(2)
            trial.check("after epoch 2 is replayed")


def _other_parts(places: _Places) -> None:
    trial, driver = _begun(places)
    for epoch, parts in ((1, 3), (2, 1), (3, 4)):
        driver.epoch(epoch, parts)
        driver.dies()
        driver = trial.start()
        driver.epoch(epoch, parts)
        trial.check(f"after epoch {epoch} is replayed in {parts} parts")


def _neighbours(places: _Places) -> None:
    """Two jobs, and two sinks of a job, in one place: epochs of the same numbers, with other records."""
    trial, driver = _begun(places)
    tasks = [driver.task(1, part).run() for part in range(2)]
    for job, sink, first in (("another job", "sink", 5), ("job", "another sink", 7)):
        other = _Shifted(trial.start(job, sink), first)
        for epoch in (0, 1):
            other.epoch(epoch)
    driver.commit(1, tasks)
    trial.check("after each has written epochs 0 and 1")


class _Shifted:
    """A driver whose epochs have the records of later ones."""

    def __init__(self, driver: Driver, first: int) -> None:
        self.driver = driver
        self.first = first

    def epoch(self, epoch: int) -> None:
        driver, trial = self.driver, self.driver.trial
        numbers = trial.numbers(self.first + epoch)
        staged = [driver.task(epoch, part, numbers=numbers[part::2]).run() for part in range(2)]
        driver.commit(epoch, staged, numbers=numbers)


# -- idempotent sinks ------------------------------------------------------------------------------


def _replayed_in_other_parts(places: _Places) -> None:
    trial, driver = _begun(places)
    driver.task(1, 0, parts=2).run()
    driver.dies()
    driver = trial.start()
    try:
        driver.epoch(1, parts=3)
    except ContractError as error:
        if isinstance(error.__cause__, CheckpointError) and error.__cause__.code == "PART_CHANGED":
            return
        raise
    trial.check("after epoch 1, of which one of 2 parts was written, is replayed in 3 parts")


def _last_epoch(places: _Places) -> None:
    trial, driver = _begun(places)
    driver.epoch(1)
    for job, expected in (("job", 1), ("another job", None)):
        found = trial.start(job).last_epoch
        if found not in (None, expected):
            raise trial.error(f"last_epoch() of {job!r} is {found}, and must be {expected} or None")
    driver = trial.start()
    assert isinstance(driver.sink, IdempotentSink)
    markers = markers_of(driver.sink, driver.context)
    written = {part: PartMarker(1, driver.task(1, part).context.fingerprint) for part in range(2)}
    if markers not in (None, written):
        raise trial.error(
            f"last_markers() returns {short_repr(markers)}, and must return {written} or None"
        )


# -- two-phase sinks -------------------------------------------------------------------------------


def _staged(driver: Driver) -> list[Any]:
    return [driver.task(1, part).run() for part in range(2)]


def _crash_in_commit(places: _Places) -> None:
    trial, driver = _begun(places)
    for line in places.lines(driver.commit(1, _staged(driver))):
        trial, driver = _begun(places)
        driver.commit(1, _staged(driver), crash=line)
        driver.dies()
        again = trial.start(half=1)
        trial.check("after recover()", unless=again.key(1))
        again.epoch(1)
        trial.check("after epoch 1 is replayed")
        again.epoch(2)
        trial.check("after epoch 2")


def _crash_in_recover(places: _Places) -> None:
    trial, driver = _begun(places)
    commits = spread(driver.commit(1, _staged(driver)), 4)
    for line in commits:
        for later in spread(_half_committed(places, line)[1].recover(), places.kit.crashes // 2):
            trial, driver = _half_committed(places, line)
            driver.recover(crash=later)
            driver.dies()
            again = trial.start(half=1)
            trial.check("after recover() died, and ran again", unless=again.key(1))
            again.epoch(1)
            trial.check("after epoch 1 is replayed")


def _half_committed(places: _Places, line: int) -> tuple[Trial, Driver]:
    """A job that died in a commit, and the driver that is to recover it."""
    trial, driver = _begun(places)
    driver.commit(1, _staged(driver), crash=line)
    driver.dies()
    return trial, trial.driver(half=1)


def _a_zombie_driver(places: _Places) -> None:
    for epochs in (0, 1, 2):
        trial, zombie = _begun(places)
        staged = _staged(zombie)
        driver = trial.start()
        for epoch in range(1, epochs + 1):
            driver.epoch(epoch)
        zombie.tries_to_commit(1, staged)
        if epochs == 0:
            trial.check("after the zombie committed", unless=driver.key(1))
        for epoch in range(max(epochs, 1), 4):
            driver.epoch(epoch)
            trial.check(f"after epoch {epoch}")


def _taken_back(places: _Places) -> None:
    trial, _ = _with_four_epochs(places)
    for line in [None, *places.lines(trial.take_back(1))]:
        trial, driver = _with_four_epochs(places)
        driver.dies()
        if line is not None:
            trial.take_back(1, crash=line)
        for _ in range(2):
            trial.take_back(1)
            trial.check("after epochs 2 and 3 are taken back")
        driver = trial.start()
        for epoch in (2, 3):
            _Shifted(driver, 50).epoch(epoch)
            trial.check(f"after epoch {epoch} is written again, with other records")


def _with_four_epochs(places: _Places) -> tuple[Trial, Driver]:
    trial, driver = _begun(places)
    for epoch in (1, 2, 3):
        driver.epoch(epoch)
    return trial, driver


def _aborted(places: _Places) -> None:
    trial, driver = _begun(places)
    driver.abort(1, _staged(driver))
    trial.check("after the staged parts of epoch 1 are aborted")
    driver.dies()
    _go_on(trial)


_MARKER = (
    "records and marker belong in one transaction; the marker is keyed by context.key, and compared "
    "inside the transaction"
)
_OWN_PLACE = "a writer's place has context.attempt and context.task_attempt in its name"

_EVERY_SINK = (
    _Scenario("nothing fails", _nothing_fails, "write() and finish() lose nothing of any part"),
    _Scenario(
        "a task is lost", _a_task_is_lost, "nothing of a writer that was not finished may count"
    ),
    _Scenario(
        "the driver dies before the commit", _a_driver_dies, "the whole epoch is written again"
    ),
    _Scenario(
        "the epoch is committed and not logged",
        _committed_but_not_logged,
        "the same epoch comes again, with the same records: what is there already stays as it is",
    ),
    _Scenario(
        "a task dies in finish()", _crash_in_finish, f"finish() is all or nothing; {_MARKER}"
    ),
    _Scenario("two attempts of one task", _two_attempts, f"{_OWN_PLACE}; only staged parts count"),
    _Scenario(
        "a zombie task", _a_zombie_task, f"{_OWN_PLACE}; {_MARKER}; a marker never goes back"
    ),
    _Scenario(
        "another number of parts", _other_parts, "the next epoch may have more parts, or fewer"
    ),
    _Scenario(
        "neighbours in one place",
        _neighbours,
        "jobs and sinks have epochs of the same numbers: keep them apart by job_id and sink",
    ),
)
_IDEMPOTENT = (
    _Scenario(
        "replayed in other parts",
        _replayed_in_other_parts,
        "begin() returns the fingerprint that was kept with the marker",
    ),
    _Scenario(
        "the last epoch", _last_epoch, "last_epoch() asks for the markers of its job and sink"
    ),
)
_TWO_PHASE = (
    _Scenario(
        "the driver dies in commit()",
        _crash_in_commit,
        "one step makes the epoch count; recover() finishes what comes after it, and drops the rest",
    ),
    _Scenario(
        "the driver dies in recover()", _crash_in_recover, "recover() runs again from the beginning"
    ),
    _Scenario(
        "a zombie driver",
        _a_zombie_driver,
        "recover() takes from earlier attempts the right to commit; an epoch is committed once",
    ),
    _Scenario("epochs are taken back", _taken_back, "take_back() runs again, also after a crash"),
    _Scenario("an epoch is aborted", _aborted, "abort() removes staged parts only"),
)

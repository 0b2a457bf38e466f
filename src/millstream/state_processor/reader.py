"""Reading savepoints with DataFrames."""

from __future__ import annotations

import tempfile
import uuid
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from millstream.checkpoint.folder import CheckpointFolder, open_path
from millstream.checkpoint.key_types import key_types_of
from millstream.checkpoint.savepoints import Savepoint, described_states, distrust_of_savepoint
from millstream.checkpoint.trust import require_trusted, require_trusted_run
from millstream.common.errors import CheckpointError, PlanError, user_location
from millstream.common.paths import absolute_path
from millstream.kernel.snapshot.export import OperatorState
from millstream.kernel.snapshot.job import operator_states
from millstream.kernel.snapshot.tables import PANES, TIMERS, table_name
from millstream.kernel.state.info import BROADCAST
from millstream.spark.savepoint.take import take_offline
from millstream.state_processor.tasks import footer, read_frame
from millstream.state_processor.views import (
    TableView,
    View,
    count_values,
    quoted,
    refuse_untrusted_checkpoint,
    view_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOWS = "windows"


class SavepointReader:
    """The state in a savepoint, or in the checkpoint of a job, as DataFrames.

    Make one with `read`. Of a checkpoint directory, also that of a running job, the last committed epoch
    is read: a temporary savepoint is made of it, which is there until the reader is closed. Use it as a
    context manager then.

    Examples
    --------
    >>> from millstream.state_processor import SavepointReader
    >>> SavepointReader.read(None, "/there/is/none")
    Traceback (most recent call last):
    ...
    millstream.common.errors.CheckpointError: [NO_SAVEPOINT] /there/is/none is no savepoint: ...
    """

    def __init__(self, spark: SparkSession, savepoint: Savepoint, *, trusted: bool = True) -> None:
        self._spark = spark
        self._trusted = trusted
        self.savepoint = savepoint
        self._remove: Any = lambda: None

    @staticmethod
    def read(spark: SparkSession, path: str, trusted: bool | None = None) -> SavepointReader:
        """Open a savepoint.

        Parameters
        ----------
        spark : SparkSession
            Where DataFrames are made.
        path : str
            The folder of a savepoint, a folder with one savepoint in it, a checkpoint directory, or one
            of its runs.
        trusted : bool, optional
            Whether to unpickle values. Who could write to the folder could let this process run any
            code. By default a folder of this machine is trusted if it belongs to you or to root and
            nobody else can write to it; elsewhere access rights decide, and it is trusted. If it is
            not trusted, pickled values have no text (``value_repr`` is null, and a warning says
            how many there are), a state of which every value is pickled is refused, and so is a
            checkpoint directory, where everything is pickled.
        """
        path = absolute_path(path)
        try:
            savepoint = Savepoint.load(path)
            if trusted is None:
                trusted = distrust_of_savepoint(savepoint.path) is None
            return SavepointReader(spark, savepoint, trusted=trusted)
        except CheckpointError as error:
            if error.code != "NO_SAVEPOINT" or not _is_checkpoint(path):
                error.location = user_location()
                raise
        if trusted is None:
            require_trusted(path, f"the checkpoint {path}")
            require_trusted_run(CheckpointFolder.read_run(path)[0].path)
        elif not trusted:
            raise refuse_untrusted_checkpoint(path)
        folder = _temporary_folder(path)
        try:
            taken = take_offline(spark, path, folder, only_to_read=True)
            reader = SavepointReader(spark, Savepoint.load(taken), trusted=True)
        except BaseException:
            _delete(folder)
            raise
        # A reader that nobody closes leaves nothing behind either.
        reader._remove = weakref.finalize(reader, _delete, folder)
        return reader

    def close(self) -> None:
        """Remove the temporary savepoint of a checkpoint; its DataFrames cannot be read any more."""
        self._remove()

    def __enter__(self) -> SavepointReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what there is ---------------------------------------------------------------------------

    def operators(self) -> list[dict[str, Any]]:
        """The operators, each with uid, kind, name and states; states have name, kind, type, rows."""
        return [
            {
                "uid": uid,
                "kind": operator.get("kind"),
                "name": operator.get("name"),
                "states": described_states(self.savepoint, uid),
            }
            for uid, operator in self.savepoint.operators.items()
        ]

    @cached_property
    def _operators(self) -> dict[str, OperatorState]:
        key_types = key_types_of(self.savepoint.operators)
        return operator_states(self.savepoint.states, key_types)  # type: ignore[arg-type]

    def _operator(self, uid: str) -> OperatorState:
        operator = self._operators.get(uid)
        if operator is None:
            known = ", ".join(map(repr, self._operators)) or "none"
            raise CheckpointError(
                "NO_SUCH_OPERATOR",
                f"the savepoint has no operator {uid!r}; it has {known}",
                location=user_location(),
            )
        return operator

    # -- DataFrames ------------------------------------------------------------------------------

    def state(self, uid: str, name: str) -> DataFrame:
        """Any state by the name that `operators` gives it: also ``timers`` and ``broadcast/rules``."""
        if self.savepoint.table(uid, name) is None:
            name = table_name(name)
        return self._frame(uid, name)

    def keyed_state(self, uid: str, name: str, *, collect: bool = False) -> DataFrame:
        """The state of keys under the name of its descriptor.

        The columns are ``key`` and ``value``; of a list ``key``, ``position``, ``value``; of a map
        ``key``, ``map_key``, ``value``. With a time to live there is ``last_used``. A key or value that
        has no column of its own type has ``value_repr``, its text, and the stored columns, such as
        ``value_pickled``. The ``windows`` of a window operator are those of `window_state`.

        Parameters
        ----------
        uid, name : str
            The operator and its state.
        collect : bool
            Give a row for each key, with an array of the elements of its list.
        """
        frame = self._frame(uid, table_name(name))
        return self._collected(frame, uid, name) if collect else frame

    def timers(self, uid: str) -> DataFrame:
        """The timers: ``key``, ``time`` in milliseconds, ``domain``, which is event or processing."""
        return self._frame(uid, TIMERS)

    def window_state(self, uid: str) -> DataFrame:
        """The windows of keys, as far as they are not kept by column; see `panes`.

        ``key``, ``window_start`` and ``window_end`` in milliseconds, ``window``, ``content`` and
        ``state``, the last three as text.
        """
        return self._frame(uid, WINDOWS)

    def panes(self, uid: str) -> DataFrame:
        """Records that wait for their windows, where these are kept by column.

        ``pane`` is the part of time that they belong to; ``field_0`` and so on are their fields, or
        those of partial results.
        """
        return self._frame(uid, PANES)

    def broadcast_state(self, uid: str, name: str) -> DataFrame:
        """Broadcast state: ``map_key`` and ``value``."""
        return self._frame(uid, f"{BROADCAST}/{name}")

    def _frame(self, uid: str, name: str) -> DataFrame:
        table = self.savepoint.table(uid, name)
        return read_frame(self._spark, self.savepoint, table, self.view(uid, name))

    def view(self, uid: str, name: str) -> View:
        """How a table is shown."""
        operator = self._operator(uid)
        table = self.savepoint.table(uid, name)
        known = name == TIMERS or any(table_name(state) == name for state in operator.states)
        if table is None and not known:
            raise self._no_such_state(uid, name)
        counts: dict[str, int] = {}
        schema = None
        files = () if table is None else table.files
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(lambda file: footer(self.savepoint, file), files):
                count_values(found, counts)
                schema = found.schema
        stored = None if schema is None else schema.to_arrow_schema()
        view = view_of(operator, name, counts, stored, trusted=self._trusted)
        if not self._trusted and isinstance(view, TableView):
            pickled = sum(field.pickled for field in view.fields)
            if pickled:
                message = (
                    f"{pickled} keys and values of state {name!r} of operator {uid!r} are pickled"
                )
                warnings.warn(f"{message}; they are not read", stacklevel=4)
        return view

    def _no_such_state(self, uid: str, name: str) -> CheckpointError:
        tables = [table.state for table in self.savepoint.tables if table.uid == uid]
        return CheckpointError(
            "NO_SUCH_STATE",
            f"operator {uid!r} has no state {name!r}; it has "
            f"{', '.join(map(repr, tables)) or 'none'}",
            location=user_location(),
        )

    def _collected(self, frame: DataFrame, uid: str, name: str) -> DataFrame:
        columns = frame.columns
        if "position" not in columns:
            raise PlanError(
                "NOT_A_LIST",
                f"state {name!r} of operator {uid!r} is no list, so there is nothing to collect",
                location=user_location(),
            )
        place = columns.index("position")
        keys = ", ".join(map(quoted, columns[:place]))
        values = [name for name in columns[place + 1 :] if name != "last_used"]
        item = (
            "x.value" if values == ["value"] else f"struct({', '.join(f'x.{v}' for v in values)})"
        )
        order = "(a, b) -> cast(sign(a.position - b.position) as int)"
        rows = f"array_sort(collect_list(struct(position, {', '.join(values)})), {order})"
        query = (
            f"select {keys}, transform({rows}, x -> {item}) as value from {{rows}} group by {keys}"
        )
        return self._spark.sql(query, rows=frame)


def _is_checkpoint(path: str) -> bool:
    try:
        CheckpointFolder.read_run(path)
    except CheckpointError as error:
        return error.code != "NO_CHECKPOINT"
    return True


def _temporary_folder(path: str) -> str:
    """Where tasks can write as well as read: beside the checkpoint, unless that is on this machine."""
    run, _ = CheckpointFolder.read_run(path)
    if run.is_local:
        return tempfile.mkdtemp(prefix="millstream-state-")
    return f"{run.path}/reading-{uuid.uuid4().hex}"


def _delete(folder: str) -> None:
    fs, inner = open_path(folder)
    with suppress(FileNotFoundError):
        fs.delete_dir(inner)

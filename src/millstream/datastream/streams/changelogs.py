"""Streams of changes: rows that are added, and rows that are taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from millstream.common.type_variables import T
from millstream.datastream.building.operator_settings import StreamSettings
from millstream.datastream.building.stream_types import declared_type
from millstream.plan.graph import StatelessNode

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.datastream.streams.data_stream import DataStream

__all__ = ["ChangelogMethods"]


class ChangelogMethods(StreamSettings, Generic[T]):
    """The changelogs of a `DataStream`."""

    def changelog(self, output_type: TypeLike[T] | None = None) -> DataStream[T]:
        """Read rows as changes of a table: by their kind they are added, or taken back.

        Rows of kind INSERT and UPDATE_AFTER count once, those of kind UPDATE_BEFORE and DELETE are
        taken back. ``map``, ``filter`` and ``flat_map`` see the rows without their kind. Counts, and
        sums and averages of ``summarize``, over windows that are computed by column take rows back;
        sinks get them as rows of kind DELETE. Every other operator fails when the first row is taken
        back.

        Parameters
        ----------
        output_type
            The type of the rows, see `map`; by default that of this stream.

        Examples
        --------
        >>> from millstream.common import Row, RowKind, Types
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> rows = [Row("ada", 3), Row.of_kind(RowKind.DELETE, "ada", 3)]
        >>> env.from_collection(rows).changelog(Types.ROW([Types.STRING(), Types.LONG()]))
        DataStream(Changelog: ROW(STRING, LONG))
        """
        declared = None if output_type is None else declared_type(output_type)
        return self._env._stream(
            StatelessNode,
            name="Changelog",
            inputs=(self._id,),
            kind="changelog",
            function=None,
            output_type=declared or self._node.output_type,
        )

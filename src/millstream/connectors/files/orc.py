"""ORC files: columns in stripes, of which a fragment has those that begin in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from millstream.connectors.files.columns import Column
from millstream.connectors.files.opening import Fragment, opened
from millstream.connectors.files.parquet import parts_of_range
from millstream.connectors.files.stored import fitting, places_of, unreadable


@dataclass(frozen=True)
class OrcReader:
    """Reads some columns of ORC files."""

    by_ranges = True

    columns: tuple[Column, ...]
    case_sensitive: bool = False

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The rows of the stripes that begin in a fragment."""
        from pyarrow.orc import ORCFile

        with opened(fragment.path) as file:
            try:
                orc = ORCFile(file)
                names = orc.schema.names
                places = places_of(
                    self.columns, names, fragment.path, case_sensitive=self.case_sensitive
                )
                wanted = sorted({names[place] for place in places if place is not None})
                for stripe in parts_of_range(orc.nstripes, file.size(), fragment):
                    batch = orc.read_stripe(stripe, wanted)
                    yield [
                        pa.nulls(len(batch), column.arrow)
                        if place is None
                        else fitting(batch.column(names[place]), column, fragment.path)
                        for column, place in zip(self.columns, places, strict=True)
                    ]
            except (pa.ArrowInvalid, OSError) as error:
                raise unreadable(fragment.path, str(error)) from error

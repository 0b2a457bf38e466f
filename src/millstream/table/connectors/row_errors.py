"""The error of data that do not fit a table."""

from __future__ import annotations

from millstream.common.errors import FormatError

__all__ = ["RowError"]

_LENIENT = {
    "JSON_ROW": "'json.ignore-parse-errors' = 'true'",
    "CSV_ROW": "'csv.ignore-parse-errors' = 'true'",
    "CHANGE_ROW": "'ignore-parse-errors' = 'true' behind the name of the format and a point",
}


class RowError(FormatError):
    """A message that is no row of its table. It shows no lines of Python: they say nothing of it.

    Examples
    --------
    >>> RowError("RAW_ROW", "'x' is no INT").what_to_do
    'correct the columns of the table, or the data'
    """

    explains_itself = True

    @property
    def what_to_do(self) -> str:
        """The hint of the error."""
        if self.hint:
            return self.hint
        lenient = _LENIENT.get(self.code)
        also = f"; {lenient} in WITH (...) goes on without what does not fit" if lenient else ""
        return f"correct the columns of the table, or the data{also}"

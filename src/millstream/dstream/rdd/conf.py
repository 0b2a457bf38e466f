"""The configuration of a context, with the methods that programs know from PySpark."""

from __future__ import annotations

__all__ = ["Conf"]


class Conf(dict[str, str]):
    """A dictionary of options, with the methods of PySpark's ``SparkConf`` that read it.

    Examples
    --------
    >>> conf = Conf({"spark.app.name": "words"})
    >>> conf.get("spark.app.name"), conf.contains("spark.master"), conf.getAll()
    ('words', False, [('spark.app.name', 'words')])
    """

    def contains(self, key: str) -> bool:
        """Whether an option is set."""
        return key in self

    def getAll(self) -> list[tuple[str, str]]:
        """All options."""
        return list(self.items())

    def toDebugString(self) -> str:
        """The options as lines, in the order of their names."""
        return "\n".join(f"{key}={value}" for key, value in sorted(self.items()))

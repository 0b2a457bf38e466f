"""Tables of databases as sinks, sources and lookups: SQLite, PostgreSQL, MySQL and MariaDB."""

from millstream.connectors.databases.database import Database
from millstream.connectors.databases.errors import DatabaseError
from millstream.connectors.databases.sink import DatabaseSink
from millstream.connectors.databases.source import DatabaseSource

__all__ = ["Database", "DatabaseError", "DatabaseSink", "DatabaseSource"]

"""Changes of a customer table, as a database reports them, kept as a Delta table.

Each change has an operation (c: created, u: updated, d: deleted), the key, and the row after it. They
become rows of a changelog, and the sink merges the changes of an epoch into the table in one commit:
rows with a known key are replaced, rows of kind DELETE are deleted. If the job dies and starts again, no
change is applied twice.

Prints:
    ada   Turin   7
    cyn   Bern    2
"""

import tempfile

from millstream.common import Row, RowKind, Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGeneratorSource,
    DeltaSink,
    DeltaSource,
    RateLimiterStrategy,
)

CHANGES = [
    ("c", "ada", "London", 1),
    ("c", "bob", "Rome", 4),
    ("c", "cyn", "Bern", 2),
    ("u", "ada", "Turin", 1),
    ("d", "bob", None, None),
    ("u", "ada", "Turin", 7),
]
KINDS = {"c": RowKind.INSERT, "u": RowKind.UPDATE_AFTER, "d": RowKind.DELETE}
CUSTOMER = Types.ROW_NAMED(
    ["name", "city", "orders"], [Types.STRING(), Types.STRING(), Types.LONG()]
)


def change(number):
    operation, *values = CHANGES[number]
    row = Row.of_kind(KINDS[operation], *values)
    row.set_field_names(["name", "city", "orders"])
    return row


def keep(table, checkpoint):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_checkpoint_directory(checkpoint)
    two_per_epoch = RateLimiterStrategy.per_checkpoint(2)
    source = DataGeneratorSource(change, len(CHANGES), two_per_epoch)
    changes = env.from_source(source, WatermarkStrategy.no_watermarks(), "changes").uid("changes")
    customers = changes.changelog(CUSTOMER).uid("customers")
    customers.sink_to(DeltaSink.upsert(table, keys=["name"])).uid("table")
    env.execute("customers")


def show(table):
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DeltaSource.of(table)
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "customers")
    with rows.execute_and_collect() as found:
        for row in sorted(found, key=lambda row: row.name):
            print(f"{row.name:5} {row.city:7} {row.orders}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        keep(f"{folder}/customers", f"{folder}/checkpoint")
        show(f"{folder}/customers")

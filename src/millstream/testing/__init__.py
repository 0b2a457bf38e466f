"""Testing programs in milliseconds: no JVM, hand-driven time, epochs cut as you like.

=================================== ================================================================
`run_local`                         runs a whole program in memory
`in_memory`                         jobs of a program, tables too, run in memory inside a block
`MemoryTables`                      what such jobs have written into tables
`rebatch`                           runs it under many schedules; the results must not differ
`collect`, `CollectSink`            keep a stream's records for the test
`TestSource`                        elements with marks: watermarks, crashes, ends
`KeyedProcessHarness`               runs one function, with time moved by hand
`KeyedTwoInputHarness`              the same for functions of connected streams
`ProcessHarness`                    the same for functions without a key
=================================== ================================================================
"""

from millstream.connectors.memory_tables import MemoryTables
from millstream.testing.engine.local import LocalJob
from millstream.testing.engine.marks import AbortError
from millstream.testing.engine.records import StreamRecord
from millstream.testing.harness import KeyedProcessHarness, ProcessHarness
from millstream.testing.memory import in_memory
from millstream.testing.rebatching import RebatchReport, rebatch
from millstream.testing.results import Checkpoint, Results
from millstream.testing.runner import run_local
from millstream.testing.schedules import Schedule
from millstream.testing.sinks import Collected, CollectSink, collect
from millstream.testing.sources import TestSource
from millstream.testing.two_input_harness import KeyedTwoInputHarness

__all__ = [
    "AbortError",
    "Checkpoint",
    "CollectSink",
    "Collected",
    "KeyedProcessHarness",
    "KeyedTwoInputHarness",
    "LocalJob",
    "MemoryTables",
    "ProcessHarness",
    "RebatchReport",
    "Results",
    "Schedule",
    "StreamRecord",
    "TestSource",
    "collect",
    "in_memory",
    "rebatch",
    "run_local",
]

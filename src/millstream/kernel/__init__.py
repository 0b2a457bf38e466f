"""The semantics of Millstream, in plain Python: records, buffers, clocks, timers, state, operators.

Nothing here knows Spark. Spark streaming, Spark batch and the in-memory test harness run the same
code; see ``docs/internals/kernel.md``.
"""

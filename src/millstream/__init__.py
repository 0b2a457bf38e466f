"""Apache Flink's programming model for Python, running on Apache Spark.

The names that most programs need are here, so that ``import millstream as ms`` is enough:

>>> import millstream as ms
>>> env = ms.StreamExecutionEnvironment.get_execution_environment()
>>> env.from_collection(["a", "b"]).map(str.upper, ms.Types.STRING()).get_type()
STRING

All names are where PyFlink has them, too: ``millstream.datastream``, ``millstream.common`` and their
modules.

Importing this package is cheap: it loads neither PySpark nor pandas and starts no JVM. A name loads
its module when it is used for the first time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.missing_modules import explain_missing_modules

if TYPE_CHECKING:
    from millstream.common.errors import MillstreamError
    from millstream.common.output_tag import OutputTag
    from millstream.common.state import (
        ListStateDescriptor,
        MapStateDescriptor,
        StateTtlConfig,
        ValueStateDescriptor,
    )
    from millstream.common.typeinfo import Types
    from millstream.common.types import Row
    from millstream.common.watermark_strategy import WatermarkStrategy
    from millstream.datastream.connectors.file_system import FileSink, FileSource
    from millstream.datastream.functions import (
        AggregateFunction,
        FlatMapFunction,
        KeyedCoProcessFunction,
        KeyedProcessFunction,
        MapFunction,
        ProcessFunction,
        ProcessWindowFunction,
        ReduceFunction,
        RuntimeContext,
    )
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
    from millstream.datastream.streams.data_stream import DataStream, KeyedStream
    from millstream.datastream.window import (
        EventTimeSessionWindows,
        SlidingEventTimeWindows,
        TimeWindow,
        TumblingEventTimeWindows,
    )

__all__ = [
    "AggregateFunction",
    "DataStream",
    "EventTimeSessionWindows",
    "FileSink",
    "FileSource",
    "FlatMapFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "ListStateDescriptor",
    "MapFunction",
    "MapStateDescriptor",
    "MillstreamError",
    "OutputTag",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "Row",
    "RuntimeContext",
    "SlidingEventTimeWindows",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "TimeWindow",
    "TumblingEventTimeWindows",
    "Types",
    "ValueStateDescriptor",
    "WatermarkStrategy",
    "__version__",
]

__version__ = "0.1.0"

# Where names come from that millstream.datastream itself does not have.
_MODULES = {
    "EventTimeSessionWindows": "datastream.window",
    "FileSink": "datastream.connectors.file_system",
    "FileSource": "datastream.connectors.file_system",
    "ListStateDescriptor": "datastream.state",
    "MapStateDescriptor": "datastream.state",
    "MillstreamError": "common.errors",
    "Row": "common",
    "SlidingEventTimeWindows": "datastream.window",
    "StateTtlConfig": "datastream.state",
    "TumblingEventTimeWindows": "datastream.window",
    "Types": "common",
    "ValueStateDescriptor": "datastream.state",
    "WatermarkStrategy": "common",
}

if not TYPE_CHECKING:  # With this function, a type checker would accept any name.

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'datastream')}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


explain_missing_modules()

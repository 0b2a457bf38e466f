"""The vocabulary of all programs: types, rows, time, watermarks, configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.absent import missing_name
from millstream.common.completable_future import CompletableFuture
from millstream.common.config_options import ConfigOption, ConfigOptions
from millstream.common.configuration import Configuration
from millstream.common.dead_letter import DeadLetter
from millstream.common.execution_config import ExecutionConfig
from millstream.common.input_dependency_constraint import InputDependencyConstraint
from millstream.common.job import JobExecutionResult, JobID, JobStatus
from millstream.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millstream.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from millstream.common.serializer import TypeSerializer
from millstream.common.time import Duration, Instant, Time
from millstream.common.type_aliases import DurationLike, TypeLike
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.types import Row, RowKind
from millstream.common.watermark_strategy import WatermarkStrategy

if TYPE_CHECKING:
    from millstream.common.job_client import JobClient

__all__ = [
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeadLetter",
    "DeserializationSchema",
    "Duration",
    "DurationLike",
    "Encoder",
    "ExecutionConfig",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowFieldExtractorSchema",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TypeInformation",
    "TypeLike",
    "TypeSerializer",
    "Types",
    "WatermarkStrategy",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "JobClient":
            from millstream.common.job_client import JobClient

            return JobClient
        return missing_name(__name__)(name)

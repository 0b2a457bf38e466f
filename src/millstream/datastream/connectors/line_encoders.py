"""From what users give as an encoder to a function from a record to its line of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.serialization import Encoder
from millstream.common.typeinfo import TypeInformation

__all__ = ["LineEncoder", "line_encoder"]


def line_encoder(encoder: Any) -> Callable[[Any], str] | None:
    """Return the function that makes a line of a record, None for ``str``."""
    if encoder is None or (callable(encoder) and not isinstance(encoder, Encoder)):
        return encoder
    for method in ("encode", "serialize"):
        if hasattr(encoder, method):
            return LineEncoder(encoder, method)
    raise PlanError(
        "BAD_ENCODER",
        f"an encoder makes a line of a record, got {short_repr(encoder)}",
        location=user_location(),
        hint="give a function such as str, or Encoder.simple_string_encoder()",
    )


@dataclass(frozen=True)
class LineEncoder:
    """Makes a line of text of what Flink's encoders and serialization schemas give: bytes."""

    encoder: Any
    method: str

    def __post_init__(self) -> None:
        try:
            self("\u00e9")
        except UnicodeDecodeError:
            raise PlanError(
                "CHARSET",
                f"text files are written as UTF-8, not as {self.encoder!r} encodes",
                location=user_location(),
                hint="use an encoder for UTF-8",
            ) from None
        except Exception:  # it may be made for records, not for text
            pass

    def of_type(self, type_info: TypeInformation | None) -> LineEncoder:
        """The same for records of a type."""
        if not isinstance(self.encoder, Encoder):
            return self
        return LineEncoder(self.encoder.of_type(type_info), self.method)

    def __call__(self, value: Any) -> str:
        data = getattr(self.encoder, self.method)(value)
        text = data.decode() if isinstance(data, bytes) else data
        return str(text).removesuffix("\n")

"""OnlineStandardScaler: a standard scaler that learns from a stream."""

from __future__ import annotations

from millstream.ml.online.standard_scaler import OnlineStandardScaler, OnlineStandardScalerModel

__all__ = ["OnlineStandardScaler", "OnlineStandardScalerModel"]

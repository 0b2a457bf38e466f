"""Models, which are not here."""

from __future__ import annotations

from millstream.table.environment.absent import MODELS, absent

__all__ = ["ModelDescriptor"]

ModelDescriptor = absent(__name__, "ModelDescriptor", MODELS)

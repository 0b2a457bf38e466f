"""Inputs of a streaming context: where the records of its batches come from."""

from millstream.dstream.inputs.base import Input, InputSite

__all__ = ["Input", "InputSite"]

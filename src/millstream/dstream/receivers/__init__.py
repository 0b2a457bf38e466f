"""Receivers: classes of the program that get records from outside."""

from millstream.dstream.receivers.receiver import Receiver

__all__ = ["Receiver"]

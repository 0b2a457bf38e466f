"""The clocks and timers that a process function sees."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Reads the clocks and sets timers; all times are milliseconds since 1970.

    A timer belongs to the current key. Registering the same time twice gives one timer. A timer
    at or before the clock fires right after the call that registered it. ``on_timer`` calls come
    in the order of their times, and within ``on_timer`` the watermark reads the timer's own time.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the timestamp of the epoch, the same for all its records."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the watermark: no record with a smaller or equal time is expected any more."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` in the first epoch whose timestamp is at or past this time."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark reaches this time."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Take a timer back; nothing happens if there is none at this time."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Take a timer back; nothing happens if there is none at this time."""

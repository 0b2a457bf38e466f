"""PyFlink's names for RabbitMQ: an error says what to use instead."""

from __future__ import annotations

from millstream.datastream.connectors.absent import absent_name

__getattr__ = absent_name(__name__)

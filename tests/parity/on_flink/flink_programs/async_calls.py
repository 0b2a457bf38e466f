"""Asynchronous functions."""

import asyncio

from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream
from pyflink.datastream.functions import AsyncFunction

from flink_programs.shared import RISING, Times


class Lookup(AsyncFunction):
    """No, one or two results; the earlier ones take longer."""

    async def async_invoke(self, value):
        await asyncio.sleep(0.001 * (10 - value[1]))
        return [(value[0], value[1], n) for n in range(value[1] % 3)]


def async_ordered(env, timed):
    return AsyncDataStream.ordered_wait(timed(RISING), Lookup(), Time.seconds(60), 4)


def async_unordered(env, timed):
    return AsyncDataStream.unordered_wait(timed(RISING), Lookup(), Time.seconds(60), 4)


def async_keeps_times(env, timed):
    pair = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    found = AsyncDataStream.ordered_wait(timed(RISING), Lookup(), Time.seconds(60), 2, pair)
    return found.process(Times())

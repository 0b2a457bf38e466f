"""Methods of a streaming context that make the streams of its inputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millstream.dstream.inputs.base import Input
from millstream.dstream.inputs.queue import QueueInput
from millstream.dstream.rdd import SparkContext

if TYPE_CHECKING:
    from millstream.dstream.streams import DStream

__all__ = ["InputMethods"]


class InputMethods:
    """Methods of a streaming context that make the streams of its inputs."""

    _rdds: SparkContext

    @abstractmethod
    def _add_input(self, source: Input[Any]) -> DStream[Any]:
        """The stream of an input."""

    def queueStream(
        self, rdds: Sequence[Any], oneAtATime: bool = True, default: Any = None
    ) -> DStream[Any]:
        """A stream of RDDs, or lists, that are known before the start.

        Each batch gets the next one, or with ``oneAtATime=False`` the first batch all of them. When they
        are used up, batches get ``default``, or are empty.

        Examples
        --------
        >>> from millstream.dstream import ManualClock, StreamingContext
        >>> clock = ManualClock()
        >>> ssc = StreamingContext(None, 1, clock=clock)
        >>> ssc.queueStream([[1], [2]], default=[0]).foreachRDD(lambda rdd: print(rdd.collect()))
        >>> ssc.start()
        >>> clock.advance(3)
        [1]
        [2]
        [0]
        >>> ssc.stop()
        """
        context = self._rdds
        queue = [context.as_rdd(each) for each in rdds]
        last = None if default is None else context.as_rdd(default)
        return self._add_input(QueueInput(queue, oneAtATime, last))

"""Methods of a streaming context that make the streams of its inputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from millstream.dstream.inputs.base import Input
from millstream.dstream.inputs.files import FileInput, fixed_records, is_not_hidden, text_records
from millstream.dstream.inputs.queue import QueueInput
from millstream.dstream.inputs.received import ReceivedInput
from millstream.dstream.rdd import SparkContext, StorageLevel
from millstream.dstream.receivers.receiver import Receiver
from millstream.dstream.receivers.sockets import SocketReceiver, lines_of

if TYPE_CHECKING:
    from millstream.dstream.clock import Clock
    from millstream.dstream.streams import DStream

__all__ = ["InputMethods"]


class InputMethods:
    """Methods of a streaming context that make the streams of its inputs."""

    _rdds: SparkContext
    _clock: Clock

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

    def socketTextStream(
        self, hostname: str, port: int, storageLevel: Any = StorageLevel.MEMORY_AND_DISK_2
    ) -> DStream[str]:
        """A stream of the lines of text, in UTF-8, that a server sends.

        A connection that ends is made again after a while. A socket sends nothing twice: what a crash
        finds neither in a batch nor in the write-ahead log is lost, as in Spark.
        """
        return self.socketStream(hostname, port, lines_of, storageLevel)

    def socketStream(
        self,
        hostname: str,
        port: int,
        converter: Callable[[BinaryIO], Iterable[Any]],
        storageLevel: Any = StorageLevel.MEMORY_AND_DISK_2,
    ) -> DStream[Any]:
        """A stream of what a function makes of the bytes that a server sends.

        Parameters
        ----------
        hostname, port
            The server.
        converter
            Makes an iterable of records of a binary file object, and reads as the bytes come.
        storageLevel
            Accepted as in Spark.
        """
        return self.receiverStream(SocketReceiver(hostname, port, converter, storageLevel))

    def receiverStream(self, receiver: Receiver) -> DStream[Any]:
        """A stream of what a `Receiver` stores. With a checkpoint it goes through a write-ahead log."""
        return self._add_input(ReceivedInput(receiver, self._rdds.getConf()))

    def textFileStream(self, directory: str) -> DStream[str]:
        """A stream of the lines of files that are new in a folder: see `fileStream`."""
        return self.fileStream(directory)

    def binaryRecordsStream(self, directory: str, recordLength: int) -> DStream[bytes]:
        """A stream of records of a fixed length, of files that are new in a folder: see `fileStream`."""
        return self.fileStream(directory, reader=fixed_records(recordLength))

    def fileStream(
        self,
        directory: str,
        filter: Callable[[str], bool] | None = None,
        newFilesOnly: bool = True,
        reader: Callable[[bytes], Iterable[Any]] = text_records,
    ) -> DStream[Any]:
        """A stream of the records of files that are new in a folder; one partition for each file.

        A batch has the files that were changed before its end, and after the context was made. Move
        files into the folder when they are complete: a path is read once, up to its size at that time.

        Parameters
        ----------
        directory
            The folder, or a pattern such as ``logs/2024-*`` for several ones.
        filter
            Whether a path is read; by default if the name of the file does not begin with a dot.
        newFilesOnly
            False: files that are there already are read, too, if they are not older than
            ``spark.streaming.fileStream.minRememberDuration``, which is a minute.
        reader
            Makes an iterable of records of the bytes of a file; by default lines of text in UTF-8.
        """
        source = FileInput(
            directory,
            reader,
            filter or is_not_hidden,
            newFilesOnly,
            self._clock.now_ms(),
            self._rdds.getConf(),
        )
        return self._add_input(source)

"""The fault-tolerant word counter: it is killed in the middle, restarted, and checked.

The demo runs the counter in a process of its own and watches the folder the counter writes to, as
any other reader would. After some epochs it kills that process with SIGKILL, Spark's JVM included,
and starts the same program again. The program goes on from its checkpoint. When it has ended, the
demo counts the same words in plain Python and compares.

    python examples/demo.py [--words 60000] [--per-epoch 5000] [--kill-after 4]
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Protocol

TIMEOUT_SECONDS = 900
POLL_SECONDS = 0.01
SHOWN_WORDS = 8

# -- the words: a function of their number, so that a replay finds the same ones -------------------

SEED = 2011
# fmt: off
WORDS = [
    "water", "wheel", "river", "stone", "grain", "flour", "turns", "slow", "night", "rain",
    "miller", "sack", "field", "bread", "weir", "gate", "spring", "barley", "oat", "rye", "cart",
    "horse", "roof", "beam", "gear", "shaft", "trough", "pond", "reed", "heron", "mist", "moss",
    "dawn",
]
# fmt: on
_SHARES = list(accumulate(1 / rank for rank in range(1, len(WORDS) + 1)))


def word_of(number: int) -> str:
    """The word with this number; common words come first in WORDS."""
    draw = zlib.crc32(f"{SEED}:{number}".encode()) / 2**32
    return WORDS[bisect(_SHARES, draw * _SHARES[-1])]


# -- the job: this is all that runs on Spark -------------------------------------------------------


def count_words(folder: Path, words: int, per_epoch: int) -> None:
    """Count the words; the checkpoint and the counts go into the folder."""
    from millstream.common import Types, WatermarkStrategy
    from millstream.datastream import (
        KeyedProcessFunction,
        RuntimeExecutionMode,
        StreamExecutionEnvironment,
    )
    from millstream.datastream.connectors import (
        DataGeneratorSource,
        FileSink,
        RateLimiterStrategy,
    )
    from millstream.datastream.state import ValueStateDescriptor

    class CountWords(KeyedProcessFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, word, ctx):
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield word, count

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_parallelism(2)
    env.set_checkpoint_directory(str(folder / "checkpoint"))

    limit = RateLimiterStrategy.per_checkpoint(per_epoch)
    source = DataGeneratorSource(word_of, words, limit, parts=2)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "words").uid("words")
    counts = stream.key_by(lambda word: word).process(
        CountWords(), output_type=Types.TUPLE([Types.STRING(), Types.LONG()])
    )
    counts.uid("count").sink_to(FileSink.csv(str(folder / "counts"), header=False)).uid("counts")
    env.execute("word counter")


# -- the reader: the committed files of the counter ------------------------------------------------


class Counted(Protocol):
    """What a reader has seen of the counts so far, wherever they are written to."""

    latest: Counter[str]

    def refresh(self) -> bool:
        """Read what is new; whether there was anything."""

    @property
    def progress(self) -> str:
        """How far the counter is."""


class Tally:
    """What the files in the folder say so far. A file is read once: it never changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[tuple[str, int]] = []
        self.latest: Counter[str] = Counter()
        self.epochs: set[int] = set()
        self._read: set[str] = set()

    def refresh(self) -> bool:
        """Read new files; whether there were any."""
        new = [
            path for path in sorted(self.folder.glob("part-*.csv")) if path.name not in self._read
        ]
        for path in new:
            with path.open(newline="", encoding="utf-8") as file:
                found = [(word, int(count)) for word, count in csv.reader(file)]
            self.rows += found
            for word, count in found:
                self.latest[word] = max(self.latest[word], count)
            self.epochs.add(int(path.stem.split("-")[-2]))
            self._read.add(path.name)
        return bool(new)

    def staged(self) -> list[Path]:
        """The files that tasks have written and no epoch has committed."""
        return list(self.folder.glob("_millstream/*/staging/*/*"))

    @property
    def progress(self) -> str:
        """How far the counter is."""
        return f"epoch {max(self.epochs):>3}   {sum(self.latest.values()):>9,}"


# -- the terminal ----------------------------------------------------------------------------------


class Screen:
    """A chart that is drawn over itself on a terminal; one line per epoch elsewhere."""

    def __init__(self, words: int) -> None:
        self.words = words
        self.live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        encoding = (sys.stdout.encoding or "").lower()
        self.block = "\u2588" if encoding.startswith("utf") else "#"
        self._drawn = 0
        self._waited = 0

    def style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.live else text

    def section(self, number: int, title: str, *lines: str) -> None:
        self._drawn = 0
        print(f"\n{self.style('1', f'{number}. {title}')}")
        self.say(*lines)

    def say(self, *lines: str) -> None:
        self._drawn = 0
        for line in lines:
            print(f"   {line}".rstrip(), flush=True)

    def wait(self, seconds: float) -> None:
        """Show that something is going on before there is anything to show."""
        if self.live and int(seconds) != self._waited:
            self._waited = int(seconds)
            print(f"\r   starting Spark ... {self._waited} s", end="", flush=True)

    def show(self, progress: str, counts: Counter[str]) -> None:
        """Draw how far the counter is, and the largest counts."""
        epoch = f"{progress} of {self.words:,} words counted"
        top = counts.most_common(SHOWN_WORDS)
        if not self.live:
            best = ", ".join(f"{word} {count:,}" for word, count in top[:3])
            print(f"   {epoch}   {best}", flush=True)
            return
        room = max(10, min(60, shutil.get_terminal_size().columns - 30))
        largest = max(count for _, count in top)
        bars = [
            f"   {word:<8}{count:>8,} "
            + self.style("34", self.block * max(1, room * count // largest))
            for word, count in top
        ]
        if self._drawn:
            print(f"\x1b[{self._drawn}F\x1b[J", end="")
        else:
            print("\r\x1b[K", end="")
        print("\n".join([f"   {self.style('32', epoch)}", *bars]), flush=True)
        self._drawn = 1 + len(bars)


# -- the demo --------------------------------------------------------------------------------------


class DemoError(Exception):
    """Something that should not happen; the message says what."""


@contextmanager
def process_in(folder: Path, script: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A Python script, with its arguments, as a process; nothing of it is left afterwards."""
    command = [sys.executable, *script]
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    # What a killed process leaves behind goes when the demo's folder goes.
    environment = os.environ | {"TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch)}
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL the driver and its JVM: they form a process group that only this demo has."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def watch(
    process: subprocess.Popen[bytes],
    tally: Counted,
    screen: Screen,
    is_enough: Callable[[], bool] | None = None,
) -> None:
    """Show what the counter commits, until that is enough, or until the counter ends."""
    began = time.monotonic()
    shown = False
    while True:
        ended = process.poll() is not None
        if tally.refresh():
            screen.show(tally.progress, tally.latest)
            shown = True
        elif ended:
            if process.returncode != 0 or is_enough is not None:
                raise DemoError(f"the counter ended with exit code {process.returncode}")
            return
        elif not shown:
            screen.wait(time.monotonic() - began)
        if is_enough is not None and is_enough():
            return
        if time.monotonic() - began > TIMEOUT_SECONDS:
            raise DemoError(f"the counter has not ended after {TIMEOUT_SECONDS} seconds")
        time.sleep(POLL_SECONDS)


def run(folder: Path, options: argparse.Namespace, screen: Screen) -> bool:
    """The demo; True if the counts are right."""
    tally = Tally(folder / "counts")

    def kill_now() -> bool:
        """When files of the next epoch are staged and not committed: there a crash hurts most."""
        more = len(tally.epochs) - options.kill_after
        return more > 0 or (more == 0 and bool(tally.staged()))

    command = [str(Path(__file__).resolve()), "--worker", str(folder)]
    command += ["--words", str(options.words), "--per-epoch", str(options.per_epoch)]
    print(screen.style("1;36", "A word counter that survives kill -9"))

    screen.section(
        1,
        "Count",
        f"{options.words:,} words, {options.per_epoch:,} per epoch, counted with keyed state.",
        "Every count is written to a file; a file appears when its epoch is committed.",
    )
    with process_in(folder, command) as process:
        watch(process, tally, screen, kill_now)
        kill(process)
        staged = len(tally.staged())
        tally.refresh()

    files = "1 file" if staged == 1 else f"{staged} files"
    screen.section(
        2,
        "Kill",
        f"kill -9 for the driver (process {process.pid}) and its JVM,",
        f"with epochs up to {max(tally.epochs)} committed and {files} of the next one staged.",
    )
    screen.section(3, "Restart", "The same program with the same checkpoint folder.")
    with process_in(folder, command) as process:
        watch(process, tally, screen)
    tally.refresh()
    return check_counts(tally.rows, tally.latest, options.words, screen)


def check_counts(
    rows: list[tuple[str, int]], latest: Counter[str], words: int, screen: Screen
) -> bool:
    """Compare with a count of the same words without any framework."""
    expected = Counter(map(word_of, range(words)))
    screen.section(4, "Check", "The same words, counted in plain Python:")
    screen.say(f"{'word':<8}{'counter':>10}{'plain Python':>15}")
    for word, count in expected.most_common(SHOWN_WORDS):
        mark = "" if latest[word] == count else "   wrong"
        screen.say(f"{word:<8}{latest[word]:>10,}{count:>15,}{mark}")
    screen.say(f"and {max(0, len(expected) - SHOWN_WORDS)} more words")

    emitted = Counter(rows)
    wanted = {(word, n) for word, count in expected.items() for n in range(1, count + 1)}
    lost, foreign = len(wanted - emitted.keys()), len(emitted.keys() - wanted)
    twice = sum(1 for times in emitted.values() if times > 1)
    screen.say(
        "",
        f"counts written:        {len(rows):,} (one for each of {words:,} words)",
        f"lost:                  {lost:,}",
        f"written twice:         {twice:,}",
        f"written by mistake:    {foreign:,}",
    )
    right = latest == expected and not (lost or twice or foreign)
    verdict = "nothing lost, nothing twice" if right else "THE COUNTS ARE WRONG"
    print(f"\n{screen.style('1;32' if right else '1;31', verdict)}", flush=True)
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=60_000, help="how many words")
    parser.add_argument("--per-epoch", type=int, default=5_000, help="words per epoch")
    parser.add_argument("--kill-after", type=int, default=4, help="kill after so many epochs")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        count_words(options.worker, options.words, options.per_epoch)
        return 0
    if options.words < options.per_epoch * (options.kill_after + 2):
        parser.error("too few words: there must be epochs left after the kill")
    return run_in_folder(lambda folder: run(folder, options, Screen(options.words)))


def run_in_folder(demo: Callable[[Path], bool]) -> int:
    """Run a demo in a folder that goes with it; the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-demo-"))
    try:
        return 0 if demo(folder) else 1
    except DemoError as error:
        log = (folder / "log.txt").read_text(errors="replace").splitlines()
        print(f"\n{error}; the end of its log:\n", *log[-40:], sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

"""Events of Nexmark: of 50 in a row 1 is a new person, 3 are new auctions, 46 are bids.

    python -m benchmarks.nexmark.generator 1000000 events.json

An event is a function of the seed and its number alone, so that any part of the events can be made
anywhere. Proportions, hot keys, ids, names and prices follow the public specification; random numbers
are our own, so other generators give other events of the same distribution.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]

PERSON, AUCTION, BID = 0, 1, 2
PERSONS, AUCTIONS, TOTAL = 1, 3, 50
FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY, CATEGORIES = 1000, 1000, 10, 5
IN_FLIGHT, ACTIVE_PEOPLE, LEAD = 100, 1000, 10
"""Auctions that are open, people who bid, and how far ahead ids may be that do not exist yet."""
HOT_AUCTIONS, HOT_SELLERS, HOT_BIDDERS, HOT_IDS = 2, 4, 4, 100
"""One in so many events does not go to a hot id; hot ids change each hundred ids."""
FIRST_NAMES = [
    "Peter",
    "Paul",
    "Luke",
    "John",
    "Saul",
    "Vicky",
    "Kate",
    "Julie",
    "Sarah",
    "Deiter",
    "Walter",
]
LAST_NAMES = [
    "Shultz",
    "Abrams",
    "Spencer",
    "White",
    "Bartels",
    "Walton",
    "Smith",
    "Jones",
    "Noris",
]
STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
CITIES = [
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland",
    "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
]  # fmt: skip
HOT_CHANNELS = ["Google", "Facebook", "Baidu", "Apple"]
CHANNELS = 10_000

TIME = pa.timestamp("ms")
_PERSON = pa.struct(
    [("id", pa.int64()), ("name", pa.string()), ("emailAddress", pa.string()),
     ("creditCard", pa.string()), ("city", pa.string()), ("state", pa.string()),
     ("dateTime", TIME), ("extra", pa.string())]
)  # fmt: skip
_AUCTION = pa.struct(
    [("id", pa.int64()), ("itemName", pa.string()), ("description", pa.string()),
     ("initialBid", pa.int64()), ("reserve", pa.int64()), ("dateTime", TIME), ("expires", TIME),
     ("seller", pa.int64()), ("category", pa.int64()), ("extra", pa.string())]
)  # fmt: skip
_BID = pa.struct(
    [("auction", pa.int64()), ("bidder", pa.int64()), ("price", pa.int64()),
     ("channel", pa.string()), ("url", pa.string()), ("dateTime", TIME), ("extra", pa.string())]
)  # fmt: skip
SCHEMA = pa.schema(
    [("event_type", pa.int32()), ("person", _PERSON), ("auction", _AUCTION), ("bid", _BID)]
)


@dataclass(frozen=True)
class Random:
    """Random numbers of events: each draw has a name, so that draws do not depend on each other."""

    numbers: Ints
    seed: int

    def bits(self, draw: str) -> npt.NDArray[np.uint64]:
        """64 random bits for each event (the mixing steps of SplitMix64)."""
        name = int.from_bytes(draw.encode()[:8].ljust(8), "little")
        with np.errstate(over="ignore"):
            mixed = self.numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= np.uint64(name ^ (self.seed * 0x2545F4914F6CDD1D % 2**64))
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
                mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
            return mixed ^ (mixed >> np.uint64(31))

    def below(self, draw: str, limit: int | Ints) -> Ints:
        """Whole numbers from 0 to the limit - 1."""
        return (self.bits(draw) % np.asarray(limit).astype(np.uint64)).astype(np.int64)

    def price(self, draw: str) -> Ints:
        """Prices in cents: as many between 1 and 10 as between 10 and 100, up to a million."""
        share = self.bits(draw) / 2.0**64
        return np.round(10.0 ** (share * 6) * 100).astype(np.int64)

    def choice(self, draw: str, values: list[str]) -> pa.Array:
        """One of some texts for each event."""
        return pa.array(values).take(pa.array(self.below(draw, len(values))))

    def text(self, draw: str, length: int) -> pa.Array:
        """Small letters, of a length that varies by a fifth around the given one."""
        letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
        spread = max(length // 5, 1)
        lengths = length - spread + self.below(f"{draw}#", 2 * spread + 1)
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
        # Numbers of letters: no text is longer than 1,024.
        letter = Random(np.repeat(self.numbers * 1024, lengths) + within, self.seed)
        letters = letters[letter.below(draw, 26)]
        return pa.StringArray.from_buffers(
            len(lengths), pa.py_buffer(ends.tobytes()), pa.py_buffer(letters.tobytes())
        )


@dataclass(frozen=True)
class Generator:
    """Makes events. ``rate``: events per second of event time, from ``start_ms`` on."""

    seed: int = 1
    rate: int = 10_000
    start_ms: int = 1_436_918_400_000

    def times(self, numbers: Ints) -> Ints:
        """The event times of events, in milliseconds."""
        return self.start_ms + numbers * 1000 // self.rate

    def events(self, start: int, stop: int) -> pa.Table:
        """The events from number start to stop - 1, in one table with `SCHEMA`."""
        numbers = np.arange(start, stop, dtype=np.int64)
        rest = numbers % TOTAL
        kinds = np.where(rest < PERSONS, PERSON, np.where(rest < PERSONS + AUCTIONS, AUCTION, BID))
        columns = [pa.array(kinds, pa.int32())]
        for kind, made in ((PERSON, self.persons), (AUCTION, self.auctions), (BID, self.bids)):
            own = kinds == kind
            places = pa.array(np.cumsum(own) - 1, mask=~own)
            columns.append(made(numbers[own]).take(places))
        return pa.Table.from_arrays(columns, schema=SCHEMA)

    def persons(self, numbers: Ints) -> pa.Array:
        """The new persons of events."""
        random = Random(numbers, self.seed)
        first = random.choice("first", FIRST_NAMES)
        last = random.choice("last", LAST_NAMES)
        mail = pc.binary_join_element_wise(random.text("mail", 7), random.text("host", 5), "@")
        groups = [_padded(random.below(f"card{n}", 10_000), 4) for n in range(4)]
        columns = [
            pa.array(FIRST_PERSON + _last_person(numbers)),
            pc.binary_join_element_wise(first, last, " "),
            pc.binary_join_element_wise(mail, "com", "."),
            pc.binary_join_element_wise(*groups, " "),
            random.choice("city", CITIES),
            random.choice("state", STATES),
            self._time(numbers),
            random.text("pextra", 100),
        ]
        return pa.StructArray.from_arrays(columns, fields=list(_PERSON))

    def auctions(self, numbers: Ints) -> pa.Array:
        """The new auctions of events."""
        random = Random(numbers, self.seed)
        initial = random.price("initial")
        # An auction is open for about as long as it takes that the auctions in flight come.
        gap = IN_FLIGHT * TOTAL // AUCTIONS * 1000 // self.rate
        lasts = 1 + random.below("expires", max(gap * 2, 1))
        hot = random.below("hot", HOT_SELLERS) > 0
        people = _last_person(numbers)
        seller = np.where(
            hot, people // HOT_IDS * HOT_IDS, _active_person(people, random, "seller")
        )
        columns = [
            pa.array(FIRST_AUCTION + _last_auction(numbers)),
            random.text("item", 20),
            random.text("about", 100),
            pa.array(initial),
            pa.array(initial + random.price("reserve")),
            self._time(numbers),
            pa.array(self.times(numbers) + lasts).cast(TIME),
            pa.array(FIRST_PERSON + seller),
            pa.array(FIRST_CATEGORY + random.below("category", CATEGORIES)),
            random.text("aextra", 250),
        ]
        return pa.StructArray.from_arrays(columns, fields=list(_AUCTION))

    def bids(self, numbers: Ints) -> pa.Array:
        """The bids of events."""
        random = Random(numbers, self.seed)
        auctions, people = _last_auction(numbers), _last_person(numbers)
        least = np.maximum(auctions - IN_FLIGHT, 0)
        any_auction = least + random.below("auction", auctions - least + 1 + LEAD)
        hot = random.below("hota", HOT_AUCTIONS) > 0
        auction = np.where(hot, auctions // HOT_IDS * HOT_IDS, any_auction)
        hot = random.below("hotb", HOT_BIDDERS) > 0
        bidder = np.where(
            hot, people // HOT_IDS * HOT_IDS + 1, _active_person(people, random, "bidder")
        )
        channel, url = _channels(random)
        columns = [
            pa.array(FIRST_AUCTION + auction),
            pa.array(FIRST_PERSON + bidder),
            pa.array(random.price("price")),
            channel,
            url,
            self._time(numbers),
            random.text("bextra", 50),
        ]
        return pa.StructArray.from_arrays(columns, fields=list(_BID))

    def _time(self, numbers: Ints) -> pa.Array:
        return pa.array(self.times(numbers)).cast(TIME)


def _last_person(numbers: Ints) -> Ints:
    """The number of the newest person when an event happens."""
    rounds, rest = numbers // TOTAL, numbers % TOTAL
    return rounds * PERSONS + np.minimum(rest, PERSONS - 1)


def _last_auction(numbers: Ints) -> Ints:
    """The number of the newest auction when an event happens; before the first one it is 0."""
    rounds, rest = numbers // TOTAL, numbers % TOTAL
    own = np.clip(rest - PERSONS, -1, AUCTIONS - 1)
    newest: Ints = np.maximum(rounds * AUCTIONS + own, 0)
    return newest


def _active_person(people: Ints, random: Random, draw: str) -> Ints:
    """One of the newest people, or one that comes soon."""
    active = np.minimum(people, ACTIVE_PEOPLE)
    chosen: Ints = people - active + random.below(draw, active + LEAD)
    return chosen


def _channels(random: Random) -> tuple[pa.Array, pa.Array]:
    """The channels of bids and their addresses: half of them go to one of four."""
    hot = random.below("hotc", 2) > 0
    number = random.below("channel", CHANNELS)
    numbered = pc.binary_join_element_wise("channel", pa.array(number).cast(pa.string()), "-")
    channel = pc.if_else(pa.array(hot), random.choice("which", HOT_CHANNELS), numbered)
    page = pa.array(random.below("page", 1000)).cast(pa.string())
    base = pc.binary_join_element_wise(
        "https://www.nexmark.com", random.text("dir1", 3), random.text("dir2", 4), "item.htm", "/"
    )
    url = pc.binary_join_element_wise(base, page, "?query=")
    with_id = pc.binary_join_element_wise(url, pa.array(number).cast(pa.string()), "&channel_id=")
    return channel, pc.if_else(pa.array(random.below("withid", 10) > 0), with_id, url)


def _padded(numbers: Ints, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def write_json(table: pa.Table, path: Path, *, append: bool = False) -> None:
    """Write events as lines of JSON, with times as SQL writes them."""

    def plain(event: dict[str, object]) -> dict[str, object]:
        for kind in ("person", "auction", "bid"):
            content = event[kind]
            if isinstance(content, dict):
                for name in ("dateTime", "expires"):
                    if name in content:
                        content[name] = content[name].isoformat(" ", "milliseconds")
        return event

    with path.open("a" if append else "w") as file:
        for event in table.to_pylist():
            file.write(json.dumps(plain(event), separators=(",", ":")) + "\n")


def main() -> None:
    """Write events to a file: Parquet by its ending, else lines of JSON."""
    options = argparse.ArgumentParser(description=main.__doc__)
    options.add_argument("count", type=int)
    options.add_argument("path", type=Path)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rate", type=int, default=10_000)
    given = options.parse_args()
    generator = Generator(given.seed, given.rate)
    if given.path.suffix == ".parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(given.path, SCHEMA) as writer:
            for start in range(0, given.count, 100_000):
                writer.write_table(generator.events(start, min(start + 100_000, given.count)))
        return
    for start in range(0, given.count, 100_000):
        part = generator.events(start, min(start + 100_000, given.count))
        write_json(part, given.path, append=start > 0)


if __name__ == "__main__":
    main()

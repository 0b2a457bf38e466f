"""Sources of random numbers for graphs: the same seed always gives the same graph.

They are Gelly's: a graph of a seed is the graph that Gelly makes of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from millstream.graph.kernel.chance import JavaRandom, MersenneTwister, Stream, blocks_of

__all__ = [
    "BlockInfo",
    "JDKRandomGeneratorFactory",
    "MersenneTwisterFactory",
    "RandomGenerableFactory",
]


class BlockInfo(NamedTuple):
    """A block of elements that one random generator makes.

    Its generator begins with ``seed``. The block is number ``block_index`` of ``block_count``, and has
    ``element_count`` elements, the first of which is number ``first_element``.

    Examples
    --------
    >>> JDKRandomGeneratorFactory(1).get_random_generables(10, 4)[0].element_count
    10
    """

    seed: int
    block_index: int
    block_count: int
    first_element: int
    element_count: int


class RandomGenerableFactory(ABC):
    """A source of random generators: one for each block of a graph, so that tasks can share the work.

    A factory goes on with each graph that is made of it: two graphs of one factory differ.

    Parameters
    ----------
    seed
        A whole number; without it a fixed one.

    Examples
    --------
    >>> issubclass(JDKRandomGeneratorFactory, RandomGenerableFactory)
    True
    """

    DEFAULT_SEED: ClassVar[int]

    def __init__(self, seed: int | None = None) -> None:
        self._random = self.generator(self.DEFAULT_SEED if seed is None else seed)

    @staticmethod
    @abstractmethod
    def generator(seed: int) -> Stream:
        """Make the random generator of a seed."""

    def get_random_generables(self, element_count: int, cycles_per_element: int) -> list[BlockInfo]:
        """Divide elements into blocks, and give each block a seed.

        Parameters
        ----------
        element_count
            The number of elements.
        cycles_per_element
            How many random numbers an element takes.
        """
        sizes = blocks_of(element_count, cycles_per_element)
        blocks, first = [], 0
        for index, size in enumerate(sizes):
            blocks.append(BlockInfo(self._random.next_long(), index, len(sizes), first, size))
            first += size
        return blocks


class JDKRandomGeneratorFactory(RandomGenerableFactory):
    """The random generator of Java's library.

    Examples
    --------
    >>> JDKRandomGeneratorFactory().get_random_generables(100, 10)[0].seed
    7617274943201551465
    """

    DEFAULT_SEED = 0x4B6F7E18198DE7A4

    @staticmethod
    def generator(seed: int) -> Stream:
        """Make the random generator of a seed."""
        return JavaRandom(seed)


class MersenneTwisterFactory(RandomGenerableFactory):
    """The Mersenne Twister.

    Examples
    --------
    >>> MersenneTwisterFactory().get_random_generables(100, 10)[0].seed
    109544464670410280
    """

    DEFAULT_SEED = 0x74C8CC8A58A9CEB9

    @staticmethod
    def generator(seed: int) -> Stream:
        """Make the random generator of a seed."""
        return MersenneTwister(seed)

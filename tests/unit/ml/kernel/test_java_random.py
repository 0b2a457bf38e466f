"""Numbers that Java prints."""

from __future__ import annotations

from millstream.ml.kernel.java_random import JavaRandom, java_hash


def test_numbers_of_java() -> None:
    """`new Random(42)`: nextInt(10), nextInt(8), nextDouble(); values of OpenJDK."""
    random = JavaRandom(42)
    assert [random.next_int(10) for _ in range(10)] == [0, 3, 8, 4, 0, 5, 5, 8, 9, 3]
    assert JavaRandom(42).next_double() == 0.7275636800328681
    assert JavaRandom(0).next_double() == 0.730967787376657


def test_hashes_of_java() -> None:
    assert java_hash("") == 0
    assert java_hash("hello") == 99162322
    assert java_hash("polygenelubricants") == -(1 << 31)

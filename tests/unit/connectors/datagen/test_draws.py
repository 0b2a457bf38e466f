"""Random numbers by counting: any row at any time, and even distributions."""

from __future__ import annotations

import numpy as np
import pytest

from millstream.connectors.datagen.draws import Draws, split_mix

ROWS = np.arange(20_000)


def test_a_number_depends_on_seed_field_draw_and_row_only() -> None:
    whole = Draws(1, "a", ROWS).words("x")
    picked = np.array([7, 19_999, 3])
    assert (Draws(1, "a", picked).words("x") == whole[picked]).all()
    others = [Draws(2, "a", ROWS).words("x"), Draws(1, "b", ROWS).words("x")]
    for other in (*others, Draws(1, "a", ROWS).words("y")):
        assert not (other == whole).any()


def test_it_is_the_published_generator() -> None:
    assert split_mix(1234567, np.arange(1, 4)).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_the_first_words_are_those_that_were_always_given() -> None:
    """A savepoint continues with rows of an earlier version: they never change."""
    assert Draws(0, "id", np.arange(2)).words().tolist() == [
        5576220362471182903,
        8276290730340940734,
    ]


@pytest.mark.parametrize("count", [1, 2, 6, 1000, 2**32 - 1, 2**32 + 1, 3 * 2**62, 2**64])
def test_whole_numbers_below_a_count_are_even(count: int) -> None:
    found = Draws(3, "a", ROWS).below(count)
    assert int(found.max()) < count
    eighths = np.bincount((found / (count / 8)).astype(int).clip(0, 7), minlength=8)
    if count > 8:
        assert eighths.min() > 0.9 * len(ROWS) / 8


def test_below_is_the_upper_half_of_the_product() -> None:
    draws = Draws(3, "a", ROWS[:200])
    for count in (5, 2**31 + 7, 2**33 + 9, 2**63 + 1):
        words = draws.words().tolist()
        assert draws.below(count).tolist() == [word * count >> 64 for word in words]


def test_units_are_even_and_neighbours_have_nothing_in_common() -> None:
    units = Draws(4, "a", ROWS).units()
    assert units.min() >= 0 and units.max() < 1
    assert abs(units.mean() - 0.5) < 0.01 and abs(units.var() - 1 / 12) < 0.005
    other = Draws(4, "b", ROWS).units()
    for one, two in ((units[1:], units[:-1]), (units, other)):
        assert abs(np.corrcoef(one, two)[0, 1]) < 0.03


def test_each_bit_is_set_half_of_the_time() -> None:
    bits = np.unpackbits(Draws(5, "a", ROWS).words().view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert bits.min() > 0.48 and bits.max() < 0.52


def test_between_has_both_ends_also_those_of_64_bits() -> None:
    draws = Draws(6, "a", ROWS)
    assert set(draws.between(-1, 1).tolist()) == {-1, 0, 1}
    far = draws.between(-(2**63), 2**63 - 1)
    assert far.min() < -(2**62) and far.max() > 2**62


def test_bytes_have_the_wanted_length() -> None:
    assert Draws(6, "a", ROWS[:5]).bytes(11).shape == (5, 11)

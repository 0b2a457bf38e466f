"""Where records go that have no key. Apart from the rest of the kernel: the user API names places."""

from __future__ import annotations

from enum import Enum


class Place(Enum):
    """Where records without a key of their own go.

    ``ANYWHERE``: to a sink. ``THROUGH_A_STAGE``: to a sink too, and a keyed stage raises their stamps.
    """

    ANYWHERE = "anywhere"
    THROUGH_A_STAGE = "through a stage"
    BY_CHANNEL = "by channel"
    BY_POSITION = "by position"
    ONE_SLOT = "one slot"
    EVERY_SLOT = "every slot"

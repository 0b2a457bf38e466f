"""Log messages about options that have no effect."""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("millstream")
_told: set[str] = set()


def accepted_without_effect(option: str, why: str) -> bool:
    """Say once that an option is accepted but changes nothing, and why.

    Parameters
    ----------
    option : str
        The option, as the user knows it.
    why : str
        The reason it changes nothing here.

    Returns
    -------
    bool
        True if this was the first time.

    Examples
    --------
    >>> accepted_without_effect("doctest option", "it is an example")
    True
    >>> accepted_without_effect("doctest option", "it is an example")
    False
    """
    if option in _told:
        return False
    _told.add(option)
    _LOGGER.warning("%s is accepted without effect: %s", option, why)
    return True

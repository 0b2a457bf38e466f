"""Hash functions."""

from __future__ import annotations

import hashlib

from millstream.table.functions.registry import function

__all__: list[str] = []

HASH = "hash"


def _declare(name: str, algorithm: str) -> None:
    def run(text: str) -> str:
        return hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()

    run.__doc__ = f"The {name} hash of the text in hexadecimal digits."
    length = hashlib.new(algorithm, usedforsecurity=False).digest_size * 2
    function(name, HASH, f"{name}(string)", "STRING", f"CHAR({length})")(run)


for _name in ("MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512"):
    _declare(_name, _name.lower())


@function("SHA2", HASH, "SHA2(string, length)", "STRING INT", "VARCHAR(128)")
def _sha2(text: str, length: int) -> str:
    """The SHA-2 hash of 224, 256, 384 or 512 bits."""
    if length not in (224, 256, 384, 512):
        raise ValueError("Unsupported algorithm.")
    return hashlib.new(f"sha{length}", text.encode()).hexdigest()

"""Hash functions."""

from __future__ import annotations

import hashlib

from millstream.table.functions.registry import function

__all__: list[str] = []

HASH = "hash"


def _data(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _declare(name: str, algorithm: str) -> None:
    def run(value: str | bytes) -> str:
        return hashlib.new(algorithm, _data(value), usedforsecurity=False).hexdigest()

    run.__doc__ = f"The {name} hash of the text or binary in hexadecimal digits."
    length = hashlib.new(algorithm, usedforsecurity=False).digest_size * 2
    function(name, HASH, f"{name}(value)", "TEXT_OR_BYTES", f"CHAR({length})")(run)


for _name in ("MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512"):
    _declare(_name, _name.lower())


@function("SHA2", HASH, "SHA2(value, length)", "TEXT_OR_BYTES INT", "VARCHAR(128)")
def _sha2(value: str | bytes, length: int) -> str:
    """The SHA-2 hash of a text or binary with 224, 256, 384 or 512 bits."""
    if length not in (224, 256, 384, 512):
        raise ValueError("Unsupported algorithm.")
    return hashlib.new(f"sha{length}", _data(value)).hexdigest()

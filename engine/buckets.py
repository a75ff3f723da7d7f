"""A mapping in pieces that are unmarshalled when a key of theirs is asked for.

The index over hundreds of causes has tens of thousands of terms, and a complaint asks for a dozen. A key's piece is
found by a checksum, which unlike Python's own hash is the same in every process.
"""

from __future__ import annotations

import marshal
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

PIECES = 128
FORMAT = 4  # of marshal, readable from Python 3.11 on


def pack(mapping: Mapping[str, Any]) -> tuple[bytes, ...]:
    """`mapping` in pieces, as plain data that can be stored."""
    pieces: list[dict[str, Any]] = [{} for _ in range(PIECES)]
    for key, value in mapping.items():
        pieces[crc32(key.encode()) % PIECES][key] = value
    return tuple(marshal.dumps(piece, FORMAT) for piece in pieces)


class Buckets:
    """Reads what `pack` made."""

    def __init__(self, packed: tuple[bytes, ...]) -> None:
        self._packed = packed
        self._read: dict[int, dict[str, Any]] = {}

    def get(self, key: str, default: Any = None) -> Any:
        number = crc32(key.encode("utf-8", "replace")) % PIECES
        piece = self._read.get(number)
        if piece is None:
            piece = self._read[number] = marshal.loads(self._packed[number])
        return piece.get(key, default)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        for packed in self._packed:
            yield from marshal.loads(packed)

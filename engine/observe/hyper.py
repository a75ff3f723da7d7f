"""Finds the literals of a large log with Hyperscan. The only importer of it; without it there is `scan.by_words`.

The database depends on the literals, on Hyperscan and on the processor. It is compiled when a large log first needs it
(a tenth of a second) and kept in the user's cache folder under a name made of all three.
"""

from __future__ import annotations

import os
import sys

from engine.knowledge.store import cache_folder, keep, kept
from engine.observe.lines import around
from engine.observe.scan import AFTER, ANSWERED, BEFORE, FAILURES, MARKS, NAMES, OTHERWISE, Found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from engine.observe.scan import Literals, Scanner

    Row = tuple[str, bytes, int]  # literal, expression, flags

FORMAT = 1  # changes when the same literals are to be compiled in another way
_DENSE = 50_000  # hits in one piece from which its lines are cheaper to find one after the other
_CASELESS, _DOTALL, _ONCE = 1, 2, 8  # Hyperscan's flags
_STATUSES = (
    (ANSWERED, rb'HTTP/[\d.]{1,9}" 200'),
    (OTHERWISE, rb'HTTP/[\d.]{1,9}" (?:[013-9]|2[1-9]|20[1-9])'),
)
_PLAIN = len(MARKS) + len(_STATUSES)  # rows that are no literals of signs
_AFTER = AFTER.encode()


def scanner(literals: Literals, otherwise: Scanner) -> Scanner | None:
    """A scanner with the same results as `otherwise`, which serves where lines hold little else than literals. None
    where Hyperscan cannot be loaded or its database cannot be made."""
    try:
        import hyperscan  # noqa: PLC0415 - ten milliseconds that a short log need not pay
    except ImportError:
        return None
    rows = _rows(literals)
    database = _database(hyperscan, rows)
    if database is None:
        return None
    return _scan_with(database, hyperscan, rows, literals, otherwise)


def _rows(literals: Literals) -> list[Row]:
    """Literal, expression and flags of all that is searched. Where it is enough to know that something occurs, it is
    reported once in a piece."""
    rows = [(mark, _escaped(mark), _CASELESS | _ONCE) for mark in MARKS]
    rows += [(name, expression, _ONCE) for name, expression in _STATUSES]
    for literal in literals.all():
        rows.append((literal, _escaped(literal), _CASELESS | (0 if literals.numbers(literal) else _ONCE)))
    before, after = _escaped(BEFORE).decode(), _escaped(AFTER).decode()
    rows += [("", f"[^{before}]{ending}(?:[{after}]|\\z)".encode(), _CASELESS | _DOTALL) for ending in NAMES]
    return rows + [("", _escaped(failure), _CASELESS) for failure in FAILURES]


def _escaped(literal: str) -> bytes:
    return b"".join(bytes([c]) if chr(c).isalnum() and c < 128 else b"\\x%02x" % c for c in literal.encode())


# -- scanning ---------------------------------------------------------------------------------------------------------


def _scan_with(database: Any, hyperscan: Any, rows: list[Row], literals: Literals, otherwise: Scanner) -> Scanner:
    scratch = hyperscan.Scratch(database)
    kinds = [_kind(number, rows, literals) for number in range(len(rows))]

    def scan(data: bytes) -> Found:
        hits: list[tuple[int, int]] = []
        add = hits.append

        def note(number: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
            add((number, end))
            return True if len(hits) > _DENSE else None

        try:
            database.scan(data, match_event_handler=note, scratch=scratch)
        except hyperscan.ScanTerminated:
            return otherwise(data)
        return _found(data, hits, kinds)

    return scan


class _Kind:
    """What one row of the database stands for: how far before its end it starts, and what its lines may hold."""

    __slots__ = ("length", "numbers", "present")

    def __init__(self, length: int, numbers: tuple[int, ...] | None, present: str) -> None:
        self.length = length
        self.numbers = numbers  # None: the line may end a traceback; (): only its presence counts
        self.present = present


def _kind(number: int, rows: list[Row], literals: Literals) -> _Kind:
    name, literal = rows[number][0], number >= _PLAIN
    if not name:
        ending = (*NAMES, *FAILURES)[number - len(rows)]
        return _Kind(len(ending), None, "")
    numbers = literals.numbers(name) if literal else ()
    return _Kind(len(name.encode()), numbers, name if not literal or literals.tells_stage(name) else "")


def _found(data: bytes, hits: list[tuple[int, int]], kinds: list[_Kind]) -> Found:
    """The lines of the hits. Within a line that has no end, a literal is looked for again behind each window."""
    found = Found()
    seen: dict[int, int] = {}  # where each row may be seen next
    for number, end in sorted(hits, key=_place):
        kind = kinds[number]
        if kind.present:
            found.present.add(kind.present)
        if kind.numbers == ():
            continue
        if kind.numbers is None and data[end - 1 : end] in _AFTER and number < len(kinds) - len(FAILURES):
            end -= 1  # the character behind the name
        at = end - kind.length
        if at < seen.get(number, 0):
            continue
        start, stop = around(data, at)
        seen[number] = max(stop, at + 1)
        if kind.numbers is None:
            found.names.add(start)
        else:
            found.lines.setdefault(start, set()).update(kind.numbers)
    return found


def _place(hit: tuple[int, int]) -> int:
    return hit[1]


# -- the database -----------------------------------------------------------------------------------------------------


def _database(hyperscan: Any, rows: list[Row]) -> Any:
    """The database from the cache folder, or a new one; None where Hyperscan does not know this machine."""
    path = os.path.join(cache_folder(), f"{_key(hyperscan, rows)}.hs")
    known = kept(path)
    try:
        if known is not None:
            return hyperscan.loadb(known, hyperscan.HS_MODE_BLOCK)
    except hyperscan.error:
        pass  # damaged, or made where another processor runs: made anew
    try:
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        expressions, flags = [row[1] for row in rows], [row[2] for row in rows]
        database.compile(expressions=expressions, ids=list(range(len(rows))), elements=len(rows), flags=flags)
        keep(path, hyperscan.dumpb(database))
    except hyperscan.error:
        return None
    return database


def _key(hyperscan: Any, rows: list[Row]) -> str:
    """What the database depends on, as a name."""
    try:
        from _blake2 import blake2b  # noqa: PLC0415 - hashlib would load OpenSSL as well
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    digest = blake2b(repr((FORMAT, hyperscan.__version__, sys.platform, _processor(), rows)).encode(), digest_size=12)
    return str(digest.hexdigest())


def _processor() -> str:
    """What tells processors apart that need databases of their own, as far as the system says it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line for line in file if line.startswith(("flags", "Features"))), "")
    except OSError:
        from platform import machine, processor  # noqa: PLC0415 - not on Linux

        return f"{machine()} {processor()}"

"""Files and standard input as streams of bytes, which pass through bounded memory however long they are.

All are opened before any is read, so that every mistake is reported at once and none after minutes of work.
"""

from __future__ import annotations

from engine.errors import InputError
from engine.model import Attachment
from interfaces.cli.output import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

STANDARD_INPUT = "-"
BLOCK = 1 << 20
LONGEST = 16 << 30  # bytes of one stream; /dev/zero would never end


def attachment(path: str) -> Attachment:
    """The file as a stream. Raises InputError, naming it, when it cannot be opened."""
    return Attachment(path, _blocks(opened(path), path))


def standard_input() -> tuple[Attachment, bool]:
    """Standard input as a stream, and whether there is anything but blanks in its first block."""
    try:
        source = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - read while the case is diagnosed
        first = source.read(BLOCK)
    except OSError as error:
        raise InputError(f"standard input cannot be read: {reason(error)}.") from None

    def blocks() -> Iterator[bytes]:
        yield first
        yield from _blocks(source, "standard input")

    return Attachment(STANDARD_INPUT, blocks() if first else ()), bool(first.strip())


def opened(path: str) -> FileIO:
    """The file, unbuffered. Raises InputError that says in the operator's words why it cannot be opened."""
    try:
        return open(path, "rb", buffering=0)
    except IsADirectoryError:
        raise InputError(f"'{path}' is a directory.", "Name the files in it, each with --log.") from None
    except FileNotFoundError:
        raise InputError(f"there is no file '{path}'.", "Check the path.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"'{path}' cannot be read: {reason(error)}.") from None


def _blocks(source: FileIO, name: str) -> Iterator[bytes]:
    taken = 0
    with source:
        while block := read(source, name, BLOCK):
            yield block
            taken += len(block)
            if taken > LONGEST:
                raise InputError(f"'{name}' has more than {LONGEST >> 30} GiB.", "Hand in the part around the failure.")


def read(source: FileIO, name: str, size: int) -> bytes:
    """At most `size` bytes of what is next, empty at the end. Raises InputError when the device fails."""
    try:
        return source.read(size) or b""
    except OSError as error:
        raise InputError(f"'{name}' cannot be read: {reason(error)}.") from None

"""The two streams: standard output carries the answer and nothing else, standard error the talk.

Both are written as UTF-8 bytes, so that neither LC_ALL=C nor PYTHONIOENCODING changes what arrives.
"""

from __future__ import annotations

import os
import sys

from interfaces.cli.errors import OutputError
from interfaces.render.escape import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def answer(content: bytes) -> None:
    """Writes the whole answer at once. A reader that has gone is no error; anything else raises OutputError."""
    write(content)


def write(content: bytes) -> bool:
    """Writes a part of the answer; False when its reader has gone. Raises OutputError for anything else."""
    try:
        _write(sys.stdout, content)
    except BrokenPipeError:
        _forget_standard_output()
        return False
    except (OSError, ValueError) as error:
        _forget_standard_output()
        raise OutputError(
            f"the answer cannot be written: {reason(error)}.", "Check where standard output leads."
        ) from None
    return True


def talk(line: str) -> None:
    """One line on standard error, harmless to look at; lost silently where nobody listens."""
    try:
        _write(sys.stderr, f"{visible(line)}\n".encode())
    except (OSError, ValueError):
        return


def talk_lines(text: str) -> None:
    """A text of several lines on standard error."""
    for line in text.splitlines():
        talk(line)


def reason(error: Exception) -> str:
    """The system's own words for a failure, without numbers and file names."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _write(stream: TextIO | None, content: bytes) -> None:
    if stream is None:  # the descriptor was closed before Python started
        raise OSError("it is closed")
    stream.flush()
    stream.buffer.write(content)
    stream.buffer.flush()


def _forget_standard_output() -> None:
    """Nothing may be written at exit to a stream that has failed, or Python complains about it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return


# -- the terminal -----------------------------------------------------------------------------------------------------


def width() -> int | None:
    """The cells of a line of the terminal that shows the answer; None where there is no terminal."""
    if not _is_terminal(sys.stdout):
        return None
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and 0 < int(stated) < 10_000:
        return int(stated)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def colour() -> bool:
    """Whether the answer may be coloured."""
    return _is_terminal(sys.stdout) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def input_is_terminal() -> bool:
    """Whether a person would have to type what is read from standard input; a closed one counts as such."""
    return sys.stdin is None or _is_terminal(sys.stdin)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False

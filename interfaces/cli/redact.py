"""`kb redact`: a log that may be shown to others, written as it is read."""

from __future__ import annotations

from engine.redactor import Redactor
from interfaces.cli import output
from interfaces.cli.inputs import STANDARD_INPUT, attachment, standard_input
from interfaces.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AT_ONCE = 1 << 18  # bytes that are written together


def redact(arguments: list[str]) -> int:
    """Writes the redacted text to standard output and a summary to standard error.

    Raises InputError for a file that cannot be read, OutputError for a standard output that takes nothing."""
    parser = _parser()
    if parser.helped(arguments):
        return 0
    asked = parser.parse_args(arguments)
    redactor = Redactor()
    for part in _together(_shown(redactor, _source(asked.file))):
        if not output.write(part):
            return 0  # nobody reads on
    output.talk(f"kb redact: {_summary(redactor, asked.lang)}")
    return 0


def _parser() -> Parser:
    parser = Parser(
        "redact",
        description="Takes credentials, e-mail addresses, user names in paths, private addresses and internal hosts "
        "out of a text. Versions, model names, flags and public hosts stay. The same thing keeps the same placeholder.",
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default=STANDARD_INPUT, help="a file; - or none is standard input"
    )
    parser.add_argument(
        "--lang", choices=("auto", "en", "zh"), default="auto", help="language of the summary; auto is English"
    )
    return parser


def _source(file: str) -> Iterable[bytes]:
    if file != STANDARD_INPUT:
        return attachment(file).blocks
    if output.input_is_terminal():
        output.talk("kb redact: reading what you type; Ctrl-D ends it")
    return standard_input()[0].blocks


def _shown(redactor: Redactor, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines; on a terminal without anything that would steer it."""
    if output.width() is None:
        yield from redactor.stream(blocks)
        return
    from interfaces.render.escape import visible  # noqa: PLC0415 - for a terminal

    for line in redactor.stream(blocks):
        end = b"\n" if line.endswith(b"\n") else b""
        yield visible(line.decode("utf-8", "replace").rstrip("\r\n")).encode() + end


def _together(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines in parts of some size, since each write costs."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= AT_ONCE:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def _summary(redactor: Redactor, lang: str) -> str:
    from engine.knowledge.store import load  # noqa: PLC0415 - only for its phrases, at the end

    phrases = load().phrases("zh" if lang == "zh" else "en")
    parts = [
        phrases["redact.part"].format(count=count, kind=phrases[f"redact.{kind}"]) for kind, count in redactor.counts()
    ]
    return phrases["redact.done"].format(parts=phrases["list.and"].join(parts)) if parts else phrases["redact.nothing"]

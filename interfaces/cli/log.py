"""`kb log FILE`: what a log says by itself, without a diagnosis: root lines, stage, versions, engine arguments."""

from __future__ import annotations

from engine import __version__
from engine.errors import UsageError
from engine.knowledge.store import load
from engine.observe.log import read
from interfaces.cli import output
from interfaces.cli.inputs import attachment, standard_input
from interfaces.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.model import Attachment


def log(arguments: list[str]) -> int:
    """Prints what the logs say; several are those of the nodes of one server. Raises InputError for what cannot be
    read, UsageError where nothing is given."""
    parser = _parser()
    if parser.helped(arguments):
        return 0
    asked = parser.parse_args(arguments)
    files = _files(asked.files)
    knowledge = load()
    readings = [read(file.blocks, knowledge.section("signs")) for file in files]
    from interfaces.render.log import document, outline  # noqa: PLC0415 - once the logs are read

    names = [file.name for file in files]
    found = document(names, readings, knowledge, "zh" if asked.lang == "zh" else "en", __version__)
    if asked.json:
        from interfaces.render.document import json_bytes  # noqa: PLC0415

        output.answer(json_bytes(found))
        return 0
    from interfaces.render.text import layout  # noqa: PLC0415

    output.answer(layout(outline(found, knowledge), output.width(), output.colour()).encode())
    return 0


def _files(paths: Sequence[str]) -> list[Attachment]:
    """The files, all opened before one is read; standard input for `-`, or where none is named and a pipe leads
    here."""
    if not paths and output.input_is_terminal():
        raise UsageError("no log is named.", "Name its file, or pipe it: docker logs CONTAINER 2>&1 | kb log -")
    return [standard_input()[0] if path == "-" else attachment(path) for path in paths or ["-"]]


def _parser() -> Parser:
    parser = Parser(
        "log",
        usage="kb log FILE [FILE ...] [--json] [--lang auto|en|zh]   or   kb log -   (from standard input)",
        description="What a server log says: the root failure, the stage, versions, engine arguments, line numbers.",
        epilog="Several files are read as the logs of the nodes of one server. Exit code: 0 read, 2 unreadable.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a log of any size; - is standard input")
    parser.add_argument("--lang", choices=("auto", "en", "zh"), default="auto", help="language; auto is English")
    parser.add_argument("--json", action="store_true", help="everything that was found, every match with its line")
    return parser

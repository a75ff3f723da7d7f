"""`kb query`: everything that an operator has in hand becomes one case, and its answer goes to standard output."""

from __future__ import annotations

from engine import __version__
from engine.diagnose import diagnose
from engine.errors import KbError, MissingExtra, UsageError
from engine.knowledge.store import load
from engine.model import Case
from interfaces.cli import output
from interfaces.cli.errors import raise_all
from interfaces.cli.inputs import attachment, standard_input
from interfaces.cli.options import Asked, parse
from interfaces.render.document import document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import Answer, Attachment

EXIT_CODES = {"answered": 0, "healthy": 0, "needs_more": 1, "unknown": 1}


def query(arguments: list[str]) -> int:
    """Answers and returns the exit code that belongs to the status. Raises KbError for what cannot be answered."""
    knowledge = load()
    asked = parse(arguments, knowledge.section("flag-names").__contains__)
    if asked.help:
        output.answer(asked.help.encode())
        return 0
    if not asked.gives_something():
        if output.input_is_terminal():
            output.talk_lines(parse(["--help"], bool).help)
            return UsageError.exit_code
        asked = asked.but(reads=True)
    found = diagnose(_case(asked, knowledge), knowledge)
    output.answer(_rendered(found, asked.format, knowledge))
    return EXIT_CODES[found.status]


def _case(asked: Asked, knowledge: Knowledge) -> Case:
    """The case, with everything in it opened and checked. Raises all that is wrong with it at once."""
    if asked.llm:
        raise MissingExtra("--llm is not part of this version of kb.", "Leave it out: no answer needs a model.")
    errors: list[KbError] = []
    attachments = _attachments(asked, errors)
    context = _context(asked, knowledge, errors)
    raise_all(errors)
    text, command = _decoded(" ".join(asked.words)), _decoded(asked.command or "")
    if asked.reads:
        if output.input_is_terminal():
            output.talk("kb query: reading what you type; Ctrl-D ends it")
        stream, holds_something = standard_input()
        if holds_something or attachments or text.strip():
            attachments.append(stream)
    if not (text.strip() or command.strip() or attachments or context):
        raise UsageError("no complaint and no log is given.", "Say what is wrong, or hand in a log with --log FILE.")
    return Case(text, tuple(attachments), command, context, asked.lang, asked.explain)


def _attachments(asked: Asked, errors: list[KbError]) -> list[Attachment]:
    found = []
    for path in asked.logs:
        try:
            found.append(attachment(path))
        except KbError as error:
            errors.append(error)
    if asked.metrics:
        from interfaces.cli.scrape import scrapes  # noqa: PLC0415 - few queries have one

        try:
            found += scrapes(asked.metrics)
        except KbError as error:
            errors.append(error)
    return found


def _context(asked: Asked, knowledge: Knowledge, errors: list[KbError]) -> dict[str, Any]:
    """The file of --context with the pairs of --fact under `facts`."""
    stated: dict[str, Any] = {}
    pairs = [_decoded(pair) for pair in asked.facts]
    try:
        if asked.context is not None:
            from interfaces.cli.context import context  # noqa: PLC0415 - few queries have one

            stated = context(asked.context)
            pairs = [*(f"{name}={value}" for name, value in stated.pop("facts", {}).items()), *pairs]
    except KbError as error:
        errors.append(error)
    try:
        if pairs:
            from interfaces.cli.facts import facts  # noqa: PLC0415

            stated["facts"] = facts(pairs, knowledge)
    except KbError as error:
        errors.append(error)
    return stated


def _decoded(words: str) -> str:
    """Words as the terminal sent them: Python keeps bytes that its locale cannot read as surrogates."""
    if words.isascii():
        return words
    return words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _rendered(found: Answer, form: str, knowledge: Knowledge) -> bytes:
    plain = document(found, knowledge, __version__)
    if form == "json":
        from interfaces.render.document import json_bytes  # noqa: PLC0415

        return json_bytes(plain)
    if form == "markdown":
        from interfaces.render.markdown import markdown  # noqa: PLC0415

        return markdown(plain, knowledge).encode()
    from interfaces.render.text import text  # noqa: PLC0415

    return text(plain, knowledge, output.width(), output.colour()).encode()

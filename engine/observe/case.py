"""A Case -> every fact in it, from whichever source. The one door of this room."""

from __future__ import annotations

from engine.model import Fact, Origin, Value
from engine.observe import command, complaint, context, derive, environment, lines, log, words
from engine.observe.split import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.knowledge.store import Knowledge
    from engine.model import Attachment, Case

HEAD = 262_144  # bytes of standard input that are looked at to tell words from a log


class Observation(Value):
    """What the case holds. `kinds` are the kinds of concepts that were said, `readings` what each log said."""

    facts: tuple[Fact, ...]
    words: str
    kinds: frozenset[str]
    unknown_words: int
    readings: tuple[log.Reading, ...]
    command: str


def observe(case: Case, knowledge: Knowledge) -> Observation:
    """All facts of `case`, each with its origin; what cannot be understood leaves no fact and raises nothing."""
    said, attachments = _own_words(case)
    found = command.pasted(said)
    rest = found.rest if found else said
    parts = split(rest, environment.lines(rest))
    given = (case.command, parts.command, found.command if found else "")
    commands: list[tuple[str, int | None, int]] = [(one, None, 1) for one in given if one]
    facts: list[Fact] = []
    readings = []
    logs = [(None, [parts.log.encode("utf-8", "replace")])] if parts.log else []
    pasted = [environment.Text(said[: environment.HEAD], "text")]
    for number, blocks in [*logs, *attachments]:
        kept = environment.Kept(blocks)
        reading = log.read(kept, knowledge.section("signs"))
        started = command.in_file(kept.text(), knowledge) if number is not None else None
        if started is not None:
            commands.append((started.command, number, started.line))
            if not started.rest and not (reading.milestones or reading.statistics.lines or reading.arguments):
                continue  # a command and no log: that it shows no failure says nothing
        if number is not None:
            pasted.append(environment.Text(kept.text(), str(number), number))
        readings.append(reading)
        facts += derive.of_reading(reading, number, knowledge)
    heard = complaint.hear(parts.words, knowledge)
    facts += heard.facts
    facts += _quoted(parts.words, "complaint", knowledge) if parts.words != parts.log.strip() else []
    commands += [(one, None, 1) for one in [_command_in(case, knowledge)] if one and not commands]
    for one, number, line in commands:
        facts += command.facts(one, knowledge, "command", number, line)
    facts += context.facts(case.context, knowledge)
    for where, text in context.texts(case.context):
        facts += _searched(where, text, knowledge)
        pasted.append(environment.Text(text, f"context:{where}"))
    pasted.append(environment.Text(context.scrape(case.context), "context:metrics"))
    shown = environment.facts(pasted)
    facts += shown
    readings = [_as_output(reading, shown) for reading in readings]
    facts += derive.from_facts(facts, knowledge)
    first = commands[0][0] if commands else ""
    return Observation(tuple(facts), parts.words, heard.kinds, heard.unknown, tuple(readings), first)


def _speaks(reading: log.Reading) -> bool:
    """Whether it holds lines that only a server's log has."""
    shows = any(hit.role in ("root", "failure", "aftermath") for hit in reading.hits)
    return bool(shows or reading.milestones or reading.statistics.lines or reading.exceptions or reading.arguments)


def _as_output(reading: log.Reading, shown: list[Fact]) -> log.Reading:
    """A list of packages names vLLM and is no log of it: that it shows no failure says nothing."""
    outputs = any(fact.origin.kind == "environment" for fact in shown)
    speaks = _speaks(reading)
    scraped = any(fact.origin.kind == "metric" for fact in shown)
    return reading.but(is_vllm=False) if outputs and not speaks and not scraped else reading


def language(case: Case, observation: Observation) -> str:
    """The language of the answer: the one asked for, else that of the operator's own words."""
    if case.lang != "auto":
        return case.lang
    return "zh" if words.is_chinese(observation.words) else "en"


def _own_words(case: Case) -> tuple[str, list[tuple[int, Iterable[bytes]]]]:
    """TEXT and the words on standard input on one side, streams of bytes with their places on the other."""
    said: list[str] = [case.text] if case.text else []
    streams: list[tuple[int, Iterable[bytes]]] = []
    for number, attachment in enumerate(case.attachments):
        if attachment.name != "-":
            streams.append((number, attachment.blocks))
            continue
        head, rest = _head(attachment)
        text = "".join(piece.text for piece in lines.pieces([head]))
        found = command.pasted(text) if len(head) < HEAD else None
        if found and not found.rest.strip():
            streams.append((number, rest))
            continue
        parts = split(text)
        if len(head) < HEAD and (found or not parts.log):
            said.append(text)
        else:
            said.append("\n".join(part for part in (parts.words, parts.command) if part)[: complaint.LONGEST])
            streams.append((number, rest))
    return "\n".join(said), streams


def _head(attachment: Attachment) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of a stream, and an iterator over the whole of it."""
    blocks = iter(attachment.blocks)
    head: list[bytes] = []
    size = 0
    while size < HEAD and (block := next(blocks, None)) is not None:
        head.append(block)
        size += len(block)

    def whole() -> Iterator[bytes]:
        yield from head
        yield from blocks

    return b"".join(head)[:HEAD], whole()


def _command_in(case: Case, knowledge: Knowledge) -> str:
    """A start command that the context states somewhere."""
    for where, text in context.texts(case.context):
        pasted = command.in_file(text, knowledge) if where.endswith("command") else command.pasted(text)
        found = pasted.command if pasted else split(text).command
        if found:
            return found
    return ""


def _quoted(text: str, kind: str, knowledge: Knowledge) -> list[Fact]:
    """Signs of messages that are quoted inside a sentence."""
    if not text:
        return []
    reading = log.read([text.encode("utf-8", "replace")], knowledge.section("signs"))
    return [
        fact.but(origin=Origin(kind, fact.origin.text, f"{kind}:{fact.origin.source}"))  # type: ignore[arg-type]
        for fact in derive.of_signs(reading, None)
    ]


def _searched(where: str, text: str, knowledge: Knowledge) -> Iterator[Fact]:
    """Signs, concepts and flags in a text of the context; its concepts count as near, since they were not the
    complaint."""
    yield from _quoted(text, "context", knowledge)
    if environment.lines(text):  # what a tool prints are no words of the operator
        return
    for fact in complaint.hear(text, knowledge, "context").facts:
        family = fact.name.partition(".")[0]
        if family not in {"lexical", "stage"} and not (family == "says" and where.startswith("gpu")):
            yield fact.but(grade="near", origin=fact.origin.but(source=f"context:{where}:{fact.origin.source}"))

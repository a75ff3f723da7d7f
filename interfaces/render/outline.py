"""What an answer shows and in which order, once for every format that people read: blocks of styled words.

The terminal and Markdown only decide how a block looks. Here the document of an answer becomes a list of blocks, in the
product's own phrases.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    from engine.knowledge.store import Knowledge

    Style = Literal["", "strong", "faint", "quote", "value"]
    # "quote" is what was seen or typed, "value" a name or setting that stays on one line.
    Part = tuple[Style, str]
    Kind = Literal["title", "heading", "paragraph", "item", "code"]
    Block = tuple[Kind, int, str, Sequence[Part]]  # kind, depth, marker of an item, words
    Object = Mapping[str, Any]

MOST_OTHERS = 7
LONGEST_QUOTE = 400  # characters of one piece of evidence; JSON has it whole


def outline(document: Object, knowledge: Knowledge) -> Iterator[Block]:
    """The blocks of an answer, best first: what it is, why, how to check, how to fix, what else it may be."""
    return Outline(knowledge, document["lang"]).answer(document)


def say(template: str, **values: str | Part | list[Part]) -> list[Part]:
    """`template` with its placeholders filled; a value may bring a style of its own, or be several parts."""
    parts: list[Part] = []
    while template:
        before, _, rest = template.partition("{")
        name, _, template = rest.partition("}")
        parts.append(("", before))
        if name:
            value = values[name]
            parts += value if isinstance(value, list) else [("", value) if isinstance(value, str) else value]
    return [part for part in parts if part[1]]


def quoted(text: str) -> Part:
    """What was seen, shortened where it is longer than a person would read."""
    return "quote", text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"


class Outline:
    """Makes the blocks, in the phrases of one language."""

    def __init__(self, knowledge: Knowledge, lang: str) -> None:
        self.knowledge = knowledge
        self.lang = lang
        self.phrases = knowledge.phrases(lang)

    def answer(self, document: Object) -> Iterator[Block]:
        causes, status = document["causes"], document["status"]
        if status == "answered" and causes:
            yield from self.first_cause(causes[0], document)
            yield from self.others(causes[1:])
        else:
            yield self.title(f"headline.{status}")
            yield self.paragraph(f"note.{status}")
            yield from self.harmless(causes)
        yield from self.ruled_out(document["ruled_out"])
        yield from self.question(document["question"])
        yield from self.understood(document)
        yield from self.missing(document)
        if "trace" in document:
            yield from self.trace(document["trace"])

    # -- the first cause

    def first_cause(self, cause: Object, document: Object) -> Iterator[Block]:
        yield from self.headline(cause)
        yield from self.section("why", [("paragraph", 0, "", [("", cause["why"])])])
        yield from self.section("evidence", self.evidence(cause["evidence"]))
        yield from self.section("against", self.evidence(cause["against"]))
        yield from self.section("checks", self.checks(cause["checks"]))
        yield from self.section("fixes", self.fixes(cause["fixes"]))
        if document["command"]:
            yield from self.section("command", [code(0, document["command"]["after"])])

    def headline(self, cause: Object) -> Iterator[Block]:
        phrase, share = f"headline.{cause['verdict']}", self.percent(cause["confidence"])
        yield self.title(phrase, percent=share, cause=("strong", cause["title"]))
        yield self.paragraph("identity", area=("faint", self.area(cause)), id=("faint", cause["id"]))
        if cause["verdict"] == "possible":
            yield self.paragraph("note.possible")

    def area(self, cause: Object) -> str:
        return self.phrases.get(f"area.{cause['area']}", cause["area"])

    def percent(self, confidence: float) -> str:
        """A confidence in whole percent; never 0 or 100, since nothing here is certain."""
        return self.phrases["percent"].format(number=min(99, max(1, round(confidence * 100))))

    def evidence(self, pieces: Iterable[Object]) -> Iterator[Block]:
        for piece in pieces:
            yield self.item("seen", where=("faint", piece["where"]), text=quoted(piece["text"]))

    def checks(self, checks: Sequence[Object]) -> Iterator[Block]:
        for number, check in enumerate(checks, 1):
            yield "item", 0, f"{number}.", [("", check["text"])]
            if check["command"]:
                yield code(1, check["command"])
            for reading in check["reads"]:
                yield self.item("reading", depth=1, sees=reading["if"], means=reading["then"])

    def fixes(self, fixes: Sequence[Object]) -> Iterator[Block]:
        for number, fix in enumerate(fixes, 1):
            yield "item", 0, f"{number}.", [("", fix["text"]), *self.nature(fix)]
            yield from self.changes(fix["changes"])
            yield from (code(1, command) for command in fix["commands"])
            for effect in fix["side_effects"]:
                yield self.item("side-effect", depth=1, text=effect)
            if fix["verify"]:
                yield self.item("verify", depth=1, text=fix["verify"])

    def nature(self, fix: Object) -> Sequence[Part]:
        """In brackets: whether the fix cures, what it takes, and for which versions it is."""
        if fix["kind"] == "none-needed":
            return ()
        known = (f"{key}.{fix[key]}" for key in ("effect", "restart", "risk") if fix[key])
        words = [*(self.phrases[key] for key in known), *filter(None, [fix["applies"]])]
        return say(self.phrases["nature"], words=("faint", self.phrases["list.and"].join(words))) if words else ()

    def changes(self, changes: Iterable[Object]) -> Iterator[Block]:
        for change in changes:
            before, after = change["from"] or "", change["to"] or ""
            phrase = f"change.{_direction(change)}"
            name: Part = ("value", change["name"])
            yield self.item(phrase, depth=1, name=name, before=("value", before), after=("value", after))

    # -- the rest

    def others(self, causes: Sequence[Object]) -> Iterator[Block]:
        shown = [
            self.item(
                "other", percent=self.percent(cause["confidence"]), cause=cause["title"], id=("faint", cause["id"])
            )
            for cause in causes[:MOST_OTHERS]
        ]
        if len(causes) > MOST_OTHERS:
            shown.append(self.item("more", count=str(len(causes) - MOST_OTHERS)))
        return self.section("others", shown)

    def harmless(self, causes: Iterable[Object]) -> Iterator[Block]:
        """Causes beside a healthy log: lines that look bad and need no fix."""
        for cause in causes:
            yield "heading", 0, "", [("", cause["title"])]
            yield "paragraph", 0, "", [("", cause["why"])]
            yield from self.evidence(cause["evidence"])
            yield from self.fixes(cause["fixes"])

    def ruled_out(self, causes: Iterable[Object]) -> Iterator[Block]:
        blocks: list[Block] = []
        for cause in causes:
            blocks.append(("item", 0, "-", [("", cause["title"])]))
            for piece in cause["evidence"]:
                blocks.append(self.item("seen", depth=1, where=("faint", piece["where"]), text=quoted(piece["text"])))
        return self.section("ruled-out", blocks)

    def question(self, question: Object | None) -> Iterator[Block]:
        if question is None or not question["text"]:
            return
        yield self.heading("question")
        yield "paragraph", 0, "", [("strong", question["text"])]
        yield from self.answers(question["id"], question["options"])
        if question["command"]:
            yield self.paragraph("run")
            yield code(0, question["command"])

    def answers(self, question: str, options: Iterable[Object]) -> Iterator[Block]:
        """Each option with the arguments that give it as the answer."""
        settles = self.settles(question)
        for option in options:
            flags = settles.get(option["value"])
            how = say(self.phrases["answer-with"], flag=flags) if flags else []
            yield "item", 0, "-", [("", option["text"]), *how]

    def settles(self, question: str) -> dict[str, list[Part]]:
        """For each option the arguments that give it as the answer, each whole."""
        options = (self.knowledge.item("question", question) or {}).get("options", ())
        return {option["value"]: _flags(option.get("facts", {})) for option in options}

    def understood(self, document: Object) -> Iterator[Block]:
        words: list[Part] = [("", symptom["title"]) for symptom in document["symptoms"]]
        for each in document["understood"]:
            known = any(self.knowledge.item(kind, each["id"]) for kind in ("sign", "symptom", "cause"))
            words.append(("", each["text"]) if known else quoted(each["text"]))
        blocks: list[Block] = [("item", 0, "-", [part]) for part in dict.fromkeys(words)]
        if not blocks and document["status"] == "unknown":
            blocks = [self.paragraph("understood.nothing")]
        return self.section("understood", blocks)

    def missing(self, document: Object) -> Iterator[Block]:
        blocks: list[Block] = []
        for each in document["missing"]:
            blocks.append(("item", 0, "-", [("", each["text"])]))
            if each["command"]:
                blocks.append(code(1, each["command"]))
        if not blocks and document["status"] == "unknown":
            blocks = [self.paragraph("missing.nothing")]
        return self.section("missing", blocks)

    # -- the trace

    def trace(self, steps: Sequence[Object]) -> Iterator[Block]:
        yield self.heading("trace")
        if not steps:
            yield self.paragraph("trace.nothing")
        level = 0
        for step in steps:
            if step["level"] != level:
                level = step["level"]
                yield "item", 0, "-", say(self.phrases["trace.level"], level=("strong", str(level)))
            reasons = self.phrases["list.and"].join(map(self.atom, step["from"]))
            conclusion = self.atom(step["conclusion"])
            rule: Part = ("faint", step["rule"])
            yield self.item("trace.step", depth=1, conclusion=conclusion, reasons=reasons, rule=rule)

    def atom(self, atom: str) -> str:
        """An atom of the rules in words: its kind, and the title of what it names."""
        kind, _, name = atom.partition(":")
        for prefix in ("not", "may"):
            if kind.startswith(f"{prefix}-"):
                return self.phrases[f"atom.{prefix}"].replace("{name}", self.atom(atom[4:]))
        entry = self.knowledge.item(_ENTRIES.get(kind, ""), name)
        words = (entry or {}).get("title") or (entry or {}).get("meaning")
        phrase = self.phrases.get(f"atom.{kind}")
        return phrase.replace("{name}", words[self.lang] if words else name) if phrase else atom

    # -- blocks

    def section(self, name: str, blocks: Iterable[Block]) -> Iterator[Block]:
        """The blocks under their heading; nothing at all where there are none."""
        first = True
        for block in blocks:
            if first:
                yield self.heading(name)
            first = False
            yield block

    def heading(self, name: str) -> Block:
        return "heading", 0, "", [("", self.phrases[f"heading.{name}"])]

    def title(self, phrase: str, **values: str | Part) -> Block:
        return "title", 0, "", say(self.phrases[phrase], **values)

    def paragraph(self, phrase: str, **values: str | Part) -> Block:
        return "paragraph", 0, "", say(self.phrases[phrase], **values)

    def item(self, phrase: str, depth: int = 0, **values: str | Part) -> Block:
        return "item", depth, "-", say(self.phrases[phrase], **values)


def code(depth: int, command: str) -> Block:
    """A command on lines of its own, which no format may break."""
    return "code", depth, "", [("value", command)]


# Which entry of the knowledge base an atom of a kind names.
_ENTRIES = {"cause": "cause", "lexical": "cause", "suspect": "cause", "symptom": "symptom", "sign": "sign"}


def _direction(change: Object) -> str:
    if change["to"] is None:
        settable = change["kind"] in ("flag", "env") or change["from"] is not None
        return "remove" if settable else "touch"  # a gateway's limit, the number of replicas: there is no one value
    if change["to"] == "":
        return "add"
    return "set" if change["from"] is None else "both"


def _flags(facts: Object) -> list[Part]:
    parts: list[Part] = []
    for name, value in facts.items():
        typed = str(value).lower() if isinstance(value, bool) else str(value)
        parts += [("", " "), ("value", f"--fact {name}={typed}")]
    return parts[1:]

"""`kb show ID`: one entry of the knowledge base, whatever it is: a cause, a flag, a metric …"""

from __future__ import annotations

from engine.errors import UsageError
from engine.knowledge.store import load
from engine.observe.command import canonical
from interfaces.cli import output
from interfaces.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import Language

KINDS = ("cause", "symptom", "sign", "question", "fact", "flag", "variable", "metric", "version")


def show(arguments: list[str]) -> int:
    """Prints the entry. Raises UsageError for an id that nothing has, with the nearest that something has."""
    parser = _parser()
    if parser.helped(arguments):
        return 0
    asked = parser.parse_args(_undashed(arguments))
    knowledge = load()
    kind, name, item = _found(asked.id, knowledge)
    if asked.json:
        from interfaces.render.document import json_bytes  # noqa: PLC0415

        output.answer(json_bytes({"kind": kind, **item}))
        return 0
    from interfaces.render.entry import entry  # noqa: PLC0415
    from interfaces.render.text import layout  # noqa: PLC0415

    lang: Language = "zh" if asked.lang == "zh" else "en"
    output.answer(layout(entry(kind, name, item, knowledge, lang), output.width(), output.colour()).encode())
    return 0


def _parser() -> Parser:
    parser = Parser(
        "show", description="Shows one cause, symptom, log line, question, fact, flag, variable, metric or version."
    )
    parser.add_argument("id", metavar="ID", help="its id or name; a flag with or without its dashes")
    parser.add_argument("--lang", choices=("auto", "en", "zh"), default="auto", help="language; auto is English")
    parser.add_argument("--json", action="store_true", help="the entry as the knowledge base has it")
    return parser


def _undashed(arguments: list[str]) -> list[str]:
    """A flag of vLLM may be shown too, so that what is no option of ours loses its dashes."""
    ours = {"--lang", "--json", "--"}
    return [word if word.partition("=")[0] in ours else word.lstrip("-") or word for word in arguments]


def _found(name: str, knowledge: Knowledge) -> tuple[str, str, Mapping[str, Any]]:
    for kind, spelling in _spellings(name, knowledge):
        item = knowledge.item(kind, spelling)
        if item is not None:
            return kind, spelling, item
    from engine.observe.spelling import closest  # noqa: PLC0415 - on the way out

    known = {each.lstrip("-"): each for kind in KINDS for each in knowledge.ids(kind) if not each.endswith("*")}
    near = closest(name, sorted(known))
    hint = f"Did you mean '{known[near]}'?" if near else "kb list names the causes."
    raise UsageError(f"the knowledge base has nothing called '{name}'.", hint)


def _spellings(name: str, knowledge: Knowledge) -> list[tuple[str, str]]:
    """Every kind with the ways in which an entry of it may be called `name`, most literal first."""
    bare = name.removeprefix("args.").removeprefix("env.").removeprefix("metrics.")
    return [
        *((kind, name) for kind in KINDS),
        ("flag", canonical(bare, knowledge)),
        ("flag", canonical(f"-{bare}", knowledge)),
        ("variable", bare.upper()),
        ("metric", bare),
        ("metric", f"vllm:{bare}"),
        ("version", name.removeprefix("v")),
    ]

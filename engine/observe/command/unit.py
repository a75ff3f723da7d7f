"""A systemd unit: ExecStart= is a command, Environment= sets variables."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.command import shell
from engine.observe.command.parts import LONGEST, Given, Parsed, Place, Stated, Word
from engine.observe.command.pieces import outer, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.knowledge.store import Knowledge

EXEC = regex(r"^[ \t]*ExecStart=[-@:+!]{0,3}((?:[^\\\n]|\\\n|\\)*)", 8)
_ENVIRONMENT = regex(r"^[ \t]*Environment=((?:[^\\\n]|\\\n|\\)*)", 8)


def parse(text: str, knowledge: Knowledge) -> Parsed:
    """The unit's command with the unit's variables. Never raises."""
    text = text[:LONGEST]
    variables = tuple(_variables(text))
    for match in EXEC.finditer(text):
        inner = shell.parse(match.group(1), knowledge)
        if inner.is_server:
            found = outer(inner, plain(text, match.start(1), match.end(1), "as-is"))
            place = found.variable_place if found.is_docker else Place(match.start(), "shell", "Environment=", "\n")
            stated = () if found.is_docker else (Stated("where", "bare-metal", match.start(), match.start(1)),)
            return found.but(variables=(*variables, *found.variables), variable_place=place, stated=stated, form="unit")  # type: ignore[no-any-return]
    return Parsed((), variables, (), None, False, False, 0, len(text), form="unit")


def _variables(text: str) -> Iterator[Given]:
    for match in _ENVIRONMENT.finditer(text):
        words = shell.words_of(match.group(1))
        end = text.find("\n", match.end())
        for word in words:
            name, equals, value = word.text.partition("=")
            if equals:
                place = Word(word.text, match.start(1) + word.start, match.start(1) + word.end)
                whole = (match.start(), end + 1 if end >= 0 else len(text)) if len(words) == 1 else None
                yield Given(name, value, place, place, "shell", whole)

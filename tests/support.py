"""The short ways into the engine that tests of every room share: a case in, an answer out.

`mini()` is a knowledge base of four causes that the tests own, so that they tell the engine's faults from the
knowledge's. `real()` is the one that ships; KB_TEST_HOME names another folder for it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.diagnose import diagnose
from engine.knowledge.compile import build
from engine.knowledge.lint import lint
from engine.knowledge.store import HOME, Knowledge, load
from engine.model import Attachment, Case
from engine.reason.rank import CLAIM

if TYPE_CHECKING:
    from engine.model import Answer, Fact

MINI = Path(__file__).parent / "engine" / "knowledge" / "mini"


@cache
def mini() -> Knowledge:
    return Knowledge(build(str(MINI)))


@cache
def real() -> Knowledge:
    return load(os.environ.get("KB_TEST_HOME", HOME))


def attached(log: str | bytes, name: str = "vllm.log") -> Attachment:
    return Attachment(name, [log.encode() if isinstance(log, str) else log])


def case(text: str = "", *logs: str | bytes, command: str = "", **context: Any) -> Case:
    """A case of words, logs, a command and a context."""
    return Case(text, tuple(attached(log) for log in logs), command, context)


def answer(
    text: str = "", *logs: str | bytes, command: str = "", knowledge: Knowledge | None = None, **context: Any
) -> Answer:
    """The answer to such a case, of the small knowledge base unless another is given."""
    return diagnose(case(text, *logs, command=command, **context), knowledge or mini())


def named(found: Answer) -> list[str]:
    return [cause.id for cause in found.causes]


def claimed(found: Answer) -> list[str]:
    return [cause.id for cause in found.causes if cause.confidence >= CLAIM]


def values(facts: list[Fact] | tuple[Fact, ...], name: str) -> list[Any]:
    """What is known of one fact, in order."""
    return [fact.value for fact in facts if fact.name == name and fact.known]


def edited(home: Path, file: str, old: str, new: str) -> int:
    """Replaces text of a knowledge file that stands there once; the line where it stood."""
    path = home / file
    content = path.read_text(encoding="utf-8")
    assert content.count(old) == 1, f"{file} holds {old!r} {content.count(old)} times"
    path.write_text(content.replace(old, new), encoding="utf-8")
    return content[: content.index(old)].count("\n") + 1


def findings(home: Path) -> list[str]:
    """What lint says of the knowledge base in that folder."""
    return [str(finding) for finding in lint(str(home))]

"""Facts for the tests of this room, without the observers: what was seen, where, and how exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.model import Fact, Origin
from engine.reason import infer, rank
from engine.reason.agenda import AGENDA
from tests.support import mini

if TYPE_CHECKING:
    from engine.knowledge.store import Knowledge
    from engine.model import Grade, Kind, Scalar
    from engine.reason.rank import Ranking, Suspect
    from engine.versions import Range


def fact(
    name: str,
    value: Scalar = True,
    kind: Kind = "log",
    source: str = "",
    grade: Grade = "exact",
    known: bool = True,
) -> Fact:
    """A fact from a source of its own unless one is named."""
    return Fact(name, value, Origin(kind, f"{name} {value}", source or f"{kind}:{name}"), grade, known)


def ranked(
    *facts: Fact, version: Range | None = None, platform: str | None = None, knowledge: Knowledge | None = None
) -> Ranking:
    """What follows from `facts` in the small knowledge base, ranked."""
    base = knowledge or mini()
    return rank.rank(infer.infer(facts, base, AGENDA), base, version, platform)


def suspect(ranking: Ranking, cause: str) -> Suspect:
    (found,) = [one for one in ranking.suspects if one.cause == cause]
    return found


def score(ranking: Ranking, cause: str) -> float:
    return suspect(ranking, cause).score


def order(ranking: Ranking) -> list[str]:
    return [one.cause for one in ranking.suspects]

"""How likely each answer to a question is under each cause, worked out when the knowledge is compiled.

An option states facts; a cause's own item about such a fact says how likely the option is under it, by the weight of
the item. Where a cause says nothing about any option of a question, all are equally likely and nothing is stored.
"""

from __future__ import annotations

from engine.model import Fact, Origin
from engine.reason.atoms import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

LEAST = 0.02  # share of an option that other options leave over


def shares(
    answers: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]], table: Mapping[str, float]
) -> dict[str, tuple[float, ...]]:
    """For each question that says something about a cause: the share of each option that settles facts, adding up to 1.

    `answers` holds the cause's comparisons by fact, as rules.py makes them; `table` the share that a weight stands
    for."""
    found = {}
    for name, question in questions.items():
        options = informative(question)
        stated = [_share(option["facts"], answers, table) for option in options]
        if any(share is not None for share in stated):
            found[name] = _filled(stated, table["unknown"])
    return found


def informative(question: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The options that settle something; "don't know" does not."""
    return [option for option in question["options"] if option.get("facts")]


def _filled(stated: Sequence[float | None], unknown: float) -> tuple[float, ...]:
    rest = max(LEAST, 1.0 - sum(share for share in stated if share is not None))
    base = min(unknown, rest / max(1, sum(share is None for share in stated)))
    filled = [base if share is None else share for share in stated]
    return tuple(round(share / sum(filled), 4) for share in filled)


def _share(facts: Mapping[str, Any], answers: Mapping[str, Any], table: Mapping[str, float]) -> float | None:
    """The share of an option by the item that says most about it: farthest from even."""
    best: float | None = None
    for name, value in facts.items():
        supposed = Fact(name, value, Origin("answer", "", ""))
        for operator, operand, is_fact, weight in answers.get(name, ()):
            if not is_fact and compare(supposed, operator, operand):
                share = table[weight]
                best = share if best is None or abs(share - EVEN) > abs(best - EVEN) else best
    return best


EVEN = 0.3  # an option that is neither likely nor unlikely

"""Facts -> atoms for the chain, and back: which observations an atom stands for.

Comparisons are evaluated here, in Python, with three values: an atom for what holds, a `not-` atom for what is known
not to hold, nothing for what is unknown.
"""

from __future__ import annotations

from engine.errors import KnowledgeError
from engine.versions import Constraint, Range, holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.knowledge.store import Knowledge
    from engine.model import Fact

GRADES = {"exact": 0, "near": 1, "faint": 2}
FALSE = (False, "false", "False", "no", "0", "off", "")
_FAMILIES = {"sign": "sign", "says": "says", "lexical": "lexical", "symptom": "symptom"}
TRUST = ("answer", "command", "log", "environment", "metric", "context", "derived", "complaint")


def of_facts(facts: Sequence[Fact], knowledge: Knowledge) -> dict[str, tuple[Fact, ...]]:
    """Each atom with the facts that it stands on, most exact first."""
    found: dict[str, list[Fact]] = {}
    by_name: dict[str, list[Fact]] = {}
    for fact in facts:
        by_name.setdefault(fact.name, []).append(fact)
        family, _, rest = fact.name.partition(".")
        if family in _FAMILIES:
            atom = f"{_FAMILIES[family]}:{rest}"
            found.setdefault(atom if fact.known else f"not-{atom}", []).append(fact)
    tests = knowledge.section("tests")
    for name in by_name:
        for atom, left, operator, operand, is_fact in tests.get(name, ()):
            for holding, fact in _evaluated(by_name, left, operator, operand, is_fact):
                found.setdefault(atom if holding else f"not-{atom}", []).append(fact)
    _settle(found)
    return {atom: tuple(sorted(dict.fromkeys(stood), key=_exactness)) for atom, stood in found.items()}


def _settle(found: dict[str, list[Fact]]) -> None:
    """An operator who says both that it hangs and that it does not is believed in what was said outright."""
    for atom in [atom for atom in found if f"not-{atom}" in found]:
        del found[f"not-{atom}"]


def _exactness(fact: Fact) -> tuple[int, int, int]:
    return GRADES[fact.grade], TRUST.index(fact.origin.kind), fact.origin.line or 0


def _evaluated(
    by_name: Mapping[str, Sequence[Fact]], left: str, operator: str, operand: str, is_fact: bool
) -> Iterable[tuple[bool, Fact]]:
    """Each fact with whether the comparison holds for it; only the best trusted source of a fact speaks."""
    others = [str(fact.value) for fact in _trusted(by_name.get(operand, ()))][:1] if is_fact else [operand]
    for fact in _trusted(by_name.get(left, ())):
        for other in others:
            holding = compare(fact, operator, other)
            if holding is not None:
                yield holding, fact


def _trusted(facts: Sequence[Fact]) -> list[Fact]:
    if not facts:
        return []
    best = min(TRUST.index(fact.origin.kind) for fact in facts)
    return [fact for fact in facts if TRUST.index(fact.origin.kind) == best]


def compare(fact: Fact, operator: str, operand: str) -> bool | None:
    """Whether `fact OPERATOR operand` holds; None when it cannot be told."""
    if not operator:
        return fact.known and fact.value not in FALSE
    if not fact.known:
        return None
    if fact.name.endswith(".version"):
        return _compare_versions(str(fact.value), operator, operand)
    left, right = number(fact.value), number(operand)
    if left is not None and right is not None:
        return bool(_OPERATORS[operator](left, right))
    if operator in ("==", "!="):
        same = str(fact.value).strip().lower() == operand.strip().lower()
        return same if operator == "==" else not same
    return None


def _compare_versions(stated: str, operator: str, operand: str) -> bool | None:
    running = Range.parse(stated)
    try:
        return None if running is None else holds(Constraint.parse(f"{operator}{operand}"), running)
    except KnowledgeError:
        return None


_OPERATORS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_UNITS = {"k": 1_000.0, "m": 1_000_000.0, "g": 1_000_000_000.0, "K": 1_024.0, "M": 1_048_576.0, "G": 1_073_741_824.0}


def number(value: object) -> float | None:
    """The number that a value begins with, as vLLM's command line reads it (32k is 32,000, 32K is 32,768); None for
    text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    text = str(value).strip().replace(",", "")
    end = 0
    while end < len(text) and (text[end].isdigit() or (text[end] in ".-" and not (end and text[end] == "-"))):
        end += 1
    try:
        found = float(text[:end])
    except ValueError:
        return None
    rest = text[end:]
    if not rest or rest[0].isspace() or rest[0] in "%(,":
        return found
    return found * _UNITS[rest] if rest in _UNITS else None

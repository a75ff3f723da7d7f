"""Knowledge -> rule sets. Several levels deep: facts, symptoms, evidence items, candidate causes; and a second chain of
fixes and cautions.

Rule ids say where a rule comes from: `symptom.<id>.<n>`, `item.<cause>.<n>[.<alternative>]`, `cause.<cause>.<n>`,
`fix.<cause>.<fix>`, `caution.<cause>.<fix>.<worsened>`.
"""

from __future__ import annotations

from engine.knowledge.conditions import Test, bodies, parse_test
from engine.model import Rule, RuleSet, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from engine.knowledge.base import Base, Entry

MOST_RULES = 90  # of one set: a session costs by the rules it sees
POSITIVE = ("decisive", "strong", "some", "weak")
RESEMBLANCE = "resemblance"  # the item of a cause whose description a complaint resembles


class Compiled(Value):
    """Rule sets of both chains, the comparisons that feed them, and what ranking must know of each cause."""

    sets: tuple[RuleSet, ...]
    advice: tuple[RuleSet, ...]
    tests: Mapping[str, Test]
    logic: Mapping[str, Mapping[str, Any]]


def compile_rules(base: Base) -> Compiled:
    """Everything that the chain runs on."""
    tests: dict[str, Test] = {}
    sets = _packed("symptoms", [[*_of_symptom(entry, tests)] for entry in base.of("symptom").values()])
    for area in sorted({entry.data["area"] for entry in base.of("cause").values()}):
        causes = [entry for entry in base.of("cause").values() if entry.data["area"] == area]
        sets += _packed(area, [[*_of_cause(entry, tests)] for entry in causes])
    advice = []
    for entry in base.of("cause").values():
        advice.append([*_of_fixes(entry, base, tests)])
    logic = {entry.id: _logic(entry) for entry in base.of("cause").values()}
    return Compiled(tuple(sets), tuple(_packed("advice", advice)), tests, logic)


def _packed(name: str, groups: Sequence[list[Rule]]) -> list[RuleSet]:
    """The groups in as few sets as their size allows; a group stays together."""
    sets: list[list[Rule]] = [[]]
    for group in groups:
        if sets[-1] and len(sets[-1]) + len(group) > MOST_RULES:
            sets.append([])
        sets[-1] += group
    return [RuleSet(f"{name}-{number}", tuple(rules)) for number, rules in enumerate(sets) if rules]


def _of_symptom(entry: Entry, tests: dict[str, Test]) -> Iterator[Rule]:
    number = 0
    for condition in entry.data["shown_by"]:
        for body in bodies(condition, tests):
            yield Rule(f"symptom.{entry.id}.{number}", body, f"symptom:{entry.id}")
            number += 1


def _of_cause(entry: Entry, tests: dict[str, Test]) -> Iterator[Rule]:
    for number, item in enumerate(entry.data["evidence"]):
        name = f"{entry.id}.{number}"
        for alternative, body in enumerate(bodies(item, tests)):
            suffix = f".{alternative}" if alternative else ""
            yield Rule(f"item.{name}{suffix}", body, f"item:{name}")
        if item["weight"] in POSITIVE:
            yield Rule(f"cause.{name}", (f"item:{name}",), f"cause:{entry.id}")
    name = f"{entry.id}.{RESEMBLANCE}"
    yield Rule(f"item.{name}", (f"lexical:{entry.id}",), f"item:{name}")
    yield Rule(f"cause.{name}", (f"item:{name}",), f"cause:{entry.id}")


def _of_fixes(entry: Entry, base: Base, tests: dict[str, Test]) -> Iterator[Rule]:
    """A fix is offered where its cause is suspected and nothing forbids it; a caution where it worsens another suspect."""
    for fix in entry.data["fixes"]:
        name = f"{entry.id}.{fix['id']}"
        atom = fix_atom(entry.id, fix["id"])
        body = [f"suspect:{entry.id}"]
        if fix.get("when"):
            test = parse_test(fix["when"])
            tests[test.atom] = test
            body.append(f"may-{test.atom}")
        yield Rule(f"fix.{name}", tuple(body), atom)
        for worsened in _worsened(fix, base):
            if worsened != entry.id:
                yield Rule(f"caution.{name}.{worsened}", (atom, f"suspect:{worsened}"), caution_atom(entry.id, fix["id"], worsened))


def fix_atom(cause: str, fix: str) -> str:
    return f"fix:{_short(f'{cause}.{fix}')}"


def caution_atom(cause: str, fix: str, worsened: str) -> str:
    return f"caution:{_short(f'{cause}.{fix}.{worsened}')}"


def _short(name: str) -> str:
    """A name of at most 64 characters: the rule engine takes no more."""
    from zlib import crc32  # noqa: PLC0415 - compile time and advice only

    return name if len(name) <= 64 else f"{name[:55]}.{crc32(name.encode()):08x}"


def _worsened(fix: Mapping[str, Any], base: Base) -> list[str]:
    found = []
    for change in fix.get("changes", []):
        for effect in base.effects:
            if change.get("flag") == effect.data["flag"] and _direction(change) == effect.data["direction"]:
                found += effect.data["worsens"]
    return [cause for cause in dict.fromkeys(found) if cause in base.of("cause")]


def _direction(change: Mapping[str, Any]) -> str:
    """Which way a change moves its setting, as far as the file says."""
    to = change.get("to")
    if to is None or to is False:
        return "off"
    if isinstance(to, str) and (to == "half" or to.startswith("-")):
        return "down"
    if isinstance(to, str) and (to == "double" or to.startswith("+")):
        return "up"
    return "down" if change.get("otherwise") == "half" else "up" if change.get("otherwise") == "double" else "on"


def _logic(entry: Entry) -> dict[str, Any]:
    data = entry.data
    return {
        "prior": data["prior"],
        "weights": {**{f"{entry.id}.{n}": item["weight"] for n, item in enumerate(data["evidence"])}, f"{entry.id}.{RESEMBLANCE}": "weak"},
        "refines": tuple(data.get("more_specific_than", ())),
        "vllm": data["applies"].get("vllm"),
        "platform": tuple(data["applies"].get("platform", ())),
        "answers": _answers(entry),
        "harmless": data["fixes"][0]["kind"] == "none-needed",
    }


def _answers(entry: Entry) -> dict[str, tuple[tuple[str, str, bool, str], ...]]:
    """For each fact that an answer to a question can settle: the comparisons of this cause with their weights."""
    found: dict[str, list[tuple[str, str, bool, str]]] = {}
    for item in entry.data["evidence"]:
        for test in _tests_of(item):
            found.setdefault(test.fact, []).append((test.operator, test.operand, test.operand_is_fact, item["weight"]))
    return {fact: tuple(tests) for fact, tests in found.items()}


def _tests_of(condition: Mapping[str, Any]) -> Iterator[Test]:
    if "fact" in condition:
        yield parse_test(condition["fact"])
    for concept in [condition["says"]] if isinstance(condition.get("says"), str) else condition.get("says") or []:
        yield Test(f"says:{concept}", f"says.{concept}")
    if "symptom" in condition:
        yield Test(f"symptom:{condition['symptom']}", f"symptom.{condition['symptom']}")
    for part in [*condition.get("all", []), *condition.get("any", [])]:
        yield from _tests_of(part)

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

MOST_RULES = 16  # of one set: loading costs by the rules of a set, and a query touches few keys
POSITIVE = ("decisive", "strong", "some", "weak")
RESEMBLANCE = "resemblance"  # the item of a cause whose description a complaint resembles


class Compiled(Value):
    """Rule sets of both chains, the comparisons that feed them, and what ranking must know of each cause."""

    sets: tuple[RuleSet, ...]
    keys: Mapping[str, tuple[str, ...]]  # atom -> the sets to load when it is known
    advice: tuple[RuleSet, ...]
    advice_keys: Mapping[str, tuple[str, ...]]
    tests: Mapping[str, Test]
    logic: Mapping[str, Mapping[str, Any]]


def compile_rules(base: Base) -> Compiled:
    """Everything that the chain runs on."""
    tests: dict[str, Test] = {}
    symptoms = [[rule] for entry in base.of("symptom").values() for rule in _of_symptom(entry, tests)]
    items = [group for entry in base.of("cause").values() for group in _of_cause(entry, tests)]
    fixes = [[*_of_fixes(entry, base, tests)] for entry in base.of("cause").values()]
    sets, keys = _packed("rules", [*symptoms, *items])
    advice, advice_keys = _packed("advice", fixes)
    logic = {entry.id: _logic(entry) for entry in base.of("cause").values()}
    return Compiled(sets, keys, advice, advice_keys, tests, logic)


def _packed(name: str, groups: Sequence[list[Rule]]) -> tuple[tuple[RuleSet, ...], dict[str, tuple[str, ...]]]:
    """The groups in sets, and for each atom the sets to load once it is known.

    A rule needs all atoms of its body, so it is enough to wait for the rarest of them: its key. Groups that wait for
    the same atom lie together, and a complaint, which knows a dozen atoms, loads a dozen sets at most."""
    uses: dict[str, int] = {}
    for group in groups:
        for rule in group:
            for atom in rule.body:
                uses[atom] = uses.get(atom, 0) + 1
    keyed = sorted(((_keys(group, uses), group) for group in groups), key=lambda pair: (pair[0], pair[1][0].id))
    sets: list[list[Rule]] = [[]]
    loads: dict[str, dict[str, None]] = {}
    for keys, group in keyed:
        if sets[-1] and len(sets[-1]) + len(group) > MOST_RULES:
            sets.append([])
        sets[-1] += group
        for key in keys:
            loads.setdefault(key, {})[f"{name}-{len(sets) - 1}"] = None
    made = tuple(RuleSet(f"{name}-{number}", tuple(rules)) for number, rules in enumerate(sets) if rules)
    return made, {key: tuple(found) for key, found in loads.items()}


def _keys(group: Sequence[Rule], uses: Mapping[str, int]) -> tuple[str, ...]:
    """The rarest atom of each rule of the group that does not wait for another rule of it."""
    heads = {rule.head for rule in group}
    open_rules = [rule for rule in group if not heads.issuperset(rule.body)]
    return tuple(sorted({min(rule.body, key=lambda atom: (uses[atom], atom)) for rule in open_rules}))


def feeding(sets: Sequence[RuleSet]) -> frozenset[str]:
    """The conclusions that a rule of another set than their own mentions."""
    homes: dict[str, set[str]] = {}
    for one in sets:
        for rule in one.rules:
            homes.setdefault(rule.head, set()).add(one.id)
    return frozenset(
        atom for one in sets for rule in one.rules for atom in rule.body if atom in homes and homes[atom] != {one.id}
    )


def _of_symptom(entry: Entry, tests: dict[str, Test]) -> Iterator[Rule]:
    number = 0
    for condition in entry.data["shown_by"]:
        for body in bodies(condition, tests):
            yield Rule(f"symptom.{entry.id}.{number}", body, f"symptom:{entry.id}")
            number += 1


def _of_cause(entry: Entry, tests: dict[str, Test]) -> Iterator[list[Rule]]:
    """One group for each item: the rules that give it, and the one that makes the cause a candidate for it."""
    for number, item in enumerate(entry.data["evidence"]):
        name = f"{entry.id}.{number}"
        group = [
            Rule(f"item.{name}{f'.{alternative}' if alternative else ''}", body, f"item:{name}")
            for alternative, body in enumerate(bodies(item, tests))
        ]
        if item["weight"] in POSITIVE:
            group.append(Rule(f"cause.{name}", (f"item:{name}",), f"cause:{entry.id}"))
        yield group
    name = f"{entry.id}.{RESEMBLANCE}"
    yield [
        Rule(f"item.{name}", (f"lexical:{entry.id}",), f"item:{name}"),
        Rule(f"cause.{name}", (f"item:{name}",), f"cause:{entry.id}"),
    ]


def _of_fixes(entry: Entry, base: Base, tests: dict[str, Test]) -> Iterator[Rule]:
    """A fix is offered where its cause is suspected and nothing forbids it; a caution where it worsens another
    suspect."""
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
                yield Rule(
                    f"caution.{name}.{worsened}",
                    (atom, f"suspect:{worsened}"),
                    caution_atom(entry.id, fix["id"], worsened),
                )


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
        "weights": {
            **{f"{entry.id}.{n}": item["weight"] for n, item in enumerate(data["evidence"])},
            f"{entry.id}.{RESEMBLANCE}": "weak",
        },
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

"""What a rule set must keep to, because beyond it the durable_rules engine crashes or hangs instead of complaining.

The figures lie just below the points where the C engine was seen to fail: 256 rules on one condition end the process,
512 values of one property never return, more than 16 conditions are refused in the middle of an evaluation. `kb lint`
reports violations of the whole knowledge base, the durable backend refuses a set that has any. Nothing here needs the
engine, so that a knowledge base written without it still runs with it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.model import Rule, RuleSet

MOST_CONDITIONS = 12
MOST_NAMES = 500  # of one kind in one set; also the most kinds in one set
MOST_SHARING = 250
MOST_RULES = 4000
LONGEST_NAME = 64

_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
_KIND = _LOWER + "-"
_NAME = _LOWER + "_.-"
_SHAPE = "kind:name in lower-case ASCII, the name at most 64 of a-z 0-9 _ . - and not starting with one of _ . -"


def is_atom(text: str) -> bool:
    """Whether `text` matches `[a-z0-9-]+:[a-z0-9][a-z0-9_.-]{0,63}`. Spelled out because `re` costs milliseconds to
    import and a cold query has few."""
    kind, _, name = text.partition(":")
    return (
        kind != ""
        and 0 < len(name) <= LONGEST_NAME
        and name[0] in _LOWER
        and not kind.strip(_KIND)  # strip eats from both ends, so something remains as soon as one character is foreign
        and not name.strip(_NAME)
    )


def violations(rule_sets: Iterable[RuleSet]) -> list[str]:
    """Every way in which the sets, taken as one knowledge base, leave the safe ground; empty when they are sound.

    Each sentence names the set and the rule, quotes the value and says which limit it breaks."""
    rule_sets = tuple(rule_sets)
    return [*_repeated_ids(rule_sets), *(fault for rule_set in rule_sets for fault in _faults(rule_set))]


def _repeated_ids(rule_sets: tuple[RuleSet, ...]) -> Iterator[str]:
    home: dict[str, str] = {}
    sets: set[str] = set()
    for rule_set in rule_sets:
        if rule_set.id in sets:
            yield f"rule set {rule_set.id!r}: the id is used by two rule sets; give one of them another id"
        sets.add(rule_set.id)
        for rule in rule_set.rules:
            if rule.id in home:
                yield f"rule {rule.id!r} in set {rule_set.id!r}: the id is taken by a rule in set {home[rule.id]!r}"
            home[rule.id] = rule_set.id


def _faults(rule_set: RuleSet) -> Iterator[str]:
    users: dict[str, list[Rule]] = {}
    for rule in rule_set.rules:
        for atom in rule.body:
            users.setdefault(atom, []).append(rule)
    yield from _faults_of_rules(rule_set)
    yield from _faults_of_conditions(rule_set, users)
    yield from _faults_of_kinds(rule_set, users)


def _faults_of_rules(rule_set: RuleSet) -> Iterator[str]:
    rules = rule_set.rules
    if len(rules) > MOST_RULES:
        place = _place(rule_set, rules[MOST_RULES])
        yield f"{place}: is rule {MOST_RULES + 1} of the set; split it, at most {MOST_RULES} fit"
    for rule in rules:
        body = rule.body
        if not 0 < len(body) <= MOST_CONDITIONS:
            yield f"{_place(rule_set, rule)}: has {len(body)} conditions; 1 to {MOST_CONDITIONS} are allowed"
        if len(set(body)) < len(body):
            twice = next(atom for atom in body if body.count(atom) > 1)
            yield f"{_place(rule_set, rule)}: repeats the condition {twice!r}; write it once"
        if not is_atom(rule.head):
            yield f"{_place(rule_set, rule)}: the conclusion {rule.head!r} is no atom; write {_SHAPE}"


def _faults_of_conditions(rule_set: RuleSet, users: dict[str, list[Rule]]) -> Iterator[str]:
    for atom, rules in users.items():
        if not is_atom(atom):
            yield f"{_place(rule_set, rules[0])}: the condition {atom!r} is no atom; write {_SHAPE}"
        if len(rules) > MOST_SHARING:
            place = _place(rule_set, rules[MOST_SHARING])
            yield f"{place}: is rule {MOST_SHARING + 1} with the condition {atom!r}; at most {MOST_SHARING} may be"


def _faults_of_kinds(rule_set: RuleSet, users: dict[str, list[Rule]]) -> Iterator[str]:
    """Kinds and names are two levels of one table in the engine, so the same limit holds for both."""
    kinds: dict[str, list[str]] = {}
    for atom in users:
        kinds.setdefault(atom.partition(":")[0], []).append(atom)
    for kind, atoms in kinds.items():
        if len(atoms) > MOST_NAMES:
            atom = atoms[MOST_NAMES]
            place = _place(rule_set, users[atom][0])
            yield f"{place}: {atom!r} is name {MOST_NAMES + 1} of kind {kind!r} in the set; at most {MOST_NAMES} fit"
    if len(kinds) > MOST_NAMES:
        atom = list(kinds.values())[MOST_NAMES][0]
        yield f"{_place(rule_set, users[atom][0])}: {atom!r} brings kind {MOST_NAMES + 1}; at most {MOST_NAMES} fit"


def _place(rule_set: RuleSet, rule: Rule) -> str:
    return f"rule {rule.id!r} in set {rule_set.id!r}"

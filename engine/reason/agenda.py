"""The plain backend: forward chaining with a count of missing conditions for each rule.

It runs where durable_rules cannot be built, and it is the oracle that the property tests hold durable_rules against.
An atom costs as much as the rules that mention it, however many others the set has.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.model import Rule, RuleSet


class _Index:
    """A rule set prepared for evaluation: which rules wait for an atom, and for how many atoms each rule waits."""

    __slots__ = ("missing", "rules", "waiting")

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.missing: list[int] = []
        self.waiting: dict[str, list[int]] = {}
        for position, rule in enumerate(rules):
            self.missing.append(len(rule.body))
            for atom in rule.body:
                self.waiting.setdefault(atom, []).append(position)

    def fire(self, atoms: Iterable[str]) -> list[Rule]:
        rules, waiting, missing = self.rules, self.waiting, self.missing.copy()
        known: set[str] = set()
        fired: list[Rule] = []
        queue = list(atoms)
        for atom in queue:  # conclusions join the end of the queue while it is walked
            if atom in known or atom not in waiting:
                continue
            known.add(atom)
            for position in waiting[atom]:
                missing[position] -= 1
                if not missing[position]:
                    fired.append(rules[position])
                    queue.append(rules[position].head)
        return fired


class Agenda:
    """The backend. It keeps one index for each set id and builds it anew when a set of that id has other rules."""

    name = "agenda"

    def __init__(self) -> None:
        self._indexes: dict[str, _Index] = {}

    def run(self, rule_set: RuleSet, atoms: Iterable[str]) -> list[Rule]:
        """The rules of the set whose bodies hold once everything that follows from `atoms` within it is drawn."""
        index = self._indexes.get(rule_set.id)
        if index is None or index.rules != rule_set.rules:
            index = self._indexes[rule_set.id] = _Index(rule_set.rules)
        return index.fire(atoms)


AGENDA = Agenda()

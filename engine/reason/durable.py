"""The durable_rules backend: the narrow part of that engine which is safe, and nothing else of it.

This is the only module that imports durable_rules, and of its two layers only the C engine `durable_rules_engine`. The
Python layer above it (`durable.engine`) starts two timer chains that race with the deletion of a session, runs an
action again after a minute, swallows what an action raises, rewrites the session's state after each action, and takes
fifty times as long to import. What it would add for rules without actions of their own is the loop in `_Loaded._fire`.

Every precaution below answers a failure that was reproduced with version 2.0.28:

- Rules are conjunctions of plain atoms, checked against `limits` before they are loaded: beyond the limits the engine
  crashes or never returns.
- A session lasts for one call of `run`, under one lock, with a generated id, and is deleted even when the call fails.
  Two session ids may hash alike and then share their facts, so no id ever comes from outside.
- A session is opened by a fact that fires a rule without effect. Deleting a session in which no rule has fired frees a
  pointer that was never set.
- Facts are told one at a time, once, and only where a rule mentions them. The engine takes facts for equal when 32 bits
  of a hash agree; as no fact is told twice, such an answer is a collision, and the fact goes in under another hash.
- Nothing is retracted, negated, compared or matched by pattern.

Deleting the session at once, rather than keeping those of several rule sets open, is also what makes it fast: the next
one reuses memory that is still mapped, and the C heap neither grows with the number of sets nor is handed back and
faulted in again (0.4 ms instead of 3 ms for three sets of 80 rules).
"""

from __future__ import annotations

import os
from _thread import allocate_lock  # `threading` itself is a millisecond that a cold query need not spend

import durable_rules_engine as engine

from engine.errors import KbError, KnowledgeError
from engine.reason.limits import violations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.model import Rule, RuleSet

_OBSERVED = 2  # the engine's answer to a fact whose hash it has seen
_SESSION_IDS = 1000
_BOOT = '"boot":"1"'

_lock = allocate_lock()

# Once a block of this size was freed, glibc keeps smaller ones mapped instead of handing them back. The sessions of the
# engine then reuse their memory: 1 ms less for the first answer of a process, and the 95th percentile falls from 1.3 ms
# to 0.5. The block itself is never touched, so it costs no memory; other C libraries take no notice.
bytes(4 << 20)

# A fork waits for a running evaluation, so that the child inherits an engine without a half-finished session in it.
os.register_at_fork(before=_lock.acquire, after_in_child=_lock.release, after_in_parent=_lock.release)


class _Loaded:
    """A rule set in the engine: its handle, and the text of the fact for each atom that one of its rules mentions."""

    __slots__ = ("facts", "handle", "rules")

    def __init__(self, rule_set: RuleSet) -> None:
        faults = violations((rule_set,))
        if faults:
            raise KnowledgeError(faults[0], "Run `kb lint` for all of them.")
        self.rules = rule_set.rules
        atoms = {atom: atom.partition(":") for rule in rule_set.rules for atom in rule.body}
        self.facts = {atom: f'"kind":"{kind}","name":"{name}"' for atom, (kind, _, name) in atoms.items()}
        self.handle: int = engine.create_ruleset(rule_set.id, _definition(rule_set.rules, self.facts))

    def open(self, sid: str) -> int:
        """Start a session and return where the engine keeps it."""
        offset: int = engine.assert_fact(self.handle, f'{{"sid":"{sid}",{_BOOT}}}')[1]
        engine.start_action_for_state(self.handle, offset)
        engine.complete_and_start_action(self.handle, offset)
        return offset

    def evaluate(self, atoms: Iterable[str], sid: str, offset: int) -> list[Rule]:
        told: set[str] = set()
        for atom in atoms:
            self._tell(atom, sid, told)
        return self._fire(sid, offset, told)

    def close(self, sid: str) -> None:
        engine.delete_state(self.handle, sid)

    def _fire(self, sid: str, offset: int, told: set[str]) -> list[Rule]:
        fired: list[Rule] = []
        started = engine.start_action_for_state(self.handle, offset)
        action = started and started[1]
        while action:  # {"17":{"m_0":{...},...}}: the rule's position, then the facts that it matched
            rule = self.rules[int(action[2 : action.index('"', 2)])]
            fired.append(rule)
            self._tell(rule.head, sid, told)
            action = engine.complete_and_start_action(self.handle, offset)
        return fired

    def _tell(self, atom: str, sid: str, told: set[str]) -> None:
        fact = self.facts.get(atom)
        if fact is None or atom in told:
            return
        told.add(atom)
        result = engine.assert_fact(self.handle, f'{{"sid":"{sid}",{fact}}}')[0]
        attempt = 0
        while result == _OBSERVED:
            attempt += 1
            result = engine.assert_fact(self.handle, f'{{"sid":"{sid}",{fact},"again":"{attempt}"}}')[0]
        if result:
            raise KbError(
                f"durable_rules answered {result} to the fact {atom!r}.",
                "Set KB_ENGINE=agenda to answer without it, and report this.",
            )


class Durable:
    """The backend. A set is loaded once in a process, and again only when a set of its id has other rules."""

    name = "durable"

    def __init__(self) -> None:
        self._loaded: dict[str, _Loaded] = {}
        self._runs = 0

    def run(self, rule_set: RuleSet, atoms: Iterable[str]) -> list[Rule]:
        """The rules of the set whose bodies hold once everything that follows from `atoms` within it is drawn.

        Raises KnowledgeError for a set beyond the limits, KbError when the engine itself fails."""
        with _lock:
            self._runs += 1
            sid = f"e{self._runs % _SESSION_IDS}"
            loaded = self._take(rule_set)
            offset = loaded.open(sid)
            try:
                return loaded.evaluate(atoms, sid, offset)
            finally:
                loaded.close(sid)
                self._loaded[rule_set.id] = loaded

    def _take(self, rule_set: RuleSet) -> _Loaded:
        """The loaded set, out of the store. It goes back when its session is deleted: a set that cannot be cleaned is
        lost, so that nobody meets the session left in it."""
        loaded = self._loaded.pop(rule_set.id, None)
        if loaded is not None and loaded.rules != rule_set.rules:
            engine.delete_ruleset(loaded.handle)
            loaded = None
        return loaded or _Loaded(rule_set)


DURABLE = Durable()


def _definition(rules: tuple[Rule, ...], facts: dict[str, str]) -> str:
    """The rules in the engine's JSON, named by their positions: so no id needs escaping, and no answer parsing."""
    tests = {atom: f'{{"$and":[{{{fact.replace(",", "},{")}}}]}}' for atom, fact in facts.items()}
    texts = [f'"boot":{{"all":[{{"m_0":{{{_BOOT}}}}}]}}']
    for position, rule in enumerate(rules):
        conditions = [f'{{"m_{place}":{tests[atom]}}}' for place, atom in enumerate(rule.body)]
        texts.append(f'"{position}":{{"all":[{",".join(conditions)}]}}')
    return "{" + ",".join(texts) + "}"

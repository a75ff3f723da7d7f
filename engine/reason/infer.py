"""Facts -> conclusions with their reasons: the chain run on the knowledge base's rules."""

from __future__ import annotations

from engine.model import Rule, RuleSet, Value
from engine.reason import atoms
from engine.reason.chain import Library, conclude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.knowledge.store import Knowledge
    from engine.model import Fact, Step
    from engine.reason.chain import Backend, RuleSets


class Conclusions(Value):
    """Every step of the chain, the facts under each atom, and for each conclusion the facts that it rests on."""

    steps: tuple[Step, ...]
    atoms: Mapping[str, tuple[Fact, ...]]
    grounds: Mapping[str, tuple[Fact, ...]]

    def of(self, kind: str) -> list[str]:
        """The names of all conclusions of a kind (symptom, item, cause), in order."""
        prefix = f"{kind}:"
        return list(
            dict.fromkeys(step.conclusion[len(prefix) :] for step in self.steps if step.conclusion.startswith(prefix))
        )


def infer(facts: Sequence[Fact], knowledge: Knowledge, backend: Backend) -> Conclusions:
    """All that follows from `facts`."""
    known = atoms.of_facts(facts, knowledge)
    steps = conclude(library(knowledge, "rules", "watch"), known, backend)
    return Conclusions(steps, known, _grounds(steps, known))


_libraries: dict[tuple[str, str], RuleSets] = {}


def library(knowledge: Knowledge, kind: str, watch: str) -> RuleSets:
    """The rule sets of one chain, each unmarshalled when it is first needed, kept for the life of the process."""
    key = (knowledge.hash, kind)
    found = _libraries.get(key)
    if found is None:
        if len(_libraries) > 8:  # only tests and a long-lived linter see many knowledge bases
            _libraries.clear()
        found = _libraries[key] = Library(
            knowledge.section(watch),
            knowledge.ids(kind),
            lambda name: _rule_set(knowledge, kind, name),
            knowledge.section(f"{kind}-feeding"),
        )
    return found


def _rule_set(knowledge: Knowledge, kind: str, name: str) -> RuleSet:
    rows: Iterable[tuple[str, tuple[str, ...], str]] = knowledge.item(kind, name) or ()  # type: ignore[assignment]
    return RuleSet(f"{kind}.{name}", tuple([Rule(*row) for row in rows]))


def _grounds(steps: Sequence[Step], known: Mapping[str, tuple[Fact, ...]]) -> dict[str, tuple[Fact, ...]]:
    """For each conclusion the facts under the shortest rule that gives it, so that evidence shows what decided."""
    grounds = dict(known)
    for (
        step
    ) in steps:  # by level of the conclusion: the rule that reached it first has its grounds, a later one may not
        if not all(atom in grounds for atom in step.body):
            continue
        # of several facts that show one atom the best is enough; a conclusion rests on all of its own
        found = dict.fromkeys(
            fact for atom in step.body for fact in (known[atom][:1] if atom in known else grounds[atom])
        )
        present = grounds.get(step.conclusion)
        if present is None or (len(found), _worst(found)) < (len(present), _worst(present)):
            grounds[step.conclusion] = tuple(found)
    return grounds


def _worst(facts: Iterable[Fact]) -> int:
    return max((atoms.GRADES[fact.grade] for fact in facts), default=0)

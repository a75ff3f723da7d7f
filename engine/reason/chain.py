"""Facts -> everything that the rules derive from them, with the reason for each conclusion.

The rules come in sets. A set is fetched when an atom appears that a rule of it cannot do without, so that a query pays
for the knowledge that it touches; the answer is the same as with all sets loaded. Which engine draws the conclusions
makes no difference either: the trace is put into one canonical order here.
"""

from __future__ import annotations

import os

from engine.errors import KbError, MissingExtra, UsageError
from engine.model import Step
from engine.reason.agenda import AGENDA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from typing import Protocol

    from engine.model import Rule, RuleSet

    class Backend(Protocol):
        """An engine. It may be asked from any thread and keeps nothing of one evaluation for the next."""

        @property
        def name(self) -> str: ...

        def run(self, rule_set: RuleSet, atoms: Iterable[str]) -> Iterable[Rule]:
            """The rules of the set whose bodies hold once everything that follows from `atoms` within it is drawn.
            Atoms that no rule mentions are allowed and mean nothing."""

    class RuleSets(Protocol):
        """Where rule sets are kept until they are needed."""

        def triggered_by(self, atom: str) -> Iterable[str]:
            """The ids of the sets that must be loaded once `atom` is known: for each rule of a set at least one atom of
            its body names the set."""

        def get(self, set_id: str) -> RuleSet: ...

        def mentions(self, set_id: str) -> Container[str]:
            """The atoms in the bodies of a set's rules."""

        def feeds(self, atom: str) -> bool:
            """Whether a rule of another set than the one that concludes `atom` may mention it."""

        def ids(self) -> Iterable[str]: ...


class Library:
    """Rule sets in memory, each loaded at its first use.

    `watch` maps an atom to the ids of the sets that must be loaded once it is known; `load` makes a set of its id;
    `feeding` holds the conclusions that rules of other sets mention (all may, where it is not given)."""

    def __init__(
        self,
        watch: Mapping[str, Iterable[str]],
        ids: Iterable[str],
        load: Callable[[str], RuleSet],
        feeding: Container[str] | None = None,
    ) -> None:
        self._watch = watch
        self._feeding = feeding
        self._ids = tuple(ids)
        self._load = load
        self._sets: dict[str, RuleSet] = {}
        self._mentions: dict[str, frozenset[str]] = {}

    @classmethod
    def of(cls, rule_sets: Iterable[RuleSet]) -> Library:
        """A library of sets that are at hand already, each with an id of its own."""
        by_id = {rule_set.id: rule_set for rule_set in rule_sets}
        watch: dict[str, dict[str, None]] = {}
        for set_id, rule_set in by_id.items():
            for rule in rule_set.rules:
                for atom in rule.body:
                    watch.setdefault(atom, {})[set_id] = None
        return cls(watch, by_id, by_id.__getitem__)

    def triggered_by(self, atom: str) -> Iterable[str]:
        return self._watch.get(atom, ())

    def get(self, set_id: str) -> RuleSet:
        rule_set = self._sets.get(set_id)
        if rule_set is None:
            rule_set = self._sets[set_id] = self._load(set_id)
        return rule_set

    def mentions(self, set_id: str) -> Container[str]:
        found = self._mentions.get(set_id)
        if found is None:
            rules = self.get(set_id).rules
            found = self._mentions[set_id] = frozenset(atom for rule in rules for atom in rule.body)
        return found

    def feeds(self, atom: str) -> bool:
        return self._feeding is None or atom in self._feeding

    def ids(self) -> Iterable[str]:
        return self._ids


_engines: dict[str, Backend | str] = {"agenda": AGENDA}  # in place of an engine that does not load: why not


def backend(name: str | None = None) -> Backend:
    """The engine of that name, else the one that KB_ENGINE names, else durable where it loads and agenda elsewhere.

    Raises UsageError for a name that is neither, MissingExtra for durable where it does not load."""
    wanted = name or os.environ.get("KB_ENGINE") or ""
    if wanted not in ("", "agenda", "durable"):
        place = "The engine" if name else "KB_ENGINE"
        raise UsageError(f"{place} is {wanted!r}; there are 'durable' and 'agenda'.", "Choose one, or name none.")
    engine = _engine(wanted or "durable")
    if not isinstance(engine, str):
        return engine
    if not wanted:
        return AGENDA
    raise MissingExtra(
        f"The engine 'durable' does not load here: {engine}.",
        "Install the extra vllm-kb[durable] (Python 3.11 or 3.12, a C compiler), or set KB_ENGINE=agenda: "
        "the answers are the same.",
    )


def _engine(name: str) -> Backend | str:
    """The engine or why it does not load, found out once: an import that fails is not remembered by Python."""
    engine = _engines.get(name)
    if engine is None:
        try:
            from engine.reason.durable import DURABLE  # noqa: PLC0415 - an extra, absent from many installations

            engine = DURABLE
        except ImportError as error:
            engine = str(error)
        _engines[name] = engine
    return engine


def conclude(rule_sets: RuleSets, atoms: Iterable[str], backend: Backend, preload: bool = False) -> tuple[Step, ...]:
    """Draw every conclusion from `atoms`; `preload` loads all sets first and changes nothing but the time it takes.

    Returns one Step for each rule whose body holds, whether or not another rule reached its conclusion earlier. The
    level of a conclusion is that of its shortest derivation; a conclusion that was among `atoms` keeps their level, 0.
    Steps are ordered by level, conclusion and rule id."""
    facts = set(atoms)
    fired = _closure(rule_sets, sorted(facts), backend, preload)
    level = _levels(facts, fired)
    fired.sort(key=lambda rule: (level[rule.head], rule.head, rule.id))
    return tuple([Step(rule.head, rule.id, rule.body, level[rule.head]) for rule in fired])


def _closure(rule_sets: RuleSets, facts: list[str], backend: Backend, preload: bool) -> list[Rule]:
    """All rules whose bodies hold in the end. A set that has run is run again with all its atoms when another set
    concludes one that it mentions: a second run costs less than keeping its first one open."""
    known = dict.fromkeys(facts)
    fired: dict[str, Rule] = {}
    loaded = dict.fromkeys(rule_sets.ids()) if preload else {}
    for atom in facts:
        loaded.update(dict.fromkeys(rule_sets.triggered_by(atom)))
    pending = dict(loaded)
    while pending:
        running = next(iter(pending))
        del pending[running]
        mentioned = rule_sets.mentions(running)
        for rule in backend.run(rule_sets.get(running), [atom for atom in known if atom in mentioned]):
            fired[rule.id] = rule
            if rule.head in known:
                continue
            known[rule.head] = None
            if not rule_sets.feeds(rule.head):
                continue
            new = [set_id for set_id in rule_sets.triggered_by(rule.head) if set_id not in loaded]
            loaded.update(dict.fromkeys(new))
            # the engine has drawn what follows within the set that ran
            again = [set_id for set_id in loaded if set_id != running and rule.head in rule_sets.mentions(set_id)]
            pending.update(dict.fromkeys((*new, *again)))
    return list(fired.values())


def _levels(facts: set[str], fired: list[Rule]) -> dict[str, int]:
    """The length of the shortest derivation of each atom. A rule that no round reaches has fired without its body."""
    level = dict.fromkeys(facts, 0)
    known = set(facts)
    waiting, depth = fired, 0
    while waiting:
        depth += 1
        reached = [rule.head for rule in waiting if known.issuperset(rule.body)]
        if not reached:
            raise KbError(
                f"Rule {waiting[0].id!r} fired although its conditions {', '.join(waiting[0].body)} do not all hold.",
                "Set KB_ENGINE=agenda, and report this.",
            )
        waiting = [rule for rule in waiting if not known.issuperset(rule.body)]
        for head in reached:
            level.setdefault(head, depth)
        known.update(reached)
    return level

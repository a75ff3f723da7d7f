"""YAML -> the one file that `store` opens. Runs when something changed, or when a wheel is built."""

from __future__ import annotations

from engine.advise import shapes
from engine.errors import KnowledgeError
from engine.knowledge import lint, literals, rules, store
from engine.knowledge.base import Base, read
from engine.knowledge.shares import shares
from engine.observe import index, lexicon, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from engine.knowledge.base import Entry

KINDS = (
    "cause",
    "symptom",
    "sign",
    "question",
    "fact",
    "flag",
    "variable",
    "metric",
    "version",
    "concept",
    "model",
    "gpu",
)


def build(home: str) -> bytes:
    """The compiled knowledge of the folder `home`. Raises KnowledgeError naming every fault that lint calls an
    error."""
    base = read(home)
    findings = lint.check(base)
    if findings:
        shown = "; ".join(str(finding) for finding in findings[:20])
        more = f" (and {len(findings) - 20} more)" if len(findings) > 20 else ""
        raise KnowledgeError(f"the knowledge base has {len(findings)} faults: {shown}{more}.", "Run: kb lint")
    compiled = rules.compile_rules(base)
    lexical = lexicon.compile_lexicon(
        [entry.data for entry in base.of("concept").values()], base.words["en"], base.words["zh"]
    )
    readable = lexicon.opened(lexical)
    parts = _entries(base)
    parts |= {f"section {name}": value for name, value in _sections(base, compiled, lexical, readable).items()}
    for name, rule_sets in (("rules", compiled.sets), ("advice", compiled.advice)):
        parts |= {f"{name} {one.id}": tuple((r.id, r.body, r.head) for r in one.rules) for one in rule_sets}
    parts |= {f"logic {cause}": _logic(logic, base) for cause, logic in compiled.logic.items()}
    ids = {kind: tuple(sorted(base.of(kind))) for kind in KINDS} | {"sign": tuple(sorted(lint.signs(base)))}
    ids |= {"rules": tuple(one.id for one in compiled.sets), "advice": tuple(one.id for one in compiled.advice)}
    return store.pack(store.content_hash(home), ids, parts)


def _logic(logic: Mapping[str, Any], base: Base) -> dict[str, Any]:
    """What ranking and asking must know of a cause."""
    questions = {name: entry.data for name, entry in base.of("question").items()}
    shown = {name: value for name, value in logic.items() if name != "answers"}
    return {**shown, "shares": shares(logic["answers"], questions, base.weights["option_share"])}


def _entries(base: Base) -> dict[str, Any]:
    parts = {f"{kind} {name}": dict(entry.data) for kind in KINDS for name, entry in base.of(kind).items()}
    for name, (entry, sign) in lint.signs(base).items():
        meaning = sign.get("meaning") or entry.data["title"]
        parts[f"sign {name}"] = {**sign, "meaning": meaning, "cause": entry.id if "evidence" in entry.data else None}
    return parts


def _sections(
    base: Base, compiled: rules.Compiled, lexical: Mapping[str, Any], readable: Mapping[str, Any]
) -> dict[str, Any]:
    signs = _signs(base)
    return {
        "lexicon": {name: part for name, part in lexical.items() if name != "vocabulary"},
        "spelling": lexical["vocabulary"],
        "vocabulary": frozenset(_vocabulary(base, lexical)),
        "lexical": index.build(
            {name: index.terms(_description(entry), readable) for name, entry in base.of("cause").items()}
        ),
        "signs": signs,
        "roles": {sign: role for sign, _pattern, role, _stage in signs["signs"] if role != "milestone"},
        "tests": _by_fact(compiled),
        "rules-feeding": rules.feeding(compiled.sets),
        "advice-feeding": rules.feeding(compiled.advice),
        "watch": dict(compiled.keys),
        "advice-watch": dict(compiled.advice_keys),
        "weights": dict(base.weights),
        "effects": tuple(
            (effect.data["flag"], effect.data["direction"], tuple(effect.data["worsens"]), effect.data["why"])
            for effect in base.effects
        ),
        "flag-names": _flag_names(base),
        "model-names": _model_names(base),
        "switches": frozenset(name for name, entry in base.of("flag").items() if "bool" in str(entry.data.get("type"))),
        "facts": {name: (entry.data["type"], entry.data.get("unit")) for name, entry in base.of("fact").items()},
        "vague": frozenset(name for name, entry in base.of("symptom").items() if entry.data.get("vague")),
        "questions": {name: entry.data for name, entry in base.of("question").items()},
        "phrases en": dict(base.phrases["en"]),
        "phrases zh": dict(base.phrases["zh"]),
    }


def _signs(base: Base) -> dict[str, Any]:
    rows = []
    places: dict[str, list[int]] = {}
    for number, (name, (_entry, sign)) in enumerate(sorted(lint.signs(base).items())):
        rows.append((name, sign["log"], sign.get("role") or "root", sign.get("stage")))
        for literal in literals.required(sign["log"]):
            places.setdefault(literal, []).append(number)
    return {
        "signs": tuple(rows),
        "literals": {literal: tuple(numbers) for literal, numbers in places.items()},
        **literals.by_word(places),
    }


def _by_fact(compiled: rules.Compiled) -> dict[str, tuple[tuple[str, str, str, bool], ...]]:
    """The comparisons of each fact; one between two facts stands under both."""
    found: dict[str, list[tuple[str, str, str, bool]]] = {}
    for test in compiled.tests.values():
        row = (test.atom, test.fact, test.operator, test.operand, test.operand_is_fact)
        for name in (test.fact, test.operand) if test.operand_is_fact else (test.fact,):
            found.setdefault(name, []).append(row)  # type: ignore[arg-type]
    return {name: tuple(rows) for name, rows in found.items()}


def _model_names(base: Base) -> dict[str, str]:
    """Every plain name of a model -> the entry that is meant; the first entry in order of names keeps a shared one."""
    names: dict[str, str] = {}
    for model, entry in sorted(base.of("model").items()):
        for name in (model, *entry.data.get("also", ())):
            names.setdefault(shapes.plain(name), model)
    return names


def _flag_names(base: Base) -> dict[str, str]:
    """Every spelling of a flag -> its name."""
    names = {alias: name for name, entry in base.of("flag").items() for alias in entry.data.get("aliases", [])}
    return {**names, **{name: name for name in base.of("flag")}}


def _description(entry: Entry) -> str:
    data = entry.data
    examples = data["examples"]
    return "\n".join(
        [*data["title"].values(), *data["title"].values(), *data["why"].values(), *examples["en"], *examples["zh"]]
    )


def _vocabulary(base: Base, lexical: Mapping[str, Any]) -> set[str]:
    """Stems of the lexicon and of the English prose of the knowledge base: words that are not slips."""
    found = set(lexical["vocabulary"])
    for kind in ("cause", "symptom", "sign", "question", "flag", "variable", "metric", "concept"):
        for entry in base.of(kind).values():
            for text in _english(entry.data):
                found.update(words.stems(text))
    found.update(stem for text in base.phrases["en"].values() for stem in words.stems(text))
    return {stem for stem in found if stem.isalpha() and stem.isascii()}


def _english(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key in {"en", "meaning"} and isinstance(part, str):
                yield part
            elif key not in {"zh", "examples"}:
                yield from _english(part)
    elif isinstance(value, list):
        for part in value:
            yield from _english(part)

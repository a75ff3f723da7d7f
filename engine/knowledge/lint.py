"""What must hold across files of the knowledge base. Every finding has file and line, quotes the value, and
suggests."""

from __future__ import annotations

import re

from engine.errors import KbError
from engine.knowledge import literals, rules
from engine.knowledge.base import Base, read
from engine.knowledge.conditions import bodies, parse_test
from engine.observe.lexicon import GAP
from engine.observe.spelling import closest
from engine.observe.words import stems
from engine.reason.limits import violations
from engine.versions import Constraint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from engine.knowledge.base import Entry
    from engine.knowledge.source import Finding

SHORTEST_LITERAL = 6  # characters of fixed text that a pattern must have: less would match by chance
_NESTED = re.compile(r"[+*}]\)[+*{]")
_OWNED = re.compile(r"'(symptom|item|cause|fix|caution)[.:]([a-z0-9-]+)")
_GROUP = re.compile(r"\(\?P<(\w+)>")
_PLACEHOLDER = re.compile(r"\{([a-z]+\.[a-z0-9_.-]+)\}")
_COMMANDLIKE = re.compile(r"--[a-z][a-z0-9-]+|\b(?:VLLM|NCCL|HF|CUDA|GLOO|TORCH|PYTORCH)_[A-Z0-9_]+")


def lint(home: str) -> list[Finding]:
    """All findings for the knowledge base in `home`, in order of file and line."""
    return check(read(home))


def signs(base: Base) -> dict[str, tuple[Entry, Mapping[str, Any]]]:
    """Every log sign by id: those of kb/signs and those that causes define."""
    found: dict[str, tuple[Entry, Mapping[str, Any]]] = {
        name: (entry, entry.data) for name, entry in base.of("sign").items()
    }
    for entry in base.of("cause").values():
        for item in entry.data["evidence"]:
            if item.get("log"):
                found.setdefault(item["id"], (entry, item))
    return found


def check(base: Base) -> list[Finding]:
    """All findings, those of reading included. The deeper checks wait until the shapes are right."""
    findings = list(base.findings)
    if not findings:
        conditions = [*_causes(base), *_symptoms(base)]
        findings += conditions
        for part in (_questions, _lexicon, _phrases, _patterns, _effects):
            findings += part(base)
        if not conditions:  # the rules of broken files say nothing new
            findings += _chain(base)
    return sorted(set(findings), key=lambda finding: (finding.file, finding.line, finding.message))


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = closest(name, sorted(known))
    return f" (did you mean '{near}'?)" if near else ""


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    return f"unknown {kind} '{name}'{_did_you_mean(name, known)}"


def _causes(base: Base) -> Iterator[Finding]:
    causes = base.of("cause")
    seen_signs: dict[str, Entry] = dict(base.of("sign"))
    for entry in causes.values():
        yield from _names(entry)
        for number, item in enumerate(entry.data["evidence"]):
            yield from _condition(base, entry, item, ("evidence", number))
            if item.get("log") and seen_signs.setdefault(item["id"], entry) is not entry:
                yield entry.finding(
                    f"log sign '{item['id']}' is also defined in {seen_signs[item['id']].document.name}",
                    "evidence",
                    number,
                )
        for field in ("confused_with", "more_specific_than"):
            for number, other in enumerate(entry.data.get(field, [])):
                if other not in causes and not _is_planned(other):
                    yield entry.finding(_unknown("cause", other, causes), field, number)
        yield from _checks(base, entry)
        yield from _fixes(base, entry)
        yield from _languages(entry)
    yield from _same_evidence(causes)


def _is_planned(_name: str) -> bool:
    return False


def _names(entry: Entry) -> Iterator[Finding]:
    place = f"causes/{entry.data['area']}/{entry.id}.yaml"
    if not entry.document.name.endswith(place):
        yield entry.finding(f"the file must be {place}, after the cause's area and id", "id")
    order = [key for key in ORDER if key in entry.data]
    if list(entry.data) != order:
        wrong = next(key for key, right in zip(entry.data, order, strict=True) if key != right)
        yield entry.finding(f"'{wrong}' stands out of order; the order is {', '.join(order)}", wrong)
    if entry.data["applies"].get("vllm"):
        yield from _constraint(entry, entry.data["applies"]["vllm"], "applies")


ORDER = (
    "id", "area", "title", "status", "prior", "applies", "why", "more_specific_than", "evidence", "checks", "fixes",
    "not_this_when", "confused_with", "examples", "sources",
)  # fmt: skip


def _constraint(entry: Entry, text: str, *place: str | int) -> Iterator[Finding]:
    try:
        Constraint.parse(text)
    except KbError as error:
        yield entry.finding(error.message, *place)


def _condition(
    base: Base, entry: Entry, condition: Mapping[str, Any], place: tuple[str | int, ...]
) -> Iterator[Finding]:
    for kind, known in (("sign", base.of("log sign")), ("symptom", base.of("symptom")), ("cause", base.of("cause"))):
        if condition.get(kind) and condition[kind] not in known:
            yield entry.finding(_unknown(kind, condition[kind], known), *place, kind)
    said = condition.get("says") or []
    for concept in [said] if isinstance(said, str) else said:
        if concept not in base.of("concept"):
            yield entry.finding(_unknown("concept", concept, base.of("concept")), *place, "says")
    if condition.get("fact"):
        yield from _expression(base, entry, condition["fact"], (*place, "fact"))
    for group in ("all", "any", "none"):
        for number, part in enumerate(condition.get(group) or []):
            yield from _condition(base, entry, part, (*place, group, number))


def _expression(base: Base, entry: Entry, expression: str, place: tuple[str | int, ...]) -> Iterator[Finding]:
    try:
        test = parse_test(expression)
    except KbError as error:
        yield entry.finding(error.message, *place)
        return
    yield from _fact(base, entry, test.fact, place)
    if test.operand_is_fact:
        yield from _fact(base, entry, test.operand, place)
    fact = base.of("fact").get(test.fact)
    if fact and fact.data.get("values") and test.operator in {"==", "!="} and test.operand not in fact.data["values"]:
        yield entry.finding(
            f"'{test.fact}' is never '{test.operand}'; it is one of {', '.join(fact.data['values'])}", *place
        )


def _fact(base: Base, entry: Entry, name: str, place: tuple[str | int, ...]) -> Iterator[Finding]:
    family, _, rest = name.partition(".")
    if family == "args" and rest:
        if f"--{rest}" not in base.of("flag") and rest != "docker-ipc":
            yield entry.finding(_unknown("flag", f"--{rest}", base.of("flag")), *place)
    elif family == "env" and rest:
        return
    elif family == "says" and rest:
        if rest not in base.of("concept"):
            yield entry.finding(_unknown("concept", rest, base.of("concept")), *place)
    elif family == "metrics" and rest:
        if base.of("metric") and rest not in base.of("metric"):
            yield entry.finding(_unknown("metric", rest, base.of("metric")), *place)
    elif name not in base.of("fact"):
        yield entry.finding(_unknown("fact", name, base.of("fact")), *place)


def _checks(base: Base, entry: Entry) -> Iterator[Finding]:
    yield from _unique(entry, "checks")
    for number, one in enumerate(entry.data["checks"]):
        yield from _placeholders(base, entry, one.get("command") or "", ("checks", number, "command"))
        for reading, read_as in enumerate(one.get("reads", [])):
            for name in read_as.get("facts", {}):
                yield from _fact(base, entry, name, ("checks", number, "reads", reading, "facts", name))


def _fixes(base: Base, entry: Entry) -> Iterator[Finding]:
    yield from _unique(entry, "fixes")
    for number, fix in enumerate(entry.data["fixes"]):
        place = ("fixes", number)
        if fix.get("applies"):
            yield from _constraint(entry, fix["applies"], *place, "applies")
        if fix.get("when"):
            yield from _expression(base, entry, fix["when"], (*place, "when"))
        for text in (*fix["text"].values(), *fix.get("commands", [])):
            yield from _placeholders(base, entry, text, place)
        for index, change in enumerate(fix.get("changes", [])):
            yield from _placeholders(base, entry, str(change.get("to") or ""), (*place, "changes", index))
            flag = change.get("flag") or ""
            if flag.startswith("-") and flag not in base.of("flag") and not flag.startswith("--no-"):
                yield entry.finding(_unknown("flag", flag, base.of("flag")), *place, "changes", index)
        if fix["kind"] == "none-needed" and fix.get("changes"):
            yield entry.finding("a fix of kind none-needed changes nothing; remove 'changes'", *place, "changes")


def _placeholders(base: Base, entry: Entry, text: str, place: tuple[str | int, ...]) -> Iterator[Finding]:
    for name in _PLACEHOLDER.findall(text):
        yield from _fact(base, entry, name, place)


def _unique(entry: Entry, field: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for number, part in enumerate(entry.data[field]):
        if part["id"] in seen:
            yield entry.finding(f"'{part['id']}' is used twice in {field}", field, number, "id")
        seen.add(part["id"])


def _languages(entry: Entry) -> Iterator[Finding]:
    """Commands, flags and variables are the same in both languages."""
    for path, value in _bilingual(entry.data, ()):
        english, chinese = (set(_COMMANDLIKE.findall(value[lang])) for lang in ("en", "zh"))
        if english != chinese:
            only = ", ".join(sorted(english ^ chinese))
            yield entry.finding(f"{only} stands in one language only", *path)


def _bilingual(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, str]]]:
    if isinstance(value, dict):
        if isinstance(value.get("en"), str) and isinstance(value.get("zh"), str):
            yield path, value
        for key, part in value.items():
            yield from _bilingual(part, (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _bilingual(part, (*path, number))


def _same_evidence(causes: Mapping[str, Entry]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for entry in causes.values():
        shape = repr(
            [{key: value for key, value in item.items() if key != "weight"} for item in entry.data["evidence"]]
        )
        if shape in seen:
            yield entry.finding(f"has the same evidence as {seen[shape]}; nothing could tell them apart", "evidence")
        seen[shape] = entry.id


def _symptoms(base: Base) -> Iterator[Finding]:
    for entry in base.of("symptom").values():
        for number, condition in enumerate(entry.data["shown_by"]):
            yield from _condition(base, entry, condition, ("shown_by", number))


def _questions(base: Base) -> Iterator[Finding]:
    for entry in base.of("question").values():
        for number, option in enumerate(entry.data["options"]):
            for name in option.get("facts", {}):
                yield from _fact(base, entry, name, ("options", number, "facts", name))


def _lexicon(base: Base) -> Iterator[Finding]:
    for lang in ("en", "zh"):
        document = _document(base, f"lexicon/{lang}.yaml")
        for concept, surfaces in base.words[lang].items():
            if concept not in base.of("concept"):
                yield _at(document, (concept,), _unknown("concept", concept, base.of("concept")))
            for number, surface in enumerate(surfaces):
                yield from _surface(document, surface, (concept, number))
    for entry in base.of("concept").values():
        missing = [lang for lang in ("en", "zh") if not base.words[lang].get(entry.id)]
        if missing:
            yield entry.finding(f"concept '{entry.id}' has no words in {', '.join(missing)}", "id")
        for name in entry.data.get("facts", {}):
            yield from _fact(base, entry, name, ("facts", name))


def _surface(document: Any, surface: str, place: tuple[str | int, ...]) -> Iterator[Finding]:
    parts = surface.split()
    if GAP in (parts[0], parts[-1]):
        yield _at(document, place, f"'{surface}': '{GAP}' stands for a word between two others")
    elif not stems(surface):
        yield _at(document, place, f"'{surface}' holds no word that can be looked for")


def _document(base: Base, path: str) -> Any:
    """The file at `path` below the knowledge base, whatever the folder of that is called; one of its entries was
    read."""
    return next(document for name, document in base.documents.items() if name.partition("/")[2] == path)


def _at(document: Any, path: tuple[str | int, ...], message: str) -> Finding:
    from engine.knowledge.source import Finding  # noqa: PLC0415 - a type elsewhere in this module

    return Finding(document.name, document.line(path), message)


def _phrases(base: Base) -> Iterator[Finding]:
    for lang, other in (("en", "zh"), ("zh", "en")):
        for key, text in base.phrases[lang].items():
            document = _document(base, f"phrases/{lang}.yaml")
            if key not in base.phrases[other]:
                yield _at(document, (key,), f"'{key}' is missing in phrases/{other}.yaml")
            elif set(re.findall(r"\{\w+\}", text)) != set(re.findall(r"\{\w+\}", base.phrases[other][key])):
                yield _at(document, (key,), f"'{key}' has other placeholders in phrases/{other}.yaml")


def _patterns(base: Base) -> Iterator[Finding]:
    facts = base.of("fact")
    for name, (entry, sign) in signs(base).items():
        place = _place_of(entry, sign)
        try:
            required = literals.required(sign["log"], rare=False)
        except KbError as error:
            yield entry.finding(error.message, *place)
            continue
        if min(map(len, required)) < SHORTEST_LITERAL:
            short = min(required, key=len)
            yield entry.finding(
                f"log sign '{name}' can match on '{short}' alone; fix at least {SHORTEST_LITERAL} characters", *place
            )
        if _NESTED.search(sign["log"]):
            yield entry.finding(f"log sign '{name}' repeats a repeated group; write it without", *place)
        for group in _GROUP.findall(sign["log"]):
            if f"log.{group}" not in facts:
                yield entry.finding(_unknown("fact", f"log.{group}", facts), *place)


def _place_of(entry: Entry, sign: Mapping[str, Any]) -> tuple[str | int, ...]:
    if entry.data is sign:
        return ("log",)
    return ("evidence", next(number for number, item in enumerate(entry.data["evidence"]) if item is sign), "log")


def _effects(base: Base) -> Iterator[Finding]:
    for effect in base.effects:
        if effect.data["flag"] not in base.of("flag") and effect.data["flag"] not in base.of("variable"):
            yield effect.finding(_unknown("flag", effect.data["flag"], base.of("flag")), "flag")


def _chain(base: Base) -> Iterator[Finding]:
    """The rules that come of the files keep within the limits of the engine and go in no circle."""
    broken = list(_conditions(base))
    yield from broken
    if broken:
        return
    compiled = rules.compile_rules(base)
    for message in [*violations(compiled.sets), *violations(compiled.advice), *_circles(compiled)]:
        yield _owner(base, message).finding(message)


def _conditions(base: Base) -> Iterator[Finding]:
    """Conditions that no rules can be made of."""
    for kind, field in (("cause", "evidence"), ("symptom", "shown_by")):
        for entry in base.of(kind).values():
            for number, condition in enumerate(entry.data[field]):
                try:
                    bodies(condition, {})
                except KbError as error:
                    yield entry.finding(error.message, field, number)


def _owner(base: Base, message: str) -> Entry:
    """The entry whose rule or conclusion a message quotes first."""
    quoted = _OWNED.search(message)
    entries = base.of("symptom" if quoted and quoted[1] == "symptom" else "cause")
    return (entries.get(quoted[2]) if quoted else None) or next(iter(entries.values()))


def _circles(compiled: rules.Compiled) -> list[str]:
    """Conclusions that support themselves."""
    follows: dict[str, set[str]] = {}
    for one in compiled.sets:
        for rule in one.rules:
            for atom in rule.body:
                follows.setdefault(atom, set()).add(rule.head)
    done: set[str] = set()
    found = []
    for start in sorted(follows):
        trail, stack = {start}, [(start, iter(sorted(follows.get(start, ()))))]
        while stack and start not in done:
            atom, ways = stack[-1]
            following = next(ways, None)
            if following is None:
                done.add(atom)
                trail.discard(atom)
                stack.pop()
            elif following in trail:
                found.append(f"'{following}' supports itself through '{atom}'")
            elif following not in done:
                trail.add(following)
                stack.append((following, iter(sorted(follows.get(following, ())))))
    return found

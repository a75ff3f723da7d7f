"""The JSON object of an answer, as contract.md fixes it: the one place where ids become words.

Every other format is made from this object, so that no interface can say more or less than another.
"""

from __future__ import annotations

from interfaces.render.escape import json_safe
from interfaces.render.fill import fill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import (
        Answer,
        Change,
        CorrectedCommand,
        Evidence,
        Fix,
        Language,
        Origin,
        RankedCause,
        RuledOut,
        SeenSymptom,
        Step,
    )

    Object = dict[str, Any]

SCHEMA_VERSION = 1
ESTIMATED = "derived.max_model_len_that_fits"  # a value of a fix that may rest on an assumption
RELATIVE = ("half", "double")  # what a value becomes when the present one is not known


def document(answer: Answer, knowledge: Knowledge, version: str) -> Object:
    """The answer in plain data, in words of `answer.lang`, keys in the order of the contract. `trace` is there only
    when the answer has one."""
    words = Words(knowledge, answer.lang, any((origin.file or 0) > 0 for origin in _origins(answer)))
    out: Object = {
        "schema_version": SCHEMA_VERSION,
        "kb": {"version": version, "hash": knowledge.hash},
        "lang": answer.lang,
        "status": answer.status,
        "symptoms": [words.symptom(seen) for seen in answer.symptoms],
        "causes": [words.cause(ranked) for ranked in answer.causes],
        "ruled_out": [words.ruled_out(gone) for gone in answer.ruled_out],
        "command": words.corrected(answer.command),
        "question": words.question(answer.question),
        "understood": [words.understood(what, text) for what, text in answer.understood],
        "missing": [words.missing(what) for what in answer.missing],
    }
    if answer.trace is not None:
        out["trace"] = [_step(step) for step in answer.trace]
    return out


def json_bytes(document: Object | list[Object]) -> bytes:
    """One line of UTF-8 and its newline; control and bidirectional characters as `\\u` escapes."""
    import json  # noqa: PLC0415 - a text answer does without it

    return (json_safe(json.dumps(document, ensure_ascii=False, allow_nan=False)) + "\n").encode()


class Words:
    """Looks up what an answer names in the knowledge base, in one language. `several`: places name their input."""

    def __init__(self, knowledge: Knowledge, lang: Language, several: bool = False) -> None:
        self.lang = lang
        self.knowledge = knowledge
        self.phrases = knowledge.phrases(lang)
        self.several = several

    def symptom(self, seen: SeenSymptom) -> Object:
        evidence = self.evidence(seen.evidence)
        return {"id": seen.id, "title": self.title("symptom", seen.id), "score": seen.score, "evidence": evidence}

    def cause(self, ranked: RankedCause) -> Object:
        entry = self.knowledge.item("cause", ranked.id) or {}
        fixes = {fix["id"]: fix for fix in entry.get("fixes", ())}
        return {
            "id": ranked.id,
            "title": self.title("cause", ranked.id),
            "area": entry.get("area", ""),
            "confidence": ranked.confidence,
            "verdict": ranked.verdict,
            "why": self.text(entry.get("why"), ranked.values),
            "evidence": self.evidence(ranked.evidence),
            "against": self.evidence(ranked.against),
            "checks": [self.check(check, ranked.values) for check in entry.get("checks", ())],
            "fixes": [self.fix(fixes.get(fix.id, {}), fix, ranked.values) for fix in ranked.fixes],
            "sources": list(entry.get("sources", ())),
        }

    def check(self, entry: Mapping[str, Any], values: Mapping[str, str]) -> Object:
        return {
            "id": entry["id"],
            "text": self.text(entry["text"], values),
            "command": self.command(entry.get("command"), values),
            "reads": [
                {"if": self.text(reading["sees"], values), "then": self.text(reading["means"], values)}
                for reading in entry.get("reads", ())
            ],
        }

    def fix(self, entry: Mapping[str, Any], fix: Fix, of_cause: Mapping[str, str]) -> Object:
        values = {**of_cause, **fix.values}
        applies = entry.get("applies")
        cautions = [self.phrases["caution"].format(cause=self.title("cause", cause)) for cause in fix.cautions]
        return {
            "id": fix.id,
            "text": self.fix_text(entry, values),
            "kind": entry.get("kind", ""),
            "changes": [self.change(change, values) for change in fix.changes],
            "commands": [self.command(command, values) for command in entry.get("commands", ())],
            "side_effects": [*(self.text(effect, values) for effect in entry.get("side_effects", ())), *cautions],
            "risk": entry.get("risk", ""),
            "restart": entry.get("restart", ""),
            "effect": entry.get("effect", ""),
            "verify": self.text(entry.get("verify"), values),
            "applies": f"vllm {applies}" if applies else "",
        }

    def change(self, change: Change, values: Mapping[str, str]) -> Object:
        after = change.after
        if after in RELATIVE:
            after = self.phrases[f"change.to.{after}"]
        elif after is not None:
            after = fill(after, values, self.label)
        name = fill(change.name, values, self.label)
        return {"kind": change.kind, "name": name, "from": change.before, "to": after}

    def fix_text(self, entry: Mapping[str, Any], values: Mapping[str, str]) -> str:
        """The words of a fix; a length that was only worked out is said to be about right."""
        text, length = self.text(entry.get("text"), values), values.get(ESTIMATED)
        takes = any(change.get("to") == f"{{{ESTIMATED}}}" for change in entry.get("changes", ()))
        if not takes or length is None or values.get("derived.max_model_len_is_estimated") != "true":
            return text
        return self.phrases["fix.about"].format(text=text, value=length)

    def ruled_out(self, gone: RuledOut) -> Object:
        return {"id": gone.id, "title": self.title("cause", gone.id), "evidence": self.evidence(gone.evidence)}

    def corrected(self, command: CorrectedCommand | None) -> Object | None:
        if command is None:
            return None
        changes = [self.change(change, {}) for change in command.changes]
        return {"before": command.before, "after": command.after, "changes": changes}

    def question(self, question: str | None) -> Object | None:
        if question is None:
            return None
        entry = self.knowledge.item("question", question) or {}
        options = [{"value": each["value"], "text": self.text(each["text"])} for each in entry.get("options", ())]
        text = self.text(entry.get("text"))
        return {"id": question, "text": text, "options": options, "command": self.command(entry.get("command"))}

    def understood(self, what: str, text: str) -> Object:
        return {"id": what, "text": text or self.meaning(what)}

    def missing(self, what: str) -> Object:
        key = f"missing.{what}"
        return {"id": what, "text": self.phrases.get(key, what), "command": self.phrases.get(f"{key}.command")}

    def evidence(self, seen: Iterable[Evidence]) -> list[Object]:
        return [self.piece(each) for each in seen]

    def piece(self, evidence: Evidence) -> Object:
        origin = evidence.origin
        return {
            "kind": origin.kind,
            "file": origin.file,
            "line": origin.line,
            "where": self.where(origin),
            "text": origin.text,
            "weight": evidence.weight,
        }

    def where(self, origin: Origin) -> str:
        place = self.place(origin)
        if not self.several or origin.file is None:
            return place
        return self.phrases["where.of-input"].format(input=origin.file + 1, place=place)

    def place(self, origin: Origin) -> str:
        if origin.line is not None:
            return self.phrases["where.line"].format(line=origin.line)
        if origin.words is None:
            return self.phrases[f"where.{origin.kind}"]
        first, last = origin.words
        return self.phrases["where.word" if first == last else "where.words"].format(first=first, last=last)

    def title(self, kind: str, name: str) -> str:
        entry = self.knowledge.item(kind, name)
        return self.text(entry["title"]) if entry else name

    def meaning(self, name: str) -> str:
        for kind, key in (("sign", "meaning"), ("symptom", "title"), ("cause", "title"), ("fact", "label")):
            entry = self.knowledge.item(kind, name)
            if entry and key in entry:
                return self.text(entry[key])
        return name

    def text(self, words: Mapping[str, str] | None, values: Mapping[str, str] | None = None) -> str:
        return fill(words[self.lang], values or {}, self.label) if words else ""

    def command(self, command: str | None, values: Mapping[str, str] | None = None) -> str | None:
        return None if command is None else fill(command, values or {}, self.label, in_command=True)

    def label(self, name: str) -> str | None:
        """What a placeholder stands for, or None where the braces name no fact."""
        family, dot, member = name.partition(".")
        if dot and member and family in ("args", "env", "metrics"):
            return f"--{member}" if family == "args" else member
        entry = self.knowledge.item("fact", name)
        return str(entry["label"][self.lang]) if entry else None


def _step(step: Step) -> Object:
    return {"conclusion": step.conclusion, "rule": step.rule, "from": list(step.body), "level": step.level}


def _origins(answer: Answer) -> Iterable[Origin]:
    groups = [
        *(seen.evidence for seen in answer.symptoms),
        *(ranked.evidence for ranked in answer.causes),
        *(ranked.against for ranked in answer.causes),
        *(gone.evidence for gone in answer.ruled_out),
    ]
    return (each.origin for group in groups for each in group)

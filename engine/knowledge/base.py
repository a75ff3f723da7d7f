"""All YAML of a knowledge base in memory, with the findings that reading it gave. Used to lint and to compile."""

from __future__ import annotations

import glob
import os

from engine.errors import InputError
from engine.knowledge import schema
from engine.knowledge.source import Document, Finding, parse
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

LANGUAGES = ("en", "zh")
KEYS = {
    "fact": "name",
    "flag": "name",
    "variable": "name",
    "metric": "name",
    "version": "vllm",
    "effect": "flag",
    "model": "name",
    "gpu": "name",
}


class Entry(Value):
    """One entry with the document and the path where it stands."""

    id: str
    data: Mapping[str, Any]
    document: Document
    path: tuple[str | int, ...]

    def finding(self, message: str, *place: str | int) -> Finding:
        """A finding at `place` inside this entry."""
        return Finding(self.document.name, self.document.line((*self.path, *place)), message)


class Base(Value):
    """Entries by kind and id, the lexicon's words and the phrases by language, the numbers, and what is wrong so
    far."""

    entries: Mapping[str, Mapping[str, Entry]]
    words: Mapping[str, Mapping[str, Any]]
    phrases: Mapping[str, Mapping[str, str]]
    weights: Mapping[str, Any]
    effects: tuple[Entry, ...]
    documents: Mapping[str, Document]
    findings: tuple[Finding, ...]

    def of(self, kind: str) -> Mapping[str, Entry]:
        return self.entries.get(kind, {})


def read(home: str) -> Base:
    """Everything below `home`. Faults become findings; nothing is raised for them."""
    findings: list[Finding] = []
    documents: dict[str, Document] = {}
    entries: dict[str, dict[str, Entry]] = {}
    effects: list[Entry] = []
    for kind, (pattern, shape, many) in schema.SHAPES.items():
        entries[kind] = {}
        for document in _documents(home, pattern, documents, findings):
            wrong = schema.validate(document, shape, many)
            findings += wrong
            if not wrong:
                _add(kind, document, many, entries[kind], effects, findings)
    plain = {
        name: _plain(home, name, documents, findings)
        for name in ("lexicon/en.yaml", "lexicon/zh.yaml", "phrases/en.yaml", "phrases/zh.yaml")
    }
    words = {lang: plain[f"lexicon/{lang}.yaml"] for lang in LANGUAGES}
    phrases = {lang: plain[f"phrases/{lang}.yaml"] for lang in LANGUAGES}
    weights = next((entry.data for entry in entries.pop("weights").values()), {})
    entries.pop("effect")
    entries["log sign"] = _log_signs(entries)
    return Base(entries, words, phrases, weights, tuple(effects), documents, tuple(findings))


def _log_signs(entries: Mapping[str, Mapping[str, Entry]]) -> dict[str, Entry]:
    """Every log sign by id: those of kb/signs and those that causes define."""
    found = dict(entries["sign"])
    for entry in entries["cause"].values():
        for number, item in enumerate(entry.data["evidence"]):
            if item.get("log"):
                found.setdefault(item["id"], Entry(item["id"], item, entry.document, ("evidence", number)))
    return found


def _documents(home: str, pattern: str, documents: dict[str, Document], findings: list[Finding]) -> Iterator[Document]:
    for path in sorted(glob.glob(os.path.join(home, *pattern.split("/")))):
        document = _document(home, path, findings)
        if document is not None:
            documents[document.name] = document
            yield document


def _document(home: str, path: str, findings: list[Finding]) -> Document | None:
    name = f"{os.path.basename(os.path.abspath(home))}/{os.path.relpath(path, home).replace(os.sep, '/')}"
    try:
        with open(path, encoding="utf-8") as file:
            return parse(name, file.read())
    except (OSError, UnicodeDecodeError) as error:
        findings.append(Finding(name, 1, f"cannot be read: {error}"))
    except InputError as error:
        place, _, message = error.message.removeprefix(f"{name}:").partition(": ")
        findings.append(Finding(name, int(place) if place.isdigit() else 1, message or error.message))
    return None


def _add(
    kind: str, document: Document, many: bool, known: dict[str, Entry], effects: list[Entry], findings: list[Finding]
) -> None:
    rows = [((index,), data) for index, data in enumerate(document.data)] if many else [((), document.data)]
    for path, data in rows:
        entry = Entry(str(data.get(KEYS.get(kind, "id"), kind)), data, document, path)
        if kind == "effect":
            effects.append(entry)
        elif entry.id in known:
            other = known[entry.id]
            findings.append(
                entry.finding(
                    f"{kind} '{entry.id}' is given twice, also in "
                    f"{other.document.name}:{other.document.line(other.path)}"
                )
            )
        else:
            known[entry.id] = entry


def _plain(home: str, name: str, documents: dict[str, Document], findings: list[Finding]) -> Mapping[str, Any]:
    path = os.path.join(home, *name.split("/"))
    if not os.path.exists(path):
        return {}
    document = _document(home, path, findings)
    if document is None:
        return {}
    documents[document.name] = document
    wrong = list(_no_texts(document, name.startswith("lexicon/")))
    findings += wrong
    return {} if wrong else document.data


def _no_texts(document: Document, lists: bool) -> Iterator[Finding]:
    """What is not a text by name, or with `lists` a list of texts by name."""
    if not isinstance(document.data, dict):
        yield Finding(document.name, 1, f"must be a mapping ('name: {'[text, …]' if lists else 'text'}')")
        return
    for name, value in document.data.items():
        if lists and not (isinstance(value, list) and value):
            yield Finding(document.name, document.line((name,)), f"'{name}' must be a list of texts; it is {value!r}")
            continue
        for number, text in enumerate(value) if lists else [(None, value)]:
            if not isinstance(text, str) or not text.strip():
                place = (name,) if number is None else (name, number)
                yield Finding(document.name, document.line(place), f"'{name}': {text!r} is no text; put it in quotes")

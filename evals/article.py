"""The rows of the introductory article that kb grew from, as questions with what must hold of the answer.

A row is data (article.yaml); it is asked in English and in Chinese, as a person would type it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.knowledge.source import parse
from evals.trial import Trial

FILE = Path(__file__).with_name("article.yaml")
REMOVED = "removed"

Answer = Mapping[str, Any]
Strings = Sequence[str]


class Question(NamedTuple):
    """One wording of one row, and what the row expects of the answer."""

    id: str
    trial: Trial
    expect: Mapping[str, Strings]


def questions(path: Path = FILE) -> list[Question]:
    """Every wording of every row. Raises ValueError for an expectation that nothing checks."""
    rows = parse(path.name, path.read_text(encoding="utf-8")).data
    return [question for row in rows for question in _of_row(row)]


def _of_row(row: Mapping[str, Any]) -> Iterator[Question]:
    expect = {key: [value] if isinstance(value, str) else value for key, value in row["expect"].items()}
    if unknown := expect.keys() - CHECKS.keys():
        raise ValueError(f"row '{row['row']}' expects '{', '.join(unknown)}'; there are {', '.join(CHECKS)}")
    context = {"vllm_version": row["vllm"]} if "vllm" in row else None
    for lang in ("en", "zh"):
        for number, words in enumerate(row[lang], 1):
            logs = (row["log"],) if "log" in row else ()
            name = f"{row['row']} [{lang} {number}]"
            yield Question(name, Trial(name, row["row"], lang, words, logs, row.get("command", ""), context), expect)


def faults(question: Question, answer: Answer) -> list[str]:
    """What the answer lacks or has too much of; empty when all that the row expects holds."""
    found = [fault for key, wanted in question.expect.items() for fault in CHECKS[key](answer, wanted)]
    if answer["lang"] != question.trial.lang:
        found.append(f"the answer is in '{answer['lang']}'")
    return found


# -- what a row can expect --------------------------------------------------------------------------------------------


def _status(answer: Answer, wanted: Strings) -> Iterator[str]:
    if answer["status"] not in wanted:
        yield f"the status is {answer['status']}, not {' or '.join(wanted)}"


def _first(answer: Answer, wanted: Strings) -> Iterator[str]:
    if not {*_ids(answer)[:1]} & {*wanted}:
        yield f"the first cause is none of {', '.join(wanted)}: {_shown(answer)}"


def _among_three(answer: Answer, wanted: Strings) -> Iterator[str]:
    if not {*_ids(answer)[:3]} & {*wanted}:
        yield f"none of {', '.join(wanted)} is among the first three: {_shown(answer)}"


def _not_first(answer: Answer, wanted: Strings) -> Iterator[str]:
    if {*_ids(answer)[:1]} & {*wanted}:
        yield f"the first cause is {_ids(answer)[0]}"


def _only_claims(answer: Answer, wanted: Strings) -> Iterator[str]:
    claimed = [cause["id"] for cause in answer["causes"] if cause["confidence"] >= 0.5]
    yield from (f"{cause} is claimed" for cause in claimed if cause not in wanted)


def _symptoms(answer: Answer, wanted: Strings) -> Iterator[str]:
    seen = {symptom["id"] for symptom in answer["symptoms"]}
    yield from (f"symptom {symptom} is not seen, only {sorted(seen)}" for symptom in wanted if symptom not in seen)


def _understood(answer: Answer, wanted: Strings) -> Iterator[str]:
    said = "\n".join(f"{each['id']}: {each['text']}" for each in answer["understood"])
    yield from (f"'{words}' is not said to be understood: {said!r}" for words in wanted if words not in said)


def _question(answer: Answer, wanted: Strings) -> Iterator[str]:
    asked = (answer["question"] or {}).get("id")
    if asked is None or not ({asked, "any"} & {*wanted}):
        yield f"the question is {asked}, not {' or '.join(wanted)}"


def _advises(answer: Answer, wanted: Strings) -> Iterator[str]:
    yield from _lacking(_fixes(answer["causes"][:3]), wanted, "no fix of the first three causes says")


def _first_advises(answer: Answer, wanted: Strings) -> Iterator[str]:
    yield from _lacking(_fixes(answer["causes"][:1]), wanted, "no fix of the first cause says")


def _never_advises(answer: Answer, wanted: Strings) -> Iterator[str]:
    yield from _present(_fixes(answer["causes"]), wanted)


def _first_never_advises(answer: Answer, wanted: Strings) -> Iterator[str]:
    yield from _present(_fixes(answer["causes"][:1]), wanted)


def _checks(answer: Answer, wanted: Strings) -> Iterator[str]:
    steps = [check for cause in answer["causes"][:3] for check in cause["checks"]]
    yield from _lacking([f"{step['text']} {step['command']}" for step in steps], wanted, "no check says")


CHECKS: Mapping[str, Callable[[Answer, Strings], Iterable[str]]] = {
    "status": _status,
    "first": _first,
    "among_three": _among_three,
    "not_first": _not_first,
    "only_claims": _only_claims,
    "symptoms": _symptoms,
    "understood": _understood,
    "question": _question,
    "advises": _advises,
    "first_advises": _first_advises,
    "never_advises": _never_advises,
    "first_never_advises": _first_never_advises,
    "checks": _checks,
}


def _ids(answer: Answer) -> list[str]:
    return [cause["id"] for cause in answer["causes"]]


def _shown(answer: Answer) -> str:
    return ", ".join(f"{cause['id']} {cause['confidence']}" for cause in answer["causes"]) or answer["status"]


def _lacking(texts: Sequence[str], wanted: Strings, complaint: str) -> Iterator[str]:
    yield from (f"{complaint} '{words}'" for words in wanted if not any(words in text for text in texts))


def _present(texts: Iterable[str], unwanted: Strings) -> Iterator[str]:
    yield from (f"a fix says '{words}': {text}" for text in texts for words in unwanted if words in text)


def _fixes(causes: Iterable[Mapping[str, Any]]) -> list[str]:
    """The text, commands and changes of each fix. A change reads `--max-num-seqs 256 -> 128`, `- -> 128` where it was
    not set."""
    return [
        " | ".join([fix["text"], *fix["commands"], *(_change(change) for change in fix["changes"])])
        for cause in causes
        for fix in cause["fixes"]
    ]


def _change(change: Mapping[str, Any]) -> str:
    return f"{change['name']} {change['from'] or '-'} -> {REMOVED if change['to'] is None else change['to']}"

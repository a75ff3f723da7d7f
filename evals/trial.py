"""The labelled cases as trials: what is asked, and which answers are right.

A real log makes several trials (alone, with a complaint in each language, with the start command), and a complaint with
a log is tried a second time without it, because people describe before they paste. Folder names and ids tell the cause,
so they stay here and never reach kb.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine.knowledge.source import parse

CASES = Path(__file__).resolve().parent / "cases"
FILES = ("cases.yaml", "reallogs.yaml", "negatives.yaml")
NO_LOG = "log withheld"
NOT_VISIBLE = "reallog, cause not visible"
QUESTION = "needs question"

# What a negative may answer beside the status that it names.
_ALLOWED = {"unknown": ("unknown", "needs_more"), "needs_more": ("needs_more",), "healthy": ("healthy",)}


class Trial(NamedTuple):
    """One question to kb. `accept` holds the right causes, the best first; a negative has none, and names the statuses
    that are right instead."""

    name: str
    group: str
    lang: str
    complaint: str
    logs: tuple[str, ...] = ()
    command: str = ""
    context: Mapping[str, Any] | None = None
    accept: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()


def load(folder: Path = CASES) -> list[Trial]:
    """All trials of the files in `folder`, in their order."""
    return [trial for name in FILES for case in _cases(folder / name) for trial in _trials(case, folder)]


def held(trials: Iterable[Trial], causes: Iterable[str]) -> list[Trial]:
    """The trials that a knowledge base with these causes can get right: nothing can find a cause that is not there."""
    known = set(causes)
    return [trial for trial in trials if not trial.accept or trial.accept[0] in known]


def _cases(path: Path) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = parse(path.name, path.read_text(encoding="utf-8")).data
    return cases


def _trials(case: Mapping[str, Any], folder: Path) -> Iterator[Trial]:
    if "folder" in case:
        yield from _of_real_log(case, folder / "logs" / case["folder"])
    elif "status" in case["expect"]:
        yield _negative(case)
    else:
        yield from _of_complaint(case)


def _of_complaint(case: Mapping[str, Any]) -> Iterator[Trial]:
    bare = QUESTION if case.get("needs_question") else "complaint only"
    logs = (case["log"],) if case.get("log") else ()
    trial = Trial(
        case["id"],
        "with log" if logs else bare,
        case["lang"],
        case["complaint"],
        logs,
        context=case.get("context"),
        accept=_accepted(case),
    )
    yield trial
    if logs:
        yield trial._replace(name=f"{trial.name}[no log]", group=NO_LOG, logs=())


def _accepted(case: Mapping[str, Any]) -> tuple[str, ...]:
    return (case["expect"]["cause"], *case["expect"].get("also_ok", ()))


def _of_real_log(case: Mapping[str, Any], folder: Path) -> Iterator[Trial]:
    names = case.get("files", ["log.txt"])
    logs = tuple((folder / name).read_text(encoding="utf-8", errors="replace") for name in names)
    command = (case.get("args") or {}).get("command", "")
    alone = Trial(case["id"], "reallog, log only", "-", "", logs, context=case.get("context"))
    if case["expect"].get("healthy"):
        alone = alone._replace(statuses=("healthy",))
    else:
        alone = alone._replace(accept=_accepted(case))
    english, chinese = case.get("complaint_en", ""), case.get("complaint_zh", "")
    variants = {
        "en": alone._replace(group="reallog", lang="en", complaint=english),
        "zh": alone._replace(group="reallog", lang="zh", complaint=chinese),
        "log only": alone,
        "command": alone._replace(group="reallog, with command", complaint=english, command=command),
    }
    group = "healthy" if alone.statuses else "" if case.get("visible", True) else NOT_VISIBLE
    for name, trial in variants.items():
        if trial.command or name != "command":
            yield trial._replace(name=f"{alone.name}[{name}]", group=group or trial.group)


def _negative(case: Mapping[str, Any]) -> Trial:
    named = case["expect"]["status"]
    named = [named] if isinstance(named, str) else named
    off_topic = case["kind"] == "off-topic"
    allowed = {each for one in named for each in ((one,) if off_topic else _ALLOWED.get(one, (one,)))}
    logs = (case["log"],) if case.get("log") else ()
    group = f"negative:{case['kind']}"
    return Trial(case["id"], group, case["lang"], case.get("text", ""), logs, statuses=tuple(sorted(allowed)))

"""Tells an operator's own words from what was pasted: a log, a traceback, a response, a command.

Whole lines belong to one side or the other. A message quoted inside a sentence stays with the sentence; it is searched
for signs all the same.
"""

from __future__ import annotations

from engine.lazy import regex
from engine.model import Value

_MACHINE = regex(
    r"\s*(?:"
    r"\((?:[\w.:\-]{1,40})(?: (?:pid|ip|rank|node)=[^)]*)\)"
    r"|(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b[:\s]"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[\[(]?\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|time=\"?\d{4}"
    r"|\[(?:pod|rank|W|E|I|F|\d|[A-Z][\w-]*\])[^\]]*\]?"
    r"|Traceback \(most recent call last\)|File \"[^\"]+\", line \d+|\^+\s*$"
    r"|raise \w|During handling of|The above exception"
    r"|[\w.]{0,80}[A-Z]\w{0,60}(?:Error|Exception|Warning|Timeout|Exit)(?:\s*:|\s*$)"
    r"|[\w.-]{1,60}\s*\|\s|[{}\[\]\"<]|[#$>]\s|\+[-=]{3,}|\|[ \-=]|[-=*]{5,}"
    r"|vllm(?: serve)?: error|usage: |docker:|nvidia-smi|python3?:|bash:|sh:|curl:|Error response"
    r"|error:|Error:|FATAL|fatal:|E\d{4} |W\d{4} "
    r"|[\w.-]+:\d+:\d+ \[\d+\] NCCL|NCCL (?:INFO|WARN)|Killed|Segmentation fault|Bus error|Aborted"
    r"|vllm:\w|# (?:HELP|TYPE) |Loading safetensors|Processed prompts|Name:|HTTP/\d|\w+:\s+\d+%\|"
    r")"
)
_EXCEPTION = regex(r"\s*[\w.]{0,80}[A-Z]\w{0,60}(?:Error|Exception)\s*:")
_COMMAND = regex(
    r"\s*(?:\$ |# )?(?:(?:sudo |nohup |env |export )*(?:[A-Z_][A-Z0-9_]*=\S+ )*)"
    r"(?:vllm serve(?=\s|$)|python3? -m vllm\.|docker run\b|podman run\b)"
)
_MARKS = (
    *":=|<>{}[]()#$^",
    "run",
    "serve",
    "Killed",
    "Aborted",
    "Bus",
    "Segmentation",
    "NCCL",
    "INFO",
    "WARN",
    "ERROR",
    "FATAL",
    "raise",
)  # without one of these a line is plain words
TELLING = 4  # plain words after a command that make it a sentence
MOST_LINES = 400  # lines of a text that are looked at one by one; a longer text is a log


class Parts(Value):
    """The text taken apart. `log_line` is the number of the first line of `log` in the text."""

    words: str
    log: str
    command: str
    log_line: int = 1


def split(text: str, outputs: frozenset[int] = frozenset()) -> Parts:
    """Words, log and command of `text`, in the order in which they stand. Lines that could be either go with their
    neighbours above. `outputs` are the rows, counted from 0, that are known to be printed by a tool."""
    rows = text.splitlines()
    if len(rows) == 1:
        return _one_line(text)
    kinds: list[str] = []
    for index, row in enumerate(rows):
        kinds.append("log" if index in outputs else _kind(row, kinds[-1] if kinds else "", index))
    kinds += ["log"] * (len(rows) - len(kinds))

    def of(kind: str) -> str:
        return "\n".join(
            row if here == kind else "" if kind == "log" else "\0" for row, here in zip(rows, kinds, strict=True)
        )

    log = of("log")
    return Parts(
        of("words").replace("\0\n", "").replace("\0", "").strip(),
        log if log.strip() else "",
        of("command").replace("\0\n", "").replace("\0", "").strip(),
    )


def _one_line(text: str) -> Parts:
    if not any(mark in text for mark in _MARKS):
        return Parts(text.strip(), "", "")
    if _COMMAND.match(text):
        told = _tells(text)
        return Parts(text.strip() if told else "", "", "" if told and " --" not in text else text.strip())
    if _MACHINE.match(text) and len(text) > 12:
        # an error that is told in one line may be the operator's own sentence as well as a pasted message
        return Parts(text.strip() if _EXCEPTION.match(text) else "", text, "")
    return Parts(text.strip(), "", "")


def _kind(row: str, before: str, index: int) -> str:
    if index >= MOST_LINES:
        return "log"
    if _COMMAND.match(row):
        return "words" if _tells(row) else "command"
    if before == "command" and row.lstrip().startswith(("-", "\\")):
        return "command"
    if _MACHINE.match(row) or len(row) > 1_000:
        return "log"
    if not row.strip():
        return before or "words"
    if row.startswith(("  ", "\t")):
        return "log" if before == "log" else "words"
    return "log" if before == "log" and _goes_on(row) else "words"


def _tells(row: str) -> bool:
    """Whether a line that begins with a start command goes on as a sentence about it."""
    if any("\u3400" <= c <= "\u9fff" for c in row):
        return True
    words = row.replace(",", " ").split()[2:]
    return sum(word.isalpha() and word.islower() for word in words) >= TELLING


def _goes_on(row: str) -> bool:
    """Whether a line after log lines is more of them: program text rather than a sentence."""
    if any("\u3400" <= c <= "\u9fff" for c in row):
        return False
    plain = sum(word.isalpha() and word.islower() for word in row.replace(",", " ").replace(".", " ").split())
    return plain * 2 < len(row.split()) or any(
        mark in row for mark in ("()", "://", " = ", "::", "site-packages", "0x")
    )

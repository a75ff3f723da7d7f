"""`kubectl describe pod` and `kubectl get events`: why a container ended or never began."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, gib, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_REASON = regex(r"\s{1,40}Reason:\s{1,30}(\w{1,40})")
_EXIT = regex(r"\s{1,40}Exit Code:\s{1,30}(\d{1,4})$")
_RESTARTS = regex(r"\s{1,40}Restart Count:\s{1,30}(\d{1,6})$")
_IMAGE = regex(r"\s{1,40}Image:\s{1,30}\S{0,200}vllm\S{0,100}:v?(0\.\d{1,3}[\w.+-]{0,30})")
_MEMORY = regex(r"\s{1,40}memory:\s{1,30}(\d{1,15})([KMGT]?i?)$")
_VARIABLE = regex(r"\s{4,40}([A-Z][A-Z0-9_]{2,60}):\s{1,60}(\S.{0,300})$")
_LACKING = regex(r".{0,300}\d{1,5} Insufficient ([\w/-]{1,30}(?:\.[\w/-]{1,30}){0,4})")
_PROBE = regex(r".{0,300}(?:(Liveness|Startup) probe failed|failed (liveness|startup) probe)")
_DESCRIBED = ("Last State:", "Restart Count:", "Controlled By:", "Container ID:")


def parse(text: str) -> Iterator[Seen]:
    """Reason and code of the last end, restarts, what the scheduler lacks, limits and variables."""
    described = any(word in text for word in _DESCRIBED)
    section = ""
    for line, row in rows(text):
        stripped = row.strip()
        section = (
            stripped if stripped in ("Limits:", "Requests:", "Environment:", "Mounts:", "Last State:") else section
        )
        yield from _of_end(row, line, text)
        if (lacking := _LACKING.match(row)) is not None:
            yield Seen("pod.insufficient", lacking[1], line, row)
        if described:
            yield from _of_container(section, row, line)
    if described:
        line, row = next((line, row) for line, row in rows(text) if any(word in row for word in _DESCRIBED))
        yield Seen("where", "kubernetes", line, row)


def _of_end(row: str, line: int, text: str) -> Iterator[Seen]:
    reason = _REASON.match(row)
    if reason and reason[1] == "OOMKilled":
        yield Seen("pod.reason", "oomkilled", line, row)
    elif _PROBE.match(row):
        yield Seen("pod.reason", "liveness", line, row)
    elif reason and reason[1] == "Error" and "probe" not in text:
        yield Seen("pod.reason", "error", line, row)
    if (code := _EXIT.match(row)) is not None:
        yield Seen("pod.exit_code", int(code[1]), line, row)
        if code[1] == "143" and "probe" not in text:
            yield Seen("pod.reason", "sigterm", line, row)


def _of_container(section: str, row: str, line: int) -> Iterator[Seen]:
    if (restarts := _RESTARTS.match(row)) is not None:
        yield Seen("pod.restarts", int(restarts[1]), line, row)
    if (image := _IMAGE.match(row)) is not None:
        yield Seen("vllm.version", image[1], line, row)
    if section == "Limits:" and (limit := _MEMORY.match(row)) is not None:
        amount = gib(limit[1], limit[2] or "b")
        if amount is not None:
            yield Seen("pod.memory_limit_gib", amount, line, row)
    if (
        section == "Environment:"
        and (variable := _VARIABLE.match(row)) is not None
        and not variable[2].startswith("<set to")
    ):
        yield Seen(f"env.{variable[1]}", variable[2].strip(), line, row)

"""Which failure of a log is the root: the first in time. Logs of several nodes are put on one clock before."""

from __future__ import annotations

from engine.lazy import regex
from engine.model import Value
from engine.observe.trace import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.knowledge.store import Knowledge
    from engine.observe.log import Hit, Reading, Unexplained

QUIET = ("INFO", "WARNING", "DEBUG")
SAME_CLOCK = 2.0  # seconds by which logs of one cluster differ without a skew
TOGETHER = ("loading", "profiling", "kv-cache", "compile")  # stages that the ranks of one server enter together


class Root(Value):
    """One failure. `sign` is "" for an exception that no sign knows."""

    file: int
    line: int
    sign: str
    role: str
    text: str
    process: str
    pid: str
    node: str
    time: str
    stage: str
    count: int
    began: int
    frame: str
    is_loud: bool  # an error of its own, neither a notice nor what follows from another


def roots(readings: Sequence[Reading]) -> list[Root]:
    """Every failure of the logs, the first in time first; what a failure drags along comes last. Skewed clocks are set
    right by the stages that the nodes entered together."""
    found: list[tuple[int, Root]] = []
    for file, reading in enumerate(readings):
        stop = next((line for line, stage in reading.milestones if stage == "shutdown"), None)
        found += [
            (rank, _root(file, one, rank, reading))
            for one, rank in _failures(reading)
            if stop is None or one.line < stop
        ]
    moments = _moments([root for _rank, root in found], skews(readings))
    order = sorted(range(len(found)), key=lambda n: (found[n][0], moments[n], found[n][1].file, found[n][1].line))
    return [found[n][1] for n in order]


def first_failure(hits: Sequence[Hit]) -> Hit:
    """The first of the hits of one log in time."""
    moments = _moments(hits, (0.0,))
    return hits[min(range(len(hits)), key=lambda n: (moments[n], hits[n].line))]


def _moments(failures: Sequence[Root | Hit], ahead: Sequence[float]) -> list[float]:
    """When each came, on one clock. Only lines of different nodes are told apart by it: one node writes its lines in
    order, whatever its clock did."""
    origins = [(getattr(one, "file", 0), one.node) for one in failures]
    if len(set(origins)) < 2 or not all(one.time for one in failures):
        return [0.0] * len(failures)
    moments = [seconds(one.time) - ahead[file] for one, (file, _node) in zip(failures, origins, strict=True)]
    latest: dict[tuple[int, str], float] = {}
    for n in sorted(range(len(failures)), key=lambda n: failures[n].line):
        latest[origins[n]] = moments[n] = max(moments[n], latest.get(origins[n], moments[n]))
    return moments


def skews(readings: Sequence[Reading]) -> list[float]:
    """Seconds by which the clock of each log is ahead of the first one's."""
    return [_skew(readings[0], reading) for reading in readings]


def _skew(first: Reading, other: Reading) -> float:
    known = [stage for stage in TOGETHER if stage in first.times and stage in other.times]
    apart = [seconds(other.times[stage]) - seconds(first.times[stage]) for stage in known]
    skew = sorted(apart)[len(apart) // 2] if apart else 0.0
    return skew if abs(skew) > SAME_CLOCK else 0.0


def _failures(reading: Reading) -> list[tuple[Hit | Unexplained, int]]:
    """Failures with their rank: what is reported as an error, what is only mentioned, what follows from others."""
    found: list[tuple[Hit | Unexplained, int]] = []
    for hit in reading.hits:
        if hit.role in ("root", "failure"):
            found.append((hit, 1 if hit.level in QUIET else 0))
        elif hit.role == "aftermath":
            found.append((hit, 2))
    return found + [(one, 0) for one in reading.unexplained]


def _root(file: int, one: Hit | Unexplained, rank: int, reading: Reading) -> Root:
    sign, role, pid = getattr(one, "sign", ""), getattr(one, "role", "failure"), one.pid
    count = reading.counts.get(sign, 1) if sign else getattr(one, "count", 1)
    stage = reading.stage_at(one.line)
    if stage == "arguments" and count > 1:  # reported, and then fatal when it came again
        stage = reading.stage_at(reading.latest.get(sign or one.text, one.line))
    return Root(
        file,
        one.line,
        sign,
        role,
        one.text,
        one.process,
        pid,
        one.node,
        one.time,
        stage,
        count,
        one.began,
        one.frame,
        not rank,
    )


# -- the stage of a failure -------------------------------------------------------------------------------------------


def stage_of(readings: Sequence[Reading], found: Sequence[Root], knowledge: Knowledge) -> str:
    """The stage in which the server failed, or the last one that it came to. "" where the logs do not tell.

    A failure that the server outlived does not tell: of several stages with failures it is the last that counts."""
    loud = [root for root in found if root.is_loud] or [root for root in found if root.role == "aftermath"]
    stages = [stage for root in loud if (stage := _stage(root, knowledge))]
    if stages:
        latest = max(stages, key=STAGES.index)
        outlived = any(
            reading.milestones and reading.milestones[-1][1] in ("serving", "shutdown") for reading in readings
        )
        return "serving" if outlived else latest
    last = [stage for reading in readings for _line, stage in reading.milestones[-1:]]
    if last:
        return last[-1]
    return next((stage for root in found if (stage := _stage(root, knowledge))), "")


def _stage(root: Root, knowledge: Knowledge) -> str:
    """What the failure says itself, else the last milestone before it. Before any milestone what vLLM is built on
    cannot be loaded, or a setting is refused."""
    said = next((stage for marks, stage in _SAYS if any(mark in root.text for mark in marks)), "")
    entry = knowledge.item("sign", root.sign) or {}
    area = str((knowledge.item("cause", entry.get("cause") or "") or {}).get("area"))
    if root.stage and root.stage != "serving":
        return said or ("loading" if area == "lora" else root.stage)
    if root.stage:
        return root.stage
    if any(mark in root.text for mark in _IMPORT):
        return "install"
    return "arguments" if _OPTION.search(root.text) else _AREAS.get(area, "")


STAGES = ("install", "arguments", "loading", "profiling", "kv-cache", "compile", "serving", "shutdown")
_SAYS = ((("InvalidCxxCompiler", "InductorError", "torch._dynamo"), "compile"), (("uvicorn/",), "serving"))
_IMPORT = ("ImportError", "ModuleNotFoundError", "cannot open shared object", "undefined symbol", "GLIBC")
_OPTION = regex(r"(?:^|[\s'\"])--[a-z][a-z-]+")
_AREAS = {"install": "install", "config": "arguments", "model-load": "loading"}

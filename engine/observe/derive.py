"""Facts from facts: what a reading of a log amounts to, and what the reference knows of the flags that were named."""

from __future__ import annotations

from engine.model import Fact, Origin
from engine.observe.roots import first_failure
from engine.versions import Constraint, Range, holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.knowledge.store import Knowledge
    from engine.observe.log import Hit, Reading

QUIET = ("INFO", "WARNING", "DEBUG")
_OF_MEMORY = {"model.name", "args.model", "log.kv_tokens", "log.blocks", "log.available_gib", "log.needed_gib"}
_TURNS = ("arguments", "loading", "shutdown")  # stages that begin or end a run of the server


def of_reading(reading: Reading, number: int | None, knowledge: Knowledge) -> Iterator[Fact]:
    """Every fact of one log; `number` is its index among the inputs."""
    yield from of_signs(reading, number)
    yield from _of_progress(reading, number)
    for name, value, line in reading.statistics.facts():
        yield Fact(name, value, _at(number, line, reading.statistics.text, f"statistics:{number}"))
    if reading.version:
        version, line = reading.version
        yield Fact("vllm.version", version, _at(number, line, f"version {version}", f"version:{number}"))
    if reading.arguments:
        from engine.observe.command import from_mapping  # noqa: PLC0415 - imports this module's neighbours

        stated, line = reading.arguments
        for fact in from_mapping(stated, knowledge, "log", f"log:{number}:arguments"):
            yield fact.but(origin=fact.origin.but(file=number, line=line))


def of_signs(reading: Reading, number: int | None) -> Iterator[Fact]:
    """A fact for each sign and for each value that it captured.

    The first failure in time is the cause of later ones, and a warning weighs less than an error beside it: signs that
    are neither are graded near."""
    failures = [hit for hit in reading.hits if hit.role == "root"]
    loud = [hit for hit in failures if hit.level not in QUIET]
    first = first_failure(loud or failures).line if failures else 0
    for hit in reading.hits:
        if hit.role == "aftermath" and _stopping(reading, hit.line):
            continue
        later = abs(hit.line - first) > 3 or (bool(loud) and hit not in loud)
        grade = "near" if hit.role == "root" and later else "exact"
        origin = _at(number, hit.line, hit.text, f"log:{number}:{hit.line}")
        if hit.role != "figure":  # only its values count
            yield Fact(f"sign.{hit.sign}", True, origin, grade)  # type: ignore[arg-type]
        for name, value in hit.captures.items():
            yield Fact(f"log.{name}", value.replace(",", "") if value[:1].isdigit() else value, origin)


def _of_progress(reading: Reading, number: int | None) -> Iterator[Fact]:
    """How far the server came."""
    stages = [stage for _line, stage in reading.milestones]
    if reading.blank:
        yield Fact("log.empty", True, _at(number, 1, "", f"progress:{number}"))
    last_line = reading.milestones[-1][0] if reading.milestones else 1
    trouble = _first_trouble(reading)
    if stages:
        yield Fact("log.last_stage", stages[-1], _at(number, last_line, stages[-1], f"progress:{number}"))
    if trouble is not None and reading.stage_at(trouble.line):
        stage = reading.stage_at(trouble.line)
        if stage != "shutdown":
            yield Fact("stage", stage, _at(number, trouble.line, trouble.text, f"log:{number}:{trouble.line}"))
    if "serving" in stages:
        yield Fact("log.startup_complete", True, _at(number, last_line, "", f"progress:{number}"))
    elif stages and trouble is None and not reading.exceptions:
        yield Fact("log.ends_in_startup", True, _at(number, reading.lines, "", f"progress:{number}"))
    if stages[:1] == ["arguments"]:
        yield Fact("log.read_whole", True, _at(number, 1, "", f"progress:{number}"))
    yield from _of_the_end(reading, number)


def _of_the_end(reading: Reading, number: int | None) -> Iterator[Fact]:
    """A shutdown that was asked for, the first error that no sign explains, and how requests ended."""
    shutdown = next((line for line, stage in reading.milestones if stage == "shutdown"), None)
    if shutdown is not None:
        yield Fact("log.shutdown_requested", True, _at(number, shutdown, "shutdown", f"progress:{number}:shutdown"))
    for line, text in reading.exceptions:
        if not _stopping(reading, line):
            yield Fact("log.unexplained_error", text, _at(number, line, text, f"log:{number}:{line}"))
            break
    for line, status in reading.statuses:
        yield Fact("log.http_status", status, _at(number, line, f"HTTP {status}", f"log:{number}:status:{status}"))


def _stopping(reading: Reading, line: int) -> bool:
    """Whether the server was asked to stop before that line and has not been started again."""
    turns = [stage for number, stage in reading.milestones if number <= line and stage in _TURNS]
    return turns[-1:] == ["shutdown"]


def _first_trouble(reading: Reading) -> Hit | None:
    """The first sign of a failure on a line that is no mere notice."""
    return next((hit for hit in reading.hits if hit.role in ("root", "failure") and hit.level not in QUIET), None)


def _at(number: int | None, line: int, text: str, source: str) -> Origin:
    return Origin("log", text[:300], source, file=number, line=line)


def versions(facts: Iterable[Fact]) -> Range | None:
    """The range of vLLM versions that all statements allow; the most trusted source decides where they differ."""
    for kinds in (("answer",), ("log",), ("environment",), ("context",), ("command",), ("complaint",)):
        found = [
            Range.parse(str(fact.value)) for fact in facts if fact.name == "vllm.version" and fact.origin.kind in kinds
        ]
        known = [one for one in found if one is not None]
        if known:
            return known[-1]
    return None


def from_facts(facts: list[Fact], knowledge: Knowledge) -> list[Fact]:
    """What the reference says of flags, variables and pins for this version."""
    version = versions(facts)
    out = [
        fact for name, origin in _named_flags(facts, knowledge) for fact in _of_flag(name, origin, version, knowledge)
    ]
    if version is not None:
        out += _of_variables(facts, version, knowledge)
        from engine.observe import pins  # noqa: PLC0415 - only where a version is known

        out += pins.facts(facts, version, knowledge)
        out += _of_engine(version, facts)
    if any(fact.name in _OF_MEMORY for fact in facts):
        from engine.advise import capacity  # noqa: PLC0415 - few cases name a model or print the size of the KV cache

        out += capacity.facts(facts, knowledge)
    return list(dict.fromkeys(out))


def _named_flags(facts: list[Fact], knowledge: Knowledge) -> Iterator[tuple[str, Origin]]:
    from engine.observe.command import canonical  # noqa: PLC0415 - imports this module's neighbours

    for fact in facts:
        if fact.name == "mentions.flag" or fact.name == "log.flag":
            named = str(fact.value).partition("=")[0].split()
            yield canonical(named[0], knowledge) if named else "", fact.origin
        elif fact.name.startswith("args.") and fact.origin.kind == "command" and _is_long(fact):
            yield f"--{fact.name[5:]}", fact.origin


def _is_long(fact: Fact) -> bool:
    """Whether a flag was given by a name that the reference must know: `-O3` is none, nor is an option of docker's."""
    written = fact.origin.text.lstrip("\"'")
    return fact.name != "args.docker-ipc" and (written.startswith("--") or not written.startswith("-"))


def _of_flag(name: str, origin: Origin, version: Range | None, knowledge: Knowledge) -> Iterator[Fact]:
    if not name.startswith("--"):
        return
    entry = knowledge.item("flag", name)
    derived = origin.but(kind="derived", source=f"{origin.source}")
    if entry is None:
        if name.startswith("--no-") and knowledge.item("flag", f"--{name[5:]}") is not None:
            return
        yield Fact("derived.unknown_flag", name, derived)
        near = knowledge.nearest_flag(name)
        if near:
            yield Fact("derived.flag_replacement", near, derived)
        return
    if entry.get("removed"):
        gone = holds(Constraint.parse(f">={entry['removed']}"), version) if version is not None else None
        if gone is not False:
            yield Fact("derived.removed_flag", name, derived, "exact" if gone else "near")
            if entry.get("replacement"):
                yield Fact("derived.flag_replacement", entry["replacement"]["en"], derived)
    elif (
        entry.get("since") and version is not None and holds(Constraint.parse(f">={entry['since']}"), version) is False
    ):
        yield Fact("derived.flag_too_new", name, derived)


def _of_variables(facts: list[Fact], version: Range, knowledge: Knowledge) -> Iterator[Fact]:
    for fact in facts:
        if fact.name.startswith("env."):
            entry = knowledge.item("variable", fact.name[4:])
            if entry and entry.get("last") and holds(Constraint.parse(f">{entry['last']}"), version):
                yield Fact("derived.removed_variable", fact.name[4:], fact.origin.but(kind="derived"))


def _of_engine(version: Range, facts: list[Fact]) -> Iterator[Fact]:
    """V0 was the default up to 0.7 and is gone from 0.11 on; between them V1 unless VLLM_USE_V1=0."""
    origin = Origin("derived", "vLLM version", "reference:engine")
    chosen = [str(fact.value) for fact in facts if fact.name == "env.VLLM_USE_V1"]
    if holds(Constraint.parse(">=0.11"), version):
        yield Fact("engine", "v1", origin)
    elif holds(Constraint.parse("<0.8"), version):
        yield Fact("engine", "v1" if chosen == ["1"] else "v0", origin)
    elif chosen:
        yield Fact("engine", "v0" if chosen[-1] == "0" else "v1", origin)

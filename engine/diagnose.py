"""The door: a Case and the knowledge base in, an Answer out. Observe, reason, rank, ask, advise; nothing else
happens."""

from __future__ import annotations

from engine.advise import command as corrected_command
from engine.advise import values
from engine.advise.fixes import advise
from engine.model import Answer, Change, Fix, RankedCause, RuledOut, SeenSymptom
from engine.observe import derive
from engine.observe.case import language, observe
from engine.reason import ask, infer, rank
from engine.reason.atoms import GRADES, number
from engine.reason.chain import backend
from engine.redact import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.advise.fixes import Advice
    from engine.knowledge.store import Knowledge
    from engine.model import Case, CorrectedCommand, Fact, Status, Step
    from engine.observe.case import Observation
    from engine.reason.infer import Conclusions
    from engine.reason.rank import Ranking, Suspect

SHOWN = 5  # causes with all their checks and fixes; those below a tenth of the first are left out
ALWAYS = 3  # causes that are shown unless they are hopeless: what was nearly as likely is worth knowing
HOPELESS = 0.01
LEAST = 0.02  # confidence below which a suggestion says nothing
REMOVED = "cli-flag-removed"  # what a version no longer has leaves the command, whatever else is wrong
RESEMBLES = 1.0  # score from which a cause that only resembles the words is worth suggesting
MANY_FAIL = 5.0  # per cent of the requests
_OF_GPUS = ("gpu.", "driver.", "torch.", "vllm.", "rdma.", "libraries.")  # facts that only our field's tools give
STRANGE = 3  # words that nothing here uses: a text with as many and no subject of ours is about something else


def diagnose(case: Case, knowledge: Knowledge) -> Answer:
    """The answer to `case`. The same case and knowledge give an equal answer, whichever engine runs."""
    engine = backend()
    seen = observe(case, knowledge)
    facts = _relevant(seen, knowledge)
    found = infer.infer(facts, knowledge, engine)
    version, platform = derive.versions(facts), _platform(facts)
    ranking = rank.rank(found, knowledge, version, platform)
    status = _status(seen, found, ranking, knowledge)
    suspects = _shown(ranking) if status == "answered" or _harmless(ranking, knowledge) else ()
    stated = values.known(facts)
    advice = advise([one.cause for one in suspects], found.atoms, stated, version, knowledge, engine)
    causes = tuple(_ranked(one, advice, stated) for one in suspects)
    return Answer(
        language(case, seen),  # type: ignore[arg-type]
        status,
        _symptoms(found, knowledge),
        causes,
        tuple(RuledOut(cause, evidence) for cause, evidence in ranking.ruled_out) if causes else (),
        _command(seen, causes, knowledge),
        _question(status, ranking, facts, knowledge),
        _understood(found, seen, status, knowledge),
        _missing(status, seen, version is not None),
        _trace(found, advice) if case.explain else None,
    )


def _relevant(seen: Observation, knowledge: Knowledge) -> tuple[Fact, ...]:
    """The facts that count. A text about another product says nothing to us, and words alone that name no trouble only
    resemble one."""
    if _foreign(seen):
        return ()
    facts = (
        seen.facts
        if _tells_of_trouble(seen)
        else tuple(fact for fact in seen.facts if not fact.name.startswith("lexical."))
    )
    return _with_fainter_words(facts) if _failure_is_shown(facts, knowledge) else facts


def _failure_is_shown(facts: Sequence[Fact], knowledge: Knowledge) -> bool:
    """Whether a log shows the failure itself, not only what the operator says of it."""
    roles = knowledge.section("roles")
    return any(
        fact.origin.kind == "log" and (roles.get(fact.name[5:]) == "root" or fact.name == "stats.queue_with_full_kv")
        for fact in facts
    )


def _with_fainter_words(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """What decides is the log: beside it the operator's words count one step less."""
    return tuple(
        fact.but(grade="near") if fact.origin.kind == "complaint" and fact.grade == "exact" else fact for fact in facts
    )


def _tells_of_trouble(seen: Observation) -> bool:
    """Whether the words report something, rather than ask for knowledge or for help in general."""
    if "trouble" in seen.kinds:
        return True
    detailed = bool(seen.kinds & {"thing", "circumstance"})
    asks = "question" in seen.kinds or any(mark in seen.words for mark in "?？吗呢")
    return detailed and ("vague" in seen.kinds or ("subject" in seen.kinds and not asks))


def _foreign(seen: Observation) -> bool:
    named = {fact.name for fact in seen.facts if fact.known}
    ours = "says.vllm" in named or bool(seen.command) or any(reading.is_vllm for reading in seen.readings)
    strange = "says.foreign" in named or any(name.startswith("sign.of-") for name in named)
    tools = [fact for fact in seen.facts if fact.origin.kind in ("environment", "metric")]
    ours = ours or any(fact.name.startswith(_OF_GPUS) for fact in tools)
    signs = bool(tools) or any(name.startswith("sign.") and not name.startswith("sign.of-") for name in named)
    if ours or (strange and not ours):
        return not ours
    if any(
        not reading.blank for reading in seen.readings
    ):  # a log without a line of vLLM or of its neighbours, and words that could be about anything
        return not signs and not named & {"says.model", "says.gpu", "says.engine", "says.request"}
    grounded = signs or bool(seen.kinds & {"subject", "thing"})
    return not grounded and not seen.readings and seen.unknown_words >= STRANGE


def _platform(facts: Sequence[Fact]) -> str | None:
    return next((str(fact.value) for fact in facts if fact.name == "platform"), None)


def _status(seen: Observation, found: Conclusions, ranking: Ranking, knowledge: Knowledge) -> Status:
    """What kind of answer this is; contract.md says what each promises."""
    symptoms = set(found.of("symptom"))
    specific = symptoms - knowledge.section("vague")
    asks = any(fact.name == "says.how-to" for fact in seen.facts) and not seen.kinds & {"trouble", "vague"}
    if ranking.suspects and (specific or (_proven(ranking) and not (asks and not seen.readings))):
        if _looks_fine(seen) and _reassured(seen, ranking, knowledge):
            return "healthy"
        return "answered"
    if _looks_fine(seen) and not specific:
        return "healthy"
    if ranking.suspects and not asks and (ranking.suspects[0].score > RESEMBLES or (seen.readings and not symptoms)):
        return "answered"
    if _harmless(ranking, knowledge):
        return "answered"
    return (
        "needs_more" if symptoms or (seen.readings and any(reading.is_vllm for reading in seen.readings)) else "unknown"
    )


def _proven(ranking: Ranking) -> bool:
    """Whether the first cause stands on more than words that resemble it."""
    return any(not item.name.endswith(".resemblance") for item in ranking.suspects[0].items)


def _looks_fine(seen: Observation) -> bool:
    """Whether a log of vLLM was read and shows nothing wrong."""
    named = {fact.name for fact in seen.facts if fact.origin.kind == "log"}
    ours = [reading for reading in seen.readings if reading.is_vllm]
    return bool(ours) and not named & {"log.unexplained_error", "log.ends_in_startup"} and not _requests_fail(seen)


def _requests_fail(seen: Observation) -> bool:
    """Whether a scrape counts so many failed requests that the server cannot be called well, whatever the cause."""
    shares = ("stats.error_share", "stats.server_error_share")
    return any(fact.name in shares and (number(fact.value) or 0) >= MANY_FAIL for fact in seen.facts)


def _reassured(seen: Observation, ranking: Ranking, knowledge: Knowledge) -> bool:
    """Whether the operator only asks if all is well, and the log has no failure in it."""
    roles = knowledge.section("roles")
    failing = any(
        roles.get(fact.name[5:]) in ("root", "failure") for fact in seen.facts if fact.name.startswith("sign.")
    )
    asked = any(fact.name == "says.reassurance" for fact in seen.facts)
    unsure = ranking.suspects[0].confidence < rank.CLAIM or _harmless(ranking, knowledge)
    return not failing and unsure and (asked or not seen.words)


def _harmless(ranking: Ranking, knowledge: Knowledge) -> bool:
    """Whether the first suspect is a thing that only looks bad."""
    first = ranking.suspects[0].cause if ranking.suspects else ""
    logic = knowledge.item("logic", first)
    return bool(logic and logic["harmless"]) and ranking.suspects[0].confidence >= rank.CLAIM


def _shown(ranking: Ranking) -> tuple[Suspect, ...]:
    """The first cause, the runners-up that are not hopeless, and of the rest those near the first."""
    least = max(LEAST, ranking.suspects[0].confidence / 10)
    return tuple(
        one
        for place, one in enumerate(ranking.suspects[:SHOWN])
        if one.confidence >= (least if place >= ALWAYS else HOPELESS) or not place
    )


def _ranked(one: Suspect, advice: Advice, stated: Mapping[str, str]) -> RankedCause:
    return RankedCause(
        one.cause,
        one.confidence,
        one.verdict,
        rank.evidence(one.items),
        rank.evidence(one.against),
        advice.fixes[one.cause],
        dict(stated),
    )


def _symptoms(found: Conclusions, knowledge: Knowledge) -> tuple[SeenSymptom, ...]:
    """The symptoms seen, most exact first."""
    out = []
    for name in found.of("symptom"):
        facts = found.grounds[f"symptom:{name}"]
        grade = max((GRADES[fact.grade] for fact in facts), default=0)
        items = rank.evidence([rank.Item(name, "some", 1.0, facts)])
        out.append(SeenSymptom(name, (1.0, 0.7, 0.4)[grade], items))
    return tuple(sorted(out, key=lambda one: (-one.score, one.id)))


def _command(seen: Observation, causes: Sequence[RankedCause], knowledge: Knowledge) -> CorrectedCommand | None:
    """The operator's command with the first fix of the first cause that touches it, and with what the command itself
    shows to be wrong beside that."""
    if not seen.command or not causes:
        return None
    fixes = [(one.id, fix) for one in causes if one is causes[0] or _shown_by_command(one) for fix in one.fixes]
    if derive.versions(seen.facts) is None:  # what only some versions have is not written into a command
        fixes = [(cause, fix) for cause, fix in fixes if not _of_some_versions(cause, fix, knowledge)]
    gone = {str(fact.value) for fact in seen.facts if fact.name == "derived.removed_flag" and fact.grade == "exact"}
    fixes += [(REMOVED, Fix(flag, (Change("flag", flag, None, None),), {})) for flag in sorted(gone)]
    done = corrected_command.combined(seen.command, fixes, knowledge)
    return corrected_command.shown(done, knowledge) if done is not None else None


def _of_some_versions(cause: str, fix: Fix, knowledge: Knowledge) -> bool:
    entry = knowledge.item("cause", cause) or {"fixes": ()}
    return any(one["id"] == fix.id and one.get("applies") for one in entry["fixes"])


def _shown_by_command(cause: RankedCause) -> bool:
    """Whether a word of the command proves that cause, whatever else is wrong."""
    return any(one.weight == "decisive" and one.origin.kind in ("command", "derived") for one in cause.evidence)


def _question(status: Status, ranking: Ranking, facts: Sequence[Fact], knowledge: Knowledge) -> str | None:
    if status == "needs_more":
        return ask.question(ranking.suspects, facts, knowledge) or ask.GENERAL
    return ask.question(ranking.suspects, facts, knowledge) if status == "answered" else None


def _understood(
    found: Conclusions, seen: Observation, status: Status, knowledge: Knowledge
) -> tuple[tuple[str, str], ...]:
    """What was recognised beside the causes: concepts of an unanswered text, lines that only look bad."""
    roles = knowledge.section("roles")
    signs = [
        fact for fact in seen.facts if fact.name.startswith("sign.") and roles.get(fact.name[5:]) in ("hint", "noise")
    ]
    told = [fact for fact in signs if status == "healthy" or fact.origin.kind == "complaint"]
    out = [(fact.name[5:], "") for fact in told]
    if status in ("needs_more", "unknown"):
        out += [(name, "") for name in found.of("symptom")]
        out += [
            ("log.unexplained_error", mask(str(fact.value)))
            for fact in seen.facts
            if fact.name == "log.unexplained_error"
        ]
    return tuple(dict.fromkeys(out))


def _missing(status: Status, seen: Observation, version_known: bool) -> tuple[str, ...]:
    """What would help, by what is not there."""
    if status == "healthy" or (status == "unknown" and not seen.kinds & {"trouble", "vague", "subject"}):
        return ()
    logs = () if seen.readings else ("log",)
    command = () if seen.command else ("command",)
    version = () if version_known else ("version",)
    return (*logs, *command, *version)


def _trace(found: Conclusions, advice: Advice) -> tuple[Step, ...]:
    deepest = max((step.level for step in found.steps), default=0)
    return (*found.steps, *(step.but(level=step.level + deepest) for step in advice.steps))

"""The JSON object of an answer keeps contract.md: keys, order, words in the language, values filled in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engine.knowledge.store import Knowledge
from engine.model import Answer, Change, Evidence, Fix, Origin, RankedCause
from interfaces.render.document import document, json_bytes

if TYPE_CHECKING:
    from engine.model import Language
    from tests.interfaces.render.conftest import Answers

KEYS = {
    "": "schema_version kb lang status symptoms causes ruled_out command question understood missing trace",
    "kb": "version hash",
    "symptoms": "id title score evidence",
    "causes": "id title area confidence verdict why evidence against checks fixes sources",
    "evidence": "kind file line where text weight",
    "checks": "id text command reads",
    "reads": "if then",
    "fixes": "id text kind changes commands side_effects risk restart effect verify applies",
    "changes": "kind name from to",
    "ruled_out": "id title evidence",
    "command": "before after changes",
    "question": "id text options command",
    "options": "value text",
    "understood": "id text",
    "missing": "id text command",
    "trace": "conclusion rule from level",
}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


@pytest.fixture
def claimed(answers: Answers, knowledge: Knowledge) -> dict[str, Any]:
    return document(answers.claimed("en"), knowledge, "1.2.3")


def with_cause(cause: RankedCause) -> Answer:
    return Answer("en", "answered", causes=(cause,))


def where_of(knowledge: Knowledge, *origins: Origin, lang: Language = "en") -> list[str]:
    cause = RankedCause("docker-shm-too-small", 0.5, "likely", tuple(Evidence(each, "some") for each in origins), ())
    evidence = document(Answer(lang, "answered", causes=(cause,)), knowledge, "1")["causes"][0]["evidence"]
    return [piece["where"] for piece in evidence]


def objects(name: str, value: Any) -> list[tuple[str, dict[str, Any]]]:
    """Every object below `value` with the key under which it stands."""
    if isinstance(value, list):
        return [found for each in value for found in objects(name, each)]
    if isinstance(value, dict):
        return [(name, value), *(found for key, each in value.items() for found in objects(key, each))]
    return []


def test_every_object_has_the_keys_of_the_contract_in_their_order(
    claimed: dict[str, Any], answers: Answers, knowledge: Knowledge
) -> None:
    found = objects("", {**claimed, "question": document(answers.needs_more("en"), knowledge, "1")["question"]})
    assert {name for name, _object in found} == KEYS.keys()
    for name, each in found:
        # `command` is an object at the top and a text in checks, `kb` and so on are objects everywhere.
        assert list(each) == KEYS[name].split(), name


def test_the_trace_is_there_only_when_the_answer_has_one(answers: Answers, knowledge: Knowledge) -> None:
    assert list(document(answers.unknown("en"), knowledge, "1")) == KEYS[""].split()[:-1]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("kind", ["claimed", "suspected", "needs_more", "unknown", "healthy"])
def test_the_bytes_are_one_line_of_utf_8_that_reads_back(
    answers: Answers, knowledge: Knowledge, kind: str, lang: Language
) -> None:
    plain = document(getattr(answers, kind)(lang), knowledge, "1")
    encoded = json_bytes(plain)
    assert encoded.endswith(b"}\n")
    assert encoded.count(b"\n") == 1
    assert json.loads(encoded) == plain
    assert json_bytes(document(getattr(answers, kind)(lang), knowledge, "1")) == encoded


def test_chinese_stands_in_the_json_as_itself(answers: Answers, knowledge: Knowledge) -> None:
    title = (knowledge.item("cause", answers.kv_cache) or {})["title"]["zh"]
    assert title in json_bytes(document(answers.claimed("zh"), knowledge, "1")).decode()


@pytest.mark.parametrize("raw", ["\x1b[2J", "\u202e", "\x00", "\x7f", "\u2066"])
def test_control_and_bidirectional_characters_are_escaped_in_the_json(
    answers: Answers, knowledge: Knowledge, raw: str
) -> None:
    encoded = json_bytes(document(answers.with_evidence(f"a{raw}b"), knowledge, "1")).decode()
    assert raw not in encoded
    assert json.loads(encoded)["causes"][0]["evidence"][0]["text"] == f"a{raw}b"


def test_the_version_and_the_hash_of_the_knowledge_are_named(claimed: dict[str, Any], knowledge: Knowledge) -> None:
    assert claimed["kb"] == {"version": "1.2.3", "hash": knowledge.hash}


def test_a_change_says_from_what_to_what(claimed: dict[str, Any]) -> None:
    changes = [fix["changes"] for fix in claimed["causes"][0]["fixes"]]
    assert changes[0] == [{"kind": "flag", "name": "--max-model-len", "from": "131072", "to": "42672"}]
    assert changes[1] == [{"kind": "flag", "name": "--kv-cache-dtype", "from": None, "to": "fp8"}]


def test_a_fix_that_worsens_another_suspect_says_so_among_its_side_effects(
    claimed: dict[str, Any], knowledge: Knowledge, answers: Answers
) -> None:
    title = (knowledge.item("cause", answers.shared_memory) or {})["title"]["en"]
    assert claimed["causes"][0]["fixes"][2]["side_effects"][-1].endswith(title)


def test_the_versions_to_which_a_fix_applies_are_named_with_the_product(knowledge: Knowledge) -> None:
    ranged = [
        (cause, fix)
        for cause in knowledge.ids("cause")
        for fix in (knowledge.item("cause", cause) or {})["fixes"]
        if fix.get("applies")
    ]
    cause, fix = ranged[0]
    shown = document(with_cause(RankedCause(cause, 0.5, "likely", (), (), (Fix(fix["id"], (), {}),))), knowledge, "1")
    assert shown["causes"][0]["fixes"][0]["applies"] == f"vllm {fix['applies']}"


def test_placeholders_are_filled_from_the_fix_and_else_from_the_cause(knowledge: Knowledge) -> None:
    cause = knowledge.item("cause", "docker-shm-too-small") or {}

    class WithPlaceholders:
        """The real knowledge, but for one cause whose fix names two facts."""

        hash = knowledge.hash
        phrases = staticmethod(knowledge.phrases)

        @staticmethod
        def item(kind: str, name: str) -> Any:
            if (kind, name) != ("cause", "docker-shm-too-small"):
                return knowledge.item(kind, name)
            words = {"en": "{log.free_mib} of {log.required_mib} MiB, {env.HF_HOME}", "zh": "-"}
            return {**cause, "fixes": [{**cause["fixes"][0], "text": words, "commands": ["ls {log.path}"]}]}

    fix = Fix(cause["fixes"][0]["id"], (), {"log.free_mib": "1"})
    ranked = RankedCause(
        "docker-shm-too-small", 0.5, "likely", (), (), (fix,), {"log.free_mib": "9", "log.path": "$(x)"}
    )
    shown = document(with_cause(ranked), WithPlaceholders(), "1")["causes"][0]["fixes"][0]  # type: ignore[arg-type]
    assert shown["text"] == "1 of <memory required> MiB, <HF_HOME>"
    assert shown["commands"] == ["ls <the path>"]


def test_a_place_is_a_line_or_words_or_the_source(knowledge: Knowledge) -> None:
    origins = [
        Origin("log", "x", "l", 0, 212),
        Origin("complaint", "x", "w", words=(3, 6)),
        Origin("complaint", "x", "w", words=(2, 2)),
        Origin("command", "x", "c"),
    ]
    assert where_of(knowledge, *origins) == ["line 212", "words 3–6", "word 2", "the command"]
    assert where_of(knowledge, *origins, lang="zh") == ["第 212 行", "第 3–6 个词", "第 2 个词", "启动命令"]


def test_with_several_inputs_a_line_names_its_input(knowledge: Knowledge) -> None:
    origins = [
        Origin("log", "x", "a", 0, 7),
        Origin("log", "x", "b", 1, 9),
        Origin("complaint", "x", "w", words=(1, 1)),
    ]
    assert where_of(knowledge, *origins) == ["input 1, line 7", "input 2, line 9", "word 1"]
    assert where_of(knowledge, *origins, lang="zh")[:2] == ["第 1 个输入，第 7 行", "第 2 个输入，第 9 行"]


def test_every_source_of_evidence_has_words_in_both_languages(knowledge: Knowledge) -> None:
    kinds = ("log", "complaint", "command", "context", "environment", "metric", "answer", "derived")
    for lang in LANGUAGES:
        places = where_of(knowledge, *(Origin(kind, "x", kind) for kind in kinds), lang=lang)  # type: ignore[arg-type]
        assert len(set(places)) == len(kinds)


def test_what_was_understood_is_looked_up_or_else_quoted(answers: Answers, knowledge: Knowledge) -> None:
    assert document(answers.healthy("en"), knowledge, "1")["understood"][0]["text"].startswith(
        "The engine did not start"
    )
    assert document(answers.needs_more("en"), knowledge, "1")["understood"][0]["text"] == "it does not start"


def test_what_is_missing_comes_with_the_command_that_gets_it(answers: Answers, knowledge: Knowledge) -> None:
    log, stage = document(answers.needs_more("en"), knowledge, "1")["missing"]
    assert log["command"].startswith("docker logs")
    assert (stage["id"], stage["command"]) == ("stage", None)


def test_every_id_that_the_knowledge_base_does_not_have_is_shown_as_it_is(knowledge: Knowledge) -> None:
    shown = document(with_cause(RankedCause("of-tomorrow", 0.5, "likely", (), ())), knowledge, "1")["causes"][0]
    assert (shown["title"], shown["why"], shown["checks"]) == ("of-tomorrow", "", [])


@pytest.mark.parametrize("change", [Change("flag", "--enforce-eager", None, ""), Change("env", "X", "1", None)])
def test_an_unset_or_removed_value_is_null_and_a_bare_switch_is_empty(knowledge: Knowledge, change: Change) -> None:
    fix = Fix("ipc-host", (change,), {})
    cause = RankedCause("docker-shm-too-small", 0.5, "likely", (), (), (fix,))
    shown = document(with_cause(cause), knowledge, "1")["causes"][0]["fixes"][0]["changes"][0]
    assert (shown["from"], shown["to"]) == (change.before, change.after)

"""Each fault of a knowledge base is one finding: file and line, the value quoted, and what was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.errors import KnowledgeError
from engine.knowledge.compile import build
from engine.knowledge.lint import lint
from tests.support import MINI, edited, findings

if TYPE_CHECKING:
    from pathlib import Path

WINDOW = "causes/memory/window-too-large.yaml"
BUDGET = "causes/memory/budget-too-large.yaml"
SHM = "causes/deployment/shm-too-small.yaml"
REMOVED = "causes/config/flag-removed.yaml"


def assert_found(home: Path, file: str, line: int | None, expected: str) -> None:
    found = findings(home)
    if not expected:
        assert found == []
        return
    matching = [finding for finding in found if expected in finding]
    assert matching, f"no finding says {expected!r}: {found}"
    if line is not None:
        assert any(finding.startswith(f"kb/{file}:{line}: ") for finding in matching), (line, matching)


def test_a_sound_knowledge_base_has_no_findings() -> None:
    assert lint(str(MINI)) == []


def test_the_name_of_its_folder_means_nothing(home: Path) -> None:
    edited(home, "lexicon/en.yaml", "slow: [", "slwo: [")
    moved = home.rename(home.parent / "elsewhere")
    assert any(finding.startswith("elsewhere/lexicon/en.yaml:3: unknown concept 'slwo'") for finding in findings(moved))
    assert findings(moved) == [str(finding) for finding in lint(f"{moved}/")]


MEANING = [
    (
        WINDOW,
        "{symptom: out-of-memory-at-start, weight",
        "{symptom: out-of-memory-at-strat, weight",
        "unknown symptom 'out-of-memory-at-strat' (did you mean 'out-of-memory-at-start'?)",
        0,
    ),
    (
        BUDGET,
        "{sign: cuda-out-of-memory,",
        "{sign: cuda-out-of-memroy,",
        "unknown sign 'cuda-out-of-memroy' (did you mean 'cuda-out-of-memory'?)",
        0,
    ),
    (
        WINDOW,
        "{says: context-length}]",
        "{says: context-lenght}]",
        "unknown concept 'context-lenght' (did you mean 'context-length'?)",
        0,
    ),
    (
        BUDGET,
        "{none: [{says: under-load}]",
        "{none: [{says: underload}]",
        "unknown concept 'underload' (did you mean 'under-load'?)",
        0,
    ),
    (
        WINDOW,
        "{fact: stage == serving, weight",
        "{fact: stge == serving, weight",
        "unknown fact 'stge' (did you mean 'stage'?)",
        0,
    ),
    (
        WINDOW,
        "{fact: stage == serving, weight",
        "{fact: stage == servin, weight",
        "'stage' is never 'servin'; it is one of install, arguments",
        0,
    ),
    (
        WINDOW,
        "{fact: stage == serving, weight",
        "{fact: stage is serving, weight",
        "'stage is serving' is neither a fact nor 'fact OPERATOR value'",
        0,
    ),
    (
        WINDOW,
        "{fact: args.max-model-len > log",
        "{fact: args.max-modle-len > log",
        "unknown flag '--max-modle-len' (did you mean '--max-model-len'?)",
        0,
    ),
    (
        WINDOW,
        "> log.estimated_len, weight",
        "> log.estimated_length, weight",
        "unknown fact 'log.estimated_length' (did you mean 'log.estimated_len'?)",
        0,
    ),
    (SHM, "when: where != kubernetes", "when: were != kubernetes", "unknown fact 'were' (did you mean 'where'?)", 0),
    (
        SHM,
        "{fact: gpus == one,",
        "{fact: metrics.vllm:num_requests_waitin > 0,",
        "unknown metric 'vllm:num_requests_waitin' (did you mean 'vllm:num_requests_waiting'?)",
        0,
    ),
    (
        WINDOW,
        "confused_with: [budget-too-large]",
        "confused_with: [budget-to-large]",
        "unknown cause 'budget-to-large' (did you mean 'budget-too-large'?)",
        0,
    ),
    (WINDOW, "id: window-too-large", "id: window-too-wide", "the file must be causes/memory/window-too-wide.yaml", 0),
    (
        WINDOW,
        "status: stable\nprior: common",
        "prior: common\nstatus: stable",
        "'prior' stands out of order; the order is id, area, title, status, prior",
        0,
    ),
    (
        WINDOW,
        'applies: {vllm: ">=0.5"}',
        'applies: {vllm: "since 0.5"}',
        "version constraint 'since 0.5': 'since 0.5' is not a comparison",
        0,
    ),
    (WINDOW, 'applies: "<0.11"', 'applies: "<0.11,>0.12"', "version constraint '<0.11,>0.12' holds for no version", 0),
    (
        WINDOW,
        "id: estimated-length",
        "id: shm-segment-fails",
        "log sign 'shm-segment-fails' is also defined in kb/causes/deployment/shm-too-small.yaml",
        0,
    ),
    (
        WINDOW,
        "id: estimated-length",
        "id: engine-dead",
        "log sign 'engine-dead' is also defined in kb/signs/signs.yaml",
        0,
    ),
    (WINDOW, "id: cache-in-fp8", "id: shorter-window", "'shorter-window' is used twice in fixes", 0),
    (
        REMOVED,
        'en: "Leave {derived.removed_flag} out"',
        'en: "Leave {derived.removed_flg} out"',
        "unknown fact 'derived.removed_flg' (did you mean 'derived.removed_flag'?)",
        -1,
    ),
    (
        REMOVED,
        "command: vllm serve --help=all",
        'command: "vllm serve --help={log.flg}"',
        "unknown fact 'log.flg' (did you mean 'log.flag'?)",
        0,
    ),
    (WINDOW, 'to: "{log.estimated_len}"', 'to: "{log.estimatd_len}"', "unknown fact 'log.estimatd_len'", 0),
    (
        WINDOW,
        "{flag: --kv-cache-dtype, to",
        "{flag: --kv-cache-dtyp, to",
        "unknown flag '--kv-cache-dtyp' (did you mean '--kv-cache-dtype'?)",
        0,
    ),
    (WINDOW, "facts: {stage: kv-cache}", "facts: {stag: kv-cache}", "unknown fact 'stag' (did you mean 'stage'?)", 0),
    (SHM, "kind: infra\n", "kind: none-needed\n", "a fix of kind none-needed changes nothing; remove 'changes'", 1),
    (BUDGET, "zh: --max-num-seqs 减半", "zh: 并发减半", "--max-num-seqs stands in one language only", 0),
    (
        SHM,
        "{en: It starts, zh: 能启动}",
        "{en: It starts, zh: 设 NCCL_DEBUG 后能启动}",
        "NCCL_DEBUG stands in one language only",
        0,
    ),
    (
        "symptoms/symptoms.yaml",
        "{symptom: out-of-memory-at-start}]",
        "{symptom: out-of-memory-at-begin}]",
        "unknown symptom 'out-of-memory-at-begin'",
        0,
    ),
    (
        "symptoms/symptoms.yaml",
        "{all: [{says: oom}, {says: startup}]}",
        "{all: [{says: ooom}, {says: startup}]}",
        "unknown concept 'ooom' (did you mean 'oom'?)",
        0,
    ),
    ("questions/questions.yaml", "facts: {says.oom: true}", "facts: {says.ooom: true}", "unknown concept 'ooom'", 0),
    (
        "lexicon/en.yaml",
        "request: [request]",
        "requests: [request]",
        "unknown concept 'requests' (did you mean 'request'?)",
        0,
    ),
    (
        "lexicon/concepts.yaml",
        "- {id: slow, kind: trouble",
        "- {id: slower, kind: trouble",
        "concept 'slower' has no words in en, zh",
        0,
    ),
    (
        "lexicon/concepts.yaml",
        "facts: {gpus: several}",
        "facts: {gpu: several}",
        "unknown fact 'gpu' (did you mean 'gpus'?)",
        0,
    ),
    (
        "lexicon/en.yaml",
        "out of _ memory",
        "out of memory _",
        "'out of memory _': '_' stands for a word between two others",
        0,
    ),
    ("lexicon/en.yaml", "takes forever", '"…"', "'…' holds no word that can be looked for", 0),
    ("phrases/zh.yaml", "none: 无", "nothing: 无", "'nothing' is missing in phrases/en.yaml", 0),
    (
        "phrases/zh.yaml",
        "可能：{cause}",
        "可能：{causes}",
        "kb/phrases/en.yaml:1: 'headline' has other placeholders in phrases/zh.yaml",
        None,
    ),
    ("signs/signs.yaml", r"'Retrying \d+ more times'", r"'Retrying (\d+ more times'", "does not parse", 0),
    (
        "signs/signs.yaml",
        r"'Retrying \d+ more times'",
        r"'Retrying (?=\d+ more times)'",
        "uses assert, which no linear-time matcher can",
        0,
    ),
    (
        "signs/signs.yaml",
        r"'Retrying \d+ more times'",
        r"'(?:Retrying|Again) .*|\d+'",
        "has no fixed part that every match must hold",
        0,
    ),
    (
        "signs/signs.yaml",
        r"'Retrying \d+ more times'",
        r"'Retry|times'",
        "can match on 'retry' alone; fix at least 6 characters",
        0,
    ),
    ("signs/signs.yaml", r"'Retrying \d+ more times'", r"'Retrying (?:\d+ )+more'", "", 0),
    (
        "signs/signs.yaml",
        r"'Retrying \d+ more times'",
        r"'Retrying (?:\d+)+ more times'",
        "log sign 'retry-notice' repeats a repeated group",
        0,
    ),
    (REMOVED, "(?P<flag>", "(?P<flagg>", "unknown fact 'log.flagg' (did you mean 'log.flag'?)", 0),
    (
        "reference/effects.yaml",
        "flag: --gpu-memory-utilization",
        "flag: --gpu-memory-utilisation",
        "unknown flag '--gpu-memory-utilisation' (did you mean '--gpu-memory-utilization'?)",
        0,
    ),
    (
        "symptoms/symptoms.yaml",
        "shown_by: [{says: oom}, {sign: cuda-out-of-memory}, {symptom: out-of-memory-at-start}]",
        "shown_by: [{says: oom}, {symptom: out-of-memory}]",
        "'symptom:out-of-memory' supports itself through 'symptom:out-of-memory'",
        -2,
    ),
    (
        BUDGET,
        "{none: [{says: under-load}], weight",
        "{none: [{symptom: something-hangs}], weight",
        "'none' takes log signs, concepts and facts",
        0,
    ),
]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected", "below"), MEANING, ids=[row[3][:50] or "sound" for row in MEANING]
)
def test_what_does_not_hold_across_files_is_found_where_it_stands(
    home: Path, file: str, old: str, new: str, expected: str, below: int | None
) -> None:
    line = edited(home, file, old, new)
    assert_found(home, file, None if below is None else line + below, expected)


def test_all_faults_of_all_files_are_reported_at_once(home: Path) -> None:
    edited(home, WINDOW, "{fact: stage == serving, weight", "{fact: stge == serving, weight")
    edited(home, BUDGET, "{sign: cuda-out-of-memory,", "{sign: cuda-out-of-memroy,")
    edited(home, SHM, "{says: hang}, {any", "{says: hng}, {any")
    edited(home, "phrases/zh.yaml", "none: 无", "nothing: 无")
    found = findings(home)
    assert [sum(name in finding for finding in found) for name in ("stge", "memroy", "hng", "nothing")] == [1, 1, 1, 1]


def test_two_causes_with_the_same_evidence_cannot_be_told_apart(home: Path) -> None:
    twin = (home / SHM).read_text(encoding="utf-8").replace("id: shm-too-small", "id: shm-too-small-again")
    twin = twin.replace(
        "{log: 'Error while creating shared memory segment /dev/shm/nccl', id: shm-segment-fails",
        "{sign: shm-segment-fails",
    )
    original = (home / SHM).read_text(encoding="utf-8")
    original = original.replace(
        "{log: 'Error while creating shared memory segment /dev/shm/nccl', id: shm-segment-fails",
        "{sign: shm-segment-fails",
    )
    (home / SHM).write_text(original, encoding="utf-8")
    (home / "causes/deployment/shm-too-small-again.yaml").write_text(twin, encoding="utf-8")
    sign = "{id: shm-segment-fails, log: 'Error while creating shared', role: root, meaning: {en: a, zh: b}}"
    (home / "signs/more.yaml").write_text(f"- {sign}\n", encoding="utf-8")
    (found,) = findings(home)
    assert "has the same evidence as shm-too-small" in found


def many(home: Path, shown_by: str) -> None:
    text = f"# one\n- id: many\n  title: {{en: a, zh: b}}\n  shown_by: [{shown_by}]\n"
    (home / "symptoms/zz.yaml").write_text(text, encoding="utf-8")


def test_a_condition_that_stands_for_too_many_rules_is_found(home: Path) -> None:
    many(home, "{all: [" + ", ".join(["{any: [{says: oom}, {says: hang}]}"] * 7) + "]}")
    (found,) = findings(home)
    assert found.startswith("kb/symptoms/zz.yaml:4: ")
    assert "stands for 128 alternatives; at most 64" in found


def test_a_rule_beyond_the_limits_of_the_engine_is_found_at_its_entry(home: Path) -> None:
    many(home, "{all: [" + ", ".join(f"{{fact: args.port == {number}}}" for number in range(13)) + "]}")
    (found,) = findings(home)
    assert found.startswith("kb/symptoms/zz.yaml:2: rule 'symptom.many.0' in set ")
    assert "has 13 conditions; 1 to 12 are allowed" in found


def test_hundreds_of_rules_on_one_condition_are_spread_over_sets(home: Path) -> None:
    many(home, ", ".join(f"{{all: [{{says: oom}}, {{fact: args.port == {number}}}]}}" for number in range(600)))
    assert findings(home) == []


def test_faults_are_named_when_the_knowledge_is_compiled(home: Path) -> None:
    line = edited(home, WINDOW, "prior: common", "prior: comon")
    with pytest.raises(KnowledgeError) as caught:
        build(str(home))
    assert f"the knowledge base has 1 faults: kb/{WINDOW}:{line}: prior 'comon'" in caught.value.message
    assert caught.value.hint == "Run: kb lint"


def test_hundreds_of_faults_are_counted_and_twenty_shown(home: Path) -> None:
    for number in range(30):
        (home / f"causes/memory/x{number}.yaml").write_text("{}", encoding="utf-8")
    with pytest.raises(KnowledgeError) as caught:
        build(str(home))
    assert caught.value.message.count("; ") == 19
    assert "and" in caught.value.message
    assert "more)" in caught.value.message

"""A file that has not the shape of its kind: each fault is one finding with file, line, value and suggestion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.knowledge.lint import lint
from tests.support import edited, findings

if TYPE_CHECKING:
    from pathlib import Path

WINDOW = "causes/memory/window-too-large.yaml"
BUDGET = "causes/memory/budget-too-large.yaml"
SHM = "causes/deployment/shm-too-small.yaml"

SHAPE = [
    (WINDOW, "prior: common", "prio: common", "unknown key 'prio' (did you mean 'prior'?)"),
    (
        WINDOW,
        "prior: common",
        "prior: comon",
        "prior 'comon': Input should be 'common', 'usual' or 'rare' (did you mean 'common'?)",
    ),
    (
        WINDOW,
        "id: kv-need-exceeds, weight: decisive",
        "id: kv-need-exceeds, weight: decisiv",
        "(did you mean 'decisive'?)",
    ),
    (
        WINDOW,
        "id: compare-the-figures",
        "id: Compare_The_Figures",
        "checks.0.id 'Compare_The_Figures': String should match",
    ),
    (WINDOW, "id: estimated-length, weight", "weight", "a 'log' pattern needs an 'id'"),
    (
        WINDOW,
        "symptom: out-of-memory-at-start, weight",
        "symptom: out-of-memory-at-start, id: x, weight",
        "'id' and 'role' belong to a 'log' pattern only",
    ),
    (
        WINDOW,
        "{fact: stage == serving, weight",
        "{fact: stage == serving, says: oom, weight",
        "needs exactly one of",
    ),
    (WINDOW, "{fact: stage == serving, weight", "{weight", "has none"),
    (WINDOW, "[{flag: --kv-cache-dtype, to: fp8}]", "[{to: fp8}]", "needs exactly one of flag, env, client"),
    (
        WINDOW,
        'zh: ["上下文长度调大之后显存不足", "启动时显存不足，上下文 128k"]',
        'zh: ["上下文长度调大之后显存不足"]',
        "at least 2 items",
    ),
    (
        WINDOW,
        "confused_with: [budget-too-large]",
        "confused_with: budget-too-large",
        "confused_with 'budget-too-large': Input should be a valid list",
    ),
    (WINDOW, 'applies: {vllm: ">=0.5"}', "applies: {vllm: 0.5}", "applies.vllm 0.5: Input should be a valid string"),
    ("signs/signs.yaml", "role: foreign", "role: foriegn", "(did you mean 'foreign'?)"),
    (
        "weights.yaml",
        "none_of_these: 2.4",
        "none_of_these: many",
        "none_of_these 'many': Input should be a valid number",
    ),
    ("phrases/en.yaml", "none: Nothing", "none: 12", "'none': 12 is no text; put it in quotes"),
    (
        "lexicon/en.yaml",
        "slow: [slow, takes forever]",
        "slow: [slow, 504]",
        "'slow': 504 is no text; put it in quotes",
    ),
    ("lexicon/zh.yaml", "slow: [慢]", "slow: 慢", "'slow' must be a list of texts; it is '慢'"),
    ("reference/env.yaml", "name: VLLM_USE_V1", "name: vllm_use_v1", "'vllm_use_v1': String should match"),
    ("facts.yaml", "seen_by: [derived]", "seen_by: [derivd]", "(did you mean 'derived'?)"),
]


@pytest.mark.parametrize(("file", "old", "new", "expected"), SHAPE, ids=[row[3][:50] for row in SHAPE])
def test_a_wrong_shape_is_found_where_it_stands(home: Path, file: str, old: str, new: str, expected: str) -> None:
    line = edited(home, file, old, new)
    assert any(one.startswith(f"kb/{file}:{line}: ") and expected in one for one in findings(home)), findings(home)


def test_a_missing_key_is_found_at_the_top_of_its_entry(home: Path) -> None:
    edited(home, WINDOW, "prior: common", "prio: common")
    assert f"kb/{WINDOW}:1: 'prior' is missing" in findings(home)


def test_faults_of_shape_are_reported_together_too(home: Path) -> None:
    edited(home, WINDOW, "prior: common", "prior: comon")
    edited(home, WINDOW, "status: stable", "status: stabel")
    edited(home, SHM, "area: deployment", "area: deploymnt")
    assert len(findings(home)) == 3


def test_a_file_that_is_no_yaml_is_one_finding(home: Path) -> None:
    (home / WINDOW).write_text("id: [\n", encoding="utf-8")
    assert findings(home) == [f"kb/{WINDOW}:2: not valid YAML: did not find expected node content"]


def test_a_file_that_is_not_utf8_is_one_finding(home: Path) -> None:
    (home / WINDOW).write_bytes(b"id: \xff\xfe\n")
    (found,) = findings(home)
    assert found.startswith(f"kb/{WINDOW}:1: cannot be read: ")


def test_a_list_file_that_is_no_list_is_one_finding(home: Path) -> None:
    (home / "signs/signs.yaml").write_text("id: a\n", encoding="utf-8")
    assert "kb/signs/signs.yaml:1: must be a list of entries ('- id: …')" in findings(home)


def test_an_id_that_two_entries_share_is_found_with_both_places(home: Path) -> None:
    (home / "signs/more.yaml").write_text(
        "- {id: engine-dead, log: 'the engine is dead', role: hint, meaning: {en: a, zh: b}}\n", encoding="utf-8"
    )
    assert "kb/signs/signs.yaml:3: sign 'engine-dead' is given twice, also in kb/signs/more.yaml:1" in findings(home)


def test_findings_come_in_order_of_file_and_line(home: Path) -> None:
    edited(home, WINDOW, "status: stable", "status: stabel")
    edited(home, WINDOW, "prior: common", "prior: comon")
    edited(home, BUDGET, "prior: usual", "prior: usul")
    found = lint(str(home))
    assert [(one.file, one.line) for one in found] == sorted((one.file, one.line) for one in found)

"""The stage of every real log, against labels made by reading it."""

from __future__ import annotations

import pytest

from engine.knowledge.source import parse
from engine.observe.log import read
from engine.observe.roots import roots, stage_of
from evals.ask import ROOT
from tests.support import real

LOGS = ROOT / "evals" / "cases" / "logs"
LABELS: dict[str, str] = parse("stages.yaml", (ROOT / "evals" / "stages.yaml").read_text(encoding="utf-8")).data


@pytest.mark.parametrize("folder", sorted(LABELS))
def test_the_stage_of_a_real_log_is_told(folder: str) -> None:
    reading = read([(LOGS / folder / "log.txt").read_bytes()], real().section("signs"))
    assert stage_of([reading], roots([reading]), real()) == LABELS[folder]


def test_every_real_log_has_a_label() -> None:
    assert {path.parent.name for path in LOGS.glob("*/log.txt")} == set(LABELS)

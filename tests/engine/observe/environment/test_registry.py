"""A text pays only for the parsers whose outputs it may be; outputs are told from the words around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.observe.environment import HEAD, HINTS, Kept, Text, facts, lines
from tests.engine.observe.environment import samples
from tests.engine.observe.scrapes import scrape
from tests.test_imports import LOG, modules_after

if TYPE_CHECKING:
    from pathlib import Path

PARSERS = {f"engine.observe.environment.{name}" for name in HINTS} | {"engine.observe.metrics", "http.client"}


def test_a_complaint_loads_no_parser() -> None:
    assert modules_after("agenda", "query", "requests hang") & PARSERS == set()


def test_a_log_loads_no_parser(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG)
    assert modules_after("agenda", "query", "--log", str(tmp_path / "server.log")) & PARSERS == set()


def test_an_output_loads_its_own_parser_only(tmp_path: Path) -> None:
    (tmp_path / "df.txt").write_text(samples.DF)
    loaded = modules_after("agenda", "query", "--log", str(tmp_path / "df.txt")) & PARSERS
    assert loaded == {"engine.observe.environment.disk"}


def test_several_outputs_in_one_text_are_all_read() -> None:
    found = {fact.name for fact in facts([Text(samples.NVIDIA_SMI + samples.DF + samples.FREE + scrape(), "text")])}
    assert {"driver.version", "disk.full", "memory.short", "stats.running"} <= found


def test_words_around_an_output_stay_words() -> None:
    text = f"it does not start on our new box\n{samples.FREE}and this is what the disk says today\n{samples.DF}thanks"
    rows = text.split("\n")
    assert not {0, len(rows) - 1, rows.index("and this is what the disk says today")} & lines(text)
    assert len(lines(text)) >= 3


@pytest.mark.parametrize("size", [1, 7, 4_096, 1 << 20])
def test_the_beginning_of_a_stream_is_kept_while_it_passes(size: int) -> None:
    whole = b"x" * 100_000 + b"\n" + b"y" * (HEAD + 100_000 if size > 100 else 10)
    kept = Kept([whole[at : at + size] for at in range(0, len(whole), size)])
    assert b"".join(kept) == whole
    assert kept.text() == whole[:HEAD].decode()


def test_a_redirection_of_windows_is_read_like_any_other() -> None:
    kept = Kept([("\ufeff" + samples.PIP_FREEZE).encode("utf-16-le")])
    list(kept)
    assert kept.text() == samples.PIP_FREEZE

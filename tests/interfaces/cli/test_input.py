"""Bad input: an answer or a clear line, whatever it is; never a traceback, never what steers a terminal."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interfaces.cli.main import main

if TYPE_CHECKING:
    from tests.interfaces.cli.conftest import Kb

ERROR = "ERROR 11-02 10:12:02 [core.py:845] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.exe\u2066\x00"


def unsafe(output: bytes) -> set[str]:
    """Every character that a terminal must not get; UnicodeDecodeError where it is not even UTF-8."""
    text = output.decode()
    return {c for c in text if c != "\n" and (unicodedata.category(c) == "Cc" or c in "\u202e\u2066")}


def test_everything_that_is_wrong_is_reported_at_once(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    ran = kb(
        "query", "--log", "logs", "--log", "none.log", "--context", "none.yaml", "--fact", "stage=x", "--fact", "y=1"
    )
    lines = ran.stderr.decode().splitlines()
    assert ran.returncode == 2
    assert ["'logs' is a directory" in lines[0], "'none.log'" in lines[1], "'none.yaml'" in lines[2]] == [True] * 3
    assert ["'stage' is never 'x'" in lines[3], "no fact 'y'" in lines[4]] == [True] * 2
    assert [line for line in lines if not line.startswith("kb query: ")] == []


@pytest.mark.skipif("os.geteuid() == 0", reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "secret.log").touch(mode=0)
    ran = kb("query", "--log", "secret.log")
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"'secret.log' cannot be read: Permission denied" in ran.stderr


def test_a_file_that_fails_while_it_is_read_is_named(kb: Kb) -> None:
    ran = kb("query", "--log", "/proc/self/mem")  # opens, and then has nothing at address 0
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr == b"kb query: '/proc/self/mem' cannot be read: Input/output error.\n"


def test_a_name_that_is_hostile_itself_is_shown_with_escapes(kb: Kb) -> None:
    ran = kb("query", "--log", "\x1b[2J\u202e.log")
    assert ran.returncode == 2
    assert unsafe(ran.stderr) == set()
    assert b"\\x1b[2J\\u202e.log" in ran.stderr


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \t \n"])
def test_an_empty_log_is_evidence_and_no_error(kb: Kb, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "empty.log").write_bytes(content)
    ran = kb("query", "--log", "empty.log", "--json")
    assert (ran.returncode in (0, 1), ran.stderr) == (True, b"")
    assert json.loads(ran.stdout)["status"] in ("answered", "needs_more", "unknown", "healthy")


@pytest.mark.parametrize(
    "content",
    [
        bytes(range(256)) * 2_000,
        b"\xff\xfe" + ERROR.encode("utf-16-le"),
        b"\x00" * 100_000,
        ERROR.encode() + b"\xe8\xaf\n" + b"\x00\xff",
        HOSTILE.encode() * 500 + b"\n" + ERROR.encode(),
        b"x" * 3_000_000,
        b"\n" * 200_000,
        b"\x1f\x8b\x08" + bytes(range(200)),
    ],
    ids=["binary", "utf-16", "nul", "invalid", "escapes", "one-line", "newlines", "gzip"],
)
def test_a_log_of_any_bytes_is_answered(kb: Kb, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "any.log").write_bytes(content)
    for ran in (kb("query", "--log", "any.log"), kb("query", "hang", "-", stdin=content)):
        assert ran.returncode in (0, 1), ran.stderr
        assert ran.stderr == b""
        assert unsafe(ran.stdout) == set()


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_escapes_in_a_log_are_shown_and_not_obeyed(kb: Kb, tmp_path: Path, form: str) -> None:
    (tmp_path / "hostile.log").write_text(f"{ERROR} {HOSTILE}\n", encoding="utf-8")
    ran = kb("query", "--log", "hostile.log", "--format", form)
    assert ran.returncode == 0
    assert unsafe(ran.stdout) == set()


def test_escapes_in_words_and_commands_are_shown_and_not_obeyed(kb: Kb) -> None:
    raw = HOSTILE.replace("\x00", "")
    for form in ("text", "markdown", "json"):
        ran = kb(
            "query", f"CUDA out of memory {raw}", "--command", f"vllm serve m {raw}", "--format", form, "--explain"
        )
        assert ran.returncode == 0, ran.stderr
        assert unsafe(ran.stdout) == set()


@pytest.fixture(scope="module")
def compiled() -> None:
    main(["list"])  # the knowledge base is compiled before the first example


@settings(max_examples=150)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=300) | st.sampled_from(["显存不足 " * 50, "hang " * 500])
)
def test_any_words_are_answered(compiled: None, words: str) -> None:
    status = main(["query", "--json", "--", words.replace("\x00", " ")])
    assert status in ((0, 1) if words.replace("\x00", " ").strip() else (2,))

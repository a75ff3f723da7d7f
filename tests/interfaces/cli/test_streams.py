"""Pipes, terminals, signals: what shell scripts and people at a prompt rely on."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from interfaces.cli import main as program
from interfaces.render.layout import cells, wrap

if TYPE_CHECKING:
    from tests.interfaces.cli.conftest import Kb, Ran

Started = Callable[..., "subprocess.Popen[bytes]"]
Terminal = Callable[..., tuple[int, str]]


# -- a terminal -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 40])
@pytest.mark.parametrize("complaint", ["requests hang", "请求卡住了"])
def test_an_answer_fits_the_terminal_but_for_commands(terminal: Terminal, complaint: str, width: int) -> None:
    code, seen = terminal("query", complaint, width=width, NO_COLOR="1")
    assert code == 0
    for line in seen.splitlines():
        # A command is indented further than any list; what else is wide is one word that cannot be divided.
        if cells(line) > width and not line.startswith("    "):
            assert len(wrap(line.strip().removeprefix("- "), 1)) == 1 or line.startswith("  "), line


def test_colour_is_for_terminals_that_want_it(terminal: Terminal, kb: Kb) -> None:
    assert "\x1b[1m" in terminal("query", "requests hang")[1]
    assert "\x1b" not in terminal("query", "requests hang", NO_COLOR="1")[1]
    assert "\x1b" not in terminal("query", "requests hang", TERM="dumb")[1]
    assert b"\x1b" not in kb("query", "requests hang", env={"TERM": "xterm", "FORCE_COLOR": "1"}).stdout


def test_the_width_that_columns_states_counts(terminal: Terminal) -> None:
    _code, seen = terminal("query", "requests hang", width=200, COLUMNS="30", NO_COLOR="1")
    assert max(len(line) for line in seen.splitlines() if not line.startswith("  ")) <= 30


def test_with_nothing_given_help_is_shown_and_nothing_is_waited_for(terminal: Terminal) -> None:
    code, seen = terminal("query")
    assert code == 2
    assert "usage: kb query" in seen


def test_with_a_dash_what_is_typed_is_read_until_it_ends(terminal: Terminal) -> None:
    code, seen = terminal("query", "-", keys=b"requests hang\n\x04", NO_COLOR="1")
    assert code == 0
    assert "Ctrl-D" in seen
    assert "What shows it" in seen


def test_the_list_stands_in_columns(terminal: Terminal) -> None:
    _code, seen = terminal("list", "--area", "memory")
    assert "\t" not in seen
    rows = [re.fullmatch(r"(\S+ +)memory  \S.*", line) for line in seen.splitlines()]
    assert len({row and len(row.group(1)) for row in rows}) == 1


# -- pipes ------------------------------------------------------------------------------------------------------------


def test_a_reader_that_leaves_is_no_error(started: Started) -> None:
    with started("query", "requests hang", "--explain") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


def test_a_full_disk_is_named(started: Started) -> None:
    with Path("/dev/full").open("wb") as full, started("query", "requests hang", stdout=full.fileno()) as process:
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 2
    assert said.startswith(b"kb query: the answer cannot be written: No space left on device")


@pytest.mark.parametrize(
    ("redirection", "code"), [(">&-", 2), ("<&-", 0), ("2>&-", 0), ("2>&- --no-such-option", 2), (">&- 2>&-", 2)]
)
def test_closed_streams_are_survived(shell: Callable[[str], Ran], redirection: str, code: int) -> None:
    ran = shell(f"kb query requests hang {redirection}")
    assert ran.returncode == code
    assert b"Traceback" not in ran.stderr + ran.stdout


def test_a_pipeline_of_the_shell_gives_the_first_line(shell: Callable[[str], Ran]) -> None:
    ran = shell('kb query requests hang | head -n 1; echo "${PIPESTATUS[0]}"')
    first, code = ran.stdout.splitlines()
    assert first.startswith(b"Possible")
    assert (code, ran.stderr) == (b"0", b"")


# -- signals ----------------------------------------------------------------------------------------------------------


def test_an_interrupted_query_says_nothing_and_exits_130(started: Started) -> None:
    process = started("query", "-")
    assert process.stdin is not None
    process.stdin.write(b"INFO waiting\n")
    process.stdin.flush()
    time.sleep(1)  # it now waits for more
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


# -- faults of kb itself ----------------------------------------------------------------------------------------------


def test_a_fault_of_kb_is_one_line_that_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_arguments: list[str]) -> int:
        raise ZeroDivisionError("of this test")

    monkeypatch.setattr(program, "_command", lambda _name: broken)
    assert program.main(["query", "hang"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "please report it: ZeroDivisionError: of this test at test_streams.py:" in said.err
    monkeypatch.setenv("KB_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        program.main(["query", "hang"])

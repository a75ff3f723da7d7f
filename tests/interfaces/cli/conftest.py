"""Runs `kb` as an operator does: a process of its own, its streams as bytes."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = "from interfaces.cli.main import run; run()"

Ran = subprocess.CompletedProcess[bytes]
Kb = Callable[..., Ran]


def environment(**changes: str) -> dict[str, str]:
    """The variables of this process without those that change how kb looks, and with the checkout on the path."""
    ours = ("COLUMNS", "NO_COLOR", "TERM", "KB_DEBUG", "KB_ENGINE")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    path = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
    return {**kept, "PYTHONPATH": path, "KB_ENGINE": "agenda", **changes}


@pytest.fixture
def kb(tmp_path: Path) -> Kb:
    """`kb("query", "requests hang", stdin=b"…", env={…})`; standard input is empty unless given."""

    def run(*arguments: str | bytes | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Ran:
        command = [sys.executable, "-c", PROGRAM, *arguments]
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment(**(env or {})),
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def started(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """`started("query", "-")`: a process that goes on while the test looks at its streams."""

    def start(*arguments: str, **streams: int) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], cwd=tmp_path, env=environment(), **pipes)  # type: ignore[call-overload, no-any-return]

    return start


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], Ran]:
    """`shell("kb query hang | head -1")`, in bash."""

    def run(line: str) -> Ran:
        script = f'kb() {{ {shlex.quote(sys.executable)} -c {shlex.quote(PROGRAM)} "$@"; }}\n{line}'
        return subprocess.run(
            ["bash", "-c", script], capture_output=True, cwd=tmp_path, env=environment(), timeout=120, check=False
        )

    return run


@pytest.fixture
def terminal(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """`terminal("query", "hang", width=40)`: what a person sees, and the exit code. `keys` are typed at the start."""

    def run(*arguments: str, width: int = 80, keys: bytes = b"", **env: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        command = [sys.executable, "-c", PROGRAM, *arguments]
        variables = environment(**{"TERM": "xterm", **env})
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=variables)
        os.close(theirs)
        os.write(ours, keys)
        seen = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        return process.wait(60), seen.decode().replace("\r\n", "\n")

    return run


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux says so when the last process has closed its side
        return b""

"""A log of any size passes through bounded memory, in a process of its own whose peak the system measures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import MINI

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts in kibibytes on Linux"),
]

ROOT = Path(__file__).parents[3]
MEGABYTES = int(os.environ.get("KB_STREAM", "200"))
ALLOWED = 60_000  # kibibytes that a log may cost beside an idle engine; a piece of it is one mebibyte
PROGRAM = """
import resource, sys
from engine.diagnose import diagnose
from engine.knowledge.compile import build
from engine.knowledge.store import Knowledge
from engine.model import Attachment, Case

knowledge = Knowledge(build(sys.argv[1]))
shape, size = sys.argv[2], int(sys.argv[3]) * 1_000_000
LINES = {
    "an ordinary log": b'(APIServer pid=1) INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\\n',
    "one line": b"x" * 70,
    "one line of errors": b"KeyError: CUDA out of memory ",
    "errors that differ": b"ERROR 12-01 10:00:00 [x.py:1] KeyError: '%d'\\n",
    "zeros": b"\\0" * 70,
    "nothing but ends": b"\\n" * 70,
}
END = b"\\nERROR 12-01 10:00:05 [core.py:9] Error while creating shared memory segment /dev/shm/nccl-x\\n"

def blocks(total):
    sent, number = 0, 0
    while sent < total:
        line = LINES[shape]
        block = b"".join(line % (number + i) if b"%d" in line else line for i in range(1_000))
        number += 1_000
        sent += len(block)
        yield block
    yield END

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

diagnose(Case("it hangs", (Attachment("x", blocks(1)),)), knowledge)
before = peak()
answer = diagnose(Case(attachments=(Attachment("x", blocks(size)),)), knowledge)
print(answer.causes[0].id if answer.causes else answer.status, peak() - before)
"""


@pytest.mark.parametrize(
    "shape",
    ["an ordinary log", "one line", "one line of errors", "errors that differ", "zeros", "nothing but ends"],
)
def test_a_huge_log_is_streamed_and_its_last_line_still_seen(shape: str) -> None:
    size = MEGABYTES if shape == "an ordinary log" else MEGABYTES // 10
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(MINI), shape, str(size)],
        cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )  # fmt: skip
    cause, grown = done.stdout.split()
    assert cause == "shm-too-small"
    assert int(grown) < ALLOWED

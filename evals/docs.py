"""`python -m evals.docs`: runs what the documents show and writes the output into them.

A document marks such a part with a comment. Lines of it that begin with `$ ` are shown and run, the others are run and
not shown; `first N lines` cuts what the next command prints. Everything happens in an empty folder that holds a copy of
the knowledge base, on a terminal 80 cells wide:

    <!-- shown
    cp "$CHECKOUT"/evals/cases/logs/NAME/log.txt server.log
    first 12 lines
    $ kb query --log server.log
    -->
    ```console
    $ kb query --log server.log
    (twelve lines)
    […]
    ```
    <!-- end shown -->

`tests/test_docs.py` fails where a document differs from what the commands print today.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from engine.errors import KbError
from engine.knowledge.store import load

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
WIDTH = 80
PROMPT = "$ "
CUT = "[…]"
_FIRST = re.compile(r"first (\d+) lines")
_PART = re.compile(r"^<!-- shown\n(?P<lines>.*?)^-->\n(?P<output>.*?)^<!-- end shown -->$", re.MULTILINE | re.DOTALL)
_KB = """#!{python}
import sys
sys.path.insert(0, {root!r})
from interfaces.cli.main import run
run()
"""


class Part(NamedTuple):
    """One marked part of a document: the lines of its comment, and what stands below it now."""

    document: str
    lines: tuple[str, ...]
    output: str

    @property
    def title(self) -> str:
        return next(line[len(PROMPT) :] for line in self.lines if line.startswith(PROMPT))


def parts(document: str) -> list[Part]:
    """The marked parts of a document of the checkout."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [Part(document, tuple(match["lines"].splitlines()), match["output"]) for match in _PART.finditer(text)]


def shown(part: Part) -> str:
    """What must stand below the comment: a fenced block with the commands and what they print today."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        shutil.copytree(ROOT / "kb", work / "kb", ignore=shutil.ignore_patterns("compiled", "schema"))
        variables = _variables(Path(folder))
        out: list[str] = []
        most = None
        for line in part.lines:
            if line.startswith(PROMPT):
                printed = _on_a_terminal(line[len(PROMPT) :], work, variables).split("\n")
                out += [line, *printed[:most], *([CUT] if most and len(printed) > most else [])]
                most = None
            elif first := _FIRST.fullmatch(line):
                most = int(first[1])
            else:
                subprocess.run(["sh", "-euc", line], cwd=work, env=variables, check=True)
    return "```console\n" + "\n".join(out) + "\n```\n"


def _variables(folder: Path) -> dict[str, str]:
    """The environment of the commands, with `kb` of this checkout on the path."""
    (folder / "bin").mkdir()
    kb = folder / "bin" / "kb"
    kb.write_text(_KB.format(python=sys.executable, root=str(ROOT)), encoding="utf-8")
    kb.chmod(0o755)
    here = {"NO_COLOR": "1", "COLUMNS": str(WIDTH), "CHECKOUT": str(ROOT), "PATH": f"{kb.parent}:{os.environ['PATH']}"}
    return {**os.environ, **here}


def _on_a_terminal(command: str, folder: Path, variables: dict[str, str]) -> str:
    """What `command` writes to both streams of a terminal, without blanks at its end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    running = subprocess.Popen(
        ["sh", "-c", command], cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written = b""
    while block := _read(ours):
        written += block
    os.close(ours)
    running.wait()
    return written.decode().replace("\r\n", "\n").rstrip()


def _read(terminal: int) -> bytes:
    """What comes next; empty when the last writer has gone, which Linux reports as an input/output error."""
    try:
        return os.read(terminal, 65536)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return b""


def main(documents: Sequence[str] = DOCUMENTS) -> int:
    """Brings every document up to date and names those that changed. Writes nothing while the knowledge base is at
    fault: each answer would only say so."""
    try:
        load(str(ROOT / "kb"))
    except KbError as error:
        print(f"docs: {error}", file=sys.stderr)
        return error.exit_code
    for document in documents:
        path = ROOT / document
        old = new = path.read_text(encoding="utf-8")
        for part in parts(document):
            comment = "<!-- shown\n" + "\n".join(part.lines) + "\n-->\n"
            new = new.replace(comment + part.output, comment + shown(part))
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(f"{document}: written anew", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`kb lint`: what is wrong with a knowledge base, one finding a line, for people who write one and for CI."""

from __future__ import annotations

import os

from engine.errors import InputError, UsageError
from engine.knowledge.store import HOME
from interfaces.cli import output
from interfaces.render.escape import visible

USAGE = """\
usage: kb lint [PATH]

Checks the knowledge base in the folder PATH, else the one that kb answers from. Each finding is a line
'file:line: what is wrong'. Exit code: 0 nothing found, 2 findings.
"""


def lint(arguments: list[str]) -> int:
    """Prints the findings; 0 when there are none. Raises UsageError, and InputError where PATH is no knowledge base."""
    if arguments[:1] in (["-h"], ["--help"]):
        output.answer(USAGE.encode())
        return 0
    home = _home(arguments)
    from engine.knowledge.lint import lint as check  # noqa: PLC0415 - pydantic and YAML

    findings = check(home)
    output.answer("".join(f"{visible(str(finding))}\n" for finding in findings).encode())
    return UsageError.exit_code if findings else 0


def _home(arguments: list[str]) -> str:
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        raise UsageError(f"'{' '.join(arguments)}' is not one folder.", "Write: kb lint [PATH]")
    home = arguments[0] if arguments else HOME
    if not os.path.isdir(os.path.join(home, "causes")):
        raise InputError(
            f"'{home}' holds no knowledge base: it has no folder 'causes'.", "Name the folder kb/ of a checkout."
        )
    return home

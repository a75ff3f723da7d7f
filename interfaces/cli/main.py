"""The command `kb`: finds the subcommand, and turns every refusal into one line and an exit code.

Nothing is imported before it is known to be needed, because each module delays the answer.
"""

from __future__ import annotations

import os
import sys

from engine.errors import KbError, UsageError
from interfaces.cli.errors import SeveralErrors
from interfaces.cli.output import answer, talk, talk_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

INTERRUPTED = 130
COMMANDS = {
    "query": "answer a complaint, a log, a command: kb query requests hang",
    "log": "what a log says: root lines, stage, versions, engine arguments",
    "show": "one cause, symptom, flag, variable or metric of the knowledge base",
    "list": "the causes that the knowledge base holds",
    "fit": "what a model takes on a GPU: kb fit --model Qwen/Qwen3-8B --gpu L4",
    "redact": "a log without secrets, names and hosts",
    "lint": "check the knowledge base",
}
HELP = """\
usage: kb COMMAND ...

Troubleshooting assistant for vLLM operators. Works offline; names causes with evidence, checks and fixes.

{commands}

  kb COMMAND --help says more. kb --version prints the version, the knowledge base's hash and the engine.
"""


def run() -> NoReturn:
    """The console script."""
    sys.exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; raises nothing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = " ".join(["kb", *(word for word in arguments[:1] if word in COMMANDS)])
    try:
        return _dispatch(arguments)
    except KbError as error:
        for each in error.errors if isinstance(error, SeveralErrors) else (error,):
            talk(f"{name}: {each}")
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the last resort: an operator is never shown a traceback
        if os.environ.get("KB_DEBUG"):
            raise
        talk(f"{name}: this is a fault of kb, please report it: {_place(error)}. KB_DEBUG=1 shows the traceback.")
        return KbError.exit_code


def _dispatch(arguments: list[str]) -> int:
    first, rest = arguments[0] if arguments else "", arguments[1:]
    if first in COMMANDS:
        return _command(first)(rest)
    if first in ("-h", "--help", "help"):
        answer(_help().encode())
        return 0
    if first in ("-V", "--version"):
        from interfaces.cli.version import version  # noqa: PLC0415

        answer(version().encode())
        return 0
    if not first:
        talk_lines(_help())
        return UsageError.exit_code
    raise _unknown(first)


def _command(name: str) -> Callable[[list[str]], int]:
    # Written out, so that import contracts and packagers see what is imported.
    if name == "query":
        from interfaces.cli.query import query as command  # noqa: PLC0415
    elif name == "log":
        from interfaces.cli.log import log as command  # noqa: PLC0415
    elif name == "show":
        from interfaces.cli.show import show as command  # noqa: PLC0415
    elif name == "list":
        from interfaces.cli.listing import listing as command  # noqa: PLC0415
    elif name == "fit":
        from interfaces.cli.fit import fit as command  # noqa: PLC0415
    elif name == "redact":
        from interfaces.cli.redact import redact as command  # noqa: PLC0415
    else:
        from interfaces.cli.lint import lint as command  # noqa: PLC0415
    return command


def _help() -> str:
    return HELP.format(commands="\n".join(f"  kb {name:<7} {what}" for name, what in COMMANDS.items()))


def _unknown(word: str) -> UsageError:
    from engine.observe.spelling import closest  # noqa: PLC0415 - on the way out

    what = "option" if word.startswith("-") else "command"
    near = closest(word, ["--help", "--version"] if word.startswith("-") else list(COMMANDS))
    meant = f"Did you mean '{near}'?" if near else "kb --help lists what there is."
    return UsageError(f"there is no {what} '{word}'. {meant}", 'To ask about it: kb query "…"')


def _place(error: Exception) -> str:
    """What went wrong and where, in one line."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}: {error}"[:300] + where


if __name__ == "__main__":
    run()

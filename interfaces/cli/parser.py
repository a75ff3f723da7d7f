"""argparse, made to refuse in kb's own way: one sentence, exit code 2, nothing printed on the way."""

from __future__ import annotations

from argparse import ArgumentParser, HelpFormatter

from engine.errors import UsageError
from interfaces.cli import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Parser(ArgumentParser):
    """The options of one command. Raises UsageError where argparse would print and leave."""

    def __init__(self, command: str, **options: Any) -> None:
        super().__init__(
            prog=f"kb {command}", add_help=False, allow_abbrev=False, formatter_class=_formatter, **options
        )
        self.color = False  # from Python 3.14 on help is coloured
        self.add_argument("-h", "--help", action="store_true", help="show this")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}.", f"{self.prog} --help lists the options.")

    def option_names(self) -> list[str]:
        """Every way to write an option."""
        return list(self._option_string_actions)

    def helped(self, arguments: list[str]) -> bool:
        """Prints the help where it is asked for."""
        if not {"-h", "--help"} & set(arguments):
            return False
        output.answer(self.format_help().encode())
        return True


def _formatter(prog: str) -> HelpFormatter:
    # A width of its own spares argparse the import with which it would ask the terminal.
    return HelpFormatter(prog, width=100, max_help_position=32)

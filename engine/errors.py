"""Everything that kb can refuse to do, in one tree, so that an interface catches one class and knows the exit code.

KbError                  any refusal: one sentence of what is wrong, one of what to do about it
├── UsageError           the command was not written as kb understands it: an option, a value, a variable
├── InputError           what was handed in cannot be read: a file, a stream, a context document
├── KnowledgeError       the knowledge base is at fault: a file of it, or the rules that came of one
└── MissingExtra         an optional part is asked for that is not installed here
"""

from __future__ import annotations


class KbError(Exception):
    """A refusal that is shown to the person who asked, never as a traceback.

    `message` names the place and quotes the value, `hint` says what to do; both are plain sentences without a newline.
    """

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class UsageError(KbError):
    """An option, an argument or an environment variable has a value that means nothing to kb."""


class InputError(KbError):
    """A file, a stream or a document that was handed in cannot be read, or is not what it should be."""


class KnowledgeError(KbError):
    """The knowledge base contradicts its own format or the limits of the rule engine."""


class MissingExtra(KbError):
    """An optional part of kb is asked for whose packages are not installed, or do not load, in this Python."""

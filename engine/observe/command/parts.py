"""What a start command is taken apart into, whatever form it has: values with the places where they stand.

Every place is an offset into the operator's own text, so that a correction can change those characters and no others.
"""

from __future__ import annotations

from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engine.model import Scalar

LONGEST = 100_000  # characters of a command that are read


class Word(Value):
    """One word: its meaning without quotes, and where it stands."""

    text: str
    start: int
    end: int


class Given(Value):
    """One flag or variable: `value` None for a bare switch. `word` and `value_word` say where it stands; they are one
    when it is written `--flag=value`. `quote` says how a new value must be written there, `extent` what goes when the
    whole is removed (None: the words and the blank before them)."""

    name: str
    value: str | None
    word: Word
    value_word: Word | None
    quote: str = "shell"
    extent: tuple[int, int] | None = None


class Place(Value):
    """Where something can be added: `lead` and `tail` stand around it; `quote` says how it is written."""

    at: int
    quote: str
    lead: str = " "
    tail: str = ""
    joined: bool = False  # `--flag=value` as one word rather than two
    spelling: str = ""  # of a key: dash, underscore, camel


class Stated(Value):
    """A fact that the text states outside flags and variables, and where."""

    name: str
    value: Scalar
    start: int
    end: int
    grade: str = "exact"


class Parsed(Value):
    """A command taken apart: vLLM's flags, variables, docker's own options, the model, and what else is stated."""

    flags: tuple[Given, ...]
    variables: tuple[Given, ...]
    docker: tuple[Given, ...]
    model: str | None
    is_server: bool
    is_docker: bool
    start: int  # where another variable can be set
    end: int  # where another flag can be appended
    flag_place: Place | None = None
    variable_place: Place | None = None
    dialect: str = ""  # the wrapper whose names the flags have
    stated: tuple[Stated, ...] = ()
    form: str = "shell"
    other_place: Place | None = None  # for a flag that the dialect has no name for
    more_places: tuple[Place, ...] = ()  # where a variable must be set as well: the other machines of one server

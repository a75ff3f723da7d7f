"""The nouns that every room shares: what goes in (Case), what was seen (Fact), what follows (Firing), what comes out
(Answer).

Words are absent on purpose: an Answer holds ids and values, and a renderer finds the words in the knowledge base.
The types are frozen and keyword friendly like dataclasses, yet cost a tenth of their import time, because every
`kb query` pays for this module before it reads its first argument.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal, dataclass_transform

    Scalar = str | int | float | bool
    Grade = Literal["exact", "near", "faint"]
    Kind = Literal["log", "complaint", "command", "context", "environment", "metric", "answer", "derived"]
    Weight = Literal["decisive", "strong", "some", "weak", "against", "rules_out"]
    Status = Literal["answered", "needs_more", "unknown", "healthy"]
    Verdict = Literal["confirmed", "likely", "possible"]
    Language = Literal["en", "zh"]
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Value:
    """A frozen record: fields are the annotations, defaults the class attributes, equality is by value."""

    _fields: tuple[str, ...] = ()
    _defaults: Mapping[str, Any] = {}

    def __init_subclass__(cls) -> None:
        own = [name for name in cls.__annotations__ if not name.startswith("_")]
        cls._fields = (*cls._fields, *own)
        cls._defaults = {**cls._defaults, **{name: cls.__dict__[name] for name in own if name in cls.__dict__}}

    def __init__(self, *args: Any, **named: Any) -> None:
        fields = self._fields
        if len(args) == len(fields) and not named:
            self.__dict__.update(zip(fields, args, strict=True))
            return
        values = dict(zip(fields, args, strict=False))
        if len(args) > len(fields) or not named.keys() <= set(fields[len(args) :]):
            raise TypeError(f"{type(self).__name__} takes {', '.join(fields)}; got {args!r} and {named!r}")
        self.__dict__.update(self._defaults)
        self.__dict__.update(values)
        self.__dict__.update(named)
        if len(self.__dict__) < len(fields):
            missing = [name for name in fields if name not in self.__dict__]
            raise TypeError(f"{type(self).__name__} lacks {', '.join(missing)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self._fields)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._fields)})"

    def but(self, **changes: Any) -> Any:
        """A copy with the named fields changed."""
        return type(self)(**{**self.__dict__, **changes})


# -- what goes in -----------------------------------------------------------------------------------------------------


class Attachment(Value):
    """Something pasted or read from a file. `blocks` yields its bytes once, in order, in pieces of any size, so that a
    log of any length passes through bounded memory."""

    name: str
    blocks: Iterable[bytes]


class Case(Value):
    """All that belongs to one trouble. `context` holds what the operator stated in a file or with --fact: plain
    data."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    command: str = ""
    context: Mapping[str, Any] = {}
    lang: Literal["auto", "en", "zh"] = "auto"
    explain: bool = False


# -- what was seen ----------------------------------------------------------------------------------------------------


class Origin(Value):
    """Where a fact was seen. `source` names the observation: facts of one source are one piece of evidence."""

    kind: Kind
    text: str
    source: str
    file: int | None = None
    line: int | None = None
    words: tuple[int, int] | None = None  # first and last word of the complaint, counted from 1


class Fact(Value):
    """One thing observed: `args.max-model-len` = 4096, `sign.kv-need-exceeds-available` = True, `stage` = "serving".

    `known` False states that it was looked for and is not so (the explicit negative that `none` needs)."""

    name: str
    value: Scalar
    origin: Origin
    grade: Grade = "exact"
    known: bool = True


# -- what follows -----------------------------------------------------------------------------------------------------


class Rule(Value):
    """All atoms of `body` together give `head`. Atoms are short ASCII strings `kind:name`."""

    id: str
    body: tuple[str, ...]
    head: str


class RuleSet(Value):
    """Rules that are loaded together, as soon as one atom of their bodies is known."""

    id: str
    rules: tuple[Rule, ...]


class Step(Value):
    """One supporting rule of one conclusion, at the level (1 = straight from facts) where the conclusion first
    holds."""

    conclusion: str
    rule: str
    body: tuple[str, ...]
    level: int


# -- what comes out ---------------------------------------------------------------------------------------------------


class Evidence(Value):
    """A fact's origin with the weight that it had for the conclusion it stands beside."""

    origin: Origin
    weight: Weight


class SeenSymptom(Value):
    id: str
    score: float
    evidence: tuple[Evidence, ...]


class Change(Value):
    """One typed change: `kind` as in contract.md, `before` None where it was unset or unknown, `after` None to
    remove."""

    kind: str
    name: str
    before: str | None
    after: str | None


class Fix(Value):
    """A fix that applies here. `values` fill the placeholders of its text and commands."""

    id: str
    changes: tuple[Change, ...]
    values: Mapping[str, str]
    cautions: tuple[str, ...] = ()  # ids of causes under suspicion that this fix would make worse


class RankedCause(Value):
    id: str
    confidence: float
    verdict: Verdict
    evidence: tuple[Evidence, ...]
    against: tuple[Evidence, ...]
    fixes: tuple[Fix, ...] = ()
    values: Mapping[str, str] = {}  # fill the placeholders of checks and of the reason


class RuledOut(Value):
    id: str
    evidence: tuple[Evidence, ...]


class CorrectedCommand(Value):
    before: str
    after: str
    changes: tuple[Change, ...]


class Answer(Value):
    """The one result type. Same case and knowledge give an equal Answer; `understood` and `missing` are ids with the
    words that were understood where the knowledge base has none for them."""

    lang: Language
    status: Status
    symptoms: tuple[SeenSymptom, ...] = ()
    causes: tuple[RankedCause, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    command: CorrectedCommand | None = None
    question: str | None = None
    understood: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    trace: tuple[Step, ...] | None = None

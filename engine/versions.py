"""Versions as people write them, so that advice can be held against what the operator may be running.

Nobody's version is known exactly: "0.18", "~0.6.4", an image tag, a nightly. So a version is a Range, and whether a
constraint of the knowledge base holds for it has three answers. `packaging` refuses most of these texts, and costs more
to import than this module takes to answer.

A version is a tuple of six integers that compares as versions do: major, minor, patch, stage, number of the stage, dev
build. Where a text leaves parts open ("0.18"), the lowest and the highest tuple that begin so are the ends of a range.
"""

from __future__ import annotations

import re

from engine.errors import KnowledgeError
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Version = tuple[int, ...]

BOTTOM, TOP = -(10**9), 10**9  # far beyond every number that the patterns below let through
LOWEST, HIGHEST = (BOTTOM,) * 6, (TOP,) * 6
STAGES = {"dev": -4, "alpha": -3, "a": -3, "beta": -2, "b": -2, "rc": -1, "": 0, "post": 1}
SUFFIXES = {-3: "a", -2: "b", -1: "rc", 1: ".post"}

_VERSION = (
    r"(?P<release>[0-9]{1,5}(?:\.[0-9]{1,5}){DOTS})"
    r"(?:(?P<open>\.[x*])"
    r"|(?:[.-]?(?P<stage>alpha|beta|post|rc|a|b)\.?(?P<number>[0-9]{1,8}))?(?:[.-]?dev(?P<dev>[0-9]{0,8}))?)"
    r"(?:\+[a-z0-9][a-z0-9._-]{0,60})?(?!\.?[0-9]|[a-z])"
)
_MENTION = r"(?:(?<![a-z0-9.])|(?<=vllm))v?" + _VERSION.replace("DOTS", "1,2")
_CLAUSE = r"\s*(>=|<=|==|!=|>|<)\s*" + _VERSION.replace("DOTS", "0,2") + r"\s*"

# What stands right before or right after a version makes it a bound; whose version it is stands before it.
_BEFORE = (
    (r"(?:>=|≥|at least|不低于)\s*$", ">="),
    (r"(?:<=|≤|up to|不高于)\s*$", "<="),
    (r"(?:(?<![-=])>|newer than|after|高于)\s*$", ">"),
    (r"(?:<|older than|before|below|低于)\s*$", "<"),
    (r"(?:~=?|≈|about|around|约)\s*$", "~"),
)
_AFTER = (
    (r"^(?:\+|\s?(?:or|and) (?:newer|later|above|higher|up)|\s?[及或]?(?:以上|之后|以后|更新|更高))", ">="),
    (r"^(?:\s?(?:or|and) (?:older|earlier|below|lower)|\s?[及或]?(?:以下|更旧|更低|更早))", "<="),
    (r"^\s?(?:之前|以前)", "<"),
)
_NAME = (
    r"(?P<name>vllm|torch|cuda|python|transformers|nccl|ray|flashinfer|flash.?attn|triton|driver|ubuntu|glibc)"
    r"[a-z/_-]*[^a-z0-9]*(?:(?:engine|server|version|release)[^a-z0-9]*)?$"
)
_JOIN = r"[\s,，、;/|&~<>=≥≤–—-]*(?:and|or|to|和|与|或|到|至)?\s*"
_UNSTATED = (
    r"(?<![a-z])(?:nightly|latest|main|master|head|unknown|any version|source)(?![a-z])|最新|未知|不清楚|不知道|源码"
)
_LONGEST = 2_000  # characters that are read; a version field has a dozen


class Range(Value):
    """All versions from `low` to `high`, both included."""

    low: Version
    high: Version

    @classmethod
    def parse(cls, text: str) -> Range | None:
        """The versions that `text` may stand for, or None when it says nothing about a version. Never raises.

        "0.8.5" is that release alone, "0.18" and "0.7.x" any of the line, "~0.6.4" any of 0.6, ">=0.9" that and all
        above, "nightly" every version. Several versions are their span: where two were tried, either may be running.
        Left out are asides in parentheses ("0.6.4 (0.6.3 works)"), numbers of other products beside vLLM's, and bounds
        beside a version stated outright.
        """
        plain = _plain(text)
        if len(plain) > 1:
            return _release(plain)
        text = _tidied(text)
        seen = _own(re.sub(r"[(（][^()（）]*[)）]", " ", text)) or _own(text)
        if not seen:
            return ANY if re.search(_UNSTATED, text) else None
        stated = [found for found, bounds in seen if not bounds]
        return _span(stated) if stated else _common([found for found, _bounds in seen])

    def __str__(self) -> str:
        """The range as a person would write it; reading it back loses none of its versions."""
        if self == ANY:
            return "any version"
        low, high = _written(self.low), _written(self.high)
        if self.low == self.high:
            return low
        if self == _beginning(self.low) and self.low[2] == BOTTOM:
            return f"{low}.x"
        after = "" if self.low == LOWEST else f"{'>' if self.low[-1] > TOP else '>='}{low}"
        before = self.high[-1] in (BOTTOM - 1, TOP - 1)
        until = "" if self.high == HIGHEST else f"{'<' if before else '<='}{high}"
        return ",".join(filter(None, (after, until)))


ANY = Range(LOWEST, HIGHEST)


class Constraint(Value):
    """What a fact of the knowledge base holds for: `ranges` lie apart from each other."""

    text: str
    ranges: tuple[Range, ...]

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """The comparisons of `text`, all of which must hold: ">=0.14,<0.18", "==0.7.*", "!=5.0.*".

        A number stands for every version that begins with it, pre-releases and post-releases included: "<=0.10" takes
        in 0.10.1, "<0.18" leaves out 0.18.0rc1. Raises KnowledgeError when a comparison is malformed or when no version
        is left.
        """
        known = _constraints.get(text)
        if known is not None:
            return known
        ranges: tuple[Range, ...] = (ANY,)
        for clause in text.split(","):
            pieces = _compared(text, clause)
            ranges = tuple(both for held in ranges for piece in pieces if (both := intersect(held, piece)))
        if not ranges:
            raise KnowledgeError(f"version constraint {text!r} holds for no version.", "Correct one of its bounds.")
        if len(_constraints) < _MOST_KEPT:
            _constraints[text] = cls(text, ranges)
        return cls(text, ranges)


_constraints: dict[str, Constraint] = {}  # the knowledge base holds a few hundred, and a server meets them all day
_MOST_KEPT = 2_000


def holds(constraint: Constraint, running: Range | None) -> bool | None:
    """True when `constraint` holds for all versions of `running`, False when for none, None when that stays open."""
    if running is None:
        return None
    kept = [both for held in constraint.ranges if (both := intersect(held, running))]
    if not kept:
        return False
    return True if kept == [running] else None


def intersect(first: Range, second: Range) -> Range | None:
    """The versions in both ranges, or None where there are none."""
    low, high = max(first.low, second.low), min(first.high, second.high)
    return Range(low, high) if low <= high else None


def _plain(text: str) -> tuple[int, ...]:
    """The numbers of a bare "0.18" or "0.18.0", the usual case, which needs no expression to be compiled; else none."""
    parts = text.strip().split(".")
    plain = len(parts) <= 3 and all(part.isascii() and part.isdigit() and len(part) <= 5 for part in parts)
    return tuple(int(part) for part in parts) if plain else ()


def _release(numbers: Version) -> Range:
    """The release of three numbers, or any of the line of two."""
    named = _beginning(numbers)
    released = (*named.low[:3], STAGES[""], 0, TOP)
    return named if len(numbers) < 3 else Range(released, released)


# -- reading ----------------------------------------------------------------------------------------------------------


def _tidied(text: str) -> str:
    """Lower case, dots between versions as a dash, and no tags of NVIDIA's images: their 25.05 counts months."""
    text = text[:_LONGEST].lower()
    for dots in ("...", "..", "…"):
        text = text.replace(dots, " - ")
    return re.sub(r"nvcr\.io\S*", " unknown ", text) if "nvcr.io" in text else text


def _own(text: str) -> list[tuple[Range, bool]]:
    """The versions in `text` that are vLLM's as far as it says: the range of each, and whether it is only a bound."""
    mentions = list(_mentions(text))
    names = [name for name, _found, _bounds in mentions]
    wanted = next((name for name in ("vllm", "") if name in names), None)
    return [(found, bounds) for name, found, bounds in mentions if wanted in (name, None)]


def _mentions(text: str) -> Iterator[tuple[str, Range, bool]]:
    """Each version in `text`: the product named before it or before its list, its range, whether it is only a bound."""
    end, name = 0, ""
    for match in re.finditer(_MENTION, text):
        before, after = text[max(end, match.start() - 40) : match.start()], text[match.end() : match.end() + 20]
        if before and (named := re.search(_NAME, before)):
            name = named["name"]
        elif before and not re.fullmatch(_JOIN, before):
            name = ""
        end = match.end()
        operator = _first(_BEFORE, before) or _first(_AFTER, after)
        yield name, _meant(match, operator), operator not in ("", "~")


def _first(table: tuple[tuple[str, str], ...], text: str) -> str:
    if not text.strip():  # the usual case, spared of compiling the table: that costs more than all the rest
        return ""
    return next((operator for words, operator in table if re.search(words, text)), "")


def _meant(match: re.Match[str], operator: str) -> Range:
    named = _named(match)
    if operator == "~":
        return _beginning(named.low[:2])
    if operator:
        return _pieces(operator, named)[0]
    if named.low == named.high or named.low[2] == BOTTOM or match["open"]:
        return named
    released = (*named.low[:3], STAGES[""], 0, TOP)
    return Range(released, released)


def _named(match: re.Match[str]) -> Range:
    """Every version that begins with what was written; a single one where a stage or a dev build is named."""
    numbers = tuple(int(number) for number in match["release"].split("."))
    stage, dev = match["stage"], match["dev"]
    if stage is None and dev is None:
        return _beginning(numbers)
    build = TOP if dev is None else int(dev or 0)
    suffix = (STAGES["dev"], build, TOP) if stage is None else (STAGES[stage], int(match["number"]), build)
    exact = (*(*numbers, 0, 0)[:3], *suffix)
    return Range(exact, exact)


def _compared(text: str, clause: str) -> list[Range]:
    stripped = clause.strip()
    for operator in (">=", "<=", "==", "!=", ">", "<"):
        if stripped.startswith(operator):
            wild = stripped.endswith(".*")
            numbers = _plain(stripped[len(operator) : -2 if wild else None])
            if numbers and len(numbers) < 3 + (not wild):
                return _pieces(operator, _beginning(numbers))
            break
    match = re.fullmatch(_CLAUSE, clause)
    if not match:
        raise KnowledgeError(
            f"version constraint {text!r}: {clause.strip()!r} is not a comparison.",
            "Write comparisons such as '>=0.8', '>=0.14,<0.18' or '==0.7.*', separated by commas.",
        )
    return _pieces(match[1], _named(match))


# -- arithmetic -------------------------------------------------------------------------------------------------------


def _beginning(version: Version) -> Range:
    """All versions that begin with the numbers of `version` up to where it is open."""
    numbers = tuple(number for number in version if BOTTOM < number < TOP)
    missing = len(LOWEST) - len(numbers)
    return Range((*numbers, *[BOTTOM] * missing), (*numbers, *[TOP] * missing))


def _pieces(operator: str, named: Range) -> list[Range]:
    """What `operator` leaves of all versions: one range, or two around a hole."""
    below = Range(LOWEST, (*named.low[:-1], named.low[-1] - 1))
    above = Range((*named.high[:-1], named.high[-1] + 1), HIGHEST)
    return {
        ">=": [Range(named.low, HIGHEST)],
        "<=": [Range(LOWEST, named.high)],
        ">": [above],
        "<": [below],
        "==": [named],
        "!=": [below, above],
    }[operator]


def _span(ranges: list[Range]) -> Range:
    return Range(min(found.low for found in ranges), max(found.high for found in ranges))


def _common(bounds: list[Range]) -> Range:
    """What all bounds share; where they contradict each other ("<0.8, >0.9"), either was meant."""
    shared: Range | None = ANY
    for bound in bounds:
        shared = shared and intersect(shared, bound)
    return shared or _span(bounds)


def _written(version: Version) -> str:
    numbers = [number for number in version if BOTTOM < number < TOP - 1]
    text = ".".join(str(number) for number in numbers[:3])
    if len(numbers) < 5 or version[3] == STAGES[""]:
        return text
    if version[3] == STAGES["dev"]:
        return f"{text}.dev{version[4]}"
    return f"{text}{SUFFIXES[version[3]]}{version[4]}" + ("" if len(numbers) < 6 else f".dev{version[5]}")

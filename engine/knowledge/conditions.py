"""Turns the conditions of YAML into bodies of rules: alternatives of atoms that must all be known.

`any` multiplies rules and `none` becomes explicit negative atoms, because the rule engine only ever sees positive
conjunctions. Comparisons become atoms too: a Test says which fact to compare, and the observer's side evaluates it.
"""

from __future__ import annotations

from itertools import product
from zlib import crc32

from engine.errors import KnowledgeError
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Bodies = list[tuple[str, ...]]

OPERATORS = ("==", "!=", "<=", ">=", "<", ">")
_WORDS = {"==": "is", "!=": "is-not", "<=": "at-most", ">=": "at-least", "<": "below", ">": "above"}
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
MOST_ALTERNATIVES = 64


class Test(Value):
    """A comparison of a fact with a literal or with another fact; `operator` "" asks whether the fact is there and
    true."""

    atom: str
    fact: str
    operator: str = ""
    operand: str = ""
    operand_is_fact: bool = False


def parse_test(expression: str, is_fact: Mapping[str, Any] | None = None) -> Test:
    """`args.max-num-seqs < 64` as a Test. Raises KnowledgeError when it has another form."""
    for operator in OPERATORS:
        left, found, right = expression.partition(f" {operator} ")
        if found:
            name, operand = left.strip(), right.strip().strip("'\"")
            if not name or not operand or " " in name:
                break
            return Test(_atom(f"{name} {_WORDS[operator]} {operand}"), name, operator, operand, _names_fact(operand))
    if " " in expression.strip() or not expression.strip():
        raise KnowledgeError(f"{expression!r} is neither a fact nor 'fact OPERATOR value' ({', '.join(OPERATORS)}).")
    return Test(_atom(expression.strip()), expression.strip())


def _names_fact(operand: str) -> bool:
    family, dot, rest = operand.partition(".")
    return bool(dot) and family in {"args", "env", "derived", "log", "stats", "metrics"} and not rest[:1].isdigit()


def _atom(words: str) -> str:
    """A short ASCII name that a reader of a trace still understands."""
    lowered = words.lower().replace("*", "any").replace(" ", ".")
    name = "".join(c if c in _NAME else "-" for c in lowered).strip("_.-") or "fact"
    if len(name) > 60 or name != lowered:
        name = f"{name[:50].strip('_.-')}.{crc32(words.encode()) & 0xFFFF:04x}"
    return f"test:{name}"


def negated(atom: str) -> str:
    """The atom that states that `atom` is known not to be so."""
    return f"not-{atom}"


def bodies(condition: Mapping[str, Any], tests: dict[str, Test]) -> Bodies:
    """The alternatives of `condition`, each a tuple of atoms in order without repeats. Comparisons join `tests`."""
    if "all" in condition:
        parts = [bodies(part, tests) for part in condition["all"]]
        return _limited([_merged(choice) for choice in product(*parts)], condition)
    if "any" in condition:
        return _limited([body for part in condition["any"] for body in bodies(part, tests)], condition)
    if "none" in condition:
        return [tuple(negated(atom) for part in condition["none"] for atom in _single(part, tests))]
    if "says" in condition and isinstance(condition["says"], list):
        return [tuple(f"says:{concept}" for concept in condition["says"])]
    return [(_plain(condition, tests),)]


def _plain(condition: Mapping[str, Any], tests: dict[str, Test]) -> str:
    for kind, prefix in (("sign", "sign"), ("symptom", "symptom"), ("says", "says"), ("cause", "cause")):
        if kind in condition:
            return f"{prefix}:{condition[kind]}"
    if "log" in condition:
        return f"sign:{condition['id']}"
    test = parse_test(str(condition["fact"]))
    tests[test.atom] = test
    return test.atom


def _single(condition: Mapping[str, Any], tests: dict[str, Test]) -> tuple[str, ...]:
    found = bodies(condition, tests)
    if len(found) != 1 or any(atom.split(":")[0] not in {"sign", "says", "test"} for atom in found[0]):
        raise KnowledgeError("'none' takes log signs, concepts and facts: what can be known not to be so.")
    return found[0]


def _merged(choice: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(atom for body in choice for atom in body))


def _limited(found: Bodies, condition: Mapping[str, Any]) -> Bodies:
    if len(found) > MOST_ALTERNATIVES:
        raise KnowledgeError(f"{condition!r} stands for {len(found)} alternatives; at most {MOST_ALTERNATIVES}.")
    return list(dict.fromkeys(found))

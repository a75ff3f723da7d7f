"""The pairs of --fact. A fact that does not exist, or never has that value, is a mistake and not ignored."""

from __future__ import annotations

from engine.errors import KbError, UsageError
from engine.observe.context import NAMES
from interfaces.cli.errors import raise_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import Scalar

FAMILIES = ("args", "env", "metrics", "says")


def facts(pairs: Iterable[str], knowledge: Knowledge) -> dict[str, Scalar]:
    """`KEY=VALUE` pairs as typed values by name; the later of two for one name counts.

    Raises UsageError, or SeveralErrors for more than one, naming the pair and what was probably meant."""
    stated: dict[str, Scalar] = {}
    errors: list[KbError] = []
    for pair in pairs:
        try:
            name, value = _fact(pair, knowledge)
            stated[name] = value
        except UsageError as error:
            errors.append(error)
    raise_all(errors)
    return stated


def _fact(pair: str, knowledge: Knowledge) -> tuple[str, Scalar]:
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name:
        raise UsageError(f"--fact '{pair}' has no value.", "Write it as KEY=VALUE, such as args.max-num-seqs=64.")
    family, dot, member = name.partition(".")
    if dot and member and family in FAMILIES:
        return _of_family(family, member, value, knowledge)
    entry = knowledge.item("fact", NAMES.get(name, name))
    if entry is None:
        raise _unknown(f"--fact names no fact '{name}'", name, knowledge)
    return name, _typed(name, value, entry)


def _of_family(family: str, member: str, value: str, knowledge: Knowledge) -> tuple[str, Scalar]:
    if family == "args":
        return f"args.{_flag(member, knowledge)}", _guessed(value)
    if family == "says":
        if knowledge.item("concept", member) is None:
            raise _unlike(f"--fact names no concept '{member}'", member, knowledge.ids("concept"), "says.")
        return f"says.{member}", _typed(f"says.{member}", value, {"type": "flag"})
    if family == "metrics":
        return f"metrics.{_metric(member, knowledge)}", _guessed(value)
    if not member.replace("_", "a").isalnum() or not member.isascii():
        raise UsageError(f"--fact names no environment variable: '{member}'.", "Write it as env.NAME=VALUE.")
    return f"env.{member}", value


def _flag(member: str, knowledge: Knowledge) -> str:
    from engine.observe.command import canonical  # noqa: PLC0415

    flag = canonical(f"--{member.lstrip('-')}", knowledge)
    if flag not in knowledge.section("flag-names"):
        near = knowledge.nearest_flag(flag)
        meant = f"Did you mean 'args.{near.lstrip('-')}'?" if near else "kb show FLAG says what kb knows of a flag."
        raise UsageError(f"--fact: no vLLM version has the flag '{flag}'.", meant)
    return flag.lstrip("-")


def _metric(member: str, knowledge: Knowledge) -> str:
    known = knowledge.ids("metric")
    for name in (member, f"vllm:{member}"):
        if name in known:
            return name
    raise _unlike(f"--fact names no metric '{member}'", f"vllm:{member.removeprefix('vllm:')}", known, "metrics.")


def _unknown(message: str, name: str, knowledge: Knowledge) -> UsageError:
    """The error for a key that is no fact; often it is a flag or a variable without its family."""
    bare = name.lstrip("-").replace("_", "-")
    if f"--{bare}" in knowledge.section("flag-names"):
        return UsageError(f"{message}.", f"Did you mean 'args.{bare}'?")
    if knowledge.item("variable", name):
        return UsageError(f"{message}.", f"Did you mean 'env.{name}'?")
    named = [fact for fact in knowledge.ids("fact") if not fact.endswith("*")]
    return _unlike(message, name, [*named, *NAMES], "")


def _unlike(message: str, name: str, known: Iterable[str], family: str) -> UsageError:
    from engine.observe.spelling import closest  # noqa: PLC0415 - on the way out

    near = closest(name, sorted(known))
    hint = (
        f"Did you mean '{family}{near}'?"
        if near
        else "kb/facts.yaml lists the facts; flags are args.…, variables env.…"
    )
    return UsageError(f"{message}.", hint)


# -- values -----------------------------------------------------------------------------------------------------------


def _typed(name: str, value: str, entry: Mapping[str, Any]) -> Scalar:
    kind = entry["type"]
    if kind == "flag":
        return _truth(name, value)
    if kind == "number":
        number = _number(value)
        if number is None:
            raise UsageError(f"--fact: '{name}' is a number, not '{value}'.")
        return number
    if kind == "word" and value not in entry["values"]:
        raise UsageError(f"--fact: '{name}' is never '{value}'.", f"It is one of {', '.join(entry['values'])}.")
    return value


def _truth(name: str, value: str) -> bool:
    word = value.lower()
    if word in ("true", "yes", "1"):
        return True
    if word in ("false", "no", "0"):
        return False
    raise UsageError(f"--fact: '{name}' is true or false, not '{value}'.")


def _guessed(value: str) -> Scalar:
    """The value of a flag or metric: a number, true or false, else the text."""
    number = _number(value)
    if number is not None:
        return number
    return value.lower() == "true" if value.lower() in ("true", "false") else value


def _number(value: str) -> int | float | None:
    if not value.isascii() or "_" in value or not any(map(str.isdigit, value)):
        return None
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return None

"""What the operator stated in a file or with --fact -> facts. Values come as people write them and are never
refused."""

from __future__ import annotations

from engine.model import Fact, Origin
from engine.observe import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from engine.knowledge.store import Knowledge

NAMES = {
    "vllm_version": "vllm.version", "vllm": "vllm.version", "torch": "torch.version", "driver": "driver.version",
    "gpu": "gpu.name", "gpu_count": "gpu.count", "model": "model.name",
}  # fmt: skip
MAPS = ("args", "env", "metrics", "facts")
DEEPEST = 6
_SCRAPED = ("vllm:", "vllm_", "ray_vllm", "http_", "process_")


def facts(context: Mapping[str, Any], knowledge: Knowledge) -> list[Fact]:
    """Facts with a name of their own; everything else is found by `texts`."""
    out = [
        Fact(NAMES[key], _plain(value), _origin(key, value))
        for key, value in context.items()
        if key in NAMES and value not in (None, "")
    ]
    if isinstance(context.get("args"), dict):
        out += command.from_mapping(context["args"], knowledge, "context", "context")
    for family in ("env", "metrics"):
        if isinstance(context.get(family), dict):
            out += [
                Fact(f"{family}.{name}", _plain(value), _origin(f"{family}.{name}", value))
                for name, value in context[family].items()
            ]
    if isinstance(context.get("facts"), dict):
        out += [fact for name, value in context["facts"].items() for fact in _stated(str(name), value, knowledge)]
    if isinstance(context.get("gpu"), str):
        from engine.observe.environment.gpus import stated  # noqa: PLC0415 - where a GPU is named

        out += [Fact(name, value, _origin("gpu", context["gpu"]), "near") for name, value in stated(context["gpu"])]
    count = context.get("gpu_count")
    if str(count).isdecimal() and len(str(count)) < 9:
        out.append(Fact("gpus", "several" if int(str(count)) > 1 else "one", _origin("gpu_count", count), "near"))
    return out


def _stated(name: str, value: Any, knowledge: Knowledge) -> list[Fact]:
    """A fact given with --fact: a context key, or any fact of the knowledge base."""
    origin = Origin("answer", f"{name} = {value}", f"answer:{name}")
    if name.startswith("args."):
        flag = command.canonical("--" + name[5:].lstrip("-"), knowledge)
        return [Fact(f"args.{flag.lstrip('-')}", _plain(value), origin)]
    known = value not in (False, "false", "no")
    return [Fact(NAMES.get(name, name), _plain(value), origin, known=known or not name.startswith("says."))]


def texts(context: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Where and what: every text of the context that has no name of its own, to be searched."""
    for key, value in context.items():
        if key in NAMES or (key in MAPS and isinstance(value, dict)):
            continue
        yield from _leaves(str(key), value, 0)
    model = context.get("gpu")
    if isinstance(model, str):
        yield "gpu", model


def scrape(context: Mapping[str, Any]) -> str:
    """The metrics that are stated one by one, as a scrape would print them; "" where there are none."""
    stated = context.get("metrics")
    if not isinstance(stated, dict):
        return ""
    named = [(str(name).strip(), str(value).strip()) for name, value in stated.items()]
    return "\n".join(f"{name if name.startswith(_SCRAPED) else f'vllm:{name}'} {value}" for name, value in named)


def _leaves(where: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and depth < DEEPEST:
        for key, part in value.items():
            yield from _leaves(f"{where}.{key}", part, depth + 1)
    elif isinstance(value, list) and depth < DEEPEST:
        for part in value:
            yield from _leaves(where, part, depth + 1)
    elif value not in (None, ""):
        yield where, str(value)


def _plain(value: Any) -> str | int | float | bool:
    return value if isinstance(value, str | int | float | bool) else str(value)


def _origin(name: str, value: Any) -> Origin:
    return Origin("context", f"{name}: {value}"[:300], f"context:{name}")

"""A start command in any form -> facts: each flag under its canonical name, variables, image, and where words stand.

`parse` takes a text apart and `facts` says what it states. The forms (a shell, YAML, Python, systemd) have a module
each, which a plain complaint never loads.
"""

from __future__ import annotations

from engine.lazy import IGNORECASE, regex
from engine.model import Fact, Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.knowledge.store import Knowledge
    from engine.observe.command.forms import Found
    from engine.observe.command.parts import Given, Parsed

# A text without any of these holds no such command; most are told apart by this alone. "non-default args: {" is no
# manifest, hence the line ends.
_BOTH = (
    "apiVersion", "services:\n", "containers:", "image:", "args:\n", "args: [", "command:\n", "command: [",
    "command: >", "command: |", "vllmConfig", "engine_kwargs", "infer_backend", "ExecStart=", "LLM(", "EngineArgs(",
    "xinference launch", "swift deploy", "swift infer", "swift rollout", "llamafactory-cli",
)  # fmt: skip
SETTINGS = (
    "max-model-len:", "max_model_len:", "vllm_maxlen:", "tensor-parallel-size:", "tensor_parallel_size:",
    "gpu-memory-utilization:", "gpu_memory_utilization:",
)  # fmt: skip
_IN_TEXT = (*_BOTH, *SETTINGS, "command:", " \\\n", "```")
_IN_FILE = (*_BOTH, *SETTINGS, "vllm serve", "vllm.entrypoints.", "docker run", "podman run")
_HEAD = 100_000  # characters of a file that are looked at

_MENTION = regex(r"(?<![\w-])--[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", IGNORECASE)
_VALUE_AFTER = regex(r"(?:\s*=\s*|\s+)([\w./:+-]*\d[\w./:+-]*|[tT]rue|[fF]alse|auto|fp8\w*)")


def parse(text: str, knowledge: Knowledge) -> Parsed:
    """`text` taken apart in the form that it has. Never raises: what is not understood is left out."""
    from engine.observe.command import forms  # noqa: PLC0415 - only where there is a command

    return forms.parse(text, knowledge)


def facts(text: str, knowledge: Knowledge, kind: str = "command", file: int | None = None, line: int = 1) -> list[Fact]:
    """What the command states. `file` and `line` say where its text begins when it came in a file."""
    from engine.observe.command.stated import stated  # noqa: PLC0415 - only where there is a command

    return stated(text, knowledge, kind, file, line)


def canonical(flag: str, knowledge: Knowledge) -> str:
    """The reference's name of a flag, however it is written: `--max_model_len`, `-tp`, `max-model-len`."""
    names = knowledge.section("flag-names")
    dashed = flag.replace("_", "-") if flag.startswith("--") else flag
    for candidate in (flag, dashed, dashed.lower(), f"--{flag.strip('-').replace('_', '-').lower()}"):
        if candidate in names:
            return str(names[candidate])
    return dashed if flag.startswith("-") else f"--{flag.replace('_', '-')}"


def setting(given: Given, knowledge: Knowledge) -> tuple[str, str | bool]:
    """Name and value of a flag; `--no-x` is `x` set to false."""
    names = knowledge.section("flag-names")
    positive = f"--{given.name[5:]}"
    if given.name.startswith("--no-") and given.name not in names and positive in names:
        return positive.lstrip("-"), False
    if (
        given.value is not None
        and given.name in knowledge.section("switches")
        and given.value.lower() in ("true", "false")
    ):
        return given.name.lstrip("-"), given.value.lower() == "true"
    return given.name.lstrip("-"), True if given.value is None else given.value


def pasted(text: str) -> Found | None:
    """A manifest, a unit, Python code or a wrapper's command that stands among an operator's words."""
    if not any(hint in text for hint in _IN_TEXT):
        return None
    from engine.observe.command import forms  # noqa: PLC0415 - only where one may stand

    return forms.in_text(text)


def in_file(text: str, knowledge: Knowledge) -> Found | None:
    """The command that a file is, or that stands in its first lines."""
    text = text[:_HEAD]
    if not any(hint in text for hint in _IN_FILE):
        return None
    from engine.observe.command import forms  # noqa: PLC0415 - only where one may stand

    return forms.in_file(text, knowledge)


def mentioned(text: str, knowledge: Knowledge, kind: str) -> list[Fact]:
    """Flags that a sentence names, with a value where one follows."""
    out: list[Fact] = []
    if "--" not in text:
        return out
    names = knowledge.section("flag-names")
    for match in _MENTION.finditer(text):
        name = canonical(match.group(), knowledge)
        value = _VALUE_AFTER.match(text, match.end())
        origin = Origin(kind, match.group() + (value.group() if value else ""), f"{kind}:{match.start()}")  # type: ignore[arg-type]
        if value and name in names.values():
            out.append(Fact(f"args.{name.lstrip('-')}", value.group(1), origin))
        out.append(Fact("mentions.flag", name, origin))
    return out


def from_mapping(flags: Mapping[str, object], knowledge: Knowledge, kind: str, source: str) -> list[Fact]:
    """Flags that a context or a log states as name and value."""
    out = []
    for key, value in flags.items():
        name = canonical(str(key) if str(key).startswith("-") else f"--{key}", knowledge)
        origin = Origin(kind, f"{name} {value}", f"{source}:{name}")  # type: ignore[arg-type]
        plain = value if isinstance(value, str | int | float | bool) else str(value)
        out.append(Fact(f"args.{name.lstrip('-')}", plain, origin))
        out += [Fact("model.name", plain, origin)] if kind == "log" and name == "--model" else []
    return out

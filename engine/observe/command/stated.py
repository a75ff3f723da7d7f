"""A command taken apart -> facts. Credentials stay out of the words that are shown as evidence."""

from __future__ import annotations

from engine.lazy import IGNORECASE, regex
from engine.model import Fact, Origin
from engine.observe.command import forms, setting
from engine.observe.command.surroundings import gib
from engine.redact import MASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.knowledge.store import Knowledge
    from engine.model import Scalar
    from engine.observe.command.parts import Given, Parsed

_IMAGE = regex(
    r"(?<!lmcache/)(?:vllm-openai(?:-[a-z]+)?|vllm-cpu[\w-]*|vllm-ascend|vllm-tpu|vllm-xpu):v?(\d[\w.+]*)|rocm/vllm[\w-]*:\S*?vllm[_-]v?(\d+\.\d+[\w.]*)"
)
_PLATFORMS = (
    ("rocm", "rocm"),
    ("vllm-ascend", "npu"),
    ("vllm-cpu", "cpu"),
    ("vllm-tpu", "tpu"),
    ("vllm-xpu", "xpu"),
    ("gaudi", "hpu"),
)
_IMAGE_WORD = regex(r"[\w./:@+-]*vllm[\w./-]*:[\w.+-]+", IGNORECASE)
_SECRET = regex(r"(?:^|[_-])(?:(?:api[_-]?key|key|secret|password|passwd|credential)s?|token)$", IGNORECASE)
_VARIABLE = regex(r"\$\{?([A-Za-z_]\w*)\}?")


class _Facts:
    """Makes facts with their places in one text."""

    def __init__(self, text: str, kind: str, file: int | None, line: int) -> None:
        self.text, self.kind, self.file, self.line = text, kind, file, line

    def at(self, name: str, value: Scalar, start: int, end: int, grade: str = "exact") -> Fact:
        return self._fact(name, value, " ".join(self.text[start:end][:300].split("\n")) or str(value), start, grade)

    def of(self, name: str, value: Scalar, given: Given) -> Fact:
        start, end = given.word.start, (given.value_word or given.word).end
        if is_secret(given.name):
            return self._fact(name, value, f"{given.name} {MASK}", start)
        return self._fact(name, value, self.text[start : max(start, end)][:300], start)

    def plain(self, name: str, value: Scalar) -> Fact:
        return self._fact(name, value, str(value)[:300], None)

    def _fact(self, name: str, value: Scalar, shown: str, start: int | None, grade: str = "exact") -> Fact:
        line = None if self.file is None else self.line + self.text.count("\n", 0, start or 0)
        return Fact(name, value, Origin(self.kind, shown, f"{self.kind}:{name}", self.file, line), grade)  # type: ignore[arg-type]


def is_secret(name: str) -> bool:
    """Whether a flag or variable of that name holds a credential."""
    return bool(_SECRET.search(name))


def stated(text: str, knowledge: Knowledge, kind: str, file: int | None, line: int) -> list[Fact]:
    """Every fact of the command."""
    parsed = forms.parse(text, knowledge)
    make = _Facts(text, kind, file, line)
    last = {given.name: given for given in parsed.flags}  # of a flag that is given twice the last counts
    out = [
        make.of(f"args.{name}", _resolved(value, parsed), given)
        for given in last.values()
        for name, value in [setting(given, knowledge)]
    ]
    out += [
        make.of(f"env.{given.name}", given.value or "", given) for given in parsed.variables if given.value is not None
    ]
    out += [make.plain("model.name", parsed.model)] if parsed.model else []
    out += [make.plain("where", "docker")] if parsed.is_docker else []
    out += [make.at(one.name, one.value, one.start, one.end, one.grade) for one in parsed.stated]
    out += _of_image(text, parsed, make)
    out += _of_sizes(out, make)
    out += _of_docker(parsed, make)
    return list({(fact.name, fact.value): fact for fact in reversed(out)}.values())[::-1]


def _resolved(value: str | bool, parsed: Parsed) -> str | bool:
    """`$LEN` by what the same text sets it to."""
    match = _VARIABLE.fullmatch(value) if isinstance(value, str) and value.startswith("$") else None
    if match is None:
        return value
    return next((given.value for given in parsed.variables if given.name == match.group(1) and given.value), value)


def _of_image(text: str, parsed: Parsed, make: _Facts) -> Iterator[Fact]:
    images = [str(one.value) for one in parsed.stated if one.name == "image.name"]
    if parsed.form == "shell" or not images:
        images = [match.group() for match in _IMAGE_WORD.finditer(text[: parsed.end])][:3]
        yield from (make.plain("image.name", image) for image in images[:1] if parsed.is_docker)
    for image in images:
        match = _IMAGE.search(image)
        version = match and (match.group(1) or match.group(2))
        if version:
            yield make.plain("vllm.version", version)
        for part, platform in _PLATFORMS:
            if part in image and "vllm" in image:
                yield make.plain("platform", platform)


def _of_sizes(found: list[Fact], make: _Facts) -> Iterator[Fact]:
    """One or several GPUs and machines, by the parallel sizes; by the GPUs asked for where no size is given."""
    values = {fact.name: str(fact.value) for fact in found}
    size = values.get("args.tensor-parallel-size", "")
    asked = values.get("gpu.requested", "")
    if size.isdecimal():
        yield make.plain("gpus", "several" if int(size[-9:]) > 1 else "one")
    elif asked.isdecimal() and int(asked) == 1:
        yield make.plain("gpus", "one")
    nodes = values.get("args.nnodes", "")
    if nodes.isdecimal():
        yield make.plain("nodes", "several" if int(nodes[-9:]) > 1 else "one")


def _of_docker(parsed: Parsed, make: _Facts) -> Iterator[Fact]:
    for given in parsed.docker:
        value = given.value or ""
        if given.name == "--ipc" and value == "host":
            yield make.of("args.docker-ipc", "host", given)
        elif given.name in ("--shm-size", "-m", "--memory"):
            size = gib(value)
            if size is not None:
                yield make.of("shm.size_gib" if given.name == "--shm-size" else "memory.limit_gib", size, given)
        elif given.name == "--gpus":
            count = value if value.isdecimal() else str(value.count(",") + 1) if "device=" in value else ""
            if count and len(count) < 6:
                yield make.of("gpu.requested", int(count), given)
        elif given.name == "--cpus" and value.replace(".", "", 1).isdecimal() and value.isascii() and len(value) < 9:
            yield make.of("cpu.limit", float(value), given)
        elif given.name in ("-v", "--volume", "--mount") and "cache" in value:
            yield make.of("volume.cache", True, given)

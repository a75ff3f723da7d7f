"""A start command -> facts: every flag under its canonical name, variables, image, and where each word stands.

A word keeps its place in the text, so that the corrected command can change that word and nothing else.
"""

from __future__ import annotations


from engine.lazy import DOTALL, IGNORECASE, regex
from engine.model import Fact, Origin, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engine.knowledge.store import Knowledge

LONGEST = 100_000  # characters of a command that are read
_SHELL_WORD = regex(r"""(?:[^\s"'\\;|&()<>]|<[\w./-]{1,60}>|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", DOTALL)
_QUOTED = regex(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(\n)|\\(.)|([^"'\\]+)""", DOTALL)
_ESCAPED = regex(r'\\(["\\$`])')
_ASSIGNMENT = regex(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", DOTALL)
_ENV_OPTION = regex(r"--env=|-e(?=[A-Za-z_])")
_MENTION = regex(r"(?<![\w-])--[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", IGNORECASE)
_VALUE_AFTER = regex(r"(?:\s*=\s*|\s+)([\w./:+-]*\d[\w./:+-]*|[tT]rue|[fF]alse|auto|fp8\w*)")
_IMAGE = regex(r"vllm/vllm-openai:v?([\w.+-]+)")
_SERVERS = {"serve", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"}
_DOCKER_VALUED = {"-e", "--env", "-v", "--volume", "-p", "--publish", "--name", "--gpus", "--shm-size", "--ipc", "--network",
                  "--net", "--runtime", "--entrypoint", "-m", "--memory", "--ulimit", "--device", "--restart"}  # fmt: skip


class Word(Value):
    """One shell word: its meaning without quotes, and where it stands."""

    text: str
    start: int
    end: int


class Given(Value):
    """One flag or variable of the command: `value` None for a bare switch. `word` and `value_word` say where it stands;
    they are one when it is written `--flag=value`."""

    name: str
    value: str | None
    word: Word
    value_word: Word | None


class Parsed(Value):
    """A command taken apart: vLLM's flags, variables, docker's own options, the model, and the program's name."""

    flags: tuple[Given, ...]
    variables: tuple[Given, ...]
    docker: tuple[Given, ...]
    model: str | None
    is_server: bool
    is_docker: bool
    start: int  # where another variable can be set
    end: int  # where another flag can be appended


def parse(text: str, knowledge: Knowledge) -> Parsed:
    """`text` taken apart as a shell would. Never raises: what is not understood is left out."""
    text = text[:LONGEST]
    words = _words(text)
    program = next((i for i, word in enumerate(words) if _starts_server(words, i)), None)
    docker = next((i for i, word in enumerate(words[:-1]) if word.text in {"docker", "podman"} and words[i + 1].text == "run"), None)
    first = program + 1 if program is not None else _after_image(words, docker)
    last = _end(text, words, first)
    flags, model = _flags(words[first:last], knowledge)
    before = words[:first]
    return Parsed(
        tuple(flags),
        tuple(_variables(text, before)),
        tuple(_docker_options(before[docker:])) if docker is not None else (),
        model,
        program is not None or docker is not None,
        docker is not None,
        words[docker + 1].end if docker is not None else _start(text, words, program or 0),
        words[last - 1].end if last else 0,
    )


def _end(text: str, words: Sequence[Word], first: int) -> int:
    """How many of the words belong to the command: a redirection, a pipe or another command may follow."""
    for index in range(max(first, 1), len(words)):
        before = words[index - 1]
        if any(mark in text[before.end : words[index].start] for mark in ";|&<>"):
            return index - 1 if before.text.isdecimal() and text[before.end] in "<>" else index
    return len(words)


def _start(text: str, words: Sequence[Word], program: int) -> int:
    """Where a variable can be set for the program alone: behind other commands, a prompt, and `sudo`, which drops it."""
    first = program
    while first and not any(mark in _between(text, words, first) for mark in ";|&(\n"):
        first -= 1
    if any(word.text == "sudo" for word in words[first:program]):
        return words[program - 1 if words[program].text == "serve" else max(first, program - 2)].start
    while first < program and words[first].text in {"$", "#", "%", "export"}:
        first += 1
    return words[first].start if words else 0


def _between(text: str, words: Sequence[Word], index: int) -> str:
    return text[words[index - 1].end : words[index].start].replace("\\\n", "")


def _words(text: str) -> list[Word]:
    return [Word(_unquoted(match.group()), match.start(), match.end()) for match in _SHELL_WORD.finditer(text) if match.group() != "\\\n"]


def _unquoted(word: str) -> str:
    if not any(mark in word for mark in "\"'\\"):
        return word
    parts = _QUOTED.findall(word)
    return "".join(
        single or _ESCAPED.sub(r"\1", double) or ("" if line else escaped or plain)
        for single, double, line, escaped, plain in parts
    )


def _starts_server(words: Sequence[Word], index: int) -> bool:
    word = words[index].text
    if word == "serve":
        return index > 0 and words[index - 1].text.rsplit("/", 1)[-1] == "vllm"
    return word in _SERVERS or word.endswith("api_server.py")


def _after_image(words: Sequence[Word], docker: int | None) -> int:
    """Where the server's own flags begin in `docker run … IMAGE …`, or where any flags begin."""
    if docker is None:
        return next((i for i, word in enumerate(words) if word.text.startswith("-") or not _ASSIGNMENT.fullmatch(word.text)), len(words))
    index = docker + 2
    while index < len(words) and words[index].text.startswith("-"):
        index += 2 if words[index].text in _DOCKER_VALUED else 1
    return min(index + 1, len(words))


def _flags(words: Sequence[Word], knowledge: Knowledge) -> tuple[list[Given], str | None]:
    """Flags with their values; the first word that is neither is the model."""
    switches = knowledge.section("switches")
    found: list[Given] = []
    model: str | None = None
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.text.startswith("-") or word.text == "-" or word.text[1:2].isdigit():
            model = model or (word.text if not word.text.startswith("\\") else None)
            continue
        head, equals, tail = word.text.partition("=")
        name = canonical(head, knowledge)
        if equals:
            found.append(Given(name, tail, word, word))
        elif index < len(words) and _is_value(words[index].text) and name not in switches:
            found.append(Given(name, words[index].text, word, words[index]))
            index += 1
        else:
            found.append(Given(name, None, word, None))
    named = next((given.value for given in found if given.name == "--model"), None)
    return found, named or model


def _is_value(text: str) -> bool:
    return not text.startswith("-") or text[1:2].isdigit()


def canonical(flag: str, knowledge: Knowledge) -> str:
    """The reference's name of a flag, however it is written: `--max_model_len`, `-tp`, `max-model-len`."""
    names = knowledge.section("flag-names")
    dashed = flag.replace("_", "-") if flag.startswith("--") else flag
    for candidate in (flag, dashed, dashed.lower(), f"--{flag.strip('-').replace('_', '-').lower()}"):
        if candidate in names:
            return str(names[candidate])
    return dashed if flag.startswith("-") else f"--{flag.replace('_', '-')}"


def _variables(text: str, words: Sequence[Word]) -> Iterator[Given]:
    for index, word in enumerate(words):
        head = _ENV_OPTION.match(word.text)
        if head and text.startswith(head.group(), word.start):
            word = Word(word.text[head.end() :], word.start + head.end(), word.end)
        match = _ASSIGNMENT.fullmatch(word.text)
        if match and (head or index == 0 or not words[index - 1].text.startswith("-") or words[index - 1].text in {"-e", "--env"}):
            yield Given(match.group(1), match.group(2), word, word)


def _docker_options(words: Sequence[Word]) -> Iterator[Given]:
    for index, word in enumerate(words):
        head, equals, tail = word.text.partition("=")
        if head.startswith("-") and head not in {"-e", "--env"}:
            if equals:
                yield Given(head, tail, word, word)
            elif head in _DOCKER_VALUED and index + 1 < len(words):
                yield Given(head, words[index + 1].text, word, words[index + 1])
            else:
                yield Given(head, None, word, None)


def facts(text: str, knowledge: Knowledge, kind: str = "command") -> list[Fact]:
    """What the command states."""
    parsed = parse(text, knowledge)

    def fact(name: str, value: str | bool, given: Given | None = None) -> Fact:
        shown = text[given.word.start : (given.value_word or given.word).end] if given else str(value)
        return Fact(name, value, Origin(kind, shown, f"{kind}:{name}"))  # type: ignore[arg-type]

    last = {given.name: given for given in parsed.flags}  # of a flag that is given twice the last counts
    out = [fact(f"args.{name}", value, given) for given in last.values() for name, value in [_stated(given, knowledge)]]
    out += [fact(f"env.{given.name}", given.value or "", given) for given in parsed.variables]
    out += [fact("model.name", parsed.model)] if parsed.model else []
    out += [fact("where", "docker")] if parsed.is_docker else []
    image = _IMAGE.search(text)
    out += [fact("vllm.version", image.group(1))] if image and image.group(1)[0].isdigit() else []
    parallel = [given.value for given in parsed.flags if given.name == "--tensor-parallel-size" and (given.value or "").isdecimal()]
    out += [fact("gpus", "several" if int((parallel[-1] or "1")[-9:]) > 1 else "one")] if parallel else []
    if any(given.name == "--ipc" and given.value == "host" for given in parsed.docker):
        out.append(fact("where", "bare-metal") if not parsed.is_docker else fact("args.docker-ipc", "host"))
    return out


def _stated(given: Given, knowledge: Knowledge) -> tuple[str, str | bool]:
    """Name and value of a flag; `--no-x` is `x` set to false."""
    names = knowledge.section("flag-names")
    positive = f"--{given.name[5:]}"
    if given.name.startswith("--no-") and given.name not in names and positive in names:
        return positive.lstrip("-"), False
    return given.name.lstrip("-"), True if given.value is None else given.value


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
    return out

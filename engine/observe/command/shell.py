"""A shell's command line: vLLM's own, docker's, Ray's, a wrapper's, with what stands around it."""

from __future__ import annotations

from engine.lazy import DOTALL, regex
from engine.observe.command import canonical
from engine.observe.command.dialects import flag as wrapped
from engine.observe.command.parts import LONGEST, Given, Parsed, Place, Word
from engine.observe.command.pieces import Piece, double_quoted, outer, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.knowledge.store import Knowledge

_SHELL_WORD = regex(r"""(?:[^\s"'\\;|&()<>]|<[\w./-]{1,60}>|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", DOTALL)
_QUOTED = regex(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(\n)|\\(.)|([^"'\\]+)""", DOTALL)
_ESCAPED = regex(r'\\(["\\$`])')
_ASSIGNMENT = regex(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", DOTALL)
_COMMENT = regex(r"#[^\n]*")
_ENV_OPTION = regex(r"--env=|-e(?=[A-Za-z_])")
_INNER = regex(r"\bvllm\s+serve\b|\bvllm\.entrypoints\.|api_server\.py")
_SERVERS = {"serve", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"}
_DOCKER_VALUED = {
    "-e", "--env", "-v", "--volume", "-p", "--publish", "--name", "--gpus", "--shm-size", "--ipc", "--network", "--net",
    "--runtime", "--entrypoint", "-m", "--memory", "--ulimit", "--device", "--restart", "--cpus", "--env-file", "-w",
    "--workdir", "-u", "--user", "--mount", "-h", "--hostname", "--platform", "--pull", "--add-host", "--security-opt",
    "--cap-add", "--tmpfs", "--label", "-l", "--memory-swap", "--cpuset-cpus", "--group-add", "--log-driver",
    "--log-opt",
}  # fmt: skip
_SWIFT = {"deploy", "infer", "rollout", "rlhf", "sft", "eval", "app", "sample"}
_DEEPEST = 3  # commands in quotes of commands


def parse(text: str, knowledge: Knowledge, depth: int = 0) -> Parsed:
    """`text` taken apart as a shell would. Never raises: what is not understood is left out."""
    text = text[:LONGEST]
    words = words_of(text)
    program, dialect = program_of(words)
    docker = next(
        (
            i
            for i, word in enumerate(words[:-1])
            if word.text in {"docker", "podman", "nerdctl"} and words[i + 1].text in ("run", "exec")
        ),
        None,
    )
    runs = docker is not None and words[docker + 1].text == "run"
    if program is None and depth < _DEEPEST:
        inner = _inside(text, words, knowledge, depth)
        if inner is not None:
            return _with_outer(inner, text, words, docker, runs)
    first = program + 1 if program is not None else _after_image(words, docker if runs else None)
    last = _end(text, words, first, knowledge)
    flags, model = _flags(words[first:last], knowledge, dialect)
    end = words[last - 1].end if last else 0
    start = words[docker + 1].end if docker is not None else _start(text, words, program or 0)
    return Parsed(
        tuple(flags),
        tuple(_variables(text, words[:first])),
        tuple(_docker_options(words[docker : _image_at(words, docker)])) if docker is not None and runs else (),
        model,
        program is not None or runs,
        runs,
        start,
        end,
        Place(end, "shell", _gap(text, flags, words, first, end)),
        _variable_place(words, program, docker, start),
        dialect,
    )


def _variable_place(words: Sequence[Word], program: int | None, docker: int | None, start: int) -> Place:
    """docker takes `-e A=1`; behind a lone `--` (kubectl exec, ray job submit) only `env` can set a variable."""
    if docker is not None:
        return Place(start, "shell", " -e ")
    dashes = next((i for i in range(program or 0) if words[i].text == "--"), None)
    if dashes is not None:
        return Place(words[dashes + 1].start, "shell", "env ", " ")
    return Place(start, "shell", "", " ")


def _gap(text: str, flags: Sequence[Given], words: Sequence[Word], first: int, end: int) -> str:
    """What stands before a new flag: a blank, or the line break and indent that the operator's last flag has."""
    if not flags or (flags[-1].value_word or flags[-1].word).end != end:
        return " "
    at = flags[-1].word.start
    before = max((word.end for word in words[max(0, first - 1) :] if word.end <= at), default=at)
    gap = text[before:at]
    return gap if "\n" in gap and not gap.replace("\\", "").strip() else " "


def _inside(text: str, words: Sequence[Word], knowledge: Knowledge, depth: int) -> Parsed | None:
    """The command in the quotes of `sh -c "…"`, `ssh host '…'`, `tmux new -d '…'`."""
    for word in words:
        if any(blank in word.text for blank in " \n\t") and _INNER.search(word.text):
            piece = _piece(text, word)
            if piece is not None:
                found = parse(piece.text, knowledge, depth + 1)
                if found.is_server:
                    return outer(found, piece)
    return None


def _piece(text: str, word: Word) -> Piece | None:
    first, last = text[word.start], text[word.end - 1]
    if first != last or first not in "\"'" or word.end - word.start < 2:
        return None
    if first == "'":
        return (
            plain(text, word.start + 1, word.end - 1, "shell-single")
            if "'" not in text[word.start + 1 : word.end - 1]
            else None
        )
    piece = double_quoted(text, word.start + 1, word.end - 1, "shell-double")
    return piece if piece.text == word.text else None


def _with_outer(inner: Parsed, text: str, words: Sequence[Word], docker: int | None, runs: bool) -> Parsed:
    """What stands around the quotes counts as well: variables and docker's options."""
    before = [word for word in words if word.end <= inner.end and not _INNER.search(word.text)]
    if docker is None:
        return inner.but(variables=(*_variables(text, before), *inner.variables))  # type: ignore[no-any-return]
    at = words[docker + 1].end
    options = tuple(_docker_options(words[docker : _image_at(words, docker)])) if runs else ()
    return inner.but(  # type: ignore[no-any-return]
        variables=(*_variables(text, before), *inner.variables), docker=options, is_docker=runs, start=at,
        variable_place=Place(at, "shell", " -e "),
    )  # fmt: skip


def program_of(words: Sequence[Word]) -> tuple[int | None, str]:
    """Where the program stands whose flags these are, and the wrapper that it is."""
    for index, word in enumerate(words):
        if _starts_server(words, index):
            return index, ""
        if index and word.text == "launch" and words[index - 1].text.endswith("xinference"):
            return index, "xinference"
        if index and word.text in _SWIFT and words[index - 1].text.rsplit("/", 1)[-1] in ("swift", "swift.cli.main"):
            return (index, "swift") if _mentions_vllm(words[index:]) else (None, "")
        if (
            index
            and words[index - 1].text.rsplit("/", 1)[-1] == "llamafactory-cli"
            and word.text in ("api", "chat", "webchat")
        ):
            return index, "llamafactory"
    return None, ""


def _mentions_vllm(words: Sequence[Word]) -> bool:
    return any("vllm" in word.text for word in words)


def _starts_server(words: Sequence[Word], index: int) -> bool:
    word = words[index].text
    if word == "serve":
        return index > 0 and words[index - 1].text.rsplit("/", 1)[-1] == "vllm"
    return word in _SERVERS or word.endswith("api_server.py")


def _end(text: str, words: Sequence[Word], first: int, knowledge: Knowledge) -> int:
    """How many of the words belong to the command: a redirection, a pipe or another command may follow."""
    for index in range(max(first, 1), len(words)):
        before = words[index - 1]
        gap = _between(text, words, index)
        if any(mark in gap for mark in ";|&<>"):
            return index - 1 if before.text.isdecimal() and gap[:1] in ("<", ">") else index
        begins = index > first and "\n" in gap and not words[index].text.startswith(("-", "{", "["))
        if begins and not _waits(before.text, knowledge):
            return index
    return len(words)


def _waits(text: str, knowledge: Knowledge) -> bool:
    """Whether this word is a flag whose value may stand on the next line."""
    if not text.startswith("-") or "=" in text:
        return False
    name = canonical(text, knowledge)
    return knowledge.item("flag", name) is not None and not _is_switch(name, knowledge)


def _is_switch(name: str, knowledge: Knowledge) -> bool:
    switches = knowledge.section("switches")
    return name in switches or (name.startswith("--no-") and f"--{name[5:]}" in switches)


def _start(text: str, words: Sequence[Word], program: int) -> int:
    """Where a variable is set for the program alone: behind other commands, a prompt, and `sudo`, which drops it."""
    first = program
    while first and not any(mark in _between(text, words, first) for mark in ";|&(\n"):
        first -= 1
    if any(word.text == "sudo" for word in words[first:program]):
        return words[program - 1 if words[program].text == "serve" else max(first, program - 2)].start
    while first < program and words[first].text in {"$", "#", "%", "+", "export", "exec"}:
        first += 1
    if first and words[first - 1].text == "exec":
        first -= 1  # `A=1 exec vllm` sets it too; `exec A=1 vllm` does not
    return words[first].start if words else 0


def _between(text: str, words: Sequence[Word], index: int) -> str:
    """What separates a word from the one before, without comments and continued line ends."""
    gap = text[words[index - 1].end : words[index].start]
    return _COMMENT.sub("", gap).replace("\\\n", "").replace("\\\r\n", "")


def words_of(text: str) -> list[Word]:
    out: list[Word] = []
    skipped = -1  # end of a comment
    for match in _SHELL_WORD.finditer(text):
        raw, start = match.group(), match.start()
        if start < skipped or raw == "\\\n":
            continue
        if raw[0] == "#" and _is_comment(text, start):
            end = text.find("\n", start)
            skipped = end if end >= 0 else len(text)
            continue
        out.append(Word(_unquoted(raw), start, match.end()))
    return out


def _is_comment(text: str, at: int) -> bool:
    """Whether a `#` begins a comment rather than stand for the prompt of root."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    end = text.find("\n", at)
    rest = text[at + 1 : end if end >= 0 else len(text)].lstrip()
    return bool(line.strip()) or rest.startswith("-") or (bool(line) and "vllm" not in rest)


def _unquoted(word: str) -> str:
    if not any(mark in word for mark in "\"'\\"):
        return word
    parts = _QUOTED.findall(word)
    return "".join(
        single or _ESCAPED.sub(r"\1", double) or ("" if line else escaped or plain)
        for single, double, line, escaped, plain in parts
    )


def _image_at(words: Sequence[Word], docker: int) -> int:
    index = docker + 2
    while index < len(words) and words[index].text.startswith("-"):
        index += 2 if words[index].text in _DOCKER_VALUED else 1
    return index


def _after_image(words: Sequence[Word], docker: int | None) -> int:
    """Where the server's own flags begin in `docker run … IMAGE …`, or where any flags begin."""
    if docker is None:
        return next(
            (i for i, word in enumerate(words) if word.text.startswith("-") or not _ASSIGNMENT.fullmatch(word.text)),
            len(words),
        )
    return min(_image_at(words, docker) + 1, len(words))


def _flags(words: Sequence[Word], knowledge: Knowledge, dialect: str) -> tuple[list[Given], str | None]:
    """Flags with their values; the first word that is neither is the model."""
    found, rest = flags_of(words, knowledge, dialect)
    model = next((word.text for word in rest if not word.text.startswith("\\")), None) if not dialect else None
    named = next((given.value for given in found if given.name == "--model"), None)
    return found, named or model


def flags_of(words: Sequence[Word], knowledge: Knowledge, dialect: str = "") -> tuple[list[Given], list[Word]]:
    """Flags with their values, and the words that are neither."""
    found: list[Given] = []
    rest: list[Word] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.text.startswith("-") or word.text == "-" or word.text[1:2].isdigit():
            given = _assigned(word, dialect, knowledge)
            found += [given] if given else []
            rest.append(word)
            continue
        head, equals, tail = word.text.partition("=")
        name = _named(head, dialect, knowledge)
        takes = bool(dialect) or not name or not _is_switch(name, knowledge)
        if equals:
            given = Given(name or "", tail, word, word)
        elif index < len(words) and is_value(words[index].text) and takes:
            given = Given(name or "", words[index].text, word, words[index])
            index += 1
        else:
            given = Given(name or "", None, word, None)
        found += [given] if name else []
    return found, rest


def _named(own: str, dialect: str, knowledge: Knowledge) -> str | None:
    return wrapped(own, dialect, knowledge.section("flag-names")) if dialect else canonical(own, knowledge)


def _assigned(word: Word, dialect: str, knowledge: Knowledge) -> Given | None:
    """LLaMA-Factory takes `vllm_maxlen=4096` as well."""
    head, equals, tail = word.text.partition("=")
    name = _named(head, dialect, knowledge) if dialect == "llamafactory" and equals and head.isidentifier() else None
    return Given(name, tail, word, word) if name else None


def is_value(text: str) -> bool:
    return not text.startswith("-") or text[1:2].isdigit()


def _variables(text: str, words: Sequence[Word]) -> Iterator[Given]:
    for index, word in enumerate(words):
        head = _ENV_OPTION.match(word.text)
        if head and text.startswith(head.group(), word.start):
            word = Word(word.text[head.end() :], word.start + head.end(), word.end)
        match = _ASSIGNMENT.fullmatch(word.text)
        if match and (
            head
            or index == 0
            or not words[index - 1].text.startswith("-")
            or words[index - 1].text in {"-e", "--env", "--"}
        ):
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

"""Tells the form of a command from its content, and finds one among an operator's words or in a file."""

from __future__ import annotations

from engine.lazy import MULTILINE, regex
from engine.model import Value
from engine.observe.command import SETTINGS
from engine.observe.command.parts import LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engine.knowledge.store import Knowledge
    from engine.observe.command.parts import Parsed

_TOP_KEYS = (
    r"(?:apiVersion|kind|services|containers|spec|metadata|image|command|args|entrypoint|environment|env|vllmConfig|modelSpec|"
    r"servingEngineSpec|engine_kwargs|llm_configs|applications|infer_backend|predictor|leaderWorkerTemplate|template|model|model_name_or_path|"
    r"vllm_maxlen|repository|tag|extraArgs|"
)
_YAML = regex(r"^[ \t]*(?:- )?[\"']?" + _TOP_KEYS + r"[\w.-]*[-_][\w-]+)[\"']?[ \t]*:(?:[ \t]|\r?$)", MULTILINE)
_YAML_ROW = regex(
    r"[ \t]*(?:-(?:[ \t]|$)|#|\}|\]|[\"']?[\w./ -]{1,80}[\"']?[ \t]*:(?:[ \t]|\r?$)|---|\.\.\.|\r?$|\{\{)"
)
_MANIFEST = ("apiVersion:", "services:", "containers:", "image:", "args:", "command:", "vllmConfig:", "engine_kwargs:",
             "infer_backend:", '"apiVersion"', '"containers"', '"image"')  # fmt: skip
_CALL_HINTS = ("LLM(", "EngineArgs(")
_SHELL = regex(
    r"^[ \t]*(?:[$#+%>] ?)?(?:(?:sudo|nohup|env|export|exec|time)[ \t]+)*(?:[A-Za-z_][A-Za-z0-9_]*=\S+[ \t]+)*"
    r"(?:[\w./~-]*vllm[ \t]+serve(?=\s|$)|"
    r"[\w./~-]*python[\d.]*[ \t]+-m[ \t]+vllm\.entrypoints|(?:docker|podman|nerdctl)[ \t]+run\b|"
    r"xinference[ \t]+launch|swift[ \t]+(?:deploy|infer|rollout)\b|llamafactory-cli[ \t]+(?:api|chat|webchat)\b|"
    r"(?:ray[ \t]+job|kubectl[ \t]+exec|srun|ssh|tmux)\b[^\n]{0,400}(?:vllm[ \t]+serve|vllm\.entrypoints))",
    MULTILINE,
)
_WRAPPER = regex(
    r"\s*(?:[$#] ?)?(?:[A-Za-z_][A-Za-z0-9_]*=\S+ +)*"
    r"(?:xinference +launch|swift +(?:deploy|infer|rollout)|llamafactory-cli +(?:api|chat|webchat))\b"
)
_SETTING = regex(r"\s*(?:export |set |source |\. |cd |ulimit |ray start|#[^!]|[A-Za-z_]\w*=\S*\s*$|$)")
_LOG_ROW = regex(r"^(?:\([\w .=:-]+\) )?(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d|^Traceback|^\S+ +\| ", MULTILINE)


class Found(Value):
    """A command in a text: its words and, for the rest, the text with blank lines in its place."""

    command: str
    rest: str
    line: int


def form(text: str) -> str:
    """`unit`, `python`, `manifest` or `shell`."""
    if "ExecStart=" in text:
        return "unit"
    if any(hint in text for hint in _CALL_HINTS) and not _is_yaml(text):
        return "python"
    return "manifest" if _is_yaml(text) else "shell"


def _is_yaml(text: str) -> bool:
    head = text.lstrip("\ufeff \t\r\n")
    if head.startswith(("{", "[")):
        return '"' in head and any(name in head for name in _MANIFEST[-3:])
    match = _YAML.search(text)
    if match is None:
        return False
    before = text[: match.start()]
    return all(_YAML_ROW.match(row) for row in before.split("\n")[:50]) and (head[0] == "#" or not _SHELL.match(head))


def parse(text: str, knowledge: Knowledge) -> Parsed:
    """`text` taken apart in its form; as a shell's line where that finds nothing."""
    kind = form(text[:LONGEST])
    if kind == "manifest":
        from engine.observe.command import manifest  # noqa: PLC0415

        found = manifest.parse(text, knowledge)
    elif kind == "python":
        from engine.observe.command import python  # noqa: PLC0415

        found = python.parse(text, knowledge)
    elif kind == "unit":
        from engine.observe.command import unit  # noqa: PLC0415

        found = unit.parse(text, knowledge)
    if kind != "shell" and found.is_server:
        return found
    from engine.observe.command import shell  # noqa: PLC0415

    return shell.parse(text, knowledge)


def in_text(text: str) -> Found | None:
    """A manifest, a unit, Python code or a wrapper's command that was pasted among words; None when there is none."""
    if len(text) > LONGEST:
        return None
    rows = text.split("\n")
    if len(rows) == 1:
        return _in_sentence(text)
    span = _fenced(rows) or _rows_of_yaml(rows) or _rows_of_code(rows) or _rows_of_shell(rows)
    if span is None:
        return None
    first, last = span
    command = "\n".join(rows[first:last])
    if first and rows[first - 1].lstrip().startswith('File "'):
        return Found(command, text, first + 1)  # a line of a traceback
    rest = "\n".join(["" if first <= number < last else row for number, row in enumerate(rows)])
    return Found(command, rest, first + 1)


def _in_sentence(text: str) -> Found | None:
    """One line: a call of Python stays part of the sentence around it, a wrapper's command is the whole."""
    if _WRAPPER.match(text) and " --" in text:
        return Found(text.strip(), "", 1)
    if not any(hint in text for hint in _CALL_HINTS):
        return None
    from engine.observe.command import python  # noqa: PLC0415

    start, end = next(((start, end) for start, end in python.calls(text) if "=" in text[start:end]), (0, 0))
    return Found(text[start:end], text, 1) if end else None


def _rows_of_shell(rows: list[str]) -> tuple[int, int] | None:
    """A command over several rows, or a wrapper's; what stands in one row may be a sentence, and others tell that."""
    first = next(
        (i for i, row in enumerate(rows) if _WRAPPER.match(row) or (row.rstrip().endswith("\\") and _SHELL.match(row))),
        None,
    )
    if first is None:
        return None
    last = first + 1
    while last < len(rows) and (rows[last - 1].rstrip().endswith("\\") or rows[last].lstrip().startswith("--")):
        last += 1
    while first and rows[first - 1].lstrip().startswith("export "):
        first -= 1
    return first, last


def _fenced(rows: list[str]) -> tuple[int, int] | None:
    marks = [number for number, row in enumerate(rows) if row.lstrip().startswith("```")]
    for first, last in zip(marks[::2], [*marks[1::2], len(rows)], strict=False):
        inside = "\n".join(rows[first + 1 : last])
        if form(inside) != "shell" or _SHELL.search(inside):
            return first + 1, last
    return None


def _rows_of_yaml(rows: list[str]) -> tuple[int, int] | None:
    first = next((i for i, row in enumerate(rows) if _YAML.match(row) and not row.startswith((" ", "\t"))), None)
    if first is None:
        first = next((i for i, row in enumerate(rows) if _YAML.match(row)), None)
    if first is None:
        return None
    indent = len(rows[first]) - len(rows[first].lstrip())
    last = first
    while last < len(rows) and (_YAML_ROW.match(rows[last]) or len(rows[last]) - len(rows[last].lstrip()) > indent):
        last += 1
    while first and rows[first - 1].startswith("#"):
        first -= 1
    block = "\n".join(rows[first:last])
    named = any(hint in block for hint in (*_MANIFEST, *SETTINGS)) and not _LOG_ROW.search(block)
    return (first, last) if last - first > 1 and named else None


def _rows_of_code(rows: list[str]) -> tuple[int, int] | None:
    """From the first line of code to the last that an engine's call needs."""
    at = next((i for i, row in enumerate(rows) if any(hint in row for hint in (*_CALL_HINTS, "ExecStart="))), None)
    if at is None:
        return None
    first = at
    while first and _is_code(rows[first - 1]):
        first -= 1
    while first < at and not rows[first].strip():
        first += 1
    last, depth = at, 0
    while last < len(rows):
        depth += sum(rows[last].count(mark) for mark in "([{") - sum(rows[last].count(mark) for mark in ")]}")
        last += 1
        if (
            depth <= 0
            and (last == len(rows) or not _is_code(rows[last]) or not rows[last].strip())
            and not rows[last - 1].endswith("\\")
        ):
            break
    return first, last


_CODE = regex(
    r"\s*(?:from \w|import \w|#|@|def |class |if |for |with |print\(|os\.|\[(?:Unit|Service|Install)\]|"
    r"[A-Z][A-Za-z]+=|[\w.\[\]\"']+ ?=[^=]|[\w.]+\(|[)\]}]|$)"
)


def _is_code(row: str) -> bool:
    return bool(_CODE.match(row))


def in_file(text: str, knowledge: Knowledge) -> Found | None:
    """The command that a file is, or that stands in a file's first lines; None when there is none."""
    text = text[:LONGEST]
    kind = form(text) if not _LOG_ROW.search(text) else "log"
    if kind in ("manifest", "python", "unit"):
        found = parse(text, knowledge)
        return Found(text, "", 1) if found.is_server and found.form != "shell" else None
    match = _SHELL.search(text)
    if match is None:
        return None
    if text.startswith("#!"):
        return Found(text, "", 1)
    return _of_rows(text, match.start())


def _of_rows(text: str, at: int) -> Found:
    """The command that begins there, over its continued rows and with the settings before it."""
    rows = text.split("\n")
    first = last = text.count("\n", 0, at)
    while first and _SETTING.match(rows[first - 1]):
        first -= 1
    last += 1
    while last < len(rows) and (rows[last - 1].rstrip().endswith("\\") or rows[last].lstrip().startswith("--")):
        last += 1
    rest = "\n".join([*rows[:first], *rows[last:]])
    return Found("\n".join(rows[first:last]), text if rest.strip() else "", first + 1)

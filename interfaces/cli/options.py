"""The options of `kb query`, read with argparse; options that are spelled out need no parser, which loads for long.

Everything that is no option is text, wherever it stands, and so is a flag of vLLM: an operator who types
`kb query unrecognized arguments: --swap-space 4` is quoting an error.
"""

from __future__ import annotations

from engine.errors import UsageError
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from interfaces.cli.parser import Parser

FORMATS = ("text", "markdown", "json")
LANGUAGES = ("auto", "en", "zh")


class Asked(Value):
    """What the command line of `kb query` says. `reads`: standard input belongs to the case."""

    words: tuple[str, ...] = ()
    reads: bool = False
    logs: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    command: str | None = None
    context: str | None = None
    facts: tuple[str, ...] = ()
    lang: Literal["auto", "en", "zh"] = "auto"
    explain: bool = False
    format: str = "text"
    llm: bool = False
    help: str = ""

    def gives_something(self) -> bool:
        """Whether a part of the case is given, so that a pipe that nobody named need not be read."""
        stated = self.command is not None or self.context is not None
        return bool(self.words or self.reads or self.logs or self.metrics or stated or self.facts)


def parse(arguments: Sequence[str], is_vllm_flag: Callable[[str], bool]) -> Asked:
    """Raises UsageError for an option that neither kb nor vLLM has, or one that lacks its value."""
    if not any(word.startswith("-") and word != "-" for word in arguments):
        return _with_words(arguments, ())
    spelled_out = _spelled_out(arguments)
    if spelled_out is not None:
        return spelled_out
    options, literal = _split(arguments)
    parser = _parser()
    found, rest = parser.parse_known_args(options)
    if found.help:
        return Asked(help=parser.format_help())
    for word in rest:
        _admit(word, parser, is_vllm_flag)
    named: dict[str, Any] = {**vars(found), "help": ""}
    logs = tuple(path for path in found.logs if path != "-")
    named |= {"logs": logs, "metrics": tuple(found.metrics), "facts": tuple(found.facts)}
    return _with_words(rest, literal, reads=len(logs) < len(found.logs), **named)


_MANY = {"--log": "logs", "--metrics": "metrics", "--fact": "facts"}
_ONE = {"--command": "command", "--context": "context", "--lang": "lang", "--format": "format"}
_CHOICES = {"--lang": LANGUAGES, "--format": FORMATS}


def _spelled_out(arguments: Sequence[str]) -> Asked | None:
    """What argparse would read, where every option stands in full before a value that cannot be an option; None where
    anything is abbreviated, joined, wrong or text that begins with a dash."""
    words: list[str] = []
    named: dict[str, Any] = {}
    rest = iter(arguments)
    for word in rest:
        if word in ("--json", "--explain"):
            named |= {"format": "json"} if word == "--json" else {"explain": True}
        elif word in _MANY or word in _ONE:
            value = next(rest, "-")
            if value.startswith("-") or value not in _CHOICES.get(word, (value,)):
                return None
            if word in _ONE:
                named[_ONE[word]] = value
            else:
                named[_MANY[word]] = (*named.get(_MANY[word], ()), value)
        elif word.startswith("-") and word != "-":
            return None
        else:
            words.append(word)
    return _with_words(words, (), **named)


def _with_words(words: Sequence[str], literal: Sequence[str], reads: bool = False, **named: Any) -> Asked:
    """A `-` before or behind the words stands for standard input; within them, or after `--`, for itself."""
    if words and words[0] == "-":
        words, reads = words[1:], True
    elif words and words[-1] == "-" and not literal:
        words, reads = words[:-1], True
    return Asked((*words, *literal), reads, **named)


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Arguments before and after the first `--`; what follows it is text."""
    if "--" not in arguments:
        return list(arguments), []
    cut = list(arguments).index("--")
    return list(arguments[:cut]), list(arguments[cut + 1 :])


def _admit(word: str, parser: Parser, is_vllm_flag: Callable[[str], bool]) -> None:
    """Lets text pass, and refuses what looks like an option and is none."""
    name = word.partition("=")[0]
    if not word.startswith("-") or not word.lstrip("-")[:1].isalpha() or " " in word or is_vllm_flag(name):
        return
    from engine.observe.spelling import closest  # noqa: PLC0415 - on the way out

    near = closest(name, parser.option_names())
    meant = f"Did you mean '{near}'?" if near else "kb query --help lists the options."
    raise UsageError(f"there is no option '{name}'. {meant}", "Where it is part of your text, put -- before the text.")


def _parser() -> Parser:
    from interfaces.cli.parser import Parser  # noqa: PLC0415 - argparse, for those who give options

    parser = Parser(
        "query",
        usage="kb query [TEXT ...] [options]   or   kb query -   (text and logs from standard input)",
        description="Answers with causes in order, the evidence for each, the checks that tell them apart, the fix.",
        epilog="Exit code: 0 answered or healthy, 1 more is needed or unknown, 2 wrong usage or unreadable input.",
    )
    add = parser.add_argument
    add(
        "--log",
        dest="logs",
        action="append",
        default=[],
        metavar="FILE",
        help="a log, a scrape, an output; may be given again",
    )
    add(
        "--metrics",
        action="append",
        default=[],
        metavar="FILE|URL",
        help="a scrape of /metrics, a file or its address; an address given twice is read again 5 s later",
    )
    add("--command", metavar='"vllm serve ..."', help="the command that starts the server")
    add(
        "--context",
        metavar="FILE",
        help="YAML or JSON: vllm_version, torch, driver, gpu, gpu_count, model, args, env, metrics",
    )
    add(
        "--fact",
        dest="facts",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one fact, such as args.max-num-seqs=64",
    )
    add("--lang", choices=LANGUAGES, default="auto", help="language of the answer; auto follows your words")
    add("--explain", action="store_true", help="add how the answer was concluded")
    add("--format", choices=FORMATS, default="text", help="how the answer looks")
    add("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    add("--llm", action="store_true", help="have a language model word the answer (not in this version)")
    return parser

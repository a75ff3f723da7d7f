"""Puts the operator's own values into the texts and commands of the knowledge base: `{log.estimated_max_model_len}`.

A value that is not known becomes the name of the fact in angle brackets. In a command, so does a value that a shell
would read as more than one plain word: values come out of logs, and a command is there to be pasted.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Label = Callable[[str], str | None]

_PLAIN = "_@%+=:,./-"


def fill(text: str, values: Mapping[str, str], label: Label, in_command: bool = False) -> str:
    """`text` with each `{fact}` replaced. `label` gives the words for a fact, None for braces that name no fact, which
    then stay as they are (`{print $1}`, `{{.State}}`)."""
    if "{" not in text:
        return text
    return "".join(_pieces(text, values, label, in_command))


def _pieces(text: str, values: Mapping[str, str], label: Label, in_command: bool) -> Iterator[str]:
    while text:
        before, brace, rest = text.partition("{")
        yield before
        if not brace:
            return
        name, closed, after = rest.partition("}")
        words = label(name) if closed else None
        if words is None:
            yield "{"
            text = rest
            continue
        value = values.get(name)
        yield f"<{words}>" if value is None or (in_command and not is_plain_word(value)) else value
        text = after


def is_plain_word(value: str) -> bool:
    """Whether a shell takes `value` for one word, and no program takes it for an option."""
    option = value.startswith("-") and not value[1:2].isdigit()
    return bool(value) and not option and all(character.isalnum() or character in _PLAIN for character in value)

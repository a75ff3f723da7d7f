"""One change -> the characters of the operator's text that it replaces, whatever the form of that text."""

from __future__ import annotations

from engine.advise import written
from engine.lazy import regex
from engine.observe.command.dialects import own_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engine.model import Change
    from engine.observe.command.parts import Given, Parsed, Place

    Edit = tuple[int, int, str]  # from, to, and what stands there afterwards

_UNKNOWN = regex(r"half|double|[+-]\d.*|.*\{[a-z]+\.[a-z0-9_.-]+\}.*|(?![\[{]).*\s.*|")  # not computed, or prose
_ENV_OPTION = regex(r"(?:--env(?:=|\s+)|-e\s*)$")
_OFF = ("false", "0")


def edits(text: str, parsed: Parsed, change: Change, switch: bool) -> list[Edit]:
    """What one change does to the text; nothing when it does not apply to this command."""
    if change.after is not None and _UNKNOWN.fullmatch(change.after):
        return []  # the text of the fix says what to do
    if change.kind == "env":
        return _variable(text, parsed, change, [one for one in parsed.variables if one.name == change.name])
    if change.kind != "flag" or not change.name.startswith("-"):
        return []
    given = [one for one in parsed.flags if one.name == change.name]
    opposite = [one for one in parsed.flags if one.name == f"--no-{change.name[2:]}"] if switch else []
    if change.after is None:
        return _known(_removed_flag(text, one) for one in given)
    if switch and change.after in ("true", "false") and not _valued(parsed, [*given, *opposite], change.name):
        return _switch(text, parsed, change, opposite, given)
    if not given:
        return _added_flag(parsed, change.name, change.after)
    found = [given[-1]] if parsed.form != "manifest" else list({one.word.start: one for one in given}.values())
    return _known(_replaced(text, one, change.name, change.after) for one in found)


def _known(found: object) -> list[Edit]:
    return [one for one in found if one is not None]  # type: ignore[attr-defined]


def _way(one: Given | Place) -> str:
    return one.quote.rpartition(">")[2]


def _valued(parsed: Parsed, given: list[Given], name: str) -> bool:
    """Whether a switch is written with a value here: a key, a keyword, a wrapper's option."""
    if given:
        return _way(given[-1]).startswith(("entry", "python")) or (
            bool(parsed.dialect) and given[-1].value_word is not None
        )
    place = parsed.flag_place
    if parsed.other_place is not None and own_name(name, parsed.dialect) is None:
        return False
    return place is not None and (_way(place).startswith(("entry", "python")) or bool(parsed.dialect))


def _switch(text: str, parsed: Parsed, change: Change, opposite: list[Given], given: list[Given]) -> list[Edit]:
    """A switch is turned on by its name and off by the name with `no-`."""
    wanted = change.name if change.after == "true" else f"--no-{change.name[2:]}"
    wrong = opposite if change.after == "true" else given
    off = [one for one in given if str(one.value).lower() in _OFF] if change.after == "true" else []
    if wrong or off:
        return _known(_word(one, wanted, one.word.start, (one.value_word or one.word).end) for one in (*wrong, *off))
    if given if change.after == "true" else opposite:
        return []  # it is so already
    return _added_flag(parsed, wanted, None)


def _word(one: Given, value: str, start: int, end: int) -> Edit | None:
    """`value` as one word between these places."""
    way = _way(one)
    shown = (
        written.scalar(value, way[4:], way[4:] in ('"', "'"))
        if way.startswith("item")
        else written.within(value, one.quote)
    )
    return None if shown is None else (start, end, shown)


def _replaced(text: str, one: Given, name: str, after: str) -> Edit | None:
    """The value where it stands; a flag without one gets it."""
    way, place = _way(one), one.value_word
    if way == "shell":
        return _replaced_word(text, one, after)
    if place is None:
        return None
    if way.startswith("item"):
        head = one.word.text.partition("=")[0]
        return _word(one, f"{head}={after}" if place.start == one.word.start else after, place.start, place.end)
    if way == "python":
        return place.start, place.end, written.literal(after, text[place.start : place.end])
    if way == "python-text":
        return place.start, place.end, written.text_literal(after, text[place.start : place.end])
    if way.startswith("assign"):
        return place.start, place.end, written.scalar(f"{name}={after}", way[6:])
    return place.start, place.end, _entry_value(after, way, text[place.start : place.end])


def _entry_value(after: str, way: str, before: str = "") -> str:
    is_text = way.startswith("entry-text") or way == "pair"
    style = way.removeprefix("entry-text").removeprefix("entry")
    if not is_text and after[:1] in "{[" and (before[:1] in "{[" or not before):
        return after
    return written.scalar(after, style if style in ("'", '"') else "", is_text)


def _replaced_word(text: str, one: Given, after: str) -> Edit | None:
    value = written.word(after)
    if one.value_word is None:
        return _shell(one, f" {value}", one.word.end, one.word.end)
    if one.value_word.start == one.word.start:
        head = text[one.word.start : one.word.end].partition("=")[0].strip("'\"\\")
        return _shell(one, f"{head}={value}", one.word.start, one.word.end)
    return _shell(one, value, one.value_word.start, one.value_word.end)


def _shell(one: Given | Place, words: str, start: int, end: int) -> Edit | None:
    shown = written.within(words, one.quote)
    return None if shown is None else (start, end, shown)


def _added_flag(parsed: Parsed, name: str, value: str | None) -> list[Edit]:
    """A flag that was not given, where another one can stand; `value` None for a switch."""
    place = parsed.flag_place
    own = own_name(name, parsed.dialect) if parsed.dialect else name
    if parsed.dialect and own is None:
        place = parsed.other_place
        own = name
    if place is None or own is None:
        return []
    way = _way(place)
    if way == "shell":
        shown = own if own.startswith("-") else f"--{own}"
        return _known(
            [
                _shell(
                    place,
                    f"{place.lead}{shown}{'' if value is None else ' ' + written.word(value)}{place.tail}",
                    place.at,
                    place.at,
                )
            ]
        )
    if way.startswith("item"):
        return [(place.at, place.at, _items(place, own if own.startswith("-") else f"--{own}", value, way[4:]))]
    if way == "python":
        return [
            (
                place.at,
                place.at,
                f"{place.lead}{written.key(name, '')}={written.literal(value or 'True', '')}{place.tail}",
            )
        ]
    key = written.key(own, place.spelling)
    return [(place.at, place.at, f"{place.lead}{key}: {_entry_value(value or 'true', way)}{place.tail}")]


def _items(place: Place, name: str, value: str | None, style: str) -> str:
    """One or two items of a list, as the operator's others are."""
    words = [name] if value is None else [f"{name}={value}"] if place.joined else [name, value]
    shown = [written.scalar(one, style, is_text=True) for one in words]
    between = "" if place.lead.startswith((",", "\n")) else ", "
    return place.lead + (between + place.lead).join(shown) + place.tail


def _variable(text: str, parsed: Parsed, change: Change, given: list[Given]) -> list[Edit]:
    if change.after is None:
        return _known(_removed_variable(text, one) for one in given)
    if given:
        found = [given[-1]] if parsed.form != "manifest" else given
        return _known(_assigned(text, one, change.name, change.after) for one in found)
    places = [one for one in (parsed.variable_place, *parsed.more_places) if one is not None]
    return _known(_added_variable(place, change.name, change.after) for place in places)


def _assigned(text: str, one: Given, name: str, after: str) -> Edit | None:
    if _way(one) == "shell":
        return _shell(one, f"{name}={written.word(after)}", one.word.start, one.word.end)
    return _replaced(text, one, name, after)


def _added_variable(place: Place, name: str, value: str) -> Edit | None:
    way = _way(place)
    if way == "shell":
        return _shell(place, f"{place.lead}{name}={written.word(value)}{place.tail}", place.at, place.at)
    if way == "python-environ":
        shown = f'os.environ["{name}"] = {written.text_literal(value, "")}'
    elif way.startswith("assign"):
        shown = written.scalar(f"{name}={value}", way[6:])
    elif way == "pair":
        indent = len(place.lead) - place.lead.rfind("\n") - 1
        pair = f"name: {name}", f"value: {written.scalar(value, chr(34))}"
        shown = f"\n{' ' * indent}".join(pair) if "\n" in place.lead else "{" + ", ".join(pair) + "}"
    else:
        shown = f"{name}: {_entry_value(value, 'entry-text')}"
    return place.at, place.at, f"{place.lead}{shown}{place.tail}"


def _removed_flag(text: str, one: Given) -> Edit | None:
    if _way(one) == "shell":
        return _removed(text, one.word.start, (one.value_word or one.word).end)
    return (*one.extent, "") if one.extent else None


def _removed_variable(text: str, one: Given) -> Edit | None:
    if one.extent:
        return (*one.extent, "")
    return _without_variable(text, one) if _way(one) == "shell" else None


def _without_variable(text: str, given: Given) -> Edit:
    option = _ENV_OPTION.search(text[: given.word.start])
    start, end = option.start() if option else given.word.start, given.word.end
    if text[:start].strip():
        return _removed(text, start, end)
    rest = text[end:].lstrip(" ").removeprefix("\\\n")  # the first word of all: the blank after it goes
    return start, len(text) - len(rest.lstrip(" ")), ""


def _removed(text: str, start: int, end: int) -> Edit:
    """The words from `start` to `end` and the blank before them go, a line that only continues to them included."""
    if text[:start].endswith("="):  # `Environment=A=1 B=2`
        return start, end + len(text[end:]) - len(text[end:].lstrip(" ")), ""
    before = text[:start].rstrip()
    while before.endswith("\\") and "\n" in text[len(before) : start]:
        before = before[:-1].rstrip()
    return len(before), end, ""

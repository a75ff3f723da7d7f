"""One entry of the knowledge base as blocks: what `kb show` prints of a cause, a flag, a metric …"""

from __future__ import annotations

from engine.model import Change, Fix, RankedCause
from interfaces.render.document import Words
from interfaces.render.outline import Outline, code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import Language
    from interfaces.render.outline import Block, Part

    Entry = Mapping[str, Any]

# What is shown of an entry beside its name and meaning, in this order.
FIELDS = (
    "log", "role", "stage", "aliases", "type", "unit", "values", "seen_by", "default", "defaults", "typical", "since",
    "last", "removed", "deprecated", "replacement", "successor", "evidence_of", "torch", "torchvision", "torchaudio",
    "cuda", "python", "transformers", "v0_engine", "ray_required", "cost", "group", "area",
)  # fmt: skip
_NAMES = ("title", "text", "label")
_CHANGE_KINDS = ("flag", "env", "client", "infra", "install", "files", "upgrade")


def entry(kind: str, name: str, item: Entry, knowledge: Knowledge, lang: Language) -> Iterator[Block]:
    """The blocks of one entry. `kind`: cause, symptom, sign, question, fact, flag, variable, metric or version."""
    shown = _Entry(knowledge, lang)
    yield from shown.head(kind, name, item)
    if kind == "cause":
        yield from shown.cause(item)
        return
    yield from shown.properties(item)
    if kind == "symptom":
        yield from shown.causes_of(name)
    if kind == "question":
        yield from shown.options(item)


class _Entry(Outline):
    def __init__(self, knowledge: Knowledge, lang: Language) -> None:
        super().__init__(knowledge, lang)
        self.words = Words(knowledge, lang)

    def head(self, kind: str, name: str, item: Entry) -> Iterator[Block]:
        called = next((self.words.text(item[key]) for key in _NAMES if key in item), name)
        yield "title", 0, "", [("strong", called)]
        area = (
            f"{self.phrases[f'kind.{kind}']} · {self.area(item)}" if kind == "cause" else self.phrases[f"kind.{kind}"]
        )
        if called == name:
            yield "paragraph", 0, "", [("faint", area)]
        else:
            yield self.paragraph("identity", area=("faint", area), id=("faint", name))
        if "meaning" in item:
            yield from self.section("meaning", [("paragraph", 0, "", [("", self.words.text(item["meaning"]))])])

    def properties(self, item: Entry) -> Iterator[Block]:
        known = [(key, item[key]) for key in FIELDS if item.get(key) not in (None, [], "")]
        return self.section("properties", [self.property(key, value) for key, value in known])

    def property(self, key: str, value: Any) -> Block:
        written: Part = ("" if isinstance(value, dict) else "value", self.value(value))
        return self.item("pair", label=self.phrases[f"field.{key}"], text=written)

    def value(self, value: Any) -> str:
        if isinstance(value, bool):
            return self.phrases["value.yes" if value else "value.no"]
        if isinstance(value, dict):
            return self.words.text(value) if self.lang in value else f"{value['vllm']}: {value['value']}"
        if isinstance(value, list):
            return self.phrases["list.and"].join(map(self.value, value))
        return str(value)

    def cause(self, item: Entry) -> Iterator[Block]:
        fixes = tuple(Fix(fix["id"], tuple(map(self.change, fix.get("changes", ()))), {}) for fix in item["fixes"])
        cause = self.words.cause(RankedCause(item["id"], 0.0, "possible", (), (), fixes))
        yield from self.section("why", [("paragraph", 0, "", [("", cause["why"])])])
        signs = [condition["log"] for condition in item["evidence"] if condition.get("log")]
        yield from self.section("signs", [("item", 0, "-", [("value", sign)]) for sign in signs])
        yield from self.section("checks", self.checks(cause["checks"]))
        yield from self.section("fixes", self.fixes(cause["fixes"]))
        not_this = self.words.text(item["not_this_when"])
        yield from self.section("not-this-when", [("paragraph", 0, "", [("", not_this)])])
        yield from self.section("confused-with", map(self.other, item.get("confused_with", ())))
        yield from self.section("sources", [("item", 0, "-", [("value", source)]) for source in cause["sources"]])

    def change(self, change: Entry) -> Change:
        """A change as the file has it, its value in words where it is worked out from the operator's own."""
        kind = next(kind for kind in _CHANGE_KINDS if change.get(kind) is not None)
        to = change.get("to")
        if isinstance(to, bool):
            to = str(to).lower()
        words = None if to is None else self.phrases.get(f"amount.{to}") or self.words.command(str(to))
        return Change(kind, change[kind], None, words)

    def causes_of(self, symptom: str) -> Iterator[Block]:
        known = [(name, self.knowledge.item("cause", name) or {}) for name in self.knowledge.ids("cause")]
        shown = [name for name, item in known if _names(item.get("evidence", ()), symptom)]
        return self.section("causes", map(self.other, shown))

    def other(self, cause: str) -> Block:
        return self.item("named", cause=self.words.title("cause", cause), id=("faint", cause))

    def options(self, item: Entry) -> Iterator[Block]:
        yield from self.section(
            "options",
            self.answers(item["id"], [{**each, "text": self.words.text(each["text"])} for each in item["options"]]),
        )
        if item.get("command"):
            yield self.paragraph("run")
            yield code(0, item["command"])


def _names(conditions: Any, symptom: str) -> bool:
    """Whether a condition, at whatever depth, asks for the symptom."""
    return any(
        each.get("symptom") == symptom or any(_names(each.get(how) or (), symptom) for how in ("all", "any"))
        for each in conditions
    )

"""What a log says by itself, as plain data and as blocks: root lines first, then how far the server came."""

from __future__ import annotations

from engine.observe.roots import roots, skews, stage_of
from engine.redact import mask
from interfaces.render.document import SCHEMA_VERSION
from interfaces.render.outline import Outline, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import Language
    from engine.observe.log import Reading
    from engine.observe.roots import Root
    from interfaces.render.outline import Block

    Object = dict[str, Any]

MOST_ROOTS = 5
MOST_OTHERS = 12
MOST_STAGES = 12


def document(
    names: Sequence[str], readings: Sequence[Reading], knowledge: Knowledge, lang: Language, version: str
) -> Object:
    """All that the logs say in plain data: roots of all of them, the first in time first, then each log."""

    def words(sign: str) -> str:
        return str((knowledge.item("sign", sign) or {})["meaning"][lang])

    found = roots(readings)
    ahead = skews(readings)
    return {
        "schema_version": SCHEMA_VERSION,
        "kb": {"version": version, "hash": knowledge.hash},
        "lang": lang,
        "stage": stage_of(readings, found, knowledge),
        "roots": [_root(root, words) for root in found],
        "logs": [_log(*one, words) for one in zip(names, readings, ahead, strict=True)],
    }


def _root(root: Root, words: Callable[[str], str]) -> Object:
    title = words(root.sign) if root.sign else None
    return {
        "file": root.file, "line": root.line, "sign": root.sign or None, "title": title, "role": root.role,
        "text": mask(root.text), "process": root.process or None, "pid": root.pid or None, "node": root.node or None,
        "time": root.time or None, "stage": root.stage or None, "count": root.count,
        "traceback": {"line": root.began, "frame": root.frame} if root.began else None,
    }  # fmt: skip


def _log(name: str, reading: Reading, ahead: float, words: Callable[[str], str]) -> Object:
    version, stated = reading.version, reading.arguments
    return {
        "name": name,
        "lines": reading.lines,
        "vllm": reading.is_vllm,
        "clock_ahead": round(ahead, 3),
        "version": {"value": version[0], "line": version[1]} if version else None,
        "arguments": {"line": stated[1], "values": _masked(stated[0])} if stated else None,
        "stages": [{"line": line, "stage": stage} for line, stage in reading.milestones],
        "statistics": {name.partition(".")[2]: value for name, value, _line in reading.statistics.facts()},
        "statuses": [{"status": status, "line": line} for line, status in reading.statuses],
        "signs": [
            {
                "id": hit.sign, "title": words(hit.sign), "role": hit.role, "line": hit.line,
                "count": reading.counts.get(hit.sign, 1), "process": hit.process or None,
                "captures": {name: mask(value) for name, value in hit.captures.items()},
            }
            for hit in reading.hits
        ],
        "matches": [
            {"line": line, "sign": sign, "process": process or None}
            for line, sign, process in reading.matches
        ],
    }  # fmt: skip


def _masked(stated: Any) -> Object:
    """Engine arguments without the credentials among them: `api_key` masks itself by its name."""
    return {name: mask(f"{name}={value}").partition("=")[2] for name, value in stated.items()}


def outline(found: Object, knowledge: Knowledge) -> Iterator[Block]:
    """The blocks of the document, best first."""
    return _Log(knowledge, found["lang"]).blocks(found)


class _Log(Outline):
    def blocks(self, found: Object) -> Iterator[Block]:
        self.several = len(found["logs"]) > 1
        yield self.summary(found)
        for number, log in enumerate(found["logs"]):
            yield self.identity(number, log)
        failing = [root for root in found["roots"] if root["role"] != "aftermath"]
        yield from self.section("log-roots", self.roots(failing))
        yield from self.section("log-aftermath", self.roots([root for root in found["roots"] if root not in failing]))
        for number, log in enumerate(found["logs"]):
            yield from self.rest(number, log)

    def summary(self, found: Object) -> Block:
        stage = self.phrases[f"log.stage.{found['stage'] or 'unknown'}"]
        if not any(log["lines"] for log in found["logs"]):
            return self.title("log.empty")
        first = found["roots"][0] if found["roots"] else None
        if first is None:
            return self.title("log.fine", stage=("strong", stage))
        return self.title("log.failed", stage=stage, title=("strong", first["title"] or first["text"]))

    def identity(self, number: int, log: Object) -> Block:
        version = log["version"]
        known = (
            self.phrases["log.version"].format(version=version["value"], line=version["line"])
            if version
            else self.phrases["log.no-version"]
        )
        parts = [log["name"], self.phrases["log.lines"].format(count=f"{log['lines']:,}"), known]
        if log["clock_ahead"]:
            parts.append(self.phrases["log.clock"].format(seconds=f"{log['clock_ahead']:g}"))
        return "paragraph", 0, "", [("faint", " · ".join(parts))]

    def place(self, root: Object) -> str:
        """Where a line stands and who wrote it."""
        line = self.phrases["where.line"].format(line=root["line"])
        who = " ".join(
            filter(None, [root["process"], root["pid"] and f"pid={root['pid']}", root["node"] and f"@{root['node']}"])
        )
        where = self.phrases["where.of-input"].format(input=root["file"] + 1, place=line) if self.several else line
        return f"{where}, {who}" if who else where

    def roots(self, shown: list[Object]) -> Iterator[Block]:
        places = [(root["file"], root["line"]) for root in shown]
        for number, root in enumerate(shown[:MOST_ROOTS]):
            if places[number] not in places[:number]:
                yield self.item("seen", where=("faint", self.place(root)), text=quoted(root["text"]))
                if root["traceback"]:
                    yield self.item(
                        "log.traceback",
                        depth=1,
                        line=str(root["traceback"]["line"]),
                        frame=("value", root["traceback"]["frame"]),
                    )
                if root["count"] > 1:
                    yield self.item("log.repeats", depth=1, count=f"{root['count']:,}")
            if root["title"]:
                yield self.item("log.means", depth=1, title=root["title"], id=("faint", root["sign"]))
        if len(shown) > MOST_ROOTS:
            yield self.item("more", count=str(len(shown) - MOST_ROOTS))

    def rest(self, number: int, log: Object) -> Iterator[Block]:
        if self.several:
            yield "heading", 0, "", [("strong", f"{number + 1}. {log['name']}")]
        yield from self.section("log-stages", self.stages(log["stages"]))
        if log["arguments"]:
            yield self.heading("log-arguments")
            yield self.paragraph("log.stated", line=str(log["arguments"]["line"]))
            for name, value in log["arguments"]["values"].items():
                yield self.item("pair", label=f"--{name.replace('_', '-')}", text=("value", value))
        yield from self.section("log-statistics", self.pairs(log["statistics"]))
        others = [sign for sign in log["signs"] if sign["role"] in ("hint", "noise")]
        yield from self.section("log-others", self.others_seen(others))

    def stages(self, stages: list[Object]) -> Iterator[Block]:
        shown = stages if len(stages) <= MOST_STAGES else [*stages[: MOST_STAGES - 1], stages[-1]]
        for each in shown:
            yield self.item(
                "seen",
                where=("faint", self.phrases["where.line"].format(line=each["line"])),
                text=self.phrases[f"log.stage.{each['stage']}"],
            )

    def pairs(self, statistics: Object) -> Iterator[Block]:
        for name, value in statistics.items():
            label = (self.knowledge.item("fact", f"stats.{name}") or {}).get("label", {}).get(self.lang, name)
            text = self.phrases["value.yes"] if value is True else f"{value:g}"
            yield self.item("pair", label=label, text=("value", text))

    def others_seen(self, signs: list[Object]) -> Iterator[Block]:
        for sign in signs[:MOST_OTHERS]:
            times = self.phrases["log.times"].format(count=f"{sign['count']:,}") if sign["count"] > 1 else ""
            where = self.phrases["where.line"].format(line=sign["line"]) + times
            yield self.item("seen", where=("faint", where), text=sign["title"])
        if len(signs) > MOST_OTHERS:
            yield self.item("more", count=str(len(signs) - MOST_OTHERS))

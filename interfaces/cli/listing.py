"""`kb list`: the causes that the knowledge base holds, a line each."""

from __future__ import annotations

from engine.errors import UsageError
from engine.knowledge.store import load
from interfaces.cli import output
from interfaces.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.knowledge.store import Knowledge


def listing(arguments: list[str]) -> int:
    """Prints id, area and title of each cause: in columns on a terminal, separated by tabs elsewhere.

    Raises UsageError for an area that no cause has."""
    parser = _parser()
    if parser.helped(arguments):
        return 0
    asked = parser.parse_args(arguments)
    knowledge = load()
    rows = _rows(knowledge, "zh" if asked.lang == "zh" else "en", asked.area)
    if asked.json:
        from interfaces.render.document import json_bytes  # noqa: PLC0415

        objects = [{"id": name, "area": area, "title": title, "kind": "cause"} for name, area, title in rows]
        output.answer(json_bytes(objects))
    else:
        output.answer(_table(rows, output.width() is not None).encode())
    return 0


def _parser() -> Parser:
    parser = Parser("list", description="Lists the causes: id, area, title.")
    parser.add_argument("--area", metavar="A", help="only the causes of this area")
    parser.add_argument(
        "--lang", choices=("auto", "en", "zh"), default="auto", help="language of the titles; auto is English"
    )
    parser.add_argument("--json", action="store_true", help="a list of objects with id, area, title and kind")
    return parser


def _rows(knowledge: Knowledge, lang: str, area: str | None) -> list[tuple[str, str, str]]:
    causes = [knowledge.item("cause", name) or {} for name in knowledge.ids("cause")]
    rows = [(cause["id"], cause["area"], cause["title"][lang]) for cause in causes if area in (None, cause["area"])]
    if area is not None and not rows:
        from engine.observe.spelling import closest  # noqa: PLC0415 - on the way out

        areas = sorted({cause["area"] for cause in causes})
        near = closest(area, areas)
        hint = f"Did you mean '{near}'?" if near else f"There are {', '.join(areas)}."
        raise UsageError(f"no cause is in an area '{area}'.", hint)
    return sorted(rows, key=lambda row: (row[1], row[0]))


def _table(rows: Sequence[tuple[str, str, str]], aligned: bool) -> str:
    widths = [max((len(row[column]) for row in rows), default=0) if aligned else 0 for column in (0, 1)]
    gap = "  " if aligned else "\t"
    return "".join(f"{name:<{widths[0]}}{gap}{area:<{widths[1]}}{gap}{title}\n" for name, area, title in rows)

"""`ibstat` and `ibv_devinfo`: whether there is a fast network card, and whether its link is up."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CARD = regex(r"(?:CA '(\S{1,60})'|hca_id:\s{1,8}(\S{1,60}))")
_STATE = regex(r"\s{1,40}[Ss]tate:\s{1,12}(?:PORT_)?(\w{1,20})")
_LAYER = regex(r"\s{1,40}(?:Link layer|link_layer):\s{1,12}(\w{1,20})")
_ABSENT = ("No IB devices found", "can't get list of CAs", "ibpanic", "Failed to get IB devices list")


def parse(text: str) -> Iterator[Seen]:
    """`rdma.devices`, `rdma.link` (infiniband or ethernet) and `rdma.down` where no port is active."""
    cards, states = [], []
    layer: tuple[int, str, str] | None = None
    for line, row in rows(text):
        if any(words in row for words in _ABSENT):
            yield Seen("rdma.devices", 0, line, row)
        cards += [(line, row)] if _CARD.match(row) else []
        states += [(line, row, match[1].lower()) for match in (_STATE.match(row),) if match]
        found = _LAYER.match(row)
        if found and layer is None and found[1].lower() in ("infiniband", "ethernet"):
            layer = (line, row, found[1].lower())
    if not cards:
        return
    yield Seen("rdma.devices", len(cards), *cards[0])
    if layer:
        yield Seen("rdma.link", layer[2], layer[0], layer[1])
    if states and not any(state == "active" for _line, _row, state in states):
        yield Seen("rdma.down", True, states[0][0], states[0][1])

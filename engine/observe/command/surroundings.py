"""What a manifest says around the command: image, shared memory, GPUs, limits, probes, size of the group."""

from __future__ import annotations

from engine.lazy import IGNORECASE, regex
from engine.observe.command.parts import Stated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.knowledge.source import Node

_QUANTITY = regex(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)(i?)b?\s*", IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_GPU_KEYS = ("nvidia.com/gpu", "amd.com/gpu", "requestGPU", "gpu.intel.com/i915")
_PROBES = {"startupProbe": "startup", "livenessProbe": "liveness", "readinessProbe": "readiness"}
_CONTAINER = {"command", "args", "image", "entrypoint", "vllmConfig"}
_CACHES = ("/root/.cache", "/.cache", "/cache", "/models", "/model", "/data", "huggingface")


def gib(text: str) -> float | None:
    """A size as docker and Kubernetes write it (8g, 8Gi, 512Mi, bytes) in GiB."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    power = _POWERS[match.group(2).lower()]
    return round(float(match.group(1)) * 1024.0**power / 1024.0**3, 3)


def mappings(root: Node) -> Iterator[Node]:
    """Every mapping below, each once however many aliases name it, in the order of the text."""
    yield from (node for node, _path in _walk(root, None))


def _walk(root: Node, own: Node | None) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Mappings with the keys that lead to them. With `own`, other containers than that one are left out."""
    stack: list[tuple[Node, tuple[str, ...]]] = [(root, ())]
    seen: set[tuple[int, int]] = set()
    while stack:
        node, path = stack.pop()
        if (node.start, node.end) in seen and node.kind == "mapping":
            continue
        if node.kind == "mapping":
            seen.add((node.start, node.end))
            if (
                own is not None
                and node.start != own.start
                and any(key.value in _CONTAINER for key, _value in node.pairs)
            ):
                continue
            yield node, path
        children = [(one, path) for one in node.items] + [(value, (*path[-3:], key.value)) for key, value in node.pairs]
        stack += [(one, where) for one, where in reversed(children) if one.kind != "scalar"]


def stated(text: str, document: Node, container: Node, compose: bool) -> Iterator[Stated]:
    """What holds for that container: its own mapping, and what the document says outside other containers."""
    for mapping, path in _walk(container if compose else document, container):
        named = {key.value: value for key, value in mapping.pairs}
        yield from _of_probe(mapping, named, path)
        for key, value in mapping.pairs:
            if value.kind == "scalar":
                yield from (
                    one.but(start=key.start, end=value.end) for one in _of_scalar(key.value, value.value, path, named)
                )
        if "repository" in named and "tag" in named:
            image = f"{named['repository'].value}:{named['tag'].value}"
            yield Stated("image.name", image, named["tag"].start, named["tag"].end)
    yield from _of_volumes(text, container)


def _of_scalar(key: str, value: str, path: tuple[str, ...], named: dict[str, Node]) -> Iterator[Stated]:
    if key == "image" and value:
        yield Stated("image.name", value, 0, 0)
    elif key in ("shm_size", "shmSize") or (
        key == "sizeLimit" and "medium" in named and named["medium"].value == "Memory"
    ):
        yield from _sized("shm.size_gib", value)
    elif key in _GPU_KEYS or (key == "count" and path[-1:] == ("devices",)):
        yield from _gpus(value)
    elif (key == "hostIPC" and value.lower() == "true") or (key == "ipc" and value == "host"):
        yield Stated("args.docker-ipc", "host", 0, 0)
    elif path[-1:] == ("limits",) and key == "memory":
        yield from _sized("memory.limit_gib", value)
    elif path[-1:] == ("limits",) and key in ("cpu", "cpus"):
        yield from _cpus(value)
    elif key == "size" and path[-1:] == ("leaderWorkerTemplate",) and value.isdecimal():
        yield Stated("nodes", "several" if int(value[-9:]) > 1 else "one", 0, 0)


def _sized(name: str, value: str) -> Iterator[Stated]:
    size = gib(value)
    if size is not None:
        yield Stated(name, size, 0, 0)


def _gpus(value: str) -> Iterator[Stated]:
    if value.isdecimal() and len(value) < 6 and value.isascii():
        yield Stated("gpu.requested", int(value), 0, 0)


def _cpus(value: str) -> Iterator[Stated]:
    number = value.removesuffix("m")
    if number.replace(".", "", 1).isdecimal() and number.isascii() and len(number) < 9:
        yield Stated("cpu.limit", round(float(number) / (1000 if value.endswith("m") else 1), 3), 0, 0)


def _of_probe(mapping: Node, named: dict[str, Node], path: tuple[str, ...]) -> Iterator[Stated]:
    """How many seconds a probe gives before it acts, with Kubernetes' defaults for what is not said."""
    kind = _PROBES.get(path[-1]) if path else None
    if kind is None:
        return
    delay = _number(named, "initialDelaySeconds", 0)
    seconds = delay + _number(named, "periodSeconds", 10) * _number(named, "failureThreshold", 3)
    yield Stated(f"probe.{kind}_seconds", seconds, mapping.start, mapping.end)


def _number(named: dict[str, Node], name: str, default: int) -> int:
    value = named[name].value if name in named else ""
    return int(value) if value.isdecimal() and value.isascii() and len(value) < 8 else default


def _of_volumes(text: str, container: Node) -> Iterator[Stated]:
    """Whether a folder that keeps downloads is mounted."""
    for key, value in container.pairs:
        if key.value in ("volumes", "volumeMounts") and value.kind == "sequence":
            mounted = text[value.start : value.end]
            if any(place in mounted for place in _CACHES):
                yield Stated("volume.cache", True, value.start, value.end)

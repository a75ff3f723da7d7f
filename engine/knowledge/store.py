"""The compiled knowledge, read as lazily as a cold `kb query` needs: one file, and of it only the parts that are asked for.

A wheel ships the compiled file. In a checkout it lies in the user's cache folder under a name made of the hash of the
YAML and of the code that compiles it, so an edit is never missed; it is written beside its place and moved there, so two
processes may start at once. A file that is damaged, foreign or writable for others is ignored and made anew.
"""

from __future__ import annotations

import marshal
import os
import zlib

from engine.errors import KnowledgeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

MAGIC = b"kb compiled knowledge 1\n"
MARSHAL = 4  # the newest format that Python 3.11 reads
SHIPPED = os.path.join("compiled", "knowledge.bin")
HOME = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "kb")
_COMPILERS = (".", "knowledge", "observe")  # folders of the engine whose code decides what is compiled


class Knowledge:
    """The knowledge base. Sections and entries are plain data, unmarshalled at first use and then kept."""

    def __init__(self, data: bytes) -> None:
        """`data` is what `engine.knowledge.compile.build` returns. Raises ValueError when it is not whole."""
        self._index, self._body = _opened(data)
        self._data = data
        self._kept: dict[str, Any] = {}
        self.hash: str = self._index["hash"]

    def section(self, name: str) -> Any:
        """A compiled section: lexicon, signs, tests, watch, weights …"""
        return self._read(f"section {name}")

    def item(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """One entry as its YAML says it, or None. Kinds: cause, symptom, sign, question, fact, flag, variable, metric,
        version, concept."""
        key = f"{kind} {name}"
        return self._read(key) if key in self._index["parts"] else None

    def ids(self, kind: str) -> tuple[str, ...]:
        """All ids of a kind, sorted."""
        return tuple(self._index["ids"].get(kind, ()))

    def phrases(self, lang: str) -> Mapping[str, str]:
        found: Mapping[str, str] = self.section(f"phrases {lang}")
        return found

    def vocabulary(self) -> frozenset[str]:
        """Stems of words that are spelled right, whether or not they mean anything here."""
        words: frozenset[str] = self.section("vocabulary")
        return words

    def lexicon(self) -> Mapping[str, Any]:
        """The lexicon, ready for `engine.observe.lexicon.spans`."""
        from engine.observe.lexicon import opened  # noqa: PLC0415 - only a query with words needs it

        return self._once("opened lexicon", lambda: opened(self.section("lexicon")))

    def lexical(self) -> Mapping[str, Any]:
        """The index over the causes, ready for `engine.observe.index.nearest`."""
        from engine.observe.index import opened  # noqa: PLC0415 - only a query with words needs it

        return self._once("opened lexical", lambda: opened(self.section("lexical")))

    def _once(self, key: str, make: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        if key not in self._kept:
            self._kept[key] = make()
        found: Mapping[str, Any] = self._kept[key]
        return found

    def nearest_flag(self, name: str) -> str | None:
        """The flag that a misspelt one probably means."""
        from engine.observe.spelling import closest  # noqa: PLC0415 - rapidfuzz, only for a flag that does not exist

        return closest(name, sorted(self.section("flag-names")))

    def _read(self, key: str) -> Any:
        if key not in self._kept:
            offset, length = self._index["parts"][key]
            start = self._body + offset
            self._kept[key] = marshal.loads(memoryview(self._data)[start : start + length])
        return self._kept[key]


def pack(knowledge_hash: str, ids: Mapping[str, tuple[str, ...]], parts: Mapping[str, Any]) -> bytes:
    """Sections and entries in the form that Knowledge opens."""
    body = bytearray()
    places = {}
    for key, value in parts.items():
        piece = marshal.dumps(value, MARSHAL)
        places[key] = (len(body), len(piece))
        body += piece
    index = marshal.dumps({"hash": knowledge_hash, "ids": dict(ids), "parts": places}, MARSHAL)
    rest = len(index).to_bytes(4, "little") + index + bytes(body)
    return MAGIC + zlib.crc32(rest).to_bytes(4, "little") + rest


def _opened(data: bytes) -> tuple[dict[str, Any], int]:
    head = len(MAGIC)
    if data[:head] != MAGIC or len(data) < head + 8:
        raise ValueError("not a compiled knowledge base of this version")
    if int.from_bytes(data[head : head + 4], "little") != zlib.crc32(memoryview(data)[head + 4 :]):
        raise ValueError("the compiled knowledge base is damaged")
    length = int.from_bytes(data[head + 4 : head + 8], "little")
    index: dict[str, Any] = marshal.loads(memoryview(data)[head + 8 : head + 8 + length])
    return index, head + 8 + length


def load(home: str = HOME) -> Knowledge:
    """The knowledge base in the folder `home`. Raises KnowledgeError when its YAML has faults."""
    shipped = _read(os.path.join(home, SHIPPED), trusted=True)
    if shipped:
        return shipped
    sources = source_files(home)
    digest = _digest(home, sources, code=True)
    cached = os.path.join(cache_folder(), f"{digest}.bin")
    known = _read(cached, trusted=False)
    if known:
        return known
    from engine.knowledge.compile import build  # noqa: PLC0415 - YAML and pydantic, only when something has changed

    data = build(home)
    keep(cached, data)
    return Knowledge(data)


def source_files(home: str) -> list[str]:
    """The YAML files below `home`, relative and sorted."""
    found = []
    for folder, folders, names in os.walk(home):
        folders[:] = [name for name in folders if name not in {"compiled", "schema", "__pycache__"}]
        found += [os.path.relpath(os.path.join(folder, name), home) for name in names if name.endswith(".yaml")]
    return sorted(found)


def content_hash(home: str) -> str:
    """The hash of the knowledge itself: equal files give equal answers."""
    return _digest(home, source_files(home), code=False)


def _digest(home: str, names: list[str], code: bool) -> str:
    try:
        from _blake2 import blake2b  # noqa: PLC0415 - hashlib would load OpenSSL as well
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    digest = blake2b(digest_size=12)
    paths = [(name, os.path.join(home, name)) for name in names]
    if code:
        engine = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        for folder in _COMPILERS:
            paths += [(n, os.path.join(engine, folder, n)) for n in sorted(os.listdir(os.path.join(engine, folder))) if n.endswith(".py")]
    for name, path in paths:
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            raise KnowledgeError(f"{path} cannot be read: {error.strerror}.", "Mend the file, or reinstall kb.") from None
        digest.update(f"{name.replace(os.sep, '/')} {len(content)}\n".encode())
        digest.update(content)
    return str(digest.hexdigest())


def cache_folder() -> str:
    """The folder for what can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "vllm-kb")


def _read(path: str, trusted: bool) -> Knowledge | None:
    """The knowledge in that file, or None when there is none that can be used."""
    try:
        data = kept(path, trusted)
        return None if data is None else Knowledge(data)
    except (ValueError, EOFError, TypeError, KeyError):
        return None


def kept(path: str, trusted: bool = False) -> bytes | None:
    """The content of a file of the cache, or None. What lies in a shared folder is used only when this user (or root)
    wrote it and nobody else can."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            mine = not hasattr(os, "geteuid") or status.st_uid in (0, os.geteuid())
            if not trusted and (not mine or status.st_mode & 0o022):
                return None
            return file.read()
    except OSError:
        return None


def keep(path: str, data: bytes) -> None:
    """Writes the cache file whole or not at all; a folder that cannot be written costs time, not the answer."""
    temporary = f"{path}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
        _forget_old(os.path.dirname(path), os.path.basename(path))
    except OSError:
        pass


def _forget_old(folder: str, newest: str) -> None:
    """Keeps the eight newest cache files of a kind: each edit of the knowledge leaves one behind."""
    ending = os.path.splitext(newest)[1]
    files = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(ending) and name != newest]
    for path in sorted(files, key=os.path.getmtime)[:-7]:
        os.unlink(path)



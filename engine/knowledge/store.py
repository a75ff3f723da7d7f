"""The compiled knowledge, read as lazily as a cold `kb query` needs: one file, and of it only the parts that are
asked for.

A wheel ships the compiled file. In a checkout it lies in the user's cache folder under a name made of the hash of the
YAML and of the code that compiles it, so an edit is never missed; it is written beside its place and moved there, so
two processes may start at once. A file that is damaged, foreign or writable for others is ignored and made anew.
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

MAGIC = b"kb compiled knowledge 2\n"
DIGEST = 12  # bytes of a hash
MARSHAL = 4  # the newest format that Python 3.11 reads
SHIPPED = os.path.join("compiled", "knowledge.bin")
HOME = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "kb")
_COMPILERS = (".", "advise", "knowledge", "observe")  # folders of the engine whose code decides what is compiled


class Knowledge:
    """The knowledge base. Sections and entries are plain data, unmarshalled at first use and then kept."""

    def __init__(self, data: bytes | File, again: Callable[[], bytes] | None = None) -> None:
        """`data` is what `engine.knowledge.compile.build` returns, or a file of it, which is read part by part; `again`
        makes it anew when a part turns out to be damaged. Raises ValueError when it is not whole."""
        self._open(data)
        self._again = again
        self._kept: dict[str, Any] = {}
        self.hash: str = self._index["hash"]

    def _open(self, data: bytes | File) -> None:
        self._file = data if isinstance(data, File) else None
        self._data = data if isinstance(data, bytes) else b""
        self._index, self._body = _opened(self._bytes, len(data))

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
            offset, length, checksum = self._index["parts"][key]
            piece = self._bytes(self._body + offset, length)
            if zlib.crc32(piece) != checksum:
                return self._mended(key)
            self._kept[key] = marshal.loads(piece)
        return self._kept[key]

    def _mended(self, key: str) -> Any:
        """The part from the knowledge made anew, because the file that it was read from is damaged."""
        if self._again is None:
            raise KnowledgeError("the compiled knowledge base is damaged.", "Reinstall kb.")
        again, self._again = self._again, None
        self._open(again())
        return self._read(key)

    def _bytes(self, start: int, length: int) -> bytes:
        return self._file.read(start, length) if self._file else self._data[start : start + length]


class File:
    """A file that stays open and is read at any place, from any thread. It may be replaced or removed meanwhile."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._length = os.fstat(handle).st_size

    def __len__(self) -> int:
        return self._length

    def __del__(self) -> None:
        os.close(self._handle)

    def read(self, start: int, length: int) -> bytes:
        return os.pread(self._handle, length, start)


def pack(knowledge_hash: str, ids: Mapping[str, tuple[str, ...]], parts: Mapping[str, Any]) -> bytes:
    """Sections and entries in the form that Knowledge opens: the index with its checksum, then parts with theirs."""
    body = bytearray()
    places = {}
    for key, value in parts.items():
        piece = marshal.dumps(value, MARSHAL)
        places[key] = (len(body), len(piece), zlib.crc32(piece))
        body += piece
    index = marshal.dumps({"hash": knowledge_hash, "ids": dict(ids), "parts": places, "size": len(body)}, MARSHAL)
    return MAGIC + zlib.crc32(index).to_bytes(4, "little") + len(index).to_bytes(4, "little") + index + bytes(body)


def _opened(read: Callable[[int, int], bytes], size: int) -> tuple[dict[str, Any], int]:
    """The index, and where the body begins."""
    head = read(0, len(MAGIC) + 8)
    if head[: len(MAGIC)] != MAGIC or len(head) < len(MAGIC) + 8:
        raise ValueError("not a compiled knowledge base of this version")
    checksum, length = int.from_bytes(head[-8:-4], "little"), int.from_bytes(head[-4:], "little")
    packed = read(len(head), min(length, size))
    if zlib.crc32(packed) != checksum:
        raise ValueError("the compiled knowledge base is damaged")
    index: dict[str, Any] = marshal.loads(packed)
    if size != len(head) + length + index["size"]:
        raise ValueError("the compiled knowledge base is cut off")
    return index, len(head) + length


def load(home: str = HOME) -> Knowledge:
    """The knowledge base in the folder `home`. Raises KnowledgeError when its YAML has faults."""

    def made() -> bytes:
        from engine.knowledge.compile import build  # noqa: PLC0415 - YAML and pydantic, only when something has changed

        return build(home)

    shipped = _read(os.path.join(home, SHIPPED), made, trusted=True)
    if shipped:
        return shipped
    cached = os.path.join(cache_folder(), f"{_source_key(home)}.bin")
    known = _read(cached, made, trusted=False)
    if known:
        return known
    data = made()
    keep(cached, data)
    return Knowledge(data)


def _source_key(home: str) -> str:
    """The hash of the YAML and of the code that compiles it. Reading all of it takes longer than answering, so it is
    noted which state of the files (names, sizes, times of change) had which hash."""
    paths = _source_paths(home, code=True)
    state = _state(paths)
    note = os.path.join(cache_folder(), f"{state}.state")
    noted = kept(note)
    if noted and len(noted) == 2 * DIGEST and noted.isalnum():
        return noted.decode("ascii", "replace")
    key = _digest(paths)
    keep(note, key.encode())
    return key


def _state(paths: list[tuple[str, str]]) -> str:
    rows = []
    for name, path in paths:
        try:
            status = os.stat(path)
        except OSError as error:
            raise _unreadable(path, error) from None
        rows.append(f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ino}")
    return str(_hash("\n".join(rows).encode("utf-8", "surrogateescape")).hexdigest())


def source_files(home: str) -> list[str]:
    """The YAML files below `home`, relative and sorted."""
    found = []
    for folder, folders, names in os.walk(home):
        folders[:] = [name for name in folders if name not in {"compiled", "schema", "__pycache__"}]
        found += [os.path.relpath(os.path.join(folder, name), home) for name in names if name.endswith(".yaml")]
    return sorted(found)


def content_hash(home: str) -> str:
    """The hash of the knowledge itself: equal files give equal answers."""
    return _digest(_source_paths(home, code=False))


def _source_paths(home: str, code: bool) -> list[tuple[str, str]]:
    """Name and path of each YAML file and, with `code`, of each module that decides what is compiled."""
    paths = [(name, os.path.join(home, name)) for name in source_files(home)]
    if code:
        engine = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        for folder in _COMPILERS:
            names = sorted(name for name in os.listdir(os.path.join(engine, folder)) if name.endswith(".py"))
            paths += [(name, os.path.join(engine, folder, name)) for name in names]
    return paths


def _digest(paths: list[tuple[str, str]]) -> str:
    digest = _hash(b"")
    for name, path in paths:
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            raise _unreadable(path, error) from None
        digest.update(f"{name.replace(os.sep, '/')} {len(content)}\n".encode())
        digest.update(content)
    return str(digest.hexdigest())


def _unreadable(path: str, error: OSError) -> KnowledgeError:
    return KnowledgeError(f"{path} cannot be read: {error.strerror}.", "Mend the file, or reinstall kb.")


def _hash(content: bytes) -> Any:
    try:
        from _blake2 import blake2b  # noqa: PLC0415 - hashlib would load OpenSSL as well
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    return blake2b(content, digest_size=DIGEST)


def cache_folder() -> str:
    """The folder for what can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "vllm-kb")


def _read(path: str, again: Callable[[], bytes], trusted: bool) -> Knowledge | None:
    """The knowledge in that file, or None when there is none that can be used."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        if not hasattr(os, "pread"):
            with os.fdopen(handle, "rb") as file:
                return Knowledge(file.read(), again) if trusted or _ours(os.fstat(file.fileno())) else None
        file_at_hand = File(handle)
        return Knowledge(file_at_hand, again) if trusted or _ours(os.fstat(handle)) else None
    except (OSError, ValueError, EOFError, TypeError, KeyError):
        return None


def _ours(status: os.stat_result) -> bool:
    """Whether this user (or root) wrote a file and nobody else can: what others wrote is not unmarshalled."""
    return not hasattr(os, "geteuid") or (status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022)


def kept(path: str, trusted: bool = False) -> bytes | None:
    """The content of a file of the cache, or None. What lies in a shared folder is used only when this user (or root)
    wrote it and nobody else can."""
    try:
        with open(path, "rb") as file:
            return file.read() if trusted or _ours(os.fstat(file.fileno())) else None
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

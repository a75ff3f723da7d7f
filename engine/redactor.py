"""Redacts what leaves the operator's machine: beside credentials also people, private addresses and internal hosts.

Each gets a placeholder that stays the same through one text or stream, so that one can still see what belongs together.
Every expression looks only a bounded way ahead, and what is remembered is bounded as well.
"""

from __future__ import annotations

from engine.lazy import IGNORECASE, MULTILINE, regex
from engine.model import Value
from engine.redact import MASK, has_any, mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

# What a line must hold for an expression to find something.
_OF_ADDRESS = ("10.", "192.168.", "172.", "169.254.", "100.")
_OF_HOST = (".internal", ".local", ".lan", ".corp", ".intranet", ".home.arpa", ".svc")
_OF_STATED_HOST = (
    "://",
    "hostname",
    "host_name",
    "master_addr",
    "host_ip",
    "ray_address",
    "nodename",
    "node_name",
    "master-addr",
    "node-ip-address",
)
_KEY_BEGINS = regex(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_KEY_BODY = regex(r"\s*(?:[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info): .{0,100})\s*")
_KEY_LINE = regex(r"[A-Za-z0-9+/=]{1,400}")

_EMAIL = regex(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,60}\.){1,5}[a-z]{2,12}\b", IGNORECASE)
_SYSTEM_USERS = (
    r"(?:runner|user|ubuntu|vllm|root|ec2-user|jovyan|centos|debian|admin|app|appuser|azureuser|ray|node|work|linuxbrew"
    r"|public|shared|default)"
)
_HOME = regex(
    rf"((?:/home/|/Users/|[A-Z]:\\{{1,2}}Users\\{{1,2}})(?!{_SYSTEM_USERS}(?![\w.-])|<))([\w.-]{{1,60}})", IGNORECASE
)
_LOGIN = regex(rf"(?<!\S)((?:USER|LOGNAME|USERNAME|SUDO_USER)=)(?!{_SYSTEM_USERS}(?![\w.-])|<)([\w.-]{{1,60}})")
_PRIVATE_ADDRESS = regex(
    r"(?<![\d.])(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}"
    r"|169\.254(?:\.\d{1,3}){2}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.\d{1,3}){2})(?![\d.]{0,16}\d)"
)
_PRIVATE_ADDRESS_6 = regex(
    r"(?<![\w:.])(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f])(?::[0-9a-f]{0,4}){2,7}(?:%[\w.-]{1,15})?(?![\w:])", IGNORECASE
)
# CUDA's libraries have versions of four numbers, some of which begin with 10.
_VERSION_BEFORE = regex(
    r"(?:[=~<>!]=\s?|(?:curand|cuda|cudnn|cufft|cu1\d|nvidia|driver|version)[\w.-]{0,30}['\"]?[\s=:,'\"-]{1,40}"
    r"|[-_]v)$",
    IGNORECASE,
)
_WHEEL_AFTER = regex(r"-(?:py|cp)\d|\.(?:whl|tar|so|dist)")
_SUFFIXES = r"(?:internal|local|lan|corp|intranet|localdomain|home\.arpa|svc)"
_INTERNAL_HOST = regex(
    r"(?:(?<![\w.@/-])|(?<=://)|(?<=@))((?:[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?\.){1,6}"
    rf"{_SUFFIXES}(?:\.[a-z0-9-]{{1,60}}){{0,4}})(?![\w(-]|\.\w)",
    IGNORECASE,
)
# The first part of a name in code, or of a file, that ends like a host.
_CODE = (
    "threading", "torch", "vllm", "asyncio", "multiprocessing", "self", "os", "ray", "concurrent", "werkzeug", "config",
    "settings", "env", "triton", "numpy", "transformers", "docker-compose", "values",
)  # fmt: skip
_FILES = (".py", ".yaml", ".yml", ".json", ".log", ".so", ".txt", ".md", ".whl", ".toml", ".cfg", ".sh", ".env")
_PORT = regex(r":\d{2,5}(?!\d)")
_STATED_HOST = regex(
    r"((?<![\w.])(?:hostname|host_name|MASTER_ADDR|VLLM_HOST_IP|RAY_ADDRESS|nodeName|node_name)['\"]?"
    r"[ \t]{0,3}[=:][ \t]{0,3}['\"]?|--(?:master-addr|node-ip-address)[ \t=]{1,3}['\"]?"
    r"|(?<!s3)(?<!gs)(?<!hf)(?<!oss)(?<!cos)(?<!file)(?<!inproc)(?<!unix)(?<!ipc)(?<!docker)(?<!oci)://"
    r"(?:[^\s/@'\"]{1,200}@|(?![^\s/@'\"]{1,200}@)))"
    r"([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?=[:/'\",\s]|$)",
    IGNORECASE | MULTILINE,
)
_PROMPT = regex(r"(?<![\w.+/-])([a-z_][\w.-]{0,31})@([a-z0-9][a-z0-9-]{0,62})(?=:[~/]| [~/]|\])", IGNORECASE)
_URL_USER = regex(r"(://)([^/\s:@'\"<]{1,80})(?=(?::\*{4})?@)")
_URL_LOGINS = ("git", "oauth2", "token", "x-access-token", "__token__", "root", "admin", "user")
_PUBLIC_NAMES = frozenset(
    ("localhost", "host", "hostname", "server", "example", "none", "null", "auto", "http", "https", "is", "not", "and",
     "the", "name", "your-host", "ip", "address", "unknown", "of", "or", "to", "in", "for")
)  # fmt: skip
_WORD = regex(r"(?<![\w<-])[a-z0-9][a-z0-9-]{2,62}", IGNORECASE)

MOST_NAMES = 50_000  # placeholders that are remembered, so that no stream fills the memory; later ones have no number
LONGEST_PIECE = 65_536  # characters that are looked at together
_SEPARATORS = " \t,;&"


class Redacted(Value):
    """A text without names and secrets, and how many of each kind were taken out."""

    text: str
    counts: tuple[tuple[str, int], ...]


class Redactor:
    """Redacts one text or stream, piece by piece. What was given a placeholder keeps it, up to MOST_NAMES names."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}
        self._hosts: dict[str, str] = {}
        self._in_key = False
        self._before_key = 0  # words in front of each line of a key: a time, a process
        self.credentials = 0

    def counts(self) -> tuple[tuple[str, int], ...]:
        """How many credentials were masked, and how many different things of each kind got a placeholder."""
        credentials = [("credential", self.credentials)] if self.credentials else []
        return (*credentials, *sorted(self._numbers.items()))

    def stream(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes, redacted line by line; bytes that are no UTF-8 pass through."""
        for line in _lines(blocks):
            yield self.line(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def line(self, text: str) -> str:
        """One line, or a piece of one, as it may leave the machine; empty inside a private key."""
        if self._in_key:
            self._in_key = self._goes_on(text)
            if self._in_key or "-----END" in text:
                return ""
        begins = _KEY_BEGINS.search(text) if "PRIVATE KEY-----" in text else None
        if begins:
            self._in_key, self._before_key = "-----END" not in text, len(text[: begins.start()].split())
        masked = mask(text)
        self.credentials += max(0, masked.count(MASK) - text.count(MASK))
        return self._places(masked)

    def _goes_on(self, text: str) -> bool:
        """Whether a line still belongs to the private key that has begun."""
        if _KEY_BODY.fullmatch(text):
            return True
        words = text.split()
        body = words[-1] if words else ""
        return _KEY_LINE.fullmatch(body) is not None and (len(body) >= 40 or len(words) == self._before_key + 1)

    def _places(self, text: str) -> str:
        lowered = text.lower()
        if "@" in text:
            text = _EMAIL.sub(self._email, text)
            text = _PROMPT.sub(self._prompt, text)
            text = _URL_USER.sub(self._url_user, text)
        if "/home/" in lowered or "users" in lowered:
            text = _HOME.sub(lambda match: match.group(1) + self._named("user", match.group(2)), text)
        if "user" in lowered or "logname" in lowered:
            text = _LOGIN.sub(lambda match: match.group(1) + self._named("user", match.group(2)), text)
        if has_any(_OF_ADDRESS, text):
            text = _PRIVATE_ADDRESS.sub(self._address, text)
        if has_any(_OF_HOST, lowered):
            text = _INTERNAL_HOST.sub(self._internal, text)
        if ":" in text and ("fe" in lowered or "fd" in lowered or "fc" in lowered):
            text = _PRIVATE_ADDRESS_6.sub(lambda match: self._named("address", match.group().lower()), text)
        if has_any(_OF_STATED_HOST, lowered):
            text = _STATED_HOST.sub(self._host, text)
        return _WORD.sub(self._known_host, text) if self._hosts else text

    def _named(self, kind: str, value: str) -> str:
        found = self._known.get((kind, value))
        if found is None:
            self._numbers[kind] = self._numbers.get(kind, 0) + 1
            found = f"<{kind}-{self._numbers[kind]}>"
            if len(self._known) >= MOST_NAMES:
                return f"<{kind}>"
            self._known[kind, value] = found
        return found

    def _email(self, match: re.Match[str]) -> str:
        value = match.group().lower()
        return match.group() if value.startswith("git@") else self._named("e-mail", value)

    def _prompt(self, match: re.Match[str]) -> str:
        user, host = match.group(1), match.group(2)
        shown = user if user in ("root", "ubuntu", "user", "git", "vllm") else self._named("user", user)
        return f"{shown}@{self._remembered(host)}"

    def _url_user(self, match: re.Match[str]) -> str:
        user = match.group(2)
        return match.group() if user in _URL_LOGINS or user == MASK else f"{match.group(1)}{self._named('user', user)}"

    def _address(self, match: re.Match[str]) -> str:
        value, whole = match.group(), match.string
        before = whole[max(0, match.start() - 80) : match.start()]
        version = _VERSION_BEFORE.search(before) or _WHEEL_AFTER.match(whole, match.end())
        if version or any(int(part) > 255 for part in value.split(".")):
            return value
        return self._named("address", value)

    def _internal(self, match: re.Match[str]) -> str:
        value, whole = match.group(1).lower(), match.string
        in_url = whole[max(0, match.start() - 3) : match.start()].endswith(("://", "@")) or _PORT.match(
            whole, match.end()
        )
        code = value.partition(".")[0] in _CODE or value.endswith(_FILES)
        return match.group(1) if code and not in_url else self._named("host", value)

    def _host(self, match: re.Match[str]) -> str:
        name = match.group(2)
        if name.lower() in _PUBLIC_NAMES or name.isdecimal():
            return match.group()
        return match.group(1) + self._remembered(name)

    def _remembered(self, name: str) -> str:
        """A host without a domain: it is replaced wherever the name stands from now on."""
        if name.lower() in _PUBLIC_NAMES or name.isdecimal():
            return name
        shown = self._named("host", name.lower())
        if len(name) > 3 and not name.isalpha() and len(self._hosts) < MOST_NAMES:
            self._hosts[name.lower()] = shown
        return shown

    def _known_host(self, match: re.Match[str]) -> str:
        return self._hosts.get(match.group().lower(), match.group())


def redact(text: str) -> Redacted:
    """`text` fit to leave the operator's machine: no credentials, and people, private addresses and internal hosts by
    placeholder (`<address-1>`), the same one for the same thing throughout."""
    redactor = Redactor()
    out = [redactor.line(line) for line in text.splitlines(keepends=True)]
    return Redacted("".join(out), redactor.counts())


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines with their ends; of a line that is too long, pieces that end between two words where it can be."""
    rest = b""
    for block in blocks:
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        for line in lines:
            yield from _pieces(line + b"\n", last=True)
        if len(rest) > LONGEST_PIECE:
            *pieces, rest = _pieces(rest, last=False)
            yield from pieces
    if rest:
        yield from _pieces(rest, last=True)


def _pieces(line: bytes, last: bool) -> Iterator[bytes]:
    """`line` in pieces; unless it is the `last` of its line, the final piece is what must wait for more."""
    while len(line) > LONGEST_PIECE:
        cut = _cut(line)
        yield line[:cut]
        line = line[cut:]
    if line or not last:
        yield line


def _cut(line: bytes) -> int:
    """Where the first piece of a long line ends: behind its last separator, else anywhere but inside a character."""
    at = max(line.rfind(separator.encode(), LONGEST_PIECE - 4_096, LONGEST_PIECE) for separator in _SEPARATORS)
    if at > 0:
        return at + 1
    cut = LONGEST_PIECE
    while cut > LONGEST_PIECE - 4 and line[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut

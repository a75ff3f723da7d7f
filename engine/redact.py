"""Takes credentials out of text: out of every answer that is shown, and first of all out of what leaves the machine.

Every expression looks only a bounded way ahead, so that no text takes longer than its length.
"""

from __future__ import annotations

from engine.lazy import IGNORECASE, regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

MASK = "****"

# What a text must hold, in lower case, for an expression to find something. `in` is many times faster than any of them.
_OF_NAME = ("key", "token", "secret", "passw", "pwd", "passphrase", "credential", "signature", "sig=")
_OF_HEADER = ("authorization", "bearer")
_OF_SHAPE = (
    "hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat", "akia", "asia", "xox", "aiza", "eyj",
    "nvapi", "dckr_pat", "gsk_",
)  # fmt: skip
_HINTS = (*_OF_NAME, *_OF_HEADER, "cookie", "://", *_OF_SHAPE)
_NAMED = regex(
    r"(?P<word>api[-_ ]?keys?|access[-_]?key(?:[-_]?id)?|private[-_]?key|secret(?:[-_]?(?:access[-_]?)?key)?"
    r"|credentials?|token|passw(?:or)?d|passwd|pwd|passphrase|signature|sig(?==))(?P<quote>['\"]?)"
    r"(?P<join>[ \t]{0,3}[=:][ \t]{0,3}|[ \t]{1,4}(?=['\"]|[\w$-]{4}))"
    r"(?P<value>'[^'\n]{3,400}'|\"[^\"\n]{3,400}\"|['\"]?(?:\[[^\]\n]{0,400}\]|[^\s'\",;}\]&|\\]{3,400}))",
    IGNORECASE,
)
_HEADER = regex(
    r"(authorization['\"]?[ \t]{0,3}[:=][ \t]{0,3}['\"]?(?:bearer|basic|token)?[ \t]{0,3}|\bbearer[ \t]{1,3})"
    r"([\w.~+/=-]{6,600})",
    IGNORECASE,
)
_COOKIE = regex(
    r"(\b(?:set-)?cookie['\"]?[ \t]{0,3}:[ \t]{0,3}['\"]?)([^\s'\"=]{1,100}=[^\r\n'\"]{3,2000})", IGNORECASE
)
_SHAPED = regex(
    r"\b(?:hf_(?:(?=[a-z]{0,60}[A-Z0-9])[A-Za-z0-9]{8,60}|[a-z]{30,60})"
    r"|sk-(?:(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{8,200}|[A-Za-z0-9_-]{20,200})"
    r"|gh[pousr]_[A-Za-z0-9]{16,80}|github_pat_\w{16,120}|glpat-[\w-]{12,60}|dckr_pat_[\w-]{12,60}"
    r"|nvapi-[\w-]{16,120}|gsk_[A-Za-z0-9]{16,80}|A(?:KIA|SIA)[A-Z0-9]{12,24}|xox[abeprs]-[\w-]{8,120}"
    r"|AIza[\w-]{30,45}|eyJ[\w-]{8,600}\.[\w-]{4,2000}(?:\.[\w-]{0,600})?)"
)
_IN_URL = regex(r"(\b[a-z][a-z0-9+.-]{1,20}://)([^/\s:@'\"]{0,80}):([^/\s'\"]{1,200})@(?=[\w\[<$])", IGNORECASE)
_USER_IN_URL = regex(r"(\b[a-z][a-z0-9+.-]{1,20}://)([\w-]{20,200})@(?=[\w\[<$])", IGNORECASE)
_PRIVATE_KEY = regex(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?:\\n|\s){1,8}(?:Proc-Type|DEK-Info): [^\n\\]{0,100}){0,3}"
    r"[A-Za-z0-9+/=]{0,20000}"
    r"(?:(?:\\n|\s){1,8}[A-Za-z0-9+/=]{1,20000}){0,2000}(?:(?:\\n|\s){0,8}-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
)
_HARMLESS = frozenset(
    ("none", "null", "true", "false", "empty", "is", "not", "and", "for", "required", "missing", "invalid", "error",
     "str", "string", "bytes", "bool", "flag", "option", "argument", "parameter", "value", "header", "environment",
     "variable", "must", "should", "with", "from", "file", "given", "when", "that", "which", "this", "your",
     "undefined", "redacted", "masked", MASK)
)  # fmt: skip
# A token of text, which is no secret, is called by one of these.
_TEXT_TOKENS = (
    "pad", "eos", "bos", "unk", "sep", "cls", "mask", "stop", "image", "video", "audio", "first", "last", "next",
    "output", "input", "per", "special", "end", "start", "begin", "think", "eot", "sot", "prompt", "new", "each", "one",
    "a", "the",
)  # fmt: skip


def mask(text: str) -> str:
    """`text` with every credential replaced by `****`. Versions, models, flags and hosts stay."""
    lowered = text.lower()
    if not has_any(_HINTS, lowered):
        return text
    if "private key" in lowered:
        text = _PRIVATE_KEY.sub("-----PRIVATE KEY " + MASK + "-----", text)
    if has_any(_OF_HEADER, lowered):
        text = _HEADER.sub(_masked_header, text)
    if "cookie" in lowered:
        text = _COOKIE.sub(lambda match: match.group(1) + MASK, text)
    if "://" in lowered and "@" in lowered:
        text = _IN_URL.sub(_masked_password, text)
        text = _USER_IN_URL.sub(lambda match: f"{match.group(1)}{MASK}@", text)
    if has_any(_OF_SHAPE, lowered):
        text = _SHAPED.sub(MASK, text)
    return _NAMED.sub(_masked_value, text) if has_any(_OF_NAME, lowered) else text


def has_any(parts: Iterable[str], text: str) -> bool:
    """Whether one of the parts stands in the text."""
    return any(part in text for part in parts)


def _masked_header(match: re.Match[str]) -> str:
    value = match.group(2)
    prose = value.lower() in _HARMLESS or (
        match.group(1).lower().startswith("bearer") and value.isalpha() and value.islower() and len(value) <= 16
    )
    return match.group() if prose else match.group(1) + MASK


def _masked_password(match: re.Match[str]) -> str:
    password = match.group(3)
    return match.group() if password.startswith(("$", "<", "{")) else f"{match.group(1)}{match.group(2)}:{MASK}@"


def _masked_value(match: re.Match[str]) -> str:
    value, join = match.group("value"), match.group("join")
    if not _is_secret(_name(match), match.group("word").lower(), value.strip("'\"[] "), join):
        return match.group()
    quote = value[0] if value[:1] in "'\"" else ""
    closing = quote if quote and value.endswith(quote) else ""
    return f"{match.group('word')}{match.group('quote')}{join}{quote}{MASK}{closing}"


def _name(match: re.Match[str]) -> str:
    """The whole name that ends with the word: `--ssl-keyfile-` before `password`."""
    start = match.start()
    before = match.string[max(0, start - 64) : start]
    kept = len(before)
    while kept and (before[kept - 1].isalnum() or before[kept - 1] in "_.-/"):
        kept -= 1
    return before[kept:]


def _is_secret(before: str, word: str, plain: str, join: str) -> bool:
    """Whether the value beside a name is one. `before` is what precedes the word in the name."""
    if before.endswith("/") or (
        before[-1:].isalnum() and before[-1:].islower() and word in ("pwd", "sig", "signature")
    ):
        return False
    if join.isspace() and not (before.startswith("-") and not plain.startswith("-")):
        return False  # a flag is followed by its value, other names by prose
    if (
        plain.lower() in _HARMLESS
        or plain.lower().startswith("optional")
        or plain.startswith(("$", "<", "{", MASK))
        or not plain
    ):
        return False
    if word == "token":
        if before.lower().rstrip("_- ").endswith(_TEXT_TOKENS) and before:
            return False
        return not _is_number(plain)
    return word not in ("signature", "sig") or len(plain) >= 16


def _is_number(text: str) -> bool:
    return len(text) < 12 and text.replace(".", "", 1).isdecimal()

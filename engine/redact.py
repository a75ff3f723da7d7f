"""Takes secrets, and where text leaves the operator's terminal also names and places, out of text.

`mask` covers credentials and is applied to every answer. `redact` also replaces people, hosts and addresses, each with
a placeholder that stays the same through one text, so that what belongs together can still be seen.
"""

from __future__ import annotations

from engine.lazy import IGNORECASE, regex
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

MASK = "****"

# A text without any of these cannot hold a credential; most lines are told apart by this alone.
_HINTS = ("key", "token", "secret", "passw", "passwd", "authorization", "bearer", "hf_", "sk-", "gh", "akia", "asia", "xox",
          "eyj", "://", "glpat", "credential")  # fmt: skip
_NAMED = regex(
    r"""(?P<name>(?:--?)?[\w.-]*(?:api[-_]?keys?|access[-_]?key(?:[-_]?id)?|secret(?:[-_]?(?:access[-_]?)?key)?|auth[-_]?token|"""
    r"""[\w-]*_token|hf[-_]?token|hugging[\w-]*token|passw(?:or)?d|passwd|private[-_]?key|credentials?|client[-_]?secret|"""
    r"""token(?=\s{0,3}[=:]|['"]\s{0,3}:))['"]?)(?P<join>\s{0,3}[=:]\s{0,3}|\s{1,4}(?=['"]?[\w-]{6}))(?P<value>'[^'\n]{3,400}'|"[^"\n]{3,400}"|['"]?(?:\[[^\]]{0,400}\]|[^\s'",;}\]&|]{3,400}))""",
    IGNORECASE,
)
_HEADER = regex(r"(authorization['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?:bearer|basic|token)?\s{0,3}|\bbearer\s{1,3})([\w.~+/=-]{6,600})", IGNORECASE)
_SHAPED = regex(
    r"\b(?:hf_[A-Za-z0-9]{8,60}|sk-[A-Za-z0-9_-]{8,120}|gh[pousr]_[A-Za-z0-9]{16,80}|github_pat_\w{16,120}|glpat-[\w-]{12,60}"
    r"|A(?:KIA|SIA)[A-Z0-9]{12,24}|xox[abeprs]-[\w-]{8,120}|AIza[\w-]{30,45}|eyJ[\w-]{8,600}\.[\w-]{4,2000}(?:\.[\w-]{0,600})?)"
)
_IN_URL = regex(r"(\b[a-z][a-z0-9+.-]{1,20}://)([^/\s:@'\"]{1,80}):([^/\s@'\"]{1,200})@", IGNORECASE)
_PRIVATE_KEY = regex(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.{0,20000}?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)", 16)
_HARMLESS = ("none", "null", "true", "false", "empty", "is", "not", "and", "for", "required", "missing", "invalid", "error", MASK)

_EMAIL = regex(r"\b[\w.+-]{1,64}@(?:[\w-]{1,60}\.){1,5}[a-z]{2,12}\b", IGNORECASE)
_HOME = regex(r"((?:/home/|/Users/|[A-Z]:\\Users\\)(?!runner\b|user\b|ubuntu\b|vllm\b|root\b|<))([\w.-]{1,60})")
_PRIVATE_ADDRESS = regex(
    r"(?<![\d.])(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.\d{1,3}){2})(?![\d.]*\d)"
)
_INTERNAL_HOST = regex(
    r"(?<![\w.@/-])((?:[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?\.){1,6}(?:internal|local|lan|corp|intranet|svc\.cluster\.local|cluster\.local|home\.arpa))\b",
    IGNORECASE,
)


class Redacted(Value):
    """A text without names and secrets, and how many of each kind were taken out."""

    text: str
    counts: tuple[tuple[str, int], ...]


def mask(text: str) -> str:
    """`text` with every credential replaced by `****`. Versions, models, flags and hosts stay."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS) and "-----BEGIN" not in text:
        return text
    text = _PRIVATE_KEY.sub("-----PRIVATE KEY " + MASK + "-----", text)
    text = _HEADER.sub(lambda match: match.group(1) + MASK, text)
    text = _IN_URL.sub(lambda match: f"{match.group(1)}{match.group(2)}:{MASK}@", text)
    text = _SHAPED.sub(MASK, text)
    return _NAMED.sub(_masked_value, text)


def _masked_value(match: re.Match[str]) -> str:
    value = match.group("value")
    plain = value.strip("'\"[] ")
    spaced = match.group("join").isspace()
    flag = match.group("name").startswith("-") or "_" in match.group("name")
    if plain.lower() in _HARMLESS or plain.startswith(("$", "<", "{", "-", MASK)) or (spaced and not flag):
        return match.group()
    quote = value[0] if value[:1] in "'\"" else ""
    closing = quote if quote and value.endswith(quote) else ""
    return f"{match.group('name')}{match.group('join')}{quote}{MASK}{closing}"


def redact(text: str) -> Redacted:
    """`text` fit to leave the operator's machine: no credentials, and people, private addresses and internal hosts by
    placeholder (`<address-1>`), the same one for the same thing throughout."""
    known: dict[tuple[str, str], str] = {}

    def named(kind: str, value: str) -> str:
        found = known.get((kind, value))
        if found is None:
            number = sum(1 for other, _value in known if other == kind) + 1
            found = known[kind, value] = f"<{kind}-{number}>"
        return found

    masked = mask(text)
    hidden = masked.count(MASK) - text.count(MASK)
    out = _EMAIL.sub(lambda match: named("e-mail", match.group().lower()), masked)
    out = _HOME.sub(lambda match: match.group(1) + named("user", match.group(2)), out)
    out = _PRIVATE_ADDRESS.sub(lambda match: named("address", match.group()), out)
    out = _INTERNAL_HOST.sub(lambda match: named("host", match.group(1).lower()), out)
    kinds = sorted({kind for kind, _value in known})
    counts = [(kind, sum(1 for other, _value in known if other == kind)) for kind in kinds]
    return Redacted(out, tuple([*([("credential", hidden)] if hidden > 0 else []), *counts]))

"""--metrics: a scrape of /metrics from a file, or from a server whose address is given. Nothing else in kb opens a
connection by itself, and this one goes straight to the address: no proxy, no redirection, three seconds."""

from __future__ import annotations

import time

from engine.errors import InputError
from engine.model import Attachment
from interfaces.cli.inputs import attachment
from interfaces.cli.output import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from http.client import HTTPConnection
    from urllib.parse import SplitResult

TIMEOUT = 3.0  # seconds for the whole answer
PAUSE = 5.0  # seconds between two scrapes of one address
LARGEST = 16 << 20  # bytes of an answer


def scrapes(sources: Sequence[str], pause: float = PAUSE) -> list[Attachment]:
    """One attachment for each file or address. An address that is given twice is read again after `pause` seconds.

    Raises InputError, naming the source, when it cannot be read."""
    found: list[Attachment] = []
    read: dict[str, float] = {}
    for source in sources:
        if not source.startswith(("http://", "https://")):
            found.append(attachment(source))
            continue
        head = b""
        if source in read:
            time.sleep(max(0.0, read[source] + pause - time.monotonic()))
            head = f"# {time.monotonic() - read[source]:.1f} s after the scrape before\n".encode()
        read[source] = time.monotonic()
        found.append(Attachment(_shown(source), [head + _fetched(source)]))
    return found


def _shown(address: str) -> str:
    """The address without a password in it."""
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _fetched(address: str) -> bytes:
    from http.client import HTTPException  # noqa: PLC0415 - only for an address
    from urllib.parse import urlsplit  # noqa: PLC0415

    shown = _shown(address)
    try:
        parts = urlsplit(address)
        connection = _connection(parts)
    except ValueError:
        raise InputError(f"'{shown}' is no address.", "Write it as http://HOST:8000/metrics.") from None
    try:
        return _answer(connection, parts, shown)
    except TimeoutError:
        raise InputError(
            f"'{shown}' does not answer within {TIMEOUT:.0f} s.", "Save the scrape and give the file."
        ) from None
    except (OSError, HTTPException) as error:
        raise InputError(
            f"'{shown}' cannot be read: {reason(error)}.", "Check host and port, or give a file."
        ) from None
    finally:
        connection.close()


def _connection(parts: SplitResult) -> HTTPConnection:
    from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415

    if not parts.hostname:
        raise ValueError(parts.netloc)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.hostname, parts.port, timeout=TIMEOUT)


def _answer(connection: HTTPConnection, parts: SplitResult, shown: str) -> bytes:
    """The body of a good answer, read until the time is up."""
    ends = time.monotonic() + TIMEOUT
    path = parts.path if parts.path not in ("", "/") else "/metrics"
    connection.request("GET", path + (f"?{parts.query}" if parts.query else ""), headers=_headers(parts))
    body = b""
    with connection.getresponse() as answer:
        if answer.status != 200:
            raise InputError(f"'{shown}' answers {answer.status} {answer.reason}.", "Give the address of /metrics.")
        while block := answer.read1(1 << 16):
            body += block
            if len(body) > LARGEST:
                raise InputError(
                    f"'{shown}' has more than {LARGEST >> 20} MiB.", "That is no scrape of vLLM's /metrics."
                )
            if time.monotonic() > ends:
                raise TimeoutError
    return body


def _headers(parts: SplitResult) -> dict[str, str]:
    headers = {"Accept": "text/plain", "User-Agent": "kb"}
    if parts.username:
        from base64 import b64encode  # noqa: PLC0415
        from urllib.parse import unquote  # noqa: PLC0415

        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return headers

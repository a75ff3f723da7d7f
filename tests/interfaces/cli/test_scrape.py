"""`--metrics`: a scrape comes from a file or from a server whose address is given, and from nowhere else."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from engine.errors import InputError
from interfaces.cli import scrape as scraping
from tests.engine.observe.scrapes import scrape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interfaces.cli.conftest import Kb

QUEUE = scrape(running=1, waiting=9, kv=0.02)


class Server(ThreadingHTTPServer):
    """Serves /metrics on a loopback port; `paths` notes what was asked for, with its credentials."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.texts = [QUEUE]
        self.asked: list[tuple[str, str | None]] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            for _ in range(20):
                time.sleep(0.3)
                self.wfile.write(b"# \n")
        elif self.path != "/metrics":
            self.send_error(404)
        else:
            body = self.server.texts[min(len(self.server.asked), len(self.server.texts)) - 1].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Standard error belongs to the test."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield running
        running.shutdown()


def text(found: Any) -> str:
    return b"".join(found.blocks).decode()


def test_a_file_is_diagnosed(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "scrape.txt").write_text(QUEUE)
    ran = kb("query", "--metrics", "scrape.txt", "--json")
    assert json.loads(ran.stdout)["causes"][0]["id"] == "max-num-seqs-too-small", ran.stderr
    assert json.loads(ran.stdout)["causes"][0]["evidence"][0]["kind"] == "metric"


def test_an_address_is_read_and_diagnosed(kb: Kb, server: Server) -> None:
    ran = kb("query", "--metrics", f"{server.address}/metrics", "--json", env={"http_proxy": "http://127.0.0.1:1"})
    assert json.loads(ran.stdout)["causes"][0]["id"] == "max-num-seqs-too-small", ran.stderr
    assert [path for path, _ in server.asked] == ["/metrics"]


def test_the_address_of_a_server_stands_for_its_metrics(server: Server) -> None:
    assert text(scraping.scrapes([server.address])[0]) == QUEUE


def test_an_address_that_is_given_twice_is_read_again_later(server: Server) -> None:
    server.texts = [scrape(), scrape(generated=600_000)]
    first, second = scraping.scrapes([server.address] * 2, pause=0.2)
    assert text(first) == server.texts[0]
    head, _, rest = text(second).partition("\n")
    assert head.startswith("# 0.2 s after the scrape before")
    assert rest == server.texts[1]


def test_a_password_goes_to_the_server_and_nowhere_else(server: Server) -> None:
    address = server.address.replace("http://", "http://me:secret@")
    assert scraping.scrapes([address])[0].name == server.address
    assert server.asked == [("/metrics", "Basic bWU6c2VjcmV0")]
    with pytest.raises(InputError) as refused:
        scraping.scrapes([f"{address}/nothing"])
    assert "secret" not in str(refused.value)
    assert "404" in str(refused.value)


def test_a_server_that_takes_too_long_is_given_up(server: Server) -> None:
    begun = time.monotonic()
    with pytest.raises(InputError, match="does not answer within 3 s"):
        scraping.scrapes([f"{server.address}/slow"])
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/metrics", "http://", "http://[", "http://127.0.0.1:99999", "https://127.0.0.1:1"]
)
def test_what_cannot_be_read_is_one_sentence_and_exit_code_2(kb: Kb, address: str) -> None:
    ran = kb("query", "--metrics", address)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.count(b"\n") == 1
    assert b"http" in ran.stderr


def test_no_address_is_opened_that_was_not_given(kb: Kb, server: Server) -> None:
    kb("query", f"requests hang, see {server.address}/metrics", "--command", f"vllm serve m --host {server.address}")
    assert server.asked == []

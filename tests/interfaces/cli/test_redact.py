"""`kb redact` streams a text without names and secrets; no answer of `kb query` repeats a credential it was given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Kb, Ran

SECRET = "hf_Zy1xWv2uTs3rQp4oNm5lKj6iHg7f"  # what no output may hold
REFUSAL = (
    "ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (5.2 GiB). Based on the available memory, the estimated "
    "maximum model length is 42672."
)


def test_a_file_and_standard_input_are_redacted_alike(kb: Kb, tmp_path: Path) -> None:
    content = f"/home/alice/x 10.0.0.7 {SECRET}\nvllm 0.11.0 from 10.0.0.7\n".encode()
    (tmp_path / "a.log").write_bytes(content)
    expected = b"/home/<user-1>/x <address-1> ****\nvllm 0.11.0 from <address-1>\n"
    for ran in (kb("redact", "a.log"), kb("redact", "-", stdin=content), kb("redact", stdin=content)):
        assert (ran.returncode, ran.stdout) == (0, expected)
        assert ran.stderr == b"kb redact: taken out: 1 credentials, 1 addresses, 1 user names\n"


def test_a_text_without_anything_to_hide_stays_byte_for_byte(kb: Kb) -> None:
    content = b"INFO vllm serve m --tensor-parallel-size 2\r\n\xff\xfe no text\n\n last line"
    ran = kb("redact", stdin=content)
    assert (ran.returncode, ran.stdout) == (0, content)
    assert ran.stderr == b"kb redact: nothing had to be taken out\n"


def test_an_empty_text_is_no_error(kb: Kb) -> None:
    ran = kb("redact", stdin=b"")
    assert (ran.returncode, ran.stdout) == (0, b"")


def test_lines_come_out_before_the_stream_ends_and_a_closed_reader_ends_it(shell: Callable[[str], Ran]) -> None:
    ran = shell("yes 'at 10.0.0.1' | head -c 30000000 | kb redact 2>err | head -1; cat err")
    assert (ran.stdout, ran.stderr) == (b"at <address-1>\n", b"")


@pytest.mark.parametrize("path", ["absent.log", "."])
def test_a_file_that_cannot_be_read_is_refused(kb: Kb, path: str) -> None:
    ran = kb("redact", path)
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)


def test_a_terminal_is_not_steered(terminal: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"\x1b[31mred at 10.0.0.1\n")
    _code, seen = terminal("redact", "a.log")
    assert "\\x1b[31mred at <address-1>" in seen


# -- every answer

PLAIN = "correcthorsebattery"  # a credential that only its name gives away
LEAKS = [
    f"vllm serve m --api-key {PLAIN}",
    f"VLLM_API_KEY={PLAIN}",
    f"'api_key': ['{PLAIN}']",
    f"x-api-key: {PLAIN}",
    f"vllm serve m --api-key {SECRET} --hf-token {SECRET}",
    f"export HF_TOKEN={SECRET}",
    f"Authorization: Bearer {SECRET}",
    f"https://bob:{SECRET}@internal.example.com/simple",
    f"'api_key': ['{SECRET}']",
    f"password={SECRET}",
    f'{{"token": "{SECRET}"}}',
    SECRET,
]


FORMS = ("text", "markdown", "json")


@pytest.mark.parametrize("given", LEAKS)
def test_no_credential_of_a_log_or_a_complaint_comes_out(kb: Kb, tmp_path: Path, given: str) -> None:
    log = [
        f"INFO [utils.py:233] non-default args: {{'model': 'm', {given}, 'max_model_len': 131072}}",
        f"{REFUSAL} {given}",
        f"RuntimeError: strange failure {given}",
        f"OSError: {given} is not a local folder and is not a valid model identifier",
        f"vllm serve: error: unrecognized arguments: {given}",
    ]
    (tmp_path / "a.log").write_text("\n".join(log))
    words = f"out of memory at startup with {given} and it hangs"
    runs: list[tuple[str, ...]] = [("--format", form, "--log", "a.log", "--", words) for form in FORMS]
    runs += [("--json", "--", text) for text in (words, f"{words}\n{log[1]}\n{log[2]}", log[2], log[3], log[4])]
    for arguments in runs:
        ran = kb("query", "--explain", *arguments)
        assert ran.returncode in (0, 1), ran.stderr
        assert not any(secret in (ran.stdout + ran.stderr).decode() for secret in (SECRET, PLAIN))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", [SECRET, PLAIN])
def test_no_credential_of_a_command_comes_out(kb: Kb, tmp_path: Path, secret: str, form: str) -> None:
    (tmp_path / "a.log").write_text(REFUSAL)
    image = "vllm/vllm-openai:v0.11.0"
    for command in (
        f"HF_TOKEN={secret} vllm serve m --max-model-len 131072 --api-key {secret}",
        f"docker run -e HF_TOKEN={secret} {image} --model m --max-model-len 131072 --api-key={secret}",
        f"vllm serve m --max-model-len 131072 --api-key '{secret}' --ssl-keyfile-password {secret}",
    ):
        ran = kb("query", "--log", "a.log", "--command", command, "--format", form, "--explain")
        assert ran.returncode == 0, ran.stderr
        assert secret not in ran.stdout.decode()
        assert "42672" in ran.stdout.decode()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", [SECRET, PLAIN])
@pytest.mark.parametrize("words", [REFUSAL, "401 unauthorized, the model is gated", "api key rejected with 401"])
def test_no_credential_of_a_context_comes_out(kb: Kb, tmp_path: Path, words: str, secret: str, form: str) -> None:
    (tmp_path / "c.yaml").write_text(
        f"args: {{api-key: {secret}, max-model-len: 131072, hf-token: {secret}}}\n"
        f"env: {{HF_TOKEN: {secret}, VLLM_API_KEY: {secret}}}\n"
        f"model: m\nother: 'token: {secret} Authorization: Bearer {secret}'\n"
    )
    stated = ("--context", "c.yaml", "--fact", f"env.MY_SECRET={secret}", "--format", form, "--explain")
    ran = kb("query", *stated, "--", words)
    assert ran.returncode in (0, 1), ran.stderr
    assert secret not in (ran.stdout + ran.stderr).decode()

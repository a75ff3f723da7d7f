"""Both kinds of error of redaction have fixtures: what must go, and what must stay since answers need it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.redact import MASK, mask
from engine.redactor import Redactor, redact

CREDENTIALS = [
    ("vllm serve m --api-key sk-abcdef1234567890", "sk-abcdef1234567890"),
    ("vllm serve m --api-key=mysecretword --port 1", "mysecretword"),
    ("vllm serve m --api-key 'two words'", "two words"),
    ("vllm serve m --ssl-keyfile-password hunter2x", "hunter2x"),
    ("non-default args: {'api_key': ['token-abc123', 'other456'], 'port': 8000}", "other456"),
    ("docker run -e HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrSt vllm/vllm-openai", "hf_AbCdEfGhIjKlMnOpQrSt"),
    ("HUGGING_FACE_HUB_TOKEN=abcdefgh", "abcdefgh"),
    ("hf auth login --token hf_zzzz1234zzzz", "hf_zzzz1234zzzz"),
    ("token hf_qwertyuiop1234 was rejected", "hf_qwertyuiop1234"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI"),
    ("AWS_ACCESS_KEY_ID: AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("curl -H 'Authorization: Bearer abc.def.ghi' http://x", "abc.def.ghi"),
    ('{"authorization": "Bearer abcdefgh12"}', "abcdefgh12"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("x-api-key: 0123456789abcdef", "0123456789abcdef"),
    ("Cookie: session=abc123; csrftoken=def456", "def456"),
    ("git clone https://oauth2:glpat-abcdefghijklmnop@gitlab.com/a/b", "glpat-abcdefghijklmnop"),
    ("pip install --extra-index-url https://bob:p4ssw0rd@pypi.example.com/simple", "p4ssw0rd"),
    ("redis://:s3cr3tpass@cache:6379/0", "s3cr3tpass"),
    ("https://0123456789abcdef0123456789abcdef01234567@github.com/a/b", "0123456789abcdef0123456789abcdef"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijkl"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "github_pat_11ABCDEFG0"),
    ("xoxb-123456789012-abcdefghij", "xoxb-123456789012"),
    ("nvapi-abcdefghijklmnopqrstuvwx", "nvapi-abcdefghijkl"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdef", "eyJzdWIiOiIxIn0"),
    ("GET /v1/models?api_key=abcdef123&x=1", "abcdef123"),
    ("https://cdn/x?X-Amz-Signature=0123456789abcdef0123456789abcdef", "0123456789abcdef"),
    ("password: correcthorse", "correcthorse"),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabcd\n-----END RSA PRIVATE KEY-----", "MIIEabcd"),
    ('{"key": "-----BEGIN PRIVATE KEY-----\\nMIIEabcd\\n-----END PRIVATE KEY-----\\n"}', "MIIEabcd"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nMIIEabcd\n", "MIIEabcd"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), CREDENTIALS)
def test_a_credential_goes_wherever_text_is_shown(text: str, secret: str) -> None:
    assert secret not in mask(text)
    assert MASK in mask(text)
    assert secret not in redact(text).text
    assert dict(redact(text).counts)["credential"] >= 1


STAYS = [
    "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768 --tensor-parallel-size 2 --api-key $API_KEY",
    "torch==2.9.0+cu129 nvidia-curand-cu12==10.3.5.147 vllm 0.11.0",
    "nvidia-curand-cu12        10.3.2.106",
    "Downloading nvidia_curand_cu12-10.3.5.147-py3-none-manylinux2014_x86_64.whl",
    "max_tokens=4096, prompt_tokens: 120, time_per_output_token=0.035",
    '{"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "<|endoftext|>", "bos_token": "BOSBOS"}',
    "vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 5",
    "ModuleNotFoundError: No module named 'hf_transfer'; HF_HUB_ENABLE_HF_TRANSFER=1",
    "--hf-overrides '{\"a\": 1}' hf_overrides",
    "the HF_TOKEN environment variable is not set, api_key: None",
    "def login(token: str, password: Optional[str] = None)",
    "secretKeyRef:\n  name: hf-token-secret\n  key: token",
    "secret:\n  secretName: hf-token-secret",
    "cat: /etc/passwd: Permission denied",
    "task-scheduler-main disk-usage-monitor",
    "Bearer authentication is required",
    "https://huggingface.co/meta-llama/Llama-3.1-8B/resolve/main/config.json",
    "http://localhost:8000/v1/chat/completions 127.0.0.1:8000 0.0.0.0:8000",
    "git@github.com:vllm-project/vllm.git https://github.com/vllm-project/vllm",
    "File \"/usr/lib/python3.12/threading.py\", line 5, in threading.local",
    "/home/user/venv/lib/python3.11 /root/.cache /home/vllm/x",
    "GPU 0000:3b:00.0 uuid GPU-6f9b2c1e-1111-2222-3333-444455556666 12:34:56.789",
    "image vllm/vllm-openai@sha256:0123456789abcdef0123456789abcdef",
    "s3://models/llama gs://bucket/x NCCL 2.21.5 driver 550.54.15 8.8.8.8",
    "hostname resolution failed for MASTER_ADDR is not set",
    "WARNING: token 5 of 10; tokenizer=Qwen/Qwen2.5-7B tokenizer_mode=auto",
]  # fmt: skip


@pytest.mark.parametrize("text", STAYS)
def test_versions_models_flags_and_public_hosts_stay(text: str) -> None:
    assert redact(text).text == text
    assert mask(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alice.b@example.com wrote", "<e-mail-1> wrote"),
        ('File "/home/alice/venv/x.py"', 'File "/home/<user-1>/venv/x.py"'),
        (r"C:\Users\Bob\models", r"C:\Users\<user-1>\models"),
        ("/Users/carol/x /home/carol/y", "/Users/<user-1>/x /home/<user-1>/y"),
        ("USER=dave HOME=/home/dave", "USER=<user-1> HOME=/home/<user-1>"),
        ("10.0.0.5:1, 192.168.1.7, 172.20.3.4, 10.0.0.5", "<address-1>:1, <address-2>, <address-3>, <address-1>"),
        ("169.254.1.1 100.64.0.1 fd00:12::1 fe80::1%eth0", "<address-1> <address-2> <address-3> <address-4>"),
        ("http://gpu1.corp.internal:8000/v1", "http://<host-1>:8000/v1"),
        ("vllm-0.vllm.default.svc.cluster.local", "<host-1>"),
        ("http://vllm.internal:8000", "http://<host-1>:8000"),
        ("http://gpu-node-3:8000/v1 and gpu-node-3 is down", "http://<host-1>:8000/v1 and <host-1> is down"),
        ("MASTER_ADDR=node-17\nping node-17", "MASTER_ADDR=<host-1>\nping <host-1>"),
        ("erin@gpu-01:~/vllm$ vllm serve", "<user-1>@<host-1>:~/vllm$ vllm serve"),
        ("[root@gpu-01 ~]# nvidia-smi", "[root@<host-1> ~]# nvidia-smi"),
        ("ip-10-0-1-2.ec2.internal", "<host-1>"),
    ],
)  # fmt: skip
def test_people_private_addresses_and_internal_hosts_get_stable_placeholders(text: str, expected: str) -> None:
    assert redact(text).text == expected
    assert mask(text) == text


def test_what_was_taken_out_is_counted() -> None:
    found = redact("api_key=abcdef and api_key=ghijkl at 10.0.0.1, 10.0.0.1, 10.0.0.2")
    assert dict(found.counts) == {"credential": 2, "address": 2}
    assert redact("requests hang").counts == ()


@pytest.mark.parametrize("size", [1, 7, 64, 5_000])
def test_a_stream_is_redacted_as_the_whole_text_is_however_it_is_cut(size: int) -> None:
    text = "\n".join(
        [*(text for text, _secret in CREDENTIALS[:-1]), *STAYS, "10.0.0.1 10.0.0.2", "/home/alice/x", "10.0.0.2"]
    )
    content = text.encode()
    blocks = [content[at : at + size] for at in range(0, len(content), size)]
    assert b"".join(Redactor().stream(blocks)).decode() == redact(text).text


def test_a_private_key_behind_a_log_prefix_goes_whole() -> None:
    body = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7", "c2hvcnQ="]
    lines = ["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----", "Application startup complete."]
    out = redact("\n".join(f"vllm-1 | {line}" for line in lines)).text
    assert not any(part in out for part in body)
    assert "Application startup complete." in out


def test_bytes_that_are_no_text_pass_through() -> None:
    content = b"\xff\xfe 10.0.0.1 \x80\n\xe4\xb8 end"
    assert b"".join(Redactor().stream([content])) == b"\xff\xfe <address-1> \x80\n\xe4\xb8 end"


def test_placeholders_stay_the_same_over_a_long_stream() -> None:
    lines = [f"worker 10.1.{number % 7}.9 says hello\n".encode() * 50 for number in range(700)]
    redactor = Redactor()
    out = b"".join(redactor.stream(lines)).decode()
    assert dict(redactor.counts()) == {"address": 7}
    assert set(out.splitlines()) == {f"worker <address-{number}> says hello" for number in range(1, 8)}


HOSTILE = [
    "a", "a.", "a-", "token", "token=", "api_key", "sk-", "hf_", "eyJ", "eyJ-", "://", "a://", "https://a:", "@", "a@",
    "a@a.", "-----BEGIN PRIVATE KEY-----", "10.", "10.0.0.", "fd00:", "/home/", "secret secret ", "Bearer ", "cookie: ",
    "'", '"', "password='", "[", "token=[", "=", " ", "\t", "a.local", ".local", "-----BEGIN ", "ghp_", "user@host:",
    "node-1 ", "hostname=", "\\n", "A", "é", "authorization:",
]  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_text_takes_time_in_proportion_to_its_length(part: str) -> None:
    def seconds(length: int) -> float:
        text = (part * (length // len(part) + 1))[:length]
        started = time.perf_counter()
        mask(text + " token key -----BEGIN")
        redact(text)
        return time.perf_counter() - started

    seconds(1_000)
    assert min(seconds(200_000) for _ in range(2)) < 2.0


PARTS = st.lists(
    st.sampled_from([*HOSTILE, "\n", "x1", "0", "10.0.0.1", "alice", "/", ":", "hf_abcdefgh1234"]), max_size=60
).map("".join)


@given(PARTS, PARTS)
def test_a_credential_goes_and_no_line_is_added_whatever_stands_around_it(before: str, after: str) -> None:
    secret = "hf_Zy1xWv2uTs3rQp4oNm5l"
    text = f"{before} HF_TOKEN={secret} {after}"
    out = redact(text).text
    assert secret not in mask(text)
    assert secret not in out
    assert out.count("\n") <= text.count("\n")

"""Mutation fuzzing of the whole engine and its renderers: real-looking inputs, spoilt at random, must be answered.

    python -m tests.fuzz.mutate --seconds 240

The corpus is this file's own logs, complaints and commands, the examples of the knowledge base, and the logs of evals/.
A finding is an exception, an answer that takes too long or grows too large, two unequal answers to one input, or a
control character that reaches the text of an answer. Each is printed with the seed that makes it again."""

from __future__ import annotations

import argparse
import random
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import __version__
from engine.diagnose import diagnose
from engine.model import Attachment, Case
from interfaces.render.document import document, json_bytes
from interfaces.render.markdown import markdown
from interfaces.render.text import text as plain_text
from tests.support import real

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.knowledge.store import Knowledge

    Mutation = Callable[[bytes, random.Random], bytes]

SLOWEST = 5.0  # seconds of CPU for one input of a few kilobytes
LARGEST = 1_000_000  # bytes of one rendered answer
ROOT = Path(__file__).parents[2]

COMPLAINTS = [
    "requests hang after an hour under load, Running: 4 reqs, Waiting: 12 reqs",
    "reqeusts hnag",
    "out of memory when I start with --max-model-len 32768 on two A100",
    "CUDA out of memory in docker, vllm 0.11.0, torch 2.9.1+cu128",
    "vllm 0.18 says unrecognized arguments: --swap-space 4",
    "NCCL error in: unhandled system error, docker with 2 gpus",
    "loading the model from huggingface takes forever",
    "请求卡住，一直没反应，日志里 Running: 2 reqs",
    "启动报 KV cache 不够，max-model-len 设成 128k",
    "双卡启动报 NCCL 错误，docker 里没加 --ipc=host",
    "Waiting for free blocks in KV cache",
    "Torch not compiled with CUDA enabled",
    "网关超时 504，nginx 后面的 vllm",
    "the answer is only !!!!!!!!",
    "how do I cook rice",
    "help",
]
COMMANDS = [
    "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768 --gpu-memory-utilization 0.95 -tp 2 2>&1 | tee log",
    "NCCL_P2P_DISABLE=1 CUDA_VISIBLE_DEVICES=0,1 vllm serve /models/m \\\n  --swap-space 4 \\\n  --enforce-eager",
    "docker run --gpus all -e HF_TOKEN=hf_x --ipc=host -p 80:80 vllm/vllm-openai:v0.8.5 --model m --max_num_seqs=64",
    'python -m vllm.entrypoints.openai.api_server --model m --speculative-config \'{"method": "ngram"}\' &',
]
LOG = """\
(APIServer pid=1) INFO 12-01 10:00:00 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=1) INFO 12-01 10:00:00 [utils.py:233] non-default args: {'model_tag': 'm', 'max_model_len': 131072, 'gpu_memory_utilization': 0.9}
(EngineCore_DP0 pid=2) INFO 12-01 10:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='m'
(EngineCore_DP0 pid=2) INFO 12-01 10:00:10 [pynccl.py:111] vLLM is using nccl==2.27.5
(EngineCore_DP0 pid=2) INFO 12-01 10:00:11 [gpu_model_runner.py:2602] Starting to load model m...
(EngineCore_DP0 pid=2) INFO 12-01 10:00:31 [gpu_worker.py:298] Available KV cache memory: 5.20 GiB
(EngineCore_DP0 pid=2) ERROR 12-01 10:00:32 [core.py:708] EngineCore failed to start.
(EngineCore_DP0 pid=2) ERROR 12-01 10:00:32 [core.py:708] Traceback (most recent call last):
(EngineCore_DP0 pid=2) ERROR 12-01 10:00:32 [core.py:708]   File "/opt/vllm/v1/engine/core.py", line 699, in run_engine_core
(EngineCore_DP0 pid=2) ERROR 12-01 10:00:32 [core.py:708] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (5.20 GiB). Based on the available memory, the estimated maximum model length is 42592. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
(APIServer pid=1) INFO 12-01 10:05:10 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 3 reqs, Waiting: 7 reqs, GPU KV cache usage: 99.8%, Prefix cache hit rate: 4.0%
(Worker_TP1 pid=9) ERROR 12-01 10:06:00 [w.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.12 GiB is free.
node1:88:88 [0] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)
vllm: error: unrecognized arguments: --swap-space 4
(APIServer pid=1) INFO:     10.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error
openai.NotFoundError: Error code: 404 - {'object': 'error', 'message': 'The model `x` does not exist.', 'code': 404}
"""
ODD = [
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\x1b[31m", b"\x1b]0;x\x07", b"\r", b"\n", b" " * 300, b"9" * 400),
    *(b"'", b'"', b"\\", b"{", b"}", b"%s", b"{log.needed_gib}", b"--", b"-", b"=", b"(pid=", b"ERROR ", b"not "),
    *(b"nan", b"1e999", b"0.0.0"),
    *(odd.encode() for odd in ("\u202e", "İ", "²", "中", "没有")),
]


VALUES: list[Any] = [
    *("²", "", " ", "=x", "--", "half", "-0.03", "$LEN", "0.18.0", "nightly", "serving", "docker", "9" * 400),
    *(None, True, False, 0, -1, 10**30, float("inf"), float("nan"), 1e300, [], [1], {}, {"a": 1}),
]

# -- mutations --------------------------------------------------------------------------------------------------------


def flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def insert(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        data = data[:at] + chance.choice(ODD) + data[at:]
    return data


def cut(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
    return data[:start] + data[end:] if chance.random() < 0.5 else data[start:end]


def repeat(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
    return data[:end] + data[start : min(end, start + 2_000)] * chance.choice([1, 2, 50]) + data[end:]


def shuffle_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def splice(data: bytes, chance: random.Random) -> bytes:
    other = chance.choice(corpus())
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def numbers(data: bytes, chance: random.Random) -> bytes:
    digits = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
    for at in chance.sample(digits, min(len(digits), 5)):
        data = (
            data[:at]
            + chance.choice([b"0", b"9", b"-", b".", b"9" * 12, b"9" * 400, "²".encode(), b""])
            + data[at + 1 :]
        )
    return data


def recode(data: bytes, chance: random.Random) -> bytes:
    return data.decode("utf-8", "replace").encode(
        chance.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "gb18030"])
    )


def one_line(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", chance.choice([b" ", b"", b"\r", b"\\n"]))


MUTATIONS: list[Mutation] = [flip, insert, cut, repeat, shuffle_lines, splice, numbers, recode, one_line]


@cache
def corpus() -> list[bytes]:
    """The seeds: this file's own, the knowledge base's examples, and the logs that evals/ holds."""
    found = [text.encode() for text in (*COMPLAINTS, *COMMANDS, LOG, *LOG.splitlines())]
    for cause in real().ids("cause"):
        entry: Any = real().item("cause", cause)
        found += [text.encode() for kind in ("en", "zh", "log") for text in entry["examples"].get(kind, [])]
    found += [path.read_bytes()[:20_000] for path in sorted((ROOT / "evals").rglob("*.log"))]
    return found


# -- one input --------------------------------------------------------------------------------------------------------


def mutated(chance: random.Random) -> bytes:
    data = chance.choice(corpus())
    for _ in range(chance.choice([0, 1, 1, 2, 3, 5])):
        data = chance.choice(MUTATIONS)(data, chance)[:200_000]
    return data


def context(words: str, chance: random.Random) -> dict[str, Any]:
    """What an operator might state beside the rest, with values that no setting has."""
    flag = chance.choice(["max_model_len", "--gpu-memory-utilization", "-tp", "swap-space", "max_num_seqs", words[:20]])
    fact = chance.choice(["stage", "where", "log.flag", "vllm.version", "args.max-model-len", "says.hang", words[:20]])
    value = chance.choice(VALUES)
    return {
        **({"other": words} if chance.random() < 0.2 else {}),
        **(
            {chance.choice(["vllm_version", "torch", "gpu", "gpu_count", "model"]): value}
            if chance.random() < 0.2
            else {}
        ),
        **({"args": {flag: value}} if chance.random() < 0.2 else {}),
        **({"facts": {fact: value}} if chance.random() < 0.2 else {}),
    }


def made(seed: int) -> Case:
    """The case of that number: the same every time."""
    chance = random.Random(seed)
    words = [
        mutated(chance).decode("utf-8", "surrogateescape" if chance.random() < 0.1 else "replace") for _ in range(3)
    ]
    attachments = [
        Attachment(chance.choice(["-", "a.log"]), [mutated(chance)]) for _ in range(chance.choice([0, 0, 1, 1, 2]))
    ]
    return Case(
        words[0] if chance.random() < 0.7 else "",
        tuple(attachments),
        words[2] if chance.random() < 0.3 else "",
        context(words[1], chance),
        chance.choice(["auto", "auto", "en", "zh"]),
        chance.random() < 0.2,
    )


def fault(seed: int, knowledge: Knowledge) -> str:
    """What is wrong with the answer to that case; "" when nothing is."""
    start = time.process_time()
    try:
        answer = diagnose(made(seed), knowledge)
        plain = document(answer, knowledge, __version__)
        shown = [plain_text(plain, knowledge, 80, False), markdown(plain, knowledge), json_bytes(plain).decode()]
        again = diagnose(made(seed), knowledge)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if time.process_time() - start > SLOWEST:
        return f"took {time.process_time() - start:.1f} s"
    if answer != again:
        return "two answers to one case differ"
    if max(map(len, shown)) > LARGEST:
        return f"an answer of {max(map(len, shown)):,} characters"
    return _unsafe("".join(shown))


def _unsafe(text: str) -> str:
    """The first character that could drive a terminal or turn the direction of writing."""
    for character in text:
        code = ord(character)
        if (
            (code < 32 and character != "\n")
            or 127 <= code < 160
            or 0x202A <= code <= 0x202E
            or 0x2066 <= code <= 0x2069
        ):
            return f"the character {code:#06x} reaches the answer"
    return ""


def run(seconds: float, first: int, most: int = sys.maxsize) -> tuple[int, list[str]]:
    """How many inputs were tried within `seconds`, and the findings."""
    knowledge, end = real(), time.monotonic() + seconds
    findings = []
    seed = first
    while seed - first < most and time.monotonic() < end:
        found = fault(seed, knowledge)
        if found:
            findings.append(f"seed {seed}: {found}")
        seed += 1
    return seed - first, findings


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--first", type=int, default=0, help="seed of the first input")
    asked = parser.parse_args()
    tried, findings = run(asked.seconds, asked.first)
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    sys.stdout.write(f"{tried:,} inputs tried, {len(findings)} findings\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

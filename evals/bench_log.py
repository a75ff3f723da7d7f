"""`python -m evals.bench_log`: `kb log` on a large log beside ripgrep with 300 of its patterns, in paired runs.

The log is made here: one error in 1,000 lines, a statistics line in ten, else requests and debugging lines, so that its
truth is known and every match can be checked. ripgrep gets 300 of the knowledge base's own expressions, once as they
are and once cut down to literals with numbers between, which it finds much faster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from engine.knowledge.store import load
from evals.ask import ROOT, kb

MEGABYTES = 200
PATTERNS = 300
MOST_RATIO = 0.5  # of ripgrep's time
MOST_MEMORY = 150_000  # KiB
ERRORS = {
    "cuda-out-of-memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB",  # noqa: E501
    "kv-tokens-below-max-seq-len": "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (42672). Try increasing `gpu_memory_utilization`",  # noqa: E501
    "address-already-in-use": "OSError: [Errno 98] Address already in use",
    "nccl-error": "RuntimeError: NCCL error: unhandled system error",
}  # fmt: skip


SHORTEST = 14  # characters of an expression that is text and numbers
_TEXT = re.compile(r"(?:[\w ,:;'/=-]|\\[.()]|\(\?:\\d\+\)|\\d\+)+(?![*+?{\w])")


class Run(NamedTuple):
    """One process: seconds from start to end, and its largest memory in KiB."""

    seconds: float
    memory: int


def write_log(path: Path, size: int) -> list[tuple[int, str]]:
    """Writes a log of that many bytes. The result is line and sign of each error in it."""
    chance = random.Random(1)
    truth: list[tuple[int, str]] = []
    written = number = 0
    with path.open("w", encoding="ascii", newline="\n") as file:
        while written < size:
            number += 1
            if number % 1000 == 500:
                sign = chance.choice(list(ERRORS))
                truth.append((number, sign))
                line = f"(EngineCore_DP0 pid=77) ERROR {_time(number)} [core.py:845] {ERRORS[sign]}"
            else:
                line = _statistics(chance, number) if number % 10 == 0 else _ordinary(chance, number)
            written += file.write(f"{line}\n")
    return truth


def _time(number: int) -> str:
    return f"12-01 {number // 360_000:02}:{number // 6_000 % 60:02}:{number // 100 % 60:02}"


def _statistics(chance: random.Random, number: int) -> str:
    return (
        f"(APIServer pid=1) INFO {_time(number)} [loggers.py:127] Engine 000: Avg prompt throughput: {chance.random() * 5000:.1f} "  # noqa: E501
        f"tokens/s, Avg generation throughput: {chance.random() * 2000:.1f} tokens/s, Running: {chance.randrange(64)} reqs, "  # noqa: E501
        f"Waiting: {chance.randrange(8)} reqs, GPU KV cache usage: {chance.random() * 100:.1f}%, Prefix cache hit rate: "  # noqa: E501
        f"{chance.random() * 100:.1f}%"
    )


def _ordinary(chance: random.Random, number: int) -> str:
    kind = chance.randrange(4)
    if kind == 0:
        return f'(APIServer pid=1) INFO:     10.0.{chance.randrange(255)}.7:{chance.randrange(60_000)} - "POST /v1/chat/completions HTTP/1.1" 200 OK'  # noqa: E501
    if kind == 1:
        return (
            f"(APIServer pid=1) INFO {_time(number)} [logger.py:39] Received request chatcmpl-{chance.getrandbits(64):016x}: "  # noqa: E501
            f"params: SamplingParams(n=1, temperature={chance.random():.2f}, max_tokens={chance.randrange(4096)})"
        )
    if kind == 2:
        return f"(EngineCore_DP0 pid=77) INFO {_time(number)} [scheduler.py:412] Scheduled {chance.randrange(99)} sequences in {chance.random():.4f} s"  # noqa: E501
    return f"(Worker_TP{number % 4} pid={80 + number % 4}) DEBUG {_time(number)} [shm_broadcast.py:313] block {chance.randrange(10**6)} read"  # noqa: E501


def expressions(plain: bool) -> list[str]:
    """Expressions of the knowledge base for ripgrep, those of the errors in the log among them. `plain`: of each only
    the text with which it begins, with numbers between."""
    rows = [(name, pattern) for name, pattern, role, _stage in load().section("signs")["signs"] if role != "milestone"]
    chosen = [row for row in rows if row[0] in ERRORS] + [row for row in rows if row[0] not in ERRORS]
    unnamed = [re.sub(r"\(\?P<\w+>", "(?:", pattern) for _name, pattern in chosen]
    begun = [found.group() for pattern in unnamed if (found := _TEXT.match(pattern))]
    return (
        list(dict.fromkeys(text for text in begun if len(text) >= SHORTEST))[:PATTERNS] if plain else unnamed[:PATTERNS]
    )


# -- running ----------------------------------------------------------------------------------------------------------


def run(command: Sequence[str], output: Path) -> Run:
    """One run, its output in a file. Ends the programme when the command fails."""
    with output.open("wb") as file:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=file, stdin=subprocess.DEVNULL, cwd=ROOT)
        _process, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bench_log: {' '.join(command)} ended with exit code {process.returncode}")
    return Run(seconds, usage.ru_maxrss)


def compared(log: Path, patterns: Path, folder: Path, rounds: int) -> Iterator[tuple[Run, Run]]:
    """Pairs of a run of kb and one of ripgrep, in an order that turns. The first pair warms the caches."""
    ours, theirs = [*kb(), "log", "--json", str(log)], ["rg", "-n", "-f", str(patterns), str(log)]
    for number in range(rounds + 1):
        if number % 2:
            one, other = run(ours, folder / "kb.json"), run(theirs, folder / "rg.txt")
        else:
            other, one = run(theirs, folder / "rg.txt"), run(ours, folder / "kb.json")
        if number:
            yield one, other


def faults(found: dict[str, Any], truth: Sequence[tuple[int, str]]) -> list[str]:
    """What kb reported otherwise than it is."""
    seen = {(match["line"], match["sign"]) for match in found["logs"][0]["matches"]}
    wrong = [f"line {line}: {sign} is missing" for line, sign in truth if (line, sign) not in seen]
    first = found["roots"][0]["line"]
    if first != truth[0][0]:
        wrong.append(f"the first failure is in line {truth[0][0]}, reported is {first}")
    return wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints a table; exit code 0 whatever the figures are, 1 when a match is missing."""
    asked = _parser().parse_args(argv)
    if shutil.which("rg") is None:
        print(
            "bench_log: ripgrep (rg) is not installed, so that there is nothing to compare kb log with", file=sys.stderr
        )
        return 0
    print(f"| {PATTERNS} patterns for ripgrep | log | kb log | rg -n -f | ratio | bound | memory | |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as name:
        _measure(Path(name), asked.megabytes // 10, False, 3)  # ripgrep takes minutes for 200 MB
        wrong = _measure(Path(name), asked.megabytes, True, asked.rounds)
    print("\n".join(["", f"{len(wrong)} of the errors in the log reported wrongly", *wrong[:10]]))
    return 1 if wrong else 0


def _measure(folder: Path, megabytes: int, plain: bool, rounds: int) -> list[str]:
    """Prints a row of the table; what kb reported wrongly."""
    log, patterns = folder / "server.log", folder / "patterns"
    truth = write_log(log, megabytes * 1_000_000)
    patterns.write_text("\n".join(expressions(plain)) + "\n", encoding="utf-8")
    print(_row(list(compared(log, patterns, folder, rounds)), plain, megabytes), flush=True)
    return faults(json.loads((folder / "kb.json").read_bytes()), truth)


def _row(pairs: Sequence[tuple[Run, Run]], plain: bool, megabytes: int) -> str:
    ratio = median(ours.seconds / theirs.seconds for ours, theirs in pairs)
    memory = max(ours.memory for ours, _theirs in pairs)
    seconds = [median(pair[which].seconds for pair in pairs) for which in (0, 1)]
    good = ratio <= MOST_RATIO and memory <= MOST_MEMORY
    name = "literals with numbers" if plain else "the knowledge base's own"
    return f"| {name} | {megabytes} MB | {seconds[0]:.2f} s | {seconds[1]:.2f} s | {ratio:.2f} | {MOST_RATIO} | {memory // 1024} MB | {'ok' if good else 'over'} |"  # noqa: E501


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.bench_log", description="Compares kb log with ripgrep.")
    parser.add_argument("--rounds", type=int, default=10, help="paired runs (default 10)")
    parser.add_argument("--megabytes", type=int, default=MEGABYTES, help="size of the log (default 200)")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""`python -m evals.bench`: how long an answer takes, cold and warm, with each engine.

A cold figure is a ratio: the CPU time of a whole process `kb query …` to that of `python -c pass` beside it, so that it
means the same on another machine. Both run in one loop, in an order that turns from round to round, and a ratio is
taken within each round; a busy neighbour then disturbs both. A warm figure is CPU time of `engine.diagnose` in a
process that has answered before, in milliseconds of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from engine.diagnose import diagnose
from engine.errors import KbError
from engine.knowledge.store import load
from engine.model import Attachment, Case
from engine.reason.chain import backend
from evals import article, generated, trial
from evals.ask import ROOT, kb

ENGINES = ("durable", "agenda")
COMPLAINT = "requests hang and the GPU is idle"
TYPO = "reqeusts hnag and the GPU is idel"
LINES = 200
CHARACTERS = 2000

# The most that an answer may take. Cold: the median ratio; warm: median and 95th percentile in milliseconds.
COLD = {"durable": {"complaint": 8.0, "typo": 8.0, "log": 9.5}, "agenda": {"complaint": 5.0, "typo": 5.0, "log": 5.5}}
WARM: dict[str, dict[str, tuple[float, float | None]]] = {
    "durable": {"complaint": (4.0, 6.5), "log": (10.0, None), "words": (5.0, None)},
    "agenda": {"complaint": (2.0, 3.0), "log": (10.0, None), "words": (5.0, None)},
}
NAMES = {
    "complaint": "a complaint",
    "typo": "a complaint with typos",
    "log": f"a log of {LINES} lines",
    "words": f"{CHARACTERS:,} characters of distinct words",
}


class Figure(NamedTuple):
    """One measurement: the samples, and the bounds on their median and their 95th percentile."""

    what: str
    engine: str
    samples: Sequence[float]
    most: float
    most_p95: float | None = None

    @property
    def median(self) -> float:
        return median(self.samples)

    @property
    def p95(self) -> float:
        return sorted(self.samples)[min(len(self.samples) - 1, int(0.95 * len(self.samples)))]

    @property
    def is_over(self) -> bool:
        return self.median > self.most or (self.most_p95 is not None and self.p95 > self.most_p95)


# -- cold -------------------------------------------------------------------------------------------------------------


def cold(rounds: int, engines: Sequence[str]) -> list[Figure]:
    """Whole processes: CPU time in multiples of `python -c pass`, from paired runs."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "server.log")
        log.write_text(logs()[0], encoding="utf-8")
        inputs = {"complaint": [COMPLAINT], "typo": [TYPO], "log": ["--log", str(log)]}
        runs = {
            (engine, what): partial(_cpu, [*kb(), "query", *given], engine)
            for engine in engines
            for what, given in inputs.items()
        }
        return [
            Figure(what, engine, samples, COLD[engine][what])
            for (engine, what), samples in _paired(runs, rounds).items()
        ]


Key = tuple[str, str]


def _paired(runs: Mapping[Key, Callable[[], float]], rounds: int) -> dict[Key, list[float]]:
    """For each run its ratio to the idle interpreter of the same round. The first round warms the caches."""
    ratios: dict[Key, list[float]] = {key: [] for key in runs}
    order = list(runs)
    for number in range(rounds + 1):
        spent = {key: runs[key]() for key in order[number % len(order) :] + order[: number % len(order)]}
        idle = median(_cpu([sys.executable, "-c", "pass"]) for _ in range(3))
        if number:
            for key, seconds in spent.items():
                ratios[key].append(seconds / idle)
    return ratios


def _cpu(command: list[str], engine: str = "") -> float:
    """Seconds of CPU time of one process and what it starts, user and system together. Modules are compiled once, as
    they are in an installation, also where this environment keeps Python from writing them down."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if engine:
        variables["KB_ENGINE"] = engine
    nowhere = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    process = os.posix_spawn(command[0], command, variables, file_actions=nowhere)
    _process, status, usage = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        raise SystemExit(f"bench: {' '.join(command)} ended with exit code {code}")
    return usage.ru_utime + usage.ru_stime


# -- warm -------------------------------------------------------------------------------------------------------------


def warm(rounds: int, engines: Sequence[str]) -> list[Figure]:
    """`engine.diagnose` in one process for each engine: milliseconds of CPU time."""
    figures = []
    for engine in engines:
        ran = subprocess.run(
            [sys.executable, "-m", "evals.bench", "--warm-samples", "--rounds", str(rounds)],
            cwd=ROOT, env={**os.environ, "KB_ENGINE": engine}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        for what, samples in json.loads(ran.stdout).items():
            most, most_p95 = WARM[engine][what]
            figures.append(Figure(what, engine, samples, most, most_p95))
    return figures


def warm_samples(rounds: int) -> dict[str, list[float]]:
    """Milliseconds for each kind of input, with the engine that KB_ENGINE names. Each kind has many different inputs,
    and every one is answered once before it counts."""
    knowledge = load()
    cases = {
        "complaint": [Case(words) for words in complaints()],
        "log": [Case(attachments=(Attachment("server.log", [log.encode()]),)) for log in logs()],
        "words": [Case(words) for words in texts()],
    }
    samples: dict[str, list[float]] = {}
    for what, of_kind in cases.items():
        for case in of_kind:
            diagnose(case, knowledge)
        often = max(1, rounds * 10 // len(of_kind))
        samples[what] = [_took(partial(diagnose, case, knowledge)) for _ in range(often) for case in of_kind]
    return samples


def _took(work: Callable[[], object]) -> float:
    before = time.process_time_ns()
    work()
    return (time.process_time_ns() - before) / 1e6


# -- inputs -----------------------------------------------------------------------------------------------------------


def complaints() -> list[str]:
    """Every complaint of the cases and of the article, each once."""
    asked = [one.complaint for one in trial.load()] + [one.trial.complaint for one in article.questions()]
    return sorted({words for words in asked if words})


def logs() -> list[str]:
    """The last 200 lines of each real log that has as many."""
    whole = {log for one in trial.load() if one.group == "reallog, log only" for log in one.logs}
    return sorted("\n".join(log.splitlines()[-LINES:]) for log in whole if len(log.splitlines()) >= LINES)


def texts() -> list[str]:
    """Ten texts of made-up words, none of which comes twice or means anything."""
    return [_text(random.Random(seed)) for seed in range(10)]


def _text(chance: random.Random) -> str:
    words: dict[str, None] = {}
    while sum(len(word) + 1 for word in words) < CHARACTERS:
        words["".join(_letters(chance, chance.randint(4, 9)))] = None
    return " ".join(words)[:CHARACTERS]


def _letters(chance: random.Random, count: int) -> Iterator[str]:
    for number in range(count):
        yield chance.choice("bcdfghklmnprstvw" if number % 2 else "aeiou")


# -- report -----------------------------------------------------------------------------------------------------------


def report(cold_figures: Sequence[Figure], warm_figures: Sequence[Figure]) -> str:
    """Both tables as Markdown."""
    return "\n".join([*_cold_rows(cold_figures), "", *_warm_rows(warm_figures)]) + "\n"


def _cold_rows(figures: Sequence[Figure]) -> Iterator[str]:
    yield "| whole process, times `python -c pass` | engine | median | p95 | bound | |"
    yield "|---|---|---:|---:|---:|---|"
    for one in figures:
        yield _row(one, f"{one.median:.1f}", f"{one.p95:.1f}", f"{one.most:g}")


def _warm_rows(figures: Sequence[Figure]) -> Iterator[str]:
    yield "| `engine.diagnose`, warm, CPU time | engine | median | p95 | bound | |"
    yield "|---|---|---:|---:|---:|---|"
    for one in figures:
        bound = f"{one.most:g} ms" + (f", p95 {one.most_p95:g} ms" if one.most_p95 else "")
        yield _row(one, f"{one.median:.2f} ms", f"{one.p95:.2f} ms", bound)


def _row(one: Figure, *numbers: str) -> str:
    verdict = "over" if one.is_over else "ok"
    return f"| {NAMES[one.what]} | {one.engine} | {' | '.join(numbers)} | {verdict} |"


def circumstances(rounds: int) -> str:
    """What the figures depend on, in a sentence."""
    return (
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {rounds} rounds, "
        f"{len(load().ids('cause'))} causes.\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; writes the tables into README.md with --write. Exit code 0 whatever the figures are."""
    asked = _parser().parse_args(argv)
    if asked.warm_samples:
        print(json.dumps(warm_samples(asked.rounds)))
        return 0
    engines = [engine for engine in ENGINES if _loads(engine)]
    tables = report(cold(asked.rounds, engines), warm(asked.rounds, engines)) + "\n" + circumstances(asked.rounds)
    print(tables, end="")
    if asked.write:
        generated.put(ROOT / "README.md", "bench", tables)
    return 0


def _loads(engine: str) -> bool:
    try:
        backend(engine)
    except KbError as error:
        print(f"bench: {error}", file=sys.stderr)
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.bench", description="Measures cold and warm times.")
    parser.add_argument("--rounds", type=int, default=60, help="paired runs of each process (default 60)")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    parser.add_argument("--warm-samples", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())

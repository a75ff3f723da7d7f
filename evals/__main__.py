"""`python -m evals`: scores kb on the labelled cases and writes the table into evals/README.md.

Runs in this process and takes seconds. Exit code 0 always, except for a knowledge base that cannot be read: the figures
are for people to judge, and tests hold what must not slip.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.errors import KbError
from engine.knowledge.store import Knowledge, load
from evals import ask, calibration, generated, trial
from evals.score import Judgement, harmless, judge
from evals.table import table

README = Path(__file__).with_name("README.md")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what the arguments say; prints figures on standard output and talk on standard error."""
    asked = _parser().parse_args(argv)
    try:
        knowledge = load()
    except KbError as error:
        print(f"evals: {error}", file=sys.stderr)
        return error.exit_code
    trials = trial.load()
    if asked.fit_calibration:
        chosen = trials if asked.all else trial.held(trials, knowledge.ids("cause"))
        print(calibration.report(chosen, knowledge), end="")
        return 0
    started = time.perf_counter()
    judgements = _judged(trials, knowledge, asked.through_cli)
    figures = table(judgements, areas(knowledge), asked.all)
    print(f"{figures}\n{_misses(judgements, asked.misses)}", end="")
    print(f"{len(trials)} trials in {time.perf_counter() - started:.1f} s", file=sys.stderr)
    if not (asked.all or asked.through_cli) and generated.put(README, "evals", figures):
        print(f"evals: {README.name} has new figures", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals", description="Scores kb on the labelled cases.")
    parser.add_argument("--all", action="store_true", help="count cases of causes that kb lacks as well")
    parser.add_argument("--through-cli", action="store_true", help="the same through the command line; takes minutes")
    parser.add_argument("--misses", type=int, default=0, metavar="N", help="list the first N trials that went wrong")
    parser.add_argument("--fit-calibration", action="store_true", help="print a table for kb/weights.yaml")
    return parser


def _judged(trials: Sequence[trial.Trial], knowledge: Knowledge, through_cli: bool) -> list[Judgement]:
    no_fix = harmless(knowledge)
    if not through_cli:
        return [judge(one, ask.in_process(one, knowledge), no_fix) for one in trials]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda one: ask.through_cli(one, Path(folder)), trials)
        return [judge(one, answer, no_fix) for one, answer in zip(trials, answers, strict=True)]


def areas(knowledge: Knowledge) -> dict[str, str]:
    """The area of each cause."""
    return {cause: str((knowledge.item("cause", cause) or {})["area"]) for cause in knowledge.ids("cause")}


def _misses(judgements: Sequence[Judgement], most: int) -> str:
    missed = [one for one in judgements if not one.passed]
    return "".join(f"{_miss(one)}\n" for one in missed[:most])


def _miss(one: Judgement) -> str:
    wanted = one.trial.accept[0] if one.trial.accept else " or ".join(one.trial.statuses)
    got = ", ".join(one.causes[:3]) or "nothing"
    return f"{one.trial.name} ({one.trial.group}): wanted {wanted}; {one.error or one.status} {one.confidence}: {got}"


if __name__ == "__main__":
    sys.exit(main())

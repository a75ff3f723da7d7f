"""Puts a trial to kb, in this process or through the command line, and gives back the JSON object of the answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from engine import __version__
from engine.diagnose import diagnose
from engine.knowledge.store import Knowledge
from engine.model import Attachment, Case
from evals.trial import Trial
from interfaces.cli.query import EXIT_CODES
from interfaces.render.document import document

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("vllm_version", "vllm", "torch", "driver")

Answer = dict[str, Any]


def in_process(trial: Trial, knowledge: Knowledge) -> Answer:
    """The answer as `kb query --json` would print it."""
    logs = tuple(Attachment(f"{number}.log", [log.encode("utf-8")]) for number, log in enumerate(trial.logs))
    case = Case(trial.complaint, logs, trial.command, _stated(trial.context))
    return document(diagnose(case, knowledge), knowledge, __version__)


def _stated(context: Mapping[str, Any] | None) -> dict[str, Any]:
    """The context as the command line reads it: 0.9 under a version is a version and no number."""
    stated = dict(context or {})
    return {key: str(value) if key in VERSIONS and isinstance(value, float) else value for key, value in stated.items()}


def through_cli(trial: Trial, folder: Path) -> Answer:
    """The answer of the command `kb`, its files under `folder`; {"error": …} where exit code and output do not fit."""
    place = folder / trial.name
    place.mkdir()
    command = [*kb(), "query", "--json"]
    if trial.command:
        command += ["--command", trial.command]
    for number, log in enumerate(trial.logs):
        (place / f"{number}.log").write_text(log, encoding="utf-8")
        command += ["--log", str(place / f"{number}.log")]
    if trial.context:
        (place / "context.yaml").write_text(yaml.safe_dump(dict(trial.context), allow_unicode=True), encoding="utf-8")
        command += ["--context", str(place / "context.yaml")]
    ran = subprocess.run(
        [*command, *(["--", trial.complaint] if trial.complaint else [])],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return _checked(ran)


def _checked(ran: subprocess.CompletedProcess[bytes]) -> Answer:
    try:
        answer: Answer = json.loads(ran.stdout)
    except ValueError:
        return {"error": f"exit {ran.returncode}: {ran.stderr.decode(errors='replace')[:300]}"}
    if EXIT_CODES.get(answer["status"]) != ran.returncode:
        return {"error": f"status {answer['status']!r} with exit {ran.returncode}"}
    return answer


def kb() -> list[str]:
    """The command of this environment: the console script, or what it does where there is none."""
    script = Path(sys.executable).with_name("kb")
    if script.exists() and os.access(script, os.X_OK):
        return [str(script)]
    return [sys.executable, "-c", "from interfaces.cli.main import run; run()"]

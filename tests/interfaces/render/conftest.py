"""Answers made by hand over the real knowledge base: what a renderer shows does not depend on how it was reasoned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.knowledge.store import Knowledge, load
from engine.model import (
    Answer,
    Change,
    CorrectedCommand,
    Evidence,
    Fix,
    Origin,
    RankedCause,
    RuledOut,
    SeenSymptom,
    Step,
)

if TYPE_CHECKING:
    from engine.model import Language

GENERAL = "what-goes-wrong"
KV_CACHE = "kv-cache-smaller-than-max-model-len"
SHARED_MEMORY = "docker-shm-too-small"
MESSAGE = (
    "ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (5.2 GiB)."
)
COMMAND = "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-model-len {length}"


class Answers:
    """One answer of each kind, in either language."""

    kv_cache, shared_memory = KV_CACHE, SHARED_MEMORY
    command = COMMAND

    def __init__(self) -> None:
        self.log_line = Evidence(Origin("log", MESSAGE, "log:212", 0, 212), "decisive")
        self.words = Evidence(Origin("complaint", "OOM at startup", "words:1", words=(1, 3)), "some")

    def claimed(self, lang: Language) -> Answer:
        """A confirmed cause with values, a corrected command, another suspect, one ruled out, and the trace."""
        length = Change("flag", "--max-model-len", "131072", "42672")
        fixes = (
            Fix("max-model-len-to-the-estimate", (length,), {}),
            Fix("kv-cache-in-fp8", (Change("flag", "--kv-cache-dtype", None, "fp8"),), {}),
            Fix(
                "more-memory-for-vllm",
                (Change("flag", "--gpu-memory-utilization", "0.90", "0.93"),),
                {},
                (SHARED_MEMORY,),
            ),
        )
        steps = (
            Step("symptom:out-of-memory", "symptom.out-of-memory.0", ("says:oom",), 1),
            Step(f"cause:{KV_CACHE}", f"cause.{KV_CACHE}.3", ("symptom:out-of-memory", "not-test:stage.is.serving"), 2),
        )
        return Answer(
            lang,
            "answered",
            (SeenSymptom("out-of-memory", 1.0, (self.words,)),),
            (
                RankedCause(KV_CACHE, 0.913, "confirmed", (self.log_line, self.words), (), fixes),
                RankedCause("max-model-len-too-large", 0.04, "possible", (self.words,), ()),
            ),
            (
                RuledOut(
                    SHARED_MEMORY, (Evidence(Origin("answer", "where = bare-metal", "answer:where"), "rules_out"),)
                ),
            ),
            CorrectedCommand(COMMAND.format(length=131072), COMMAND.format(length=42672), (length,)),
            None,
            (("engine-core-init-failed", ""),),
            ("version",),
            steps,
        )

    def suspected(self, lang: Language) -> Answer:
        """Suspicions only, with something against the first, and a fix that changes the container."""
        ipc = Fix("ipc-host", (Change("infra", "docker --ipc", None, "host"),), {})
        one_gpu = Evidence(Origin("command", "--tensor-parallel-size 1", "command:tp"), "against")
        collective = Evidence(Origin("complaint", "NCCL error", "words:1", words=(1, 2)), "weak")
        return Answer(
            lang,
            "answered",
            (SeenSymptom("collective-fails", 0.7, (collective,)),),
            (
                RankedCause(SHARED_MEMORY, 0.31, "possible", (collective,), (one_gpu,), (ipc,)),
                RankedCause("gpu-p2p-broken", 0.22, "possible", (collective,), ()),
            ),
            missing=("log", "command"),
        )

    def needs_more(self, lang: Language) -> Answer:
        """A bare cry for help: the general question, and what would help."""
        said = (("server-fails", "it does not start"),)
        return Answer(lang, "needs_more", question=GENERAL, understood=said, missing=("log", "stage"))

    def unknown(self, lang: Language) -> Answer:
        return Answer(lang, "unknown")

    def healthy(self, lang: Language) -> Answer:
        return Answer(lang, "healthy", understood=(("engine-core-init-failed", ""),))

    def with_evidence(self, text: str, lang: Language = "en") -> Answer:
        """Everything that comes from outside is `text`."""
        seen = Evidence(Origin("log", text, "log:1", 0, 1), "strong")
        change = Change("flag", text, text, text)
        cause = RankedCause(KV_CACHE, 0.6, "likely", (seen,), (seen,), (Fix("kv-cache-in-fp8", (change,), {}),))
        command = CorrectedCommand(text, text, (change,))
        out = RuledOut(SHARED_MEMORY, (seen,))
        return Answer(lang, "answered", (), (cause,), (out,), command, None, (("words", text),), (), None)


@pytest.fixture(scope="session")
def answers() -> Answers:
    return Answers()


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    return load()

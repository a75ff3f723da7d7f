"""All that belongs to one trouble becomes facts with their places; role and time tell which of them count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.model import Attachment, Case
from engine.observe.case import HEAD, Observation, language, observe
from tests.support import attached, case, mini, values

if TYPE_CHECKING:
    from engine.model import Fact

SERVER = "(APIServer pid=1) INFO 12-01 10:00:00 [api_server.py:1] vLLM API server version 0.15.0\n"
ARGUMENTS = "INFO 12-01 10:00:00 [utils.py:1] non-default args: {'max_model_len': 4096, 'enforce_eager': True}\n"
LOADING = "(EngineCore_DP0 pid=2) INFO 12-01 10:00:01 [gpu_model_runner.py:1] Starting to load model m...\n"
SERVING = "(APIServer pid=1) INFO:     Application startup complete.\n"
OOM = "(EngineCore_DP0 pid=2) ERROR 12-01 10:00:05 [core.py:9] torch.OutOfMemoryError: CUDA out of memory.\n"
DEAD = "(APIServer pid=1) ERROR 12-01 10:00:09 [async_llm.py:9] vllm.v1.engine.exceptions.EngineDeadError\n"
SHUTDOWN = "(APIServer pid=1) INFO 12-01 11:00:00 [launcher.py:1] Shutting down FastAPI HTTP server.\n"
UNKNOWN = "(EngineCore_DP0 pid=2) ERROR 12-01 10:00:05 [core.py:9] KeyError: 'model.layers.0'\n"
STALLED = "INFO 12-01 10:00:10 [l.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs\n"


def seen(text: str = "", *logs: str | bytes, command: str = "", **context: object) -> Observation:
    return observe(case(text, *logs, command=command, **context), mini())


def one(observation: Observation, name: str) -> Fact:
    (fact,) = [fact for fact in observation.facts if fact.name == name]
    return fact


# -- logs -------------------------------------------------------------------------------------------------------------


def test_a_sign_knows_its_file_and_line() -> None:
    observation = observe(Case(attachments=(attached(SERVER), attached(SERVER + LOADING + OOM))), mini())
    fact = one(observation, "sign.cuda-out-of-memory")
    assert (fact.origin.kind, fact.origin.file, fact.origin.line) == ("log", 1, 3)
    assert fact.origin.text == "torch.OutOfMemoryError: CUDA out of memory."


def test_the_first_failure_counts_and_later_ones_are_near() -> None:
    later = "(EngineCore_DP0 pid=2) ERROR 12-01 10:00:09 [core.py:9] unrecognized arguments: --x\n"
    observation = seen("", OOM + "frame\n" * 5 + later)
    assert one(observation, "sign.cuda-out-of-memory").grade == "exact"
    assert one(observation, "sign.unrecognized-arguments").grade == "near"
    turned = seen("", later + "frame\n" * 5 + OOM)
    assert one(turned, "sign.cuda-out-of-memory").grade == "near"


def test_lines_of_one_message_count_as_one_failure() -> None:
    message = "16.0 GiB KV cache is needed, which is larger than 5\nestimated maximum model length is 9\n"
    observation = seen("", message)
    assert {fact.grade for fact in observation.facts if fact.name.startswith("sign.")} == {"exact"}


def test_a_warning_weighs_less_than_an_error_after_it() -> None:
    warning = "WARNING 12-01 10:00:00 [x.py:1] CUDA out of memory was caught, trying again\n"
    error = "ERROR 12-01 10:00:09 [x.py:1] unrecognized arguments: --x\n"
    observation = seen("", warning + error)
    assert one(observation, "sign.cuda-out-of-memory").grade == "near"
    assert one(observation, "sign.unrecognized-arguments").grade == "exact"


def test_a_failure_has_the_stage_that_was_announced_before_it() -> None:
    assert values(seen("", SERVER + LOADING + OOM).facts, "stage") == ["loading"]
    assert values(seen("", SERVER + LOADING + SERVING + OOM).facts, "stage") == ["serving"]
    assert values(seen("", OOM).facts, "stage") == []
    assert values(seen("", SERVER + LOADING + SERVING).facts, "stage") == []


def test_aftermath_is_a_fact_as_long_as_nobody_asked_for_the_end() -> None:
    names = {fact.name for fact in seen("", SERVER + SERVING + DEAD).facts}
    assert "sign.engine-dead" in names
    stopped = {fact.name for fact in seen("", SERVER + SERVING + SHUTDOWN + DEAD).facts}
    assert "sign.engine-dead" not in stopped
    assert "log.shutdown_requested" in stopped


def test_errors_after_a_shutdown_are_harmless_until_the_next_start() -> None:
    stopped = SERVER + LOADING + SERVING + SHUTDOWN
    assert values(seen("", stopped + UNKNOWN).facts, "log.unexplained_error") == []
    again = stopped + SERVING + DEAD + SERVER + LOADING + UNKNOWN
    assert values(seen("", again).facts, "log.unexplained_error") == ["KeyError: 'model.layers.0'"]
    assert "sign.engine-dead" not in {fact.name for fact in seen("", again).facts}


def test_an_error_that_nothing_explains_is_a_fact() -> None:
    fact = one(seen("", SERVER + LOADING + UNKNOWN), "log.unexplained_error")
    assert (fact.value, fact.origin.line) == ("KeyError: 'model.layers.0'", 3)


def test_how_far_a_log_came_is_a_fact() -> None:
    came_up = {fact.name for fact in seen("", SERVER + ARGUMENTS + LOADING + SERVING).facts}
    assert came_up >= {"log.startup_complete", "log.read_whole"}
    assert "log.ends_in_startup" not in came_up
    stopped = {fact.name for fact in seen("", SERVER + ARGUMENTS + LOADING).facts}
    assert "log.ends_in_startup" in stopped
    assert "log.ends_in_startup" not in {fact.name for fact in seen("", SERVER + LOADING + OOM).facts}
    assert "log.read_whole" not in {fact.name for fact in seen("", LOADING + SERVING).facts}


def test_arguments_and_version_of_the_log_are_facts() -> None:
    observation = seen("", SERVER + ARGUMENTS)
    assert values(observation.facts, "args.max-model-len") == ["4096"]
    assert values(observation.facts, "args.enforce-eager") == ["True"]
    assert values(observation.facts, "vllm.version") == ["0.15.0"]
    assert one(observation, "args.max-model-len").origin.line == 2


def test_statistics_are_facts_of_one_source() -> None:
    facts = [fact for fact in seen("", STALLED * 4).facts if fact.name.startswith("stats.")]
    assert {fact.origin.source for fact in facts} == {"statistics:0"}
    assert values(facts, "stats.stalled_lines") == [4]


def test_an_empty_log_is_evidence() -> None:
    observation = seen("", b"")
    assert [reading.lines for reading in observation.readings] == [0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_log_of_windows_is_read(encoding: str) -> None:
    observation = seen("", (SERVER + LOADING + OOM).encode(encoding))
    assert one(observation, "sign.cuda-out-of-memory").origin.line == 3


# -- words, logs and commands mixed -----------------------------------------------------------------------------------


def test_words_and_a_log_in_one_text_are_told_apart() -> None:
    observation = seen(f"it hangs in docker\n{SERVER}{OOM}")
    assert observation.words == "it hangs in docker"
    assert one(observation, "sign.cuda-out-of-memory").origin.line == 3
    assert one(observation, "says.hang").origin.kind == "complaint"


def test_a_message_in_a_sentence_is_a_sign_of_the_complaint() -> None:
    fact = one(seen("it says CUDA out of memory when I start"), "sign.cuda-out-of-memory")
    assert fact.origin.kind == "complaint"


def test_a_command_in_the_text_is_the_command() -> None:
    observation = seen("it hangs with\nvllm serve m --max-model-len 4096 -tp 2\n")
    assert observation.command == "vllm serve m --max-model-len 4096 -tp 2"
    assert values(observation.facts, "args.tensor-parallel-size") == ["2"]


def test_the_command_that_was_handed_in_counts_more_than_one_in_the_text() -> None:
    observation = seen("vllm serve m --max-model-len 1", command="vllm serve m --max-model-len 2")
    assert observation.command == "vllm serve m --max-model-len 2"


def test_a_command_in_the_context_is_found() -> None:
    observation = seen(other="I run\nvllm serve m --max-model-len 8192")
    assert set(values(observation.facts, "args.max-model-len")) == {"8192"}


# -- standard input ---------------------------------------------------------------------------------------------------


def piped(*blocks: bytes, text: str = "") -> Observation:
    return observe(Case(text, (Attachment("-", list(blocks)),)), mini())


def test_a_piped_sentence_is_the_complaint() -> None:
    observation = piped(b"requests ", b"hang\n")
    assert observation.words == "requests hang"
    assert observation.readings == ()


def test_a_piped_log_is_a_log_with_its_own_line_numbers() -> None:
    observation = piped((SERVER + LOADING).encode(), OOM.encode(), text="it dies")
    assert observation.words == "it dies"
    fact = one(observation, "sign.cuda-out-of-memory")
    assert (fact.origin.file, fact.origin.line) == (0, 3)


def test_a_piped_sentence_with_a_log_is_both() -> None:
    observation = piped(f"it hangs in docker\n{SERVER}{OOM}".encode())
    assert observation.words == "it hangs in docker"
    assert one(observation, "sign.cuda-out-of-memory").origin.line == 3


def test_a_piped_command_is_the_command() -> None:
    assert piped(b"vllm serve m --max-model-len 4096\n").command == "vllm serve m --max-model-len 4096"


def test_a_piped_log_of_windows_is_a_log() -> None:
    observation = piped((SERVER + OOM).encode("utf-16"))
    assert one(observation, "sign.cuda-out-of-memory").origin.line == 2


def test_a_long_stream_is_a_log_whatever_it_begins_with() -> None:
    observation = piped(b"plain words\n" * (HEAD // 12 + 1), OOM.encode())
    assert one(observation, "sign.cuda-out-of-memory").origin.line == HEAD // 12 + 2


def test_an_input_keeps_its_place_among_the_inputs() -> None:
    observation = observe(Case(attachments=(Attachment("-", [b"it hangs"]), attached(OOM))), mini())
    assert one(observation, "sign.cuda-out-of-memory").origin.file == 1


# -- the language -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "log", "expected"),
    [
        ("requests hang", "", "en"),
        ("请求卡住", "", "zh"),
        ("vllm 卡住 when serving", "", "zh"),
        ("requests hang", "INFO 12-01 10:00:00 [x.py:1] 模型\n", "en"),
        (f"requests hang\n{OOM}INFO 12-01 10:00:00 [x.py:1] 模型\n", "", "en"),
        ("", "INFO 12-01 10:00:00 [x.py:1] 模型\n", "en"),
        ("", "", "en"),
    ],
)
def test_the_language_is_that_of_the_operators_own_words(text: str, log: str, expected: str) -> None:
    stated = case(text, *([log] if log else []))
    assert language(stated, observe(stated, mini())) == expected
    assert language(stated.but(lang="zh"), observe(stated, mini())) == "zh"

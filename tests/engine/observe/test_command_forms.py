"""Every form in which a server is started gives the same facts, wherever it stands: command, file, text, context."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model import Attachment, Case
from engine.observe.case import observe
from engine.observe.command import facts, parse
from engine.observe.command.surroundings import gib
from tests.support import mini, values

SAMPLES = {
    path.name: path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "commands").iterdir())
}
every_sample = pytest.mark.parametrize("name", SAMPLES)
THE_MODEL = "Qwen/Qwen3-8B"


def found(name: str) -> dict[str, object]:
    return {fact.name: fact.value for fact in facts(SAMPLES[name], mini())}


@every_sample
def test_the_length_is_the_same_fact_in_every_form(name: str) -> None:
    assert found(name)["args.max-model-len"] == "32768"


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "xinference.sh"])
def test_the_model_is_the_same_fact_in_every_form(name: str) -> None:
    assert found(name)["model.name"] == THE_MODEL


@every_sample
def test_the_command_is_understood_from_a_file_whatever_its_name(name: str) -> None:
    observation = observe(Case("it hangs", (Attachment("server.log", [SAMPLES[name].encode()]),)), mini())
    (fact,) = [fact for fact in observation.facts if fact.name == "args.max-model-len"]
    assert (fact.value, fact.origin.kind, fact.origin.file) == ("32768", "command", 0)
    assert fact.origin.line is not None
    assert "32768" in SAMPLES[name].split("\n")[fact.origin.line - 1]
    assert observation.readings == ()


@every_sample
def test_the_command_is_understood_from_a_context(name: str) -> None:
    observation = observe(Case("it hangs", context={"other": {"command": SAMPLES[name]}}), mini())
    assert values(observation.facts, "args.max-model-len")[0] == "32768"


@every_sample
def test_the_command_is_told_from_the_words_around_it(name: str) -> None:
    fenced = f"my server hangs\n```\n{SAMPLES[name]}```\nany idea?"
    observation = observe(Case(fenced), mini())
    assert values(observation.facts, "args.max-model-len")[0] == "32768"
    assert observation.command.strip() == SAMPLES[name].strip()
    assert observation.words.startswith("my server hangs")
    assert "max" not in observation.words


@pytest.mark.parametrize("name", [name for name in SAMPLES if name.endswith((".yaml", ".python", ".service"))])
def test_what_is_pasted_without_a_fence_is_found_as_well(name: str) -> None:
    observation = observe(Case(f"my server hangs, what now?\n{SAMPLES[name]}\nany idea?"), mini())
    assert values(observation.facts, "args.max-model-len")[0] == "32768"
    assert observation.words.split() == ["my", "server", "hangs,", "what", "now?", "any", "idea?"]


def test_a_call_in_a_sentence_is_a_command_and_stays_in_the_sentence() -> None:
    text = "LLM(model='m', max_model_len=4096) hangs"
    observation = observe(Case(text), mini())
    assert values(observation.facts, "args.max-model-len") == ["4096"]
    assert (observation.words, observation.command) == (text, "LLM(model='m', max_model_len=4096)")


@pytest.mark.parametrize("text", ["LLM(...) dies", "my LLM() hangs", "command: what is wrong?", "image: broken", "```"])
def test_words_that_only_resemble_a_command_are_none(text: str) -> None:
    assert observe(Case(text), mini()).command == ""


def test_a_log_that_names_its_command_is_both() -> None:
    log = "+ vllm serve m \\\n  --max-model-len 4096\nINFO 12-01 10:00:00 [x.py:1] vLLM API server version 0.15.0\n"
    observation = observe(Case("", (Attachment("x", [log.encode()]),)), mini())
    assert values(observation.facts, "args.max-model-len") == ["4096"]
    assert values(observation.facts, "vllm.version") == ["0.15.0"]
    assert len(observation.readings) == 1


# -- what stands around the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "deployment.yaml",
            {
                "where": "kubernetes",
                "vllm.version": "0.8.5",
                "gpus": "several",
                "gpu.requested": 2,
                "shm.size_gib": 2.0,
                "memory.limit_gib": 20.0,
                "cpu.limit": 4.0,
                "probe.startup_seconds": 120,
                "probe.liveness_seconds": 90,
                "args.swap-space": "8",
                "env.VLLM_LOGGING_LEVEL": "DEBUG",
            },
        ),
        (
            "compose.yaml",
            {
                "where": "docker",
                "vllm.version": "0.9.2",
                "shm.size_gib": 16.0,
                "gpu.requested": 2,
                "args.docker-ipc": "host",
                "env.NCCL_DEBUG": "INFO",
            },
        ),
        ("docker-run.sh", {"where": "docker", "vllm.version": "0.10.2", "shm.size_gib": 8.0, "volume.cache": True}),
        (
            "docker-inner.sh",
            {"where": "docker", "vllm.version": "0.11.0", "gpu.requested": 2, "env.NCCL_DEBUG": "INFO"},
        ),
        ("values.yaml", {"where": "kubernetes", "vllm.version": "0.10.1", "gpu.requested": 2, "shm.size_gib": 20.0}),
        ("leader-worker-set.yaml", {"where": "kubernetes", "nodes": "several", "gpus": "several"}),
        ("kserve.yaml", {"where": "kubernetes", "gpus": "one", "args.served-model-name": "qwen"}),
        ("vllm.service", {"where": "bare-metal", "env.CUDA_VISIBLE_DEVICES": "0", "env.VLLM_LOGGING_LEVEL": "DEBUG"}),
        (
            "offline.python",
            {"args.enforce-eager": True, "env.VLLM_USE_V1": "1", "args.limit-mm-per-prompt": '{"image": 4}'},
        ),
        ("llamafactory.yaml", {"args.enforce-eager": True}),
    ],
)
def test_what_stands_around_the_command_is_read(name: str, expected: dict[str, object]) -> None:
    assert expected.items() <= found(name).items()


def test_other_containers_of_a_manifest_say_nothing_of_the_server() -> None:
    memory = [fact.value for fact in facts(SAMPLES["deployment.yaml"], mini()) if fact.name == "memory.limit_gib"]
    assert memory == [20.0]
    images = [fact.value for fact in facts(SAMPLES["compose.yaml"], mini()) if fact.name == "image.name"]
    assert images == ["vllm/vllm-openai:v0.9.2"]


def test_the_own_options_of_a_wrapper_are_no_flags_of_vllm() -> None:
    assert [given.name for given in parse(SAMPLES["swift.sh"], mini()).flags] == [
        "--model",
        "--max-model-len",
        "--tensor-parallel-size",
    ]


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1"),
        ("docker.example.com/vllm/vllm-openai:v0.11.0-x86_64", "0.11.0"),
        ("rocm/vllm:rocm6.3.1_mi300_ubuntu22.04_py3.12_vllm_0.8.3", "0.8.3"),
        ("vllm/vllm-openai:latest", None),
        ("lmcache/vllm-openai:v0.3.1", None),
        ("registry/other:v1.0", None),
    ],
)
def test_the_version_comes_of_the_image(image: str, version: str | None) -> None:
    stated = facts(f"docker run {image} --model m", mini())
    assert values(stated, "vllm.version") == ([version] if version else [])


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("8g", 8.0),
        ("8Gi", 8.0),
        ("512m", 0.5),
        ("512Mi", 0.5),
        ("1073741824", 1.0),
        ("16gb", 16.0),
        ("2T", 2048.0),
        ("x", None),
        ("", None),
    ],
)
def test_sizes_are_read_as_docker_and_kubernetes_write_them(size: str, expected: float | None) -> None:
    assert gib(size) == expected


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --max-model-lenn 4096",
        "services:\n  v:\n    image: vllm/vllm-openai\n    command: --max-model-lenn 4096\n",
        "containers:\n- image: vllm/vllm-openai\n  args: ['--max-model-lenn', '4096']\n",
        "llm = LLM('m', max_model_lenn=4096)",
        "[Service]\nExecStart=vllm serve m --max-model-lenn 4096\n",
    ],
)
def test_a_misspelt_flag_is_named_in_every_form(text: str) -> None:
    observation = observe(Case("it fails", command=text), mini())
    assert values(observation.facts, "derived.unknown_flag") == ["--max-model-lenn"]
    assert values(observation.facts, "derived.flag_replacement") == ["--max-model-len"]


def test_a_removed_flag_is_named_with_what_replaces_it() -> None:
    manifest = SAMPLES["deployment.yaml"].replace("v0.8.5", "v0.19.0")
    observation = observe(Case("it fails", (Attachment("x", [manifest.encode()]),)), mini())
    assert values(observation.facts, "derived.removed_flag") == ["--swap-space"]
    assert "--kv-offloading-size" in values(observation.facts, "derived.flag_replacement")


def test_evidence_shows_no_credential() -> None:
    for name in ("compose.yaml", "docker-run.sh"):
        shown = "".join(fact.origin.text for fact in facts(SAMPLES[name], mini()))
        assert "topsecret" not in shown
        assert "hf_abcdef" not in shown


def test_anchors_and_templates_of_a_manifest_are_read() -> None:
    text = (
        "x: &a\n  - --max-model-len={{ .Values.len }}\n"
        "containers:\n{{- if .Values.on }}\n- image: vllm/vllm-openai:v0.9.0\n  args: *a\n{{- end }}\n"
    )
    assert values(facts(text, mini()), "args.max-model-len") == ["{{ .Values.len }}"]


# -- hostile input ----------------------------------------------------------------------------------------------------

ALIASES = "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefghijk", "bcdefghijkl", strict=True))
ATTACKS = {
    "nested": "args: " + "[" * 5_000,
    "dashes": "args:\n" + "- " * 30_000,
    "aliases": "a: &a [x,x]\n" + ALIASES + "args: *l\nimage: vllm",
    "itself": "args: &a\n- *a\nimage: vllm/vllm-openai\n",
    "merges": "x: &a {<<: *a, image: vllm}\ncontainers: [*a]\n",
    "brackets": "LLM(" * 20_000,
    "call": "LLM(" + "(" * 9_000 + ")" * 9_000 + ")",
    "quotes": "vllm serve " + "'\"" * 40_000,
    "unclosed": "vllm serve m --x '" + "a " * 45_000,
    "continued": "vllm serve m " + "\\\n" * 40_000,
    "unit": "ExecStart=" + "\\\n" * 45_000,
    "colons": "image: vllm\n" + "a: b\n" * 20_000,
    "comments": "vllm serve m\n" + "# x\n" * 24_000,
    "blanks": "image: vllm\n" + " " * 90_000,
    "braces": "image: vllm {{" + "{{" * 40_000,
    "words": "vllm serve m " + "sh -c 'vllm serve x' " * 4_000,
    "environ": "LLM(m='x')\n" + "os.environ['A'] = '" * 4_000,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_hostile_text_takes_bounded_time(name: str) -> None:
    started = time.process_time()
    facts(ATTACKS[name], mini())
    observe(Case(ATTACKS[name][:50_000], command=ATTACKS[name]), mini())
    assert time.process_time() - started < 5


def mutated(text: str, changes: list[tuple[int, int, str]]) -> str:
    for at, length, new in changes:
        place = at % (len(text) + 1)
        text = text[:place] + new + text[place + length :]
    return text


mutations = st.lists(
    st.tuples(
        st.integers(0, 5_000),
        st.integers(0, 30),
        st.sampled_from(
            [
                "",
                " ",
                "\n",
                '"',
                "'",
                "\\",
                ":",
                "- ",
                "[",
                "]",
                "{",
                "}",
                "#",
                "&a ",
                "*a",
                "|",
                ">",
                "\0",
                "\t",
                "\ufeff",
                "中",
                "\ud800",
                "🙂",
                "--",
                "=",
                "$(",
                "{{",
                "LLM(",
                "\r\n",
                "\x85",
                "<<: ",
            ]
        ),
    ),
    max_size=6,
)


@given(st.sampled_from(sorted(SAMPLES)), mutations)
def test_a_damaged_command_is_read_or_left(name: str, changes: list[tuple[int, int, str]]) -> None:
    text = mutated(SAMPLES[name], changes)
    parsed = parse(text, mini())
    for one in (*parsed.flags, *parsed.variables):
        assert 0 <= one.word.start <= one.word.end <= len(text)
        if one.value_word is not None:
            assert 0 <= one.value_word.start <= one.value_word.end <= len(text)
    assert facts(text, mini()) == facts(text, mini())
    observe(Case(f"it hangs\n{text}"), mini())


@given(
    st.text(max_size=200),
    st.sampled_from(["image: vllm\nargs:\n- ", "LLM(model=", "ExecStart=vllm serve ", "args: [", "vllmConfig:\n  "]),
)
def test_any_text_behind_a_beginning_is_read_or_left(text: str, start: str) -> None:
    facts(start + text, mini())


def test_a_command_with_the_output_that_it_gave_is_a_command_and_a_log() -> None:
    text = "$ vllm serve m --max-model-len 4096 \\\n    --x\nvllm serve: error: unrecognized arguments: --x\n"
    observation = observe(Case("", (Attachment("x", [text.encode()]),)), mini())
    assert observation.command == "$ vllm serve m --max-model-len 4096 \\\n    --x"
    assert values(observation.facts, "sign.unrecognized-arguments") == [True]


@pytest.mark.parametrize("name", [name for name in SAMPLES if name.endswith((".yaml", ".python", ".service"))])
def test_a_manifest_may_come_on_standard_input(name: str) -> None:
    observation = observe(Case("", (Attachment("-", [SAMPLES[name].encode()]),)), mini())
    assert values(observation.facts, "args.max-model-len") == ["32768"]
    assert observation.command.strip() == SAMPLES[name].strip()

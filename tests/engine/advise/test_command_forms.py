"""The corrected command in every form: what a change touches differs, all else stays, and it reads again as changed."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.advise.command import combined, corrected, masked
from engine.model import Change, Fix
from engine.observe.command import facts, parse
from tests.support import mini, values

SAMPLES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parents[1] / "observe" / "commands").iterdir())
}
every_sample = pytest.mark.parametrize("name", SAMPLES)
MANIFESTS = ("compose.yaml", "compose-list.yaml", "deployment.yaml", "deployment-shell.yaml", "leader-worker-set.yaml")
JSON = '{"method": "ngram", "n": true}'


def flag(name: str, after: str | None) -> Change:
    return Change("flag", name, None, after)


def env(name: str, after: str | None) -> Change:
    return Change("env", name, None, after)


def after(text: str, *changes: Change) -> str | None:
    found = corrected(text, changes, mini())
    return found.after if found else None


def lines_changed(text: str, changed: str) -> tuple[str, str]:
    """The lines that went and those that came."""
    before, behind = text.splitlines(), changed.splitlines()
    blocks = SequenceMatcher(None, before, behind, autojunk=False).get_opcodes()
    gone = [row for kind, a, b, _c, _d in blocks if kind != "equal" for row in before[a:b]]
    come = [row for kind, _a, _b, c, d in blocks if kind != "equal" for row in behind[c:d]]
    return "\n".join(gone), "\n".join(come)


@every_sample
def test_a_value_is_changed_where_it_stands_and_nothing_else_is(name: str) -> None:
    assert after(SAMPLES[name], flag("--max-model-len", "4096")) == SAMPLES[name].replace("32768", "4096")


@every_sample
def test_a_flag_is_removed_with_its_value(name: str) -> None:
    changed = after(SAMPLES[name], flag("--max-model-len", None))
    assert changed is not None
    assert "32768" not in changed
    kept = {fact.name: fact.value for fact in facts(SAMPLES[name], mini()) if fact.name != "args.max-model-len"}
    assert {fact.name: fact.value for fact in facts(changed, mini())} == kept
    gone, come = lines_changed(SAMPLES[name], changed)
    assert len(gone.split()) - len(come.split()) <= 5


@pytest.mark.parametrize("name", [name for name in SAMPLES if not name.startswith("llamafactory")])
def test_a_new_flag_stands_with_the_others(name: str) -> None:
    changed = after(SAMPLES[name], flag("--max-num-seqs", "64"))
    assert changed is not None
    assert values(facts(changed, mini()), "args.max-num-seqs") == ["64"]
    before = {fact.name: fact.value for fact in facts(SAMPLES[name], mini())}
    assert before.items() <= {fact.name: fact.value for fact in facts(changed, mini())}.items()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("serve.sh", "  --max-num-seqs 64"),
        ("vllm.service", "    --max-num-seqs 64"),
        ("deployment.yaml", '        - "64"'),
        ("compose.yaml", "      --max-num-seqs 64"),
        ("serve-config.yaml", "max-num-seqs: 64"),
        ("ray-serve.yaml", "        max_num_seqs: 64"),
        ("values.yaml", "      maxNumSeqs: 64"),
        ("kserve.yaml", "      - --max_num_seqs=64"),
        ("offline.python", "    max_num_seqs=64,"),
    ],
)
def test_a_new_flag_has_the_layout_of_the_others(name: str, line: str) -> None:
    changed = after(SAMPLES[name], flag("--max-num-seqs", "64"))
    assert changed is not None
    assert line in changed.split("\n")


def test_a_wrapper_is_given_the_name_that_it_knows() -> None:
    assert "--vllm_max_num_seqs 64" in (after(SAMPLES["swift.sh"], flag("--max-num-seqs", "64")) or "")
    assert "--max_num_seqs 64" in (after(SAMPLES["xinference.sh"], flag("--max-num-seqs", "64")) or "")
    assert after(SAMPLES["llamafactory.yaml"], flag("--max-num-seqs", "64")) is None


@pytest.mark.parametrize(
    ("name", "wanted", "expected"),
    [
        ("offline.python", "false", "    enforce_eager=False,"),
        ("llamafactory.yaml", "false", "vllm_enforce_eager: false"),
        ("serve-config.yaml", "false", "enforce-eager: false"),
        ("ray-serve.yaml", "true", "        enforce_eager: true"),
        ("deployment.yaml", "true", '        - "--enforce-eager"'),
        ("values.yaml", "true", '      extraArgs: ["--disable-log-requests", "--enforce-eager"]'),
    ],
)
def test_a_switch_is_written_as_the_form_writes_it(name: str, wanted: str, expected: str) -> None:
    changed = after(SAMPLES[name], flag("--enforce-eager", wanted))
    assert changed is not None
    assert expected in changed.split("\n")


@pytest.mark.parametrize(
    "name", [name for name in SAMPLES if name not in ("kserve.yaml", "serve-config.yaml", "llamafactory.yaml")]
)
def test_a_new_variable_is_set(name: str) -> None:
    changed = after(SAMPLES[name], env("NCCL_P2P_DISABLE", "1"))
    assert changed is not None
    assert values(facts(changed, mini()), "env.NCCL_P2P_DISABLE") == ["1"]
    gone, _come = lines_changed(SAMPLES[name], changed)
    assert len(gone.split("\n")) <= 1


def test_a_variable_is_set_on_every_machine_of_a_group() -> None:
    changed = after(SAMPLES["leader-worker-set.yaml"], env("NCCL_P2P_DISABLE", "1"))
    assert changed is not None
    assert changed.count("name: NCCL_P2P_DISABLE") == 2


@pytest.mark.parametrize("name", ["deployment.yaml", "vllm.service"])
def test_a_variable_is_removed(name: str) -> None:
    changed = after(SAMPLES[name], env("VLLM_LOGGING_LEVEL", None))
    assert changed is not None
    assert "VLLM_LOGGING_LEVEL" not in changed
    assert "DEBUG" not in changed


@pytest.mark.parametrize("name", [name for name in SAMPLES if not name.startswith(("swift", "llamafactory"))])
def test_json_survives_every_form_and_quoting(name: str) -> None:
    changed = after(SAMPLES[name], flag("--speculative-config", JSON))
    assert changed is not None
    (value,) = values(facts(changed, mini()), "args.speculative-config")
    assert "".join(str(value).split()) == "".join(JSON.split())


def test_a_plain_scalar_takes_json_only_in_a_form_that_stays_one() -> None:
    text = "services:\n  v:\n    image: vllm/vllm-openai\n    command: --model m\n"
    assert after(text, flag("--speculative-config", JSON)) == text.replace(
        "--model m", """--model m --speculative-config '{"method":"ngram", "n":true}'"""
    )


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_ends_and_comments_stay(ending: str) -> None:
    text = SAMPLES["deployment.yaml"].replace("\n", ending)
    changed = after(text, flag("--max-model-len", "4096"), flag("--swap-space", None), env("NCCL_P2P_DISABLE", "1"))
    assert changed is not None
    assert "# model first" in changed
    assert "VLLM_LOGGING_LEVEL" in changed


def test_credentials_are_masked_in_every_form() -> None:
    texts = {
        "compose": (SAMPLES["compose.yaml"], "topsecretvalue"),
        "pair": (
            "containers:\n- image: vllm/vllm-openai\n  env:\n  - name: VLLM_API_KEY\n    value: abcdef\n",
            "abcdef",
        ),
        "items": ("containers:\n- image: vllm/vllm-openai\n  args: ['--api-key', 'abcdef']\n", "abcdef"),
        "python": ("os.environ['VLLM_API_KEY'] = 'abcdef'\nLLM(model='m')", "abcdef"),
        "shell": ("VLLM_API_KEY=abcdef vllm serve m", "abcdef"),
        "docker": ("docker run -e HF_TOKEN=abcdef vllm/vllm-openai --api-key ghijkl", "ghijkl"),
    }
    for text, secret in texts.values():
        shown = masked(text, mini())
        assert secret not in shown
        assert "****" in shown
        assert parse(shown, mini()).is_server
    assert "secretKeyRef: {name: hf, key: token}" in masked(SAMPLES["deployment.yaml"], mini())


def test_fixes_that_exclude_each_other_are_not_both_applied() -> None:
    shorter = Fix("shorter", (flag("--max-model-len", "4096"),), {})
    longer = Fix("longer", (flag("--max-model-len", "65536"),), {})
    fewer = Fix("fewer", (flag("--max-num-seqs", "8"),), {})
    worse = Fix("worse", (flag("--swap-space", "1"),), {}, ("a",))
    text = "vllm serve m --max-model-len 8192"

    def done(*fixes: tuple[str, Fix]) -> str | None:
        found = combined(text, fixes, mini())
        return found.after if found else None

    assert done(("a", shorter), ("b", longer)) == "vllm serve m --max-model-len 4096"
    assert done(("a", shorter), ("a", fewer)) == "vllm serve m --max-model-len 4096"
    assert done(("a", shorter), ("b", worse)) == "vllm serve m --max-model-len 4096"
    assert done(("a", shorter), ("b", fewer)) == "vllm serve m --max-model-len 4096 --max-num-seqs 8"
    assert done() is None


changes = st.lists(
    st.sampled_from(
        [
            flag("--max-model-len", "4096"),
            flag("--max-model-len", None),
            flag("--max-num-seqs", "64"),
            flag("--tensor-parallel-size", "4"),
            flag("--enforce-eager", "true"),
            flag("--enforce-eager", "false"),
            flag("--speculative-config", JSON),
            env("A", "1"),
            env("A", "x y"),
            env("NCCL_DEBUG", "WARN"),
            env("NCCL_DEBUG", None),
        ]
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda one: one.name,
)


@given(st.sampled_from(sorted(SAMPLES)), changes)
def test_a_corrected_text_needs_no_second_correction_and_keeps_the_rest(name: str, some: list[Change]) -> None:
    text = SAMPLES[name]
    found = corrected(text, some, mini())
    if found is None:
        return
    assert found.before == text
    assert corrected(found.after, found.changes, mini()) is None
    touched = {one.name for one in found.changes}

    def others(text: str) -> dict[str, object]:
        skipped = {f"args.{one.strip('-')}" for one in touched} | {f"env.{one}" for one in touched} | {"gpus"}
        return {fact.name: fact.value for fact in facts(text, mini()) if fact.name not in skipped}

    assert others(found.after) == others(text)


@given(
    st.sampled_from(sorted(SAMPLES)),
    changes,
    st.lists(
        st.tuples(
            st.integers(0, 3_000),
            st.integers(0, 20),
            st.sampled_from(["", '"', "'", "\\", "\n", "- ", "{", "]", "#", "&a ", "中", ": "]),
        ),
        max_size=4,
    ),
)
def test_a_damaged_text_is_corrected_rightly_or_not_at_all(
    name: str, some: list[Change], damage: list[tuple[int, int, str]]
) -> None:
    text = SAMPLES[name]
    for at, length, new in damage:
        place = at % (len(text) + 1)
        text = text[:place] + new + text[place + length :]
    masked(text, mini())
    found = corrected(text, some, mini())
    if found is not None:
        assert parse(found.after, mini()).is_server
        assert corrected(found.after, found.changes, mini()) is None

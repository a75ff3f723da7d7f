"""The shape of every knowledge file, as types: what a cause, a symptom, a question … may say.

The only importer of pydantic; needed to compile or lint the knowledge base, never to answer a query. `kb/schema/*.json`
is generated from here (`make schema`), so that an editor completes a cause file while it is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engine.knowledge.source import Document, Finding
from engine.observe.spelling import closest

Id = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Weight = Literal["decisive", "strong", "some", "weak", "against", "rules_out"]
Role = Literal["root", "failure", "aftermath", "noise", "hint"]
Kind = Literal["flag", "env", "client", "infra", "install", "files", "upgrade", "none-needed"]
Area = Literal[
    "memory", "distributed", "hang", "latency", "startup", "install", "model-load", "quantization", "lora",
    "multimodal", "api", "output", "deployment", "config",
]  # fmt: skip
Platform = Literal["cuda", "rocm", "cpu", "xpu", "tpu", "hpu", "npu"]
Stage = Literal["install", "arguments", "loading", "profiling", "kv-cache", "compile", "serving", "shutdown"]
Plain = str | int | float | bool


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Words(_Strict):
    """A text in both languages."""

    en: Annotated[str, Field(min_length=1)]
    zh: Annotated[str, Field(min_length=1)]


class Condition(_Strict):
    """Exactly one of these keys. `all`, `any` and `none` combine others."""

    log: str | None = Field(
        None, description="RE2 pattern searched in each line, ignoring case; named groups capture facts"
    )
    sign: Id | None = Field(None, description="a log sign defined elsewhere, by its id")
    symptom: Id | None = None
    says: Id | list[Id] | None = Field(None, description="one concept of the lexicon, or several that are all said")
    fact: str | None = Field(None, description="a fact, or a comparison: args.max-model-len > derived.kv_tokens")
    cause: Id | None = Field(None, description="another cause that is under suspicion")
    all: list[Condition] | None = None
    any: list[Condition] | None = None
    none: list[Condition] | None = Field(None, description="each is known not to be so")

    @model_validator(mode="after")
    def _one_kind(self) -> Condition:
        given = [name for name in Condition.model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"needs exactly one of {', '.join(Condition.model_fields)}; has {', '.join(given) or 'none'}"
            )
        return self


class Item(Condition):
    """One thing that speaks for or against the cause."""

    weight: Weight
    id: Id | None = Field(None, description="of a log sign, so that other causes can name it; unique in the whole base")
    role: Role | None = Field(None, description="of a log sign; root unless said")

    @model_validator(mode="after")
    def _one_kind(self) -> Item:
        given = [name for name in Condition.model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"needs exactly one of {', '.join(Condition.model_fields)}; has {', '.join(given) or 'none'}"
            )
        if self.log is None and (self.id or self.role):
            raise ValueError("'id' and 'role' belong to a 'log' pattern only")
        if self.log is not None and not self.id:
            raise ValueError("a 'log' pattern needs an 'id'")
        return self


class Reading(_Strict):
    """How to read a check's output: what is seen, what it means, and the facts that it settles."""

    sees: Words
    means: Words
    facts: dict[str, Plain] = {}


class Check(_Strict):
    id: Id
    text: Words
    command: str | None = None
    reads: list[Reading] = []


class TypedChange(_Strict):
    """`kind: name`, then what it becomes: a value, {fact}, half, double, +0.02, -0.05, or null to remove it."""

    flag: str | None = None
    env: str | None = None
    client: str | None = None
    infra: str | None = None
    install: str | None = None
    files: str | None = None
    upgrade: str | None = None
    to: Plain | None = None
    otherwise: Plain | None = Field(None, description="the value where the fact that `to` names is not known")

    @model_validator(mode="after")
    def _one_name(self) -> TypedChange:
        if sum(getattr(self, kind) is not None for kind in _CHANGE_KINDS) != 1:
            raise ValueError(f"needs exactly one of {', '.join(_CHANGE_KINDS)}")
        return self


_CHANGE_KINDS = ("flag", "env", "client", "infra", "install", "files", "upgrade")


class FixFile(_Strict):
    id: Id
    text: Words
    kind: Kind
    changes: list[TypedChange] = []
    commands: list[str] = []
    applies: str | None = Field(None, description="vLLM versions, e.g. '>=0.8' or '>=0.14,<0.18'")
    when: str | None = Field(None, description="offered unless this fact expression is known to be false")
    side_effects: list[Words] = []
    risk: Literal["none", "low", "high"]
    restart: Literal["none", "reload", "restart", "reinstall"]
    effect: Literal["cures", "mitigates"]
    verify: Words


class Applies(_Strict):
    vllm: str | None = None
    platform: list[Platform] = []


class Examples(_Strict):
    en: Annotated[list[str], Field(min_length=2)]
    zh: Annotated[list[str], Field(min_length=2)]
    log: list[str] = []
    near_miss: Annotated[list[str], Field(min_length=1)]


class CauseFile(_Strict):
    """One cause: what shows it, how to check, how to fix, when it is not it."""

    id: Id
    area: Area
    title: Words
    status: Literal["stable", "draft", "deprecated"]
    prior: Literal["common", "usual", "rare"]
    applies: Applies
    why: Words
    more_specific_than: list[Id] = []
    evidence: Annotated[list[Item], Field(min_length=1)]
    checks: Annotated[list[Check], Field(min_length=1)]
    fixes: Annotated[list[FixFile], Field(min_length=1)]
    not_this_when: Words
    confused_with: list[Id] = []
    examples: Examples
    sources: Annotated[list[str], Field(min_length=1)]


class SymptomFile(_Strict):
    id: Id
    title: Words
    vague: bool = Field(False, description="only a wish for help or a bare stage: no cause is ranked on it alone")
    shown_by: Annotated[list[Condition], Field(min_length=1)]


class SignFile(_Strict):
    """A log sign that belongs to no single cause: aftermath, noise, a milestone of the start-up, a hint, a figure
    that is only read for its value."""

    id: Id
    log: str
    role: Literal["root", "failure", "aftermath", "noise", "hint", "milestone", "foreign", "figure"]
    stage: Stage | None = None
    meaning: Words


class ConceptFile(_Strict):
    id: Id
    kind: Literal[
        "trouble", "vague", "subject", "stage", "circumstance", "thing", "foreign", "question", "negation", "filler"
    ]
    meaning: str
    facts: dict[str, Plain] = {}
    implies: list[Id] = []


class Option(_Strict):
    value: Id
    text: Words
    facts: dict[str, Plain] = {}


class QuestionFile(_Strict):
    id: Id
    text: Words
    cost: Literal["glance", "command", "restart"]
    command: str | None = None
    options: Annotated[list[Option], Field(min_length=2)]


class FactFile(_Strict):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*(\.\*)?$")]
    type: Literal["text", "number", "flag", "version", "word"]
    values: list[str] = Field([], description="what a word may be")
    unit: str | None = None
    seen_by: list[Literal["log", "complaint", "command", "context", "environment", "metric", "answer", "derived"]]
    label: Words


class Default(_Strict):
    vllm: str
    value: Plain | None


class FlagFile(_Strict):
    name: Annotated[str, Field(pattern=r"^-")]
    aliases: list[str] = []
    type: str | None = None
    default: Plain | None = None
    defaults: list[Default] = []
    meaning: Words
    since: str | None = None
    removed: str | None = None
    last: str | None = None
    replacement: Words | None = None
    deprecated: str | bool | None = None
    group: str | None = None


class VariableFile(_Strict):
    name: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
    area: str
    meaning: Words
    typical: Plain | None = None
    default: Plain | None = None
    since: str | None = None
    last: str | None = None


class MetricFile(_Strict):
    name: str
    type: str
    meaning: Words
    successor: str | None = None
    evidence_of: Words | None = None
    since: str | None = None
    last: str | None = None


class VersionFile(_Strict):
    vllm: str
    torch: str
    torchvision: str | None = None
    torchaudio: str | None = None
    cuda: str | None = None
    python: str | None = None
    v0_engine: bool | None = None
    ray_required: bool | None = None
    transformers: str | None = None


class ModelFile(_Strict):
    """What memory a model takes: the size of its weights and of what one token leaves in the KV cache."""

    name: str
    also: list[str] = []
    layers: Annotated[int, Field(gt=0)]
    windowed: int = Field(0, description="layers that see only the last `window` tokens")
    window: int = Field(0, description="tokens that a windowed layer sees")
    stateless: int = Field(0, description="layers without a KV cache that grows: Mamba, linear attention")
    heads: Annotated[int, Field(gt=0)]
    kv_heads: int = 0
    head_dim: int = 0
    latent: int = Field(0, description="MLA: kv_lora_rank + qk_rope_head_dim; then without kv_heads and head_dim")
    parameters: Annotated[float, Field(gt=0, description="in billions")]
    bits: Literal[4, 8, 16] = 16
    weights_gib: float | None = None
    vocabulary: int
    positions: int | None = None

    @model_validator(mode="after")
    def _one_cache(self) -> ModelFile:
        if bool(self.latent) == bool(self.kv_heads and self.head_dim):
            raise ValueError("needs either latent, or kv_heads and head_dim")
        if bool(self.windowed) != bool(self.window) or self.windowed + self.stateless > self.layers:
            raise ValueError("windowed and window belong together, and no more layers than there are can be special")
        return self


class GpuFile(_Strict):
    name: str
    also: list[str] = []
    memory_gib: Annotated[float, Field(gt=0)]
    capability: str | None = None


class EffectFile(_Strict):
    """What moving a setting does to other troubles."""

    flag: str
    direction: Literal["up", "down", "on", "off"]
    worsens: Annotated[list[Id], Field(min_length=1)]
    why: Words


class Weights(_Strict):
    """Every number of ranking and asking, in one place."""

    weight: dict[Weight, float]
    prior: dict[Literal["common", "usual", "rare"], float]
    grade_steps: dict[Literal["exact", "near", "faint"], int]
    none_of_these: float
    none_of_these_by_words: float
    lexical: dict[str, float]
    option_share: dict[str, float]
    cost: dict[Literal["glance", "command", "restart"], float]
    calibration: list[list[float]]


# Which folder of the knowledge base holds what: (files, type of one entry, whether a file is a list of entries).
SHAPES: dict[str, tuple[str, type[BaseModel], bool]] = {
    "cause": ("causes/*/*.yaml", CauseFile, False),
    "symptom": ("symptoms/*.yaml", SymptomFile, True),
    "sign": ("signs/*.yaml", SignFile, True),
    "concept": ("lexicon/concepts.yaml", ConceptFile, True),
    "question": ("questions/*.yaml", QuestionFile, True),
    "fact": ("facts.yaml", FactFile, True),
    "flag": ("reference/flags.yaml", FlagFile, True),
    "variable": ("reference/env.yaml", VariableFile, True),
    "metric": ("reference/metrics.yaml", MetricFile, True),
    "version": ("reference/versions.yaml", VersionFile, True),
    "model": ("reference/models.yaml", ModelFile, True),
    "gpu": ("reference/gpus.yaml", GpuFile, True),
    "effect": ("reference/effects.yaml", EffectFile, True),
    "weights": ("weights.yaml", Weights, False),
}


def validate(document: Document, shape: type[BaseModel], many: bool) -> list[Finding]:
    """Everything in `document` that does not have the shape, each with its line."""
    entries = [((), document.data)] if not many else [((i,), entry) for i, entry in enumerate(document.data or [])]
    if many and not isinstance(document.data, list):
        return [Finding(document.name, 1, "must be a list of entries ('- id: …')")]
    return [finding for path, entry in entries for finding in _findings(document, path, entry, shape)]


def _findings(document: Document, path: tuple[str | int, ...], entry: Any, shape: type[BaseModel]) -> list[Finding]:
    try:
        shape.model_validate(entry)
    except ValidationError as error:
        return [_finding(document, path, problem) for problem in error.errors()]
    return []


def _finding(document: Document, path: tuple[str | int, ...], problem: Any) -> Finding:
    place = tuple(part for part in problem["loc"])
    where = ".".join(str(part) for part in place if not str(part).startswith(("list[", "function-", "constrained-")))
    value = problem.get("input")
    quoted = f" {value!r}" if isinstance(value, str | int | float | bool) else ""
    message = f"{where or 'entry'}{quoted}: {problem['msg'].removeprefix('Value error, ')}"
    if problem["type"] == "extra_forbidden":
        message = f"unknown key '{place[-1]}'{_did_you_mean(str(place[-1]), _keys())}"
    elif problem["type"] == "literal_error":
        message += _did_you_mean(str(value), re.findall(r"'([^']+)'", problem["ctx"]["expected"]))
    elif problem["type"] == "missing":
        message = f"'{where}' is missing"
    return Finding(document.name, document.line((*path, *place)), message)


def _keys() -> list[str]:
    """Every key that some kind of file has."""
    shapes: list[type[BaseModel]] = [*_Strict.__subclasses__(), Item]
    return sorted({key for shape in shapes for key in shape.model_fields})


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    near = closest(name, known)
    return f" (did you mean '{near}'?)" if near else ""


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each kind of file, by name."""
    out = {}
    for name, (_files, shape, many) in SHAPES.items():
        schema = shape.model_json_schema()
        if many:
            definitions = schema.pop("$defs", {})
            schema = {"type": "array", "items": schema, "$defs": definitions}
        out[name] = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return out

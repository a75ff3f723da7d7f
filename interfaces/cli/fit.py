"""`kb fit`: what a model takes on a GPU and which requests it leaves room for, before anything is started."""

from __future__ import annotations

import os

from engine.advise import capacity, memory, shapes, values
from engine.advise.fit import fit as thought_through
from engine.errors import InputError, UsageError
from engine.knowledge.store import load
from engine.reason.atoms import number
from interfaces.cli import output
from interfaces.cli.inputs import opened, read
from interfaces.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from engine.advise.fit import Fit
    from engine.advise.memory import Budget, Shape
    from engine.knowledge.store import Knowledge

LARGEST = 64 << 20  # bytes of a config.json or of the index beside it
INDEX = "model.safetensors.index.json"
_FLAGS = {
    "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "utilization": "gpu-memory-utilization",
    "kv_cache_dtype": "kv-cache-dtype", "max_model_len": "max-model-len", "quantization": "quantization",
}  # fmt: skip


def fit(arguments: list[str]) -> int:
    """Prints the table. Raises UsageError for an unknown model or GPU, InputError for a config.json that is none."""
    parser = _parser()
    if parser.helped(arguments):
        return 0
    asked = parser.parse_args(arguments)
    knowledge = load()
    stated = _stated(asked, knowledge)
    name, shape = _model(asked.model or stated.get("model.name", ""), stated, knowledge)
    gpu, available, budget = _memory(asked, shape, stated, knowledge)
    length = _length(stated)
    found = thought_through(shape, capacity.setup_of(stated), available, budget, length)
    output.answer(_rendered(asked, name, gpu, found, knowledge))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "fit",
        description="Works out weights, KV cache and the longest context of a model on a GPU, as vLLM counts them.",
        epilog="What cannot be known before a start, activations and CUDA graphs, is assumed; such figures say "
        "'about'. --available takes the figure that vLLM logs as 'Available KV cache memory' instead.",
    )
    add = parser.add_argument
    add("--model", metavar="NAME|FILE", help="a config.json, the folder with it, or the name of a well-known model")
    add("--gpu", metavar="NAME|SIZE", help="one of the GPUs: H100, L4, 'A100 40G', 24GiB")
    add("--available", metavar="SIZE", help="GiB of KV cache per GPU that the log names, in place of --gpu")
    add("--tp", metavar="N", help="tensor parallel size")
    add("--pp", metavar="N", help="pipeline parallel size")
    add("--utilization", metavar="SHARE", help="--gpu-memory-utilization; vLLM's own default unless given")
    add("--kv-cache-dtype", metavar="TYPE", help="fp8 halves the KV cache")
    add("--quantization", metavar="METHOD", help="of the weights, where neither name nor config says it: awq, fp8 …")
    add("--max-model-len", metavar="N", help="a context length to judge")
    add(
        "--command", metavar='"vllm serve ..."', help="takes model and settings from the command that starts the server"
    )
    add("--lang", choices=("auto", "en", "zh"), default="auto", help="language; auto is English")
    add("--json", action="store_true", help="the figures as one object")
    return parser


# -- what is asked ----------------------------------------------------------------------------------------------------


def _stated(asked: Namespace, knowledge: Knowledge) -> dict[str, str]:
    """The settings: those of the command, and over them those of the options."""
    stated: dict[str, str] = {}
    if asked.command is not None:
        from engine.observe.command import facts  # noqa: PLC0415 - where a command is given

        stated = values.known(facts(asked.command, knowledge))
    for option, flag in _FLAGS.items():
        given = getattr(asked, option)
        if given is not None:
            stated[f"args.{flag}"] = given
    for option in ("tp", "pp"):
        _positive(f"--{option}", stated.get(f"args.{_FLAGS[option]}"), 4_096)
    return stated


def _positive(option: str, given: str | None, most: float) -> float | None:
    """The number that an option was given, None when it was not. Raises UsageError for one that cannot be."""
    if given is None:
        return None
    value = number(given)
    if value is None or not 0 < value <= most or (most > 1 and value != int(value)):
        what = "a share between 0 and 1" if most == 1 else f"a whole number from 1 to {most:,}"
        raise UsageError(f"{option} '{given}' is not {what}.")
    return value


def _length(stated: dict[str, str]) -> int | None:
    given = stated.get("args.max-model-len")
    if given in (None, "auto", "-1"):
        return None
    return int(_positive("--max-model-len", given, 1 << 40) or 0)


def _model(name: str, stated: dict[str, str], knowledge: Knowledge) -> tuple[str, Shape]:
    if not name:
        raise UsageError("no model is given.", "Name it: --model config.json, or --model Qwen/Qwen3-8B.")
    file = os.path.join(name, "config.json") if os.path.isdir(name) else name
    if file.endswith(".json") or os.path.isfile(file):
        return name, _configured(file, name)
    found = shapes.of_name(name, knowledge, stated.get("args.quantization", ""))
    if found is None:
        from engine.observe.spelling import closest  # noqa: PLC0415 - on the way out

        near = closest(shapes.plain(name), [shapes.plain(each) for each in knowledge.ids("model")])
        known = next((each for each in knowledge.ids("model") if shapes.plain(each) == near), "")
        meant = f"Did you mean '{known}'? Else give" if known else "Give"
        raise UsageError(f"kb knows no model '{name}'.", f"{meant} its config.json: --model FOLDER/config.json.")
    return name, found[1]


def _configured(file: str, name: str) -> Shape:
    config = _object(file)
    index = os.path.join(os.path.dirname(file), INDEX)
    size = _object(index).get("metadata", {}).get("total_size") if os.path.isfile(index) else None
    try:
        shape = shapes.of_config(config, size if isinstance(size, int) and size > 0 else None)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise InputError(
            f"'{file}' is no config.json of a language model: {error}.", "Give that of the model."
        ) from None
    named = shapes.bits_of(name)
    if named and not shape.measured and named < shape.bits and shape.weights_gib:
        share = shapes.WEIGHT_BYTES[named] / shapes.WEIGHT_BYTES[shape.bits]
        return shape.but(weights_gib=shape.weights_gib * share, bits=named)  # type: ignore[no-any-return]
    return shape


def _object(file: str) -> dict[str, Any]:
    import json  # noqa: PLC0415 - for a model that is given as a file

    content = b""
    with opened(file) as source:
        while len(content) <= LARGEST and (block := read(source, file, LARGEST)):
            content += block
    try:
        data = json.loads(content) if len(content) <= LARGEST else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise InputError(f"'{file}' is no JSON object of at most {LARGEST >> 20} MiB.", "Give the model's config.json.")
    return data


def _memory(
    asked: Namespace, shape: Shape, stated: dict[str, str], knowledge: Knowledge
) -> tuple[str, float, Budget | None]:
    """The name of the GPU, GiB of KV cache on each, and the budget that led to them where they were not measured."""
    if asked.available is not None:
        measured = shapes.gpu_memory(_with_unit(asked.available), knowledge)
        if measured is None or not measured[2]:
            raise UsageError(f"--available '{asked.available}' is no amount of memory.", "Write it as 5.2GiB.")
        return "", measured[1], None
    if asked.gpu is None:
        raise UsageError("no GPU is given.", "Name it: --gpu H100, or say what it has: --gpu 24GiB.")
    card = shapes.gpu_memory(_with_unit(asked.gpu), knowledge)
    if card is None:
        raise UsageError(f"kb knows no GPU '{asked.gpu}'.", "Say how much memory it has: --gpu 24GiB.")
    share = values.current("--gpu-memory-utilization", stated, None, knowledge)
    utilization = _positive("--utilization", share, 1) or 0.0
    budget = memory.budget(shape, capacity.setup_of(stated), card[1], utilization)
    return card[0], budget.kv, budget


def _with_unit(size: str) -> str:
    """A bare number is in GiB, unless it is the name of a card."""
    value = number(size)
    return f"{size}GiB" if value is not None and value < 1_000 and size.strip()[-1:].isdigit() else size


def _rendered(asked: Namespace, name: str, gpu: str, found: Fit, knowledge: Knowledge) -> bytes:
    if asked.json:
        from interfaces.render.document import json_bytes  # noqa: PLC0415
        from interfaces.render.fit import plain  # noqa: PLC0415

        return json_bytes(plain(name, gpu, found))
    from interfaces.render.fit import blocks  # noqa: PLC0415
    from interfaces.render.text import layout  # noqa: PLC0415

    lang = "zh" if asked.lang == "zh" else "en"
    return layout(blocks(name, gpu, found, knowledge, lang), output.width(), output.colour()).encode()

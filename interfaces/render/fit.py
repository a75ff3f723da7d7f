"""What `kb fit` shows: the budget of one GPU, what a token takes, which lengths fit. Figures that rest on an assumption
say so in words, in every format."""

from __future__ import annotations

from interfaces.render.outline import Outline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from engine.advise.fit import Fit, Row
    from engine.knowledge.store import Knowledge
    from interfaces.render.outline import Block


def plain(name: str, gpu: str, found: Fit) -> dict[str, Any]:
    """The figures as plain data; `assumed` names those that are not exact."""
    shape, setup, budget = found.shape, found.setup, found.budget
    return {
        "model": {
            "name": name, "layers": shape.layers, "heads": shape.heads, "kv_heads": shape.kv_heads,
            "head_dim": shape.head_dim, "latent": shape.latent, "windowed_layers": shape.windowed,
            "window": shape.window, "stateless_layers": shape.stateless, "max_positions": shape.positions,
            "weight_bits": shape.bits, "weights_gib": _rounded(shape.weights_gib),
        },
        "setup": {
            "tensor_parallel_size": setup.tensor_parallel, "pipeline_parallel_size": setup.pipeline_parallel,
            "kv_cache_bytes": setup.kv_bytes, "block_size": setup.block, "enforce_eager": setup.eager,
        },
        "per_gpu": None if budget is None else {
            "gpu": gpu, "memory_gib": _rounded(budget.total), "utilization": budget.utilization,
            "budget_gib": _rounded(budget.requested), "weights_gib": _rounded(budget.weights),
            "activations_gib": _rounded(budget.activations), "graphs_gib": _rounded(budget.graphs),
        },
        "kv_cache_gib": _rounded(found.available),
        "kv_bytes_per_token": found.per_token,
        "kv_tokens": found.tokens,
        "longest_context": found.longest,
        "lengths": [
            {"tokens": row.tokens, "need_gib": _rounded(row.need), "at_once": _rounded(row.at_once)}
            for row in found.rows
        ],
        "max_model_len": found.asked,
        "fits": found.fits,
        "assumed": [] if found.exact else _assumed(found),
    }  # fmt: skip


def _assumed(found: Fit) -> list[str]:
    weights = [] if found.shape.measured else ["weights_gib"]
    return [*weights, "activations_gib", "graphs_gib", "kv_cache_gib", "kv_tokens", "longest_context", "at_once"]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def blocks(name: str, gpu: str, found: Fit, knowledge: Knowledge, lang: str) -> Iterator[Block]:
    """The table as blocks of words."""
    return _Table(knowledge, lang, found).all(name, gpu)


class _Table(Outline):
    def __init__(self, knowledge: Knowledge, lang: str, found: Fit) -> None:
        super().__init__(knowledge, lang)
        self.found = found

    def all(self, name: str, gpu: str) -> Iterator[Block]:
        yield self.title("fit.title", model=("strong", name), gpus=self.gpus(gpu))
        yield self.paragraph(f"fit.verdict-{self.verdict()}", **self.verdict_values())
        if self.found.budget is not None:
            yield self.named_heading("fit.heading-budget")
            yield from self.budget()
        yield self.named_heading("fit.heading-cache")
        yield from self.cache()
        if self.verdict() != "nothing":
            yield self.named_heading("fit.heading-lengths")
            yield from (self.row(row) for row in self.found.rows)
        yield from self.notes()

    def named_heading(self, phrase: str) -> Block:
        return "heading", 0, "", [("", self.phrases[phrase])]

    def gpus(self, gpu: str) -> str:
        setup = self.found.setup
        count = setup.tensor_parallel * setup.pipeline_parallel
        return f"{count} x {gpu}" if gpu else f"{count} x GPU"

    # -- figures in words

    def about(self, figure: str, exact: bool = False) -> str:
        return figure if exact or self.found.exact else self.phrases["fit.about"].format(figure=figure)

    def gib(self, value: float, exact: bool = False) -> str:
        exact = exact or self.found.exact
        return self.about(f"{value:.2f} GiB" if exact else f"{value:.1f} GiB", exact)

    def tokens(self, value: int, exact: bool = False) -> str:
        return self.about(f"{value:,}", exact)

    # -- parts

    def verdict(self) -> str:
        found = self.found
        if found.available <= 0 or found.longest < found.setup.block:
            return "nothing"
        if found.fits is not None:
            return "fits" if found.fits else "too-long"
        return "whole" if found.shape.positions and found.longest >= found.shape.positions else "part"

    def verdict_values(self) -> dict[str, str]:
        found = self.found
        values = {"longest": self.tokens(found.longest)}
        row = next((row for row in found.rows if row.tokens == found.asked), None)
        if self.verdict() == "nothing":
            budget = found.budget
            missing = budget.weights + budget.activations + budget.graphs - budget.requested if budget else 0.0
            return {"missing": self.gib(max(missing, 0.0))}
        if self.verdict() in ("fits", "too-long") and row is not None:
            values |= {"length": f"{row.tokens:,}", "need": self.gib(row.need, exact=True)}
            values |= {"available": self.gib(found.available)} if not found.fits else {"times": self.times(row)}
        if self.verdict() == "fits":
            del values["longest"], values["need"]
        if self.verdict() == "whole":
            whole = next(row for row in found.rows if row.tokens == found.shape.positions)
            values = {"positions": f"{whole.tokens:,}", "times": self.times(whole)}
        return values

    def times(self, row: Row) -> str:
        return self.about(f"{row.at_once:.2f}" if self.found.exact else f"{row.at_once:.1f}")

    def budget(self) -> Iterator[Block]:
        budget, shape = self.found.budget, self.found.shape
        if budget is None:
            return
        share = f"{budget.total:.1f} GiB x {budget.utilization:g}"
        yield self.item("fit.requested", share=share, gib=self.gib(budget.requested, exact=True))
        yield self.item("fit.weights", gib=self.gib(budget.weights, exact=shape.measured), bits=str(shape.bits))
        yield self.item("fit.overhead", activations=f"{budget.activations:.1f}", graphs=f"{budget.graphs:.1f}")
        if budget.kv > 0:
            yield self.item("fit.left", gib=self.gib(budget.kv))

    def cache(self) -> Iterator[Block]:
        found = self.found
        yield self.item("fit.per-token", kib=f"{found.per_token / 1024:,.1f} KiB", bytes=f"{found.per_token:,}")
        if self.verdict() != "nothing":
            yield self.item("fit.holds", tokens=self.tokens(found.tokens))
            yield self.item("fit.longest", tokens=self.tokens(found.longest))
        if found.shape.positions:
            yield self.item("fit.positions", tokens=f"{found.shape.positions:,}")

    def row(self, row: Row) -> Block:
        tokens, gib = f"{row.tokens:,}", f"{row.need:.2f} GiB"
        if row.at_once < 1:
            return self.item("fit.row-not", tokens=tokens, gib=gib)
        return self.item("fit.row", tokens=tokens, gib=gib, times=self.times(row))

    def notes(self) -> Iterator[Block]:
        shape, setup = self.found.shape, self.found.setup
        said: list[Block] = []
        if self.found.asked and shape.positions and self.found.asked > shape.positions:
            said.append(self.item("fit.beyond-model", positions=f"{shape.positions:,}"))
        if shape.heads % setup.tensor_parallel:
            said.append(self.item("fit.heads-not-divisible", heads=str(shape.heads), tp=str(setup.tensor_parallel)))
        if shape.latent and setup.tensor_parallel > 1:
            said.append(self.item("fit.latent-not-divided"))
        elif shape.kv_heads and setup.tensor_parallel > shape.kv_heads:
            said.append(self.item("fit.heads-replicated", heads=str(shape.kv_heads)))
        if shape.windowed:
            said.append(self.item("fit.windowed", layers=str(shape.windowed), window=f"{shape.window:,}"))
        if shape.stateless:
            said.append(self.item("fit.stateless", layers=str(shape.stateless)))
        if not self.found.exact:
            said.append(self.item("fit.assumed"))
        if said:
            yield self.named_heading("fit.heading-notes")
            yield from said

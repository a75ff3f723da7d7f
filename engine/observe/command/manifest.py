"""YAML that starts a server: compose, Kubernetes, KServe, LeaderWorkerSet, Helm values, Ray Serve, `--config` files.

The kinds are told by what stands in them, container by container, so that a custom resource or a fragment is read too.
"""

from __future__ import annotations

from engine.errors import InputError
from engine.lazy import MULTILINE, regex
from engine.observe.command import canonical, layout, shell, surroundings
from engine.observe.command.dialects import flag as wrapped
from engine.observe.command.parts import LONGEST, Given, Parsed, Place, Stated, Word
from engine.observe.command.pieces import outer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engine.knowledge.source import Node
    from engine.knowledge.store import Knowledge

    Keys = Mapping[str, tuple[Node, Node]]

_TEMPLATE_LINE = regex(r"^[ \t]*\{\{.*\}\}[ \t]*$", MULTILINE)
_TEMPLATE = regex(r"\{\{[^\n]{0,200}?\}\}")
_SERVER = regex(r"\bvllm\s+serve\b|\bvllm\.entrypoints\.|api_server\.py|^serve$")
_COMMON = frozenset(
    {
        "--model",
        "--port",
        "--host",
        "--dtype",
        "--seed",
        "--api-key",
        "--root-path",
        "--config",
        "--headless",
        "--revision",
    }
)
_CAMEL = regex(r"(?<=[a-z0-9])([A-Z])")
NOTHING = Parsed((), (), (), None, False, False, 0, 0, form="manifest")


def parse(text: str, knowledge: Knowledge) -> Parsed:
    """Every server of the manifest in one. Never raises: what is no YAML holds nothing."""
    from engine.knowledge.source import nodes  # noqa: PLC0415 - YAML, only where a manifest was given

    text = text[:LONGEST]
    try:
        documents = nodes(_without_templates(text))
    except InputError:
        return NOTHING.but(end=len(text))  # type: ignore[no-any-return]
    found = [one for document in documents for one in _Reader(text, document, knowledge).servers()]
    return _together(found) if found else NOTHING.but(end=len(text))


def _without_templates(text: str) -> str:
    """Helm's `{{ … }}` as plain text of the same length: a line of its own as a comment."""
    if "{{" not in text:
        return text
    text = _TEMPLATE_LINE.sub(lambda match: "#" + " " * (len(match.group()) - 1), text)
    return _TEMPLATE.sub(lambda match: "x" * len(match.group()), text)


def _together(found: list[Parsed]) -> Parsed:
    first = next((one for one in found if one.flags), found[0])
    group = any(one.name == "nodes" and one.value == "several" for one in first.stated)
    return first.but(  # type: ignore[no-any-return]
        more_places=tuple(one.variable_place for one in found if group and one is not first and one.variable_place),
        flags=tuple(given for one in found for given in one.flags),
        variables=tuple({given.word.start: given for one in found for given in one.variables}.values()),
        stated=tuple({(one.name, one.start): one for server in found for one in server.stated}.values()),
        model=next((one.model for one in found if one.model), None),
        form="manifest",
    )


def keys(mapping: Node, depth: int = 0) -> dict[str, tuple[Node, Node]]:
    """Key -> its node and its value, merged mappings (`<<`) included."""
    found: dict[str, tuple[Node, Node]] = {}
    for key, value in mapping.pairs:
        if key.value == "<<" and depth < 4:
            for one in value.items or (value,):
                found = {**keys(one, depth + 1), **found}
        else:
            found[key.value] = (key, value)
    return found


class _Reader:
    """One document."""

    def __init__(self, text: str, document: Node, knowledge: Knowledge) -> None:
        self.text, self.document, self.knowledge = text, document, knowledge
        root = keys(document) if document.kind == "mapping" else {}
        self.compose = "services" in root
        self.where = (
            "docker" if self.compose else "kubernetes" if {"apiVersion", "servingEngineSpec"} & root.keys() else ""
        )

    def servers(self) -> Iterator[Parsed]:
        for mapping in surroundings.mappings(self.document):
            named = keys(mapping)
            found = self._server(mapping, named)
            if found is not None:
                facts = tuple(surroundings.stated(self.text, self.document, mapping, self.compose))
                place = Stated("where", self.where, mapping.start, mapping.start) if self.where else None
                yield found.but(stated=(*found.stated, *facts, *([place] if place else [])), form="manifest")

    def _server(self, mapping: Node, named: Keys) -> Parsed | None:
        if named.keys() & {"command", "args", "entrypoint", "image"}:
            return self._container(mapping, named)
        if "vllmConfig" in named and named["vllmConfig"][1].kind == "mapping":
            return self._chart(mapping, named)
        if "engine_kwargs" in named and named["engine_kwargs"][1].kind == "mapping":
            return self._ray(named)
        if mapping is self.document:
            return self._settings(mapping, named)
        return None

    # -- containers ---------------------------------------------------------------------------------------------------

    def _container(self, mapping: Node, named: Keys) -> Parsed | None:
        dialect = "kserve" if _model_format(named) == "huggingface" else ""
        command = self._command(named, dialect)
        image = named["image"][1].value if "image" in named else ""
        ours = "vllm" in image.lower() or _model_format(named) in ("vllm", "huggingface")
        if not (
            ours
            or (
                command is not None
                and (command.is_server or any(one.name not in _COMMON and self._known(one) for one in command.flags))
            )
        ):
            return None
        found = command or NOTHING
        flag_place = found.flag_place or self._new_key(named, "- ", 'item"', "command" if self.compose else "args")
        variables, variable_place = self._environment(named)
        return found.but(  # type: ignore[no-any-return]
            is_server=True, flag_place=flag_place, dialect=dialect, variables=(*variables, *found.variables),
            variable_place=variable_place or self._new_environment(named),
        )  # fmt: skip

    def _known(self, given: Given) -> bool:
        return self.knowledge.item("flag", given.name) is not None

    def _new_key(self, named: Keys, lead: str, quote: str, key: str) -> Place | None:
        if "image" not in named or {"command", "args"} & named.keys():
            return None
        return layout.below(self.text, *named["image"], f"{key}:", lead, quote)

    def _new_environment(self, named: Keys) -> Place | None:
        if "image" not in named or {"env", "environment"} & named.keys():
            return None
        if self.compose:
            return layout.below(self.text, *named["image"], "environment:", "", "entry-text")
        return layout.below(self.text, *named["image"], "env:", "- ", "pair")

    def _command(self, named: Keys, dialect: str) -> Parsed | None:
        """The command of a container: words of lists, or a text for a shell."""
        words: list[tuple[Word, Node, int]] = []
        starts = False  # whether something else than the image's own entrypoint runs
        for key in ("entrypoint", "command", "args"):
            if key not in named:
                continue
            node = named[key][1]
            for index, item in enumerate(node.items or ((node,) if node.kind == "scalar" and node.value else ())):
                if item.kind == "scalar" and (
                    node.kind == "scalar" or (" " in item.value and _SERVER.search(item.value))
                ):
                    inner = shell.parse(layout.piece(self.text, item).text, self.knowledge)
                    if inner.is_server or (
                        node.kind == "scalar" and not starts and inner.flags and item.value.lstrip().startswith("-")
                    ):
                        return outer(inner, layout.piece(self.text, item))
                if item.kind == "scalar" and node.kind == "sequence":
                    words.append((Word(self._shown(item), item.start, item.end), node, index))
            starts = starts or key == "entrypoint" or (key == "command" and not self.compose)
        return self._listed(words, starts and not _begins_with_flag(words), dialect) if words else None

    def _listed(self, words: list[tuple[Word, Node, int]], foreign: bool, dialect: str = "") -> Parsed | None:
        """A command in the words of one or two lists; `foreign` says that it must name the server to be one."""
        plain = [word for word, _node, _index in words]
        program, wrapper = shell.program_of(plain)
        if program is None and foreign:
            return None
        dialect = dialect or wrapper
        first = program + 1 if program is not None else 0
        given, rest = self._split(words[first:], dialect)
        model = next((one.value for one in given if one.name == "--model"), None) or next(
            (word.text for word in rest if not dialect and (program is not None or word is plain[first])), None
        )
        place = self._item_place(words, given)
        return Parsed(tuple(given), (), (), model, program is not None, False, 0, 0, place, dialect=dialect)

    def _split(self, words: list[tuple[Word, Node, int]], dialect: str) -> tuple[list[Given], list[Word]]:
        places = {word.start: (node, index) for word, node, index in words}
        names = self.knowledge.section("flag-names")
        found, rest = shell.flags_of([_tight(word, names) for word, _node, _index in words], self.knowledge, dialect)
        return [self._item(one, places) for one in found], rest

    def _item(self, given: Given, places: Mapping[int, tuple[Node, int]]) -> Given:
        node, first = places[given.word.start]
        last_node, last = places[(given.value_word or given.word).start]
        style = last_node.items[last].style
        extent = layout.item_extent(self.text, node, first, last) if node is last_node else None
        return given.but(quote=f"item{style}", extent=extent)  # type: ignore[no-any-return]

    def _item_place(self, words: list[tuple[Word, Node, int]], given: list[Given]) -> Place | None:
        node = words[-1][1]
        style = node.items[-1].style
        style = style if style in ("", '"', "'") else '"'
        last = given[-1] if given else None
        joined = last is None or last.value_word is None or last.value_word.start == last.word.start
        return layout.item_place(self.text, node, f"item{style}", joined)

    def _shown(self, node: Node) -> str:
        raw = self.text[node.start : node.end]
        return raw.strip("\"'") if "{{" in raw else node.value

    # -- environment --------------------------------------------------------------------------------------------------

    def _environment(self, named: Keys) -> tuple[list[Given], Place | None]:
        found: list[Given] = []
        place: Place | None = None
        for key in ("env", "environment", "env_vars"):
            node = named[key][1] if key in named else None
            if node is None or node.kind == "scalar":
                continue
            found += self._mapped(node) if node.kind == "mapping" else self._paired(node)
            lists = node.kind == "sequence" and bool(node.items) and node.items[0].kind == "scalar"
            style = node.items[0].style if lists else ""
            place = (
                layout.entry_place(self.text, node, "entry-text") if node.kind == "mapping"
                else layout.item_place(self.text, node, f"assign{style}" if lists else "pair")
            )  # fmt: skip
        return found, place

    def _mapped(self, node: Node) -> Iterator[Given]:
        for name, (key, value) in keys(node).items():
            if value.kind == "scalar":
                word = Word(name, key.start, max(key.end, value.end))
                yield Given(
                    name,
                    self._shown(value),
                    word,
                    Word(self._shown(value), value.start, value.end),
                    f"entry-text{value.style}",
                    layout.entry_extent(self.text, node, key),
                )

    def _paired(self, node: Node) -> Iterator[Given]:
        for index, item in enumerate(node.items):
            extent = layout.item_extent(self.text, node, index, index)
            if item.kind == "scalar":
                name, equals, value = self._shown(item).partition("=")
                if equals:
                    word = Word(item.value, item.start, item.end)
                    yield Given(name, value, word, word, f"assign{item.style}", extent)
                continue
            named = keys(item)
            value_node = named["value"][1] if "value" in named else None
            if "name" in named:
                shown = self._shown(value_node) if value_node is not None else None
                place = Word(shown or "", value_node.start, value_node.end) if value_node is not None else None
                yield Given(
                    named["name"][1].value,
                    shown,
                    Word("", item.start, item.end),
                    place,
                    f"entry-text{value_node.style if value_node else ''}",
                    extent,
                )

    # -- settings as keys ---------------------------------------------------------------------------------------------

    def _entries(self, mapping: Node, dialect: str) -> Iterator[Given]:
        names = self.knowledge.section("flag-names")
        for name, (key, value) in keys(mapping).items():
            dashed = _CAMEL.sub(r"-\1", name).lower()
            own = wrapped(dashed, dialect, names) if dialect else canonical(f"--{dashed}", self.knowledge)
            if own and not (value.kind == "scalar" and value.value in ("", "null", "~") and not value.style):
                shown = value.value if value.kind == "scalar" else self.text[value.start : value.end]
                word = Word(name, key.start, max(key.end, value.end))
                yield Given(
                    own,
                    shown,
                    word,
                    Word(shown, value.start, value.end),
                    f"entry{value.style if value.kind == 'scalar' else ''}",
                    layout.entry_extent(self.text, mapping, key),
                )

    def _chart(self, mapping: Node, named: Keys) -> Parsed:
        """One entry of the production stack's modelSpec."""
        node = named["vllmConfig"][1]
        config = keys(node)
        flags = list(self._entries(node, "helm"))
        extra = config["extraArgs"][1] if "extraArgs" in config else None
        other: Place | None = None
        if extra is not None and extra.kind == "sequence":
            words = [
                (Word(self._shown(item), item.start, item.end), extra, index)
                for index, item in enumerate(extra.items)
                if item.kind == "scalar"
            ]
            more = self._split(words, "")[0]
            other = self._item_place(words, more) if words else layout.item_place(self.text, extra, 'item"')
            flags += more
        elif extra is None:
            new = layout.entry_place(self.text, node, 'item"')
            other = new and new.but(lead=f"{new.lead}extraArgs: [", tail=f"]{new.tail}", joined=True)
        variables, variable_place = self._environment(named)
        model = named["modelURL"][1].value if "modelURL" in named else None
        place = layout.entry_place(self.text, node, "entry", "camel")
        return Parsed(
            tuple(flags), tuple(variables), (), model, True, False, 0, 0, place, variable_place, "helm",
            other_place=other,
        )  # fmt: skip

    def _ray(self, named: Keys) -> Parsed:
        """Ray Serve's LLMConfig."""
        node = named["engine_kwargs"][1]
        source = keys(named["model_loading_config"][1]) if "model_loading_config" in named else {}
        model = next((source[key][1].value for key in ("model_source", "model_id") if key in source), None)
        runtime = keys(named["runtime_env"][1]) if "runtime_env" in named else {}
        variables, variable_place = self._environment(runtime)
        return Parsed(
            tuple(self._entries(node, "")), tuple(variables), (), model, True, False, 0, 0,
            layout.entry_place(self.text, node, "entry", "underscore"), variable_place,
        )  # fmt: skip

    def _settings(self, mapping: Node, named: Keys) -> Parsed | None:
        """A `--config` file, or the settings of a wrapper."""
        backend = named["infer_backend"][1].value if "infer_backend" in named else ""
        dialect = ""
        if backend == "vllm" or any(name.startswith("vllm_") for name in named):
            dialect = (
                "llamafactory" if {"model_name_or_path", "vllm_maxlen", "vllm_gpu_util"} & named.keys() else "swift"
            )
        flags = list(self._entries(mapping, dialect))
        if not dialect and not (
            any(self._known(one) and one.name not in _COMMON for one in flags)
            and sum(map(self._known, flags)) * 2 >= len(flags)
        ):
            return None
        underscores = sum("_" in name for name in named) > sum("-" in name for name in named)
        place = layout.entry_place(self.text, mapping, "entry", "underscore" if underscores or dialect else "dash")
        model = next((one.value for one in flags if one.name == "--model"), None)
        return Parsed(tuple(flags), (), (), model, True, False, 0, 0, place, dialect=dialect)


def _model_format(named: Keys) -> str:
    node = named["modelFormat"][1] if "modelFormat" in named else None
    found = keys(node).get("name") if node is not None and node.kind == "mapping" else None
    return found[1].value if found else ""


def _begins_with_flag(words: list[tuple[Word, Node, int]]) -> bool:
    return bool(words) and words[0][0].text.startswith("-")


def _tight(word: Word, names: Mapping[str, str]) -> Word:
    """`- --max-model-len 4096` in one item is one word for the server; what is meant is plain."""
    head, _blank, tail = word.text.partition(" ")
    return word.but(text=f"{head}={tail.strip()}") if tail and head in names else word

"""What text must be in a line before a pattern can match it.

Looking for a few hundred fixed strings is cheap, trying a few hundred patterns is not: the log observer tries a pattern
only on lines that hold one of its literals. They are worked out here when the knowledge is compiled.
"""

from __future__ import annotations

import re
import re._constants as codes
import re._parser as parser

from engine.errors import KnowledgeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_FIRST_WORD = re.compile(r"[a-z0-9_]+", re.ASCII)
_LAST_WORD = re.compile(r"[a-z0-9_]+$", re.ASCII)
_INNER_WORD = re.compile(r"(?<=[^a-z0-9_])[a-z0-9_]+(?=[^a-z0-9_])", re.ASCII)
MOST_REPEATS = 1_000  # RE2 refuses more
MOST_ALTERNATIVES = 24  # literals that one pattern may stand for
# What a healthy server writes all day: a literal that is part of it would make every such line a candidate.
ORDINARY = (
    'info:     127.0.0.1:40000 - "post /v1/chat/completions http/1.1" 200 ok "get /health http/1.1" 200 '
    '"get /metrics http/1.1" "get /v1/models http/1.1" "post /v1/completions http/1.0" "post /v1/embeddings http/1.1" '
    "[loggers.py:127] engine 000: avg prompt throughput: 0.0 tokens/s, avg generation throughput: 0.0 tokens/s, "
    "running: 0 reqs, waiting: 0 reqs, gpu kv cache usage: 0.0%, prefix cache hit rate: 0.0% "
    "[logger.py:39] received request chatcmpl-: prompt: params: samplingparams(n=1, temperature=0.7, max_tokens=16), "
    "lora_request: none. added request chatcmpl- finished request cmpl- "
)
LEAST_RARE = 4  # characters of a literal that may be preferred because ordinary lines do not hold it
_FORBIDDEN = ("ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS", "ATOMIC_GROUP", "POSSESSIVE_REPEAT")


def required(pattern: str, rare: bool = True) -> tuple[str, ...]:
    """Lower-case strings of which at least one is in every match of `pattern`: the longest such choice, with `rare`
    among those that ordinary lines do not hold.

    Raises KnowledgeError when the pattern does not parse, needs more than linear time, or has no fixed part."""
    try:
        tree = parser.parse(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise KnowledgeError(f"the pattern {pattern!r} does not parse: {error}.") from None
    _refuse(tree, pattern)
    found = _best(tree, rare)
    if not found:
        raise KnowledgeError(f"the pattern {pattern!r} has no fixed part that every match must hold.")
    return tuple(sorted(found))


def by_word(found: Iterable[str]) -> dict[str, Any]:
    """The literals by the rarest whole word inside each: a text without that word cannot hold the literal. Those that
    have none, because a longer word may go on at either end, stand under `wordless`. `edges` has of each literal the
    longest beginning or end of a word: some word of the text must hold it."""
    inner_words = {literal: [match.group() for match in _INNER_WORD.finditer(literal)] for literal in found}
    often: dict[str, int] = {}
    for inner in inner_words.values():
        for word in set(inner):
            often[word] = often.get(word, 0) + 1
    words: dict[str, list[str]] = {}
    wordless, edges = [], {}
    for literal, inner in inner_words.items():
        if inner:
            words.setdefault(min(inner, key=lambda word: (often[word], -len(word))), []).append(literal)
        else:
            wordless.append(literal)
        outer = [match.group() for match in (_FIRST_WORD.match(literal), _LAST_WORD.search(literal)) if match]
        if outer and len(max(outer, key=len)) > 1:
            edges[literal] = max(outer, key=len)
    return {"words": {word: tuple(held) for word, held in words.items()}, "wordless": tuple(wordless), "edges": edges}


def _refuse(tree: Any, pattern: str) -> None:
    for op, argument in tree:
        if str(op) in _FORBIDDEN:
            raise KnowledgeError(f"the pattern {pattern!r} uses {str(op).lower()}, which no linear-time matcher can.")
        if str(op).endswith("_REPEAT") and argument[1] is not codes.MAXREPEAT and argument[1] > MOST_REPEATS:
            raise KnowledgeError(
                f"the pattern {pattern!r} repeats up to {argument[1]} times; at most {MOST_REPEATS} are matched."
            )
        for part in _parts(op, argument):
            _refuse(part, pattern)


def _parts(op: Any, argument: Any) -> list[Any]:
    if op is codes.BRANCH:
        return list(argument[1])
    if op is codes.SUBPATTERN:
        return [argument[3]]
    if op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return [argument[2]]
    return []


def _best(tree: Any, rare: bool) -> frozenset[str]:
    """The alternatives that a sequence requires: the choice whose shortest member is longest."""
    choices: list[frozenset[str]] = []
    run = frozenset({""})
    for op, argument in [*tree, (None, None)]:
        exact = _exact(op, argument)
        if exact and len(run) * len(exact) <= MOST_ALTERNATIVES:
            run = frozenset(before + after for before in run for after in exact)
            continue
        choices += [run, _of(op, argument, rare)]
        run = exact or frozenset({""})
    usable = [choice for choice in choices if choice and "" not in choice]

    def worth(choice: frozenset[str]) -> tuple[bool, int, int]:
        shortest = min(map(len, choice))
        return rare and shortest >= LEAST_RARE and not any(each in ORDINARY for each in choice), shortest, -len(choice)

    return max(usable, key=worth, default=frozenset())


def _exact(op: Any, argument: Any) -> frozenset[str]:
    """All strings that a part matches, when they are few and fixed; empty otherwise."""
    if op is codes.LITERAL:
        return frozenset({chr(argument).lower()})
    if op is codes.SUBPATTERN:
        return _fixed(argument[3])
    if op is codes.BRANCH:
        branches = [_fixed(branch) for branch in argument[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    return frozenset()


def _fixed(tree: Any) -> frozenset[str]:
    found = frozenset({""})
    for op, argument in tree:
        exact = _exact(op, argument)
        if not exact or len(found) * len(exact) > MOST_ALTERNATIVES:
            return frozenset()
        found = frozenset(before + after for before in found for after in exact)
    return found


def _of(op: Any, argument: Any, rare: bool) -> frozenset[str]:
    if op is codes.SUBPATTERN:
        return _best(argument[3], rare)
    if op in (codes.MAX_REPEAT, codes.MIN_REPEAT) and argument[0] >= 1:
        return _best(argument[2], rare)
    if op is codes.BRANCH:
        branches = [_best(branch, rare) for branch in argument[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    return frozenset()

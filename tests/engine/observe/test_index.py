"""The index proposes the causes whose descriptions a complaint is most like."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.observe import index
from engine.observe.index import build, nearest
from tests.support import mini

DOCUMENTS = {
    "shared": ["shm", "container", "nccl", "nccl", "error", "says:nccl-error"],
    "window": ["context", "length", "memory", "error", "says:oom"],
    "budget": ["memory", "serve", "error", "says:oom", "says:oom"],
    "flag": ["flag", "removed", "argument", "error"],
    "lock": ["file", "lock", "download", "error"],
}
INDEX = index.opened(build(DOCUMENTS))


def test_the_most_alike_comes_first() -> None:
    assert nearest(["context", "memory"], INDEX)[0][0] == "window"
    assert nearest(["nccl", "shm"], INDEX)[0][0] == "shared"


def test_what_every_description_says_tells_nothing() -> None:
    assert nearest(["error"], INDEX) == []
    assert nearest(["error", "lock"], INDEX) == nearest(["lock"], INDEX)


def test_a_text_of_unknown_words_is_like_nothing() -> None:
    assert nearest(["umbrella"], INDEX) == []
    assert nearest([], INDEX) == []


def test_saying_it_twice_makes_it_no_more_alike() -> None:
    assert nearest(["nccl", "nccl", "shm"], INDEX) == nearest(["shm", "nccl"], INDEX)


def test_a_share_is_at_most_one_and_one_for_the_best_possible_text() -> None:
    assert nearest(["lock"], INDEX) == [("lock", 1.0)]


@given(st.lists(st.sampled_from(sorted({term for terms in DOCUMENTS.values() for term in terms})), max_size=12))
def test_shares_fall_from_the_first_on(terms: list[str]) -> None:
    found = nearest(terms, INDEX)
    shares = [share for _cause, share in found]
    assert shares == sorted(shares, reverse=True)
    assert all(0 < share <= 1 for share in shares)


def test_the_order_of_the_documents_makes_no_difference() -> None:
    turned = index.opened(build(dict(reversed(DOCUMENTS.items()))))
    for terms in (["memory"], ["nccl", "memory", "lock"], ["says:oom"]):
        assert nearest(terms, turned) == nearest(terms, INDEX)


def test_the_terms_of_a_text_are_its_stems_its_pairs_and_its_concepts() -> None:
    terms = index.terms("docker 显存不足 hangs", mini().lexicon())
    assert {"docker", "hang", "显存", "存不", "不足"} <= set(terms)
    assert terms.count("says:oom") == terms.count("says:container") == 2
    assert not {"显", "存"} & set(terms)
    assert "says:hang" not in index.terms("it does not hang", mini().lexicon())


def test_an_index_of_nothing_finds_nothing() -> None:
    assert nearest(["memory"], index.opened(build({}))) == []

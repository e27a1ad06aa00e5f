"""The order that relevance and the scores of a reranker give together."""

from typing import Any

import pytest

from memcli.search.results import Hit
from memcli.search.search import reranked


def hit(name: str, relevance: float, **known: Any) -> Hit:
    return Hit(name, "entry", f"entries/{name}.md", 1, name, relevance, "2026-11-21", "", **known)


def order(relevances: list[float], scores: list[float]) -> list[str]:
    hits = [hit(name, relevance) for name, relevance in zip("abcdefgh", relevances, strict=False)]
    found = reranked(hits, scores)
    assert {(one.id, one.relevance) for one in found} == {(one.id, one.relevance) for one in hits}
    assert {one.id: one.score for one in found if one.score is not None} == dict(zip("abcdefgh", scores, strict=False))
    return [one.id for one in found]


@pytest.mark.parametrize(
    ("relevances", "scores", "names"),
    [
        ([0.5, 0.4, 0.3], [3, 2, 1], "abc"),
        ([0.5, 0.5, 0.5], [1, 2, 3], "cba"),
        ([0.5, 0.4, 0.3], [7, 7, 7], "abc"),
        ([0.1 + 0.2, 0.3, 0.3], [0.7, 0.7, 0.7], "abc"),
        ([0.3, 0.2], [-4, 9], "ab"),  # one against one: relevance has the last word
        ([0.9, 0.8, 0.1, 0.7], [0.1, 0.2, 0.3, 5], "dabc"),
        ([0.9, 0.1, 0.1, 0.1], [1, 1.1, 1, 1], "abcd"),
        ([0.9, 0.1, 0.1, 0.1], [1000, 1100, 1000, 1000], "abcd"),  # whatever the scale of the model
        ([0.5, 0.5, 0.5, 0.1, 0.1], [1, 2, 3], "cbade"),
    ],
)
def test_both_count_alike_on_a_scale_of_their_own(relevances: list[float], scores: list[float], names: str) -> None:
    assert order(relevances, scores) == list(names)


def test_a_hit_says_how_far_it_was_moved() -> None:
    found = reranked([hit(name, 0.5) for name in "abcd"], [1, 2, 3])
    assert [(one.id, one.score, one.moved) for one in found] == [("c", 3, 2), ("b", 2, 0), ("a", 1, -2), ("d", None, 0)]
    assert found[0].reranked() == "reranker 3.000, moved +2"
    assert [one.explained().rpartition("; ")[2] for one in found[:3]] == [
        "the reranker gave it 3.000 and moved it 2 up",
        "the reranker gave it 2.000 and left it in its place",
        "the reranker gave it 1.000 and moved it 2 down",
    ]
    assert (found[3].reranked(), found[3].explained()) == ("", "relevance 0.50: ")
    assert found[0].as_dict(explain=True)["reranker"] == {"score": 3, "moved": 2}
    for one in (found[0].as_dict(), found[3].as_dict(explain=True)):
        assert not {"reranker", "score", "moved", "text"} & one.keys()

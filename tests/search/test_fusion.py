"""Relevance: what counts, that it can be explained, that it is comparable."""

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli import data
from memcli.index.vector_file import CosinesAmong
from memcli.search import ranking
from memcli.search.query import Query, parse_query
from memcli.search.ranking import ChunkCandidate, fuse, named_speakers

ASKED = parse_query("Where did Melanie plant marigolds?")
SHARE = st.floats(0, 1)
CANDIDATE = st.builds(
    ChunkCandidate,
    chunk=st.integers(1, 10**6),
    document=st.integers(1, 3),
    is_turn=st.booleans(),
    keyword=SHARE,
    whole=SHARE,
    cosine=st.none() | st.floats(-1, 1),
    readable=SHARE,
    title=st.sampled_from([frozenset(), frozenset({"marigolds"})]),
    speaker=st.sampled_from(["", "Melanie", "Melanie Carter"]),
    is_question=st.booleans(),
    exact=SHARE,
    outside=SHARE,
)


def candidate(chunk: int = 1, **known: Any) -> ChunkCandidate:
    """Make a candidate about which nothing is known but what is given; its document is itself."""
    known = {"document": chunk, "is_turn": False, "keyword": 0.3, "cosine": 0.4, **known}
    return ChunkCandidate(chunk, whole=known.pop("whole", known["keyword"]), **known)


def order(*candidates: ChunkCandidate, question: Query = ASKED) -> list[int]:
    return [one.chunk for one in fuse(candidates, question)]


@given(st.lists(CANDIDATE, max_size=8), st.none() | st.sampled_from([0.0, 1.0]))
def test_the_parts_of_every_relevance_add_up_to_it(candidates: list[ChunkCandidate], vector: float | None) -> None:
    found = fuse(candidates, ASKED, vector=vector)
    assert {one.document for one in found} <= {one.document for one in candidates}
    for one in found:
        assert 0 <= one.relevance <= 1
        assert sum(one.parts.values()) == pytest.approx(one.relevance, abs=1e-9)
    assert [one.relevance for one in found] == sorted((one.relevance for one in found), reverse=True)


@pytest.mark.parametrize("is_turn", [False, True])
def test_more_of_either_arm_is_more_relevant(is_turn: bool) -> None:
    assert order(candidate(1, is_turn=is_turn), candidate(2, is_turn=is_turn, keyword=0.5)) == [2, 1]
    assert order(candidate(1, is_turn=is_turn), candidate(2, is_turn=is_turn, cosine=0.6)) == [2, 1]


@pytest.mark.parametrize(
    "better",
    [
        {"title": frozenset({"marigolds"})},
        {"exact": 1.0},
        {"is_named": True},
        {"is_turn": True, "speaker": "Melanie"},
        {"timestamp": "2026-01-02"},
    ],
)
def test_a_sign_lifts_a_text_above_its_like(better: dict[str, Any]) -> None:
    plain = candidate(1, is_turn="is_turn" in better, timestamp="2026-01-01")
    assert order(plain, replace(plain, chunk=2, document=2, **better)) == [2, 1]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("What did Mary Ann plant?", {"Mary Ann"}),
        ("What did Mary plant?", {"Mary Ann", "Mary Beth"}),
        ("what did ann plant?", {"Mary Ann"}),
        ("Which dose did Dr. Okafor name?", {"Dr. Okafor"}),
        ("Which dose did Okafor name?", {"Dr. Okafor"}),
        ("What did Jose say?", {"José"}),
        ("Why did the build fail?", set()),
        ("What did the build bot say?", {"Build Bot"}),
        ("What did I tell Mary Ann?", {"user", "Mary Ann"}),
    ],
)
def test_a_speaker_of_several_words_is_named_by_one_of_them(query: str, named: set[str]) -> None:
    everybody = {"Mary Ann", "Mary Beth", "Dr. Okafor", "Dr. Lee", "José", "Build Bot", "user", "assistant", ""}
    assert named_speakers(everybody, parse_query(query)) == named


def test_turns_of_a_speaker_of_two_words_are_lifted() -> None:
    turns = candidate(1, is_turn=True, speaker="Dr. Lee"), candidate(2, is_turn=True, speaker="Dr. Okafor")
    assert order(*turns, question=parse_query("Which dose did Okafor name?")) == [2, 1]


def test_the_farther_outside_the_time_asked_the_farther_behind_but_never_gone() -> None:
    assert order(candidate(1, outside=0.9), candidate(2, outside=0.2), candidate(3)) == [3, 2, 1]
    assert fuse([candidate(1, outside=1.0)], ASKED)[0].relevance > 0


def test_a_text_for_which_nothing_speaks_is_no_hit() -> None:
    nothing = candidate(1, keyword=0.0, cosine=-0.1)
    assert order(nothing, candidate(2, keyword=0.0, cosine=0.01), candidate(3, keyword=0.01, cosine=None)) == [3, 2]


def test_a_title_lifts_only_when_the_query_holds_all_of_it() -> None:
    half = candidate(1, title=frozenset({"marigolds", "roses"}))
    assert "title" not in fuse([half], ASKED)[0].parts


def test_a_turn_that_asks_stands_behind_one_that_tells() -> None:
    assert order(candidate(1, is_turn=True, is_question=True), candidate(2, is_turn=True)) == [2, 1]


def test_for_a_statement_meaning_decides_and_for_a_question_words() -> None:
    words, meaning = candidate(1, keyword=0.5, cosine=0.32), candidate(2, keyword=0.25, cosine=0.55)
    assert order(words, meaning) == [1, 2]
    assert order(words, meaning, question=parse_query("I have been so worried about her all of this week")) == [2, 1]


def test_a_document_is_one_hit_and_gains_from_its_other_chunks() -> None:
    long = {"document": "page", "whole": 0.6}
    found = fuse([candidate(1, **long), candidate(2, **long, cosine=0.5), candidate(3, cosine=0.5)], ASKED)
    assert [(one.document, one.chunk) for one in found] == [("page", 2), (3, 3)]


def test_a_text_without_a_vector_is_found_by_its_words() -> None:
    found = fuse([candidate(1, cosine=None, keyword=0.6)], ASKED)[0]
    assert found.parts["vector"] == 0
    assert found.parts["keyword"] == pytest.approx(0.6)


def test_in_a_script_the_model_cannot_read_words_alone_count() -> None:
    found = fuse([candidate(1, readable=0.0, cosine=0.9, keyword=0.6)], ASKED)[0]
    assert found.parts["vector"] == 0


def test_one_arm_can_be_asked_alone() -> None:
    assert fuse([candidate()], ASKED, vector=1.0)[0].parts["keyword"] == 0
    assert fuse([candidate()], ASKED, vector=0.0)[0].parts["vector"] == 0


def test_a_text_that_shares_nothing_has_no_relevance() -> None:
    found = fuse([candidate(keyword=0.0, cosine=0.1)], ASKED)[0]
    assert found.relevance == 0
    assert found.parts["cut"] > 0


def test_relevance_does_not_depend_on_the_other_candidates() -> None:
    alone = fuse([candidate(1)], ASKED)[0]
    among = fuse([candidate(1), candidate(2, keyword=0.9, cosine=0.9)], ASKED)[1]
    assert alone == among


def test_every_part_of_a_relevance_has_words_and_no_words_are_left_over() -> None:
    parts: set[object] = set()
    for path in Path(ranking.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Assign([ast.Name("parts")], value) | ast.keyword("parts", value):
                    dicts = [each for each in ast.walk(value) if isinstance(each, ast.Dict)]
                    parts |= {key.value for each in dicts for key in each.keys if isinstance(key, ast.Constant)}
                case ast.Subscript(ast.Name("parts"), ast.Constant(name), ast.Store()):
                    parts.add(name)
    assert parts == data.table("relevance_parts.toml").keys()


def test_a_text_among_good_ones_goes_before_its_equal_among_bad_ones() -> None:
    good = [candidate(chunk, cosine=0.6, keyword=0.6, timestamp="2026-01-01") for chunk in range(1, 7)]
    bad = [candidate(chunk, cosine=0.3, keyword=0.3) for chunk in range(11, 17)]
    among_good, among_bad = candidate(7, timestamp="2026-01-01"), candidate(17, timestamp="2026-01-02")
    many = [*good, among_good, *bad, among_bad]
    chunks = np.array([each.chunk for each in many])
    cosines = np.where((chunks[:, None] < 10) == (chunks < 10), 0.8, 0.0).astype(np.float32)
    ranked = [scored.chunk for scored in fuse(many, ASKED)]
    assert ranked.index(17) < ranked.index(7)  # the newer of equals
    scored = fuse(many, ASKED, cosines=CosinesAmong(chunks, cosines))
    ranked = [each.chunk for each in scored]
    assert ranked.index(7) < ranked.index(17)
    parts = {each.chunk: each.parts.get("near", 0.0) for each in scored}
    assert parts[7] > parts[17] == 0


def test_turns_and_what_has_no_neighbour_are_not_lifted() -> None:
    chunks, cosines = np.arange(1, 9), np.full((8, 8), 0.9, np.float32)
    turns = [candidate(int(chunk), is_turn=True, cosine=0.1 * chunk) for chunk in chunks]
    assert fuse(turns, ASKED, cosines=CosinesAmong(chunks, cosines)) == fuse(turns, ASKED)
    texts = [candidate(int(chunk), cosine=0.1 * chunk) for chunk in chunks]
    strangers = fuse(texts, ASKED, cosines=CosinesAmong(chunks, np.eye(8, dtype=np.float32)))
    assert [(each.chunk, each.relevance) for each in strangers] == [
        (each.chunk, each.relevance) for each in fuse(texts, ASKED)
    ]
    few = fuse(texts[:5], ASKED, cosines=CosinesAmong(chunks, cosines))
    assert few == fuse(texts[:5], ASKED)

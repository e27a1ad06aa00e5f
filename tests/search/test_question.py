"""Queries taken apart, and what their words weigh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.language.keyword_tokens import latin_share
from memcli.search.query import parse_query, term_weights
from memcli.search.ranking_weights import WEIGHTS
from tests.tables import cases


@cases("query", "statement")
def test_a_sentence_that_asks_nothing_is_a_statement(query: str, statement: bool) -> None:
    assert parse_query(query).is_statement is statement


def test_a_capital_within_a_sentence_makes_a_name() -> None:
    terms = {term.word: term.is_name for term in parse_query("Where did Ingrid meet the board? Later").terms}
    assert terms == {"ingrid": True, "meet": False, "board": False, "later": False}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("When did Jürgen Müller meet the board?", {"jurgen", "muller"}),
        ("where does Мария work", {"мария"}),
        ("When did Can and May move?", {"can", "may"}),
        ("¿Cuándo se mudó la hermana de Lucía?", {"lucia"}),
        ("What Is The Name Of My Dog", {"name", "dog"}),
        ("Wann hat der Nachbar das Auto verkauft?", set()),
    ],
)
def test_names_are_known_by_capitals_in_languages_where_only_names_have_them(query: str, names: set[str]) -> None:
    assert {term.word for term in parse_query(query).terms if term.is_name} == names


def test_a_query_loses_the_stop_words_of_its_own_language_alone() -> None:
    assert [term.word for term in parse_query("Wann hat der Nachbar das Auto verkauft?").terms][-3:] == [
        "nachbar",
        "auto",
        "verkauft",
    ]
    assert "her" in {term.word for term in parse_query("her gün ne için koşuyor ve ne kadar").terms}


def test_frequent_names_with_accents_are_left_out_too() -> None:
    question = parse_query("What are Renée's plans for the summer?")
    assert question.parts([99, 99, 99])[1][0] == "What are plans for the summer?"


def test_irregular_forms_of_a_word_are_asked_for_too() -> None:
    assert {"buy", "bought"} <= set(parse_query("what did she buy").terms[-1].forms)


def test_only_what_is_more_than_one_word_must_stand_exactly() -> None:
    assert parse_query('open src/app.py in 2023 at "the second gate"').phrases == ("the second gate", "src/app.py")


def test_the_last_line_of_a_dialogue_is_embedded_as_well() -> None:
    assert parse_query("one line\n").parts() == (("one line", 1.0),)
    assert parse_query("Ann: hello\nBob: the roof leaks\n").parts() == (
        ("Ann: hello\nBob: the roof leaks", 1.0),
        ("Bob: the roof leaks", WEIGHTS.last_line),
    )


def test_a_query_is_embedded_without_its_frequent_names_as_well() -> None:
    question = parse_query("What are Melanie's plans for the summer with Ann?")
    assert [term.word for term in question.terms] == ["melanie", "plans", "summer", "ann"]
    without = ("What are plans for the summer with Ann?", 1.0)
    assert question.parts([99, 99, 99, 2]) == ((question.text, 1.0), without)
    assert question.parts([2, 99, 99, 2]) == ((question.text, 1.0),)
    half = WEIGHTS.frequent // 2
    assert question.parts([half, 99, 99, 2])[1] == (without[0], 0.5)


def test_a_query_of_names_alone_is_embedded_as_it_is() -> None:
    assert parse_query("who is Melanie").parts([99]) == (("who is Melanie", 1.0),)


def test_a_rare_word_weighs_more_than_a_frequent_or_an_everyday_one() -> None:
    question = parse_query("zebra melanie people")
    zebra, melanie, people = term_weights(question, [1, 90, 1], 180)
    assert zebra > 2 * melanie
    assert zebra > 1.75 * people


def test_a_word_of_more_texts_than_there_are_weighs_something() -> None:
    assert term_weights(parse_query("zebra rhino"), [90_000, 9], 0)[1] == pytest.approx(1, abs=0.05)


def test_a_word_that_is_said_again_weighs_more() -> None:
    zebra, rhino = term_weights(parse_query("zebra rhino zebra"), [1, 1], 180)
    assert zebra == pytest.approx(2 * rhino)
    assert sum(term_weights(parse_query("zebra " * 1000), [1], 180)) == pytest.approx(1)


def test_weights_hardly_move_when_a_thousand_texts_are_added() -> None:
    question = parse_query("Where did Melanie plant marigolds?")
    before = term_weights(question, [90, 3, 1], 180)
    after = term_weights(question, [90, 3, 1], 1180)
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 0.05


@given(st.text(st.characters(exclude_categories=()), max_size=80), st.integers(0, 10**6), st.data())
def test_weights_of_any_query_sum_to_one_at_most(query: str, texts: int, data: st.DataObject) -> None:
    question = parse_query(query)
    counts = [data.draw(st.integers(0, texts)) for _ in question.terms]
    weights = term_weights(question, counts, texts)
    assert all(weight >= 0 for weight in weights)
    assert sum(weights) <= 1 + 1e-9


def test_weights_of_a_query_that_tells_anything_sum_to_one() -> None:
    assert sum(term_weights(parse_query("marigolds"), [3], 100)) == pytest.approx(1.0)
    assert sum(term_weights(parse_query("garden work"), [30, 30], 100)) == pytest.approx(1.0)
    assert sum(term_weights(parse_query("what is it"), [60, 60, 60], 100)) < 0.7
    assert sum(term_weights(parse_query("the"), [60], 100)) < 0.6


def test_an_english_model_reads_nothing_out_of_digits_and_emoji() -> None:
    assert [parse_query(text).readable(latin_share) for text in ("7654", "👍", "12:31", "深色")] == [0, 0, 0, 0]
    assert [parse_query(text).readable(latin_share) for text in ("port 7654", "Größe", "👍 fine")] == [1, 1, 1]

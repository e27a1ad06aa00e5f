"""Short statements are taken apart alike, however they are put."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.lifecycle.claims.claim import Claim
from memcli.lifecycle.claims.difference import differences
from memcli.lifecycle.claims.reading import MOST, claims, sentences
from memcli.lifecycle.claims.terms import stem, terms


def only(text: str) -> Claim:
    (claim,) = claims(text)
    return claim


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2 GB", "2000 MB"),
        ("10 am", "10:00"),
        ("7 pm", "19:00"),
        ("21 °C", "21 degrees Celsius"),
        ("2 hours", "120 min"),
        ("€20", "20 EUR"),
        ("50,000", "50k"),
        ("1.5 million", "1500000"),
        ("March 3rd", "3 March"),
        ("three", "3"),
        ("e-mail", "email"),
        ("stores", "storing"),
        ("written", "writes"),
        ("Fridays", "Friday"),
    ],
)
def test_two_spellings_of_one_thing_are_one_term(one: str, other: str) -> None:
    def keys(text: str) -> list[str]:
        return [stem(term.key) if term.kind == "word" else term.key for term in terms(text)]

    assert keys(one) == keys(other)


@pytest.mark.parametrize(
    "text",
    [
        "https://acme.dev/x",
        "src/app/main.py",
        "~/.config/mem",
        "snake_case",
        "eu-west-1",
        "v1.2.3",
        "#1a2b3c",
        "a@b.co",
    ],
)
def test_an_identifier_is_one_term_and_no_word(text: str) -> None:
    (term,) = terms(text)
    assert term.kind in ("code", "name")
    assert term.text == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User prefers tabs", "I prefer tabs."),
        ("The invoice export was written by Tomás", "Tomás wrote the invoice export"),
        ("Customer data is stored in Frankfurt", "We keep customer data in Frankfurt"),
        ("Ana is the tech lead of the payments team", "The payments team's tech lead is Ana"),
        ("Before merging, tests must pass", "Tests must pass before merging"),
        ("Every Thursday Marta cuts the release branch", "The release branch is cut by Marta every Thursday"),
        ("The trip to Kyoto is planned for April", "The Kyoto trip is planned for April"),
        ("User isn't married", "User is not married"),
        ("The API listens on port 8080", "API is listening on port 8080"),
        ("Don't deploy on Fridays", "Never deploy on Fridays"),
        ("A door, which is very large, is open", "A large door is open"),
    ],
)
def test_one_statement_has_no_differences_however_it_is_put(one: str, other: str) -> None:
    first, second = only(one), only(other)
    assert differences(first, second) == []
    assert first.negated == second.negated


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The turtle is following the fish", "The fish is following the turtle"),
        ("Deploy from staging to production", "Deploy from production to staging"),
        ("Rita reviews the code of Tomás", "Tomás reviews the code of Rita"),
        ("Back up before the migration", "Back up after the migration"),
        ("The elephant is ridden by the woman", "The elephant is ridden over the woman"),
    ],
)
def test_the_same_words_in_other_parts_are_a_difference(one: str, other: str) -> None:
    assert differences(only(one), only(other))


@pytest.mark.parametrize(
    ("text", "retired"),
    [
        ("We switched from npm to pnpm", {"npm"}),
        ("Rent went up to 1,020 euros", set()),
        ("We replaced Sentry with Rollbar", {"sentry"}),
        ("Sentry was replaced by Rollbar", {"sentry"}),
        ("We use ruff instead of black", {"black"}),
        ("We dropped Jenkins in favour of CircleCI", {"jenkin"}),
        ("Sofia handed the release to Pedro", {"sofia"}),
        ("Accuracy is 0.81 (was 0.72)", {"0.72"}),
        ("Deploys run on Hetzner, not Fly", {"fly"}),
        ("The editor is not Vim but Helix", {"vim"}),
        ("Port 8080 → 9090", {"8080"}),
        ("User sold the Volvo", {"volvo"}),
    ],
)
def test_a_change_names_what_is_over(text: str, retired: set[str]) -> None:
    assert only(text).retired == frozenset(retired)
    assert only(text).changed


def test_what_something_has_become_is_its_value() -> None:
    claim = only("Rent went up to 1,020 euros")
    assert (claim.change, claim.whose, [term.text for term in claim.value]) == ("number", {"rent"}, ["1,020 euros"])


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("User no longer drinks coffee", "negated"),
        ("User stopped smoking", "changed"),
        ("User lived in Porto before", "is_past"),
        ("User might switch to pnpm", "is_wished"),
        ("The team is migrating to GCP", "is_underway"),
        ("User usually prefers tea", "is_hedged"),
        ("Nobody reviews on Sundays", "is_indefinite"),
        ("User has never used Docker", "has_never"),
        ("No, deploys run on Hetzner", "corrects"),
    ],
)
def test_a_statement_knows_how_it_stands(text: str, mark: str) -> None:
    assert getattr(only(text), mark) is True
    assert getattr(only("User prefers tabs"), mark) is False


def test_sentences_and_list_items_are_statements_of_their_own() -> None:
    text = "# Team\n- Dr. Lopes leads it. Fly.io hosts it; it costs 5.50 EUR.\n2. [x] done"
    assert list(sentences(text)) == ["Team", "Dr. Lopes leads it.", "Fly.io hosts it", "it costs 5.50 EUR.", "[x] done"]


def test_a_document_is_not_read_to_its_end() -> None:
    assert len(claims("One more fact.\n" * 1000)) == MOST + 1


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    for claim in claims(text):
        assert differences(claim, claim) == []

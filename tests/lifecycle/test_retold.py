"""A sentence is told so that it stands alone, and wrong English is never made of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.lifecycle.extract.retold import bare, retold, single


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I prefer dark mode", "User prefers dark mode."),
        ("I always use tabs and prefer short lines", "User always uses tabs and prefers short lines."),
        ("I don't like ORMs", "User does not like ORMs."),
        ("I haven't used Rust", "User has not used Rust."),
        ("I've been writing Python for 6 years", "User has been writing Python for 6 years."),
        ("I'll revisit Switch after launch", "User will revisit Switch after launch."),
        ("I'd like to see my tests first", "User would like to see their tests first."),
        ("I'm 30 years old", "User is 30 years old."),
        ("I am based in Oslo", "User is based in Oslo."),
        ("I work with data at my company, and I love it", "User works with data at their company, and they love it."),
        ("I tried Cython but it annoyed me", "User tried Cython but it annoyed them."),
        ("I need to build and run it", "User needs to build and run it."),
        ("I carry two phones", "User carries two phones."),
        ("I watch and own a dog", "User watches and owns a dog."),
        ("My advisor is Prof. Martinez", "User's advisor is Prof. Martinez."),
        ("The youngest of my cats is Bo", "The youngest of User's cats is Bo."),
        ("I'm Sarah", "User's name is Sarah."),
        ("My name is Sarah Chen", "User's name is Sarah Chen."),
        ("We use pnpm", "We use pnpm."),
        ("the port is 8081", "The port is 8081."),
        ("npm-check runs nightly", "npm-check runs nightly."),
        ("Is it live?", "Is it live?"),
        ("I kindly ask you to stop", "User: I kindly ask you to stop."),
        ("I'd been there", "User: I'd been there."),
        ("Tell me what I need", "User: Tell me what I need."),
        ("Last week I moved", "User: Last week I moved."),
    ],
)
def test_a_sentence_is_turned_where_that_is_sure_and_else_keeps_its_speaker(said: str, told: str) -> None:
    assert retold(said) == told


def test_a_named_speaker_is_named() -> None:
    assert retold("I moved my desk", "Caroline") == "Caroline moved their desk."
    assert retold("I thank you", "Caroline") == "Caroline: I thank you."


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Also, I should mention I use VS Code.", "I use VS Code"),
        ("Big news — I just moved!", "I just moved"),
        ("Hi, I'm Sarah.", "I'm Sarah"),
        ("Oh and we got the grant, by the way", "we got the grant"),
        ("No, actually the port is 8081", "the port is 8081"),
        ("I prefer lists — it helps me", "I prefer lists"),
        ("I ship on Fridays, which is fine.", "I ship on Fridays"),
        ("We moved — it took 3 weeks", "We moved — it took 3 weeks"),
        ("Decided to use FSDP.", "I decided to use FSDP"),
        ("Currently working on search", "I'm currently working on search"),
        ("Note", "Note"),
    ],
)
def test_what_says_nothing_is_dropped(said: str, left: str) -> None:
    assert bare(said) == left


def test_who_one_is_and_where_are_two_statements() -> None:
    assert single("I'm Maria, a designer based in Austin") == [
        "I'm Maria",
        "I'm a designer",
        "I'm based in Austin",
    ]
    assert single("I'm tired, a bit") == ["I'm tired, a bit"]


@given(st.text(st.sampled_from("I'm my we you like and really , — no"), max_size=80), st.text(max_size=40))
def test_no_sentence_makes_the_rewriting_fall_over(start: str, rest: str) -> None:
    assert all(retold(part) for part in single(bare(start + rest)) if part)

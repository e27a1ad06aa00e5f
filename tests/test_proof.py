"""The questions that a conversation asked and answered, which the bench puts to memory alone."""

import pytest

from bench.proof import asked_in
from memcli.formats.session_event import Event

TALK = (
    ("user", "Which port does the staging database listen on?"),
    ("assistant", "It listens on 5433, since 5432 is taken by the old cluster."),
    ("user", "And who looks after the label printer in the warehouse?"),
    ("assistant", "That is Ottoline, from the night shift."),
)


def events(*said: tuple[str, str]) -> list[Event]:
    """Make the messages of a conversation."""
    return [Event(f"msg_{number}", role=role, text=text) for number, (role, text) in enumerate(said)]


def test_a_question_counts_when_its_reply_told_something_that_can_be_looked_for() -> None:
    found = asked_in(events(*TALK, ("user", "Nice weather today, is it not?"), ("assistant", "yes, it really is")))
    assert [(one.question, one.words) for one in found] == [
        ("Which port does the staging database listen on?", ("5433", "5432")),
        ("And who looks after the label printer in the warehouse?", ("Ottoline",)),
    ]


@pytest.mark.parametrize("said", ["can you write that for me?", "what would you pick here?", "is 20 still right?"])
def test_a_request_that_names_nothing_is_no_question_to_memory(said: str) -> None:
    assert asked_in(events(("user", said), ("assistant", "Yes, in /srv/exports on 5433."))) == []


def test_who_asks_back_has_not_answered() -> None:
    question, back = "Where does the nightly export write its files?", "Do you mean the one of Ottoline on 5433?"
    assert asked_in(events(("user", question), ("assistant", back), ("user", "yes"))) == []


def test_the_reply_may_come_after_others_of_the_same_speaker() -> None:
    said = events(
        ("user", "Where does the nightly export write its files?"),
        ("assistant", "let me look"),
        ("assistant", "it writes them to /srv/exports"),
        ("user", "thanks"),
    )
    (found,) = asked_in(said)
    assert found.words == ("srv/exports",)


def test_a_number_that_opens_a_reply_is_looked_for_and_a_name_of_the_question_is_not() -> None:
    said = (
        ("user", "who looks after the mirror of pypi in our cellar?"),
        ("assistant", "PyPI mirrors are Bo's, not mine."),
    )
    (found,) = asked_in(
        events(*said, ("user", "how many beakers does each shelf hold?"), ("assistant", "12 of them."))
    )[1:]
    assert found.words == ("12",)
    assert "PyPI" not in asked_in(events(*said))[0].words


@pytest.mark.parametrize("said", ["is that so?", "what is this about?", "and how are they doing that?"])
def test_a_question_of_everyday_words_alone_is_not_asked(said: str) -> None:
    assert asked_in(events(("user", said), ("assistant", "It contradicts order 20417."))) == []

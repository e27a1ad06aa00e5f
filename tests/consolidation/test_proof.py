"""What a conversation taught is proved by asking memory alone the questions that were answered in it."""

import json
from pathlib import Path

import pytest

from memcli.consolidation.proof import asked_in
from memcli.formats.session_event import Event
from tests.conftest import Mem

TALK = (
    ("user", "Which port does the staging database listen on?"),
    ("assistant", "It listens on 5433, since 5432 is taken by the old cluster."),
    ("user", "And who looks after the label printer in the warehouse?"),
    ("assistant", "That is Ottoline, from the night shift."),
)


def events(*said: tuple[str, str]) -> list[Event]:
    """Make the messages of a conversation."""
    return [Event(f"msg_{number}", role=role, text=text) for number, (role, text) in enumerate(said)]


def told(mem: Mem, *said: tuple[str, str]) -> None:
    """Let a conversation take place."""
    lines = "".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in said)
    assert mem("session", "append", "-", "--session", "talk", stdin=lines).code == 0


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


def test_what_was_not_kept_is_named_with_the_words_that_memory_lacks(workspace: Path, mem: Mem) -> None:
    told(mem, *TALK)
    mem("write", "The database of staging listens on port 5433; 5432 belongs to the old cluster.")
    done = mem("check", "--recall", "talk")
    assert done.code == 1
    assert done.out.splitlines() == [
        "talk: 1 of 2 answerable from memory alone",
        "  not kept: And who looks after the label printer in the warehouse? (Ottoline)",
    ]


def test_the_question_itself_is_no_answer(workspace: Path, mem: Mem) -> None:
    told(mem, *TALK[:2])
    mem("write", "Asked: Which port does the staging database listen on? Nobody knew 5433 or 5432.")
    assert mem("check", "--recall", "talk").out == (
        "talk: 0 of 1 answerable from memory alone\n"
        "  not kept: Which port does the staging database listen on? (5433, 5432)\n"
    )


def test_all_sessions_can_be_asked_and_the_document_names_the_memories(workspace: Path, mem: Mem) -> None:
    told(mem, *TALK[:2])
    mem("write", "The database of staging listens on port 5433; 5432 belongs to the old cluster.")
    done = mem("check", "--recall", "all", "--json")
    (session,) = done.json["sessions"]
    assert done.code == 0
    assert (session["session"], session["asked"], session["answered"]) == ("talk", 1, 1)
    assert session["questions"][0]["found"] == ["5433", "5432"]
    assert mem("read", session["questions"][0]["hits"][0]).code == 0


def test_consolidation_proves_what_it_kept(workspace: Path, mem: Mem) -> None:
    told(mem, *TALK)
    assert "answerable from memory alone" in mem("consolidate", "--prove").out
    told(mem, ("user", "Ottoline moved to the day shift."))
    assert mem("consolidate", "--prove", "--json").json["proof"][0]["session"] == "talk"


def test_a_session_without_such_questions_says_so(workspace: Path, mem: Mem) -> None:
    told(mem, ("user", "Hello there"), ("assistant", "Hello"))
    done = mem("check", "--recall", "talk")
    assert done.code == 0
    assert "no question in it was answered" in done.out


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

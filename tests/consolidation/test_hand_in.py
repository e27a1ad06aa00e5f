"""An agent hands in what is to be kept of a conversation: it plays the LLM, and what is the user's the talk says."""

import json
import re
from pathlib import Path

import pytest

from memcli.consolidation.consolidate import ReplyRequest, consolidate, reply_request
from memcli.consolidation.llm_extractor import SCHEMA, HandedIn
from memcli.consolidation.plan import Outcome
from memcli.errors import UsageError
from memcli.store.sessions.sessions import find
from memcli.store.workspace import Workspace
from tests.consolidation.conversations import cursor, documents, history, reply, say, state
from tests.scenes import at
from tests.tables import table

SECRET = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
PORT = "The staging database listens on port 6543"
TALK = (
    f"We deploy from CI only, never by hand. {PORT}.",
    "Noted. I would move it to port 7000.",
    "No. Is Postgres 18 out yet? I like tabs better than spaces in Go code.",
    "It is.",
    "Bert wrote:\n> We always squash our commits before a merge.",
    "I see.",
)
GOOD = reply("They set the rules.", None, {"content": "The staging port is 6543.", "source": "user_stated"})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = at(tmp_path / "memory")
    say(made, *TALK)
    return made


def handed(workspace: Workspace, text: str, upto: str = "") -> list[Outcome]:
    return consolidate(workspace, find(workspace, "s"), HandedIn(text), upto=upto, most=1)


def asked(workspace: Workspace) -> ReplyRequest:
    return reply_request(workspace, find(workspace, "s"), keep=0, events=None)


def test_what_is_asked_covers_what_waits_and_writes_nothing(workspace: Workspace) -> None:
    before = state(workspace)
    request = asked(workspace)
    assert state(workspace) == before
    assert (request.covers, request.upto, request.parts) == ([f"m{number}" for number in range(1, 7)], "m1..m6", 1)
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert "#3 [2026-11-20 10:03] user: No. Is Postgres 18 out yet?" in request.messages[1]["content"]
    assert request.schema == SCHEMA


@pytest.mark.parametrize(
    ("content", "claimed", "source", "quote"),
    [
        ("We deploy from CI only, never by hand.", "inferred", "user", ""),
        ("we deploy from CI only, never by hand", "user_stated", "user", ""),
        ("I like tabs better than spaces in Go code. We deploy from CI only, never by hand.", "user", "user", ""),
        ("The staging port is 6543.", "user", "observed", f"{PORT}."),
        ("The staging port is 6543.", "inferred", "inferred", ""),
        ("We deploy from CI only, by hand.", "user", "observed", "We deploy from CI only, never by hand."),
        (
            "The staging database listens on port 6544.",
            "user",
            "observed",
            "The staging database listens on port 6543.",
        ),
        ("We deploy from CI only.", "user", "observed", "We deploy from CI only, never by hand."),
        ("Is Postgres 18 out yet?", "user", "observed", ""),
        ("I would move it to port 7000.", "user", "observed", ""),
        ("We always squash our commits before a merge.", "user", "observed", ""),
        ("The cat is called Tom.", "user", "observed", ""),
        ("No.", "user", "observed", "No."),
    ],
)
def test_whole_sentences_of_the_user_are_theirs_and_a_rewording_has_its_quote(
    workspace: Workspace, content: str, claimed: str, source: str, quote: str
) -> None:
    handed(workspace, reply("They talked.", None, {"content": content, "source": claimed}))
    (entry,) = documents(workspace)
    assert entry.body.strip() == content
    assert entry.fields["source"] == source
    assert entry.fields["sources"][1:] == ([f"user: {quote}"] if quote else [])


def test_every_fact_of_a_good_reply_is_kept_with_its_source_key_and_message(workspace: Workspace) -> None:
    facts = [
        {"content": "We deploy from CI only, never by hand.", "type": "constraint", "source": "user_stated"},
        {"content": "The staging database listens on port 6543.", "source": "user_stated", "key": "staging/port"},
        {"content": "I like tabs better than spaces in Go code.", "type": "preference", "source": "user_stated"},
        {"content": "Postgres 18 is out.", "source": "observed", "message": 4, "key": "postgres/version"},
    ]
    (done,) = handed(workspace, reply("They set the rules.", None, *facts), upto="m1..m6")
    assert (done.how, done.messages, done.entries) == ("llm", 6, 4)
    kept = {entry.body.strip(): entry.fields for entry in documents(workspace)}
    assert [
        (fields["source"], fields.get("key"), fields["sources"]) for fields in (kept[fact["content"]] for fact in facts)
    ] == [
        ("user", None, ["session:s#m1"]),
        ("user", "staging/port", ["session:s#m1"]),
        ("user", None, ["session:s#m3"]),
        ("observed", "postgres/version", ["session:s#m4"]),
    ]
    assert cursor(workspace) == "m6"
    before = state(workspace)
    for _ in range(10):
        assert handed(workspace, GOOD)[0].how == "nothing"
    assert state(workspace) == before


MALFORMED = {
    **table(__file__, "MALFORMED"),
    "cut in the middle": GOOD[: len(GOOD) // 2],
    "cut in a text": GOOD[:-20],
    "cut in a fence": f"```json\n{GOOD[:60]}",
    "the schema": json.dumps(SCHEMA),
    "the schema in a fence": f"```json\n{json.dumps(SCHEMA, indent=2)}\n```",
    "too large": GOOD + " " * 3_000_000 + "x" * 3_000_000,
    "deep": "[" * 50_000,
    "control characters": "\x00\x01\x1b[2J",
}


def test_a_reply_that_cannot_be_read_changes_nothing_and_loses_nothing(workspace: Workspace) -> None:
    before = state(workspace)
    refusal = re.compile(r"^That reply cannot be used: .*\S\. Answer again with one JSON object")
    for case, text in MALFORMED.items():
        with pytest.raises(UsageError) as refused:
            handed(workspace, text)
        assert refusal.match(str(refused.value)), case
        assert state(workspace) == before, case
    assert handed(workspace, GOOD)[0].messages == len(TALK)


def test_a_reply_that_only_repeats_the_question_is_refused(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="repeats the prompt"):
        handed(workspace, "\n".join(message["content"] for message in asked(workspace).messages))
    assert cursor(workspace) == ""


def test_what_was_said_after_the_question_is_not_taken_for_answered(workspace: Workspace) -> None:
    last = asked(workspace).upto
    say(workspace, "Backups run at three in the morning.", "Good.", first=7)
    handed(workspace, GOOD, last)
    assert cursor(workspace) == "m6"
    assert asked(workspace).covers == ["m7", "m8"]


def test_what_the_user_said_before_the_question_is_theirs_too_and_what_comes_after_is_not(workspace: Workspace) -> None:
    late = "Backups run at three in the morning."
    say(workspace, "Thanks a lot for that.", "Gladly.", late, first=7)
    handed(workspace, GOOD, "m1..m6")
    facts = [{"content": f"{PORT}.", "source": "user"}, {"content": late, "source": "user"}]
    handed(workspace, reply("They went on.", None, *facts), "m7..m8")
    kept = {entry.body.strip(): (entry.fields["source"], entry.fields["sources"]) for entry in documents(workspace)}
    assert kept[f"{PORT}."] == ("user", ["session:s#m1"])
    assert kept[late] == ("observed", ["session:s#m7:m8"])


@pytest.mark.parametrize("upto", ["m1..m7", "m2..m6", "m6", "of_another_session"])
def test_a_reply_about_messages_that_do_not_wait_is_refused(workspace: Workspace, upto: str) -> None:
    before = state(workspace)
    with pytest.raises(UsageError, match=f"'{upto}' is not what waits"):
        handed(workspace, GOOD, upto)
    assert state(workspace) == before


def test_a_reply_is_refused_where_another_consolidation_took_some_of_the_messages_it_counts(
    workspace: Workspace,
) -> None:
    request = asked(workspace)
    consolidate(workspace, find(workspace, "s"), None, keep=2)
    before = state(workspace)
    with pytest.raises(UsageError, match=r"'m1\.\.m6' is not what waits"):
        handed(workspace, GOOD, request.upto)
    assert state(workspace) == before
    fact = {"content": "Bert squashes commits.", "source": "observed", "message": 1}
    handed(workspace, reply("They went on.", None, fact), asked(workspace).upto)
    (document,) = (each for each in documents(workspace) if each.body.strip() == fact["content"])
    assert document.fields["sources"] == ["session:s#m5"]


@pytest.mark.parametrize(
    ("said", "content", "source"),
    [
        (
            ("Never push to main", "Fine.", "on a Friday afternoon."),
            "Never push to main on a Friday afternoon.",
            "observed",
        ),
        (
            ("Never push to main", "Ok.", "on a Friday afternoon."),
            "Never push to main. On a Friday afternoon.",
            "observed",
        ),
        (("We deploy on Fridays. Never push to main.",), "We deploy on Fridays never. Push to main.", "observed"),
        (("We deploy on Fridays. Never push to main.",), "Never push to main. We deploy on Fridays.", "user"),
        (("We deploy on Fridays.", "Ok.", "Never push to main."), "We deploy on Fridays. Never push to main.", "user"),
    ],
)
def test_sentences_are_joined_where_each_is_whole(
    tmp_path: Path, said: tuple[str, ...], content: str, source: str
) -> None:
    made = at(tmp_path / "memory")
    say(made, *said)
    handed(made, reply("They talked.", None, {"content": content, "source": "user_stated"}))
    (document,) = documents(made)
    assert document.fields["source"] == source


@pytest.mark.parametrize("upto", ["", "m1..m2"])
def test_what_the_user_took_back_later_is_not_theirs(tmp_path: Path, upto: str) -> None:
    made = at(tmp_path / "memory")
    back, stays = "We deploy every Friday at noon.", "Kim likes green tea."
    say(made, f"{back} {stays}", "Noted.", "No, forget that we deploy every Friday.")
    handed(made, reply("They talked.", None, *({"content": text, "source": "user"} for text in (back, stays))), upto)
    sources = {document.body.strip(): document.fields["source"] for document in documents(made)}
    assert (sources[stays], sources.get(back)) == ("user", "observed")


def test_a_long_conversation_is_answered_part_by_part(workspace: Workspace) -> None:
    say(workspace, *("word " * 700 for _ in range(40)), into="long")
    request = reply_request(workspace, find(workspace, "long"), keep=0, events=None)
    assert request.parts > 1
    consolidate(workspace, find(workspace, "long"), HandedIn(GOOD), most=1)
    assert cursor(workspace, "long") == request.covers[-1]
    assert len(history(workspace)) == 1


def test_numbers_of_messages_that_are_not_there_and_another_language_are_no_harm(workspace: Workspace) -> None:
    fact = {"content": "Die Datenbank lauscht auf Port 6543.", "source": "user_stated", "message": 99, "key": "/ /"}
    handed(workspace, reply("Sie legten Regeln fest.", None, fact))
    (entry,) = documents(workspace)
    assert (entry.fields["source"], entry.fields["sources"][0]) == ("observed", "session:s#m1")
    assert "key" not in entry.fields


def test_secrets_of_a_reply_are_blanked_out(workspace: Workspace) -> None:
    fact = {"content": f"The token is {SECRET}.", "tags": [SECRET], "files": [SECRET]}
    (done,) = handed(workspace, reply(f"They used {SECRET}.", f"# Memory\n\n{SECRET}\n", fact))
    assert len(done.redacted) >= 4
    assert SECRET not in "".join(state(workspace).values())


def test_an_item_of_a_list_is_not_the_users_word_without_its_head(tmp_path: Path) -> None:
    made = at(tmp_path / "memory")
    say(made, "Never do any of this:\n- commit directly to the main branch\n- push without asking the team")
    handed(made, reply("Rules.", None, {"content": "Commit directly to the main branch.", "source": "inferred"}))
    (document,) = documents(made)
    assert document.fields["source"] == "inferred"


def test_what_was_said_earlier_has_the_day_it_was_said(workspace: Workspace) -> None:
    consolidate(workspace, find(workspace, "s"), None)
    say(workspace, "Thanks, that is all for now.", first=30)
    handed(workspace, reply("They left.", None, {"content": PORT, "key": "staging/port", "source": "user_stated"}))
    (document,) = (each for each in documents(workspace) if each.fields.get("key") == "staging/port")
    assert str(document.fields["created_at"]).replace(" ", "T").startswith("2026-11-20T10:01")

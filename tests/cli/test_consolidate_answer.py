"""`mem consolidate --ask` and `--answer`: an agent is asked in the LLM's place, and its reply becomes memory."""

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Mem

RULE = "We deploy from CI only, never by hand."
SECRET = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## The agent that had")[2].partition("\n## ")[0]
COMMANDS, REPLY = re.findall(r"(?ms)^```\w+\n(.*?)^```$", SECTION)


@pytest.fixture
def session(mem: Mem, workspace: Path) -> str:
    for role, text in (("user", f"{RULE} Where is the log?"), ("assistant", "In CI.")):
        assert mem("session", "append", "--session", "s", "--role", role, "--text", text).code == 0
    return "s"


@pytest.fixture
def last(mem: Mem, session: str) -> str:
    """The messages the session is asked about, as the request names them."""
    return str(mem("consolidate", session, "--ask", "--json").json["upto"])


def test_the_section_of_the_manual_does_what_it_says(mem: Mem, session: str, world: Path) -> None:
    asked = mem("consolidate", session, "--ask")
    last = mem("consolidate", session, "--ask", "--json").json["upto"]
    assert f"user: {RULE}" in asked.out
    assert asked.err == f"mem: hand in: mem consolidate s --answer - --upto {last}\n"
    (world / "reply.json").write_text(REPLY)
    line = COMMANDS.splitlines()[1].replace("SESSION", session).replace("FIRST..LAST", last)
    assert mem(*line.split()[1:]).rows == [["s", "llm", "2", "1"]]
    (entry,) = mem("ls", "--type", "constraint", "--json").json["entries"]
    assert (entry["summary"], entry["source"]) == (RULE, "user")
    assert mem("consolidate", session, "--ask").out == ""
    assert mem("undo").code == 0
    assert mem("consolidate", session, "--ask", "--json").json["upto"] == last


def test_a_reply_that_cannot_be_read_is_exit_2_and_quotes_no_secret(mem: Mem, session: str, last: str) -> None:
    ran = mem("consolidate", session, "--answer", "-", "--upto", last, stdin=f"{SECRET} is all I know")
    assert (ran.code, ran.out) == (2, "")
    assert "That reply cannot be used: no JSON object" in ran.err
    assert SECRET not in ran.err
    assert mem("consolidate", session, "--ask", "--json").json["covers"] != []


@pytest.mark.parametrize(
    "words",
    [
        ["s", "s2", "--ask"],
        ["--ask"],
        ["--all", "--answer", "-"],
        ["s", "--ask", "--answer", "-"],
        ["s", "--ask", "--keep", "-1"],
        ["s", "--upto", "m1"],
        ["s", "--answer", "-"],
        ["-", "--answer", "-"],
        ["--since", "2026-01-01", "--ask"],
    ],
)
def test_what_makes_no_sense_together_is_refused(mem: Mem, session: str, words: list[str]) -> None:
    assert mem("consolidate", *words, stdin=REPLY).code == 2
    assert mem("consolidate", session, "--ask", "--json").json["covers"] != []


def test_the_quote_of_a_rewording_is_shown_as_its_source(mem: Mem, session: str, last: str) -> None:
    fact = {"content": "Deploys go from CI only, never by hand.", "type": "constraint", "source": "user_stated"}
    reply = json.dumps({"history_entry": "They met.", "entries": [fact]})
    assert mem("consolidate", session, "--answer", "-", "--upto", last, stdin=reply).code == 0
    (entry,) = mem("ls", "--type", "constraint", "--json").json["entries"]
    shown = mem("read", entry["id"], "--source")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.endswith(f"user: {RULE}\n")


def test_a_dry_run_shows_what_an_answer_would_do(mem: Mem, session: str, last: str) -> None:
    assert f"+{RULE}" in mem("consolidate", session, "--answer", "-", "--upto", last, "--dry-run", stdin=REPLY).out
    assert mem("ls").out == ""


@pytest.mark.parametrize(("writing", "listed", "waits"), [("off", 1, 0), ("ask", 0, 1)])
def test_the_setting_for_writing_holds(
    mem: Mem, session: str, last: str, writing: str, listed: int, waits: int
) -> None:
    assert mem("config", "set", "memory.writing", writing).code == 0
    assert mem("consolidate", session, "--answer", "-", "--upto", last, stdin=REPLY).code == 0
    assert len(mem("ls", "--type", "constraint", "--json").json["entries"]) == listed
    assert mem("review", "--json").json["count"] == waits


def test_a_transcript_that_goes_on_is_answered_up_to_where_it_was_asked(mem: Mem, workspace: Path, world: Path) -> None:
    def line(number: int, role: str, text: str) -> str:
        message = {"role": role, "content": text}
        at = f"2026-11-20T10:0{number}:00.000Z"
        fields = {"type": role, "uuid": f"u{number}", "sessionId": "chat", "timestamp": at, "cwd": str(world)}
        return json.dumps({**fields, "message": message}) + "\n"

    path = world / "chat.jsonl"
    path.write_text(line(1, "user", RULE) + line(2, "assistant", "Noted.") + line(3, "user", "Backups run at 3")[:50])
    asked = mem("consolidate", "chat.jsonl", "--ask", "--json").json
    assert len(asked["covers"]) == 2
    assert mem("session", "ls").out == ""
    hint = mem("consolidate", "chat.jsonl", "--ask").err
    assert hint == f"mem: hand in: mem consolidate chat.jsonl --answer - --upto {asked['upto']}\n"
    path.write_text(line(1, "user", RULE) + line(2, "assistant", "Noted.") + line(3, "user", "Backups run at 3."))
    assert mem("consolidate", "chat.jsonl", "--answer", "-", "--upto", asked["upto"], stdin=REPLY).code == 0
    rest = mem("consolidate", "chat", "--ask", "--json").json
    assert [text for text in ("Backups", RULE) if text in rest["messages"][1]["content"].partition("<conv")[2]] == [
        "Backups"
    ]


def test_what_was_said_since_the_question_waits_on(mem: Mem, session: str, last: str) -> None:
    mem("session", "append", "--session", session, "--role", "user", "--text", "Always sign commits.")
    assert mem("consolidate", session, "--answer", "-", "--upto", last, stdin=REPLY).code == 0
    assert "Always sign commits." in mem("consolidate", session, "--ask").out


def test_an_agent_may_find_nothing_worth_keeping(mem: Mem, session: str, last: str) -> None:
    ran = mem("consolidate", session, "--answer", "-", "--upto", last, stdin='{"entries": []}')
    assert (ran.code, ran.rows) == (0, [["s", "llm", "2", "0"]])
    assert mem("consolidate", session, "--ask").out == ""
    assert mem("history", "show").out != ""


@pytest.mark.parametrize(("answer", "upto"), [("", "m1..m1"), ("what?", "m1..m1"), (REPLY, "m0..m1")])
@pytest.mark.parametrize("name", ["talk.jsonl", "-"])
def test_a_transcript_that_is_not_answered_becomes_no_session(
    mem: Mem, workspace: Path, world: Path, name: str, answer: str, upto: str
) -> None:
    line = json.dumps({"id": "m1", "role": "user", "content": RULE}) + "\n"
    (world / "talk.jsonl").write_text(line)
    (world / "reply.json").write_text(answer)
    assert mem("consolidate", name, "--ask", "--json", stdin=line).json["upto"] == "m1..m1"
    assert mem("consolidate", name, "--answer", "reply.json", "--upto", upto, stdin=line).code == 2
    assert mem("session", "ls").out == ""
    (world / "reply.json").write_text(REPLY)
    assert mem("consolidate", name, "--answer", "reply.json", "--upto", "m1..m1", stdin=line).code == 0
    assert [row["source"] for row in mem("ls", "--type", "constraint", "--json").json["entries"]] == ["user"]

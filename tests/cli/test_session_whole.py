"""A batch, a whole session and what a session's page says of it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIXTURES, Mem
from tests.tables import cases

JARVIS = FIXTURES / "layouts/jarvis"
TALK: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": "Which port has the staging database?"},
    {"type": "tool_call", "toolName": "read_file", "args": {"path": "ops/ports.md", "lines": [1, 40]}},
    {"type": "tool_result", "toolCallId": "tc_1", "result": "staging: 5433"},
    {"type": "tool_call", "toolName": "shell", "args": {"command": "psql -p 5433 -c 'select 1'"}},
    {"type": "tool_result", "toolCallId": "tc_2", "result": {"exitCode": 2, "stderr": "connection refused"}},
    {"type": "tool_result", "toolCallId": "tc_3", "error": "timed out"},
    {"type": "message", "role": "assistant", "content": "It is 5433, but nothing listens there."},
]


def lines(events: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in events)


def kinds(mem: Mem, session: str) -> list[tuple[str, str, str]]:
    found = mem("session", "show", session, "--json").json["events"]
    return [(one["type"], one.get("name", ""), one["content"]) for one in found]


@pytest.mark.parametrize("count", [99, 101, 250, 3000])
@pytest.mark.parametrize("form", ["lines", "list", "document"])
def test_a_batch_of_any_length_is_taken_and_every_message_has_an_id_of_its_own(
    mem: Mem, workspace: Path, count: int, form: str
) -> None:
    events = [{"role": ("user", "assistant")[at % 2], "content": f"message {at}"} for at in range(count)]
    text = {"lines": lines(events), "list": json.dumps(events), "document": json.dumps({"messages": events}, indent=1)}
    ran = mem("session", "append", "-", "--session", "s", "--json", stdin=text[form])
    assert ran.code == 0, ran.err
    assert (ran.json["added"], len(set(ran.json["ids"]))) == (count, count)
    standing = [json.loads(line) for line in (workspace / "sessions/s/session.jsonl").read_text().splitlines()]
    assert [one["content"] for one in standing] == [one["content"] for one in events]
    more = mem("session", "append", "-", "--session", "s", "--json", stdin=lines(events[:150]))
    assert more.json["added"] == min(count, 150)


def test_an_id_that_stands_there_is_drawn_again_also_within_a_batch(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = mem("session", "append", "-", "--session", "s", "--json", stdin=lines(TALK[:1] * 3)).json["ids"]
    again = mem("session", "append", "-", "--session", "s", "--json", stdin=lines(TALK[:1] * 3)).json["ids"]
    assert len({*first, *again}) == 6


@pytest.mark.parametrize("door", ["append", "import", "in place"])
def test_calls_and_answers_of_jarvis_are_kept_by_every_door(mem: Mem, workspace: Path, door: str) -> None:
    if door == "append":
        ran = mem("session", "append", "-", "--session", "s", stdin=lines(TALK))
    elif door == "import":
        Path("s.jsonl").write_text(lines(TALK))
        ran = mem("session", "import", "s.jsonl", "--session", "s")
    else:
        (workspace / "sessions/s").mkdir(parents=True)
        (workspace / "sessions/s/session.jsonl").write_text(lines(TALK))
        ran = mem("check")
    assert ran.code == 0, ran.err
    assert "left out" not in ran.err
    found = kinds(mem, "s")
    assert [(kind, name) for kind, name, _ in found] == [
        ("message", ""),
        ("tool_call", "read_file"),
        ("tool_result", "read_file" if door != "in place" else ""),
        ("tool_call", "shell"),
        ("tool_result", "shell" if door != "in place" else ""),
        ("tool_result", ""),
        ("message", ""),
    ]
    said = "\n".join(text for _, _, text in found)
    for words in ("ops/ports.md", "staging: 5433", "psql -p 5433", "connection refused", "timed out"):
        assert words in said
    failed = [one["is_error"] for one in mem("session", "show", "s", "--json").json["events"] if one.get("is_error")]
    assert failed == [True]


def test_a_whole_session_of_jarvis_is_read_where_it_lies(mem: Mem, world: Path) -> None:
    shutil.copytree(JARVIS, world / "jarvis")
    assert mem("init", "jarvis").code == 0
    (session,) = (world / "jarvis/sessions").glob("*/session.jsonl")
    before = session.read_bytes()
    found = kinds_of(mem, world / "jarvis", session.parent.name)
    assert found.count(("tool_call", "memory_search")) == session.read_text().count('"toolName": "memory_search"')
    assert session.read_bytes() == before


def kinds_of(mem: Mem, workspace: Path, session: str) -> list[tuple[str, str]]:
    found = mem("session", "show", session, "--workspace", str(workspace), "--json").json["events"]
    return [(one["type"], one.get("name", "")) for one in found]


@pytest.mark.parametrize("door", ["append", "import"])
def test_what_a_memory_answered_is_left_out_and_told(mem: Mem, workspace: Path, door: str) -> None:
    text = lines(
        [
            TALK[0],
            {"type": "tool_call", "toolName": "memory_search", "args": {"query": "staging port"}},
            {"type": "tool_result", "toolCallId": "tc_1", "result": "the staging database is on 5433"},
            TALK[-1],
        ]
    )
    Path("s.jsonl").write_text(text)
    words = ("append", "-") if door == "append" else ("import", "s.jsonl")
    ran = mem("session", *words, "--session", "s", stdin=text)
    assert ran.code == 0
    assert "left out: 1 recalled memory" in ran.err
    assert "is on 5433" not in str(kinds(mem, "s"))


@pytest.mark.parametrize("door", ["append", "import"])
@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({"type": "tool_result", "toolCallId": "t", "result": ""}, "1 no text"),
        ({"type": "message", "role": "user", "content": ""}, "1 no text"),
    ],
)
def test_an_event_that_says_nothing_is_counted(
    mem: Mem, workspace: Path, door: str, odd: dict[str, Any], told: str
) -> None:
    Path("s.jsonl").write_text(lines([TALK[0], odd]))
    words = ("append", "-") if door == "append" else ("import", "s.jsonl")
    ran = mem("session", *words, "--session", "s", stdin=lines([TALK[0], odd]))
    assert ran.code == 0, ran.err
    assert f"left out: {told}" in ran.err


def test_a_first_line_that_is_no_event_and_names_no_session_is_counted(mem: Mem, workspace: Path) -> None:
    Path("s.jsonl").write_text(lines([{"type": "thought", "content": "hm"}, *TALK]))
    ran = mem("session", "import", "s.jsonl")
    assert "left out: 1 type 'thought'" in ran.err


def test_a_line_about_the_session_stops_no_batch(mem: Mem, workspace: Path) -> None:
    head = {"type": "metadata", "sessionId": "s", "channel": "telegram"}
    ran = mem("session", "append", "-", "--session", "s", stdin=lines([head, *TALK]))
    assert ran.code == 0, ran.err
    assert "1 line about the session" in ran.err


def test_a_batch_with_something_that_is_no_event_is_refused_whole(mem: Mem, workspace: Path) -> None:
    ran = mem("session", "append", "-", "--session", "s", stdin=lines([*TALK, {"kind": "ping"}]))
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "event 8" in ran.err
    assert not (workspace / "sessions/s").exists()


def page(workspace: Path, session: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((workspace / "sessions" / session / "metadata.json").read_text("utf-8"))
    return read


def projects(workspace: Path) -> list[str]:
    texts = [path.read_text("utf-8") for path in sorted((workspace / "entries").rglob("*.md"))]
    return [found[1] if (found := re.search(r"^project: (.*)$", text, re.MULTILINE)) else "" for text in texts]


def test_a_project_given_with_a_message_is_that_of_what_comes_of_the_session(mem: Mem, workspace: Path) -> None:
    add = ("session", "append", "--session", "s")
    assert mem(*add, "--text", "I prefer tabs over spaces.").code == 0
    assert mem(*add, "--text", "Remember: the port is 8443", "--project", "harbor").code == 0
    assert projects(workspace) == ["harbor"]
    assert mem("consolidate", "s").code == 0
    assert set(projects(workspace)) == {"harbor"}
    assert len(projects(workspace)) > 1
    assert mem("session", "ls", "--json").json["sessions"][0]["project"] == "harbor"
    assert mem(*add, "--project", "pier").code == 0
    assert page(workspace, "s")["metadata"]["project"] == "pier"


@cases("text", "project")
def test_a_line_of_a_message_names_the_project(mem: Mem, workspace: Path, text: str, project: str) -> None:
    mem("session", "append", "--session", "s", "--text", text)
    assert mem("consolidate", "s").code == 0
    made = set(projects(workspace))
    assert made == {project}
    mem("session", "append", "--session", "s", "--text", "I prefer short answers in every review.")
    mem("consolidate", "s")
    assert set(projects(workspace)) == {project}


def test_a_line_of_a_task_names_the_project_and_an_assistant_does_not(mem: Mem, workspace: Path) -> None:
    mem("session", "append", "--session", "s", "--role", "system", "--text", "Review the code.\nproject: harbor")
    mem("session", "append", "--session", "s", "--role", "assistant", "--text", "Fine.\nproject: other")
    mem("session", "append", "--session", "s", "--text", "I prefer tabs over spaces.")
    mem("consolidate", "s")
    assert set(projects(workspace)) == {"harbor"}


def test_the_state_is_set_and_a_message_makes_the_session_active_again(mem: Mem, workspace: Path) -> None:
    add = ("session", "append", "--session", "s")
    for arguments, state in (
        (("--text", "hi", "--state", "paused"), "PAUSED"),
        (("--text", "hi"), "ACTIVE"),
        (("--state", "TERMINATED"), "TERMINATED"),
    ):
        assert mem(*add, *arguments).code == 0
        assert page(workspace, "s")["state"] == state
    refused = mem(*add, "--text", "hi", "--state", "asleep")
    assert (refused.code, "no state 'asleep'" in refused.err) == (2, True)
    assert page(workspace, "s")["messageCount"] == 2
    assert mem("session", "append", "--state", "PAUSED").code == 2


@pytest.mark.parametrize("door", ["append", "import"])
def test_tokens_are_reckoned_as_golemcore_does_and_tools_are_named(mem: Mem, workspace: Path, door: str) -> None:
    events = [
        {"type": "message", "role": "user", "content": "x" * 35},
        {"type": "tool_call", "name": "shell", "content": "y" * 35},
        {"type": "tool_result", "name": "shell", "content": "z" * 35},
        {"type": "tool_call", "name": "read_file", "content": ""},
    ]
    text = "".join(json.dumps(event) + "\n" for event in events)
    if door == "append":
        assert mem("session", "append", "-", "--session", "s", stdin=text.encode()).code == 0
    else:
        Path("talk.jsonl").write_text(text)
        assert mem("session", "import", "talk.jsonl", "--session", "s").code == 0
    written = page(workspace, "s")
    assert (written["tokenCount"], written["messageTokens"]) == (8030, 30)
    assert written["toolsUsed"] == ["shell", "read_file"]
    told = mem("session", "stats", "s", "--json").json
    assert (told["tokens"], told["message_tokens"], told["tools_used"]) == (8030, 30, ["shell", "read_file"])
    mem("session", "clear", "s")
    assert (page(workspace, "s")["tokenCount"], page(workspace, "s")["toolsUsed"]) == (8000, [])


def test_the_jarvis_layout_names_a_session_by_its_channel_and_user(mem: Mem, world: Path) -> None:
    assert mem("init", "jarvis", "--layout", "jarvis").code == 0
    add = ("session", "append", "--workspace", "jarvis", "--json")
    whom = ("--channel", "telegram:12345", "--user", "user_67890")
    for number in (1, 2):
        added = mem(*add, "--text", f"hi {number}", *whom).json
        assert (added["session"], added["messages"]) == ("telegram_12345_user_67890", number)
    written = page(world / "jarvis", "telegram_12345_user_67890")
    assert (written["channelId"], written["userId"]) == ("telegram_12345", "user_67890")
    assert mem(*add, "--text", "hi", *whom, "--session", "mine").json["session"] == "mine"
    assert mem(*add, "--text", "hi").json["session"].startswith("ses_")

"""`mem session`: conversations come in whole, are shown, and go nowhere but where they are sent."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem, Ran
from tests.sample import IS_LONG
from tests.tables import cases

SECRET = "AKIA" + "IOSFODNN7" + "QZXWVUT"
ANSWER = {"type": "tool_result", "tool_use_id": "t1", "content": "\x00\x01\x02" * 400}


@pytest.fixture
def year(world: Path, indexed: Path, trusted: Callable[[Path], Path]) -> Path:
    """Give a copy of the fixture workspace where one stands."""
    shutil.copytree(indexed, world / "memory")
    return trusted(world / "memory")


def claude_code(*messages: tuple[str, Any], session: str = "5e55-1") -> str:
    """Write messages of (role, content) as a transcript of Claude Code."""
    lines = [
        {"type": role, "uuid": f"u{number}", "sessionId": session, "timestamp": f"2026-11-20T09:00:{number:02}.000Z",
         "cwd": "/src/x", "message": {"role": role, "content": content}}
        for number, (role, content) in enumerate(messages)
    ]  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines)


def shown(mem: Mem, session: str, *options: str) -> list[dict[str, Any]]:
    """Give a session's events as JSON."""
    events: list[dict[str, Any]] = mem("session", "show", session, *options, "--json").json["events"]
    return events


def test_what_is_said_is_added_and_shown(mem: Mem, workspace: Path) -> None:
    made = mem("session", "append", "--text", "Where is\nthe log?")
    action, session, message = made.rows[0]
    assert (made.code, action) == (0, "added")
    mem("session", "append", "--session", session, "--role", "assistant", "--tool", "bash", "--text", "tail x.log")
    mem("session", "append", "--session", session, "--role", "tool", "--tool", "bash", "--text", "boom", "--error")
    mem("session", "append", "--session", session, '{"role": "assistant", "content": "In x.log."}')
    assert mem("session", "show", session).out == (
        "#1 2026-11-21 20:15 user: Where is\nthe log?\n"
        "#2 2026-11-21 20:15 assistant calls bash: tail x.log\n"
        "#3 2026-11-21 20:15 bash failed: boom\n"
        "#4 2026-11-21 20:15 assistant: In x.log.\n"
    )
    assert [event["id"] for event in shown(mem, session, "--range", message)] == [message]
    assert [event["position"] for event in shown(mem, session, "--range", "3:")] == [3, 4]


def test_many_events_come_from_standard_input_at_once(mem: Mem, workspace: Path) -> None:
    lines = '{"role": "user", "content": "one\u2028two"}\n\n{"role": "assistant", "content": "three", "id": "q"}\n'
    ran = mem(
        "session", "append", "-", "--session", "s", "--channel", "telegram:7", "--user", "u", "--json", stdin=lines
    )
    assert (ran.json["added"], ran.json["messages"], ran.json["waiting"], ran.json["ids"][1]) == (2, 2, 2, "q")
    assert mem("session", "append", "-", "--session", "s", "--json", stdin=lines.splitlines()[-1]).json["known"] == 1
    row = mem("session", "ls", "--json").json["sessions"][0]
    assert (row["channel_type"], row["channel_id"], row["user_id"]) == ("telegram", "7", "u")
    assert shown(mem, "s")[0]["content"] == "one\u2028two"


@cases("arguments", "told")
def test_what_is_no_event_is_refused_and_nothing_is_made(
    mem: Mem, workspace: Path, arguments: tuple[str, ...], told: str
) -> None:
    ran = mem("session", "append", *arguments)
    assert ran.code == 2
    assert told in ran.err
    assert not (workspace / "sessions").exists()


def test_one_bad_line_keeps_the_others_out_too(mem: Mem, workspace: Path) -> None:
    ran = mem("session", "append", "-", "--session", "s", stdin='{"role": "user", "content": "x"}\nnot json\n')
    assert (ran.code, "line 2" in ran.err) == (2, True)
    assert not (workspace / "sessions").exists()


def test_secrets_are_blanked_out_and_told(mem: Mem, workspace: Path) -> None:
    ran = mem("session", "append", "--session", "s", "--text", f"the key is {SECRET}")
    assert "redacted" in ran.err
    assert SECRET not in ran.err
    event = {"type": "tool_call", "name": "deploy", "content": "go", "input": {"password": "hunter2x9Qz!"}}
    told = mem("session", "append", "--session", "s", json.dumps(event), "--json").json["redacted"]
    assert [(one["name"], one["line"]) for one in told] == [("s", 1)]
    kept = (workspace / "sessions/s/session.jsonl").read_text()
    assert SECRET not in kept
    assert "hunter2x9Qz!" not in kept
    assert kept.count("[REDACTED:") == 2


def test_a_secret_in_the_name_of_a_tool_is_blanked_out(mem: Mem, workspace: Path) -> None:
    mem("session", "append", "--session", "s", "--role", "assistant", "--tool", SECRET, "--text", "go")
    assert SECRET not in (workspace / "sessions/s/session.jsonl").read_text()


def test_memory_never_feeds_on_itself(mem: Mem, workspace: Path) -> None:
    mem("session", "append", "--session", "s", "--text", "<system-reminder>recalled: x</system-reminder>Really said.")
    call = {"type": "tool_call", "name": "bash", "content": "mem search dark", "call_id": "c1"}
    mem("session", "append", "--session", "s", json.dumps(call))
    answer = {"type": "tool_result", "content": "0.9 mem_1 likes dark mode", "call_id": "c1"}
    ran = mem("session", "append", "--session", "s", json.dumps(answer))
    assert (ran.code, "1 recalled memory" in ran.err) == (0, True)
    named = {"type": "tool_result", "name": "mcp__memory__search", "content": "likes dark mode"}
    mem("session", "append", "--session", "s", json.dumps(named))
    assert [event["content"] for event in shown(mem, "s")] == ["Really said.", "mem search dark"]


def test_a_transcript_comes_in_once_and_then_only_what_is_new(mem: Mem, workspace: Path, world: Path) -> None:
    path = world / "log.jsonl"
    path.write_text(claude_code(("user", "Why is it slow?"), ("assistant", [{"type": "text", "text": "The index."}])))
    first = mem("session", "import", str(path), "--json").json
    assert (first["session"], first["format"], first["added"], first["known"]) == ("5e55-1", "claude-code", 2, 0)
    path.write_text(
        path.read_text() + claude_code(("user", "x"), ("user", "x"), ("user", "Make it fast.")).split("\n")[2]
    )
    again = mem("session", "import", str(path), "--json").json
    assert (again["added"], again["known"], again["messages"], again["skipped"]) == (1, 2, 3, {})
    assert [event["content"] for event in shown(mem, "5e55-1")] == ["Why is it slow?", "The index.", "Make it fast."]
    page = json.loads((workspace / "sessions/5e55-1/metadata.json").read_text())
    assert (page["createdAt"], page["channelType"]) == ("2026-11-20T09:00:00.000Z", "claude-code")
    assert page["metadata"] == {"cwd": "/src/x"}


def test_what_cannot_be_read_is_counted_and_the_rest_comes_in(mem: Mem, workspace: Path, world: Path) -> None:
    text = claude_code(("user", "one"), ("assistant", [ANSWER]), ("user", "two"))
    (world / "t.jsonl").write_text(f"{text}not json\n[1, 2]\n{{'cut")
    ran = mem("session", "import", "t.jsonl", "--json")
    assert ran.code == 3
    assert (ran.json["unreadable"], ran.json["skipped"]["not JSON"]) == (3, 1)
    assert [event["content"][:7] for event in shown(mem, "5e55-1")] == ["one", "[binary", "two"]
    told = mem("session", "import", "t.jsonl")
    assert (told.code, "1 not an object" in told.err, "3 events known already" in told.err) == (3, True, True)


@pytest.mark.parametrize(
    ("data", "told"), [(b"", "is empty"), (b"\x00\x01\x02" * 50, "is not text"), (b"hello\n", "no line says")]
)
def test_what_is_no_conversation_says_why(mem: Mem, workspace: Path, world: Path, data: bytes, told: str) -> None:
    (world / "x.txt").write_bytes(data)
    ran = mem("session", "import", "x.txt")
    assert (ran.code, told in ran.err) == (2, True)
    assert mem("session", "import", "nowhere.jsonl").code == 2
    assert not (workspace / "sessions").exists()


def test_times_may_be_missing_or_go_backwards(mem: Mem, workspace: Path, world: Path) -> None:
    lines = [
        {"role": "user", "content": "a", "timestamp": "2026-11-20T12:00:00Z"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c", "timestamp": "2026-11-19T12:00:00Z"},
        {"role": "assistant", "content": "d", "timestamp": "soon"},
    ]
    (world / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert mem("session", "import", "t.jsonl").code == 0
    assert [(event["content"], event["timestamp"]) for event in shown(mem, "t")] == [
        ("a", "2026-11-20T12:00:00Z"), ("b", ""), ("c", "2026-11-19T12:00:00Z"), ("d", "")
    ]  # fmt: skip
    row = mem("session", "ls", "--json").json["sessions"][0]
    assert (row["created_at"], row["updated_at"]) == ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00Z")


def test_a_conversation_in_a_pipe_is_named_by_how_it_begins(mem: Mem, workspace: Path) -> None:
    chat = "User: Is the tide high?\nAssistant: At noon.\n"
    first = mem("session", "import", "-", "--json", stdin=chat).json
    again = mem("session", "import", "-", "--json", stdin=chat + "User: Thanks.\n").json
    assert first["session"].startswith("ses_")
    assert (again["session"], again["added"], again["known"]) == (first["session"], 1, 2)
    other = mem("session", "import", "-", "--session", "tides", "--json", stdin=chat).json
    assert (other["session"], other["added"]) == ("tides", 2)


def test_a_secret_in_a_transcript_is_told_by_its_line(mem: Mem, workspace: Path, world: Path) -> None:
    (world / "t.jsonl").write_text(claude_code(("user", "hi"), ("user", f"use {SECRET} please")))
    ran = mem("session", "import", "t.jsonl")
    assert "mem: t.jsonl:2: " in ran.err
    assert SECRET not in (workspace / "sessions/5e55-1/session.jsonl").read_text()


def test_a_workspace_session_imported_is_known_under_its_own_id(mem: Mem, year: Path, world: Path) -> None:
    ran = mem("session", "import", "memory/sessions/telegram%3A12345/session.jsonl", "--json")
    assert (ran.json["session"], ran.json["added"]) == ("telegram:12345", 0)


@pytest.mark.parametrize("megabytes", [12 if IS_LONG else 2])
def test_a_long_transcript_needs_no_more_memory_than_a_short_one(
    spawn: Callable[..., Ran], workspace: Path, world: Path, megabytes: int
) -> None:
    line = claude_code(("user", "word " * 400))
    with (world / "long.jsonl").open("w") as file:
        for number in range(megabytes * 1_000_000 // len(line)):
            file.write(line.replace('"u0"', f'"u{number}"'))
    code = (
        "import resource, sys\nfrom memcli.cli.app import run\nimport memcli.transcripts.session_import\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak()\ncode = run(['session', 'import', 'long.jsonl'])\nprint(code, peak() - before)"
    )
    ran = spawn(code=code)
    code_, grown = ran.out.split("\n")[1].split()
    unit = 1 if sys.platform == "darwin" else 1024
    assert (code_, int(grown) * unit < 12_000_000 + megabytes * 4_000_000) == ("0", True), ran.out + ran.err


def test_the_sessions_of_a_year_are_listed_and_measured(mem: Mem, year: Path) -> None:
    rows = mem("session", "ls").rows
    assert [(row[0], row[1], row[2], row[3]) for row in rows] == [
        ("cli-2026-11-20", "PAUSED", "10", "10"),
        ("telegram:12345", "ACTIVE", "18", "4"),
        ("hdrpop-gyro-0b41", "TERMINATED", "26", "0"),
    ]
    assert [row[0] for row in mem("session", "ls", "--state", "active").rows] == ["telegram:12345"]
    assert mem("session", "ls", "--archived").out == ""
    assert mem("session", "ls", "--state", "DEAD").code == 2
    stats = mem("session", "stats", "telegram", "--json").json
    assert (stats["messages"], stats["waiting"], stats["soft_limit"], stats["hard_limit"]) == (18, 4, 100_000, 125_000)
    assert "18 of 22 events" in mem("session", "stats", "telegram:12345").out
    mem("config", "set", "session.soft_limit", "8100")
    assert "past the soft limit" in mem("session", "stats", "telegram:12345").out


def test_a_year_of_sessions_comes_through_every_command_as_it_is(mem: Mem, year: Path) -> None:
    before = {path: path.read_bytes() for path in year.rglob("*") if path.is_file() and path.parent.name != ".mem"}
    for name in ("cli-2026-11-20", "telegram:12345", "hdrpop-gyro-0b41"):
        for command in ("show", "stats", "recap"):
            for options in ((), ("--json",)):
                ran = mem("session", command, name, *options)
                assert (ran.code, bool(ran.out)) == (0, True), ran.err
    after = {path: path.read_bytes() for path in before}
    assert after == before


def test_a_recap_says_what_history_says_what_is_open_and_what_was_asked(mem: Mem, year: Path) -> None:
    told = mem("session", "recap", "telegram:12345", "--json").json
    assert told["history"].startswith("[2026-11-18 22:14] Session about the `E2007`")
    assert told["prompts"][-1] == "danke 🙏"
    mem("session", "append", "--session", "telegram:12345", "--text", "Is the valve in yet?")
    latest = mem("session", "recap")
    assert "Session telegram:12345, 2026-11-21, 19 messages" in latest.out
    assert "Open: Is the valve in yet?" in latest.out
    mem("session", "append", "--session", "telegram:12345", "--role", "assistant", "--text", "Not yet. Shall I ask?")
    assert "Open: Shall I ask?" in mem("session", "recap").out
    assert len(latest.out) < 2500


def test_a_recap_of_nothing_says_so(mem: Mem, workspace: Path) -> None:
    ran = mem("session", "recap")
    assert (ran.code, "no session yet" in ran.err) == (4, True)


@pytest.mark.parametrize("command", ["show", "stats", "recap", "clear", "delete"])
def test_an_unknown_session_is_named(mem: Mem, year: Path, command: str) -> None:
    ran = mem("session", command, "nobody", "--json")
    assert (ran.code, json.loads(ran.err)["error"]["code"]) == (4, "not-found")


@pytest.mark.parametrize("command", ["clear", "delete"])
def test_what_puts_away_wants_the_whole_id(mem: Mem, year: Path, command: str) -> None:
    assert mem("session", command, "tele").code == 4
    assert len(mem("session", "ls").rows) == 3


def test_a_session_cleared_begins_anew_and_its_words_stay_readable(mem: Mem, year: Path) -> None:
    ran = mem("session", "clear", "telegram:12345")
    assert ran.rows == [["cleared", "telegram:12345", "memory/archive/sessions/telegram%3A12345"]]
    assert mem("session", "stats", "telegram:12345", "--json").json["messages"] == 0
    assert mem("session", "ls", "--archived", "--json").json["sessions"][0]["waiting"] == 0
    assert "and the motor?" in mem("read", "archive/sessions/telegram%3A12345/session.jsonl#3").out
    again = mem("session", "clear", "telegram:12345", "--json")
    assert (again.code, again.json["archived"]) == (0, None)


def test_a_session_deleted_is_in_the_archive_until_it_is_purged(mem: Mem, year: Path) -> None:
    assert mem("session", "delete", "cli-2026-11-20").rows[0][2] == "memory/archive/sessions/cli-2026-11-20"
    assert "Christmas freeze" in mem("session", "show", "cli-2026-11-20").out
    assert mem("session", "delete", "cli-2026-11-20", "--purge", "--json").json["action"] == "purged"
    assert mem("session", "show", "cli-2026-11-20").code == 4


def test_lines_that_cannot_be_read_are_told_and_the_rest_is_shown(mem: Mem, year: Path) -> None:
    with (year / "sessions/cli-2026-11-20/session.jsonl").open("a") as file:
        file.write('not json\n{"role": "user", "content": "after"}\n{"role": "us')
    ran = mem("session", "show", "cli-2026-11-20", "--range", "12:")
    assert (ran.code, ran.out.endswith("after\n")) == (0, True)
    assert "sessions/cli-2026-11-20/session.jsonl:13: not JSON" in ran.err
    found = mem("session", "show", "cli-2026-11-20", "--json").json["problems"]
    assert [one["line"] for one in found] == [13, 15]


def test_a_long_answer_of_a_tool_is_cut_where_it_is_shown_and_whole_where_it_is_read(mem: Mem, workspace: Path) -> None:
    mem("session", "append", "--session", "s", "--role", "tool", "--tool", "cat", "--text", "word " * 300)
    assert "more characters]" in mem("session", "show", "s").out
    assert mem("read", "session:s#1").out.count("word") == 300


def test_what_was_said_is_found_and_read_by_its_address(mem: Mem, year: Path) -> None:
    assert mem("search", "bathroom E2007", "--mode", "keyword", "--json").json["hits"][0]["kind"] != "session"
    hits = mem("search", "E2007 valve stuck", "--kind", "session", "--mode", "keyword", "-n", "2", "--json").json[
        "hits"
    ]
    assert (hits[0]["id"], hits[0]["kind"]) == ("session:telegram:12345#2", "session")
    assert hits[0]["line"] == 2
    assert hits[0]["timestamp"] == "2026-11-18T21:46:18.664Z"
    read = mem("read", hits[0]["id"], "--json").json
    assert (read["id"], read["kind"]) == ("session:telegram:12345#2", "session")
    assert read["content"].startswith("#2 2026-11-18 21:46 assistant: The node `bathroom` reports E2007")
    assert mem("read", "session:telegram:12345#2:3").out.count("\n#") == 1
    assert mem("read", "session:nobody#1").code == 4
    assert mem("read", "session:telegram:12345#7:2").code == 2


def test_grep_looks_into_conversations_only_when_asked(mem: Mem, year: Path) -> None:
    assert mem("grep", "align_pair").code == 1
    lines = mem("grep", "align_pair", "--kind", "session").out.splitlines()
    assert [line.split(":")[1] for line in lines] == ["4", "5"]
    assert mem("grep", "-c", "E2007", "--kind", "all").code == 0


def test_a_memory_leads_back_to_what_was_said(mem: Mem, year: Path) -> None:
    identifier = mem(
        "write", "The load test comes two days before a freeze.", "--origin", "session:cli-2026-11-20#11:12",
        "--origin", "session:gone#1", "--origin", "https://example.org/x", "--json",
    ).json["id"]  # fmt: skip
    ran = mem("read", identifier, "--source")
    assert ran.code == 0
    assert ran.out.startswith("session:cli-2026-11-20#11:12\n#11 2026-11-20")
    assert "#12 2026-11-20" in ran.out
    assert "session:gone#1: no session 'gone'" in ran.err
    told = mem("read", identifier, "--source", "--json").json["sources"]
    assert [bool(one["problem"]) for one in told] == [False, True, True]
    bare = mem("write", "Nobody said this.", "--json").json["id"]
    assert mem("read", bare, "--source").code == 4


@pytest.mark.parametrize(
    ("option", "value", "words"), [("--role", "nobody", "no role 'nobody'"), ("--timestamp", "soon", "is no moment")]
)
def test_a_word_that_says_nothing_is_not_taken_for_another(
    mem: Mem, workspace: Path, option: str, value: str, words: str
) -> None:
    ran = mem("session", "append", "--session", "s", "--text", "x", option, value)
    assert (ran.code, words in ran.err) == (2, True)
    assert mem("session", "ls").rows == []


def test_an_event_behind_the_last_one_is_not_found(mem: Mem, workspace: Path) -> None:
    assert mem("session", "append", "--session", "s", "--text", "x").code == 0
    for words in (("read", "session:s#2"), ("session", "show", "s", "--range", "2:")):
        ran = mem(*words)
        assert (ran.code, "no event 2 in session s" in ran.err) == (4, True)


@cases("said", "is_open")
def test_a_recap_calls_open_what_asks_for_something(mem: Mem, workspace: Path, said: str, is_open: bool) -> None:
    assert mem("session", "append", "--session", "talk", "--role", "user", "--text", said).code == 0
    assert mem("session", "recap", "talk", "--json").json["open"] == ([said] if is_open else [])

"""`mem session import --all` brings in what agents have left on the machine, once and where it belongs."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memcli.store.sessions.event_file import read_events
from memcli.transcripts import sources
from memcli.transcripts.sources import Source
from tests.conftest import Mem, Ran
from tests.sample import IS_LONG
from tests.tables import cases
from tests.transcripts import homes
from tests.transcripts.homes import Turn

SAID = [
    Turn("We deploy only on Tuesdays, never before ten.", "Noted.", "cat deploy.yaml", "day: tuesday"),
    Turn("Why did the quagga test fail?", "The clock of the runner was ahead; pinning the zone fixed it."),
]
IDS = [f"0000000{place}-0000-4000-8000-000000000000" for place in range(8)]


@pytest.fixture
def home(world: Path) -> Path:
    """Give the user's home."""
    return world.parent / "home"


@pytest.fixture
def four_tools(home: Path, workspace: Path, world: Path) -> list[Path]:
    """Leave conversations of four tools in the home, all of them held in the folder one stands in."""
    return [
        homes.claude_code(home, IDS[0], str(world), SAID),
        homes.codex(home, IDS[1], str(world), SAID),
        homes.gemini(home, IDS[2], str(world), SAID),
        homes.opencode(home, "ses_0003", str(world / "src"), SAID),
    ]


def imported(mem: Mem, *more: str, where: str = "--all") -> Any:
    """Import and give the document."""
    ran = mem("session", "import", where, "--json", *more)
    assert ran.code == 0, ran.err
    return ran.json


def totals(document: Any) -> Counter[str]:
    """Sum the tools up."""
    found: Counter[str] = Counter()
    for tool in document["tools"]:
        found.update({key: tool[key] for key in ("new", "grown", "known", "events")})
        found.update(tool["left_out"])
    return +found


def kept(workspace: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Give what every session holds: role, kind and text, in order."""
    return {
        path.parent.name: [(event.role, event.type, event.text) for _, event in read_events(path)]
        for path in sorted(workspace.glob("sessions/*/session.jsonl"))
    }


def test_what_four_tools_have_left_is_brought_in_and_found(mem: Mem, four_tools: list[Path], workspace: Path) -> None:
    ran = mem("session", "import", "--all")
    assert ran.code == 0
    tools = ("claude-code", "codex", "gemini", "opencode")
    assert [row[:4] for row in ran.rows] == [[tool, "1", "0", "0"] for tool in tools]
    found = kept(workspace)
    assert sorted(found) == [*IDS[:3], "ses_0003"]
    asked = [turn.prompt for turn in SAID]
    for events in found.values():
        assert [text for role, kind, text in events if (role, kind) == ("user", "message")] == asked
        assert ("system", "tool_result", "day: tuesday") in events


def test_what_was_said_in_each_tool_is_found_by_its_words(mem: Mem, home: Path, workspace: Path, world: Path) -> None:
    said = {
        animal: [Turn(f"The {animal} sleeps in the attic", "Noted")] for animal in ("wombat", "okapi", "tapir", "quoll")
    }
    homes.claude_code(home, IDS[0], str(world), said["wombat"])
    homes.codex(home, IDS[1], str(world), said["okapi"])
    homes.gemini(home, IDS[2], str(world), said["tapir"])
    homes.opencode(home, "ses_0003", str(world), said["quoll"])
    imported(mem)
    for animal, name in zip(said, [*IDS[:3], "ses_0003"], strict=True):
        hits = mem("search", animal, "--kind", "session", "--mode", "keyword", "--json").json["hits"]
        assert hits[0]["id"].startswith(f"session:{name}#")


def test_a_second_run_reads_no_transcript_and_brings_in_nothing(
    mem: Mem, four_tools: list[Path], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = totals(imported(mem))
    before = {path: path.read_bytes() for path in workspace.glob("sessions/*/*")}

    def refuse(*_: object) -> None:
        raise AssertionError("a transcript was read again")

    monkeypatch.setattr(Source, "read", refuse)
    assert totals(imported(mem)) == {"known": first["new"]}
    assert {path: path.read_bytes() for path in workspace.glob("sessions/*/*")} == before


def test_without_what_is_derived_all_is_read_again_and_nothing_doubled(
    mem: Mem, four_tools: list[Path], workspace: Path
) -> None:
    imported(mem)
    before = kept(workspace)
    (workspace / ".mem" / "imports.jsonl").write_text('{"source": "/x", "sta')
    assert totals(imported(mem)) == {"known": 4}
    assert totals(imported(mem)) == {"known": 4}
    assert kept(workspace) == before


def test_killed_in_the_middle_the_next_run_goes_on_and_the_end_is_the_same(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    said = [Turn(f"Prompt {place} of many", f"Answer {place}", "make", "ok " * 300) for place in range(20)]
    count = 160 if IS_LONG else 60
    for number in range(count):
        name = f"{number:08}-0000-4000-8000-000000000000"
        writer = (homes.claude_code, homes.codex, homes.gemini, homes.opencode)[number % 4]
        writer(home, name, str(world), said)
    command = [sys.executable, "-m", "memcli", "session", "import", "--all"]
    kills = 0
    for wanted in (count // 10, count * 2 // 5, count * 2 // 3):
        with subprocess.Popen(command, cwd=world, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            while running.poll() is None and len(list(workspace.glob("sessions/*/session.jsonl"))) < wanted:
                time.sleep(0.005)
            if running.poll() is None:
                os.kill(running.pid, signal.SIGKILL)
                kills += 1
    assert kills >= 2
    imported(mem)
    found = kept(workspace)
    assert len(found) == count
    first = next(iter(found.values()))
    assert len(first) == 80
    assert all(Counter(events) == Counter(first) for events in found.values())
    assert totals(imported(mem)) == {"known": count}
    assert mem("session", "import", str(home / ".claude"), "--json").json["sessions"] == []


def test_only_what_took_place_in_the_project_comes_into_its_workspace(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    homes.claude_code(home, IDS[0], str(world / "deep" / "inside"), SAID)
    homes.codex(home, IDS[1], str(world.parent / "elsewhere"), SAID)
    homes.gemini(home, IDS[2], str(world) + "-too", SAID)
    inner = world / "inner"
    inner.mkdir()
    assert mem("init", str(inner / "memory")).code == 0
    homes.opencode(home, "ses_0003", str(inner), SAID)
    assert totals(imported(mem)) == {"new": 1, "events": 6, "of other projects": 3}
    assert list(kept(workspace)) == [IDS[0]]
    assert mem("init", str(home / ".local/share/mem")).code == 0
    users = imported(mem, "--scope", "user")
    assert totals(users) == {"new": 2, "events": 12, "of other projects": 2}
    assert {one["session"] for one in users["sessions"]} == {IDS[1], IDS[2]}
    assert totals(imported(mem, "--project", str(world.parent))) == {"new": 3, "known": 1, "events": 18}


def test_the_folder_of_a_shortened_or_digested_name_is_found(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    from hashlib import sha256

    prompt = {"role": "user", "message": {"content": [{"type": "text", "text": "Which way?"}]}}
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(world)[1:])
    homes.lines(home / ".cursor/projects" / slug / "agent-transcripts" / IDS[0] / f"{IDS[0]}.jsonl", [prompt])
    homes.lines(home / ".cursor/projects/no-such-place/agent-transcripts" / f"{IDS[1]}.jsonl", [prompt])
    written = homes.gemini(home, IDS[2], "/gone", SAID)
    digested = home / ".gemini/tmp" / sha256(str(world).encode()).hexdigest() / "chats"
    digested.mkdir(parents=True)
    written.rename(digested / written.name)
    assert totals(imported(mem)) == {"new": 2, "events": 7, "without a working directory": 1}
    assert sorted(kept(workspace)) == [IDS[0], IDS[2]]


def test_since_leaves_out_what_is_older_until_it_is_asked_for(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    homes.claude_code(home, IDS[0], str(world), SAID, day="2026-03-01")
    homes.codex(home, IDS[1], str(world), SAID, day="2026-11-02")
    assert totals(imported(mem, "--since", "2026-11")) == {"new": 1, "events": 6, "before --since": 1}
    assert totals(imported(mem, "--since", "2026-11")) == {"known": 1, "before --since": 1}
    assert totals(imported(mem)) == {"new": 1, "known": 1, "events": 6}
    ran = mem("session", "import", "--all", "--since", "whenever")
    assert (ran.code, "no date" in ran.err) == (2, True)


def test_what_mem_asked_and_what_agents_asked_each_other_stays_out(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    asked = [Turn("[asked by mem]\n\nSum this up: we deploy on Tuesdays", "{}")]
    homes.claude_code(home, IDS[0], str(world), asked)
    homes.opencode_database(home, {"ses_1": (str(world), asked), "ses_2": (str(world), SAID)})
    homes.codex(home, IDS[1], str(world), SAID, source={"subagent": {"depth": 1}})
    found = totals(imported(mem))
    assert found == {"new": 1, "events": 6, "asked by mem": 2, "of subagents": 1}
    assert totals(imported(mem)) == {"known": 1, "asked by mem": 2, "of subagents": 1}


def test_what_hooks_kept_while_it_was_said_is_not_kept_twice(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    live = ("session", "append", "--session", IDS[0])
    for turn in SAID:
        assert mem(*live, "--text", turn.prompt).code == 0
        assert mem(*live, "--role", "assistant", "--text", turn.reply).code == 0
    before = kept(workspace)
    path = homes.claude_code(home, IDS[0], str(world), SAID)
    assert totals(imported(mem)) == {"known": 1}
    assert kept(workspace) == before
    path.unlink()
    homes.claude_code(home, IDS[0], str(world), [*SAID, Turn("Said while hooks were off", "Heard")])
    found = totals(imported(mem))
    assert found["grown"] == 1
    texts = Counter(text for _, kind, text in kept(workspace)[IDS[0]] if kind == "message")
    assert set(texts.values()) == {1}
    assert "Said while hooks were off" in texts


def test_a_transcript_that_goes_on_brings_in_only_what_is_new(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    path = homes.claude_code(home, IDS[0], str(world), SAID)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"{") + 40])
    ran = mem("session", "import", "--all")
    assert ran.code == 3
    assert f"{path}: not all of it could be read (1 cut off at the end)" in ran.err
    assert len(kept(workspace)[IDS[0]]) == 5
    path.write_bytes(whole)
    assert totals(imported(mem)) == {"grown": 1, "events": 1}
    assert [text for _, _, text in kept(workspace)[IDS[0]]][-1] == SAID[-1].reply


def test_the_end_of_a_line_that_somebody_is_writing_is_no_damage(
    mem: Mem, home: Path, workspace: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = homes.claude_code(home, IDS[0], str(world), SAID)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    real = Source.read

    def read(self: Source, *given: Any) -> Any:
        for transcript in real(self, *given):
            with path.open("ab") as file:  # its owner goes on while it is read
                file.write(whole[-30:])
            yield transcript

    monkeypatch.setattr(Source, "read", read)
    ran = mem("session", "import", "--all")
    assert (ran.code, ran.err) == (0, "")
    monkeypatch.setattr(Source, "read", real)
    assert totals(imported(mem))["known"] + totals(imported(mem))["grown"] == 1
    assert len(kept(workspace)[IDS[0]]) == 6


def test_what_is_broken_is_named_once_and_the_rest_goes_on(
    mem: Mem, four_tools: list[Path], home: Path, workspace: Path, world: Path
) -> None:
    noise = home / ".claude/projects/x/noise.jsonl"
    noise.parent.mkdir(parents=True)
    noise.write_bytes(bytes(range(256)) * 40)
    (noise.parent / "begun.jsonl").write_text('{"type":"summary","summary":"S","leafUuid":"u"}\n')
    (noise.parent / "empty.jsonl").write_text("")
    half = homes.gemini(home, IDS[4], str(world), SAID)
    half.write_text(half.read_text()[: -len(half.read_text()) // 3])
    database = home / ".local/share/opencode/opencode.db"
    database.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    ran = mem("session", "import", "--all", "--json")
    assert ran.code == 3
    assert totals(ran.json)["new"] == 5
    named = {Path(one["path"]).name for one in ran.json["problems"]}
    assert named == {"noise.jsonl", half.name, "opencode.db"}
    again = mem("session", "import", "--all", "--json")
    assert (again.code, again.json["sessions"]) == (0, [])
    assert totals(again.json)["files that cannot be read"] == 2


def test_a_folder_that_may_not_be_read_is_named(
    mem: Mem, four_tools: list[Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = str(home / ".codex/sessions")
    real = os.scandir

    def scandir(folder: Any) -> Any:
        if os.fspath(folder).startswith(closed):
            raise PermissionError(13, os.strerror(13), folder)
        return real(folder)

    monkeypatch.setattr(sources.os, "scandir", scandir)
    ran = mem("session", "import", "--all")
    assert ran.code == 3
    assert f"mem: {closed}: permission denied" in ran.err
    assert [row[0] for row in ran.rows] == ["claude-code", "gemini", "opencode"]


def test_a_folder_is_looked_through_once_whatever_links_lead_into_it(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    pile = world / "pile"
    homes.claude_code(pile, IDS[0], str(world), SAID)
    (pile / "loop").symlink_to(pile)
    (pile / "self").symlink_to("self")
    (pile / "twin.jsonl").symlink_to(next(pile.rglob("*.jsonl")))
    (pile / "gone.jsonl").symlink_to("nowhere.jsonl")
    (pile / "README.md").write_text("# A pile\n\nOf things.\n")
    (pile / "settings.json").write_text("{}")
    (pile / "numbers.json").write_text("[1, 2]")
    homes.lines(
        pile / "s.checkpoint.00000000-aaaa-bbbb-cccc-000000000000.jsonl", [{"type": "session", "version": 3, "id": "s"}]
    )
    with zipfile.ZipFile(pile / "photos.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    ran = mem("session", "import", str(pile), "--json")
    assert totals(ran.json) == {"new": 1, "events": 6, "files without a conversation": 5}
    assert [one["path"] for one in ran.json["problems"]] == [str(pile / "gone.jsonl")]


def test_two_chats_of_one_name_stay_two_conversations(mem: Mem, workspace: Path, world: Path) -> None:
    for folder in ("a", "b"):
        place = world / "chats" / folder / "chat.md"
        place.parent.mkdir(parents=True)
        place.write_text(f"### User\nI live in {folder}town\n### Assistant\nGood\n")
    (world / "chats" / "copy of a.md").write_bytes((world / "chats/a/chat.md").read_bytes())
    assert totals(imported(mem, where=str(world / "chats"))) == {"new": 2, "known": 1, "events": 4}
    assert sorted(events[0][2] for events in kept(workspace).values()) == ["I live in atown", "I live in btown"]


def test_the_sessions_of_another_workspace_keep_their_names(mem: Mem, world: Path, workspace: Path) -> None:
    other = world.parent / "other" / "memory"
    assert mem("init", str(other)).code == 0
    for name in ("telegram:1", "telegram:2"):
        mem("session", "append", "--workspace", str(other), "--session", name, "--text", f"I am {name}")
    assert totals(imported(mem, where=str(other))) == {"new": 2, "events": 2, "files without a conversation": 3}
    assert {row[0] for row in mem("session", "ls").rows} == {"telegram:1", "telegram:2"}
    assert totals(imported(mem, where=str(world)))["new"] == 0


def test_two_tools_that_write_one_folder_are_told_apart(mem: Mem, world: Path, workspace: Path) -> None:
    pile = world / "pile"
    pile.mkdir()
    for path in (homes.claude_code(world / "x", IDS[0], str(world), SAID), homes.codex(world / "x", IDS[1], "/", SAID)):
        path.rename(pile / path.name)
    found = imported(mem, where=str(pile))
    assert {tool["tool"]: tool["new"] for tool in found["tools"]} == {"claude-code": 1, "codex": 0}
    assert totals(found)["of other projects"] == 1


def test_a_database_its_owner_holds_is_read_and_left_as_it_was(
    mem: Mem, home: Path, workspace: Path, world: Path
) -> None:
    path = homes.opencode_database(home, {"ses_1": (str(world), SAID)})
    owner = sqlite3.connect(path, isolation_level=None)
    owner.execute("pragma wal_autocheckpoint = 0")
    owner.execute("update session set title = 'U'")  # lies in the log alone
    owner.execute("pragma locking_mode = exclusive")
    owner.execute("begin exclusive")
    before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
    assert totals(imported(mem)) == {"new": 1, "events": 6}
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == before
    assert json.loads((workspace / "sessions/ses_1/metadata.json").read_text())["metadata"]["title"] == "U"
    owner.execute("commit")
    owner.close()
    homes.opencode_database(home, {"ses_2": (str(world), SAID[:1])})
    assert totals(imported(mem)) == {"new": 1, "known": 1, "events": 4}
    assert list(workspace.glob(".mem/copy-*")) == []


def test_a_data_export_of_a_chat_service_becomes_a_session_a_conversation(
    mem: Mem, workspace: Path, world: Path
) -> None:
    def talk(number: int, *texts: str) -> dict[str, Any]:
        said = [
            {"uuid": f"{number}-{place}", "sender": ("human", "assistant")[place % 2], "text": text, "content": [],
             "created_at": f"2026-11-{number:02}T09:00:{place:02}Z"}
            for place, text in enumerate(texts)
        ]  # fmt: skip
        return {"uuid": f"talk-{number}", "name": "T", "updated_at": f"2026-11-{number:02}T10:00:{len(texts):02}Z",
                "created_at": f"2026-11-{number:02}T09:00:00Z", "chat_messages": said}  # fmt: skip

    talks = [talk(number, f"My number is {number}", "Noted") for number in range(1, 10)]
    with zipfile.ZipFile(world / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(talks))
        archive.writestr("users.json", "[]")
    assert totals(imported(mem, where="export.zip")) == {"new": 9, "events": 18}
    talks[4] = talk(5, "My number is 5", "Noted", "No, 55")
    (world / "conversations.json").write_text(json.dumps([*talks, talk(10, "Ten")], indent=1))
    assert totals(imported(mem, where="conversations.json")) == {"new": 1, "grown": 1, "known": 8, "events": 2}
    (world / "conversations.json").write_text(json.dumps([*talks, talk(11, "Eleven")])[:-20])
    ran = mem("session", "import", "conversations.json", "--since", "2026-11-05", "--json")
    assert ran.code == 3
    assert ran.json["problems"][0]["reason"] == "conversations.json is cut off or not JSON"
    assert totals(ran.json)["known"] == 9


def test_secrets_are_blanked_out_and_told_once(mem: Mem, home: Path, workspace: Path, world: Path) -> None:
    token = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
    homes.claude_code(home, IDS[0], str(world), [Turn(f"use {token} to push", "no", "env", f"GITHUB_TOKEN={token}")])
    ran = mem("session", "import", "--all")
    assert ran.code == 0
    assert "2 secrets redacted in 1 conversation" in ran.err
    assert token not in ran.out + ran.err
    assert not any(token.encode() in path.read_bytes() for path in workspace.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("said", "sought"),
    [
        ([Turn("Only one thing: the wombat key lies in the drawer", "")], "wombat"),
        ([Turn("```python\ndef wombat(x):\n    return x\n```", "```sh\nmake wombat\n```")], "wombat"),
        ([Turn("我们只在星期二部署服务器", "明白了。星期二。")], "星期二"),
    ],
)
def test_one_message_only_code_and_only_chinese_are_found(
    mem: Mem, home: Path, workspace: Path, world: Path, said: list[Turn], sought: str
) -> None:
    homes.claude_code(home, IDS[0], str(world), said)
    assert totals(imported(mem))["new"] == 1
    hits = mem("search", sought, "--kind", "session", "--mode", "keyword", "--json").json["hits"]
    assert hits[0]["id"].startswith(f"session:{IDS[0]}")


def test_a_dry_run_lists_what_would_come_and_writes_nothing(mem: Mem, four_tools: list[Path], world: Path) -> None:
    def tree() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in world.rglob("*") if path.is_file()}

    before = tree()
    ran = mem("session", "import", "--all", "--dry-run")
    assert ran.code == 0
    assert {(row[0], row[1], row[3]) for row in ran.rows} == {
        ("claude-code", IDS[0], "6"), ("codex", IDS[1], "6"), ("gemini", IDS[2], "6"), ("opencode", "ses_0003", "6")
    }  # fmt: skip
    assert {Path(row[4]) for row in ran.rows} == set(four_tools)
    assert tree() == before
    mem("session", "import", str(four_tools[0]))
    assert len(mem("session", "import", "--all", "--dry-run").rows) == 3


def test_a_session_that_was_deleted_does_not_come_back(mem: Mem, four_tools: list[Path], workspace: Path) -> None:
    imported(mem)
    assert mem("session", "delete", IDS[0]).code == 0
    (workspace / ".mem" / "imports.jsonl").unlink()
    assert totals(imported(mem)) == {"known": 4}
    assert IDS[0] not in kept(workspace)


def test_what_came_in_of_late_is_consolidated_alone(mem: Mem, home: Path, workspace: Path, world: Path) -> None:
    homes.claude_code(home, IDS[0], str(world), SAID, day="2026-03-01")
    homes.codex(home, IDS[1], str(world), SAID, day="2026-11-02")
    imported(mem)
    done = mem("consolidate", "--all", "--since", "2026-11", "--json")
    assert [one["session"] for one in done.json["sessions"]] == [IDS[1]]
    assert [one["session"] for one in mem("consolidate", "--all", "--json").json["sessions"]] == [IDS[0]]
    assert mem("consolidate", IDS[1], "--since", "2026-11").code == 2


def test_progress_is_for_a_person_at_a_terminal_alone(mem: Mem, four_tools: list[Path]) -> None:
    assert mem("session", "import", "--all").err == ""


@cases("words", "message")
def test_words_that_make_no_sense_together_are_refused(
    mem: Mem, workspace: Path, words: tuple[str, ...], message: str
) -> None:
    ran: Ran = mem("session", "import", *words)
    assert ran.code == 2
    assert message in ran.err

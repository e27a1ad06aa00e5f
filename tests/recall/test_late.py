"""What a recall finds too late is given with the next prompt: once, marked, and never to another subject."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.recall.request import RecallRequest
from tests.conftest import Mem, Ran

QUESTION = "Which port does the staging proxy listen on?"
Ask = Callable[..., str]


@pytest.fixture
def memories(mem: Mem, workspace: Path) -> Path:
    """Keep some memories on different subjects."""
    for text in (
        "The staging proxy listens on port 9108.",
        "The staging proxy writes its log to /var/log/proxy.",
        "Rita's tomato plants need water each morning.",
    ):
        assert mem("write", text).code == 0
    assert mem("index").code == 0
    return workspace


@pytest.fixture
def ask(spawn: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Give a prompt to the hook of an agent, in a process of its own that answers within so many milliseconds."""

    def asked(prompt: str, within: int = 60_000, session: str = "s1") -> str:
        monkeypatch.setenv("MEM_HOOKS_WITHIN", str(within))
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt}
        ran = spawn("hook", "run", "claude-code", stdin=json.dumps(event).encode())
        assert (ran.code, ran.err) == (0, "")
        return str(ran.json["hookSpecificOutput"]["additionalContext"]) if ran.out else ""

    return asked


def waiting(workspace: Path) -> list[Path]:
    return [path for path in (workspace / ".mem" / "late").glob("*") if "." not in path.name]


def until_found(workspace: Path) -> None:
    end = time.monotonic() + 120
    while not waiting(workspace):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_is_late_is_given_with_the_next_prompt_once_and_marked(ask: Ask, memories: Path) -> None:
    assert ask(QUESTION, within=50) == ""
    until_found(memories)
    told = ask("ok, thanks")
    assert told.startswith("mem: found too late for what was asked before:\n<memory-context>")
    assert told.count("port 9108") == 1
    assert ask("ok, thanks") == ""
    assert "9108" not in ask(QUESTION)
    assert waiting(memories) == []


def test_two_late_prompts_and_one_in_time_tell_each_memory_once(ask: Ask, memories: Path) -> None:
    told = ask(QUESTION, within=50)
    told += ask("And where does the staging proxy write its log to?", within=50)
    until_found(memories)
    told += ask(QUESTION)
    assert (told.count("port 9108"), told.count("/var/log/proxy")) == (1, 1)


def test_what_was_shown_in_time_meanwhile_is_not_given_late(ask: Ask, memories: Path) -> None:
    ask(QUESTION, within=50)
    until_found(memories)
    (late,) = waiting(memories)
    aside = late.with_name("aside.json")
    late.rename(aside)  # it is still being searched for
    assert "9108" in ask(QUESTION)
    aside.rename(late)
    assert "9108" not in ask("ok, thanks")


def test_another_subject_drops_what_is_late_and_it_is_found_again(ask: Ask, memories: Path) -> None:
    ask(QUESTION, within=50)
    until_found(memories)
    told = ask("How often do the tomato plants of Rita need water in summer?")
    assert ("tomato" in told, "9108" in told) == (True, False)
    assert "9108" in ask(QUESTION)


def test_another_session_is_not_given_it(ask: Ask, memories: Path) -> None:
    ask(QUESTION, within=50)
    until_found(memories)
    assert ask("ok, thanks", session="s2") == ""
    assert "9108" in ask("ok, thanks")


def test_a_slow_judge_costs_nothing_and_is_heard_with_the_next_prompt(
    ask: Ask, memories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = tmp_path / "judge"
    judge.write_text("#!/bin/sh\ngrep -n . >/dev/null\nsleep 2\necho '{\"keep\": [1]}'\n")
    judge.chmod(0o755)
    monkeypatch.setenv("MEM_LLM_COMMAND", str(judge))
    monkeypatch.setenv("MEM_RECALL_JUDGE", "on")
    assert ask(QUESTION, within=1500) == ""
    until_found(memories)
    told = ask("ok, thanks")
    assert (told.count("<memory "), "9108" in told) == (1, True)


def test_what_was_forgotten_meanwhile_is_not_given_late(ask: Ask, memories: Path, mem: Mem) -> None:
    ask(QUESTION, within=50)
    until_found(memories)
    path = next(memories.glob("entries/**/*9108*.md"))
    assert mem("forget", str(path)).code == 0
    assert "9108" not in ask("ok, thanks")
    assert waiting(memories) == []


def test_what_was_changed_meanwhile_is_not_given_as_it_was(ask: Ask, memories: Path) -> None:
    ask(QUESTION, within=50)
    until_found(memories)
    path = next(memories.glob("entries/**/*9108*.md"))
    path.write_text(path.read_text().replace("9108", "9200"))
    assert "9108" not in ask("ok, thanks")
    assert "9200" in ask(QUESTION)


def test_a_folder_that_leads_elsewhere_is_neither_read_nor_written(ask: Ask, memories: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for number in range(210):
        (tmp_path / "elsewhere" / str(number)).touch()
    (memories / ".mem" / "late").symlink_to(tmp_path / "elsewhere")
    assert "9108" in ask(QUESTION)
    assert len(list((tmp_path / "elsewhere").iterdir())) == 210


def test_what_is_deleted_for_good_waits_for_nobody(ask: Ask, memories: Path, mem: Mem) -> None:
    ask(QUESTION, within=50)
    until_found(memories)
    path = next(memories.glob("entries/**/*9108*.md"))
    assert mem("forget", str(path), "--purge").code == 0
    assert not [path for path in (memories / ".mem").rglob("*") if path.is_file() and b"port 9108" in path.read_bytes()]


def test_what_is_deleted_for_good_in_another_workspace_waits_for_nobody(
    ask: Ask, memories: Path, mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = mem("write", "The staging proxy of Ingrid listens on port 9777.", "--scope", "user").rows
    assert mem("index", "--scope", "user").code == 0
    ask(QUESTION, within=50)
    until_found(memories)
    files = [path for path in world.parent.rglob("*") if path.is_file() and "late" in path.parts]
    assert any(b"port 9777" in path.read_bytes() for path in files)
    monkeypatch.chdir(world.parent)  # where nothing tells of the project
    assert mem("forget", added[0][1], "--purge", "--scope", "user").code == 0
    monkeypatch.chdir(world)
    assert not any(b"port 9777" in path.read_bytes() for path in files if path.exists())
    assert "9108" in ask("ok, thanks")


@pytest.mark.parametrize("content", ["", "{", '{"turn": "{}", "memories": [{"no": 1}], "notices": []}', "[1]"])
def test_a_file_that_is_cut_off_or_of_nobody_hinders_nothing(ask: Ask, memories: Path, content: str) -> None:
    ask(QUESTION, within=50)
    until_found(memories)
    waiting(memories)[0].write_text(content)
    assert ask("ok, thanks") == ""
    assert waiting(memories) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_where_nothing_can_be_written_what_is_found_in_time_is_given(ask: Ask, memories: Path) -> None:
    (memories / ".mem").chmod(0o500)
    assert "9108" in ask(QUESTION)


def test_a_prompt_that_says_little_asks_of_what_was_said_before(
    ask: Ask, memories: Path, spawn: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_HOOKS_WITHIN", "60000")  # on a busy machine the usual time ends before the turn is noted
    event = {"hook_event_name": "Stop", "session_id": "s1", "last_assistant_message": "The staging proxy is restarted."}
    assert spawn("hook", "run", "claude-code", stdin=json.dumps(event).encode()).code == 0
    assert ask("and which one was that?", session="s2") == ""
    assert "9108" in ask("and which one was that?")
    assert ask("ok, thanks") == ""


@pytest.mark.parametrize(
    ("prompt", "alone"),
    [
        ("and for the second one?", False),
        ("what about production?", False),
        ("do the same for staging", False),
        ("ok, thanks", True),
        ("go on", True),
        ("Which port does the staging proxy listen on?", True),
    ],
)
def test_what_says_enough_or_asks_nothing_is_searched_for_alone(prompt: str, alone: bool) -> None:
    asked = RecallRequest(prompt, ("The first server is named Kea.", "It is up.")).asked
    assert asked == (prompt if alone else f"The first server is named Kea.\nIt is up.\n{prompt}")


def test_passages_of_documents_are_given_too(ask: Ask, memories: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (memories.parent / "docs").mkdir()
    (memories.parent / "docs/canteen.md").write_text("# Canteen\n\nThe canteen opens at eleven on weekdays.\n")
    monkeypatch.setenv("MEM_INDEX_INCLUDE", str(memories.parent / "docs"))
    assert "at eleven" in ask("When does the canteen open?")


def test_a_workspace_that_cannot_be_written_loses_no_memory_of_another(ask: Ask, memories: Path, mem: Mem) -> None:
    assert mem("init", "team").code == 0
    assert mem("config", "set", "--user", "workspaces", f"team={memories.parent}/team").code == 0
    assert mem("write", "Rita asks which port the staging proxy listens on.", "--scope", "team").code == 0
    assert mem("index", "--scope", "team").code == 0
    (memories.parent / "team/.mem/late").symlink_to("/nonexistent")
    assert "port 9108" in ask(QUESTION)

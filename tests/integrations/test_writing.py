"""What is kept of a conversation without being asked, what is told of it, and the one reminder to save something."""

from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.integrations.conftest import Say

RULE = "Please never use semicolons in our JavaScript, the linter refuses them."


def talk(say: Say, mem: Mem) -> None:
    say("UserPromptSubmit", prompt=RULE)
    say("Stop", last_assistant_message="Understood, none.")
    assert mem("hook", "close", "--session", "s1").code == 0


def entries(workspace: Path) -> str:
    return "".join(path.read_text() for path in sorted((workspace / "entries").rglob("*.md")))


def test_what_was_kept_is_told_once_with_the_next_prompt(say: Say, mem: Mem, workspace: Path) -> None:
    talk(say, mem)
    assert "semicolons" in entries(workspace)
    line = say("UserPromptSubmit", prompt="thanks")
    assert line.startswith("mem kept 1: Please never use semicolons")
    number = line.rpartition(" · mem undo ")[2]
    assert say("UserPromptSubmit", prompt="thanks") == ""
    assert mem("undo", number).code == 0
    assert "semicolons" not in entries(workspace)


def test_it_is_told_at_the_next_start_before_what_is_known(say: Say, mem: Mem, workspace: Path) -> None:
    talk(say, mem)
    assert say("SessionStart", session="s2", source="startup").startswith("mem kept 1: ")
    assert say("SessionStart", session="s3", source="startup").startswith("<memory-context>")


def test_an_entry_that_was_taken_away_meanwhile_is_not_told(say: Say, mem: Mem, workspace: Path) -> None:
    talk(say, mem)
    assert mem("undo", "2").code == 0
    assert say("UserPromptSubmit", prompt="thanks") == ""


def test_quiet_keeps_and_tells_nothing(say: Say, mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_MEMORY_WRITING", "quiet")
    talk(say, mem)
    assert "semicolons" in entries(workspace)
    assert say("UserPromptSubmit", prompt="thanks") == ""


def test_ask_lets_it_wait_for_a_yes_but_not_what_was_asked_for(
    say: Say, mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_MEMORY_WRITING", "ask")
    say("UserPromptSubmit", session="s1", prompt="Remember this: the dog is called Rex.")
    talk(say, mem)
    assert "semicolons" not in entries(workspace) + (workspace / "MEMORY.md").read_text()
    assert "Rex" in entries(workspace)
    (question,) = mem("review", "--json").json["questions"]
    assert question["kind"] == "held"
    assert "memory.writing is ask" in question["reason"]
    assert mem("search", "semicolons", "--kind", "entry").code == 1
    assert mem("review", "answer", question["id"], "keep", "--source", "user").code == 0
    assert "semicolons" in entries(workspace)


def test_off_keeps_nothing_and_recalls_still(say: Say, mem: Mem, workspace: Path) -> None:
    (workspace / "mem.yaml").write_text("memory.writing: off\n")
    mem("write", "The bikeshed is green.")
    talk(say, mem)
    assert "semicolons" not in entries(workspace)
    assert not (workspace / "notes").exists()
    assert not (workspace / "sessions").exists()
    assert "green" in say("UserPromptSubmit", prompt="Which colour is the bikeshed?")


def turns(say: Say, count: int, agent: str = "claude-code", prompt: str = RULE) -> list[str]:
    """Talk for some turns, the first of which deserves to be kept; give what the agent is told at the end of each."""
    told = []
    for number in range(count):
        say("UserPromptSubmit", agent, prompt=prompt if not number else f"What is in file {number} of the folder?")
        told.append(say("Stop", agent, last_assistant_message=f"File {number} has a list."))
    return told


def test_an_agent_that_saved_nothing_is_told_so_once(say: Say, workspace: Path) -> None:
    told = turns(say, 13)
    (nudge,) = filter(None, told)
    assert told.index(nudge) == 5
    assert "never use semicolons" in nudge
    assert "mem write" in nudge


@pytest.mark.parametrize("case", ["saved", "nothing deserves it", "switched off", "codex"])
def test_an_agent_is_not_told_so(
    say: Say, mem: Mem, workspace: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case == "switched off":
        monkeypatch.setenv("MEM_HOOKS_NUDGE", "0")
    if case == "saved":
        monkeypatch.setenv("MEM_NOW", "2026-11-21T20:15:00Z")
        say("UserPromptSubmit", prompt="Which colour is the bikeshed?")
        monkeypatch.setenv("MEM_NOW", "2026-11-21T20:16:00Z")
        mem("write", "No semicolons in JavaScript.")
    prompt = "Please restart the server." if case == "nothing deserves it" else RULE
    assert not any(turns(say, 8, "codex" if case == "codex" else "claude-code", prompt))


def test_a_turn_that_goes_on_since_a_hook_said_so_is_left_alone(say: Say, workspace: Path) -> None:
    turns(say, 5)
    say("UserPromptSubmit", prompt="What is in the last file?")
    assert say("Stop", last_assistant_message="A list.", stop_hook_active=True) == ""


def test_a_nudge_quotes_no_half_word_and_nothing_that_was_forgotten(say: Say, mem: Mem, workspace: Path) -> None:
    rule = "Please never use semicolons in our JavaScript, " + "the linter of the whole team refuses them, " * 5
    (nudge,) = filter(None, turns(say, 6, prompt=f"{rule} so do not."))
    assert "…”" in nudge
    mem("forget", str(mem("write", "--json", RULE).json["id"]))
    say("SessionStart", session="s2", source="startup")
    for number in range(6):
        say("UserPromptSubmit", session="s2", prompt=RULE if not number else f"What is in file {number} of it?")
        assert say("Stop", session="s2", last_assistant_message="It has a list.") == ""


def test_what_only_waits_is_not_blanked_in_history(
    say: Say, mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem("forget", str(mem("write", "--json", "The dog is called Rex.").json["id"]))
    monkeypatch.setenv("MEM_MEMORY_WRITING", "ask")
    talk(say, mem)
    assert "[forgotten]" not in "".join(path.read_text() for path in workspace.glob("HISTORY*"))


def test_what_only_waits_is_never_dropped_and_a_no_is_kept(
    say: Say, mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_MEMORY_WRITING", "ask")
    talk(say, mem)
    with monkeypatch.context() as later:
        later.setenv("MEM_NOW", "2027-06-01T00:00:00Z")
        assert mem("tend").code == 0
    (question,) = mem("review", "--json").json["questions"]
    assert mem("review", "answer", question["id"], "forget", "--source", "user").code == 0
    assert "semicolons" in "".join(path.read_text() for path in (workspace / "archive").rglob("*.md"))
    say("UserPromptSubmit", session="s2", prompt=RULE)
    say("Stop", session="s2", last_assistant_message="Yes.")
    assert mem("hook", "close", "--session", "s2").code == 0
    assert mem("review", "--json").json["questions"] == []


def test_two_sessions_are_not_taken_back_by_one_number(say: Say, mem: Mem, workspace: Path) -> None:
    say("UserPromptSubmit", session="s2", prompt="We always deploy on Tuesdays from the release branch.")
    say("Stop", session="s2", last_assistant_message="Yes.")
    talk(say, mem)
    assert mem("hook", "close", "--session", "s2").code == 0
    assert say("UserPromptSubmit", session="s3", prompt="thanks").endswith("· mem undo --list")

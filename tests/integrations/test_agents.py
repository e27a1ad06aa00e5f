"""A day with agents of every format: what each sends is answered in its form, and each finds what the others kept."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.integrations import AGENTS
from tests.conftest import Mem

NAMES = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"),
    "copilot": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
}
RULES = {
    "claude-code": "Never push to the release branch on Fridays.",
    "codex": "The staging database listens on port 5433.",
    "gemini": "Invoices are rounded to five cents.",
    "copilot": "The nightly report goes to Inês.",
}
ANSWER = "Noted, I will keep to that."
Day = Callable[[str], list[str]]


def payloads(agent: str, folder: Path) -> list[dict[str, object]]:
    """Return what an agent sends on a day: a start, a prompt, an answer, a compaction and an end."""
    start, prompt, turn, compaction, end = NAMES[agent]
    transcript = folder / f"{agent}.jsonl"
    common: dict[str, object] = {"session_id": f"{agent}-1", "cwd": str(folder), "transcript_path": str(transcript)}
    if agent == "gemini":
        common["timestamp"] = "2026-11-21T20:15:03Z"
    said = f"Remember this: {RULES[agent]}"
    answers: dict[str, dict[str, object]] = {
        "claude-code": {"stop_hook_active": False, "last_assistant_message": ANSWER},
        "codex": {"stop_hook_active": False, "last_assistant_message": ANSWER, "turn_id": "1"},
        "gemini": {"stop_hook_active": False, "prompt": said, "prompt_response": ANSWER},
        "copilot": {"stop_reason": "end_turn"},
    }
    if agent == "copilot":  # its answer stands in its transcript alone
        events = [("user.message", said), ("assistant.message", ANSWER)]
        lines = [json.dumps({"type": kind, "id": kind, "data": {"content": text}}) for kind, text in events]
        transcript.write_text("\n".join(lines))
    return [
        {"hook_event_name": start, "source": "startup", **common},
        {"hook_event_name": prompt, "prompt": said, **common},
        {"hook_event_name": turn, **answers[agent], **common},
        {"hook_event_name": compaction, "trigger": "auto", **common},
        {"hook_event_name": end, "reason": "other", **common},
    ]


def context_of(agent: str, name: str, out: str) -> str:
    """Return the context of an answer, which must be the document that the agent reads and nothing else."""
    if not out:
        return ""
    document = json.loads(out)
    if agent == "copilot":
        assert document.keys() == {"additionalContext"}
        return str(document["additionalContext"])
    assert document.keys() == {"hookSpecificOutput"}
    assert document["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert document["hookSpecificOutput"]["hookEventName"] == name
    return str(document["hookSpecificOutput"]["additionalContext"])


@pytest.fixture
def day(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Day:
    """Let an agent have its day; give what it was answered to each event. What is left to later is done at once."""
    left: list[list[str]] = []

    def later(_workspace: object, words: list[str], _seconds: float = 0) -> bool:
        left.append(list(words))
        return True

    monkeypatch.setattr("memcli.cli.hook_run.detach", later)

    def had(agent: str) -> list[str]:
        contexts = []
        for event in payloads(agent, workspace.parent):
            ran = mem("hook", "run", agent, stdin=json.dumps(event))
            assert (ran.code, ran.err) == (0, "")
            contexts.append(context_of(agent, str(event["hook_event_name"]), ran.out))
            while left:
                assert mem(*left.pop()).code == 0
        return contexts

    return had


def test_every_agent_of_the_table_has_a_day() -> None:
    assert NAMES.keys() == RULES.keys() == AGENTS.keys()


def test_each_agent_finds_what_the_others_kept(day: Day, workspace: Path) -> None:
    told: list[str] = []
    for agent in AGENTS:
        start, prompt, *others = day(agent)
        assert [rule for rule in told if rule.rstrip(".") not in start] == []
        assert RULES[agent] in prompt
        assert others == ["", "", ""]
        told.append(RULES[agent])
        log = (workspace / "sessions" / f"{agent}-1" / "session.jsonl").read_text()
        assert [json.loads(line)["content"] for line in log.splitlines()] == [
            f"Remember this: {RULES[agent]}",
            ANSWER,
        ]
    assert not (workspace / ".mem" / "log").exists()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "event",
    [
        {"hook_event_name": "SomethingNew", "session_id": "s"},
        {"hook_event_name": ""},
        {"session_id": "s"},
        {"hook_event_name": ["SessionStart"]},
    ],
    ids=["unknown", "empty", "none", "list"],
)
def test_an_event_that_no_row_knows_is_silent(mem: Mem, workspace: Path, agent: str, event: dict[str, object]) -> None:
    ran = mem("hook", "run", agent, stdin=json.dumps({"cwd": str(workspace), **event}))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert not (workspace / ".mem" / "log").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_folder_without_a_workspace_is_silent(mem: Mem, world: Path, agent: str) -> None:
    before = sorted(world.rglob("*"))
    for event in payloads(agent, world):
        ran = mem("hook", "run", agent, stdin=json.dumps(event))
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert sorted(path for path in world.rglob("*") if path.name != "copilot.jsonl") == before


@pytest.mark.parametrize("agent", AGENTS)
def test_a_huge_prompt_and_no_session_stop_nobody(mem: Mem, workspace: Path, agent: str) -> None:
    event = {"hook_event_name": NAMES[agent][1], "cwd": str(workspace), "prompt": "Where is it? " * 300_000}
    ran = mem("hook", "run", agent, stdin=json.dumps(event))
    assert (ran.code, ran.err) == (0, "")
    context_of(agent, NAMES[agent][1], ran.out)
    assert not (workspace / "sessions").exists() or not list((workspace / "sessions").glob("*/session.jsonl"))


def test_what_the_page_for_agents_says_runs(mem: Mem, world: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=world, check=True)
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()
    shown = re.findall(r"(?m)^    (?:echo '(.*)' \| )?mem ([^#\n]*)(?:# (\.\S+) and (\S+))?", page)
    for stdin, words, settings, instructions in shown:
        ran = mem(*shlex.split(words), stdin=stdin)
        assert ran.code == 0, ran.err
        for path in filter(None, (settings, instructions)):
            assert (world / path).exists()
    assert {words.strip() for _, words, *_ in shown} >= {f"hook install {agent}" for agent in AGENTS}

"""A recorded conversation of ten turns goes through the hooks: what surfaces, and that nothing does twice."""

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Mem

DATA = Path(__file__).parent / "data"
CHANGE = 6
"""The turn at which the user begins to talk of something else."""


@pytest.fixture
def surfaced(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Play the conversation to a small memory; give the ids shown at its start and at each turn."""
    (workspace / "entries").mkdir(exist_ok=True)
    for number, line in enumerate((DATA / "memories.jsonl").read_text().splitlines(), 1):
        told = json.loads(line)
        head = f"id: mem_{number:02}\ntype: {told['type']}\ncreated_at: 2026-11-20T09:00:00Z\nsource: user"
        (workspace / "entries" / f"{number:02}.md").write_text(f"---\n{head}\n---\n\n{told['text']}\n")
    assert mem("index").code == 0
    shown = []
    for minute, line in enumerate((DATA / "conversation.jsonl").read_text().splitlines()):
        monkeypatch.setenv("MEM_NOW", f"2026-11-21T20:{minute:02}:00Z")
        event = {**json.loads(line), "cwd": str(workspace.parent)}
        ran = mem("hook", "run", "claude-code", stdin=json.dumps(event))
        assert (ran.code, ran.err) == (0, "")
        if event["hook_event_name"] == "Stop":
            assert ran.out == ""
            continue
        context = ran.json["hookSpecificOutput"]["additionalContext"] if ran.out else ""
        shown.append(re.findall(r'<memory (?:id|source)="([^"]+)"', context))
    return shown


def test_what_surfaces_at_each_turn(surfaced: list[list[str]], snapshot: SnapshotAssertion) -> None:
    told = (json.loads(line)["text"] for line in (DATA / "memories.jsonl").read_text().splitlines())
    said = {f"mem_{number:02}": text for number, text in enumerate(told, 1)}
    assert [[said.get(one, one) for one in turn] for turn in surfaced] == snapshot


def test_nothing_surfaces_twice_until_the_topic_changes_and_may_again_then(surfaced: list[list[str]]) -> None:
    before = [one for turn in surfaced[1:CHANGE] for one in turn]
    between = [one for turn in surfaced[CHANGE:10] for one in turn]
    assert before
    assert between
    assert len(before) == len(set(before))
    assert len(between) == len(set(between))
    assert set(surfaced[10]) & set(before)

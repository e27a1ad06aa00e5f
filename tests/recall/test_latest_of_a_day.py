"""Where a day has more than there is room for, recall and session start show its latest, in the order of the day."""

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Mem

TODAY, YESTERDAY = "2026-11-21", "2026-11-20"


def times(text: str) -> list[str]:
    return re.findall(r"\[(\d\d:\d\d)\]", text)


def a_day(count: int = 200, words: int = 20) -> str:
    filler = "with more to say about the deploy " * (words // 7)
    return "".join(f"[{at // 12:02}:{at % 12 * 5:02}] User: step {at:03} {filler}\n" for at in range(count))


def records(day: str, count: int) -> str:
    said = "What was done at length, and why it was done that way. " * 4
    return "".join(
        f"## {day}T{at // 12:02}:{at % 12 * 5:02}:00.000Z <!-- hist_{at:03} -->\n\n"
        f"[{day} {at // 12:02}:{at % 12 * 5:02}] Record {at:03}. {said}\n\n"
        for at in range(count)
    )


def context(mem: Mem, workspace: Path, door: str) -> str:
    if door == "recall":
        return mem("recall").out
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(workspace.parent), "source": "startup"}
    ran = mem("hook", "run", "claude-code", stdin=json.dumps(event))
    return str(ran.json["hookSpecificOutput"]["additionalContext"])


@pytest.mark.parametrize("door", ["recall", "session start"])
@pytest.mark.parametrize("day", [TODAY, YESTERDAY])
@pytest.mark.parametrize("words", [7, 35, 140])
def test_the_end_of_a_day_is_shown_and_not_its_morning(
    mem: Mem, workspace: Path, door: str, day: str, words: int
) -> None:
    (workspace / "notes").mkdir()
    (workspace / f"notes/{day}.md").write_text(a_day(words=words))
    every = times(a_day())
    told = context(mem, workspace, door)
    shown = times(told)
    assert 3 < len(shown) < len(every)
    assert shown == every[-len(shown) :], "the latest, without a gap, in order"
    lines = [line for line in told.splitlines() if f"notes/{day}.md" in line and "Left out" in line]
    assert len(lines) == 1
    assert f"{len(every) - len(shown)} earlier" in lines[0]
    assert len(lines[0]) < 100


@pytest.mark.parametrize("door", ["recall", "session start"])
@pytest.mark.parametrize("day", [TODAY, YESTERDAY])
def test_the_latest_records_of_a_days_history_are_shown(mem: Mem, workspace: Path, door: str, day: str) -> None:
    (workspace / "HISTORY-2026-11.md").write_text(records(YESTERDAY, 120))
    told = context(mem, workspace, door)
    shown = re.findall(r"Record (\d{3})", told)
    assert 3 < len(shown) < 120
    assert shown == [f"{at:03}" for at in range(120 - len(shown), 120)]
    assert "HISTORY-2026-11.md (" in told
    assert told.count("Left out") == 1


@pytest.mark.parametrize("door", ["recall", "session start"])
def test_a_day_written_as_one_long_text_is_shown_by_its_end(mem: Mem, workspace: Path, door: str) -> None:
    (workspace / "notes").mkdir()
    text = "\n\n".join(f"Paragraph {at:03}: " + "what was thought about it. " * 8 for at in range(200))
    (workspace / f"notes/{TODAY}.md").write_text(text)
    told = context(mem, workspace, door)
    shown = re.findall(r"Paragraph (\d{3})", told)
    assert shown
    assert shown == [f"{at:03}" for at in range(200 - len(shown), 200)]
    assert "…" in told


def test_nothing_is_left_out_of_a_day_that_fits(mem: Mem, workspace: Path) -> None:
    (workspace / "notes").mkdir()
    (workspace / f"notes/{TODAY}.md").write_text(a_day(5))
    told = mem("recall").out
    assert times(told) == times(a_day(5))
    assert "Left out" not in told


@pytest.mark.parametrize("characters", range(600, 6000, 450))
def test_a_smaller_pack_still_ends_with_the_latest(
    mem: Mem, workspace: Path, characters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "notes").mkdir()
    for day in (TODAY, YESTERDAY):
        (workspace / f"notes/{day}.md").write_text(a_day(60).replace("step", f"{day} step"))
    monkeypatch.setenv("MEM_RECALL_SOFT_BUDGET", str(characters // 3))
    monkeypatch.setenv("MEM_RECALL_HARD_BUDGET", str(characters // 3))
    told = mem("recall").out
    assert f"{TODAY} step 059" in told
    for day in (TODAY, YESTERDAY):
        shown = re.findall(rf"{day} step (\d{{3}})", told)
        assert shown == [f"{at:03}" for at in range(60 - len(shown), 60)]

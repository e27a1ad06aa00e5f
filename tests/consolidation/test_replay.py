"""Replaying a prompt says what memory would have given it then, what it gives now, and why the two differ."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem

PORT = "The staging database listens on port 8080."
ASKED = "which port has the staging database?"


def at(monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    monkeypatch.setenv("MEM_NOW", f"2026-11-{day}T09:00:00Z")


def said(mem: Mem, *turns: tuple[str, str, str], session: str = "talk") -> None:
    """Put messages (role, text, day) into a session."""
    lines = [
        json.dumps({"role": role, "content": text, **({"timestamp": f"2026-11-{day}T10:00:00Z"} if day else {})})
        for role, text, day in turns
    ]
    ran = mem("session", "append", "-", "--session", session, stdin="\n".join(lines) + "\n")
    assert ran.code == 0, ran.err


def replayed(mem: Mem, turn: int = 1) -> dict[str, Any]:
    ran = mem("replay", "talk", "--turn", str(turn), "--json")
    assert ran.code == 0, ran.err
    [prompt] = ran.json["prompts"]
    found: dict[str, Any] = prompt
    return found


def given(side: dict[str, Any]) -> list[str]:
    return [memory["summary"] for memory in side["memories"]]


@pytest.fixture
def port(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Know a port since the 1st, be asked for it on the 10th."""
    at(monkeypatch, "01")
    identifier: str = mem("write", PORT, "--no-dedup", "--json").json["id"]
    mem("write", "Ana waters the plants on Mondays.", "--no-dedup")
    at(monkeypatch, "10")
    said(mem, ("user", ASKED, "10"), ("assistant", "8080.", "10"))
    return identifier


def test_what_was_superseded_since_was_given_then_and_is_not_now(
    mem: Mem, port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "15")
    new = mem("write", "The staging database listens on port 9090 now.", "--supersedes", port, "--json").json["id"]
    at(monkeypatch, "20")
    prompt = replayed(mem)
    assert (given(prompt["then"]), given(prompt["now"])) == ([PORT], ["The staging database listens on port 9090 now."])
    why = {one["id"]: (one["is_new"], one["why"]) for one in prompt["changed"]}
    assert why == {
        port: (False, f"superseded by {new} since 2026-11-15"),
        new: (True, "made later, on 2026-11-15"),
    }


def test_what_was_learnt_later_and_what_was_forgotten_are_told_apart(
    mem: Mem, port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "15")
    later = mem("write", "The staging database has a second port, 8081.", "--no-dedup", "--json").json["id"]
    prompt = replayed(mem)
    assert [(one["id"], one["is_new"]) for one in prompt["changed"]] == [(later, True)]
    mem("forget", later)
    assert replayed(mem)["changed"] == []
    assert given(replayed(mem)["then"]) == given(replayed(mem)["now"]) == [PORT]


def test_what_came_of_the_prompt_itself_was_not_known_when_it_was_said(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "12")
    said(mem, ("user", "the staging database listens on port 7070", "10"), ("assistant", "ok", "10"))
    said(mem, ("user", ASKED, "11"))
    mem("write", "The staging database listens on port 7070.", "--no-dedup", "--created-at", "2026-11-10T10:00:00Z",
        "--sources", "session:talk#1")  # fmt: skip
    assert given(replayed(mem, 1)["then"]) == []
    [memory] = replayed(mem, 3)["then"]["memories"]
    assert "learnt from this conversation" in memory["why"]


def test_the_reasons_add_up_and_say_the_words_that_were_found(mem: Mem, port: str) -> None:
    [memory] = replayed(mem)["now"]["memories"]
    assert sum(memory["parts"].values()) == pytest.approx(memory["relevance"], abs=1e-3)
    assert memory["score"] <= memory["relevance"]
    for word in ("by meaning", "by its words", "port", "staging", "is left by age, trust and use"):
        assert word in memory["why"]
    text = mem("replay", "talk", "--turn", "1").out
    assert text.startswith("#1  which port")
    assert "then (2026-11-10 10:00): 1 memory" in text
    assert memory["why"] in text
    assert "nothing changed" in text


def test_replaying_counts_as_no_reading_and_shows_a_session_nothing(mem: Mem, workspace: Path, port: str) -> None:
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file() and "index" not in path.name}
    mem("replay", "talk")
    mem("replay", "talk", "--turn", "1", "--json")
    after = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file() and "index" not in path.name}
    changed = [path for path in after if before.get(path) != after[path]]
    assert not [path for path in changed if path.name == "access" or "surfaced" in path.parts]
    assert not [path for path in changed if ".mem" not in path.parts]


def test_a_line_each_tells_which_prompt_to_look_at(mem: Mem, port: str) -> None:
    said(
        mem, ("user", "thanks!", "11"), ("assistant", "Sure.", "11"), ("user", "when does Ana water the plants?", "12")
    )
    rows = mem("replay", "talk").rows
    assert [row[0] for row in rows] == ["1", "3", "5"]
    assert [row[2:5] for row in rows] == [["1", "1", "0"], ["0", "0", "0"], ["1", "1", "0"]]
    assert [row[0] for row in mem("replay", "talk", "-n", "1").rows] == ["5"]
    thanks = replayed(mem, 3)
    assert thanks["now"]["is_gated"] or thanks["now"]["memories"] == []


def test_a_message_without_a_time_is_replayed_as_of_now_alone(mem: Mem, workspace: Path) -> None:
    mem("write", PORT, "--no-dedup")
    folder = workspace / "sessions" / "talk"
    folder.mkdir(parents=True)
    (folder / "session.jsonl").write_text(json.dumps({"id": "m1", "role": "user", "content": ASKED}) + "\n")
    prompt = replayed(mem)
    assert prompt["then"] is None
    assert given(prompt["now"]) == [PORT]
    assert "no time" in mem("replay", "talk", "--turn", "1").out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("talk", "--turn", "2"), 2, "prompts are at 1"),
        (("talk", "--turn", "0"), 2, "prompts are at 1"),
        (("talk", "-n", "0"), 2, "at least one"),
        (("nobody",), 4, "nobody"),
        (("empty",), 4, "empty"),
    ],
)
def test_a_prompt_that_is_none_is_said(mem: Mem, port: str, words: tuple[str, ...], code: int, told: str) -> None:
    said(mem, ("assistant", "Hello?", "10"), session="empty")
    ran = mem("replay", *words)
    assert ran.code == code
    assert told in ran.err

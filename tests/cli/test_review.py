"""`mem review`: one queue of what needs a person, and answers that stand in the files."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.tables import cases

PAIRS = [
    ("The staging port is 8080.", "The staging port is 9090."),
    ("Lunch for the crew is in room Aspen.", "Lunch for the crew is in room Birch."),
    ("The nightly job deletes old logs.", "The nightly job does not delete old logs."),
]


def flagged(mem: Mem, old: str, new: str, source: str = "observed", newer: str = "") -> tuple[str, str]:
    """Write two memories that are flagged with each other; give the ids of the older and the newer."""
    told = ("--created-at", "2026-11-01", "--no-dedup", "--json")
    first = mem("write", old, "--source", source, *told).json["id"]
    second = mem("write", new, "--source", newer or source, "--conflicts-with", first, "--json").json["id"]
    assert mem("write", "--id", first, "--conflicts-with", second).code == 0
    return first, second


def queue(mem: Mem) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = mem("review", "--json").json["questions"]
    return found


def rows(mem: Mem) -> dict[str, dict[str, Any]]:
    found = mem("ls", "--status", "active", "--status", "superseded", "--status", "archived", "--json").json["entries"]
    return {row["id"]: row for row in found}


def answer(mem: Mem, decision: str, *more: str) -> dict[str, Any]:
    found: dict[str, Any] = mem("review", "answer", queue(mem)[0]["id"], decision, *more, "--json").json
    return found


def text_of(workspace: Path, identifier: str) -> str:
    return next(text for path in workspace.rglob("*.md") if f"id: {identifier}\n" in (text := path.read_text()))


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_a_flagged_pair_is_asked_about_with_the_newer_first(mem: Mem, workspace: Path, old: str, new: str) -> None:
    flagged(mem, old, new)
    (question,) = queue(mem)
    assert [one["text"] for one in question["memories"]] == [new, old]
    assert question["answers"] == ["keep", "newer", "older", "same", "forget", "later"]
    told = mem("review").out
    assert question["id"] in told
    assert told.index(new) < told.index(old)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_a_pair_that_is_kept_is_never_asked_again_and_the_decision_travels_with_the_files(
    mem: Mem, workspace: Path, old: str, new: str
) -> None:
    one, other = flagged(mem, old, new)
    assert answer(mem, "keep")["action"] == "settled"
    assert queue(mem) == []
    for mine, theirs in ((one, other), (other, one)):
        text = text_of(workspace, mine)
        assert "conflicts_with" not in text
        assert f"distinct:\n- {theirs}" in text or f"distinct: [{theirs}]" in text
    for path in (workspace / ".mem").glob("*"):
        path.unlink() if path.is_file() else None  # a clone has none of it
    assert queue(mem) == []
    # Said again, each confirms what it says and is not flagged with the other one.
    assert mem("write", new, "--json").json["action"] == "merged"
    assert mem("write", old, "--json").json["action"] == "merged"
    assert queue(mem) == []


def test_an_imported_pair_that_was_found_distinct_elsewhere_is_not_flagged_here(mem: Mem, workspace: Path) -> None:
    one, other = flagged(mem, *PAIRS[0])
    answer(mem, "keep")
    lines = mem("export").out.splitlines()
    assert mem("init", "clone").code == 0
    mem("--workspace", "clone", "write", "The cat is grey.")
    for identifier in (one, other):
        line = next(line for line in lines if f"id: {identifier}" in line)
        assert mem("--workspace", "clone", "import", "-", stdin=line).code == 0
    found = [row for row in queue_of(mem, "clone") if row["kind"] != "new"]
    assert found == []


def queue_of(mem: Mem, folder: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = mem("--workspace", folder, "review", "--json").json["questions"]
    return found


@pytest.mark.parametrize("decision", ["newer", "older"])
def test_what_is_over_is_superseded_and_the_flags_are_gone(mem: Mem, workspace: Path, decision: str) -> None:
    ids = dict(zip(("older", "newer"), flagged(mem, *PAIRS[0]), strict=True))
    answer(mem, decision)
    found = rows(mem)
    lost = ids["older" if decision == "newer" else "newer"]
    assert (found[lost]["status"], found[lost]["superseded_by"]) == ("superseded", ids[decision])
    assert found[ids[decision]]["status"] == "active"
    assert not any("conflicts_with" in text_of(workspace, one) for one in ids.values())
    assert queue(mem) == []


def test_two_that_say_the_same_become_one_with_both_wordings(mem: Mem, workspace: Path) -> None:
    old, new = PAIRS[2]
    one, other = flagged(mem, old, new)
    answer(mem, "same", "--source", "user")
    found = rows(mem)
    assert found[other]["status"] == "superseded"
    text = text_of(workspace, one)
    assert old in text
    assert new in text
    assert "strength: 2" in text
    assert queue(mem) == []


def test_what_is_put_off_is_asked_last_and_not_lost(mem: Mem, workspace: Path) -> None:
    flagged(mem, *PAIRS[0])
    flagged(mem, *PAIRS[1])
    first, second = (one["id"] for one in queue(mem))
    assert answer(mem, "later") == {"id": first, "decision": "later", "action": "later", "changed": []}
    assert [one["id"] for one in queue(mem)] == [second, first]


@pytest.mark.parametrize("decision", ["newer", "older", "same", "forget"])
def test_an_agent_retires_nothing_a_user_said_and_its_proposal_waits(mem: Mem, workspace: Path, decision: str) -> None:
    ids = flagged(mem, *PAIRS[0], source="user")
    before = {one: text_of(workspace, one) for one in ids}
    assert answer(mem, decision)["action"] == "proposed"
    assert {one: text_of(workspace, one) for one in ids} == before
    (question,) = queue(mem)
    assert (question["proposal"]["decision"], question["proposal"]["by"]) == (decision, "observed")
    assert f"proposed: {decision} (observed)" in mem("review").out
    assert answer(mem, decision, "--source", "user")["action"] == "settled"
    assert queue(mem) == []


def test_an_agent_retires_what_is_not_the_users_even_for_what_is(mem: Mem, workspace: Path) -> None:
    flagged(mem, *PAIRS[0], source="user", newer="inferred")
    assert answer(mem, "older")["action"] == "settled"
    assert [row["summary"] for row in rows(mem).values() if row["status"] == "active"] == [PAIRS[0][0]]


def test_an_agents_answers_do_not_lift_a_memory_to_the_page(mem: Mem, workspace: Path) -> None:
    text = "The parrot is called Rio and eats nuts"
    first = mem("write", f"{text}.", "--no-dedup", "--source", "observed", "--json").json["id"]
    for more in ("in the morning", "in the evening", "at noon"):
        mem("write", f"{text} {more}.", "--no-dedup", "--source", "observed", "--conflicts-with", first)
    while queue(mem):
        answer(mem, "same")
    kept = [row for row in rows(mem).values() if row["status"] == "active"]
    assert [row["strength"] for row in kept] == [1]
    mem("promote", "--auto")
    assert "parrot" not in (workspace / "MEMORY.md").read_text()


def test_both_cannot_be_kept_under_one_key(mem: Mem, workspace: Path) -> None:
    mem("write", PAIRS[0][0], "--key", "staging/port", "--source", "user", "--created-at", "2026-11-01")
    mem("write", PAIRS[0][1], "--key", "staging/port", "--source", "inferred")
    (question,) = queue(mem)
    assert question["kind"] == "key"
    ran = mem("review", "answer", question["id"], "keep", "--source", "user")
    assert (ran.code, "another key" in ran.err) == (2, True)
    assert answer(mem, "older")["action"] == "settled"
    assert queue(mem) == []


def test_a_rule_that_nobody_confirmed_for_long_is_asked_about_and_a_yes_renews_it(mem: Mem, workspace: Path) -> None:
    mem("write", "Never deploy on a Friday.", "--type", "constraint", "--source", "user", "--created-at", "2025-01-01")
    mem("write", "The attic is cold.", "--created-at", "2025-01-01")  # fades into the archive without a question
    (question,) = queue(mem)
    assert (question["kind"], question["memories"][0]["type"]) == ("faded", "constraint")
    assert answer(mem, "keep")["action"] == "proposed"
    assert answer(mem, "keep", "--source", "user")["action"] == "settled"
    assert queue(mem) == []


def test_nothing_is_asked_about_what_conversations_and_imports_brought_in(mem: Mem, workspace: Path) -> None:
    (workspace.parent / "chat.txt").write_text("User: From now on, always test a restore on Mondays.\n")
    assert mem("consolidate", "chat.txt").code == 0
    lines = [{"content": "The boat is moored at pier 9.", "type": "fact"}, {"content": "The crew eats at noon."}]
    (workspace.parent / "theirs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    assert mem("import", "theirs.jsonl").code == 0, mem("import", "theirs.jsonl").err
    assert queue(mem) == []


def test_ones_own_memories_that_move_to_another_place_are_not_asked_about(mem: Mem, workspace: Path) -> None:
    mem("write", "The boat is moored at pier 9.")
    assert mem("init", "moved").code == 0
    assert mem("--workspace", "moved", "import", "-", stdin=mem("export").out).code == 0
    assert queue_of(mem, "moved") == []


def test_a_text_edited_after_it_was_listed_is_not_decided_about(mem: Mem, workspace: Path) -> None:
    _, other = flagged(mem, *PAIRS[0])
    old = queue(mem)[0]["id"]
    assert mem("edit", other, "--replace", "9090", "9091").code == 0
    ran = mem("review", "answer", old, "newer", "--json")
    assert (ran.code, ran.out) == (4, "")
    assert "a text of it changed" in ran.err
    assert len(queue(mem)) == 1


@pytest.mark.parametrize("what", ["forgotten", "deleted", "superseded", "broken"])
def test_a_pair_of_which_one_side_is_gone_is_not_asked_about(mem: Mem, workspace: Path, what: str) -> None:
    one, other = flagged(mem, *PAIRS[0])
    question = queue(mem)[0]["id"]
    path = next(path for path in workspace.rglob("*.md") if f"id: {other}" in path.read_text())
    if what == "forgotten":
        mem("forget", other)
    elif what == "superseded":
        mem("supersede", other, one)
    elif what == "deleted":
        path.unlink()
    else:
        path.write_text("---\nid: [\n---\n\nBroken.\n")
    ran = mem("review", "answer", question, "newer")
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    ran = mem("review")
    assert (ran.code, ran.out) == (0, "")
    assert (path.name in ran.err) == (what == "broken")


@cases("words", "code")
def test_wrong_words_are_one_line(mem: Mem, workspace: Path, words: tuple[str, ...], code: int) -> None:
    ran = mem("review", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)


def test_text_of_a_memory_cannot_drive_a_terminal(mem: Mem, workspace: Path) -> None:
    flagged(mem, "The port is 1.\x1b]0;owned\x07", "The port is 2.\x1b]0;owned\x07")
    assert "\x1b" not in mem("review").out


def test_a_thousand_flags_are_listed_and_one_entry_in_many_is_named(mem: Mem, workspace: Path) -> None:
    hub = mem("write", "The kitchen is painted green.", "--no-dedup", "--json").json["id"]
    for number in range(1000):
        head = f"---\nid: mem_{number:04}\nconflicts_with: [{hub}]\nverdicts: [{hub}]\n---\n\n"
        text = f"{head}The kitchen is painted in colour {number}.\n"
        (workspace / "entries" / f"many-{number}.md").write_text(text)
    found = mem("review", "--json", "--limit", "7").json
    assert (found["count"], len(found["questions"])) == (1000, 7)
    assert {one["group"] for one in found["questions"]} == {hub}


def test_an_agent_is_told_at_session_start_how_many_wait(mem: Mem, workspace: Path) -> None:
    def context() -> str:
        event = {
            "hook_event_name": "SessionStart",
            "session_id": "s",
            "source": "startup",
            "cwd": str(workspace.parent),
        }
        out = mem("hook", "run", "claude-code", stdin=json.dumps(event)).out
        return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""

    assert "mem review" not in context()
    flagged(mem, *PAIRS[0])
    assert "mem: 1 memory needs a yes or no: mem review" in context()
    flagged(mem, *PAIRS[1])
    assert "mem: 2 memories need a yes or no: mem review" in context()
    mem("write", "Never deploy on a Friday.", "--type", "constraint", "--source", "user", "--created-at", "2025-01-01")
    mem("write", "The build port is 7000.", "--key", "build/port", "--source", "user")
    mem("write", "The build port is 7001.", "--key", "Build/Port", "--source", "observed")  # flagged, and of one key
    assert [one["kind"] for one in queue(mem)].count("key") == 1
    assert len(queue(mem)) == 4
    assert "mem: 4 memories need a yes or no: mem review" in context()

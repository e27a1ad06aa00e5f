"""Review: answers change memories once, and questions do not return."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import ChangedError, UsageError
from memcli.index.index import Index, get_index, open_index
from memcli.reconcile import pairs
from memcli.reconcile.admit import write_memories
from memcli.reconcile.changes import Draft
from memcli.reconcile.forgetting import forget
from memcli.reconcile.pairs import find_duplicates, find_outdated_ids
from memcli.reconcile.review import Question, answer_questions, list_questions
from memcli.store.undo import undo
from memcli.store.workspace import Workspace
from tests.helpers import make_workspace, open_again, put, run_mem

PAGE = "<!-- mem:promoted -->\n- {text} <!-- {id} -->\n<!-- /mem:promoted -->\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def save(workspace: Workspace, *texts: str, source: str = "user", **fields: str) -> list[str]:
    """Save memories one after the other and return their ids."""
    drafts = [
        Draft(text, source=source, created_at=f"2026-11-{number:02}", **fields)  # type: ignore[arg-type]
        for number, text in enumerate(texts, 1)
    ]
    return [outcome.id for outcome in write_memories(workspace, drafts)[0]]


def list_active(workspace: Workspace) -> list[str]:
    return sorted(
        entry.summary for entry in open_index(workspace).list_entries("status = 'active'")
    )


def ask(workspace: Workspace, kind: str) -> Question:
    found = [item for item in list_questions(workspace, duplicates=True) if item.kind == kind]
    assert len(found) == 1, found
    return found[0]


def hold(workspace: Workspace) -> Question:
    forgotten = save(workspace, "The code of the boiler is brown fox seven.")
    forget(workspace, forgotten)
    fields = {"source": "observed", "key": "boiler", "expires_at": "2027-06-30T00:00:00Z"}
    save(workspace, "Boiler code: brown fox seven.", **fields)
    return ask(workspace, "inbox")


@pytest.mark.parametrize(
    ("answer", "active"),
    [("older", ["Port 1."]), ("newer", ["Port 2."]), ("both", ["Port 1.", "Port 2."])],
)
def test_a_conflict_is_decided_once(workspace: Workspace, answer: str, active: list[str]) -> None:
    save(workspace, "Port 1.", key="port")
    write_memories(workspace, [Draft("Port 2.", key="port")])
    question = ask(workspace, "conflict")
    done = answer_questions(workspace, [question], answer)
    assert list_active(workspace) == active
    assert not any(entry.conflicts_with for entry in open_index(workspace).list_entries())
    assert list_questions(open_again(workspace), duplicates=True) == []
    undo(workspace, done.number)
    assert ask(workspace, "conflict").id == question.id


def test_a_question_is_answered_in_one_terminal(workspace: Workspace) -> None:
    save(workspace, "The rent is 1,150 euros.", "The rent is 1,240 euros now.")
    question = ask(workspace, "number")
    inbox = hold(workspace)
    other = open_again(workspace)
    answer_questions(workspace, [question], "both")
    answer_questions(workspace, [inbox], "accept")
    for asked, answer in ((question, "newer"), (inbox, "reject")):
        with pytest.raises(ChangedError, match="answered already"):
            answer_questions(other, [asked], answer)
    with pytest.raises(UsageError, match="cannot answer"):
        answer_questions(other, [inbox], "newer")
    assert run_mem(workspace.root.parent, "review", question.id, "newer")[0] == 4


def test_the_line_of_a_replaced_memory_shows_the_one_that_stays(workspace: Workspace) -> None:
    ids = save(workspace, "The rent is 1,150 euros.", "The rent is 1,240 euros now.")
    page = put(workspace, "MEMORY.md", PAGE.format(text="The rent is 1,150 euros.", id=ids[0]))
    assert find_outdated_ids(open_index(workspace)) == {ids[0]}
    answer_questions(workspace, [ask(workspace, "number")], "newer")
    assert f"- The rent is 1,240 euros now. <!-- {ids[1]}" in page.read_text()
    assert find_outdated_ids(open_index(workspace)) == set()


def test_an_accepted_memory_is_saved_under_its_key(workspace: Workspace) -> None:
    save(workspace, "Boiler: unknown.", source="inferred", key="boiler")
    question = hold(workspace)
    done = answer_questions(workspace, [question], "accept")
    assert list_active(workspace) == ["Boiler code: brown fox seven."]
    entry = open_index(workspace).find_by_id(question.memories[0].id)
    assert entry is not None
    assert (entry.source, entry.key, entry.reason) == ("observed", "boiler", "")
    assert entry.expires_at == "2027-06-30T00:00:00Z"
    assert not list((workspace.root / "inbox").glob("*.md"))
    undo(workspace, done.number)
    assert ask(workspace, "inbox") == question


@pytest.mark.parametrize("answer", ["older", "newer", "both"])
def test_an_answer_at_a_terminal_is_the_users_word(workspace: Workspace, answer: str) -> None:
    save(workspace, "The rent is 1,150 euros.", "The rent is 1,240 euros.", source="inferred")
    inbox = hold(workspace)
    for is_terminal in (False, True):
        workspace.context = workspace.context._replace(is_terminal=is_terminal)
        done = answer_questions(workspace, [ask(workspace, "number")], answer)
        kept = open_index(workspace).list_entries("status = 'active'")
        assert {entry.source for entry in kept} == {"user" if is_terminal else "inferred"}
        assert {entry.strength for entry in kept} == {2 if is_terminal else 1}
        undo(workspace, done.number)
    answer_questions(workspace, [inbox], "accept")
    accepted = open_index(workspace).find_by_id(inbox.memories[0].id)
    assert accepted is not None and (accepted.source, accepted.trust) == ("user", 1.0)


@pytest.mark.parametrize("has_same_id", [True, False])
def test_a_memory_stays_in_its_file_if_its_copy_replaces_it(
    workspace: Workspace, has_same_id: bool
) -> None:
    (first_id,) = save(workspace, "The boiler of the house is of 2012.")
    first = workspace.root / open_index(workspace).list_entries()[0].path
    copy = first.with_name(f"{first.stem}.sync-conflict-20261120-101112.md")
    text = first.read_text()
    copy_id = first_id if has_same_id else "mem_01m8h0h7p0hs5xrq"
    later = text.replace("2012", "2014").replace("created_at: 2026-11-01", "created_at: 2026-11-02")
    copy.write_text(later.replace(first_id, copy_id))
    page = put(
        workspace, "MEMORY.md", PAGE.format(text="The boiler of the house is of 2012.", id=first_id)
    )
    open_index(workspace)
    done = answer_questions(workspace, [ask(workspace, "number")], "newer")
    assert "2012" in first.read_text() and "2014" in copy.read_text()
    (kept,) = open_index(workspace).list_entries("status = 'active'")
    (old,) = open_index(workspace).list_entries("status = 'superseded'")
    assert (kept.id, old.superseded_by) == (copy_id, copy_id)
    assert old.id != kept.id
    assert f"- The boiler of the house is of 2014. <!-- {copy_id}" in page.read_text()
    undo(workspace, done.number)
    assert first.read_text() == text


def test_a_note_that_a_program_copied_stays_under_its_name(tmp_path: Path) -> None:
    old, new = "The rent of the flat is 1,150 euros.\n", "The rent of the flat is 1,240 euros.\n"
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "Rent.md").write_text(old)
    assert run_mem(tmp_path, "init")[0] == 0
    os.utime(tmp_path / "Rent.md", (1_700_000_000, 1_700_000_000))
    copy = tmp_path / "Rent (conflict 2).md"
    copy.write_text(new)
    question = run_mem(tmp_path, "review")[1].split("\t")[0]
    code, _, errors = run_mem(tmp_path, "review", question, "newer")
    assert code == 0 and "Rent (conflict 2).md stays, but mem no longer shows it" in errors
    assert (tmp_path / "Rent.md").read_text() == new
    assert copy.read_text() == f"---\nsuperseded_by: Rent.md\n---\n\n{old}"
    assert run_mem(tmp_path, "ls")[1].startswith("Rent.md\t")
    assert run_mem(tmp_path, "undo")[0] == 0
    assert (copy.read_text(), (tmp_path / "Rent.md").read_text()) == (new, old)


def test_a_rejected_memory_does_not_come_back(workspace: Workspace) -> None:
    answer_questions(workspace, [hold(workspace)], "reject")
    outcomes, _ = write_memories(workspace, [Draft("boiler code: brown fox seven")])
    assert outcomes[0].action == "rejected"
    assert list_questions(workspace) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The retro is on Friday at 2 pm.", "The retro is on Friday at 14:00."),
        ("Build 80 failed on Monday.", "Build 81 failed on Monday."),
        ("The staging port is 80.", "The production port is 8080."),
        ("The flight to Oslo leaves at 7:05.", "The flight back from Oslo leaves at 21:30."),
        ("The fridge holds 4 bottles.", "The fridge holds 4 cans and 6 bottles."),
    ],
)
def test_numbers_of_different_things_do_not_contradict(
    workspace: Workspace, first: str, second: str
) -> None:
    save(workspace, first, second)
    assert find_outdated_ids(open_index(workspace)) == set()


def test_statements_are_compared_again_after_a_change_only(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(workspace, "The rent is 1,150 euros.", "The rent is 1,240 euros.")
    first = find_outdated_ids(open_index(workspace))
    assert len(first) == 1
    # Comparing 10,000 memories at each start of a session and in each status took 100 ms.
    with monkeypatch.context() as patch:
        patch.setattr(pairs, "parse_statement", None)
        assert find_outdated_ids(get_index(workspace)) == first
    forget(workspace, list(first))
    assert find_outdated_ids(open_index(workspace)) == set()


def test_memories_of_two_projects_do_not_contradict(workspace: Workspace) -> None:
    save(workspace, "The rent is 1,150 euros.", project="a")
    save(workspace, "The rent is 1,240 euros.", project="b")
    assert list_questions(workspace, duplicates=True) == []


def test_a_damaged_inbox_and_a_link_in_it_are_no_question(workspace: Workspace) -> None:
    put(workspace, "inbox/bad.md", "---\n: [\n---\n\nBad.\n")
    (workspace.root / "inbox/link.md").symlink_to("/etc/hostname")
    assert list_questions(workspace) == []


def test_after_enough_duplicates_no_other_pair_is_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    verbs = ("is serviced", "gets serviced", "was serviced", "will be serviced")
    save(workspace, *(f"The boiler {verb} in October." for verb in verbs))
    index = open_index(workspace)
    everything = find_duplicates(index)
    assert len(everything) > 2
    read: list[str] = []
    list_entries = Index.list_entries

    def note_reading(self: Index, where: str = "1", values: Sequence[Any] = ()) -> Any:
        read.append(where)
        return list_entries(self, where, values)

    monkeypatch.setattr(Index, "list_entries", note_reading)
    monkeypatch.setattr(pairs, "MOST_DUPLICATES", 2)
    assert find_duplicates(index) == everything[:2]
    assert read == ["file = ?"] * 4


def test_two_versions_of_a_note_are_shown_with_the_line_that_differs(workspace: Workspace) -> None:
    for name, year in (("a", 2012), ("b", 2014)):
        text = f"---\ncreated_at: {year}-01-01\n---\n# House\n\nIt is blue.\n\nThe boiler is of {year}.\n"
        put(workspace, f"entries/{name}.md", text)
    question = next(iter(list_questions(workspace, duplicates=True)))
    assert [choice.text for choice in question.memories] == [
        "House … The boiler is of 2012.",
        "House … The boiler is of 2014.",
    ]
    assert question.reason == "-The boiler is of 2012.\n+The boiler is of 2014."

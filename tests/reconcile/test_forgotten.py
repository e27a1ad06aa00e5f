"""Forgotten stays forgotten, whichever way the text comes back."""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from memcli import api
from memcli.formats.entry import Entry, format_entry
from memcli.index.index import open_index
from memcli.reconcile.admit import write_memories
from memcli.reconcile.changes import Draft, delete_inbox, list_inbox
from memcli.reconcile.forgetting import forget, forget_described, get_mentions
from memcli.store.sessions import append_events
from memcli.store.workspace import Workspace
from memcli.store.writer import Append, ChangeGroup, commit
from tests.helpers import make_workspace, open_again, put, run_mem

# Ten forgotten memories, each with a paraphrase of its own.
FORGOTTEN = {
    "Marta is allergic to walnuts and almonds.": "Marta has an allergy to walnuts and almonds.",
    "My salary is ninety thousand euros a year.": "My yearly salary is ninety thousand euros.",
    "The boiler code is brown fox seven.": "The code of the boiler is brown fox seven.",
    "Jonas plays the cello in an orchestra.": "Jonas is a cello player in an orchestra.",
    "We deploy on Fridays after lunch.": "Deploys happen on Friday after lunch with us.",
    "The spare key is under the third pot.": "A spare key lies under the third pot.",
    "Ana was born in Porto in March.": "Ana was born in March, in Porto.",
    "The staging server is called gandalf.": "Our staging server has the name gandalf.",
    "I take the train to Lisbon every Monday.": "Every Monday I take the Lisbon train.",
    "The client pays invoices sixty days late.": "Invoices are paid sixty days late by the client.",
}
# Three more, of which only the words themselves come back.
EXACT = [f"Room {number} belongs to the team of Ana Lima." for number in range(3)]
OLD = "2026-11-01T10:00:00Z"


def draft(workspace: Workspace, text: str, source: str, **fields: object) -> None:
    write_memories(workspace, [Draft(text, source=source, **fields)])  # type: ignore[arg-type]


def write_history(workspace: Workspace, text: str) -> None:
    record = f"## 2026-11-28T10:00:00Z <!-- hist_1 -->\n\n[2026-11-28 10:00] {text}\n\n"
    commit(workspace, "history", [ChangeGroup([Append("HISTORY-2026-11.md", record)])])


def write_session(workspace: Workspace, text: str) -> None:
    append_events(workspace, "s1", [{"role": "user", "content": f"You know: {text}"}])


def add_line(workspace: Workspace, path: str, line: str) -> None:
    """Add a line to a file as an editor does."""
    file = workspace.root / path
    before = file.read_text() if file.exists() else ""
    put(workspace, path, f"{before}{line}\n")


def write_old_export(workspace: Workspace, text: str) -> None:
    name = f"entries/old/{abs(hash(text))}.md"
    put(workspace, name, format_entry(Entry(f"mem_01k{abs(hash(text)):013}"[:20], text)))


def promote(workspace: Workspace, text: str) -> None:
    lines = (
        f"<!-- mem:promoted -->\n- {text} <!-- mem_01kajd3v7m4kq7tz -->\n<!-- /mem:promoted -->\n"
    )
    commit(workspace, "promote", [ChangeGroup([Append("MEMORY.md", lines)])])


WAYS: dict[str, Callable[[Workspace, str], object]] = {
    "older transcript": lambda workspace, text: draft(workspace, text, "user", created_at=OLD),
    "observed": lambda workspace, text: draft(workspace, text, "observed"),
    "inferred": lambda workspace, text: draft(workspace, text, "inferred"),
    "import": lambda workspace, text: write_memories(
        workspace, [Draft(f"{text} So it says.", sources=["import"]), Draft(text)]
    ),
    "old export": write_old_export,
    "promotion": promote,
    "history": write_history,
    "notes": lambda workspace, text: add_line(workspace, "notes/2026-11-28.md", f"[10:00] {text}"),
    "session": write_session,
    "page": lambda workspace, text: add_line(workspace, "MEMORY.md", f"- {text}"),
}
# What is written by hand or said in a conversation is a person's own wording.
BY_ADMISSION = ("older transcript", "observed", "inferred")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = make_workspace(tmp_path)
    texts = [*FORGOTTEN, *EXACT]
    outcomes, _ = write_memories(workspace, [Draft(text, source="user") for text in texts])
    draft(workspace, "The kitchen gets a new window.", "user")
    forget(workspace, [outcome.id for outcome in outcomes])
    return open_again(workspace)


def find_shown(folder: Path, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the commands that show a text, and the text."""
    pages = {
        words[0]: run_mem(folder, *words)[1]
        for words in (("ls", "--json", "text"), ("read", "MEMORY.md"), ("grep", "-E", "."))
    }
    shown = []
    for text in texts:
        for mode in ("hybrid", "keyword"):
            words = ("search", text, "--min-score", "0", "-n", "50", "--mode", mode)
            pages[mode] = run_mem(folder, *words)[1]
        wanted = text.rstrip(".").casefold()
        shown += [(name, text) for name, page in pages.items() if wanted in page.casefold()]
    return shown


@pytest.mark.parametrize("way", WAYS)
def test_a_forgotten_memory_is_shown_nowhere(workspace: Workspace, way: str) -> None:
    for text in [*FORGOTTEN, *EXACT]:
        WAYS[way](workspace, text)
    assert find_shown(workspace.root.parent, [*FORGOTTEN, *EXACT]) == []


@pytest.mark.parametrize("way", BY_ADMISSION)
def test_near_repeats_wait_in_the_inbox(workspace: Workspace, way: str) -> None:
    for paraphrase in FORGOTTEN.values():
        WAYS[way](workspace, paraphrase)
        WAYS[way](workspace, paraphrase)
    assert find_shown(workspace.root.parent, FORGOTTEN.values()) == []
    assert sorted(item.text for item in list_inbox(workspace)) == sorted(FORGOTTEN.values())
    draft(workspace, "The shed gets a new roof.", "inferred")
    assert len(list_inbox(workspace)) == len(FORGOTTEN)
    delete_inbox(workspace, [item.id for item in list_inbox(workspace)[:-1]])
    assert len(list_inbox(workspace)) == 1


def test_an_agent_cannot_go_around_the_inbox(workspace: Workspace) -> None:
    paraphrase = next(iter(FORGOTTEN.values()))
    outcomes, _ = write_memories(workspace, [Draft(paraphrase)], deduplicate=False)
    assert outcomes[0].action == "held"
    folder = workspace.root.parent
    run_mem(folder, "write", "The wall is white.", "--path", "wall")
    for words in (
        ("write", paraphrase, "--id", "wall"),
        ("edit", "wall", "--replace", "The wall is white.", paraphrase),
    ):
        code, _, errors = run_mem(folder, *words)
        assert code == 5
        assert "resembles a memory that was forgotten" in errors
    assert find_shown(folder, [paraphrase]) == []


def test_the_user_may_say_it_again(workspace: Workspace) -> None:
    folder = workspace.root.parent
    for text, paraphrase in list(FORGOTTEN.items())[:2]:
        draft(workspace, paraphrase, "user")
        draft(workspace, text, "user")
        assert find_shown(folder, [paraphrase])
        assert find_shown(folder, [text])


def test_a_purge_reaches_archives_the_inbox_and_ignored_notes(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "The spare key is under the third pot."
    event = json.dumps({"role": "user", "content": f"Remember: {text}"})
    put(workspace, "mem.yaml", "index.exclude: [notes/private*]\n")
    put(workspace, "sessions/s1/archive.jsonl", f"{event}\n")
    put(workspace, "notes/private.md", f"[10:00] {text}\n[10:01] Tea.\n")
    put(workspace, "inbox/mem_01kajd3v7m4kq7tz.md", f"---\nid: a\n---\n\n{text} I think.\n")
    workspace = open_again(workspace)
    done, _ = write_memories(workspace, [Draft(text, source="user")])
    forget(workspace, [done[0].id], purge=True)
    for path in workspace.root.rglob("*"):
        assert not path.is_file() or b"third pot" not in path.read_bytes(), path
    assert (workspace.root / "notes/private.md").read_text() == "[10:01] Tea.\n"
    assert "Remember" in (workspace.root / "sessions/s1/archive.jsonl").read_text()


def test_a_purge_deletes_what_a_memory_once_said(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    root = ["--workspace", str(workspace.root)]
    run_mem(tmp_path, "write", "The rent of the flat is 4200 euros.", "--path", "door", *root)
    run_mem(tmp_path, "note", "Told Ana: the rent of the flat is 4200 euros.", *root)
    run_mem(tmp_path, "edit", "door", "--replace", "4200", "4300", *root)
    assert run_mem(tmp_path, "forget", "door", "--purge", "--yes", *root)[0] == 0
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if b"4200" in path.read_bytes()] == []
    assert "Told Ana" in next((workspace.root / "notes").glob("*")).read_text()


def test_a_request_forgets_the_memory_that_it_describes(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    texts = [
        "We use npm for the frontend.",
        "The npm token expires in May.",
        "Ana lives in Porto.",
        "Ana works in Porto at the port authority.",
    ]
    write_memories(workspace, [Draft(text, source="user") for text in texts])
    for request, wanted in (
        ("we use npm", texts[:1]),
        ("the token of npm expires in may", texts[1:2]),
        ("the cat is called Momo", []),
        ("Porto", []),
    ):
        done = forget_described(workspace, request)
        assert [outcome.text for outcome in done.outcomes] == wanted, request
    # A memory that was said after the request is not meant.
    done = forget_described(workspace, "Ana lives in Porto", said_at="2026-11-01T10:00:00.123Z")
    assert done.outcomes == []
    done = forget_described(workspace, "Ana lives in Porto")
    assert [outcome.text for outcome in done.outcomes] == ["Ana lives in Porto."]


def test_an_unclear_request_names_the_candidates(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    names = ("north", "south", "east", "west")
    drafts = [Draft(f"The door of the {name} room is blue.", source="user") for name in names]
    write_memories(workspace, drafts)
    done = forget_described(workspace, "the door of the room is blue")
    assert done.outcomes == []
    assert len(done.candidates) > 1
    assert len(open_index(workspace).list_entries("status = 'active'")) == 4
    # "Forget what I said about the east": a subject, not a statement.
    done = forget_described(workspace, "the east")
    assert done.outcomes == []
    assert [item.text for item in done.candidates] == ["The door of the east room is blue."]


def test_forget_about_names_the_lines_of_the_history(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    write_memories(workspace, [Draft("The east room is blue.", source="user")])
    record = "# History\n\n## hist_a\n\nPainted the east room today.\n"
    put(workspace, "HISTORY-2026-11.md", record)
    code, _, messages = run_mem(tmp_path, "forget", "--about", "east room")
    assert code == 0
    assert "HISTORY-2026-11.md:5 mentions it too" in messages


def test_what_a_shared_workspace_forgets_is_hidden_in_the_own_one(tmp_path: Path) -> None:
    text = "Deploys to the north cluster go through Petra."
    (tmp_path / "shop" / ".git" / "info").mkdir(parents=True)
    folder = tmp_path / "shop"
    home = {"HOME": str(tmp_path / "home")}

    def mem(*words: str) -> str:
        return run_mem(folder, *words, **home)[1]

    mem("init", "--shared")
    mem("session", "append", "s1", text, "--scope", "user")
    mem("write", text, "--path", "petra", "--source", "user")
    for command, is_shown in (
        ("forget petra", False),
        ("undo", True),
        ("undo --redo", False),
        ("restore petra", True),
    ):
        mem(*command.split())
        assert (text in mem("search", "north cluster", "--scope", "user")) == is_shown


def test_three_telling_words_in_a_row_name_a_longer_memory(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "For the roadmap, we want paper QR labels in version 2, because the depot asked."
    write_memories(workspace, [Draft(text, source="user")])
    done = forget_described(open_again(workspace), "We want paper QR labels.")
    assert [outcome.text for outcome in done.outcomes] == [text]


def test_reading_by_id_knows_what_git_and_undo_forgot_and_restored(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "The old ferry sails at nine sharp."
    write_memories(workspace, [Draft(text, source="user", path="ferry")])
    put(workspace, "entries/al.md", f"Al knows. {text}\n")
    ferry = workspace.root / "entries/ferry.md"
    active = ferry.read_text()
    forgotten = active.replace("---\n", "---\nstatus: forgotten\n", 1)
    for before, after in ((active, forgotten), (forgotten, active)):
        run_mem(tmp_path, "ls")
        time.sleep(0.05)  # a file that changed just now is read again anyway
        run_mem(tmp_path, "read", "al")
        # git deletes a file before it writes the other version.
        ferry.unlink()
        ferry.write_text(after)
        assert (text in run_mem(tmp_path, "read", "al")[1]) == (after == active), before


def test_a_replaced_value_is_forgotten_and_the_current_one_stays(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    old = api.write(workspace, "We deploy on Fridays.", source="user")
    current = "We no longer deploy on Fridays, we deploy on Tuesdays now."
    api.write(workspace, current, source="user", supersedes=[old.id])
    done = forget_described(open_again(workspace), "We deploy on Fridays.")
    assert [outcome.text for outcome in done.outcomes] == [old.text]
    assert [item.text for item in done.candidates] == [current]


def test_forget_about_means_words(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    texts = ["Never use default exports.", "The ports are in ops_ports.md.", "数据库端口是5433。"]
    write_memories(workspace, [Draft(text, source="user") for text in texts])
    for about, wanted in (("port", texts[1]), ("端口", texts[2])):
        assert [item.summary for item in get_mentions(open_again(workspace), about)] == [wanted]

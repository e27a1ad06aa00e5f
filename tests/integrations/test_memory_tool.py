"""The memory tool answers in the words models were taught, and reaches nothing but memories."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mem, Ran
from tests.tables import cases

Tool = Callable[..., Ran]
SECRET = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"


@pytest.fixture
def tool(mem: Mem, workspace: Path) -> Tool:
    """Give one command of the tool to the workspace."""

    def ran(command: str, **told: object) -> Ran:
        return mem("memory-tool", stdin=json.dumps({"command": command, **told}))

    return ran


@pytest.fixture
def notes(tool: Tool) -> str:
    """Make a file of three lines."""
    assert tool("create", path="/memories/cats.md", file_text="Tabby\nSiamese\nTabby again\n").code == 0
    return "/memories/cats.md"


def test_create_says_where(tool: Tool, workspace: Path) -> None:
    ran = tool("create", path="/memories/a/b.md", file_text="One.\n")
    assert (ran.code, ran.out) == (0, "File created successfully at: /memories/a/b.md\n")
    assert (workspace / "entries" / "a" / "b.md").read_bytes() == b"One.\n"


def test_create_never_overwrites(tool: Tool, notes: str) -> None:
    ran = tool("create", path=notes, file_text="Dog")
    assert (ran.code, ran.out) == (5, f"File {notes} already exists\n")
    assert tool("create", path="/memories", file_text="Dog").out == "File /memories already exists\n"


def test_view_numbers_the_lines_as_the_official_client_does(tool: Tool, notes: str) -> None:
    assert tool("view", path=notes).out == (
        f"Here's the content of {notes} with line numbers:\n"
        "     1\tTabby\n     2\tSiamese\n     3\tTabby again\n     4\t\n"
    )


@pytest.mark.parametrize(
    ("span", "numbers"), [([2, 3], [2, 3]), ([2, -1], [2, 3, 4]), ([0, 1], [1]), ([3, 99], [3, 4]), ([9, 10], [])]
)
def test_view_shows_a_range(tool: Tool, notes: str, span: list[int], numbers: list[int]) -> None:
    lines = tool("view", path=notes, view_range=span).out.splitlines()[1:]
    assert [int(line.split("\t")[0]) for line in lines if line] == numbers


def test_view_of_a_folder_goes_two_levels_deep(tool: Tool, workspace: Path) -> None:
    tool("create", path="/memories/a/b/c.md", file_text="deep")
    tool("create", path="/memories/a/x.md", file_text="x" * 1536)
    lines = tool("view", path="/memories").out.splitlines()
    assert lines[0] == "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:"
    assert lines[1].endswith("\t/memories")
    assert [line.split("\t")[1] for line in lines[2:]] == [
        "/memories/MEMORY.md",
        "/memories/a/",
        "/memories/a/b/",
        "/memories/a/x.md",
    ]
    assert "1.5K\t/memories/a/x.md" in lines


def test_what_is_not_there_is_said_in_the_known_words(tool: Tool) -> None:
    gone = "/memories/gone.md"
    missing = f"The path {gone} does not exist. Please provide a valid path.\n"
    assert tool("view", path=gone).out == missing
    assert tool("str_replace", path=gone, old_str="a", new_str="b").out == missing
    assert tool("insert", path=gone, insert_line=0, insert_text="b").out == missing
    assert tool("delete", path=gone).out == f"The path {gone} does not exist\n"
    ran = tool("rename", old_path=gone, new_path="/memories/new.md")
    assert (ran.code, ran.out) == (4, f"The path {gone} does not exist\n")


def test_str_replace_shows_the_change_with_its_neighbours(tool: Tool, notes: str) -> None:
    ran = tool("str_replace", path=notes, old_str="Siamese", new_str="Persian")
    assert (ran.code, ran.out) == (
        0,
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tTabby\n     2\tPersian\n     3\tTabby again\n     4\t\n",
    )


def test_str_replace_wants_one_place(tool: Tool, notes: str) -> None:
    assert tool("str_replace", path=notes, old_str="Dog", new_str="").out == (
        f"No replacement was performed, old_str `Dog` did not appear verbatim in {notes}.\n"
    )
    ran = tool("str_replace", path=notes, old_str="Tabby", new_str="")
    assert (ran.code, ran.out) == (
        5,
        "No replacement was performed. Multiple occurrences of old_str `Tabby` in lines: 1, 3. "
        "Please ensure it is unique\n",
    )
    assert tool("str_replace", path="/memories", old_str="a", new_str="b").out == "The path /memories is not a file.\n"


def test_insert_takes_any_line_and_no_other(tool: Tool, notes: str, workspace: Path) -> None:
    for line, text in ((0, "first\n"), (4, "last")):
        assert (
            tool("insert", path=notes, insert_line=line, insert_text=text).out == f"The file {notes} has been edited.\n"
        )
    assert (workspace / "entries" / "cats.md").read_text() == "first\nTabby\nSiamese\nTabby again\nlast\n"
    assert tool("insert", path=notes, insert_line=10, insert_text="x").out == (
        "Invalid `insert_line` parameter: 10. It should be within the range [0, 5].\n"
    )


def test_delete_moves_to_the_archive(tool: Tool, notes: str, mem: Mem, workspace: Path) -> None:
    assert tool("delete", path=notes).out == f"Successfully deleted {notes}\n"
    assert tool("view", path=notes).code == 4
    assert (workspace / "archive" / "entries" / "cats.md").read_text().endswith("---\n\nTabby\nSiamese\nTabby again\n")
    for text in "ef":  # another one, since what was deleted stays forgotten
        tool("create", path="/memories/d/e.md", file_text=text)
        assert tool("delete", path="/memories/d").out == "Successfully deleted /memories/d\n"
    assert sorted(path.name for path in (workspace / "archive" / "entries").iterdir()) == ["cats.md", "d", "d-2"]


@pytest.mark.parametrize("name", ["/memories", "/memories/", "/memories/x/.."])
def test_the_root_is_never_deleted(tool: Tool, name: str, workspace: Path) -> None:
    assert tool("delete", path=name).out == "Cannot delete the /memories directory itself\n"
    assert workspace.is_dir()


def test_rename_needs_a_free_name(tool: Tool, notes: str, workspace: Path) -> None:
    assert tool("rename", old_path=notes, new_path="/memories/p/dogs.md").out == (
        f"Successfully renamed {notes} to /memories/p/dogs.md\n"
    )
    tool("create", path=notes, file_text="new")
    assert tool("rename", old_path=notes, new_path="/memories/p/dogs.md").out == (
        "The destination /memories/p/dogs.md already exists\n"
    )
    assert tool("rename", old_path="/memories/p", new_path="/memories/p/q").code == 5
    assert (workspace / "entries" / "p" / "dogs.md").exists()


@cases("name")
@pytest.mark.parametrize("command", ["view", "create", "delete", "insert"])
def test_nothing_but_memories_is_within_reach(tool: Tool, workspace: Path, name: str, command: str) -> None:
    for path in ("sessions/s/session.jsonl", "archive/entries/old.md"):
        (workspace / path).parent.mkdir(parents=True)
        (workspace / path).write_text("private")
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "out").symlink_to("/etc")
    (workspace / "entries" / "talk").symlink_to(workspace / "sessions")
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    ran = tool(command, path=name, file_text="x", insert_line=0, insert_text="x")
    assert ran.out == f"Path {name} would escape /memories directory\n"
    assert ran.code == 5
    after = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    assert {path for path in after if ".mem" not in path.parts} == {path for path in before if ".mem" not in path.parts}
    listing = tool("view", path="/memories").out
    assert not any(word in listing for word in ("/out", "/talk", "mem.yaml", "sessions", "archive"))


@pytest.mark.parametrize("name", ["mem.yaml", "sessions/s/session.jsonl", "archive/entries/old.md"])
def test_a_private_name_is_that_of_another_file_among_the_entries(tool: Tool, workspace: Path, name: str) -> None:
    private = workspace / name
    private.parent.mkdir(parents=True, exist_ok=True)
    private.write_text("# private\n")
    for path in (f"/memories/{name}", f"/memories/entries/../{name}"):
        assert tool("view", path=path).code == 4
    assert tool("create", path=f"/memories/{name}", file_text="mine").code == 0
    assert private.read_text() == "# private\n"
    kept = name if name.endswith((".md", ".jsonl")) else f"{name}.md"
    assert (workspace / "entries" / kept).read_text() == "mine"


def test_a_text_of_another_ending_is_found_by_search(tool: Tool, workspace: Path, mem: Mem) -> None:
    path = "/memories/prefs.txt"
    assert tool("create", path=path, file_text="User prefers oolong tea.\n").code == 0
    assert [row[1] for row in mem("search", "oolong").rows] == ["entries/prefs.txt.md"]
    assert path in tool("view", path="/memories").out
    assert "prefs.txt.md" not in tool("view", path="/memories").out
    assert tool("create", path=path, file_text="again").out == f"File {path} already exists\n"
    assert tool("str_replace", path=path, old_str="oolong", new_str="green").code == 0
    assert tool("rename", old_path=path, new_path="/memories/likes/tea.xml").code == 0
    assert "green tea" in (workspace / "entries" / "likes" / "tea.xml.md").read_text()
    assert tool("delete", path="/memories/likes/tea.xml").code == 0


def test_a_file_that_somebody_put_there_keeps_its_name(tool: Tool, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "data.json").write_text("{}")
    assert tool("str_replace", path="/memories/data.json", old_str="{}", new_str="[]").code == 0
    assert (workspace / "entries" / "data.json").read_text() == "[]"


def test_a_path_begins_with_memories(tool: Tool) -> None:
    assert tool("view", path="/etc/passwd").out == "Path must start with /memories, got: /etc/passwd\n"
    assert tool("view", path="/memoriesque").out == "Path must start with /memories, got: /memoriesque\n"


def test_what_is_made_is_found_by_search(tool: Tool, notes: str, mem: Mem) -> None:
    assert "cats.md" in mem("search", "siamese", "--mode", "keyword").out


def test_the_page_the_history_and_the_notes_keep_their_places(tool: Tool, workspace: Path) -> None:
    tool("create", path="/memories/notes/2026-11-21.md", file_text="[10:00] hello\n")
    tool("create", path="/memories/HISTORY-2026-11.md", file_text="# History\n")
    tool("insert", path="/memories/MEMORY.md", insert_line=0, insert_text="Likes tea.")
    assert (workspace / "notes" / "2026-11-21.md").exists()
    assert (workspace / "HISTORY-2026-11.md").exists()
    assert (workspace / "MEMORY.md").read_text().startswith("Likes tea.\n")
    listing = tool("view", path="/memories").out
    assert "/memories/notes/2026-11-21.md" in listing
    assert "/memories/HISTORY-2026-11.md" in listing


def test_a_secret_is_refused_and_one_that_stands_there_is_not_held_against_an_edit(
    tool: Tool, notes: str, workspace: Path
) -> None:
    ran = tool("create", path="/memories/key.md", file_text=f"the key\n{SECRET}\n")
    assert ran.code == 5
    assert ran.out.startswith("/memories/key.md:2: looks like a secret (")
    assert SECRET not in ran.out
    assert not (workspace / "entries" / "key.md").exists()
    assert tool("insert", path=notes, insert_line=0, insert_text=SECRET).code == 5
    (workspace / "entries" / "old.md").write_text(f"{SECRET}\nred\n")
    assert tool("str_replace", path="/memories/old.md", old_str="red", new_str="blue").code == 0


@pytest.mark.parametrize("text", ["<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", "\ud800"])
def test_what_cannot_be_a_memory_is_refused(tool: Tool, workspace: Path, text: str) -> None:
    assert tool("create", path="/memories/x.md", file_text=text).code in (2, 5)
    assert not (workspace / "entries" / "x.md").exists()


def test_windows_line_ends_stay(tool: Tool, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "w.md").write_bytes(b"one\r\ntwo\r\n")
    assert tool("str_replace", path="/memories/w.md", old_str="one\ntwo", new_str="1\n2").code == 0
    tool("insert", path="/memories/w.md", insert_line=2, insert_text="3")
    assert (workspace / "entries" / "w.md").read_bytes() == b"1\r\n2\r\n3\r\n"


def test_lines_that_end_in_different_ways_each_keep_theirs(tool: Tool, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "w.md").write_bytes(b"one\r\ntwo\nthree\r\n")
    assert tool("str_replace", path="/memories/w.md", old_str="two", new_str="2").code == 0
    assert (workspace / "entries" / "w.md").read_bytes() == b"one\r\n2\nthree\r\n"


@cases("call", "said")
def test_a_call_that_makes_no_sense_is_told_to_the_model(
    mem: Mem, workspace: Path, call: dict[str, object], said: str
) -> None:
    ran = mem("memory-tool", stdin=json.dumps(call))
    assert ran.code == 2
    assert ran.out.startswith(said)


@pytest.mark.parametrize("stdin", ["", "{", "[]", '"view"'])
def test_what_is_no_call_is_the_programs_fault(mem: Mem, workspace: Path, stdin: str) -> None:
    ran = mem("memory-tool", stdin=stdin)
    assert (ran.code, ran.out) == (2, "")
    assert "JSON" in ran.err


def test_json_says_whether_it_failed(mem: Mem, workspace: Path) -> None:
    gone = json.dumps({"command": "view", "path": "/memories/gone"})
    assert mem("memory-tool", "--json", stdin=gone).json == {
        "content": "The path /memories/gone does not exist. Please provide a valid path.",
        "is_error": True,
    }


def test_a_workspace_whose_entries_lie_at_its_top_is_shown_as_it_is(mem: Mem, world: Path) -> None:
    (world / "claude").mkdir()
    (world / "claude" / "user_role.md").write_text("Designer.\n")
    assert mem("init", "claude", "--layout", "claude").code == 0

    def ask(**call: object) -> Ran:
        return mem("memory-tool", "--workspace", "claude", stdin=json.dumps(call))

    assert "Designer." in ask(command="view", path="/memories/user_role.md").out
    for name in ("mem.yaml", "sessions/s.md", "archive/x.md", ".gitignore"):
        assert "would escape" in ask(command="create", path=f"/memories/{name}", file_text="x").out
    assert "mem.yaml" not in ask(command="view", path="/memories").out


def test_a_folder_of_thousands_is_cut_short(tool: Tool, workspace: Path) -> None:
    folder = workspace / "entries" / "many"
    folder.mkdir(parents=True)
    for number in range(1200):
        (folder / f"{number:04}.md").write_text("x")
    lines = tool("view", path="/memories").out.splitlines()
    assert len(lines) == 1003
    assert "more" in lines[-1]


def test_create_names_what_lies_near_and_it_can_be_superseded(tool: Tool, mem: Mem) -> None:
    old = mem("write", "Rent of the flat is 1,380 a month.", "--created-at", "2026-05-01", "--json").json["id"]
    mem("write", "Zebras eat grass.")
    made, *near = tool(
        "create", path="/memories/rent.md", file_text="Rent of the flat is 1,450 a month.\n"
    ).out.splitlines()
    assert made == "File created successfully at: /memories/rent.md"
    command = f"mem supersede {old} entries/rent.md"
    assert near == [f'near: {old} "Rent of the flat is 1,380 a month." (2026-05-01) · takes its place? {command}']
    assert mem(*command.split()[1:]).code == 0
    assert mem("ls", "--status", "superseded").rows[0][0] == old

"""Writing, reading, changing, forgetting and restoring memories from the shell."""

import subprocess
import sys
from pathlib import Path

import pytest

from memcli.formats.entry import FIELDS
from tests.conftest import Mem
from tests.tables import cases


def only_file(workspace: Path) -> Path:
    (found,) = (workspace / "entries").rglob("*.md")
    return found


def test_write_makes_one_readable_file(mem: Mem, workspace: Path) -> None:
    ran = mem("write", "User prefers dark mode and concise responses.", "--type", "preference", "--tag", "editor,ui")
    assert ran.code == 0
    path = only_file(workspace)
    identifier = ran.rows[0][1]
    assert ran.rows == [["created", identifier, path.relative_to(workspace.parent).as_posix()]]
    assert path.read_text() == (
        f"---\nid: {identifier}\ntype: preference\ntags: [editor, ui]\ncreated_at: 2026-11-21T20:15:03Z\n"
        "updated_at: 2026-11-21T20:15:03Z\nsource: user\n---\n\nUser prefers dark mode and concise responses.\n"
    )
    assert path.name == f"user-prefers-dark-mode-and-concise-responses-{identifier[-6:]}.md"


NOT_GIVEN = {
    "cited", "superseded_at", "version_of", "forgotten_at", "forgotten_by", "reason", "wordings",
    "verdict_reasons", "distinct", "access_count", "last_accessed_at",
}  # fmt: skip
"""Fields of an entry that no option of `mem write` sets: they follow from what is done with it."""


def test_every_field_can_be_written(mem: Mem, workspace: Path) -> None:
    options = {
        "--type": "procedure", "--title": "Deploy: the shop", "--tag": "ops", "--alias": "rollout", "--project": "shop",
        "--key": "shop/deploy",
        "--source": "observed", "--trust": "0.9",
        "--confidence": "0.8", "--salience": "0.4", "--strength": "3", "--origin": "session:abc#3",
        "--references": "mem_x", "--about": "deploy.sh", "--status": "superseded", "--superseded-by": "mem_y",
        "--conflicts-with": "mem_z", "--expires-at": "2027-01-31", "--created-at": "2026-01-02", "--metadata": "k=v",
    }  # fmt: skip
    ran = mem("write", "Run deploy.sh.", "--pinned", *(word for pair in options.items() for word in pair), "--json")
    assert ran.code == 0, ran.err
    fields = mem("read", ran.json["id"], "--json").json["fields"]
    assert FIELDS.keys() - fields.keys() == NOT_GIVEN
    assert fields["title"] == "Deploy: the shop"
    assert (fields["trust"], fields["confidence"], fields["salience"], fields["strength"]) == (0.9, 0.8, 0.4, 3)
    assert fields["pinned"] is True
    assert fields["expires_at"] == "2027-01-31T00:00:00Z"
    assert fields["created_at"] == "2026-01-02T00:00:00Z"
    assert fields["metadata"] == {"k": "v"}
    assert fields["sources"] == ["session:abc#3"]
    assert (fields["status"], fields["superseded_by"], fields["conflicts_with"]) == ("superseded", "mem_y", ["mem_z"])


def test_text_comes_from_standard_input_or_a_file(mem: Mem, workspace: Path, world: Path) -> None:
    (world / "note.txt").write_bytes(b"\xef\xbb\xbffrom a file\r\nsecond line\r\n")
    assert mem("write", "-", stdin="from a pipe\n").code == 0
    assert mem("write", "--file", "note.txt").code == 0
    said = {row[4] for row in mem("ls").rows}
    assert said == {"from a pipe", "from a file second line"}


@cases("arguments", "code", "words")
def test_a_mistake_is_one_clear_line_and_its_exit_code(
    mem: Mem, workspace: Path, arguments: list[str], code: int, words: str
) -> None:
    before = sorted(workspace.rglob("*.md"))
    ran = mem(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("mem: ")
    assert ran.err.count("\n") == 1
    assert words in ran.err
    assert sorted(workspace.rglob("*.md")) == before


def test_an_error_under_json_is_json_on_stderr(mem: Mem, workspace: Path) -> None:
    import json

    ran = mem("read", "nosuch", "--json")
    assert ran.out == ""
    assert json.loads(ran.err)["error"] == {
        "code": "not-found",
        "message": "no entry 'nosuch'",
        "fix": 'find it with `mem search "…"` or `mem ls`',
    }


def test_read_takes_an_id_a_part_of_it_and_a_path(mem: Mem, workspace: Path) -> None:
    identifier, path = mem("write", "One memory.").rows[0][1:]
    path = path.removeprefix("memory/")
    for name in (identifier, identifier[:14], identifier[-6:], path, path.removeprefix("entries/"), f"memory/{path}"):
        assert mem("read", name).out == "One memory.\n", name


def test_an_ambiguous_prefix_lists_the_candidates(mem: Mem, workspace: Path) -> None:
    first, second = (mem("write", text).rows[0][1] for text in ("One.", "Two."))
    ran = mem("read", "mem_01")
    assert ran.code == 4
    assert first in ran.err
    assert second in ran.err


def test_two_files_of_one_id_are_noticed_by_what_changes_files(mem: Mem, workspace: Path) -> None:
    identifier = mem("write", "One memory.").rows[0][1]
    twin = only_file(workspace).with_name("copy.md")
    twin.write_bytes(only_file(workspace).read_bytes())
    assert mem("forget", identifier).code == 4
    assert "copy.md" in mem("check").out


def test_read_gives_pages_of_characters(mem: Mem, workspace: Path) -> None:
    text = "日本語のメモ and some English. " * 20
    identifier = mem("write", text.strip()).rows[0][1]
    pages, offset = "", 0
    while offset is not None:
        page = mem("read", identifier, "--offset", str(offset), "--limit", "100", "--json").json
        pages += page["content"]
        offset = page["next_offset"]
    assert pages == text.strip() + "\n"
    assert page["total"] == len(pages)
    assert "--offset 100" in mem("read", identifier, "--limit", "100").err


def test_read_shows_lines_of_the_file(mem: Mem, workspace: Path) -> None:
    identifier = mem("write", "first\nsecond\nthird").rows[0][1]
    assert mem("read", identifier, "--lines", "11:12").out == "second\nthird\n"
    assert mem("read", identifier, "--raw").out.startswith("---\nid: ")


def test_edit_replaces_words_that_stand_once(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identifier = mem("write", "Deploys run on Fly. Fly is fine.").rows[0][1]
    ran = mem("edit", identifier, "--replace", "Fly", "Hetzner")
    assert ran.code == 5
    assert "2 times, in lines 10, 10" in ran.err
    monkeypatch.setenv("MEM_NOW", "2026-11-22T08:00:00Z")
    assert mem("edit", identifier, "--replace", "on Fly.", "on Hetzner.").code == 0
    fields = mem("read", identifier, "--json").json
    assert fields["content"] == "Deploys run on Hetzner. Fly is fine.\n"
    assert fields["fields"]["updated_at"] == "2026-11-22T08:00:00Z"


def test_edit_keeps_every_other_byte(mem: Mem, workspace: Path) -> None:
    path = workspace / "entries" / "by hand.md"
    path.parent.mkdir()
    original = (
        "\ufeff---\r\n# mine\r\nzeta:   'kept'   # odd\r\ntags:\r\n    - a\r\n    - b # two\r\n"
        "updated_at: 2026-01-01T00:00:00Z\r\n---\r\nBody  \r\n\r\nwith trailing spaces   \r\n"
    )
    path.write_bytes(original.encode())
    path.chmod(0o640)
    assert mem("edit", "by hand.md", "--replace", "Body", "Text").code == 0
    expected = original.replace("Body", "Text").replace("2026-01-01T00:00:00Z", "2026-11-21T20:15:03Z")
    assert path.read_bytes().decode() == expected
    assert path.stat().st_mode & 0o777 == 0o640


def test_edit_applies_a_patch(mem: Mem, workspace: Path) -> None:
    path = mem("write", "alpha\nbeta\ngamma").rows[0][2].removeprefix("memory/")
    diff = "--- a\n+++ b\n@@ -10,3 +10,3 @@\n alpha\n-beta\n+BETA\n gamma\n"
    assert mem("edit", path, "--patch", "-", stdin=diff).code == 0
    assert mem("read", path).out == "alpha\nBETA\ngamma\n"
    ran = mem("edit", path, "--patch", "-", stdin=diff)
    assert ran.code == 5


def test_edit_opens_the_editor_and_refuses_what_does_not_parse(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = mem("write", "plain words").rows[0][2].removeprefix("memory/")
    monkeypatch.setenv("EDITOR", "sed -i s/plain/bold/")
    assert mem("edit", path).code == 0
    assert mem("read", path).out == "bold words\n"
    monkeypatch.setenv("EDITOR", "sed -i 's/^type:.*/type: a: b/'")
    before = (workspace / path).read_bytes()
    ran = mem("edit", path)
    assert ran.code == 5
    assert (workspace / path).read_bytes() == before
    kept = Path(ran.err.split("your text is kept in ")[1].split(":")[0])
    assert "a: b" in kept.read_text()


def test_write_with_an_id_changes_only_what_is_given(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identifier, path = mem("write", "Old words.", "--title", "Name", "--tag", "a").rows[0][1:]
    path = path.removeprefix("memory/")
    before = (workspace / path).read_text()
    assert mem("write", "--id", identifier, "--tag", "b,c", "--title", "").code == 0
    expected = before.replace("tags: [a]", "tags: [b, c]").replace("title: Name\n", "")
    assert (workspace / path).read_text() == expected
    assert mem("write", "New words.", "--id", identifier).code == 0
    assert (workspace / path).read_text() == expected.replace("Old", "New")


def test_a_chosen_place_lies_below_the_entries(mem: Mem, workspace: Path) -> None:
    ran = mem("write", "Status: green.", "--path", "projects/hdrpop/status.md")
    assert ran.rows[0][2] == "memory/entries/projects/hdrpop/status.md"
    assert mem("read", "projects/hdrpop/status.md").out == "Status: green.\n"
    assert mem("write", "Status: red.", "--path", "projects/hdrpop/status.md").code == 0
    assert mem("read", "projects/hdrpop/status.md").out == "Status: red.\n"
    assert [one.read_text().endswith("Status: green.\n") for one in workspace.glob("archive/**/*.md")] == [True]


def test_forget_and_restore_bring_back_the_same_bytes(mem: Mem, workspace: Path) -> None:
    identifier, path = mem("write", "Remember me.").rows[0][1:]
    path = path.removeprefix("memory/")
    before = (workspace / path).read_bytes()
    assert mem("forget", identifier).rows == [["archived", identifier, f"memory/archive/{path}"]]
    assert mem("search", "remember", "--mode", "keyword").code == 1
    assert mem("search", "remember", "--mode", "keyword", "--archived").rows[0][1] == identifier
    assert mem("read", identifier).out == "Remember me.\n"
    assert mem("restore", identifier).code == 0
    assert (workspace / path).read_bytes() == before
    assert mem("forget", identifier, "--purge").code == 0
    assert mem("read", identifier).code == 4


def test_forget_finds_every_name_before_it_changes_anything(mem: Mem, workspace: Path) -> None:
    path = mem("write", "Remember me.").rows[0][2].removeprefix("memory/")
    assert mem("forget", path, "nosuch").code == 4
    assert (workspace / path).exists()


@pytest.mark.parametrize("command", ["forget", "restore"])
def test_a_move_that_was_killed_between_two_names_is_finished_by_the_next_command(
    mem: Mem, workspace: Path, command: str
) -> None:
    mem("write", "--no-dedup", "Feijao is a dog")
    file = only_file(workspace)
    archived = workspace / "archive" / file.relative_to(workspace)
    if command == "restore":
        mem("forget", file.stem[-6:])
    code = f"""
import os
real = os.unlink
def killed(path, **options):
    if str(path).endswith("{file.name}"):
        os._exit(9)
    return real(path, **options)
os.unlink = killed
from memcli.cli.app import run
run(["{command}", "{file.stem[-6:]}"])
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=workspace, check=False).returncode == 9
    assert file.exists()
    assert archived.exists()
    mem(command, file.stem[-6:])
    place = archived if command == "forget" else file
    assert list(workspace.rglob("*feijao*.md")) == [place]
    assert list((workspace / ".mem" / "journal").iterdir()) == []


def test_ls_filters_and_sorts(mem: Mem, workspace: Path) -> None:
    mem("write", "Uses zsh.", "--type", "preference", "--tag", "shell", "--created-at", "2026-01-05")
    mem("write", "Alpha fact.", "--tag", "testing", "--source", "inferred", "--created-at", "2026-03-01")
    mem("write", "Bravo lesson.", "--type", "lesson", "--project", "shop", "--path", "projects/shop/b.md")

    def said(*options: str) -> list[str]:
        return [row[4] for row in mem("ls", *options).rows]

    assert said() == ["Bravo lesson.", "Alpha fact.", "Uses zsh."]
    assert said("--sort", "title") == ["Alpha fact.", "Bravo lesson.", "Uses zsh."]
    assert said("--type", "lesson") == said("--layer", "procedural") == said("projects/shop") == ["Bravo lesson."]
    assert said("--tag", "test") == []
    assert said("--tag", "TESTING") == said("--source", "inferred") == ["Alpha fact."]
    assert said("--until", "2026-01") == ["Uses zsh."]
    assert said("--since", "2026-02", "--until", "2026-03-01") == ["Alpha fact."]
    assert said("-n", "1") == ["Bravo lesson."]


@pytest.mark.parametrize(
    "words",
    [
        "ls",
        "search x",
        "read x",
        "stats",
        "check",
        "decay",
        "diff HEAD",
        "export",
        "undo --list",
        "review",
        "history show",
    ],
)
def test_reading_makes_no_workspace_and_a_first_write_does(mem: Mem, world: Path, words: str) -> None:
    ran = mem(*words.split(), "--scope", "user")
    assert (ran.code, ran.out) == (4, "")
    assert "you have no workspace of your own yet" in ran.err
    assert list((world.parent / "home").iterdir()) == []
    assert mem("note", "Fed the cat.", "--scope", "user").code == 0
    assert mem("ls", "--scope", "user").code == 0


def test_the_scope_project_leaves_the_users_own_memories_out(mem: Mem, workspace: Path, world: Path) -> None:
    assert mem("init", str(world.parent / "home/.local/share/mem")).code == 0
    assert mem("write", "Of me.", "--scope", "user", "--no-dedup").code == 0
    assert mem("write", "Of the project.", "--no-dedup").code == 0
    assert [row[4] for row in mem("ls", "--scope", "project").rows] == ["Of the project."]
    assert [row[4] for row in mem("ls", "--scope", "user").rows] == ["Of me."]
    assert len(mem("ls").rows) == 2


@pytest.mark.parametrize("path", ["entries/C# tips.md", "notes/a#b.md", "archive/entries/x#y.md"])
def test_a_file_with_a_hash_in_its_name_is_read_by_its_path(mem: Mem, workspace: Path, path: str) -> None:
    (workspace / path).parent.mkdir(parents=True, exist_ok=True)
    (workspace / path).write_text("[10:00] Zebras.\n")
    assert mem("read", path).out == "[10:00] Zebras.\n"


def test_a_part_of_a_file_with_a_hash_in_its_name_is_read(mem: Mem, workspace: Path) -> None:
    (workspace / "notes").mkdir()
    (workspace / "notes/a#b.md").write_text("[10:00] Zebras.\n[11:00] Lions.\n")
    assert mem("read", "notes/a#b.md#11:00").out == "[11:00] Lions.\n"


def test_reading_says_what_is_wrong_with_a_file(mem: Mem, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_bytes(b"good\nbad \xff\n")
    ran = mem("read", "MEMORY.md", "--json")
    assert ran.json["problems"] == [
        {
            "path": "MEMORY.md",
            "line": 2,
            "reason": "not UTF-8 (byte 0xff): convert it, for example with iconv",
            "scope": "project",
            "left_out": True,
        }
    ]
    assert ran.err == "mem: memory/MEMORY.md:2: not UTF-8 (byte 0xff): convert it, for example with iconv\n"
    (workspace / "MEMORY.md").write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    assert "MEMORY.md:1: a git conflict marker" in mem("read", "MEMORY.md").err


@pytest.mark.parametrize(("head", "identifier"), [("uuid: abc-123", "abc-123"), ("id: 12345", "12345")])
def test_an_id_is_the_same_text_wherever_it_is_shown(mem: Mem, workspace: Path, head: str, identifier: str) -> None:
    (workspace / "entries").mkdir()
    (workspace / "entries/a.md").write_text(f"---\n{head}\n---\n\nSaid so.\n")
    assert mem("ls", "--json").json["entries"][0]["id"] == identifier
    assert mem("read", identifier, "--json").json["id"] == identifier
    assert mem("edit", identifier, "--replace", "so", "thus", "--json").json["id"] == identifier


def test_an_entry_named_twice_is_forgotten_once(mem: Mem, workspace: Path) -> None:
    identifier, path = mem("write", "Once.", "--no-dedup").rows[0][1:]
    path = path.removeprefix("memory/")
    assert mem("forget", identifier, path).rows == [["archived", identifier, f"memory/archive/{path}"]]
    ran = mem("restore", identifier, f"archive/{path}")
    assert (ran.code, len(ran.rows)) == (0, 1)


@pytest.mark.parametrize("name", ["a\nb.md", "tab\there.md", "\udcff.md"])
def test_a_path_that_no_list_could_show_is_not_written_to(mem: Mem, workspace: Path, name: str) -> None:
    ran = mem("write", "x", "--path", name)
    assert (ran.code, "cannot be the name of a file" in ran.err) == (2, True)
    assert not list(workspace.rglob("entries/*"))


def test_an_empty_field_of_a_new_entry_is_one_not_given(mem: Mem, workspace: Path) -> None:
    identifier = mem("write", "x", "--type", "", "--source", "", "--no-dedup").rows[0][1]
    fields = mem("read", identifier, "--json").json["fields"]
    assert (fields["type"], fields["source"]) == ("fact", "user")


@pytest.mark.parametrize("words", [("edit", "MEMORY.md", "--patch"), ("write", "--file"), ("import",)])
def test_a_file_that_cannot_be_read_is_a_mistake_in_the_command(mem: Mem, workspace: Path, words: tuple[str]) -> None:
    ran = mem(*words, "nowhere.txt")
    assert (ran.code, ran.err) == (2, "mem: cannot read nowhere.txt: no such file or directory: check the name\n")


def test_ls_narrows_with_every_word_it_is_given(mem: Mem, workspace: Path) -> None:
    for name in ("a/one.md", "a/two.md", "b/one.md"):
        (workspace / "entries" / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / "entries" / name).write_text(f"{name}\n")

    def paths(*words: str) -> list[str]:
        return sorted(row[3].removeprefix("memory/") for row in mem("ls", *words).rows)

    assert paths("a") == ["entries/a/one.md", "entries/a/two.md"]
    assert paths("a", "--path", "*one.md") == ["entries/a/one.md"]
    assert paths("entries/a/", "--path", "entries/b/") == []
    assert paths("--path", "entries/b/", "--path", "entries/a/t") == ["entries/a/two.md", "entries/b/one.md"]


@cases("words", "usage")
def test_usage_shows_what_is_typed(mem: Mem, words: tuple[str, ...], usage: str) -> None:
    assert mem(*words, "--help").out.splitlines()[0].removeprefix("Usage: ") == usage


def test_the_help_of_write_fits_two_screens_and_begins_with_what_is_usual(mem: Mem) -> None:
    lines = mem("write", "--help").out.splitlines()
    assert len(lines) <= 55
    usual = [line.split()[0].rstrip(",") for line in lines[lines.index("Options:") :] if line.startswith("  -")][:11]
    assert {"-t", "--tag", "--key", "--source", "--supersedes", "--id", "--scope"} <= set(usual)


@pytest.mark.parametrize(("old", "new"), [("--files", "--about"), ("--sources", "--origin")])
def test_an_option_too_like_another_names_the_one_that_took_its_place(
    mem: Mem, workspace: Path, old: str, new: str
) -> None:
    ran = mem("write", "x", old, "y")
    assert (ran.code, f"did you mean {new}?" in ran.err) == (2, True)

"""Bringing memories in: the same bytes, none twice, nothing overwritten, however the file was cut."""

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memcli.formats.entry import FIELDS
from memcli.formats.foreign_record import CONTENTS
from memcli.store import file_steps
from memcli.store.file_steps import PREFIX
from memcli.store.init import PAGE_TEXT
from memcli.store.layouts import LAYOUTS
from memcli.transfer import foreign_memories
from memcli.transfer.importer import _FIELDS
from tests.conftest import FIXTURES, Mem
from tests.crash import cut_off

OWN = ("mem.yaml", ".gitignore", ".gitattributes")


PRIVATE = {"notes", "sessions"}  # what comes into these folders is for its owner alone: 0600, or 0700 what may be run


def content(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in root.rglob("*")
        if path.is_file() and ".mem" not in path.parts and path.name not in OWN
    }


def brought_in(found: dict[str, tuple[bytes, int]]) -> dict[str, tuple[bytes, int]]:
    """Give what files are when they have been imported."""
    return {
        name: (data, mode & 0o700 if PRIVATE & set(Path(name).parts) else mode) for name, (data, mode) in found.items()
    }


def line(path: str, text: str, **more: Any) -> str:
    return json.dumps({"path": path, "text": text, **more}) + "\n"


def entry(identifier: str, text: str) -> str:
    return f"---\nid: {identifier}\ntype: fact\n---\n\n{text}\n"


@pytest.fixture
def other(mem: Mem, world: Path) -> Path:
    """Give a second workspace, empty."""
    assert mem("init", "other").code == 0
    return world / "other"


def carried(mem: Mem, source: Path, target: Path) -> None:
    lines = mem("--workspace", str(source), "export", "--kind", "all").out
    ran = mem("--workspace", str(target), "import", "-", stdin=lines)
    assert ran.code == 0, ran.err


def test_export_and_import_give_the_same_bytes(mem: Mem, other: Path, world: Path) -> None:
    shutil.copytree(FIXTURES / "workspace", world / "memory")
    carried(mem, world / "memory", other)
    assert content(other) == brought_in(content(world / "memory"))
    again = mem("--workspace", "other", "export", "--kind", "all").out
    assert again == mem("export", "--kind", "all").out


def test_odd_files_come_through_too(mem: Mem, workspace: Path, other: Path) -> None:
    odd: dict[str, bytes] = {
        "entries/crlf and bom.md": b"\xef\xbb\xbf---\r\na: 1\r\n---\r\nx  \r\n",
        "entries/nul.md": b"a\x00b",
        "entries/latin.md": "café".encode("latin-1"),
        "entries/empty.md": b"",
        "entries/no newline.md": b"x",
        "entries/two\nlines \u2028 \U0001f980.md": b"x\x85y\x0c\x1b[31m",
        "entries/broken.md": b"---\na: [b\n---\nx\n",
        "entries/conflict.md": b"<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n",
        "notes/2026-11-20.md": b"[10:00] x\n",
        "archive/entries/2026-01/old.md": b"x\n",
        "HISTORY-2026-11.md": b"## 2026-11-20T10:00:00Z\nx\n",
    }
    for name, data in odd.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (workspace / "entries" / "empty.md").chmod(0o600)
    (workspace / "entries" / "nul.md").chmod(0o755)
    os.utime(workspace / "entries" / "latin.md", (1_600_000_000, 1_600_000_000))
    carried(mem, workspace, other)
    assert content(other) == brought_in(content(workspace))
    assert (other / "entries" / "latin.md").stat().st_mtime == 1_600_000_000


@pytest.mark.parametrize("name", ["openclaw", "claude", "neovate", "golemcore", "jarvis"])
def test_a_tools_folder_goes_into_one_of_its_kind_and_into_mems_own(
    mem: Mem, world: Path, other: Path, name: str
) -> None:
    shutil.copytree(FIXTURES / "layouts" / name, world / name)
    assert mem("init", name).code == 0
    assert mem("init", "--layout", name, "empty").code == 0
    carried(mem, world / name, world / "empty")
    kinds = {path: LAYOUTS[name].kind_of(path) for path in content(world / name)}
    expected = {path for path, kind in kinds.items() if kind} | {
        path for path in kinds if path.endswith("/metadata.json")
    }
    assert {path: data for path, (data, _) in content(world / "empty").items()} == {
        path: data for path, (data, _) in content(world / name).items() if path in expected
    }
    carried(mem, world / name, other)
    if name == "golemcore":  # its own stores are read in place, and imported by themselves
        expected = {path for path in expected if path.endswith(".md")}
    assert len(content(other)) == len(expected | ({"MEMORY.md"} if name == "jarvis" else set()))
    back = {data for data, _ in content(other).values()}
    assert {data for path, (data, _) in content(world / name).items() if path in expected} <= back


def test_a_second_import_does_nothing(mem: Mem, other: Path, world: Path) -> None:
    shutil.copytree(FIXTURES / "workspace", world / "memory")
    carried(mem, world / "memory", other)
    before = {path: path.stat().st_mtime_ns for path in other.rglob("*") if ".mem" not in path.parts}
    lines = mem("export", "--kind", "all").out
    ran = mem("--workspace", "other", "import", "-", stdin=lines)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == f"mem: {len(lines.splitlines())} unchanged\n"
    assert {path: path.stat().st_mtime_ns for path in other.rglob("*") if ".mem" not in path.parts} == before


def test_a_dry_run_says_the_same_and_does_nothing(mem: Mem, other: Path) -> None:
    lines = (
        line("entries/a.md", entry("mem_a", "A"))
        + line("entries/b.md", entry("mem_a", "B"))
        + line("entries/a.md", "C")
        + line("entries/c.md", entry("mem_c", "C"))
        + line("entries/c.md", entry("mem_c", "C"))
        + line("../x.md", "X")
    )
    before = content(other)
    dry = mem("--workspace", "other", "import", "-", "--dry-run", "--json", stdin=lines)
    assert content(other) == before
    real = mem("--workspace", "other", "import", "-", "--json", stdin=lines)
    assert (dry.code, real.code) == (3, 3)
    assert dry.json["dry_run"] is True
    assert dry.json["files"] == real.json["files"]
    assert dry.json["counts"] == real.json["counts"] == {"created": 2, "conflict": 2, "unchanged": 1, "refused": 1}
    assert mem("--workspace", "other", "import", "-", "--dry-run", stdin=line("notes/2026-01-01.md", "x")).rows == [
        ["would create", "other/notes/2026-01-01.md"]
    ]


def test_what_stands_there_is_never_overwritten(mem: Mem, workspace: Path) -> None:
    path = mem("write", "Mine.", "--path", "a.md").rows[0][2].removeprefix("memory/")
    before = content(workspace)
    ran = mem("import", "-", stdin=line(path, "Theirs.") + line("entries/b.md", "The heron nests by the pond."))
    assert ran.code == 3
    assert ran.rows == [["created", "memory/entries/b.md"]]
    assert ran.err == (
        f"mem: standard input:1: {path}: it exists and says something else\nmem: 1 conflict, 1 created\n"
    )
    after = content(workspace)
    assert {name: after[name] for name in before} == before


def test_an_id_that_another_file_has_is_a_conflict(mem: Mem, workspace: Path) -> None:
    identifier, path = mem("write", "Mine.").rows[0][1:]
    path = path.removeprefix("memory/")
    text = (workspace / path).read_text()
    moved = mem("import", "-", "--json", stdin=line("entries/moved.md", text))
    assert (moved.code, moved.json["counts"]) == (0, {"unchanged": 1})
    ran = mem("import", "-", stdin=line("entries/moved.md", text.replace("Mine", "Theirs")))
    assert ran.code == 3
    assert f"{path} has its id {identifier}" in ran.err
    mem("forget", identifier)
    ran = mem("import", "-", stdin=line(path, text.replace("Mine", "Theirs")))
    assert f"archive/{path} has its id" in ran.err
    assert not (workspace / path).exists()


def test_the_page_of_a_new_workspace_makes_room_and_one_with_words_does_not(mem: Mem, workspace: Path) -> None:
    assert mem("import", "-", stdin=line("MEMORY.md", "# Ours\n")).code == 0
    assert (workspace / "MEMORY.md").read_text() == "# Ours\n"
    assert mem("import", "-", stdin=line("MEMORY.md", "# Theirs\n")).code == 3
    assert (workspace / "MEMORY.md").read_text() == "# Ours\n"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("not json at all\n", "not JSON"),
        ('{"path": "entries/x.md"\n', "not JSON"),
        ("[1, 2]\n", "no object"),
        ('{"messages": []}\n', "neither a path nor a content"),
        (line("../../etc/cron.d/x.md", "x"), "out of the workspace"),
        (line("/tmp/x.md", "x"), "out of the workspace"),
        (line(".git/hooks/post-commit.md", "x"), "hidden"),
        (line("mem.yaml", "layout: claude"), "no place in the layout mem"),
        (line("entries/run.sh", "x"), "no place"),
        (line("sessions/a/evil.json", "x"), "no place"),
        (line("link/x.md", "x", kind="entry"), "outside the workspace"),
        (line("blocked/x.md", "x", kind="entry"), "something above it is a file"),
        (line("dir.md", "x", kind="entry"), "is a folder"),
    ],
)
def test_a_bad_line_is_named_and_the_others_go_in(mem: Mem, workspace: Path, world: Path, bad: str, words: str) -> None:
    (world / "outside").mkdir()
    (workspace / "entries" / "dir.md").mkdir(parents=True)
    (workspace / "entries" / "link").symlink_to(world / "outside")
    (workspace / "entries" / "blocked").write_text("a file")
    (world / "in.jsonl").write_text(line("entries/a.md", "A") + bad + line("entries/b.md", "B"))
    ran = mem("import", "in.jsonl")
    assert ran.code == 3
    assert ran.rows == [["created", "memory/entries/a.md"], ["created", "memory/entries/b.md"]]
    assert ran.err.startswith("mem: in.jsonl:2: ")
    assert words in ran.err
    assert list((world / "outside").iterdir()) == []
    assert mem("import", "in.jsonl").out == ""


def test_half_an_export_takes_in_its_whole_lines_and_the_rest_comes_later(
    mem: Mem, workspace: Path, world: Path
) -> None:
    whole = line("entries/a.md", "A") + line("entries/b.md", "B")
    (world / "in.jsonl").write_text(whole[:-12])
    ran = mem("import", "in.jsonl")
    assert (ran.code, ran.rows) == (3, [["created", "memory/entries/a.md"]])
    assert "in.jsonl:2: the file is cut off in this line" in ran.err
    (world / "in.jsonl").write_text(whole)
    ran = mem("import", "in.jsonl")
    assert (ran.code, ran.rows) == (0, [["created", "memory/entries/b.md"]])


def test_an_import_cut_short_is_finished_by_the_next_one(
    mem: Mem, workspace: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(line(f"entries/{number}.md", f"Text {number}.\n") for number in range(10))
    (world / "in.jsonl").write_text(lines)
    real, calls = file_steps.second_name, iter(range(100))

    def stop(src: Any, dst: Path) -> None:
        if next(calls) == 5:
            raise KeyboardInterrupt
        real(src, dst)

    monkeypatch.setattr(file_steps, "second_name", stop)
    assert mem("import", "in.jsonl").code == 130
    made = sorted((workspace / "entries").iterdir())
    assert [path.name for path in made] == [f"{number}.md" for number in range(5)]
    ran = mem("import", "in.jsonl")
    assert (ran.code, len(ran.rows)) == (0, 5)
    assert {path.read_text() for path in (workspace / "entries").iterdir()} == {f"Text {n}.\n" for n in range(10)}


def test_a_full_disk_stops_nothing_but_what_does_not_fit(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = file_steps.write_temporary

    def full(folder: Path, data: bytes, *rest: Any, **more: Any) -> str:
        if b"large" in data:
            raise OSError(28, "No space left on device")
        return real(folder, data, *rest, **more)

    monkeypatch.setattr(file_steps, "write_temporary", full)
    ran = mem("import", "-", stdin=line("entries/a.md", "large") + line("entries/b.md", "small"))
    assert ran.code == 3
    assert "no space left on device: free some space" in ran.err
    assert ran.rows == [["created", "memory/entries/b.md"]]


def test_a_line_that_is_too_long_is_passed_over(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_memories, "LONGEST", 1000)
    ran = mem("import", "-", stdin=line("entries/a.md", "x" * 5000) + line("entries/b.md", "B"))
    assert (ran.code, ran.rows) == (3, [["created", "memory/entries/b.md"]])
    assert "standard input:1: longer than" in ran.err


def test_of_many_faults_the_first_are_told(mem: Mem, workspace: Path) -> None:
    ran = mem("import", "-", stdin="{junk\n" * 1000)
    assert ran.code == 3
    assert ran.err.count("not JSON") == 10
    assert ran.err.endswith("mem: more of the same follows\nmem: 1,000 refused\n")


@pytest.mark.parametrize(
    ("name", "words"), [("missing.jsonl", "no such file"), (".", ". is a folder"), ("a\udcff.jsonl", "no such file")]
)
def test_a_file_that_cannot_be_opened_is_told(mem: Mem, workspace: Path, name: str, words: str) -> None:
    ran = mem("import", name)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_an_empty_file_holds_no_memories(mem: Mem, workspace: Path) -> None:
    ran = mem("import", "-", stdin="\n\n")
    assert (ran.code, ran.out, ran.err) == (0, "", "mem: standard input holds no memories\n")


def test_the_filters_of_ls_choose(mem: Mem, other: Path, world: Path, trusted: Callable[[Path], Path]) -> None:
    trusted(Path(shutil.copytree(FIXTURES / "workspace", world / "memory")))
    mem("export", "--kind", "all", "-o", "all.jsonl")

    def taken(*options: str) -> set[str]:
        ran = mem("--workspace", "other", "import", "all.jsonl", "--dry-run", *options)
        assert ran.code == 0
        return {row[1].removeprefix("other/") for row in ran.rows}

    def listed(*options: str) -> set[str]:
        return {row[3].removeprefix("memory/") for row in mem("--workspace", "memory", "ls", *options).rows}

    assert taken("--kind", "memory") == {"MEMORY.md"}
    assert taken("--path", "notes/") == {path for path in taken("--kind", "note") if path.startswith("notes/")}
    every = ("--archived", "--status", "active", "--status", "superseded", "--status", "archived")
    assert taken("--type", "preference") == listed("--type", "preference", *every)
    assert taken("--type", "preference", "--status", "active") == listed("--type", "preference")
    assert taken("--tag", "coffee", "--source", "user") == listed("--tag", "coffee", "--source", "user", *every)
    assert taken("--layer", "procedural", "--since", "2026-05", "--until", "2026-06") == listed(
        "--layer", "procedural", "--since", "2026-05", "--until", "2026-06", *every
    )
    assert taken("--path", "entries/2026-0[12]/*") == listed("--path", "entries/2026-0[12]/*", *every)


def test_memories_of_other_tools_become_entries_once(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = FIXTURES / "layouts" / "golemcore" / "memory" / "items" / "semantic.jsonl"
    assert len(mem("import", str(items)).rows) == 3
    hit = mem("search", "docker prune", "--mode", "keyword", "--json").json["hits"][0]
    assert (hit["type"], hit["title"]) == ("constraint", "No prune on forge")
    graph = (
        '{"type":"entity","name":"Teresa","entityType":"person","observations":["keeps the books"]}\n'
        '{"type":"relation","from":"Teresa","to":"Loja Azul","relationType":"works_for"}\n'
    )
    assert len(mem("import", "-", stdin=graph).rows) == 2
    assert mem("search", "who keeps the books", "--mode", "keyword").rows[0][2] == "entity"
    monkeypatch.setenv("MEM_NOW", "2027-01-01T00:00:00Z")
    ran = mem("import", "-", stdin=graph + items.read_text())
    assert (ran.code, ran.out, ran.err) == (0, "", "mem: 5 unchanged\n")


def test_two_imports_at_once_make_each_file_once(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = file_steps.second_name
    texts = iter(["A", "other"])

    def raced(src: Any, dst: Path) -> None:
        dst.write_text(next(texts))
        real(src, dst)

    monkeypatch.setattr(file_steps, "second_name", raced)
    ran = mem("import", "-", "--json", stdin=line("entries/a.md", "A") + line("entries/b.md", "B"))
    assert ran.json["counts"] == {"unchanged": 1, "conflict": 1}
    assert (workspace / "entries" / "b.md").read_text() == "other"


def test_the_power_may_fail_at_any_step_and_the_next_import_ends_the_same(mem: Mem, world: Path) -> None:
    lines = line("MEMORY.md", "# Ours\n") + line("entries/2026-01/a.md", "A\n") + line("notes/2026-01-01.md", "N\n")
    (world / "in.jsonl").write_text(lines)
    expected = {"MEMORY.md": b"# Ours\n", "entries/2026-01/a.md": b"A\n", "notes/2026-01-01.md": b"N\n"}
    for at in range(1, 100):
        root = world / str(at)
        assert mem("init", str(root)).code == 0
        is_cut = cut_off(at, partial(mem, "--workspace", str(root), "import", "in.jsonl"))
        for name, (data, _) in content(root).items():
            if not name.rpartition("/")[2].startswith(PREFIX):
                assert data in (expected[name], PAGE_TEXT.encode())
        assert mem("--workspace", str(root), "import", "in.jsonl").code == 0
        left = {name: data for name, (data, _) in content(root).items() if PREFIX not in name}
        assert left == expected
        if not is_cut:
            break
    assert at > 15


def test_settings_come_along_where_none_were_made(mem: Mem, workspace: Path, other: Path) -> None:
    assert mem("export").out.count("mem.yaml") == 0  # it says nothing
    (workspace / "mem.yaml").write_text("# ours\nsearch:\n  limit: 8\n")
    (workspace / "MEMORY.md").write_text("# Ours\n")
    lines = mem("export").out
    assert [json.loads(one)["kind"] for one in lines.splitlines()] == ["settings", "memory"]
    for narrowed in (("--kind", "memory"), ("--path", "MEMORY.md"), ("--status", "active")):
        assert [json.loads(one)["kind"] for one in mem("export", *narrowed).out.splitlines()] == ["memory"]
    for dry, done in ((("--dry-run",), "would create"), ((), "created")):
        ran = mem("--workspace", str(other), "import", "-", *dry, stdin=lines)
        assert ran.rows == [[done, "other/mem.yaml"], [done, "other/MEMORY.md"]]
    assert (other / "mem.yaml").read_text() == "# ours\nsearch:\n  limit: 8\n"
    assert mem("--workspace", str(other), "config", "get", "search.limit").out == "8\n"
    assert mem("--workspace", str(other), "import", "-", stdin=lines).rows == []


def test_settings_that_stand_are_never_replaced_but_named(mem: Mem, workspace: Path) -> None:
    ours = "search:\n  limit: 3\nrecall.budget: 100\n"
    (workspace / "mem.yaml").write_text(ours)
    ran = mem("import", "-", stdin=line("mem.yaml", "search:\n  limit: 8\ndecay.days.fact: 9\n", kind="settings"))
    assert (ran.code, ran.out) == (0, "")
    assert "mem.yaml stays as it is; the file sets search.limit, decay.days.fact" in ran.err
    assert (workspace / "mem.yaml").read_text() == ours
    assert "unchanged" in mem("import", "-", stdin=line("mem.yaml", "search.limit: 3\n", kind="settings")).err


def test_settings_of_where_files_lie_are_not_taken_over(mem: Mem, workspace: Path) -> None:
    before = (workspace / "mem.yaml").read_text()
    for text, name in (("layout: openclaw\n", "layout"), ("paths:\n  entries: docs\n", "paths.entries")):
        ran = mem("import", "-", stdin=line("mem.yaml", text, kind="settings"))
        assert (ran.code, ran.out) == (0, "")
        assert f"mem.yaml stays as it is; the file sets {name}:" in ran.err
    assert (workspace / "mem.yaml").read_text() == before


def test_settings_go_nowhere_else(mem: Mem, workspace: Path) -> None:
    before = (workspace / "mem.yaml").read_text()
    for path in ("entries/mem.yaml", ".mem/mem.yaml", "../mem.yaml"):
        assert mem("import", "-", stdin=line(path, "search.limit: 8\n", kind="settings")).code == 3
    assert mem("import", "--dry-run", "-", stdin=line("mem.yaml", "search.limit: 8\n", kind="settings")).code == 0
    assert not list(workspace.glob("entries/**/*"))
    assert (workspace / "mem.yaml").read_text() == before


def test_a_record_nested_deeper_than_calls_go_is_refused_and_the_rest_comes_in(mem: Mem, workspace: Path) -> None:
    deep = '{"content": "x", "odd": ' + "[" * 800 + "]" * 800 + "}\n"
    ran = mem("import", "-", stdin=deep + '{"content": "Tea at five."}\n')
    assert ran.code == 3
    assert "nested" in ran.out + ran.err
    assert "Tea" in mem("ls").out


NOT_TAKEN_OVER = {
    "id", "created_at", "updated_at",  # by which it is known that two memories are one, and which is later
    "status", "superseded_by", "superseded_at",  # a retraction is followed by itself
    "confidence", "salience", "strength", "pinned", "access_count", "last_accessed_at",  # counted or computed
    "aliases", "sources", "references", "files", "cited", "metadata",  # added to here as well
    "version_of", "forgotten_at", "forgotten_by", "reason",
    "wordings", "conflicts_with", "verdicts", "verdict_reasons", "distinct",
}  # fmt: skip


def test_of_every_field_it_is_settled_whether_a_later_import_changes_it() -> None:
    assert NOT_TAKEN_OVER.isdisjoint(_FIELDS)
    assert NOT_TAKEN_OVER.union(_FIELDS) == FIELDS.keys()


def test_the_help_names_the_keys_of_a_record(mem: Mem) -> None:
    words = set(mem("import", "--help").out.replace(",", " ").replace(".", " ").split())
    assert words >= {*CONTENTS, *_FIELDS}

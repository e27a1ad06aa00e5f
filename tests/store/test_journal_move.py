"""A file is moved as a step of a journaled change: once, never over another, and whatever it was planned for."""

import os
import stat
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from memcli.errors import RefusedError
from memcli.formats.ids import parse_time
from memcli.store import atomic_files
from memcli.store.file_steps import is_temporary
from memcli.store.journal import Append, Change, Move, _put_aside, apply, exclusive, finish
from memcli.store.workspace import Surroundings, Workspace, opened
from tests.crash import FailingOS, cut_off, wire

TEXT = b"\xff not UTF-8 either\r\n"


def opened_at(root: Path) -> Workspace:
    root.mkdir(parents=True, exist_ok=True)
    now = parse_time("2026-11-21T20:15:03Z")
    assert now is not None
    return opened(Surroundings(root, {"HOME": str(root)}, now), root)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = opened_at(tmp_path / "memory")
    (made.root / "a.md").write_bytes(TEXT)
    return made


def a_move(workspace: Workspace) -> Move:
    return Move("a.md", "archive/a.md", atomic_files.digest(atomic_files.read(workspace.root / "a.md")))


def do(workspace: Workspace, *steps: Append | Change | Move) -> tuple[str, ...]:
    with exclusive(workspace, "test") as held:
        return apply(workspace, steps, held).done


def test_bytes_mode_and_age_go_along(workspace: Workspace) -> None:
    source = workspace.root / "a.md"
    source.chmod(0o640)
    os.utime(source, (1e9, 1e9))
    assert do(workspace, a_move(workspace)) == ("a.md",)
    moved = workspace.root / "archive/a.md"
    assert moved.read_bytes() == TEXT
    assert (stat.S_IMODE(moved.stat().st_mode), moved.stat().st_mtime) == (0o640, 1e9)
    assert not source.exists()


def test_a_second_time_does_nothing(workspace: Workspace) -> None:
    step = a_move(workspace)
    do(workspace, step)
    assert do(workspace, step) == ()


def test_a_file_that_changed_meanwhile_is_refused_and_nothing_is_done(workspace: Workspace) -> None:
    step = a_move(workspace)
    (workspace.root / "a.md").write_text("another")
    with pytest.raises(RefusedError, match=r"a\.md changed underneath"):
        do(workspace, Change("b.md", None, "b"), step)
    assert not (workspace.root / "b.md").exists()
    assert not list((workspace.derived / "journal").glob("*"))


def test_a_name_that_is_taken_is_refused(workspace: Workspace) -> None:
    step = a_move(workspace)
    (workspace.root / "archive").mkdir()
    (workspace.root / "archive/a.md").write_text("somebody else's")
    with pytest.raises(RefusedError):
        do(workspace, step)
    assert (workspace.root / "a.md").read_bytes() == TEXT


def test_what_cannot_be_finished_is_refused_by_its_note(workspace: Workspace) -> None:
    note = workspace.derived / "journal" / "1.json"
    atomic_files.create(note, b'{"steps": [{"path": ".git/config", "before": null, "after": "x"}]}')
    with pytest.raises(RefusedError, match=r"cannot be finished: .*lies in \.git.*move .*journal/1\.json away"):
        do(workspace, a_move(workspace))
    assert note.exists()


def test_wherever_the_power_is_cut_the_next_command_finishes_it_once(tmp_path: Path) -> None:
    for at in count(1):
        workspace = opened_at(tmp_path / str(at) / "memory")
        (workspace.root / "a.md").write_bytes(TEXT)
        (workspace.root / "c.md").write_text("old")
        steps = (a_move(workspace), Change("c.md", "old", "new"), Append("log.md", "## one\n", "one"))
        cut = cut_off(at, partial(do, workspace, *steps))
        with exclusive(workspace, "test") as held:
            finish(workspace, held)
        do(workspace, *(step for step in steps if not isinstance(step, Move)))
        if (workspace.root / "a.md").exists():
            do(workspace, steps[0])
        texts = {
            path.relative_to(workspace.root).as_posix(): path.read_bytes()
            for path in workspace.root.rglob("*.md")
            if not is_temporary(path.name)
        }
        assert texts == {"archive/a.md": TEXT, "c.md": b"new", "log.md": b"## one\n"}
        if not cut:
            assert at > 8
            return


@pytest.mark.parametrize("number", [2, 40])
def test_many_moves_settle_each_folder_once_and_give_up_no_old_name_before_the_new_ones_are_safe(
    workspace: Workspace, number: int
) -> None:
    (workspace.root / "a.md").unlink()
    moves = []
    for place in range(number):
        (workspace.root / f"{place}.md").write_text(str(place))
        (workspace.root / f"c{place}.md").write_text("old")
        digest = atomic_files.digest(str(place).encode())
        moves.append(Move(f"{place}.md", f"archive/{place}.md", digest))
    steps: list[Change | Move] = [Change(f"c{place}.md", "old", "new") for place in range(number)]
    (workspace.root / "archive").mkdir()
    with exclusive(workspace, "test") as held:
        watching = FailingOS(0)
        wire(watching)
        try:
            apply(workspace, [*steps, *moves], held)
        finally:
            wire(os)
    told = watching.steps
    assert told.count("fsync") == number + 7, "each changed file, each folder, the journal"
    after = told[len(told) - told[::-1].index("link") :]
    assert after == ["fsync", *["unlink"] * number, "fsync", "fsync", "unlink", "fsync"], "then the note of the journal"


def test_wherever_the_power_is_cut_between_many_moves_nothing_is_lost(tmp_path: Path) -> None:
    names = ("a", "b", "c", "d")
    for at in count(1):
        workspace = opened_at(tmp_path / str(at) / "memory")
        for name in names:
            (workspace.root / f"{name}.md").write_text(name)
        moves = [Move(f"{name}.md", f"archive/{name}.md", atomic_files.digest(name.encode())) for name in names]
        cut = cut_off(at, partial(do, workspace, *moves))
        there = {path.read_text() for path in workspace.root.rglob("*.md")}
        assert there == set(names)
        with exclusive(workspace, "test") as held:
            finish(workspace, held)
        left = sorted(path.relative_to(workspace.root).as_posix() for path in workspace.root.rglob("*.md"))
        assert left in ([f"{name}.md" for name in names], [f"archive/{name}.md" for name in names])
        if not cut:
            assert at > 12
            return


@pytest.mark.parametrize("standing", ["", "# Log\n", "# Log", "# Log\n\n## old <!-- hist_0 -->\n\nOld\n"])
def test_wherever_a_record_was_cut_off_it_is_written_whole_and_once(
    workspace: Workspace, standing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(path: Path, data: bytes) -> None:
        raise RefusedError("the power is gone")

    log = workspace.root / "log.md"
    step = Append("log.md", "\n## new <!-- hist_1 -->\n\nNew, with é and 中文\nand a second line\n", "hist_1")
    written = step.text.encode()
    for size in range(len(written) + 1):
        log.write_text(standing)
        with monkeypatch.context() as patched:
            patched.setattr(atomic_files, "append", cut_off)
            with pytest.raises(RefusedError):
                do(workspace, step)
        log.write_bytes(standing.encode() + written[:size])
        with exclusive(workspace, "test") as held:
            finish(workspace, held)
        text = log.read_text()
        assert text.startswith(standing)
        assert text.count(step.text.strip()) == 1, size
        assert size < 8 or len(text) <= len(standing) + len(step.text) + 1, size


def test_a_link_in_a_folder_that_is_archived_goes_along_as_it_is(workspace: Workspace, tmp_path: Path) -> None:
    folder = workspace.root / "entries/a"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text("It is so.\n")
    for name, target in {"in.md": workspace.root / "entries/b.md", "out.md": tmp_path / "outside.md"}.items():
        target.write_text("Another.\n")
        (folder / name).symlink_to(target)
    do(workspace, Move("entries/a", "archive/entries/a", ""))
    archived = workspace.root / "archive/entries/a"
    assert sorted(path.name for path in archived.iterdir()) == ["in.md", "one.md", "out.md"]
    for name in ("in.md", "out.md"):
        assert (archived / name).is_symlink()
        assert (archived / name).read_text() == "Another.\n"


def test_a_text_for_which_another_stands_is_put_aside_once(workspace: Workspace) -> None:
    page = workspace.root / "entries/a.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("Theirs.\n")
    for _ in range(3):
        _put_aside(workspace, Change("entries/a.md", "Before.\n", "---\nid: mem_a\n---\n\nOurs.\n"))
    assert [path.name for path in (workspace.root / "archive/entries").iterdir()] == ["a-not-applied.md"]

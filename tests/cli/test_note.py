"""`mem note`: one line a note, on the page of the user's day."""

from pathlib import Path

import pytest

from tests.conftest import Mem

SECRET = "AKIA" + "IOSFODNN7" + "QZXWVUT"


def today(workspace: Path) -> str:
    return (workspace / "notes" / "2026-11-21.md").read_text(encoding="utf-8")


def test_a_note_is_a_line_of_its_day(mem: Mem, workspace: Path) -> None:
    assert mem("note", "ran 5 km").rows == [["noted", "memory/notes/2026-11-21.md"]]
    assert mem("note", "-", stdin="two\nlines\u2028and a\ttab\n").code == 0
    assert today(workspace) == "[20:15] ran 5 km\n[20:15] two lines and a tab\n"


def test_what_was_asked_and_answered_is_cut_to_its_room(mem: Mem, workspace: Path) -> None:
    assert mem("note", "--user", "what\nis it?", "--assistant", "long " * 200, "--json").code == 0
    assert mem("note", "--user", "x" * 900).code == 0
    first, second = today(workspace).splitlines()
    assert first.startswith("[20:15] User: what is it? | Assistant: long long")
    assert len(first.partition("| Assistant: ")[2]) <= 300
    assert first.endswith("…")
    assert second == "[20:15] User: " + "x" * 199 + "…"


def test_the_day_is_the_users(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_TIMEZONE", "Asia/Tokyo")
    assert mem("note", "早い", "--json").json["path"] == "notes/2026-11-22.md"
    assert (workspace / "notes/2026-11-22.md").read_text(encoding="utf-8") == "[05:15] 早い\n"


def test_a_note_follows_what_a_person_left_without_a_newline(mem: Mem, workspace: Path) -> None:
    (workspace / "notes").mkdir(exist_ok=True)
    (workspace / "notes" / "2026-11-21.md").write_text("# Saturday\n\nrain")
    mem("note", "sun")
    assert today(workspace) == "# Saturday\n\nrain\n[20:15] sun\n"


def test_a_note_is_found_and_read_by_its_time(mem: Mem, workspace: Path) -> None:
    mem("note", "the heron is back at the pond")
    (hit,) = mem("search", "heron", "--mode", "keyword", "--json").json["hits"]
    assert mem("read", hit["id"]).out == "[20:15] the heron is back at the pond\n"


def test_a_secret_is_blanked_out_before_it_is_cut(mem: Mem, workspace: Path) -> None:
    ran = mem("note", "--user", "x" * 190 + f" {SECRET}")
    assert "mem: the note:1: " in ran.err
    assert "AKIA" not in today(workspace)
    assert mem("note", f"key\n{SECRET}", "--json").json["redacted"][0]["line"] == 2


def test_values_of_the_env_file_beside_it_never_enter(mem: Mem, workspace: Path, world: Path) -> None:
    (world / ".env").write_text("DATABASE_PASSWORD=tr0ub4dor-and-3\n")
    mem("note", "it is tr0ub4dor-and-3, remember")
    assert today(workspace) == "[20:15] it is [REDACTED:env-value], remember\n"


@pytest.mark.parametrize("arguments", [(), ("",), ("  \n",), ("text", "--user", "x"), ("--user", " ")])
def test_a_note_of_nothing_is_refused(mem: Mem, workspace: Path, arguments: tuple[str, ...]) -> None:
    assert mem("note", *arguments).code == 2
    assert not (workspace / "notes").exists()


def test_a_hook_is_only_warned(mem: Mem, workspace: Path, world: Path) -> None:
    (workspace / "notes").write_text("a file in the way")
    assert mem("note", "x").code == 5
    ran = mem("note", "x", "--fail-safe")
    assert (ran.code, ran.err.startswith("mem: not noted: ")) == (0, True)
    assert mem("note", "x", "--fail-safe", "--workspace", str(world / "nowhere")).code == 0
    assert mem("note", "", "--fail-safe").code == 0


def test_another_tools_folder_gets_its_note_where_it_keeps_them(mem: Mem, world: Path) -> None:
    (world / "claw").mkdir()
    assert mem("init", "claw", "--layout", "openclaw").code == 0
    assert mem("note", "x", "--workspace", "claw").rows == [["noted", "claw/memory/2026-11-21.md"]]


CONFLICT = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"


def test_a_page_with_a_conflict_gets_no_note_that_nobody_would_find(mem: Mem, workspace: Path) -> None:
    page = workspace / "notes/2026-11-21.md"
    page.parent.mkdir()
    page.write_text(CONFLICT)
    ran = mem("note", "unheard")
    assert (ran.code, "notes/2026-11-21.md:1: a git conflict marker" in ran.err) == (5, True)
    assert page.read_text() == CONFLICT

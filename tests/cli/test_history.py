"""`mem history` and `mem note` write records and lines that stay whole."""

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, Mem
from tests.processes import race
from tests.store.sessions_data import here, noise

SECRET = "AKIA" + "IOSFODNN7" + "QZXWVUT"
WRITER = """
import sys
from pathlib import Path
from memcli.store.history import add_record
from tests.store.sessions_data import here, noise
for turn in range(8):
    add_record(here(Path(sys.argv[2])), f"writer {sys.argv[1]} turn {turn}", noise("the same for all"))
"""


def month(workspace: Path) -> str:
    return (workspace / "HISTORY-2026-11.md").read_text(encoding="utf-8")


def test_a_record_stands_under_its_time_and_id(mem: Mem, workspace: Path) -> None:
    action, identifier, path = mem("history", "add", "The staging box moved.").rows[0]
    assert (action, path) == ("recorded", "memory/HISTORY-2026-11.md")
    assert month(workspace) == (
        f"## 2026-11-21T20:15:03.000Z <!-- {identifier} -->\n\n[2026-11-21 20:15] The staging box moved.\n"
    )
    assert mem("read", identifier).out.endswith("The staging box moved.\n")
    assert mem("search", "staging box", "--mode", "keyword", "--json").json["hits"][0]["id"] == identifier


def test_records_follow_each_other_with_a_blank_line(mem: Mem, workspace: Path) -> None:
    for text in ("one", "two", "two"):
        assert mem("history", "add", text).code == 0
    assert (
        len(
            re.findall(
                r"(?:\A|\n\n)## \S+ <!-- hist_\w+ -->\n\n\[2026-11-21 20:15\] (?:one|two)(?=\n)", month(workspace)
            )
        )
        == 3
    )
    assert len(set(re.findall(r"hist_\w+", month(workspace)))) == 3
    assert [row[2] for row in mem("history", "show").rows] == [
        f"[2026-11-21 20:15] {text}" for text in ("one", "two", "two")
    ]


def test_a_text_is_kept_whole_and_begins_no_other_record(mem: Mem, workspace: Path) -> None:
    text = (
        "First.\n\n## 2026-01-01T00:00:00Z <!-- hist_fake -->\n[2020-01-01 10:00] not a record\n- a list\n"
        + "long " * 3000
    )
    assert mem("history", "add", "-", stdin=text).code == 0
    (record,) = mem("history", "show", "--json").json["records"]
    assert " ".join(record["text"].split()) == " ".join(f"[2026-11-21 20:15] {text}".split())


@pytest.mark.parametrize("label", ["[2026-11-20 08:00]", "[raw-fallback]"])
def test_a_text_that_states_its_time_keeps_it(mem: Mem, workspace: Path, label: str) -> None:
    mem("history", "add", f"{label} It was earlier.")
    assert month(workspace).endswith(f"\n\n{label} It was earlier.\n")


def test_a_torn_end_is_closed_off(mem: Mem, workspace: Path) -> None:
    (workspace / "HISTORY-2026-11.md").write_text(
        "## 2026-11-01T00:00:00.000Z <!-- hist_a -->\n\n[2026-11-01 00:00] cut o"
    )
    mem("history", "add", "after")
    assert [row[2][19:] for row in mem("history", "show").rows] == ["cut o", "after"]


@pytest.mark.parametrize(
    ("text", "code"), [("", 2), (" \n", 2), ("a\x00b", 2), ("<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n", 5), (b"\xff", 2)]
)
def test_what_is_no_record_is_refused(mem: Mem, workspace: Path, text: str | bytes, code: int) -> None:
    assert mem("history", "add", "-", stdin=text).code == code
    assert not (workspace / "HISTORY-2026-11.md").exists()


def test_a_secret_is_blanked_out_and_told(mem: Mem, workspace: Path) -> None:
    assert "mem: the record:1: " in mem("history", "add", f"rotated {SECRET}").err
    assert "[REDACTED:" in month(workspace)
    assert SECRET not in month(workspace)


def test_the_year_is_one_log(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "workspace", world / "memory")
    records = mem("history", "show", "--json").json["records"]
    assert len(records) == 78
    assert records == sorted(records, key=lambda record: str(record["timestamp"]))
    assert [row[1][:10] for row in mem("history", "show", "-n", "2").rows] == ["2026-11-18", "2026-11-20"]
    november = mem("history", "show", "--since", "2026-11", "--until", "2026-11-16").rows
    assert {row[1][:7] for row in november} == {"2026-11"}
    assert november[-1][1].startswith("2026-11-16")
    assert mem("history", "show", "--since", "soon").code == 2
    for row in mem("history", "show", "-n", "5").rows:
        assert mem("read", row[0]).code == 0


def test_merged_branches_are_sorted_and_told_once(mem: Mem, workspace: Path) -> None:
    late = "## 2026-11-09T00:00:00.000Z <!-- hist_b -->\n\n[2026-11-09 00:00] late\n"
    early = "## 2026-11-02T00:00:00.000Z <!-- hist_a -->\n\n[2026-11-02 00:00] early\n"
    (workspace / "HISTORY-2026-11.md").write_text(f"{late}\n{early}\n{late}")
    assert [row[0] for row in mem("history", "show").rows] == ["hist_a", "hist_b"]


def test_a_file_with_a_conflict_is_passed_over_and_named(mem: Mem, workspace: Path) -> None:
    mem("history", "add", "kept")
    (workspace / "HISTORY-2026-10.md").write_text("<<<<<<< a\n## 2026-10-01T00:00:00Z\nx\n=======\n>>>>>>> b\n")
    ran = mem("history", "show", "--json")
    assert [record["text"] for record in ran.json["records"]] == ["[2026-11-21 20:15] kept"]
    assert ran.json["problems"][0]["path"] == "HISTORY-2026-10.md"
    assert "HISTORY-2026-10.md:1: a git conflict marker" in ran.err


def test_a_second_copy_is_kept_where_it_is_wanted(mem: Mem, workspace: Path) -> None:
    mem("history", "add", "before")
    assert mem("config", "set", "history.single_file", "on").code == 0
    identifier = mem("history", "add", "after", "--json").json["id"]
    copy = (workspace / "HISTORY.md").read_text()
    assert copy in month(workspace)
    assert identifier in copy
    assert [row[2][19:] for row in mem("history", "show").rows] == ["before", "after"]
    assert len(mem("search", "after", "--kind", "history", "--mode", "keyword", "--json").json["hits"]) == 1


def test_the_folder_of_neovate_keeps_both(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "layouts" / "neovate", world / "neo")
    mem("init", "neo", "--layout", "neovate")
    before = (world / "neo" / "HISTORY.md").read_text()
    shown = mem("history", "show", "--workspace", "neo").rows
    assert len({row[2] for row in shown}) == len(shown)
    mem("history", "add", "The pump is in.", "--workspace", "neo")
    assert (world / "neo" / "HISTORY.md").read_text().startswith(before)
    assert "The pump is in." in (world / "neo" / "HISTORY.md").read_text()
    assert "The pump is in." in (world / "neo" / "HISTORY-2026-11.md").read_text()
    assert len(mem("history", "show", "--workspace", "neo").rows) == len(shown) + 1
    assert mem("config", "set", "history.single_file", "off", "--workspace", "neo").code == 0
    mem("history", "add", "Only once.", "--workspace", "neo")
    assert "Only once." not in (world / "neo" / "HISTORY.md").read_text()


def test_a_history_of_one_file_is_no_different(workspace: Path) -> None:
    from dataclasses import replace

    from memcli.store.history import add_record, read_log

    found = here(workspace)
    layout = replace(found.layout, history="HISTORY.md", patterns={**found.layout.patterns, "history": ("HISTORY.md",)})
    found.__dict__["layout"] = layout
    for text in ("one", "two"):
        assert add_record(found, text, noise(text)).path == "HISTORY.md"
    assert [told.record.text[19:] for told in read_log(found).records] == ["one", "two"]


def test_writers_at_once_lose_nothing(workspace: Path) -> None:
    ended = race(WRITER, 3, workspace)
    assert [one.code for one in ended] == [0, 0, 0], ended[0].err
    told = set(re.findall(r"writer \d turn \d", month(workspace)))
    assert len(told) == len(set(re.findall(r"hist_\w+", month(workspace)))) == 24


def test_a_history_with_a_conflict_gets_no_record_that_nobody_would_find(mem: Mem, workspace: Path) -> None:
    page = workspace / "HISTORY-2026-11.md"
    page.write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    before = page.read_text()
    ran = mem("history", "add", "unheard")
    assert (ran.code, "HISTORY-2026-11.md:1: a git conflict marker" in ran.err) == (5, True)
    assert page.read_text() == before


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

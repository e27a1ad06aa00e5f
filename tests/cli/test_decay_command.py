"""What fades, expires or is renewed, and what `mem decay` shows and does."""

import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from memcli.store.layouts import LAYOUTS
from tests.conftest import FIXTURES, Mem
from tests.tables import cases


@pytest.fixture
def aged(mem: Mem, workspace: Path) -> Path:
    """Give a workspace with one entry of long ago and four of today."""
    assert mem("write", "Staging ran on port 5432.", "--created-at", "2026-01-02").code == 0
    for number in range(4):
        assert mem("write", f"Fact number {number}.").code == 0
    return workspace


def test_a_pipe_gets_every_entry_with_its_number_and_why(mem: Mem, aged: Path) -> None:
    rows = mem("decay").rows
    assert [row[1:6] for row in rows] == [["323.8", "0", "1", "0.000", "archive"]] + [
        ["0.0", "0", "1", "1.000", "keep"]
    ] * 4
    assert rows[0][6] == "e^(-323.8/30) × (1 + ln(0 + 1)) × 1 = 0.000; below 0.1"


def test_json_has_the_numbers_and_nothing_moves(mem: Mem, aged: Path) -> None:
    document = mem("decay", "--json").json
    old = document["entries"][0]
    assert old["summary"] == "Staging ran on port 5432."
    assert (old["verdict"], old["decay_days"], old["archived"]) == ("archive", 30.0, None)
    assert old["score"] < document["threshold"]
    assert (document["applied"], document["as_of"]) == (False, "2026-11-21T20:15:03Z")
    assert not (aged / "archive").exists()


def test_as_of_shows_the_future(mem: Mem, aged: Path) -> None:
    assert {row[5] for row in mem("decay", "--as-of", "2027-11-21").rows} == {"archive"}
    assert mem("decay", "--as-of", "2025-01-01").rows[0][5] == "keep"


def test_applied_and_restored_an_entry_is_as_before(mem: Mem, aged: Path) -> None:
    (path,) = aged.glob("entries/2026-01/*.md")
    before = path.read_bytes()
    ran = mem("decay", "--apply")
    assert ran.code == 0
    assert [row[0] for row in ran.rows] == ["archived"]
    assert "port 5432" not in mem("search", "port 5432", "--mode", "keyword").out
    assert mem("restore", ran.rows[0][1]).code == 0
    assert path.read_bytes() == before


def test_what_was_restored_fades_anew_from_that_day(mem: Mem, aged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = (row[1] for row in mem("decay", "--apply").rows)
    mem("restore", old)
    (one,) = (one for one in mem("decay", "--json").json["entries"] if one["id"] == old)
    assert (one["verdict"], one["age_days"]) == ("keep", 0)
    assert "restored at 2026-11-21T20:15:03Z" in one["reason"]
    mem("read", old)
    for _ in range(2):
        assert mem("decay", "--apply").rows == []
    assert {one["id"]: one["verdict"] for one in mem("decay", "--as-of", "2027-03-01", "--json").json["entries"]}[
        old
    ] == "archive"


def test_what_had_expired_and_was_restored_stays(mem: Mem, aged: Path) -> None:
    path = (
        mem("write", "The sale ends soon", "--expires-at", "2026-11-21T20:15:03Z", "--no-dedup")
        .rows[0][2]
        .removeprefix("memory/")
    )
    before = (aged / path).read_bytes()
    mem("decay", "--apply", "--max-fraction", "1")
    mem("restore", f"archive/{path}")
    assert (aged / path).read_bytes() == before
    assert mem("decay", "--apply", "--max-fraction", "1").rows == []


def test_reading_counts_and_pages_of_one_reading_count_once(mem: Mem, aged: Path) -> None:
    identifier = mem("ls", "-n", "1").rows[0][0]
    mem("read", identifier, "--limit", "5")
    mem("read", identifier, "--offset", "5")
    mem("read", identifier, "--json")
    mem("read", "MEMORY.md")
    counted = {one["id"]: one["accesses"] for one in mem("decay", "--json").json["entries"]}
    assert counted.pop(identifier) == 2
    assert set(counted.values()) == {0}


def test_reading_changes_no_file_until_decay_is_applied(mem: Mem, aged: Path) -> None:
    identifier, path = (mem("ls", "-n", "1").rows[0][place] for place in (0, 3))
    path = path.removeprefix("memory/")
    before = (aged / path).read_text()
    mem("read", identifier)
    assert (aged / path).read_text() == before
    assert mem("decay", "--apply").code == 0
    assert "access_count: 1\nlast_accessed_at: 2026-11-21T20:15:03Z\n---" in (aged / path).read_text()
    assert mem("read", identifier, "--json").json["fields"]["updated_at"] in before


def test_too_many_at_once_are_refused_with_the_way_to_do_it(mem: Mem, aged: Path) -> None:
    for number in range(3):
        mem("write", f"Old fact number {number}.", "--created-at", "2026-01-02")
    ran = mem("decay", "--apply")
    assert (ran.code, ran.out) == (5, "")
    assert "--max-fraction 0.5 archives them all" in ran.err
    assert len(mem("decay", "--apply", "--max-fraction", "0.5").rows) == 4


def test_a_file_that_does_not_parse_is_left_alone_and_makes_it_partly_done(mem: Mem, aged: Path) -> None:
    broken = aged / "entries/broken.md"
    broken.write_text("---\ntitle: a: b\n---\nOld.\n")
    ran = mem("decay", "--apply")
    assert ran.code == 3
    assert len(ran.rows) == 1
    assert "memory/entries/broken.md: left alone" in ran.err
    assert broken.exists()


@cases("arguments", "code", "words")
def test_a_mistake_is_one_clear_line(mem: Mem, aged: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    ran = mem("decay", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err


def test_numbers_that_make_no_sense_are_told_and_do_not_stop_it(mem: Mem, aged: Path) -> None:
    for number, line in enumerate(
        ("trust: .nan", "trust: -3", "trust: 1e300", "strength: strong", "created_at: 2026-02-30")
    ):
        (aged / f"entries/odd{number}.md").write_text(f"---\nid: odd{number}\n{line}\n---\nOdd.\n")
    ran = mem("decay", "--json")
    assert ran.code == 0
    odd = [one for one in ran.json["entries"] if one["id"].startswith("odd")]
    assert len(odd) == 5
    assert all(one["trust"] == 0.7 for one in odd)
    assert len(ran.json["problems"]) == 5


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands believe that they print on a terminal."""
    monkeypatch.setattr("memcli.cli.output.is_watched", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")


def command_in(out: str) -> list[str]:
    (found,) = re.findall(r"mem (decay --apply[^\n;`]*)", out)
    return shlex.split(found)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("old", [1, 3, 9])
@pytest.mark.parametrize("named", [(), ("--workspace", "memory")])
def test_the_command_that_is_offered_does_what_it_says(
    mem: Mem, workspace: Path, old: int, named: tuple[str, ...]
) -> None:
    for number in range(10):
        made = ("--created-at", "2026-01-02") if number < old else ()
        mem("write", f"Fact number {number}.", "--no-dedup", *made)
    shown = mem("decay", *named)
    offered = command_in(shown.out)
    assert set(named) <= set(offered)
    done = mem(*offered)
    assert done.code == 0, done.err
    assert len(list((workspace / "archive").rglob("*.md"))) == old


@pytest.mark.usefixtures("watched")
def test_a_year_of_memories_is_shown_by_type_and_loses_no_rule_and_nobody(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "workspace", world / "memory")
    entries = mem("decay", "--json").json["entries"]
    gone = Counter(one["type"] for one in entries if one["verdict"] == "archive")
    aged = [one for one in entries if one["verdict"] == "archive" and "; expired" not in one["reason"]]
    assert not {one["type"] for one in aged} & {"constraint", "entity"}
    preferences = mem("ls", "--type", "preference", "--limit", "1000", "--json").json["entries"]
    told = {row["id"]: row["source"] for row in preferences}
    assert not [one for one in aged if told.get(one["id"]) == "user"]
    out = mem("decay").out
    faded = out.partition("\n\n")[0].splitlines()[2:]
    types = [line.split()[0] for line in faded]
    assert Counter(types) == gone
    assert list(dict.fromkeys(types)) == [name for name, _ in sorted(gone.items(), key=lambda one: (-one[1], one[0]))]


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - {"mem"}))
def test_only_what_works_is_offered_in_a_folder_that_is_not_mems_own(mem: Mem, world: Path, layout: str) -> None:
    folder = world / "theirs"
    (folder / "memory").mkdir(parents=True)
    assert mem("init", str(folder), "--layout", layout).code == 0
    path = folder / LAYOUTS[layout].entries / "old.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("---\nid: old\ntype: fact\ncreated_at: 2025-01-01\nupdated_at: 2025-01-01\n---\n\nLong ago.\n")
    out = mem("decay", "--workspace", str(folder)).out
    assert "old" in out
    assert ("--apply" in out) is LAYOUTS[layout].is_vault


@pytest.mark.parametrize("how", ["read", "recall"])
def test_what_was_read_or_recalled_lately_stays(mem: Mem, workspace: Path, how: str) -> None:
    mem(
        "write", "Deploys of the shop run from the release branch.", "--created-at", "2025-01-02", "--type", "procedure"
    )
    mem("write", "The old printer is in the cellar.", "--created-at", "2025-01-02", "--no-dedup")
    read = {row["summary"]: row["id"] for row in mem("ls", "--json").json["entries"]}
    if how == "read":
        mem("read", next(one for summary, one in read.items() if "release" in summary))
    else:
        assert "release branch" in mem("recall", "from which branch do deploys of the shop run?").out
    found = {one["summary"]: one["verdict"] for one in mem("decay", "--json").json["entries"]}
    assert [found[one] for one in sorted(found)] == ["keep", "archive"]


ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
SHAPES = {
    "created_at alone": "id: {0}\ntype: fact\ncreated_at: 2026-01-02\n",
    "of another tool": "id: {0}\ntype: fact\ncreatedAt: 2026-01-02T10:00:00Z\n",
    "a date": "id: {0}\ntype: fact\ndate: 2026-01-02\n",
    "both": "id: {0}\ntype: fact\ncreated_at: 2026-01-02\nupdated_at: 2026-01-03\n",
}


def git(folder: Path, *words: str, day: str = "") -> None:
    dates = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"} if day else {}
    subprocess.run(["git", *words], cwd=folder, env=ENVIRON | dates, capture_output=True, check=True)


def put_old(workspace: Path, name: str, head: str, body: str = "The kettle stands in the hall.") -> Path:
    path = workspace / f"entries/{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\n{head.format(name)}---\n\n{body}\n")
    os.utime(path, (1.76e9, 1.76e9))
    return path


def age(mem: Mem, name: str) -> float:
    (found,) = (one for one in mem("decay", "--json").json["entries"] if one["id"] == name)
    return float(found["age_days"])


def by_editor(path: Path, text: str, day: str = "2026-11-20") -> None:
    """Change a file as an editor does: the frontmatter says nothing of it."""
    path.write_text(path.read_text().replace("in the hall", text))
    moment = int(subprocess.run(["date", "-d", f"{day}T12:00:00Z", "+%s"], capture_output=True, check=True).stdout)
    os.utime(path, (moment, moment))


@pytest.mark.parametrize("shape", SHAPES)
@cases("words")
def test_a_rewritten_memory_is_not_archived_as_faded_the_same_day(
    mem: Mem, workspace: Path, shape: str, words: tuple[str, ...]
) -> None:
    path = put_old(workspace, "one", SHAPES[shape])
    assert age(mem, "one") > 300
    ran = mem(*words)
    assert ran.code == 0, ran.err
    assert age(mem, "one") < 1
    assert mem("decay", "--apply", "--max-fraction", "1").code == 0
    assert path.exists()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_persons_edit_in_an_editor_renews(mem: Mem, workspace: Path, shape: str) -> None:
    path = put_old(workspace, "one", SHAPES[shape])
    assert age(mem, "one") > 300
    by_editor(path, "in the kitchen")
    assert 1 < age(mem, "one") < 2
    assert mem("stats", "--json").code == 0
    before = path.read_text()
    assert mem("decay", "--apply", "--max-fraction", "1").code == 0
    assert path.read_text() == before, "its place and its text are as the person left them"


def test_what_changes_nothing_that_is_said_renews_nothing(mem: Mem, workspace: Path) -> None:
    path = put_old(workspace, "one", SHAPES["both"])
    other = put_old(workspace, "two", SHAPES["both"], "The toaster stands in the cellar.")
    assert age(mem, "one") > 300
    path.touch()
    other.write_text(other.read_text().replace("type: fact\n", "type: fact\ncolour: red\n"))
    mem("read", "two")
    assert age(mem, "one") > 300
    assert age(mem, "two") > 300
    other.write_text(other.read_text().replace("colour: red\n", "tags: [house]\n"))  # as `mem write --id two` would
    assert age(mem, "two") < 1


def test_a_fresh_clone_makes_nothing_young(mem: Mem, workspace: Path, world: Path) -> None:
    put_old(workspace, "one", SHAPES["both"])
    git(workspace, "init", "-q")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "one", day="2026-01-04")
    git(world, "clone", "-q", "memory", "clone")
    entries = mem("decay", "--workspace", "clone", "--json").json["entries"]
    assert [one["age_days"] > 300 for one in entries] == [True]


def put(workspace: Path, name: str, body: str, **fields: str) -> None:
    head = "".join(f"{key}: {value}\n" for key, value in {"id": f"mem_{name}", "source": "user", **fields}.items())
    (workspace / "entries" / f"{name}.md").write_text(f"---\n{head}---\n\n{body}\n")


@pytest.fixture
def zebras(workspace: Path) -> Path:
    (workspace / "entries").mkdir(exist_ok=True)
    put(workspace, "active", "Zebras eat grass.")
    put(workspace, "proposed", "Zebras eat hay.", status="Proposed")
    return workspace


def ids(document: object, rows: str) -> list[str]:
    return [row["id"] for row in document[rows]]  # type: ignore[index]


def test_an_entry_of_an_unknown_status_is_found_only_when_asked_for(mem: Mem, zebras: Path) -> None:
    assert ids(mem("search", "zebras", "--json").json, "hits") == ["mem_active"]
    assert ids(mem("ls", "--json").json, "entries") == ["mem_active"]
    assert "hay" not in mem("recall", "What do zebras eat?").out
    assert ids(mem("search", "zebras", "--status", "proposed", "--json").json, "hits") == ["mem_proposed"]
    assert ids(mem("ls", "--status", "proposed", "--json").json, "entries") == ["mem_proposed"]
    assert "hay" in mem("read", "mem_proposed").out
    ran = mem("ls", "--status", "propsed")
    assert (ran.code, ran.err) == (2, "mem: no status 'propsed': use one of active, superseded, archived\n")


@pytest.mark.parametrize("status", ["[proposed]", "[active]", "{is: draft}", "2026-11-21"])
def test_a_status_that_is_no_text_is_unknown_too(mem: Mem, zebras: Path, status: str) -> None:
    put(zebras, "odd", "Zebras eat leaves.", status=status)
    assert "leaves" not in mem("search", "zebras").out
    assert "leaves" not in mem("recall", "What do zebras eat?").out
    assert "odd.md:4: status: " in mem("check").out


def test_check_names_an_unknown_status_until_it_is_put_right(mem: Mem, zebras: Path) -> None:
    ran = mem("check")
    assert (ran.code, ran.out) == (
        1,
        "memory/entries/proposed.md:4: status: 'proposed' is none of active, superseded, archived: the memory is not"
        " recalled, and found only with --status proposed\n",
    )
    assert mem("write", "--id", "mem_proposed", "--status", "active").code == 0
    assert mem("check").code == 0
    assert "hay" in mem("search", "What do zebras eat?").out


def test_what_is_written_again_beside_a_proposal_is_an_entry_of_its_own(mem: Mem, zebras: Path) -> None:
    assert mem("write", "Zebras eat hay.").rows[0][0] == "created"


def test_a_status_in_a_persons_own_notes_is_a_word_of_theirs(mem: Mem, world: Path) -> None:
    vault = world / "vault"
    vault.mkdir()
    (vault / "zebras.md").write_text("---\nstatus: draft\n---\n\nZebras eat grass.\n")
    assert mem("init", str(vault), "--layout", "markdown").code == 0
    assert "grass" in mem("search", "zebras", "--workspace", str(vault)).out
    assert "draft" not in mem("check", "--workspace", str(vault)).out


@pytest.fixture
def passes(workspace: Path) -> Path:
    (workspace / "entries").mkdir(exist_ok=True)
    put(workspace, "visitor", "The visitor pass is in drawer four.", expires_at="2026-11-20")
    put(workspace, "valid", "The parking pass is in drawer five.", expires_at="2026-12-20")
    return workspace


def test_what_has_expired_is_marked_and_not_recalled(mem: Mem, passes: Path) -> None:
    when = {"mem_visitor": "2026-11-20T00:00:00Z", "mem_valid": ""}
    hits = mem("search", "Where is the pass?", "--json").json["hits"]
    assert {hit["id"]: hit["expired"] for hit in hits} == when
    assert [row[6:] for row in mem("search", "visitor pass", "--mode", "keyword").rows if row[1] == "mem_visitor"] == [
        ["expired 2026-11-20"]
    ]
    assert {entry["id"]: entry["expired"] for entry in mem("ls", "--json").json["entries"]} == when
    assert {row[0]: row[5:] for row in mem("ls").rows} == {"mem_visitor": ["expired 2026-11-20"], "mem_valid": []}
    page = mem("read", "mem_visitor", "--json")
    assert page.json["expired"] == "2026-11-20T00:00:00Z"
    assert "expired at 2026-11-20T00:00:00Z" in mem("read", "mem_visitor").err
    assert mem("read", "mem_valid", "--json").json["expired"] == ""
    recalled = mem("recall", "Where is the pass?").out
    assert "drawer five" in recalled
    assert "drawer four" not in recalled


def test_tend_archives_what_has_expired_and_only_that(mem: Mem, passes: Path) -> None:
    put(passes, "faded", "Staging ran on port 5432.", created_at="2020-01-01", updated_at="2020-01-01")
    ran = mem("tend")
    assert (ran.code, ran.rows[0]) == (0, ["decay", "archived 1 that expired"])
    assert sorted(ids(mem("ls", "--json").json, "entries")) == ["mem_faded", "mem_valid"]
    assert mem("restore", "mem_visitor").code == 0
    assert "expired" not in mem("tend").out
    assert "mem_visitor" in ids(mem("ls", "--json").json, "entries")


def test_expiry_does_not_count_for_the_guard(mem: Mem, passes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        put(passes, f"gone{number}", f"Ticket {number} is bought.", expires_at="2026-11-01")
    put(passes, "faded", "Staging ran on port 5432.", created_at="2020-01-01", updated_at="2020-01-01")
    put(passes, "faded2", "Staging ran on port 5433.", created_at="2020-01-01", updated_at="2020-01-01")
    put(passes, "faded3", "Staging ran on port 5434.", created_at="2020-01-01", updated_at="2020-01-01")
    monkeypatch.setenv("MEM_DECAY_AUTO", "true")
    (row,) = (row for row in mem("tend").rows if row[0] == "decay")
    told = "3 of 11 faded, too many to archive unasked: look at them with `mem decay`"
    assert row[1] == f"archived 7 that expired; {told}"
    refused = mem("decay", "--apply")
    assert (refused.code, refused.err.splitlines()[0][:59]) == (
        5,
        "mem: 3 of 4 active entries faded, more than 25%: look at th",
    )

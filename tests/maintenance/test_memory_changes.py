"""A comparison tells what became of memories as a person would, whatever happened to their files."""

import cProfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memcli.git.repository import FileVersions
from memcli.maintenance.memory_diff import memory_changes
from memcli.store.layouts import MEM
from tests.conftest import Mem
from tests.scenes import commit, git


@pytest.fixture
def base(workspace: Path, world: Path, mem: Mem) -> dict[str, str]:
    """Give ids of memories by a word of their text, all committed."""
    git(world, "init", "-q")
    texts = {
        "port": ("The staging port is 8080.", "--key", "staging/port"),
        "vim": ("User uses vim.", "--type", "preference"),
        "tea": ("Tea is at five.",),
        "old": ("The old host is zebra.",),
    }
    ids = {
        name: mem("write", *words, "--no-dedup", "--json", "--source", "user").json["id"]
        for name, words in texts.items()
    }
    assert mem("forget", ids["old"]).code == 0
    mem("note", "Fed the cat.")
    mem("history", "add", "We moved to zebra.")
    commit(world)
    return ids


@pytest.fixture(params=["files", "commits"])
def changes(request: pytest.FixtureRequest, mem: Mem, world: Path) -> Callable[[], list[dict[str, Any]]]:
    """Compare the last commit with the files, or two commits: the same must be told."""

    def compared() -> list[dict[str, Any]]:
        if request.param == "files":
            return mem("diff", "--json").json["changes"]
        commit(world)
        return mem("diff", "HEAD~1..HEAD", "--json").json["changes"]

    return compared


Changes = Callable[[], list[dict[str, Any]]]


def kinds(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["kind"], one["id"]) for one in found]


def path_of(mem: Mem, workspace: Path, name: str) -> Path:
    return workspace / mem("read", name, "--json").json["path"]


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_nothing_changed_is_nothing_told(base: dict[str, str], mem: Mem) -> None:
    ran = mem("diff")
    assert (ran.code, ran.out) == (0, "")
    assert mem("diff", "--json").json["headline"] == ""


def test_a_new_memory_is_told_with_its_whole_text(base: dict[str, str], mem: Mem, changes: Changes) -> None:
    new = mem("write", "Lunch is soup.\n\nOn Fridays it is fish.", "--no-dedup", "--json").json["id"]
    (found,) = changes()
    assert (found["kind"], found["id"], found["type"]) == ("new", new, "fact")
    assert found["lines"] == ["+Lunch is soup.", "+On Fridays it is fish."]


def test_superseding_names_the_heir_and_what_it_says(base: dict[str, str], mem: Mem, changes: Changes) -> None:
    new = mem("write", "The staging port is 9090.", "--supersedes", base["port"], "--json").json["id"]
    found = {one["kind"]: one for one in changes()}
    assert found.keys() == {"new", "superseded"}
    assert found["superseded"]["id"] == base["port"]
    assert found["superseded"]["others"] == [{"id": new, "summary": "The staging port is 9090."}]


def test_forgetting_is_no_deletion_and_no_new_file(base: dict[str, str], mem: Mem, changes: Changes) -> None:
    assert mem("forget", base["tea"], base["vim"]).code == 0
    assert sorted(kinds(changes())) == sorted(("forgotten", base[name]) for name in ("tea", "vim"))


def test_coming_back_from_the_archive_is_restored(base: dict[str, str], mem: Mem, changes: Changes) -> None:
    assert mem("restore", base["old"]).code == 0
    assert kinds(changes()) == [("restored", base["old"])]


def test_a_file_that_is_gone_without_a_trace_is_purged_and_its_text_shown(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    path_of(mem, workspace, base["tea"]).unlink()
    (found,) = changes()
    assert (found["kind"], found["id"], found["lines"]) == ("purged", base["tea"], ["-Tea is at five."])


def test_an_entry_that_gets_an_id_or_loses_it_is_changed_and_neither_new_nor_purged(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    names = [f"entries/by-hand-{number}.md" for number in range(7)] + ["archive/entries/by-hand.md"]
    for name in names:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"What {name} says.\n")
    commit(workspace)
    assert mem("check", "--fix").code == 0
    given = changes()
    assert {one["path"] for one in given} == set(names)
    assert {one["kind"] for one in given} == {"changed"}
    assert all(one["id"].startswith("mem_") for one in given)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "--allow-empty", "-m", "x")
    for name in names:
        (workspace / name).write_text(f"What {name} says.\n")
    assert {one["kind"] for one in changes()} == {"changed"}


def test_a_file_that_holds_another_memory_now_is_that_ones_and_the_first_is_purged(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    rewrite(path_of(mem, workspace, base["tea"]), base["tea"], "mem_01m7zvz0arb5pv67")
    assert sorted(kinds(changes())) == [("new", "mem_01m7zvz0arb5pv67"), ("purged", base["tea"])]


def test_a_change_tells_fields_and_text_apart(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    path = path_of(mem, workspace, base["tea"])
    rewrite(path, "Tea is at five.", "Tea is at six.\nWith cake.")
    rewrite(path, "type: fact", "type: constraint\nproject: shop\nmood: merry")
    (found,) = changes()
    assert found["kind"] == "changed"
    assert found["lines"] == ["-Tea is at five.", "+Tea is at six.", "+With cake."]
    assert found["fields"] == [
        {"name": "type", "before": "fact", "after": "constraint"},
        {"name": "project", "before": None, "after": "shop"},
        {"name": "mood", "before": None, "after": "merry"},
    ]


def test_the_text_of_before_that_an_edit_keeps_is_not_a_memory_of_its_own(
    base: dict[str, str], mem: Mem, changes: Changes
) -> None:
    assert mem("edit", base["tea"], "--replace", "five", "six").code == 0
    assert kinds(changes()) == [("changed", base["tea"])]


@pytest.mark.parametrize("line", ["strength: 4", "strength: 2\nsources: [session:talk#3]"])
def test_a_confirmation_is_no_change(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes, line: str
) -> None:
    rewrite(path_of(mem, workspace, base["vim"]), "type: preference", f"type: preference\n{line}")
    (found,) = changes()
    assert (found["kind"], found["id"]) == ("confirmed", base["vim"])
    assert found["fields"][0]["name"] == "strength"


def test_counters_of_use_are_told_apart(base: dict[str, str], mem: Mem, workspace: Path, changes: Changes) -> None:
    rewrite(path_of(mem, workspace, base["vim"]), "type: preference", "type: preference\naccess_count: 4")
    assert kinds(changes()) == [("counted", base["vim"])]


def test_flags_and_their_end_name_the_other_side(
    base: dict[str, str], mem: Mem, workspace: Path, world: Path, changes: Changes
) -> None:
    pair = base["tea"], base["vim"]
    path = path_of(mem, workspace, pair[0])
    rewrite(path, "type: fact", f"type: fact\nconflicts_with: [{pair[1]}]")
    (found,) = changes()
    assert (found["kind"], [one["id"] for one in found["others"]]) == ("flagged", [pair[1]])
    commit(world) if mem("diff").out else None
    rewrite(path, f"conflicts_with: [{pair[1]}]", f"distinct: [{pair[1]}]")
    settled, changed = sorted(changes(), key=lambda one: one["kind"], reverse=True)
    assert (settled["kind"], [one["id"] for one in settled["others"]]) == ("settled", [pair[1]])
    assert [one["name"] for one in changed["fields"]] == ["distinct"]


def test_two_that_fill_one_key_clash_though_one_did_not_change(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    text = path_of(mem, workspace, base["port"]).read_text()
    other = (
        text.replace(base["port"], "mem_01k0000000000000")
        .replace("8080", "9090")
        .replace("staging/port", "Staging / Port")
    )
    (workspace / "entries" / "other.md").write_text(other)
    found = {one["kind"]: one for one in changes()}
    assert found.keys() == {"new", "clash"}
    assert found["clash"]["id"] == "mem_01k0000000000000"
    assert [one["id"] for one in found["clash"]["others"]] == [base["port"]]


def test_a_key_of_another_project_is_no_clash(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    text = path_of(mem, workspace, base["port"]).read_text()
    other = text.replace(base["port"], "mem_01k0000000000000").replace("type: fact", "type: fact\nproject: shop")
    (workspace / "entries" / "other.md").write_text(other)
    assert kinds(changes()) == [("new", "mem_01k0000000000000")]


def test_promoted_lines_are_told_apart_from_the_rest_of_the_page(
    base: dict[str, str], mem: Mem, workspace: Path, world: Path, changes: Changes
) -> None:
    assert mem("promote", base["vim"]).code == 0
    with (workspace / "MEMORY.md").open("a") as page:
        page.write("\nRita knows the servers.\n")
    found = changes()
    assert kinds(found) == [("promoted", base["vim"]), ("page", "")]
    assert found[1]["lines"] == ["+Rita knows the servers."]
    commit(world) if mem("diff").out else None
    assert mem("promote", "--demote", base["vim"]).code == 0
    assert ("demoted", base["vim"]) in kinds(changes())


def test_history_notes_and_settings_have_words_of_their_own(base: dict[str, str], mem: Mem, changes: Changes) -> None:
    record = mem("history", "add", "The zebra died.", "--json").json["id"]
    mem("note", "Bought hay.")
    assert mem("config", "set", "search.limit", "4").code == 0
    found = {one["kind"]: one for one in changes()}
    assert found.keys() == {"history", "note", "setting"}
    assert found["history"]["id"] == record
    assert found["note"]["lines"] == ["+[20:15] Bought hay."]
    assert found["setting"]["fields"] == [{"name": "search.limit", "before": None, "after": 4}]


def test_a_record_that_is_taken_out_of_history_is_seen(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    (month,) = workspace.glob("HISTORY-*.md")
    month.write_text("")
    (found,) = changes()
    assert (found["kind"], found["lines"][0][0]) == ("history", "-")


def test_a_file_that_only_moved_is_told_as_that(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    path_of(mem, workspace, base["tea"]).rename(workspace / "entries" / "tea.md")
    assert kinds(changes()) == [("moved", base["tea"])]


@pytest.mark.parametrize("text", ["---\ntags: [a\n---\n\nTea.\n", "<<<<<<< a\nTea\n=======\nNo tea\n>>>>>>> b\n"])
def test_what_cannot_be_read_is_told_with_its_lines(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes, text: str
) -> None:
    (workspace / "entries" / "broken.md").write_text(text)
    found = changes()
    assert {one["kind"] for one in found} == {"new", "unreadable"}
    assert any("Tea" in line for one in found for line in one["lines"])


def test_notes_that_a_person_put_into_the_archive_are_not_new(
    base: dict[str, str], mem: Mem, workspace: Path, changes: Changes
) -> None:
    (note,) = (workspace / "notes").glob("*.md")
    (workspace / "archive/notes").mkdir()
    note.rename(workspace / "archive/notes" / note.name)
    assert [one[0] for one in kinds(changes())] == ["forgotten"]


def test_the_headline_counts_every_kind(base: dict[str, str], mem: Mem) -> None:
    mem("write", "The staging port is 9090.", "--supersedes", base["port"])
    mem("note", "Bought hay.")
    assert mem("diff", "--json").json["headline"] == "1 new, 1 superseded, 1 in notes"


def test_a_program_reads_rows(base: dict[str, str], mem: Mem) -> None:
    new = mem("write", "The staging port is 9090.", "--supersedes", base["port"], "--json").json["id"]
    rows = mem("diff").rows
    assert [row[:2] for row in rows] == [["new", new], ["superseded", base["port"]]]
    assert rows[1][4] == f"by {new}: The staging port is 9090."


def test_an_unknown_format_is_refused(base: dict[str, str], mem: Mem) -> None:
    assert mem("diff", "--format", "html").code == 2
    assert mem("diff", "--format", "markdown", "--json").code == 2


def test_files_of_a_project_that_lie_beside_its_memories_are_no_memories(world: Path, mem: Mem) -> None:
    assert mem("init", ".", "--layout", "openclaw").code == 0
    git(world, "init", "-q")
    commit(world)
    (world / "app.py").write_text("print(1)\n")
    (world / ".secretsignore").write_text("*.key\n")
    (world / "memory").mkdir(exist_ok=True)
    (world / "memory" / "tea.md").write_text("Tea is at five.\n")
    found = mem("diff", "--json").json["changes"]
    assert [(one["kind"], one["path"]) for one in found] == [("new", "memory/tea.md"), ("file", ".secretsignore")]
    assert found[1]["lines"] == ["+*.key"]


def test_a_workspace_that_was_not_there_yet_is_new_and_one_that_a_commit_deleted_is_gone(world: Path, mem: Mem) -> None:
    git(world, "init", "-q")
    git(world, "commit", "-q", "--allow-empty", "-m", "x")
    assert mem("init").code == 0
    one = mem("write", "Tea is at five.", "--no-dedup", "--json").json["id"]
    commit(world)
    assert ("new", one) in kinds(mem("diff", "HEAD~1..HEAD", "--json").json["changes"])
    git(world, "rm", "-rq", "--cached", "memory")
    git(world, "commit", "-qm", "gone")
    assert ("purged", one) in kinds(mem("diff", "HEAD~1..HEAD", "--json").json["changes"])
    assert ("new", one) in kinds(mem("diff", "--json").json["changes"])


@pytest.mark.parametrize("where", ["worktree", "detached", "shallow", "merging"])
def test_odd_states_of_a_repository_are_compared_all_the_same(
    base: dict[str, str], world: Path, mem: Mem, workspace: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem("note", "Bought hay.")
    commit(world)
    place = world
    if where == "worktree":
        git(world, "worktree", "add", "-q", "../linked")
        place = world.parent / "linked"
    elif where == "detached":
        git(world, "checkout", "-q", "--detach")
    elif where == "shallow":
        git(world, "clone", "-q", "--depth", "2", world.as_uri(), "../shallow")
        place = world.parent / "shallow"
    else:
        git(world, "switch", "-qc", "side")
        mem("config", "set", "search.limit", "4")
        commit(world)
        git(world, "switch", "-q", "-")
        mem("config", "set", "search.limit", "5")
        commit(world)
        with suppress(AssertionError):  # a conflict
            git(world, "-c", "merge.mem.driver=false", "merge", "side")
    monkeypatch.chdir(place)
    ran = mem("diff", "HEAD~1..HEAD", "--json")
    assert ran.code == 0
    assert [one["kind"] for one in ran.json["changes"]] == (["setting"] if where == "merging" else ["note"])
    assert mem("diff", "HEAD").code == 0


def test_many_changed_memories_cost_no_more_each_than_few() -> None:
    def calls(count: int) -> int:
        def text(number: int, slot: int) -> bytes:
            return f"---\nid: mem_{number:016}\nkey: k/{slot}\n---\n\nFact {number}.\n".encode()

        files = [FileVersions(f"entries/{one}.md", text(one, one), text(one, one // 2)) for one in range(count)]
        later = {one.path: one.after or b"" for one in files}
        profile = cProfile.Profile()
        found = profile.runcall(memory_changes, MEM, files, lambda: later)
        assert [one.kind for one in found].count("clash") == count // 2
        return sum(row.callcount for row in profile.getstats())

    calls(20)
    assert calls(400) < 2.5 * calls(200)

"""What git merged without the driver is merged afterwards as the driver would have; what contradicts is flagged."""

import os
from pathlib import Path

import pytest

from memcli.formats.frontmatter.document import parse, render
from memcli.git import merge_driver
from tests.conftest import Mem
from tests.two_branches import OURS, THEIRS, Repository

ENTRY = "entries/2026-11/a.md"
HEAD = {"id": "mem_a", "type": "fact", "created_at": "2026-11-20T10:00:00Z", "updated_at": "2026-11-21T10:00:00Z"}
STYLES = ["merge", "diff3", "zdiff3"]


def entry(body: str = "First.\n\nSecond.", **fields: object) -> str:
    return render({**HEAD, "source": "user", **fields}, body)


BASE = entry(tags=["x", "gone"], strength=2)
HERE = entry("Erst.\n\nSecond.", tags=["x", "here", "gone"], strength=3, updated_at="2026-11-21T11:00:00Z")
THERE = entry("First.\n\nZwei.", tags=["x", "there"], strength=4, updated_at="2026-11-21T12:00:00Z")
BOTH = entry("Erst.\n\nZwei.", tags=["x", "there", "here"], strength=5, updated_at="2026-11-21T12:00:00Z")


@pytest.fixture
def repository(world: Path) -> Repository:
    """Return a repository that does not know the driver, whose folder one stands in."""
    made = Repository(world / "repo", has_driver=False)
    os.chdir(made.top)
    return made


@pytest.mark.parametrize("style", STYLES)
def test_check_merges_afterwards_what_the_driver_would_have(mem: Mem, repository: Repository, style: str) -> None:
    repository.git("config", "merge.conflictStyle", style)
    found, is_clean = repository.merged(ENTRY, BASE, HERE, THERE)
    assert not is_clean
    assert b"<<<<<<<" in found
    ran = mem("check")
    assert ran.code == 1
    assert f"memory/{ENTRY}:" in ran.out
    assert "`mem check --fix` merges it" in ran.out
    (repository.root / "mem.yaml").write_text("format: 1\nsearch.limit: 8\n")
    assert f"mended {ENTRY}: merged\n" in mem("check", "--fix").err
    assert (repository.root / ENTRY).read_text() == BOTH
    assert not repository.git("ls-files", "--unmerged")
    assert "mem.yaml" not in repository.git("diff", "--cached", "--name-only")  # what it did not settle is not added
    assert mem("check").code == 0


@pytest.mark.parametrize("style", STYLES)
def test_markers_that_were_added_to_the_index_are_merged_too(mem: Mem, repository: Repository, style: str) -> None:
    repository.git("config", "merge.conflictStyle", style)
    repository.merged(ENTRY, BASE, HERE, THERE)
    repository.git("commit", "-aqm", "with markers")
    assert mem("check", "--fix").code == 0
    text = (repository.root / ENTRY).read_text()
    fields = parse(text).fields
    assert {"x", "here", "there"} <= {*fields["tags"]}  # type: ignore[misc]
    assert fields["strength"] in ([5] if style != "merge" else [4])  # without the base nobody knows what was added
    assert parse(text).body == "\nErst.\n\nZwei.\n"


@pytest.mark.parametrize("style", STYLES)
def test_what_a_person_settled_already_stays(mem: Mem, repository: Repository, style: str) -> None:
    repository.git("config", "merge.conflictStyle", style)
    repository.merged(ENTRY, entry(), entry("Erst.\n\nSecond.", title="A"), entry("Premier.\n\nSecond.", title="B"))
    path = repository.root / ENTRY
    text = path.read_text()
    begin, end = text.rindex("<<<<<<<"), text.rindex("\n", 0, text.index("Second.")) - 1
    path.write_text(f"{text[:begin]}The first, primo.\n{text[end:]}")
    mem("check", "--fix")
    assert "The first, primo." in path.read_text()
    assert "Premier" not in path.read_text()


def test_a_sentence_that_both_changed_stays_for_a_person_and_is_named(mem: Mem, repository: Repository) -> None:
    there = THERE.replace("First.", "Premier.")
    repository.merged(ENTRY, BASE, HERE, there)
    ran = mem("check", "--fix")
    assert ran.code == 3
    assert "merged, but for 1 place that both sides changed" in ran.err
    assert "resolve the conflict, then `git add` it" in ran.out
    text = (repository.root / ENTRY).read_text()
    assert text == BOTH.replace("Erst.\n", "<<<<<<< ours\nErst.\n=======\nPremier.\n>>>>>>> theirs\n")
    assert mem("check", "--fix").code == 1  # nothing more to do by itself


def test_history_notes_page_and_settings_are_merged_afterwards(mem: Mem, repository: Repository) -> None:
    heading = "## 2026-11-2{0}T10:00:00.000Z <!-- hist_{0} -->\n\nSaid {0}.\n"
    first, second, third = (heading.format(number) for number in "012")
    files = {
        "HISTORY-2026-11.md": (first, f"{first}\n{third}", f"{first}\n{second}", f"{first}\n{second}\n{third}"),
        "notes/2026-11-21.md": (
            "[10:00] a\n",
            "[10:00] a\n[12:00] c\n",
            "[10:00] a\n[11:00] b\n",
            "[10:00] a\n[11:00] b\n[12:00] c\n",
        ),
        "mem.yaml": ("format: 1\n", "format: 1\nsearch.limit: 8\n", "format: 1\nrecall.recency_weight: 0.2\n", None),
        "MEMORY.md": ("# Memory\n", "# Memory\n- tea\n", "# Memory\n- milk\n", "# Memory\n- tea\n- milk\n"),
    }
    repository.commit({path: texts[0] for path, texts in files.items()})
    repository.commit({path: texts[2] for path, texts in files.items()}, THEIRS)
    repository.commit({path: texts[1] for path, texts in files.items()}, OURS)
    assert not repository.merge()
    assert mem("search", "anything", "--mode", "keyword").code == 1  # our settings count meanwhile
    ran = mem("check", "--fix")
    for path, texts in files.items():
        if texts[3]:
            assert (repository.root / path).read_text() == texts[3], ran.err
    settings = (repository.root / "mem.yaml").read_text()
    assert sorted(settings.splitlines()) == ["format: 1", "recall.recency_weight: 0.2", "search.limit: 8"]


def test_two_memories_of_one_name_and_files_of_no_kind_are_left_to_a_person(mem: Mem, repository: Repository) -> None:
    repository.merged(ENTRY, None, entry("One.", id="mem_a"), entry("Two.", id="mem_b"))
    mem("check", "--fix")
    text = (repository.root / ENTRY).read_text()
    assert {"id: mem_a", "id: mem_b", "One.", "Two."} <= {*text.split("\n")}
    assert "a git conflict marker: resolve the conflict" in mem("check").out


@pytest.mark.parametrize("gone", [OURS, THEIRS])
def test_what_one_machine_deleted_and_the_other_changed_is_kept_by_sync(
    mem: Mem, repository: Repository, gone: str
) -> None:
    repository.commit({ENTRY: BASE})
    repository.commit({ENTRY: HERE if gone == THEIRS else None}, OURS)
    repository.commit({ENTRY: THERE if gone == OURS else None}, THEIRS)
    assert not repository.merge()
    ran = mem("check")
    assert ran.code == 1
    assert f"memory/{ENTRY}:1: one side put it away and the other changed it: `mem check --fix` keeps both" in ran.out
    changed = (repository.root / ENTRY).read_text()
    told = mem("check", "--fix")
    assert (told.code, told.out) == (0, "")
    assert f"mended {ENTRY}: put away on one side and changed on the other: `mem restore archive/{ENTRY}`" in told.err
    assert not repository.git("ls-files", "--unmerged")
    settled = {path.relative_to(repository.root).as_posix(): path.read_text() for path in files_of(repository)}
    assert (repository.root / f"archive/{ENTRY}").read_text() == changed
    repository.git("reset", "-q", "--hard")
    repository.git("clone", "-q", "--bare", ".", "../hub.git")
    repository.git("remote", "add", "hub", "../hub.git")
    repository.git("push", "-q", "hub", f"{THEIRS}:refs/heads/{OURS}", "--force")
    mem("trust")
    assert "git does not know who you are" in mem("sync", "--remote", "hub").err
    repository.git("config", "user.name", "Ann")
    repository.git("config", "user.email", "ann@example.org")
    assert mem("sync", "--remote", "hub").code == 0
    by_sync = {path.relative_to(repository.root).as_posix(): path.read_text() for path in files_of(repository)}
    assert by_sync == settled
    assert mem("sync", "--remote", "hub").code == 0


@pytest.mark.parametrize("moves", [OURS, THEIRS])
def test_a_forgotten_memory_that_git_did_not_see_move_is_not_doubled(
    mem: Mem, repository: Repository, moves: str
) -> None:
    text = entry("One.\n\nTwo.\n\nThree.", tags=["x"])
    long = text + "\n" + "Added before it was forgotten, so that git sees no likeness.\n" * 30
    away: dict[str, str | None] = {ENTRY: None, f"archive/{ENTRY}": long}
    changed: dict[str, str | None] = {ENTRY: text.replace("One", "Uno")}
    repository.commit({ENTRY: text})
    repository.commit(away if moves == OURS else changed, OURS)
    repository.commit(away if moves == THEIRS else changed, THEIRS)
    assert not repository.merge()
    mem("check", "--fix")
    assert not repository.git("ls-files", "--unmerged")
    assert not (repository.root / ENTRY).exists()
    assert (repository.root / "archive" / ENTRY).read_text() == long.replace("One", "Uno")


def test_a_memory_that_a_person_edited_in_the_middle_of_a_merge_is_left_to_that_person(
    mem: Mem, repository: Repository
) -> None:
    repository.commit({ENTRY: BASE})
    repository.commit({ENTRY: None}, THEIRS)
    repository.commit({ENTRY: HERE}, OURS)
    assert not repository.merge()
    (repository.root / ENTRY).write_text(HERE.replace("Erst", "Mine"))
    ran = mem("check", "--fix")
    assert "look it through, then `git add` it" in ran.out
    assert "Mine" in (repository.root / ENTRY).read_text()
    assert repository.git("ls-files", "--unmerged")


def files_of(repository: Repository) -> list[Path]:
    kept = repository.root.rglob("*")
    return [path for path in kept if path.is_file() and not {".mem", "mem.yaml"} & {*path.parts}]


def test_nothing_is_changed_by_looking_or_by_a_dry_run(mem: Mem, repository: Repository) -> None:
    found, _ = repository.merged(ENTRY, BASE, HERE, THERE)
    mem("check")
    assert "+tags: [x, there, here]" in mem("check", "--fix", "--dry-run").out
    assert (repository.root / ENTRY).read_bytes() == found


def flagged(repository: Repository) -> set[tuple[str, str]]:
    found = set()
    for path in repository.root.rglob("*.md"):
        fields = parse(path.read_text()).fields
        found |= {(str(fields["id"]), str(other)) for other in fields.get("conflicts_with") or ()}  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("keys", [("staging/port", "staging/port"), ("Staging/Port", "staging / port")])
def test_a_key_that_both_machines_filled_keeps_both_values_flagged(
    mem: Mem, repository: Repository, keys: tuple[str, str]
) -> None:
    old = entry("Staging is on 7000.", id="mem_z", key="staging/port")
    gone = {"status": "superseded", "superseded_at": "2026-11-21T11:00:00Z", "key": "staging/port", "id": "mem_z"}
    repository.commit({"entries/old.md": old})
    for branch, name, port, key in ((THEIRS, "mem_b", 7002, keys[1]), (OURS, "mem_a", 7001, keys[0])):
        repository.commit(
            {
                "entries/old.md": entry("Staging is on 7000.", **gone, superseded_by=name),
                f"entries/{name}.md": entry(f"Staging is on {port}.", id=name, key=key),
            },
            branch,
        )
    merge_driver.install(repository.root)
    assert repository.merge()
    ran = mem("check")
    assert (ran.code, ran.out.count("`mem review` asks which one holds")) == (1, 1)
    assert "both fill" in mem("review").out
    assert mem("check", "--fix").code == 0
    assert flagged(repository) == {("mem_a", "mem_b"), ("mem_b", "mem_a")}
    assert "both fill" in mem("review").out
    assert mem("check").code == 0


def test_two_memories_that_each_took_the_place_of_one_are_flagged(mem: Mem, repository: Repository) -> None:
    merge_driver.install(repository.root)
    gone = {"status": "superseded", "id": "mem_z"}
    repository.commit({"entries/old.md": entry("We meet on Monday.", id="mem_z")})
    for branch, name, hour in ((THEIRS, "mem_b", 12), (OURS, "mem_a", 11)):
        told = {**gone, "superseded_by": name, "superseded_at": f"2026-11-21T{hour}:00:00Z"}
        repository.commit(
            {
                "entries/old.md": entry("We meet on Monday.", **told),
                f"entries/{name}.md": entry(f"We meet at {hour}.", id=name),
            },
            branch,
        )
    assert repository.merge()
    assert "mem_b took the place of" not in mem("check").out
    assert "took the place of mem_z as mem_b did" in mem("check").out
    assert mem("check", "--fix").code == 0
    assert flagged(repository) == {("mem_a", "mem_b"), ("mem_b", "mem_a")}
    assert "mem_a" in mem("review").out


def test_memories_that_supersede_each_other_are_back_in_use_and_flagged(mem: Mem, repository: Repository) -> None:
    merge_driver.install(repository.root)
    texts = {"mem_a": "Port is 1.", "mem_b": "Port is 2."}
    repository.commit({f"entries/{name}.md": entry(text, id=name) for name, text in texts.items()})
    gone = {"status": "superseded", "superseded_at": "2026-11-21T11:00:00Z"}
    repository.commit({"entries/mem_a.md": entry("Port is 1.", id="mem_a", **gone, superseded_by="mem_b")}, THEIRS)
    repository.commit({"entries/mem_b.md": entry("Port is 2.", id="mem_b", **gone, superseded_by="mem_a")}, OURS)
    assert repository.merge()
    assert mem("search", "port", "--mode", "keyword").code == 1
    assert mem("check", "--fix").code == 0
    assert flagged(repository) == {("mem_a", "mem_b"), ("mem_b", "mem_a")}
    assert mem("search", "port", "--mode", "keyword").code == 0
    assert "mem_a" in mem("review").out

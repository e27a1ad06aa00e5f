"""What one machine deleted for good is gone on the others too, and takes nothing along that another memory says.

Each is tried with `mem sync` and with git alone and `mem check --fix`.
"""

import pytest

from memcli.formats.frontmatter.document import render
from tests.cli.test_purge import saying
from tests.machines import Machine, Merge, by_git, by_sync
from tests.sample import pairwise

SIDES, MERGES = ("laptop", "desktop"), (by_sync, by_git)
WAYS = pytest.mark.parametrize("merge", MERGES)
LONG = "The invoice run starts at nine on {}.\n\nIt reads the ledger of the month.\n\nIt writes one file a customer.\n"


def put(machine: Machine, name: str, body: str, identifier: str = "") -> str:
    """Make a memory as a person does in an editor, its id by its name unless told; give its path."""
    times = {"created_at": "2026-11-01T10:00:00Z", "updated_at": "2026-11-01T10:00:00Z"}
    path = machine.root / f"entries/z/{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render({"id": identifier or f"mem_{name}", "type": "fact", **times, "source": "user"}, body))
    return f"entries/z/{name}.md"


def concluded(machine: Machine) -> None:
    """Commit the merge that git began, if it did."""
    if (machine.top / ".git/MERGE_HEAD").exists():
        machine.git("commit", "-qm", "merged")


def finish(laptop: Machine, desktop: Machine) -> None:
    """Commit the merge, and exchange until both have the same, of which nothing is wrong."""
    concluded(desktop)
    for machine in (desktop, laptop, desktop):
        machine.sync()
    assert laptop.texts() == desktop.texts()
    assert laptop.mem("check").out == desktop.mem("check").out == ""


@pytest.mark.parametrize(("name", "edits", "merge"), pairwise(["01bb", "01aa"], SIDES, MERGES))
def test_an_edit_stays_with_its_memory_where_a_new_one_reads_like_it(
    laptop: Machine, desktop: Machine, merge: Merge, edits: str, name: str
) -> None:
    """git takes the new memory for the deleted one, renamed; or it stands under the same name."""
    path = put(laptop, "01aa", LONG.format("weekdays"))
    put(laptop, "01cc", "Backups go to Ghent.")
    laptop.sync()
    desktop.sync()
    one, other = (laptop, desktop) if edits == "laptop" else (desktop, laptop)
    (other.root / path).unlink()
    new = put(other, name, LONG.format("weekends"), "mem_01bb")
    before = (other.root / new).read_text()
    (one.root / path).write_text((one.root / path).read_text() + "\nIt takes an hour.\n")
    edited = (one.root / path).read_text()
    told = merge(laptop, desktop)
    finish(laptop, desktop)
    assert (desktop.root / new).read_text() == before
    assert (desktop.root / path).exists() == (new == path)
    assert (desktop.root / f"archive/{path}").read_text() == edited
    assert f"mem restore archive/{path}" in told


def deleted(machine: Machine, path: str, way: str) -> None:
    """Delete a memory for good, or as who knows files alone does."""
    if way == "purged":
        machine.mem("forget", "--purge", path)
    else:
        (machine.root / path).unlink()


def promoted(machine: Machine, path: str) -> str:
    """Promote a memory; give its id."""
    name = str(machine.mem("read", path, "--json").json["id"])
    machine.mem("promote", name)
    return name


@pytest.mark.parametrize(("way", "deletes", "merge"), pairwise(["purged", "removed by hand"], SIDES, MERGES))
def test_the_promoted_line_of_what_the_other_machine_deleted_leaves_the_page(
    laptop: Machine, desktop: Machine, merge: Merge, deletes: str, way: str
) -> None:
    path = laptop.write("Always run the linter before a commit.")
    laptop.sync()
    desktop.sync()
    one, other = (laptop, desktop) if deletes == "laptop" else (desktop, laptop)
    deleted(one, path, way)
    name = promoted(other, path)
    told = merge(laptop, desktop)
    assert "linter" not in (desktop.root / "MEMORY.md").read_text()
    # Where git alone merged, the next command that looks at the entry brings the page in step and has nothing to say.
    assert f"the promoted line of {name} taken off" in told or merge is by_git
    finish(laptop, desktop)
    assert "linter" not in (laptop.root / "MEMORY.md").read_text()


@pytest.mark.parametrize("merge", [True, False])
def test_a_promoted_line_goes_after_a_plain_pull_too_that_nothing_else_follows(
    laptop: Machine, desktop: Machine, merge: bool
) -> None:
    path = laptop.write("Always run the linter before a commit.")
    laptop.sync()
    desktop.sync()
    promoted(desktop, path)
    if merge:
        desktop.commit("mine")
    else:
        desktop.sync()
        laptop.git("pull", "-q")
    deleted(laptop, path, "removed by hand")
    laptop.git("commit", "-aqm", "away with it")
    laptop.git("push", "-q")
    desktop.git("pull", "-q", "--no-rebase", "--no-edit")
    assert "linter" in (desktop.root / "MEMORY.md").read_text()
    desktop.sync()
    assert "linter" not in (desktop.root / "MEMORY.md").read_text()
    finish(laptop, desktop)


@WAYS
@pytest.mark.parametrize("way", ["unreadable", "not in git", "changed by hand"])
def test_a_promoted_line_stays_that_may_have_a_memory_or_is_a_persons(
    laptop: Machine, desktop: Machine, merge: Merge, way: str
) -> None:
    path = laptop.write("Always run the linter before a commit.")
    page, file = desktop.root / "MEMORY.md", laptop.root / path
    if way == "not in git":
        (laptop.root / path).parent.joinpath(".gitignore").write_text("*linter*\n")
        name = promoted(laptop, path)
    laptop.sync()
    desktop.sync()
    if way != "not in git":
        name = promoted(desktop, path)
    if way == "unreadable":
        (laptop.root / "entries/odd.md").write_text(file.read_text().replace("---\n", "---\ntags: [a\n", 1))
    if way == "changed by hand":
        page.write_text(page.read_text().replace("a commit", "every commit"))
    if way != "not in git":
        deleted(laptop, path, "removed by hand")
    desktop.write("Backups run at three.")
    merge(laptop, desktop)
    concluded(desktop)
    desktop.sync()
    assert "the linter before" in page.read_text()
    assert f"the promoted {name} is not there" in desktop.run("check", "--workspace", str(desktop.root)).out


def kept(machine: Machine, *words: str) -> list[str]:
    """Return the files of a machine, git's own left out, that have one of some words in their text or name."""
    return [path for path in saying(machine.top, *words) if not path.startswith(".git/")]


@pytest.fixture
def secretive(laptop: Machine, desktop: Machine) -> str:
    """Write a memory that the second machine changed and promoted, which it could take back; give its path."""
    path = laptop.write("The vault of Ines opens with otter.\n\nShe wrote it down in Porto.", "--path", "key.md")
    finish(laptop, desktop)
    desktop.mem("edit", path, "--replace", "otter", "zebra")
    name = promoted(desktop, path)
    desktop.mem("promote", "--demote", name)
    desktop.mem("search", "vault")
    finish(laptop, desktop)
    assert any(path.startswith(".mem/undo/") for path in kept(desktop, "otter"))
    return path


@WAYS
def test_of_what_the_other_machine_purged_no_word_stays_in_the_notes_of_undo_or_the_index(
    laptop: Machine, desktop: Machine, merge: Merge, secretive: str
) -> None:
    desktop.write("Backups run at three.")
    laptop.mem("forget", "--purge", secretive)
    merge(laptop, desktop)
    finish(laptop, desktop)
    assert kept(laptop, "otter", "zebra", "Porto") == kept(desktop, "otter", "zebra", "Porto") == []


@pytest.mark.parametrize("line", ['id: "mem_01aa"', "uuid: mem_01aa", "id: mem_01aa # vault"])
def test_the_notes_of_undo_are_rid_of_it_however_its_id_is_spelled(
    laptop: Machine, desktop: Machine, line: str
) -> None:
    (laptop.root / "entries/key.md").write_text(f"---\n{line}\n---\n\nThe vault of Ines opens with otter.\n")
    finish(laptop, desktop)
    desktop.mem("edit", "mem_01aa", "--replace", "otter", "zebra")
    finish(laptop, desktop)
    laptop.mem("forget", "--purge", "mem_01aa")
    finish(laptop, desktop)
    assert kept(desktop, "otter", "zebra") == []


def test_a_page_that_could_be_taken_back_loses_the_line_of_what_is_purged(laptop: Machine) -> None:
    path = laptop.write("The vault of Ines opens with zebra.\n\nShe wrote it down in Porto.", "--path", "key.md")
    promoted(laptop, path)
    laptop.mem("note", "A line.")
    laptop.mem("forget", "--purge", path)
    assert kept(laptop, "zebra") == []


SAME = {
    "put away": ("forget", "key.md"),
    "superseded": ("supersede", "key.md", "other.md"),
    "confirmed": ("write", "The vault of Ines opens with zebra."),
    "flagged": ("edit", "key.md", "--set", "conflicts_with=mem_other"),
    "moved": (),
}
"""What leaves the words of a memory as they are."""


@pytest.mark.parametrize(("what", "deletes", "merge"), pairwise(list(SAME), SIDES, MERGES))
def test_a_deletion_holds_against_what_leaves_the_words_as_they_are(
    laptop: Machine, desktop: Machine, merge: Merge, what: str, deletes: str
) -> None:
    path = laptop.write("The vault of Ines opens with otter.", "--path", "key.md")
    laptop.write("Backups run at three.", "--path", "other.md")
    laptop.sync()
    desktop.sync()
    one, other = (laptop, desktop) if deletes == "laptop" else (desktop, laptop)
    other.mem("edit", path, "--replace", "otter", "zebra")
    for machine in (other, one, other):
        machine.sync()
    one.mem("forget", "--purge", path)
    if what == "moved":
        (other.root / path).rename(other.root / "entries/safe.md")
    elif what == "flagged":
        file = other.root / path
        file.write_text(file.read_text().replace("\n---\n", "\nconflicts_with: [mem_other]\n---\n", 1))
    else:
        other.mem(*SAME[what])
    desktop.write("Tea is served at four.")
    told = merge(laptop, desktop)
    for machine in (laptop, desktop):
        machine.write(f"The kettle of the {machine.root.name} is blue.")
    concluded(desktop)
    for machine in (desktop, laptop, desktop):
        machine.sync()
    assert laptop.texts() == desktop.texts()
    for machine in (laptop, desktop):
        assert kept(machine, "zebra", "otter") == []
        assert not any("key.md" in file.read_text() for file in (machine.root / "archive").rglob("*.tsv"))
    assert what in ("flagged", "confirmed") or "deleted on one side and" in told


@pytest.mark.parametrize("deletes", ["laptop", "desktop"])
def test_a_memory_whose_successor_the_other_machine_deleted_is_named(
    laptop: Machine, desktop: Machine, deletes: str
) -> None:
    old, new = laptop.write("The port is 7000."), laptop.write("Staging listens elsewhere now, on 7001.")
    laptop.sync()
    desktop.sync()
    one, other = (laptop, desktop) if deletes == "laptop" else (desktop, laptop)
    one.mem("forget", "--purge", new)
    other.mem("supersede", old, new)
    assert f"`mem restore {old}` brings it back" in by_sync(laptop, desktop)
    desktop.mem("restore", old)
    finish(laptop, desktop)
    assert old in laptop.mem("ls").out


@pytest.mark.parametrize(("way", "deletes", "merge"), pairwise(["forget", "supersede", ""], SIDES, MERGES))
def test_words_that_the_other_machine_changed_are_kept_and_told(
    laptop: Machine, desktop: Machine, merge: Merge, way: str, deletes: str
) -> None:
    path = laptop.write("The vault of Ines opens with otter.", "--path", "key.md")
    later = laptop.write("Backups run at three.")
    laptop.sync()
    desktop.sync()
    one, other = (laptop, desktop) if deletes == "laptop" else (desktop, laptop)
    one.mem("forget", "--purge", path)
    other.mem("edit", path, "--replace", "otter", "zebra")
    if way:
        other.mem(way, path, *[later] * (way == "supersede"))
    desktop.write("Tea is served at four.")
    told = merge(laptop, desktop)
    finish(laptop, desktop)
    for machine in (laptop, desktop):
        assert "with zebra." in (machine.root / f"archive/{path}").read_text()
    assert f"{path}:" in told


@WAYS
def test_a_comment_that_a_person_put_into_a_memory_purged_elsewhere_is_not_lost(
    laptop: Machine, desktop: Machine, merge: Merge
) -> None:
    path = put(laptop, "01aa", "Backups go to Ghent.")
    put(laptop, "01cc", "Lena prefers tabs.")
    laptop.sync()
    desktop.sync()
    laptop.mem("forget", "--purge", path)
    text = (desktop.root / path).read_text().replace("type: fact", "# ask Kai first\ntype: fact")
    (desktop.root / path).write_text(text)
    told = merge(laptop, desktop)
    assert (desktop.root / f"archive/{path}").read_text() == text
    assert f"mem restore archive/{path}" in told

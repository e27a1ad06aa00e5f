"""What one machine deleted for good is gone on the others too, and takes nothing along that another memory says.

Each is tried with `mem sync` and with git alone and `mem check --fix`.
"""

import pytest

from memcli.formats.frontmatter.document import render
from tests.machines import Machine, Merge, by_git, by_sync

WAYS = pytest.mark.parametrize("merge", [by_sync, by_git])
LONG = "The invoice run starts at nine on {}.\n\nIt reads the ledger of the month.\n\nIt writes one file a customer.\n"


def put(machine: Machine, name: str, body: str, identifier: str = "") -> str:
    """Make a memory as a person does in an editor, its id by its name unless told; give its path."""
    times = {"created_at": "2026-11-01T10:00:00Z", "updated_at": "2026-11-01T10:00:00Z"}
    path = machine.root / f"entries/z/{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render({"id": identifier or f"mem_{name}", "type": "fact", **times, "source": "user"}, body))
    return f"entries/z/{name}.md"


def finish(laptop: Machine, desktop: Machine) -> None:
    """Commit the merge that git began, if it did, and exchange until both have the same, of which nothing is wrong."""
    if (desktop.top / ".git/MERGE_HEAD").exists():
        desktop.git("commit", "-qm", "merged")
    for machine in (desktop, laptop, desktop):
        machine.sync()
    assert laptop.texts() == desktop.texts()
    assert laptop.mem("check").out == desktop.mem("check").out == ""


@WAYS
@pytest.mark.parametrize("edits", ["laptop", "desktop"])
@pytest.mark.parametrize("name", ["01bb", "01aa"])
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

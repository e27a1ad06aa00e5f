"""What has one right answer is mended, and not a byte more than that changes."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.beliefs.plan import Plan, applied
from memcli.formats.frontmatter import document
from memcli.formats.ids import created, is_id
from memcli.maintenance.checks import check, mend_plan
from memcli.store.workspace import Workspace
from tests.scenes import at


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def put(workspace: Workspace, path: str, data: bytes) -> Path:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    os.utime(file, (1_790_000_000, 1_790_000_000))
    return file


def proposed(workspace: Workspace) -> Plan:
    found = check(workspace)
    return mend_plan(workspace, found.readings, found.faults)


def mended(workspace: Workspace) -> Plan:
    plan = proposed(workspace)
    applied(workspace, plan, "test")
    return plan


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (b"Just words.\n", b"\nJust words.\n"),
        (b"\xef\xbb\xbf# Title\r\n\r\nWords.\r\n", b"\r\n# Title\r\n\r\nWords.\r\n"),
    ],
)
def test_a_file_without_frontmatter_gets_an_id_and_the_time_it_had(
    workspace: Workspace, before: bytes, body: bytes
) -> None:
    path = put(workspace, "entries/plain.md", before)
    mended(workspace)
    text = path.read_bytes()
    fields = document.parse(text.decode()).fields
    assert list(fields) == ["id", "created_at"]
    assert is_id(str(fields["id"]))
    assert fields["created_at"] == "2026-09-21T14:13:20Z"
    assert created(str(fields["id"])) == datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC)
    assert text.startswith(before[:3]) is before.startswith(b"\xef\xbb\xbf")
    assert text.endswith(body)
    assert not proposed(workspace)


def test_a_file_with_frontmatter_gets_the_one_line(workspace: Workspace) -> None:
    head = b"---\n# mine\ntags: [a,  b]\ncreated: 2026-01-02\n"
    path = put(workspace, "entries/a.md", head + b"---\n\nWords.\n")
    mended(workspace)
    assert path.read_bytes().startswith(head + b"id: mem_01kd")
    assert path.read_bytes().count(b"\n") == head.count(b"\n") + 4


def test_the_second_of_two_files_with_one_id_gets_another(workspace: Workspace) -> None:
    text = b"---\nid: mem_a  # the id\ncreated_at: 2026-11-0%dT00:00:00Z\n---\n\nWords.\n"
    first = put(workspace, "entries/b.md", text % 1)
    second = put(workspace, "entries/a.md", text % 2)
    third = put(workspace, "archive/entries/b.md", text % 1)
    plan = mended(workspace)
    assert sorted(step.path for step in plan.steps) == ["archive/entries/b.md", "entries/a.md"]
    assert first.read_bytes() == text % 1
    ids = [document.parse(path.read_text()).fields["id"] for path in (first, second, third)]
    assert len(set(ids)) == 3
    assert b"  # the id\n" in second.read_bytes()
    assert check(workspace).faults == ()


def test_history_is_sorted(workspace: Workspace) -> None:
    path = put(
        workspace,
        "HISTORY-2026-11.md",
        b"## 2026-11-02T10:00:00Z <!-- hist_b -->\n\nb\n\n## 2026-11-01T10:00:00Z <!-- hist_a -->\n\na\n",
    )
    plan = mended(workspace)
    assert plan.reasons == ("HISTORY-2026-11.md: its records sorted by time, doubles left out",)
    assert path.read_text() == (
        "## 2026-11-01T10:00:00Z <!-- hist_a -->\n\na\n\n## 2026-11-02T10:00:00Z <!-- hist_b -->\n\nb\n"
    )


def test_what_needs_a_person_is_left_alone(workspace: Workspace) -> None:
    texts = {
        "entries/a.md": b"---\ntitle: a: b\n---\nx\n",
        "entries/b.md": b"---\nid: b\nsuperseded_by: gone\ntrust: 7\n---\nx [[gone]]\n",
        "entries/c.md": b"x\n<<<<<<< a\n=======\n>>>>>>> b\n",
        "entries/d.md": b"---\n{type: fact, tags: [x]}\n---\nx\n",
        "entries/e.md": b"\xff\n",
        "MEMORY.md": b"<!-- mem:keep -->\n",
    }
    for path, data in texts.items():
        put(workspace, path, data)
    assert not mended(workspace)
    assert {path: (workspace.root / path).read_bytes() for path in texts} == texts


def test_files_of_another_tools_folder_are_given_nothing(tmp_path: Path) -> None:
    workspace = at(tmp_path / "memory", MEM_LAYOUT="claude")
    put(workspace, "user_role.md", b"---\nname: Role\n---\nx\n")
    put(workspace, "plain.md", b"x\n")
    assert not proposed(workspace)


def test_the_same_file_gets_the_same_id_when_the_plan_is_made_again(tmp_path: Path) -> None:
    workspace = at(tmp_path / "memory", MEM_SEED="7")
    put(workspace, "entries/plain.md", b"Just words.\n")
    put(workspace, "entries/other.md", b"Other words.\n")
    one, two = proposed(workspace), proposed(workspace)
    assert one == two
    assert len({reason.rpartition(" ")[2] for reason in one.reasons}) == 2

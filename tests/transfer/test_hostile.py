"""Damaged and hostile sources: each bad item is named, and the others are imported."""

import io
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.api import add_gates
from memcli.errors import UsageError
from memcli.formats.json_stream import CutOffError, JsonStream, LongValue
from memcli.store.workspace import Workspace
from memcli.transfer import files, records
from memcli.transfer.importer import ImportResult, import_source
from memcli.transfer.items import open_source
from tests.helpers import make_workspace

YAML_BOMB = "---\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join(['*' + before] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return add_gates(make_workspace(tmp_path))


def pack(files: dict[str, str | bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def import_bytes(workspace: Workspace, tmp_path: Path, name: str, data: bytes) -> ImportResult:
    path = tmp_path / name
    path.write_bytes(data)
    return import_source(workspace, open_source(path, name))


def list_texts(workspace: Workspace) -> set[str]:
    return {path.read_text().strip() for path in workspace.root.rglob("entries/**/*.md")}


BAD_FILES: dict[str, tuple[str, str | bytes]] = {
    "leads out": ("../out.md", "x"),
    "is absolute": ("/abs.md", "x"),
    "is on a drive": ("C:\\win.md", "x"),
    "leads back": ("a\\..\\..\\b.md", "x"),
    "long name": ("n" * 300 + ".md", "x"),
    "long folder": ("d" * 260 + "/x.md", "x"),
    "control character": ("esc\x1b[31m.md", "x"),
    "bomb": ("bomb.md", b"0" * 30_000_000),
    "binary": ("binary.md", bytes(range(256)) * 100),
    "secret": ("secret.md", "The key is ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n"),
    "conflict": ("conflict.md", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"),
    "file and folder": ("good.md/inner.md", "x"),
    "no archive": ("broken.zip", b"PK\x03\x04garbage"),
    "nested too often": ("1.zip", pack({"2.zip": pack({"3.zip": pack({"4.md": "x"})})})),
    "cut lines": ("cut.jsonl", '{"memory": "Inner.", "user_id": "a"}\n{"memory": "cu'),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_in_an_archive_is_named(workspace: Workspace, tmp_path: Path, case: str) -> None:
    name, content = BAD_FILES[case]
    data = pack({"good.md": "Good.\n", name: content, "z/last.md": "Last.\n"})
    before = {path for path in tmp_path.rglob("*") if workspace.root not in path.parents}
    result = import_bytes(workspace, tmp_path, "evil.zip", data)
    assert len(result.rejected) == 1, result
    assert {"Good.", "Last."} <= list_texts(workspace)
    after = {path for path in tmp_path.rglob("*") if workspace.root not in path.parents}
    assert after - before <= {tmp_path / "evil.zip"}


@pytest.mark.parametrize(
    "head", ["tags: [water, [garden\n", YAML_BOMB.removeprefix("---\n"), f"a: {'[' * 5000}\n"]
)
def test_a_note_with_unreadable_frontmatter_stays_whole(
    workspace: Workspace, tmp_path: Path, head: str
) -> None:
    note = f"---\n{head}---\n\nThe valve leaks.\n"
    result = import_bytes(workspace, tmp_path, "n.zip", pack({"a.md": note, "b.md": "Good.\n"}))
    assert result.imported == {"entry": 2} and "a.md:" in result.messages[0]
    assert list_texts(workspace) == {note.strip(), "Good."}


def test_rules_in_a_note_are_not_frontmatter(workspace: Workspace, tmp_path: Path) -> None:
    note = "# Plan\n\n---\n\n**Week 1**: dig [the pond\n\n---\n\nEnd.\n"
    result = import_bytes(workspace, tmp_path, "n.zip", pack({"a.md": note}))
    assert result.imported == {"entry": 1} and not result.messages
    assert list_texts(workspace) == {note.strip()}


def test_links_and_pipes_are_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "good.md").write_text("Good.\n")
    (tmp_path / "outside.md").write_text("Outside.\n")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    result = import_source(workspace, open_source(folder, "notes"))
    assert [item.place for item in result.rejected] == ["link.md", "loop"]
    assert list_texts(workspace) == {"Good."}
    link = zipfile.ZipInfo("link.md")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "l.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("b.md", "Other.\n")
    result = import_source(workspace, open_source(tmp_path / "l.zip", "l.zip"))
    assert len(result.rejected) == 1 and list_texts(workspace) == {"Good.", "Other."}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "latin-1", "utf-32"])
@pytest.mark.parametrize("name", ["x.json", "x.csv", "x.zip"])
def test_other_encodings(workspace: Workspace, tmp_path: Path, encoding: str, name: str) -> None:
    texts = {
        "x.json": json.dumps([{"memory": "João café", "user_id": "a"}], ensure_ascii=False),
        "x.csv": "text,tags\nJoão café,x\n",
        "x.zip": "João café\n",
    }
    data = texts[name].encode(encoding)
    data = pack({"a.md": data}) if name == "x.zip" else data
    result = import_bytes(workspace, tmp_path, name, data)
    assert any("João café" in text for text in list_texts(workspace)), result
    assert bool(result.messages) == (encoding == "latin-1")


def test_names_of_a_zip_without_the_mark_of_utf8(workspace: Workspace, tmp_path: Path) -> None:
    data = pack({"caf\u251c\u2310.md": "Coffee.\n"})  # as zipfile reads what Info-ZIP writes
    import_bytes(workspace, tmp_path, "x.zip", data)
    assert (workspace.root / "entries/x/café.md").is_file()


def test_an_export_that_is_cut_yields_its_whole_records(
    workspace: Workspace, tmp_path: Path
) -> None:
    data = {"results": [{"memory": f"Fact {n}.", "user_id": "a", "id": str(n)} for n in range(5)]}
    result = import_bytes(workspace, tmp_path, "x.json", json.dumps(data, indent=1).encode()[:-60])
    assert result.imported == {"entry": 4} and [item.place for item in result.rejected] == [
        "item 5"
    ]


def test_bad_lines_do_not_stop_the_others(workspace: Workspace, tmp_path: Path) -> None:
    good = '{"memory": "Number %d.", "user_id": "a"}'
    bad = ["not json", "[]", '{"x": 1}', '"text"', "[" * 100_000, '{"memory": "\\ud800", "user_id": "a"}', '{"memory": "a\\u0000b", "user_id": "a"}']  # fmt: skip
    lines = [good % 1, *bad, good % 2, '{"memory": "cut']
    result = import_bytes(workspace, tmp_path, "x.jsonl", "\n".join(lines).encode())
    assert result.imported == {"entry": 2} and len(result.rejected) == len(bad) + 1


def test_long_lines_and_values_are_skipped(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LARGEST_TEXT_LINE", 1000)
    monkeypatch.setattr("memcli.transfer.items.LARGEST_TEXT_LINE", 1000)
    monkeypatch.setattr(files, "LARGEST_FILE", 1000)
    texts = ["First", 'long " \\ [' * 20_000, "Last"]
    values = [json.dumps({"memory": text, "user_id": "a"}) for text in texts]
    sources = {
        "x.jsonl": "\n".join(values).encode(),
        "x.json": f"[\n{', '.join(values)}]".encode(),
        "x.csv": "\n".join(
            ["text,tags", "First csv,a", "long " * 9999 + ",b", "Last csv,c"]
        ).encode(),
        "x.zip": pack({"a.md": "A.\n", "b.md": "b " * 9999, "c.md": "C.\n"}),
    }
    for name, data in sources.items():
        result = import_bytes(workspace, tmp_path, name, data)
        assert len(result.rejected) == 1, result
        assert sum(result.imported.values()) + result.unchanged == 2, result


@pytest.mark.parametrize("path", ["entries/" + "n" * 300 + ".md", "entries/" + "d" * 200 + "/" + ("e" * 200 + "/") * 25 + "x.md", "entries/good.md/x.md"])  # fmt: skip
def test_a_path_that_no_disk_takes_stops_nothing(
    workspace: Workspace, tmp_path: Path, path: str
) -> None:
    paths = ["entries/good.md", path, "entries/last.md"]
    lines = [
        json.dumps({"path": item, "text": f"In {number}.\n"}) for number, item in enumerate(paths)
    ]
    result = import_bytes(workspace, tmp_path, "x.jsonl", "\n".join(lines).encode())
    assert len(result.rejected) == 1 and list_texts(workspace) == {"In 0.", "In 2."}


@pytest.mark.parametrize("name", [".notes", "my.vault", "-"])
def test_notes_are_below_a_visible_name(workspace: Workspace, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "a.md").write_text("One.\n")
    import_source(workspace, open_source(folder, ".."))
    stored = {".notes": "notes", "-": "imported"}.get(name, name)
    assert (workspace.root / f"entries/{stored}/a.md").is_file()


def test_an_archive_from_standard_input(workspace: Workspace, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, pack({"a.md": "One.\n", "b.md": "Two.\n"}))
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        import_source(workspace, open_source(tmp_path / "-", "-", stream))
    assert list_texts(workspace) == {"One.", "Two."}


def test_a_file_without_a_name_stops_nothing(workspace: Workspace, tmp_path: Path) -> None:
    # Python ends the name of a file at a zero.
    data = pack({"a.md": "One.\n", "b.md": "Two.\n"}).replace(b"b.md", b"\0.md")
    assert import_bytes(workspace, tmp_path, "notes.zip", data).imported == {"entry": 1}


def test_a_name_that_is_not_utf8_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    Path(os.fsdecode(bytes(folder) + b"/bad\xff.md")).write_text("Bad.\n")
    result = import_source(workspace, open_source(folder, "notes"))
    assert [item.reason for item in result.rejected] == ["its name is not UTF-8"]


def test_a_changed_note_stays(workspace: Workspace, tmp_path: Path) -> None:
    data = pack({"a.md": "One.\n", "b.md": "Two.\n"})
    import_bytes(workspace, tmp_path, "x.zip", data)
    (workspace.root / "entries/x/a.md").write_text("Mine.\n")
    result = import_bytes(workspace, tmp_path, "x.zip", data)
    assert [item.place for item in result.rejected] == ["a.md"] and not result.imported
    assert list_texts(workspace) == {"Mine.", "Two."}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=10,
)


@given(st.lists(JSON_VALUES), st.integers(0, 400))
def test_a_stream_yields_whole_values_of_any_document(values: list[Any], cut: int) -> None:
    text = json.dumps(values)
    assert list(JsonStream(io.StringIO(text)).read_items()) == values
    padded = " " * (65_535 - cut) + text  # a piece ends in it
    assert list(JsonStream(io.StringIO(padded)).read_items()) == values
    read: list[Any] = []
    stream = JsonStream(io.StringIO(text[:cut]), longest=50, skips_long=True)
    try:
        read += stream.read_items()
    except CutOffError:
        assert cut < len(text)
    for item, value in zip(read, values, strict=False):
        assert item == value or isinstance(item, LongValue)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from([b"", b"{", b"[{", b'{"results": [', b"---\n", b"PK\x03\x04", b"SQLite format 3\0", b"text,tags\n"]),
    st.binary(max_size=300),
    st.sampled_from(["x.json", "x.jsonl", "x.csv", "x.db", "x.zip", "x.md"]),
)  # fmt: skip
def test_any_bytes_end_in_a_result(
    workspace: Workspace, tmp_path: Path, start: bytes, data: bytes, name: str
) -> None:
    try:
        import_bytes(workspace, tmp_path, name, start + data)
    except UsageError:
        pass  # no format that mem knows


def test_lines_with_many_times_end_soon(workspace: Workspace, tmp_path: Path) -> None:
    note = "[10:30] " * 40 + "\nNo time.\n"
    result = import_bytes(workspace, tmp_path, "n.zip", pack({"2026-01-01.md": note}))
    assert result.imported == {"entry": 1}


@pytest.mark.parametrize("text", ["[" * 900 + '{"memory": "Deep."}' + "]" * 900, '{"data": 1.5}'])
def test_odd_documents_are_in_no_format(workspace: Workspace, tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        import_bytes(workspace, tmp_path, "odd.json", text.encode())


def test_conversations_of_a_folder_stay_apart(workspace: Workspace, tmp_path: Path) -> None:
    files = {
        f"{name}.jsonl": "".join(
            json.dumps({"type": role, "message": {"role": role, "content": text}}) + "\n"
            for role, text in (("user", "Hello."), ("assistant", f"I am {name}."))
        )
        for name in ("a", "b")
    }
    import_bytes(workspace, tmp_path, "talks.zip", pack(files))
    for name, text in files.items():
        import_bytes(workspace, tmp_path, name, text.encode())
    sessions = [path.read_text() for path in workspace.root.glob("sessions/*/session.jsonl")]
    assert sorted(text.count("\n") for text in sessions) == [2, 2]

"""Merging two versions of a file: by field, record and line, and the same from both sides."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memcli.formats import frontmatter
from memcli.formats.entry import Entry, format_entry
from memcli.index import open_index
from memcli.sync.merge import build_copy_path, merge_file
from memcli.sync.report import Item, find_new_conflicts
from tests.helpers import make_workspace, put

ID, OTHER = "mem_01m8h0h7p0hs5xrq", "mem_01m8h0k290vrjg37"
DAY = "2026-11-20T10:00:00Z"


def build(body: str = "The server is in Oslo.\n\nIt runs Debian.", **fields: object) -> str:
    return format_entry(Entry(ID, body, source="user", trust=1.0, created_at=DAY, **fields))  # type: ignore[arg-type]


def merge(
    kind: str, base: str | None, ours: str | None, theirs: str | None, path: str = "entries/a.md"
):  # type: ignore[no-untyped-def]
    """Merge, and check that the other machine makes the same file."""
    merged = merge_file(kind, path, base, ours, theirs)
    assert merge_file(kind, path, base, theirs, ours) == merged
    return merged


def test_both_sides_change_fields_and_different_lines() -> None:
    ours = build("The server is in Bergen.\n\nIt runs Debian.", tags=("a",), strength=3)
    theirs = build(
        "The server is in Oslo.\n\nIt runs Ubuntu.", tags=("b",), strength=2, pinned=True
    )
    merged = merge("entry", build(), ours, theirs)
    document = frontmatter.parse(merged.text)
    assert document.body.strip() == "The server is in Bergen.\n\nIt runs Ubuntu."
    assert sorted(document.fields["tags"]) == ["a", "b"]
    assert (document.fields["strength"], document.fields["pinned"]) == (4, True)
    assert (merged.conflict, merged.copy) == ("", "")


def test_two_wordings_of_one_line_become_two_memories_that_disagree() -> None:
    older = build("The server is in Bergen.", updated_at="2026-11-21T10:00:00Z", key="server")
    newer = build("The server is in Rome.", updated_at="2026-11-22T10:00:00Z", tags=("x",))
    merged = merge("entry", build("The server is in Oslo."), older, newer)
    assert "Rome" in merged.text and "Bergen" not in merged.text
    copy = frontmatter.parse(merged.copy).fields
    assert "Bergen" in merged.copy and copy["conflicts_with"] == [ID] and copy["id"] != ID
    assert merged.conflict
    forgotten = older.replace("source:", f"status: forgotten\nforgotten_at: {DAY}\nsource:")
    merged = merge("entry", build("The server is in Oslo."), forgotten, newer)
    assert "forgotten_at" in merged.text and "forgotten_at" in merged.copy
    assert not merged.conflict, "nobody has to decide about a forgotten memory"


def test_a_forgetting_wins_and_a_restored_memory_stays_restored() -> None:
    forgotten = build(status="forgotten", forgotten_at="2026-11-21T10:00:00Z", reason="asked to")
    again = build(status="forgotten", forgotten_at="2026-11-23T10:00:00Z", reason="again")
    superseded = build(superseded_by=OTHER)
    assert "forgotten_at: 2026-11-21" in merge("entry", build(), forgotten, superseded).text
    assert (
        "forgotten"
        not in merge(
            "entry",
            forgotten,
            build(),
            build(
                strength=2,
                status="forgotten",
                forgotten_at="2026-11-21T10:00:00Z",
                reason="asked to",
            ),
        ).text
    )
    assert "forgotten_at: 2026-11-23" in merge("entry", forgotten, build(), again).text


def test_comments_and_unknown_keys_stay() -> None:
    base = f"---\nid: {ID}\nrating: 3\n# mine\nsource: user\n---\n\nOne.\n"
    ours = base.replace("rating: 3", "rating: 4  # better")
    theirs = base.replace("# mine", "# mine\n# theirs").replace("One.", "One.\n\nTwo.")
    text = merge("entry", base, ours, theirs).text
    for part in ("rating: 4  # better", "# mine", "# theirs", "Two."):
        assert part in text


def test_two_memories_under_one_name_stay_two() -> None:
    other = build("Another memory.").replace(ID, OTHER)
    merged = merge("entry", None, build(), other)
    assert {ID in merged.text, OTHER in merged.copy} == {True}


def test_a_frontmatter_that_does_not_parse_loses_no_line() -> None:
    base = "---\ntags: [x\n---\n\nFirst.\n"
    merged = merge("entry", base, base.replace("First", "Erst"), base.replace("First", "Premier"))
    assert "Erst." in merged.text and "Premier." in merged.text and merged.conflict


HISTORY = "## 2026-11-20T1{0}:00:00Z <!-- hist_{0} -->\n\n[2026-11-20 1{0}:00] Record {0}.\n\n"


def test_records_of_both_sides_are_there_once_by_time_and_deleted_ones_stay_deleted() -> None:
    one, two, three, four = (HISTORY.format(number) for number in (1, 2, 3, 4))
    merged = merge("history", one + two, one + two + four, two + three, "HISTORY-2026-11.md")
    assert merged.text == two + three + four
    notes = merge(
        "note",
        "[10:00] a\n[11:00] b\n",
        "[11:00] b\n[11:30] c\n",
        "[10:00] a\n[11:00] b\n[10:59] d\n",
    )
    assert notes.text.splitlines() == ["[11:00] b", "[10:59] d", "[11:30] c"]
    assert merge("note", "[10:00] a\n", None, "[10:00] a\n").text is None


def test_two_purges_in_one_note_both_stay_purged() -> None:
    base = "[10:00] lunch: the key is red. And the code is blue.\n"
    ours, theirs = base.replace("the key is red", ""), base.replace("the code is blue", "")
    assert merge("note", base, ours, theirs).text == "[10:00] lunch: . And .\n"
    assert merge("note", base, "", theirs).text is None
    page = merge("memory", "# A\n" + base, "# A\n" + ours, "# A\n" + theirs, "MEMORY.md").text
    assert "red" not in page and "blue" not in page
    event = json.dumps({"id": "e1", "content": "the key is red. And the code is blue."}) + "\n"
    ours, theirs = (
        event.replace("the key is red", "[purged]"),
        event.replace("the code is blue", "[purged]"),
    )
    merged = merge("session", event, ours, theirs, "sessions/s/session.jsonl").text
    assert json.loads(merged)["content"] == "[purged]. And [purged]."


def test_two_purges_in_a_long_record_both_stay_purged() -> None:
    filler = " ".join(f"Record {number} is about the garden." for number in range(800))
    base = HISTORY.format(1).strip() + f" The key is red. {filler} The code is blue.\n\n"
    ours, theirs = base.replace(" The key is red.", ""), base.replace(" The code is blue.", "")
    merged = merge("history", base, ours, theirs, "HISTORY-2026-11.md").text
    assert merged == base.replace(" The key is red.", "").replace(" The code is blue.", "")
    # Comparing so many equal sentences takes minutes, so the side with the longer purge stays.
    base = f"[10:00] {'Ha. ' * 5_000}\n"
    ours, theirs = base.replace("Ha. Ha. Ha. ", "Ha. ", 1), base.replace("Ha. Ha. ", "Ha. ", 1)
    assert merge("note", base, ours, theirs).text == ours


def test_a_page_has_the_lines_of_both_sides() -> None:
    base = "# Memory\n\n- a\n- b\n"
    merged = merge(
        "memory", base, base + "- ours\n", base.replace("- a\n", "") + "- theirs\n", "MEMORY.md"
    )
    assert sorted(merged.text.split("\n")[2:-1]) == ["- b", "- ours", "- theirs"]
    assert not merged.conflict
    merged = merge(
        "memory", base, base.replace("- a", "- x"), base.replace("- a", "- y"), "MEMORY.md"
    )
    assert "- x\n- y\n" in merged.text and merged.conflict
    lines = [f"- Uses tabs, {word}. <!-- {ID} abcdef -->\n" for word in ("old", "one", "two")]
    merged = merge("memory", base + lines[0], base + lines[1], base + lines[2], "MEMORY.md")
    assert merged.text in (base + lines[1], base + lines[2]) and not merged.conflict


def test_purged_ids_are_a_set_and_settings_have_one_value() -> None:
    ours, theirs = f"{ID} 2026-11-21\n", f"{OTHER} 2026-11-20\n{ID} 2026-11-22\n"
    merged = merge("", None, ours, theirs, "purged.txt")
    assert merged.text == f"{OTHER} 2026-11-20\n{ID} 2026-11-21\n"
    merged = merge(
        "",
        "# mine\n",
        "# mine\nsearch.limit: 5\n",
        "# mine\nsearch.limit: 7\nproject: x\n",
        "mem.yaml",
    )
    assert merged.text.startswith("# mine\n")
    assert frontmatter.parse_simple(merged.text.removeprefix("# mine\n")) in (
        {"search.limit": 7, "project": "x"},
        None,
    )
    assert merged.text.count("search.limit") == 1
    assert "search.limit: 7 was kept, not 5" in merged.conflict
    sides = "notify: true\n", "search.limit: 5\n", "search.limit: 7\n"
    merged = merge_file("", "mem.yaml", *sides, size=7)
    assert ">>>>>>>" in merged.text and merged.conflict


def test_a_pictures_bytes_are_not_merged() -> None:
    merged = merge("", "a\0b", "a\0c", "a\0d", "entries/x.png")
    assert {merged.text, merged.copy} == {"a\0c", "a\0d"} and merged.conflict


def test_a_canvas_and_settings_stay_valid_and_the_other_version_is_next_to_them() -> None:
    sides = [f'{{\n"exclude": ["x"],\n"size": {size}\n}}\n' for size in (16, 18, 20)]
    for path in (".obsidian/app.json", "Boats.canvas", "Boats.base"):
        merged = merge("", *sides, path)  # type: ignore[arg-type]
        assert {merged.text, merged.copy} == set(sides[1:])
        copy = build_copy_path(path, merged.copy)
        assert merged.conflict and copy != path and Path(copy).suffix == Path(path).suffix


def test_two_values_of_a_property_are_a_question() -> None:
    sides = [f"---\nstatus: {word}\n---\nThe essay.\n" for word in ("open", "done", "dropped")]
    merged = merge("entry", *sides, "Essay.md")  # type: ignore[arg-type]
    assert "status: done" in merged.text + merged.copy
    assert "status: dropped" in merged.text + merged.copy
    assert "done" in merged.conflict and "dropped" in merged.conflict
    marked = merge_file("entry", "Essay.md", *sides, size=7)
    assert "=======\nstatus: dropped\n>>>>>>> theirs\n---\nThe" in marked.text and marked.conflict
    sides = [f"---\npeople: [{names}]\n---\nTea.\n" for names in ("A", "A, B", "A, C")]
    merged = merge("entry", *sides, "Tea.md")  # type: ignore[arg-type]
    assert sorted(frontmatter.parse(merged.text).fields["people"]) == ["A", "B", "C"]
    assert not merged.conflict


def test_the_other_machine_names_the_values_of_a_property(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    heads = {"a": f"id: {ID}\nrating: 3", "b": f"id: {OTHER}\nrating: 4\nconflicts_with: [{ID}]"}
    for name, head in heads.items():
        put(workspace, f"entries/{name}.md", f"---\n{head}\n---\nThe essay.\n")
    received = [Item("added", "entry", "entries/b.md")]
    (conflict,) = find_new_conflicts(open_index(workspace), received, [])
    assert conflict.path in ("entries/a.md", "entries/b.md")
    assert "“The essay. … rating: 3”" in conflict.reason and "rating: 4”" in conflict.reason


def test_git_gets_markers() -> None:
    ours, theirs = build("In Bergen.", tags=("a",)), build("In Rome.", tags=("b",))
    merged = merge_file("entry", "entries/a.md", build("In Oslo."), ours, theirs, size=9)
    assert "<<<<<<<<< ours\nIn Bergen.\n=========\nIn Rome.\n>>>>>>>>> theirs\n" in merged.text
    assert "tags: [a, b]" in merged.text and merged.conflict


@pytest.mark.parametrize("head", ["", "tags: [x\n"])
def test_git_gets_markers_around_two_memories_of_one_name(head: str) -> None:
    ours = build("Cert expires in June.").replace("source:", f"{head}source:")
    theirs = build("Cert expires in July.").replace(ID, OTHER)
    merged = merge_file("entry", "entries/certs.md", None, ours, theirs, size=7)
    assert merged.text == f"<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n"
    assert merged.conflict
    # One memory that was saved twice needs one of the two ids.
    theirs = build("Cert expires in June.", tags=("b",)).replace(ID, OTHER)
    merged = merge_file(
        "entry", "entries/certs.md", None, build("Cert expires in June."), theirs, 7
    )
    assert not merged.conflict and merged.text == theirs.replace(OTHER, merged.text[8:28])
    assert merged.text[8:28] in (ID, OTHER)


LINES = st.lists(
    st.sampled_from(
        [
            "[10:00] a\n",
            "[10:01] b c\n",
            "",
            "\n",
            "x\n",
            "- y\n",
            "# z\n",
        ]
    ),
    max_size=6,
)
PATHS = {
    "entry": "entries/a.md",
    "note": "notes/2026-11-20.md",
    "history": "HISTORY-2026-11.md",
    "memory": "MEMORY.md",
    "session": "sessions/a/session.jsonl",
}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(PATHS)), LINES, LINES, LINES)
@example(
    "memory",
    ["\n", "x\n", "\n", "[10:01] b c\n"],
    [],
    ["x\n", "[10:01] b c\n", "[10:00] a\n"],
)
def test_no_new_line_is_lost_and_both_machines_agree(
    kind: str, base: list[str], ours: list[str], theirs: list[str]
) -> None:
    merged = merge(kind, *("".join(side) for side in (base, ours, theirs)), path=PATHS[kind])
    lines = ((merged.text or "") + merged.copy).splitlines()
    for line in {*ours, *theirs} - {*base, "", "\n"}:
        assert line.strip() in [item.strip() for item in lines]
    if ours == base:
        assert [line for line in (merged.text or "").splitlines() if line] == [
            line for line in "".join(theirs).splitlines() if line
        ] or kind in ("note", "history", "session")


@pytest.mark.parametrize(
    "name",
    [
        "a-nul-byte",
        "merge-of-history-a-line-without-its-end",
        "merge-of-notes-a-line-without-its-end",
        "merge-of-notes-a-nul-byte",
    ],
)
def test_texts_that_once_broke_a_merge(name: str) -> None:
    base, ours, theirs = json.loads(
        (Path(__file__).parents[1] / f"corpora/merge/{name}.json").read_text()
    )
    for kind, path in PATHS.items():
        text = merge(kind, base, ours, theirs, path).text or ""
        assert kind == "entry" or "\0" in ours + theirs or theirs.strip() in text

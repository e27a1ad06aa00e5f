"""`mem dedup`: what says the same becomes one memory, as a plan first."""

from pathlib import Path

import pytest

from tests.conftest import Mem

SAME = ("User prefers tabs", "User prefers tabs.", "USER prefers  tabs")


@pytest.fixture
def doubled(mem: Mem, workspace: Path) -> dict[str, str]:
    """Give a workspace that says some things twice; text → id."""
    ids = {}
    for number, text in enumerate(SAME):
        options = ("--tag", f"t{number}", "--created-at", f"2026-0{number + 1}-01")
        ids[text] = mem("write", text, "--no-dedup", *options).rows[0][1]
    for text in ("Use 4 spaces for indentation", "Use 2 spaces for indentation", "Deploys run on Fly"):
        ids[text] = mem("write", text, "--no-dedup").rows[0][1]
    mem("write", "User prefers TABS", "--no-dedup", "--type", "correction")
    return ids


def snapshot(workspace: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted((workspace / "entries").rglob("*.md"))}


def test_the_plan_is_shown_as_a_diff_and_changes_nothing(mem: Mem, workspace: Path, doubled: dict[str, str]) -> None:
    before = snapshot(workspace)
    ran = mem("dedup")
    assert ran.code == 0
    assert ran.out.count("+superseded_by:") == 2
    assert "+strength: 3" in ran.out
    assert snapshot(workspace) == before


def test_the_oldest_takes_in_the_others_and_a_second_time_finds_nothing(
    mem: Mem, workspace: Path, doubled: dict[str, str]
) -> None:
    ran = mem("dedup", "--apply", "--json")
    (group,) = ran.json["groups"]
    kept = doubled[SAME[0]]
    assert (group["kept"], set(group["merged"])) == (kept, {doubled[SAME[1]], doubled[SAME[2]]})
    fields = mem("read", kept, "--json").json["fields"]
    assert (fields["strength"], fields["tags"]) == (3, ["t0", "t1", "t2"])
    assert "wordings" not in fields
    assert [row[0] for row in mem("ls", "--status", "superseded", "--sort", "created").rows] == [
        doubled[SAME[2]],
        doubled[SAME[1]],
    ]
    after = snapshot(workspace)
    again = mem("dedup", "--apply")
    assert (again.code, again.out) == (0, "")
    assert snapshot(workspace) == after
    assert mem("restore", doubled[SAME[1]]).code == 0


def test_the_most_trusted_stays(mem: Mem, workspace: Path) -> None:
    mem("write", SAME[0], "--no-dedup", "--source", "inferred", "--created-at", "2026-01-01")
    trusted = mem("write", SAME[1], "--no-dedup", "--created-at", "2026-05-01").rows[0][1]
    assert mem("dedup", "--apply").rows[0][0] == trusted


def test_projects_and_titles_keep_memories_apart(mem: Mem, workspace: Path) -> None:
    for options in (("--project", "a"), ("--project", "b")):
        mem("write", SAME[0], "--no-dedup", *options)
    for options in (("--title", "One"), ("--title", "Two")):
        mem("write", "Deploys run on Fly", "--no-dedup", *options)
    assert mem("dedup").out == ""
    mem("write", SAME[0], "--no-dedup")
    (group,) = mem("dedup", "--apply", "--json").json["groups"]
    assert len(group["merged"]) == 1


def test_a_file_that_cannot_be_changed_is_named_and_the_rest_goes_through(
    mem: Mem, workspace: Path, doubled: dict[str, str]
) -> None:
    odd = workspace / "entries" / "odd.md"
    odd.write_text(f"---\ntype: fact\ntags: [a\n---\n{SAME[0]}\n")
    ran = mem("dedup", "--apply")
    assert len(ran.rows) == 1
    assert odd.read_text().startswith("---\ntype: fact\ntags: [a\n")


def test_without_a_model_only_the_same_words_are_merged(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    for text in (*SAME, "The user prefers tabs"):
        mem("write", text, "--no-dedup")
    ran = mem("dedup", "--apply")
    assert len(ran.rows[0][1].split()) == 2


def test_long_documents_are_merged_when_they_are_twins(mem: Mem, workspace: Path) -> None:
    text = "\n\n".join(f"## Step {number}\n\n{'Do it well. ' * 40}" for number in range(9))
    twins = {mem("write", text, "--no-dedup").rows[0][1] for _ in range(2)}
    mem("write", f"{text} More.", "--no-dedup")
    ran = mem("dedup", "--apply", "--json")
    assert [{group["kept"], *group["merged"]} for group in ran.json["groups"]] == [twins]


def test_facts_and_a_preference_that_say_the_same_become_a_preference(mem: Mem, workspace: Path) -> None:
    for number, text in enumerate(SAME):
        mem("write", text, "--no-dedup", "--created-at", f"2026-0{number + 1}-01")
    mem("write", "User prefers tabs.", "--no-dedup", "--type", "preference")
    (group,) = mem("dedup", "--apply", "--json").json["groups"]
    assert len(group["merged"]) == len(SAME)
    assert mem("read", group["kept"], "--json").json["fields"]["type"] == "preference"


@pytest.mark.parametrize("promoted", [(SAME[1],), (SAME[1], SAME[2]), (SAME[0], SAME[1])])
def test_the_promoted_line_of_what_is_folded_is_that_of_what_takes_it_in(
    mem: Mem, workspace: Path, doubled: dict[str, str], promoted: tuple[str, ...]
) -> None:
    page = workspace / "MEMORY.md"
    mem("promote", doubled["Deploys run on Fly"], *(doubled[text] for text in promoted))
    mem("promote", doubled["Use 4 spaces for indentation"])
    before = page.read_text()
    assert mem("dedup", "--apply").code == 0
    after = page.read_text()
    (line,) = (line for line in after.splitlines() if "tabs" in line)
    assert line.startswith(f"- {SAME[0]} <!-- {doubled[SAME[0]]} ")
    first = next(number for number, one in enumerate(before.splitlines()) if "tabs" in one)
    assert after.splitlines().index(line) == first
    assert mem("check").out == ""
    assert mem("promote", "--auto").out == ""
    for text in (before, after):
        ran = mem("undo", str(mem("undo", "--list", "--json").json["commands"][0]["id"]))
        assert ran.code == 0, ran.err
        assert page.read_text() == text


def test_a_folded_line_that_a_person_changed_stays_as_it_is(mem: Mem, workspace: Path, doubled: dict[str, str]) -> None:
    page = workspace / "MEMORY.md"
    mem("promote", doubled[SAME[1]])
    page.write_text(page.read_text().replace("prefers tabs", "loves tabs"))
    before = page.read_text()
    mem("dedup", "--apply")
    assert page.read_text() == before


def test_an_entry_edited_to_say_what_another_says_is_one_with_it(mem: Mem, workspace: Path) -> None:
    first = mem("write", "The backup runs at 03:30.", "--json").json["id"]
    other = mem("write", "Zebras eat grass.", "--json").json["id"]
    done = mem("edit", other, "--replace", "Zebras eat grass.", "The backup runs at 03:30.")
    assert done.rows[0][::3] == ["updated", f"superseded by {first}"]
    listed = mem("ls", "--json").json["entries"]
    assert [(entry["id"], entry["strength"]) for entry in listed] == [(first, 2)]
    assert mem("undo").code == 0
    assert sorted(entry["summary"] for entry in mem("ls", "--json").json["entries"]) == [
        "The backup runs at 03:30.",
        "Zebras eat grass.",
    ]


def test_an_entry_given_the_text_of_a_less_trusted_one_takes_it_in(mem: Mem, workspace: Path) -> None:
    less = mem("write", "The backup runs at 03:30.", "--source", "observed", "--json").json["id"]
    more = mem("write", "Zebras eat grass.", "--source", "user", "--json").json["id"]
    done = mem("write", "The backup runs at 03:30.", "--id", more, "--source", "user", "--json").json
    assert done["supersedes"] == [less]
    done = mem("edit", more, "--replace", "03:30", "04:30", "--source", "user", "--json").json
    assert done == {"action": "updated", "id": more, "path": done["path"]}

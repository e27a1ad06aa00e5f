"""`mem dedup`: what says the same becomes one memory, as a plan first."""

from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.terminal import Terminal

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


LIKELY = (
    ("The database password rotates every 90 days.", "Database passwords are rotated every 90 days."),
    ("The team's standup is at 9:30 every morning.", "Daily standup happens at 9:30 in the morning."),
)


@pytest.fixture
def likely(mem: Mem, workspace: Path) -> list[tuple[str, str]]:
    """Give a workspace with two likely repeats and a bystander; ids of each pair, the older first, the surest first."""
    pairs = []
    for number, texts in enumerate(LIKELY):
        ids = [mem("write", text, "--no-dedup", "--created-at", f"2026-0{number + 1}-0{day}").rows[0][1]
               for day, text in enumerate(texts, 1)]  # fmt: skip
        pairs.append((ids[0], ids[1]))
    mem("write", "The cat is called Miso.", "--no-dedup")
    return pairs


def offered(mem: Mem, *options: str) -> list[tuple[str, str]]:
    return [(pair["ids"][1], pair["ids"][0]) for pair in mem("dedup", "--json", *options).json["likely"]]


def test_likely_repeats_are_listed_the_surest_first_and_nothing_is_changed(
    mem: Mem, workspace: Path, likely: list[tuple[str, str]]
) -> None:
    before = snapshot(workspace)
    shown = mem("dedup").out
    for older, newer in likely:
        assert f"mem dedup {older} {newer}\n" in shown
        assert f"mem supersede {older} {newer}\n" in shown
    told = mem("dedup", "--json").json["likely"]
    assert [(pair["ids"], pair["texts"]) for pair in told] == [
        ([newer, older], list(texts[::-1])) for (older, newer), texts in zip(likely, LIKELY, strict=True)
    ]
    assert 1 > told[0]["p"] > told[1]["p"] >= 0.4
    assert told[0]["dates"][0].startswith("2026-01-02")
    ran = mem("dedup", "--limit", "1")
    assert "there may be more" in ran.err
    assert likely[1][0] not in ran.out
    assert mem("dedup", "--apply", "--json").json["likely"] == []
    assert snapshot(workspace) == before


def test_two_named_become_one_memory_with_both_wordings(
    mem: Mem, workspace: Path, likely: list[tuple[str, str]]
) -> None:
    older, newer = likely[0]
    (group,) = mem("dedup", newer, older, "--json").json["groups"]
    assert (group["kept"], group["merged"]) == (older, [newer])
    read = mem("read", older, "--json").json
    assert (read["content"].strip(), read["fields"]["wordings"]) == (LIKELY[0][1], [LIKELY[0][0]])
    assert read["fields"]["strength"] == 2
    assert offered(mem) == likely[1:]
    assert mem("dedup", older, newer).code == 5
    assert mem("dedup", older, older).code == mem("dedup", older).code == mem("dedup", "--distinct").code == 2
    assert mem("undo").code == 0
    assert offered(mem) == likely


def test_two_found_distinct_are_offered_no_more_and_can_still_be_named(
    mem: Mem, workspace: Path, likely: list[tuple[str, str]]
) -> None:
    for _ in range(2):
        assert mem("dedup", *likely[0], "--distinct").rows == [["distinct", *likely[0]]]
        assert offered(mem) == likely[1:]
    assert len(mem("dedup", *likely[0], "--json").json["groups"]) == 1


def test_what_a_user_said_is_merged_on_the_users_word_alone(
    mem: Mem, workspace: Path, likely: list[tuple[str, str]]
) -> None:
    mem("write", "--id", likely[0][0], LIKELY[0][0], "--source", "user")
    ran = mem("dedup", *likely[0], "--source", "observed", "--json")
    assert (ran.code, ran.json["applied"], ran.json["groups"]) == (0, False, [])
    assert "proposal" in ran.err
    assert "proposed: same (observed)" in mem("dedup").out
    assert mem("dedup", *likely[0], "--source", "user", "--json").json["applied"]


def test_what_the_review_asks_about_is_left_to_it(mem: Mem, workspace: Path, likely: list[tuple[str, str]]) -> None:
    mem("write", "--id", likely[0][0], "--conflicts-with", likely[0][1])
    assert offered(mem) == likely[1:]


def test_at_a_terminal_a_letter_answers_and_is_taken_back(
    world: Path, mem: Mem, workspace: Path, likely: list[tuple[str, str]]
) -> None:
    with Terminal(world, "dedup", COLUMNS="200") as person:
        assert "2 to go" in person.until(" ? ")
        person.press("s\n")
        assert "1 to go" in person.until(" ? ")
        person.press("u\n")
        assert LIKELY[0][0] in person.until(" ? ")
        person.press("k\n")
        person.until(" ? ")
        person.press("l\n")
        assert person.end() == 0
        assert "2 answered" in person.shown
    assert offered(mem) == likely[1:]
    assert mem("undo", "--list", "--json").json["commands"][0]["command"] == "dedup"

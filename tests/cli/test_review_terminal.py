"""`mem review` at a terminal: what is shown, what a key does, and what happens when two people answer at once."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_review import flagged, queue, rows, text_of
from tests.conftest import Mem
from tests.terminal import Terminal

PORTS = ("Staging runs on port 8080.", "Staging runs on port 9090 now.")
OTHERS = [("Tea is in the red box.", "Tea is in the blue box."), ("Lunch is at noon.", "Lunch is at one.")]
BOLD = re.compile(r"\x1b\[1;36m(.*?)\x1b\[0m")
Review = Callable[..., Terminal]


@pytest.fixture
def review(world: Path, workspace: Path) -> Review:
    """Start a review in a terminal."""

    def started(*options: str, **environ: str) -> Terminal:
        return Terminal(world, "review", *options, **environ)

    return started


def test_a_person_is_told_which_words_differ(mem: Mem, review: Review) -> None:
    flagged(mem, *PORTS)
    with review() as person:
        shown = person.until(" ? ")
        assert set(BOLD.findall(shown)) == {"9090 now", "8080"}
        person.press("q")
        assert person.end() == 0


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_nothing_is_coloured_where_colours_are_not_welcome(mem: Mem, review: Review, environ: dict[str, str]) -> None:
    flagged(mem, *PORTS)
    with review(**environ) as person:
        shown = person.until(" ? ")
        assert "\x1b[" not in shown
        person.press("q")
        assert person.end() == 0
    assert "\x1b[" not in mem("review").out


def test_a_narrow_terminal_shows_one_below_the_other(mem: Mem, review: Review) -> None:
    flagged(mem, *PORTS)
    with review(COLUMNS="50") as person:
        shown = person.until(" ? ")
        assert "│" not in shown
        assert shown.index("newer") < shown.index("older")
        person.press("q")
        assert person.end() == 0


@pytest.mark.parametrize(("leaves", "code"), [("q", 0), ("\x04", 0), ("\x03", 130)])
def test_what_was_answered_stays_answered_when_a_person_leaves_half_way(
    mem: Mem, workspace: Path, review: Review, leaves: str, code: int
) -> None:
    for pair in (PORTS, *OTHERS):
        flagged(mem, *pair)
    with review() as person:
        person.until(" ? ")
        person.press("k")
        person.until(" ? ")
        person.press(leaves)
        assert person.end() == code
        assert "1 answered; 2 left" in person.shown
        assert "Traceback" not in person.shown
    assert len(queue(mem)) == 2
    assert mem("check").code == 0


@pytest.mark.parametrize("kind", ["forgets", "keeps"])
def test_two_people_who_answer_one_question_at_once_do_it_once(
    mem: Mem, workspace: Path, review: Review, kind: str
) -> None:
    older, newer = flagged(mem, *PORTS)
    with review() as one, review() as other:
        one.until(" ? ")
        other.until(" ? ")
        one.press("n")
        assert one.end() == 0
        other.press("f" if kind == "forgets" else "k")
        assert other.end() == 0
        assert "settled meanwhile" in other.shown
        assert "0 answered" in other.shown
    found = rows(mem)
    assert (found[older]["status"], found[newer]["status"]) == ("superseded", "active")
    assert "distinct" not in text_of(workspace, newer)


def test_an_editor_that_saves_while_a_person_thinks_is_asked_about_anew(
    mem: Mem, workspace: Path, review: Review
) -> None:
    _, newer = flagged(mem, *PORTS)
    path = next(path for path in workspace.rglob("*.md") if f"id: {newer}" in path.read_text())
    with review() as person:
        person.until(" ? ")
        path.write_text(path.read_text().replace("9090", "9191"))
        person.press("n")
        assert "9191" in person.until(" ? ")
        person.press("n")
        assert person.end() == 0
    assert rows(mem)[newer]["status"] == "active"
    assert "9191" in text_of(workspace, newer)


def test_a_file_with_conflict_markers_is_named_and_the_rest_is_asked(mem: Mem, workspace: Path, review: Review) -> None:
    _, broken = flagged(mem, *PORTS)
    older, _ = flagged(mem, *OTHERS[0])
    path = next(path for path in workspace.rglob("*.md") if f"id: {broken}" in path.read_text())
    text = path.read_text()
    marked = text.replace(PORTS[1], f"<<<<<<< ours\n{PORTS[1]}\n=======\nStaging is gone.\n>>>>>>> theirs")
    path.write_text(marked)
    assert [one["memories"][1]["id"] for one in queue(mem)] == [older]
    ran = mem("review", "--json")
    assert path.name in ran.err
    assert [one["path"] for one in ran.json["problems"]] == [str(path.relative_to(workspace))]
    with review() as person:
        person.until(" ? ")
        person.press("n")
        assert person.end() == 0
        assert path.name in person.shown
    assert path.read_text() == marked
    path.write_text(text)
    assert len(queue(mem)) == 1


def many(workspace: Path, hub: str, count: int) -> list[Path]:
    paths = [workspace / "entries" / f"many-{number}.md" for number in range(count)]
    for number, path in enumerate(paths):
        head = f"---\nid: mem_{number:04}\nconflicts_with: [{hub}]\nverdicts: [{hub}]\n---\n\n"
        path.write_text(f"{head}The hall is in colour {number}.\n")
    return paths


def test_a_group_is_kept_as_one_change_and_what_changed_meanwhile_is_left(
    mem: Mem, workspace: Path, review: Review
) -> None:
    hub = mem("write", "The hall is painted green.", "--no-dedup", "--json").json["id"]
    paths = many(workspace, hub, 300)
    with review() as person:
        assert "flagged with 300 others" in person.until(" ? ")
        paths[7].write_text(paths[7].read_text().replace("colour 7", "violet"))
        paths[8].unlink()
        begun = time.monotonic()
        person.press("k")
        person.until("298 kept")
        took = time.monotonic() - begun
        assert person.end() == 0
    assert took < 60  # one by one each took a lock, a journal and a rewrite of the hub
    (left,) = queue(mem)
    assert (
        left["memories"][0]["text"] == "The hall is in violet."
        or left["memories"][1]["text"] == "The hall is in violet."
    )
    assert text_of(workspace, hub).count("mem_0") == 1 + 298
    assert "conflicts_with" not in paths[0].read_text()


def test_a_review_that_is_killed_while_it_keeps_a_group_is_finished_by_the_next_command(
    mem: Mem, workspace: Path, review: Review
) -> None:
    hub = mem("write", "The hall is painted green.", "--no-dedup", "--json").json["id"]
    paths = many(workspace, hub, 200)
    with review() as person:
        person.until(" ? ")
        person.press("k")
        end = time.monotonic() + 120
        while not any("distinct" in path.read_text() for path in paths):
            assert time.monotonic() < end, person.shown
            time.sleep(0.005)
        person.press("\x03")
        assert person.end() in (0, 130)
        assert "Traceback" not in person.shown
    mem("write", "The cat is grey.")
    kept = ["distinct" in path.read_text() for path in paths]
    assert all(kept) or not any(kept)
    assert len(queue(mem)) in (0, 200)
    assert not os.listdir(workspace / ".mem" / "journal")


def test_a_question_that_an_answer_settled_too_is_not_told_of(mem: Mem, workspace: Path, review: Review) -> None:
    first, _ = flagged(mem, *PORTS)
    third = mem("write", "Staging runs on port 7070.", "--no-dedup", "--conflicts-with", first, "--json").json["id"]
    assert mem(
        "write", "--id", first, "--conflicts-with", third, "--conflicts-with", queue(mem)[0]["memories"][0]["id"]
    )
    assert len(queue(mem)) == 2
    with review() as person:
        person.until(" ? ")
        person.press("n")  # which retires what the other question is about too
        assert person.end() == 0
        assert "settled meanwhile" not in person.shown


def test_what_is_not_listed_of_a_group_is_counted(mem: Mem, workspace: Path, review: Review) -> None:
    facts = (
        "the attic leaks", "Nora bakes bread", "rope is in the shed", "the ferry leaves at six", "geese hate postmen",
        "cello lessons cost 40 euros", "Otto lends us a trailer", "the well was dug in 1911", "rye needs a mild winter",
        "the vicar collects stamps", "passports expire in May", "glue sticks to nothing there", "Ines is left-handed",
        "the boiler hums in B flat",
    )  # fmt: skip
    (workspace.parent / "talk.txt").write_text("\n".join(f"User: Please remember that {one}." for one in facts))
    assert mem("consolidate", "talk.txt").code == 0
    assert [one["kind"] for one in queue(mem)] == ["new"] * len(facts)
    with review() as person:
        assert f"and {len(facts) - 12} more" in person.until(" ? ")
        person.press("q")
        assert person.end() == 0

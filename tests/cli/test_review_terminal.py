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
Review = Callable[..., Terminal]


@pytest.fixture
def review(world: Path, workspace: Path) -> Review:
    """Start a review in a terminal."""

    def started(*options: str, **environ: str) -> Terminal:
        return Terminal(world, "review", *options, **environ)

    return started


def test_a_question_is_a_block_of_text_and_the_letters_that_answer_it(mem: Mem, review: Review) -> None:
    older, newer = flagged(mem, *PORTS)
    with review() as person:
        shown = person.until(" ? ")
        assert "\x1b[" not in shown
        assert shown.index(f"newer: {newer} · 2026-11-21 · observed · fact: {PORTS[1]}") < shown.index(
            f"older: {older}"
        )
        assert "[k]eep both · [n]ewer · [o]lder · [s]ame · [f]orget both · [l]ater" in shown
        person.press("q\n")
        assert person.end() == 0


def test_words_show_only_the_questions_that_have_them_and_all_answers_these(mem: Mem, review: Review) -> None:
    for pair in (PORTS, *OTHERS):
        flagged(mem, *pair)
    with review() as person:
        person.until("3 to go")
        person.until(" ? ")
        person.press("ca box\n")
        assert "no question has ca box" in person.until(" ? ")
        person.press("is\n")
        shown = person.until(" ? ")
        assert "2 to go with is" in shown
        assert "all LETTER: these 2" in shown
        person.press("all l\n")
        person.until("2 × asked again later")
        person.press("n\n")
        assert person.end() == 0
        assert "1 answered" in person.shown or "3 answered" in person.shown
    assert {one["memories"][0]["text"] for one in queue(mem)} == {new for _, new in OTHERS}


def test_back_goes_to_the_question_before_and_undo_takes_an_answer_back(
    mem: Mem, workspace: Path, review: Review
) -> None:
    for pair in (PORTS, OTHERS[0]):
        flagged(mem, *pair)
    before = {path: path.read_bytes() for path in workspace.glob("entries/**/*.md")}
    with review() as person:
        first = person.until(" ? ")
        person.press("n\n")
        person.until("the newer holds")
        person.until(" ? ")
        person.press("u\n")
        again = person.until(" ? ")
        assert "2 to go" in again
        assert re.findall(r"q_\w+", again) == re.findall(r"q_\w+", first)
        assert {path: path.read_bytes() for path in before} == before
        person.press("u\n")
        person.until("nothing was answered here")
        person.until(" ? ")
        person.press("q\n")
        assert person.end() == 0
        assert "0 answered; 2 left" in person.shown
    assert len(queue(mem)) == 2


@pytest.mark.parametrize(("leaves", "code"), [("q\n", 0), ("\x04", 0), ("\x03", 130)])
def test_what_was_answered_stays_answered_when_a_person_leaves_half_way(
    mem: Mem, workspace: Path, review: Review, leaves: str, code: int
) -> None:
    for pair in (PORTS, *OTHERS):
        flagged(mem, *pair)
    with review() as person:
        person.until(" ? ")
        person.press("k\n")
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
        one.press("n\n")
        assert one.end() == 0
        other.press("f\n" if kind == "forgets" else "k\n")
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
        person.press("n\n")
        assert "9191" in person.until(" ? ")
        person.press("n\n")
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
        person.press("n\n")
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
        assert "all LETTER: these 300" in person.until(" ? ")
        paths[7].write_text(paths[7].read_text().replace("colour 7", "violet"))
        paths[8].unlink()
        begun = time.monotonic()
        person.press("all k\n")
        person.until("298 × kept")
        took = time.monotonic() - begun
        person.press("q\n")
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
        person.press("all k\n")
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
        person.press("n\n")  # which retires what the other question is about too
        assert person.end() == 0
        assert "settled meanwhile" not in person.shown

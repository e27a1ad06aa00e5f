"""A session keeps everything that was said, once, whoever writes and whatever happens meanwhile."""

import json
import shutil
import signal
from collections.abc import Callable
from functools import partial
from itertools import count as numbers
from pathlib import Path

import pytest

from memcli.errors import AmbiguousError, NotFoundError, RefusedError, UsageError
from memcli.formats.session_event import Event
from memcli.formats.text_lines import Problem
from memcli.store.journal import apply, exclusive
from memcli.store.privacy import ExcludedFiles
from memcli.store.sessions import sessions as stored
from memcli.store.sessions.append import append, event_line, take_in
from memcli.store.sessions.call_filter import CallFilter
from memcli.store.sessions.event_file import read_events, recent_events, standing_ids
from memcli.store.sessions.reading import parse_name, session_source, span_events
from memcli.store.sessions.sessions import counts, find, page_change, sessions
from tests.crash import cut_off
from tests.processes import race, running
from tests.store.sessions_data import here, lines, noise, page, said, say
from tests.tables import cases

ODD_IDS = (
    "telegram:12345",
    "a/b",
    "../up",
    "UPPER",
    "日本語 chat",
    "con",
    ".hidden",
    "x" * 500,
    "%41",
    "a#b",
    "50%",
    "-n",
)
WRITER = """
import sys
from pathlib import Path
from tests.store.sessions_data import here, noise, said
from memcli.store.sessions.append import append
number, root, times = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
for turn in range(times):
    append(here(root), "shared", [said(f"{number}-{turn}")], noise(f"{number}-{turn}"))
    print(f"{number}-{turn}", flush=True)
"""


def test_a_message_makes_the_session_with_its_page(workspace: Path) -> None:
    done = say(here(workspace), "telegram:12345", "hello")
    (line,) = lines(workspace, "telegram%3A12345")
    assert (line["role"], line["content"], line["id"]) == ("user", "hello", done.ids[0])
    assert page(workspace, "telegram%3A12345") == {
        "id": "telegram:12345", "channelId": "", "channelType": "", "userId": "", "state": "ACTIVE", "messageCount": 1,
        "tokenCount": 8001, "messageTokens": 1, "toolsUsed": [],
        "createdAt": "2026-11-21T10:00:00Z", "updatedAt": "2026-11-21T10:00:00Z",
        "consolidatedTo": "", "metadata": {},
    }  # fmt: skip


def test_the_same_message_said_twice_is_kept_twice(workspace: Path) -> None:
    found = here(workspace)
    for _ in range(3):
        append(found, "s", [said("ok"), said("ok")], noise("the same"))
    kept = [line["id"] for line in lines(workspace, "s")]
    assert len(kept) == len(set(kept)) == 6


def test_an_event_with_an_id_is_kept_once(workspace: Path) -> None:
    found = here(workspace)
    first = append(found, "s", [said("a", identifier="é1"), said("b", identifier="é1")], noise("x"))
    again = append(found, "s", [said("a", identifier="é1"), said("c", identifier="é")], noise("x"))
    assert (first.added, first.known, again.added, again.known, again.ids) == (1, 1, 1, 1, ("é",))
    assert [line["content"] for line in lines(workspace, "s")] == ["a", "c"]


@pytest.mark.parametrize("name", ODD_IDS, ids=range(len(ODD_IDS)))
def test_any_id_finds_its_session_again(workspace: Path, name: str) -> None:
    found = here(workspace)
    say(found, name, "one", "two")
    assert find(found, name, strict=True).id == name
    assert [one.id for one in sessions(found)] == [name]
    assert counts(found, find(found, name)).messages == 2
    (folder,) = (one for one in (workspace / "sessions").iterdir() if one.is_dir())
    assert folder.is_dir()


@pytest.mark.parametrize("name", ["\n", "a\tb", "\udc80", "x" * 1001, "a\x1b[31m"])
def test_what_no_list_could_show_is_no_id(workspace: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a session's id"):
        say(here(workspace), name, "hi")
    assert not (workspace / "sessions").exists()


def test_a_session_is_found_by_the_beginning_of_its_id_unless_strict(workspace: Path) -> None:
    found = here(workspace)
    for name in ("abc-1", "abd-2"):
        say(found, name, "hi")
    assert find(found, "abc").id == "abc-1"
    with pytest.raises(AmbiguousError, match="abc-1, abd-2"):
        find(found, "ab")
    for name in ("abc", "", "zz"):
        with pytest.raises(NotFoundError):
            find(found, name, strict=True)


def test_a_folder_of_another_tool_is_found_by_the_id_on_its_page(workspace: Path) -> None:
    folder = workspace / "sessions" / "telegram_1_user_2"
    folder.mkdir(parents=True)
    (folder / "metadata.json").write_text('{"id": "telegram:1", "extra": {"b": 1, "a": 2}, "createdAt": 1763700000}')
    (folder / "session.jsonl").write_text('{"role": "user", "content": "before"}\n')
    done = say(here(workspace), "telegram:1", "after")
    assert done.session.folder == "sessions/telegram_1_user_2"
    told = page(workspace, "telegram_1_user_2")
    assert (told["id"], told["extra"], told["createdAt"], told["messageCount"]) == (
        "telegram:1", {"b": 1, "a": 2}, 1763700000, 2
    )  # fmt: skip
    assert list(told)[:3] == ["id", "extra", "createdAt"]
    assert find(here(workspace), "telegram_1_user_2").id == "telegram:1"


def test_what_the_page_says_survives_every_message(workspace: Path) -> None:
    found = here(workspace)
    append(found, "s", [said("one")], noise("1"), {"channel_type": "telegram", "user_id": "u"})
    place = workspace / "sessions" / "s" / "metadata.json"
    told = json.loads(place.read_text())
    told["createdAt"], told["theirs"], told["consolidatedTo"] = "2020-01-01T00:00:00Z", [1], "msg_x"
    place.write_text(json.dumps(told))
    append(found, "s", [said("two")], noise("2"), {"channel_type": "other", "channel_id": "7"})
    now = page(workspace, "s")
    assert [now[key] for key in ("createdAt", "theirs", "consolidatedTo", "channelType", "channelId", "userId")] == [
        "2020-01-01T00:00:00Z", [1], "msg_x", "telegram", "7", "u"
    ]  # fmt: skip
    assert (now["state"], now["messageCount"]) == ("ACTIVE", 2)


@pytest.mark.parametrize("text", [b"", b"\0" * 64])
def test_a_page_that_a_power_cut_left_without_content_is_written_anew(workspace: Path, text: bytes) -> None:
    found = here(workspace)
    say(found, "s", "one")
    (workspace / "sessions" / "s" / "metadata.json").write_bytes(text)
    assert not say(found, "s", "two").session.problem
    assert page(workspace, "s")["messageCount"] == 2


@pytest.mark.parametrize("text", [b"not json", b"[]", b'{"id": "\xff"}'])
def test_a_page_that_cannot_be_read_is_left_alone(workspace: Path, text: bytes) -> None:
    found = here(workspace)
    say(found, "s", "one")
    place = workspace / "sessions" / "s" / "metadata.json"
    place.write_bytes(text)
    done = say(found, "s", "two")
    assert done.session.problem.startswith("sessions/s/metadata.json is")
    assert place.read_bytes() == text
    assert done.counts.messages == 2
    with pytest.raises(RefusedError, match=r"no JSON object|not UTF-8"):
        page_change(found, done.session, consolidated_to="x")


def test_without_its_page_a_session_is_what_its_file_says(workspace: Path) -> None:
    found = here(workspace)
    say(found, "telegram:1", "one")
    (workspace / "sessions" / "telegram%3A1" / "metadata.json").unlink()
    assert find(found, "telegram:1").id == "telegram:1"
    say(found, "telegram:1", "two")
    assert page(workspace, "telegram%3A1")["createdAt"] == "2026-11-21T10:00:00Z"


def test_a_line_cut_off_by_a_crash_is_closed_off_and_costs_nothing_else(workspace: Path) -> None:
    found = here(workspace)
    say(found, "s", "one")
    place = workspace / "sessions" / "s" / "session.jsonl"
    for torn in (b'{"id": "x", "role": "user", "con', b"\x00\x00\x00", b"\xf0\x9f"):
        with place.open("ab") as file:
            file.write(torn)
        done = say(found, "s", f"after {torn!r}")
    problems: list[Problem] = []
    kept = [event.text for _, event in read_events(place, problems=problems)]
    assert kept[0] == "one"
    assert [text[:5] for text in kept[1:]] == ["after"] * 3
    assert len(problems) == done.counts.unreadable == 2


def test_a_whole_line_without_its_newline_is_a_message(workspace: Path) -> None:
    found = here(workspace)
    say(found, "s", "one")
    place = workspace / "sessions" / "s" / "session.jsonl"
    place.write_bytes(place.read_bytes().rstrip(b"\n"))
    assert say(found, "s", "two").counts.messages == 2


def test_sums_follow_whoever_changes_the_file(workspace: Path) -> None:
    found = here(workspace)
    ids = [say(found, "s", text).ids[0] for text in ("one", "two", "three")]
    place = workspace / "sessions" / "s" / "session.jsonl"
    with place.open("a") as file:
        file.write('{"role": "system", "content": "rules"}\n{"type": "tool_call", "name": "ls"}\n')
    seen = counts(found, find(found, "s"))
    assert (seen.events, seen.messages, seen.waiting) == (5, 4, 3)
    with exclusive(found, "test") as held:
        apply(found, [page_change(found, find(found, "s"), consolidated_to=ids[1])], held)
    assert counts(found, find(found, "s")).waiting == 1
    assert say(found, "s", "four").counts.waiting == 2
    shutil.rmtree(workspace / ".mem")
    assert counts(found, find(found, "s")).waiting == 2
    place.write_text('{"role": "user", "content": "anew"}\n')
    assert (counts(found, find(found, "s")).messages, counts(found, find(found, "s")).waiting) == (1, 1)


def test_the_page_changes_only_as_planned(workspace: Path) -> None:
    found = here(workspace)
    say(found, "s", "one")
    step = page_change(found, find(found, "s"), consolidated_to="msg_1")
    say(found, "s", "two")
    with exclusive(found, "test") as held, pytest.raises(RefusedError, match="changed underneath"):
        apply(found, [step], held)


def test_writers_at_once_lose_nothing(workspace: Path) -> None:
    ended = race(WRITER, 3, workspace, 12)
    assert [one.code for one in ended] == [0, 0, 0], ended[0].err
    told = sorted(line for one in ended for line in one.out.split())
    assert sorted(str(line["content"]) for line in lines(workspace, "shared")) == told
    assert page(workspace, "shared")["messageCount"] == len(told) == 36


def test_a_writer_killed_has_kept_what_it_told(workspace: Path) -> None:
    with running(WRITER, "k", workspace, 10_000) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(5)]
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().split()
    done = say(here(workspace), "shared", "after")
    kept = [str(event.text) for _, event in read_events(workspace / "sessions/shared/session.jsonl")]
    assert kept[: len(told)] == told
    assert kept[-1] == "after"
    assert len(kept) <= len(told) + 2
    assert page(workspace, "shared")["messageCount"] == done.counts.messages == len(kept)


def cut_everywhere(workspace: Path, scratch: Path, change: Callable[[Path], None]) -> int:
    """Make a change in copies of a workspace with the power cut at each step, then make it again, to the same end."""
    ends = []
    for at in numbers(1):
        copy = scratch / str(at) / "memory"
        shutil.copytree(workspace, copy)
        cut = cut_off(at, partial(change, copy))
        if cut:
            change(copy)
        files = (path for path in copy.rglob("*") if path.is_file() and ".mem" not in path.as_posix())
        ends.append({path.relative_to(copy).as_posix(): path.read_text() for path in files})
        if not cut:
            assert all(end == ends[-1] for end in ends)
            return at
    raise AssertionError("the count has no end")


def test_an_append_cut_off_anywhere_is_finished_by_the_next(workspace: Path, tmp_path: Path) -> None:
    say(here(workspace), "s", "before")

    def change(root: Path) -> None:
        append(here(root), "s", [said("one", identifier="i1"), said("two", identifier="i2")], noise("x"))

    ends = cut_everywhere(workspace, tmp_path / "cut", change)
    assert ends > 5


def test_a_reset_cut_off_anywhere_is_finished_by_the_next(workspace: Path, tmp_path: Path) -> None:
    say(here(workspace), "s", "one", "two")

    def change(root: Path) -> None:
        stored.reset(here(root), find(here(root), "s"))

    assert cut_everywhere(workspace, tmp_path / "cut", change) > 5


def test_a_reset_begins_anew_and_still_knows_what_was_said(workspace: Path) -> None:
    found = here(workspace)
    append(found, "s", [said("one", identifier="i1")], noise("x"))
    made = page(workspace, "s")["createdAt"]
    assert stored.reset(found, find(found, "s")) == "archive/sessions/s"
    assert stored.reset(found, find(found, "s")) == ""
    told = page(workspace, "s")
    assert (told["messageCount"], told["createdAt"], told["state"]) == (0, made, "ACTIVE")
    again = append(found, "s", [said("one", identifier="i1"), said("two", identifier="i2")], noise("x"))
    assert (again.added, again.known) == (1, 1)
    assert stored.reset(found, find(found, "s")) == "archive/sessions/s-2"
    assert [one.id for one in sessions(found, archived=True)] == ["s", "s"]
    texts = [event.text for _, event in span_events(found, find(found, "s"), "i1:i2")]
    assert texts == ["one", "two"]


def test_a_deleted_session_goes_to_the_archive_and_a_purged_one_goes(workspace: Path) -> None:
    found = here(workspace)
    say(found, "s", "one")
    say(found, "other", "stays")
    before = (workspace / "sessions/s/session.jsonl").read_bytes()
    assert stored.archive(found, find(found, "s")) == "archive/sessions/s"
    assert (workspace / "archive/sessions/s/session.jsonl").read_bytes() == before
    say(found, "s", "one")
    assert stored.archive(found, find(found, "s", strict=True)) == "archive/sessions/s-2"
    assert find(found, "s").is_archived
    with pytest.raises(RefusedError, match="archive already"):
        stored.archive(found, find(found, "s"))
    assert len(stored.purge(found, find(found, "s"))) == 2
    with pytest.raises(NotFoundError):
        find(found, "s")
    assert [one.id for one in sessions(found)] == ["other"]


def test_a_purge_does_not_follow_a_link_out(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    say(here(workspace), "s", "one")
    (workspace / "sessions" / "s" / "link").symlink_to(outside)
    stored.purge(here(workspace), find(here(workspace), "s"))
    assert (outside / "kept.txt").read_text() == "kept"


def test_a_folder_that_leads_out_of_the_workspace_is_refused(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (workspace / "sessions").mkdir()
    (workspace / "sessions" / "s").symlink_to(tmp_path / "outside")
    with pytest.raises(RefusedError, match="outside the workspace"):
        say(here(workspace), "s", "hi")


def test_a_span_is_told_by_positions_or_ids(workspace: Path) -> None:
    found = here(workspace)
    append(found, "s", [said(f"m{number}", identifier=f"msg_{number}") for number in range(1, 6)], noise("x"))
    session = find(found, "s")

    def texts(span: str) -> list[str]:
        return [event.text for _, event in span_events(found, session, span)]

    assert texts("2") == texts("msg_2") == ["m2"]
    assert texts("2:3") == texts("msg_2:msg_3") == ["m2", "m3"]
    assert texts("4:") == texts("msg_4:") == ["m4", "m5"]
    assert texts(":2") == ["m1", "m2"]
    assert texts("") == texts("1:99") == ["m1", "m2", "m3", "m4", "m5"]
    for wrong in ("0", "3:2", "a b", "1:2:3", ":"):
        with pytest.raises(UsageError):
            texts(wrong)
    for span, missing in (("9", "9"), ("9:", "9"), ("msg_2:msg_9", "msg_9")):
        with pytest.raises(NotFoundError, match=missing):
            texts(span)


def test_a_reader_sees_whole_lines_while_the_session_grows(workspace: Path) -> None:
    found = here(workspace)
    say(found, "s", "one")
    reader = read_events(workspace / "sessions/s/session.jsonl")
    assert next(reader)[1].text == "one"
    say(found, "s", "two")
    assert [event.text for _, event in reader] == ["two"]


def test_a_hundred_thousand_messages_are_counted_once_and_added_to_at_once(workspace: Path) -> None:
    found = here(workspace)
    many = (
        event_line(Event(f"m{number}", text="word " * 8, timestamp="2026-11-21T10:00:00Z")) for number in range(100_000)
    )
    done = take_in(found, "long", many, {}, CallFilter(ExcludedFiles(found.root)))
    assert (done.added, done.counts.messages, done.counts.waiting) == (100_000, 100_000, 100_000)
    place = workspace / "sessions/long/session.jsonl"
    assert say(found, "long", "one more").counts.messages == 100_001
    assert standing_ids([place], {"m99999", "m100000"}) == {"m99999"}
    assert [event.id for event in recent_events(place)][-2] == "m99999"
    assert page(workspace, "long")["messageCount"] == 100_001


def test_an_empty_conversation_is_a_session_too(workspace: Path) -> None:
    found = here(workspace)
    done = take_in(found, "s", (), {"channel_type": "chat"}, CallFilter(ExcludedFiles(found.root)))
    assert (done.added, done.counts.messages) == (0, 0)
    assert list(read_events(workspace / "sessions/s/session.jsonl")) == []
    assert page(workspace, "s")["createdAt"] == "2026-11-21T20:15:03Z"
    assert recent_events(workspace / "sessions/s/session.jsonl") == []


@pytest.mark.parametrize("session", ["s", "telegram:12345", "slack#general", "a#b:c", "5b1c0d9e-0c1a-4a7e-9a51"])
@pytest.mark.parametrize(
    ("first", "last"),
    [("m1", "m2"), ("msg_01k", ""), ("5b1c0d9e-0c1a", "6f-1"), ("a:1", "m2"), ("12", "13"), ("x#1", ""), ("a 1", "b")],
)
def test_a_memorys_source_names_its_session_and_where_it_can_its_messages(session: str, first: str, last: str) -> None:
    found = parse_name(session_source(session, first, last))
    assert found is not None
    assert found[0] == session
    assert found[1] in ("", f"{first}:{last}", first)


@cases("name", "expected")
def test_a_name_is_taken_apart(name: str, expected: list[str] | None) -> None:
    assert parse_name(name) == (expected and tuple(expected))

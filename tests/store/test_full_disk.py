"""What is on the disk is not said to have failed: a second try on a full disk makes no twin."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memcli.errors import MemError
from memcli.formats.session_event import Event
from memcli.store import entries
from memcli.store.sessions.append import append
from memcli.store.sessions.event_file import read_events
from memcli.store.sessions.sessions import find, sessions
from tests.conftest import Mem, Ran
from tests.crash import FailingOS, wire
from tests.store.sessions_data import here, noise, said


@pytest.fixture(autouse=True)
def _whole_disk() -> Iterator[None]:
    yield
    wire(os)


def is_refused(change: Callable[[], None], at: int, *, lasting: bool) -> bool:
    """Make a change on a disk that is full from its n-th step on, or at it alone; tell whether it was said to fail."""
    wire(FailingOS(at, lasting=lasting))
    try:
        change()
    except MemError:
        return True
    finally:
        wire(os)
    return False


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("is_new", [False, True])
def test_a_message_is_kept_once_whatever_step_finds_the_disk_full(workspace: Path, lasting: bool, is_new: bool) -> None:
    for at in range(1, 40):
        name = f"s{at}"

        def say(name: str = name, at: int = at) -> None:
            append(here(workspace), name, [said("the port is 8081")], noise(f"a{at}"))

        if not is_new:
            append(here(workspace), name, [said("hello")], noise(f"b{at}"))
        if is_refused(say, at, lasting=lasting):
            append(here(workspace), name, [said("the port is 8081")], noise(f"c{at}"))
        path = workspace / find(here(workspace), name).path
        texts = [event.text for _, event in read_events(path)]
        assert texts == ["hello"] * (not is_new) + ["the port is 8081"], at


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("lasting", [False, True])
def test_messages_given_together_are_kept_once_whatever_step_finds_the_disk_full(
    workspace: Path, lasting: bool, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.store.sessions.append.PIECE", 40)  # several writes
    texts = [f"{number}: the port is 808{number}" for number in range(6)]
    refusals = 0
    for at in range(1, 60):
        name = f"s{at}" if named else ""
        batch = [said(f"{at}/{text}", timestamp="") for text in texts]

        def say(name: str = name, at: int = at, batch: list[Event] = batch) -> None:
            append(here(workspace), name, batch, noise(f"a{at}"))

        if is_refused(say, at, lasting=lasting):
            refusals += 1
            append(here(workspace), name, batch, noise(f"c{at}"))
        kept = [
            event.text
            for session in sessions(here(workspace))
            for _, event in read_events(workspace / session.path)
            if event.text.startswith(f"{at}/")
        ]
        assert kept == [f"{at}/{text}" for text in texts], at
    assert refusals > 10


def test_the_same_messages_said_again_after_they_were_kept_are_kept_again(workspace: Path) -> None:
    for turn in ("a", "b"):
        append(here(workspace), "talk", [said("yes"), said("go on")], noise(turn))
    kept = [event.text for _, event in read_events(workspace / find(here(workspace), "talk").path)]
    assert kept == ["yes", "go on"] * 2


@pytest.mark.parametrize("session", [(), ("--session", "talk")])
def test_a_file_of_messages_too_large_for_the_disk_is_kept_once_when_there_is_space(
    mem: Mem, spawn: Callable[..., Ran], workspace: Path, session: tuple[str, ...]
) -> None:
    batch = "".join(json.dumps({"role": "user", "content": f"{n} {'word ' * 2_000}"}) + "\n" for n in range(100))
    room = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (600 << 10,) * 2)"
    pieces = "from memcli.store.sessions import append; append.PIECE = 400 << 10"  # several writes
    command = ["session", "append", "-", *session, "--workspace", str(workspace)]
    run = f"from memcli.cli.app import run; sys.exit(run({command!r}))"
    ran = spawn(code=f"{room}; {pieces}; {run}", stdin=batch.encode())
    assert (ran.code, "file too large" in ran.err) == (5, True), ran.err
    (part,) = sessions(here(workspace))
    assert 0 < len(list(read_events(workspace / part.path))) < 100
    ran = mem("session", "append", "-", *session, stdin=batch)
    assert ran.code == 0, ran.err
    (whole,) = sessions(here(workspace))
    assert [int(event.text.split()[0]) for _, event in read_events(workspace / whole.path)] == list(range(100))


@pytest.mark.parametrize("lasting", [False, True])
def test_an_edit_that_was_said_to_fail_left_the_old_text(workspace: Path, lasting: bool) -> None:
    written = entries.write(here(workspace), {}, "The port is 8080", noise("x"))
    file = workspace / written.path
    before = file.read_bytes()
    for at in range(1, 30):
        file.write_bytes(before)

        def change() -> None:
            entries.edit(here(workspace), written.path, lambda text: text.replace("8080", "8081"))

        failed = is_refused(change, at, lasting=lasting)
        assert (b"8081" not in file.read_bytes()) == failed, at

"""What is on the disk is not said to have failed: a second try on a full disk makes no twin."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memcli.errors import MemError
from memcli.store import entries
from memcli.store.sessions import find
from memcli.store.sessions.append import append
from memcli.store.sessions.file import read_events
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

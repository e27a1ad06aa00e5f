"""A file's bytes and the stat that belongs to them, whatever is done to the file meanwhile."""

import os
from pathlib import Path

import pytest

from memcli.index import file_reader
from memcli.index.file_reader import read_bytes
from memcli.index.scan import stat_of
from memcli.store.workspace import Workspace
from tests.index.conftest import Put


def test_the_stat_is_that_of_the_bytes(here: Workspace, put: Put) -> None:
    path = put("a.md", "one\n")
    assert read_bytes(here, "entries/a.md") == (b"one\n", stat_of(path.stat()))


def test_a_file_that_grows_while_it_is_read_is_read_again(
    here: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put("a.md", "one\n")
    grow_after_each_read(path, monkeypatch, times=1)
    assert read_bytes(here, "entries/a.md") == (b"one\nmore\n", stat_of(path.stat()))


def test_a_file_that_never_stops_growing_has_no_stat(
    here: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow_after_each_read(put("a.md", "one\n"), monkeypatch, times=1000)
    data, stat = read_bytes(here, "entries/a.md")
    assert data.startswith(b"one\n")
    assert stat == (0, 0, 0, 0)


def test_pieces_that_the_system_hands_out_are_put_together(
    here: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.md", "a text of its own\n")
    read = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, size: read(descriptor, min(size, 5)))
    assert read_bytes(here, "entries/a.md")[0] == b"a text of its own\n"


def test_no_more_is_read_than_is_indexed(here: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.md", "a text of its own\n")
    monkeypatch.setattr(file_reader, "LONGEST", 6)
    assert read_bytes(here, "entries/a.md")[0] == b"a text "


def grow_after_each_read(path: Path, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Append to the file after each of the first reads."""
    read, left = os.read, [times]

    def reading_and_growing(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        if left[0] > 0:
            left[0] -= 1
            path.write_bytes(path.read_bytes() + b"more\n")
        return data

    monkeypatch.setattr(os, "read", reading_and_growing)

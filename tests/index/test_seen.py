"""What a refresh saw is noted, so that the next has one thing to compare; but not when it is so no more."""

import sqlite3
import time
from contextlib import closing
from typing import Any

import pytest

from memcli.index import database, updater
from memcli.store.workspace import Workspace
from tests.index.conftest import Put


def test_what_a_refresh_has_seen_is_noted_once_nothing_is_new(put: Put, here: Workspace) -> None:
    put("a.md")
    here.derived.mkdir(exist_ok=True)
    time.sleep(0.03)
    with closing(database.connect(here.derived)[0]) as connection:
        updater.refresh(connection, here)
        assert not seen(connection)
        updater.refresh(connection, here)
        assert seen(connection)
        assert updater.refresh(connection, here).files == 2
        put("b.md")
        assert updater.refresh(connection, here).added == 1
        assert not seen(connection)


def test_a_refresh_does_not_note_what_another_has_overtaken(
    put: Put, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.md")
    here.derived.mkdir(exist_ok=True)
    time.sleep(0.03)
    with closing(database.connect(here.derived)[0]) as one, closing(database.connect(here.derived)[0]) as other:
        updater.refresh(one, here)

        def noted(*args: Any) -> None:
            monkeypatch.undo()
            put("b.md")
            updater.refresh(other, here)
            updater._note_seen(*args)

        monkeypatch.setattr(updater, "_note_seen", noted)
        updater.refresh(one, here)
        assert not seen(one)
        (here.root / "entries" / "b.md").unlink()
        assert updater.refresh(one, here).removed == 1


def test_a_refresh_does_not_wait_to_note_what_it_has_seen(put: Put, here: Workspace) -> None:
    put("a.md")
    here.derived.mkdir(exist_ok=True)
    time.sleep(0.03)
    with closing(database.connect(here.derived)[0]) as one, closing(database.connect(here.derived)[0]) as other:
        updater.refresh(one, here)
        other.execute("begin immediate")
        assert updater.refresh(one, here).files == 2
        other.execute("rollback")
        assert not seen(one)
        assert one.execute("pragma busy_timeout").fetchone() == (250,)


def seen(connection: sqlite3.Connection) -> list[tuple[str]]:
    return connection.execute("select key from meta where key like 'seen%'").fetchall()

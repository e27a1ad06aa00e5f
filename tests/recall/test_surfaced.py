"""What a session was shown is remembered while it is in view, whatever happens to the file that says so."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.recall import request
from memcli.recall.request import SessionState, SurfacedTurn, load_state, moved_topic, record_turn
from memcli.store.workspace import Surroundings, Workspace, opened


@pytest.fixture
def place(workspace: Path) -> Workspace:
    return opened(Surroundings(workspace, os.environ, datetime(2026, 11, 21, tzinfo=UTC)), workspace)


def only_file(place: Workspace) -> Path:
    (file,) = (place.derived / request.FOLDER).iterdir()
    return file


def test_turns_add_up(place: Workspace) -> None:
    assert load_state(place, "a") == SessionState()
    record_turn(place, "a", SurfacedTurn(("one",), ("page",), (0.6, 0.8)))
    record_turn(place, "a", SurfacedTurn(("two", "one")))
    state = load_state(place, "a")
    assert (state.shown, state.standing, state.turns, state.is_new) == (("one", "two"), ("page",), 2, False)
    assert state.context[1] / state.context[0] == pytest.approx(0.8 / 0.6, abs=0.02)


@pytest.mark.parametrize(
    ("reset", "standing", "turns"),
    [("topic", ("page",), 2), ("turns", (), 1), ("asked", (), 1), ("new session", (), 1)],
)
def test_another_topic_keeps_the_pages_and_a_new_beginning_keeps_nothing(
    place: Workspace, reset: str, standing: tuple[str, ...], turns: int
) -> None:
    record_turn(place, "a", SurfacedTurn(("one",), ("page",)))
    record_turn(place, "a", SurfacedTurn(("two",), reset=reset))
    state = load_state(place, "a")
    assert (state.shown, state.standing, state.turns) == (("two",), standing, turns)


@pytest.mark.parametrize("session", ["", "../../x", "a/b", "A", "x" * 5000, "\udcff", "名", "a\nb\x00"])
def test_any_name_of_a_session_has_a_file_of_its_own(place: Workspace, session: str) -> None:
    record_turn(place, session, SurfacedTurn(("one",)))
    record_turn(place, "another", SurfacedTurn(("two",)))
    assert load_state(place, session).shown == ("one",)
    assert {path.parent for path in (place.derived / request.FOLDER).iterdir()} == {place.derived / request.FOLDER}


def test_a_torn_line_costs_no_other(place: Workspace) -> None:
    record_turn(place, "a", SurfacedTurn(("one",)))
    file = only_file(place)
    file.write_bytes(file.read_bytes() + b'\n{"shown": ["hal')
    record_turn(place, "a", SurfacedTurn(("two",)))
    assert load_state(place, "a").shown == ("one", "two")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.binary(max_size=200) | st.sampled_from([b'{"shown": 3}', b'{"turns": -1}', b'{"context": "!"}', b"[[[[" * 40])
)
def test_a_file_of_anything_is_read(place: Workspace, data: bytes) -> None:
    record_turn(place, "a", SurfacedTurn(("one",)))
    only_file(place).write_bytes(data)
    load_state(place, "a")
    record_turn(place, "a", SurfacedTurn(("two",)))
    assert "two" in load_state(place, "a").shown


def test_a_link_in_its_place_is_not_followed(place: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    record_turn(place, "a", SurfacedTurn(("one",)))
    file = only_file(place)
    file.unlink()
    file.symlink_to(other)
    record_turn(place, "a", SurfacedTurn(("two",)))
    assert (other.read_text(), load_state(place, "a")) == ("mine", SessionState())


def test_two_agents_on_one_session_lose_nothing(place: Workspace) -> None:
    def talk(who: str) -> None:
        for number in range(40):
            record_turn(place, "a", SurfacedTurn((f"{who}{number}",)))

    threads = [Thread(target=talk, args=(who,)) for who in ("x", "y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = load_state(place, "a")
    assert set(state.shown) == {f"{who}{number}" for who in ("x", "y") for number in range(40)}
    assert state.turns == 80


def test_a_long_session_stays_small_and_keeps_what_it_knows(place: Workspace) -> None:
    for number in range(1200):
        record_turn(place, "a", SurfacedTurn((f"project mem_{number:020} {number:012}",)))
    state = load_state(place, "a")
    assert only_file(place).stat().st_size <= 2 * request.LARGE
    assert (len(state.shown), state.turns) == (request.SHOWN, 1200)
    assert state.shown[-1].endswith("1199")


def test_the_oldest_sessions_go(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "SESSIONS", 3)
    for number in range(6):
        record_turn(place, f"s{number}", SurfacedTurn(("one",)))
        for file in (place.derived / request.FOLDER).iterdir():
            status = file.stat()
            os.utime(file, ns=(status.st_mtime_ns - 10**9, status.st_mtime_ns - 10**9))
    assert [load_state(place, f"s{number}").is_new for number in range(6)] == [True] * 3 + [False] * 3


def test_a_place_that_cannot_be_written_is_no_error(place: Workspace) -> None:
    (place.derived / request.FOLDER).parent.mkdir(exist_ok=True)
    (place.derived / request.FOLDER).write_text("a file")
    record_turn(place, "a", SurfacedTurn(("one",)))
    assert load_state(place, "a") == SessionState()
    record_turn(replace(place, root=place.root / "gone" / "away"), "a", SurfacedTurn(("one",)))


def test_the_topic_moves_with_the_turns() -> None:
    assert moved_topic((), (1.0, 0.0)) == (1.0, 0.0)
    assert moved_topic((1.0, 0.0), ()) == (1.0, 0.0)
    assert moved_topic((1.0, 0.0), (0.0, 1.0)) == pytest.approx((1 / 3, 2 / 3))

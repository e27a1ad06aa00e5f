"""Conversations are appended safely: nothing lost, nothing twice, no secrets."""

import json
import multiprocessing
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from memcli.api import write
from memcli.consolidate.compaction import find_cut
from memcli.errors import NotFoundError, RejectedError, UsageError
from memcli.formats.records import split_lines
from memcli.reconcile.forgetting import forget
from memcli.store.sessions import (
    append_events,
    find_events_file,
    format_metadata,
    get_session,
    list_sessions,
    name_session,
    parse_metadata,
    read_session,
)
from memcli.store.workspace import Workspace
from tests.helpers import make_workspace, open_again


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def say(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content, **fields}


def read_events(workspace: Workspace, name: str = "s1") -> list[dict[str, Any]]:
    text = find_events_file(workspace, name).read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_events_get_an_id_and_a_time(workspace: Workspace) -> None:
    assert append_events(workspace, "s1", [say("Hello."), say("Hello.")]) == 2
    events = read_events(workspace)
    assert events[0]["id"] != events[1]["id"]
    assert events[0]["timestamp"].startswith("2026-11-28T12:")


def test_the_same_event_counts_once(workspace: Workspace) -> None:
    event = say("Hello.", uuid="u1", timestamp="2026-11-20T10:00:00Z")
    assert append_events(workspace, "s1", [event, event]) == 1
    assert append_events(workspace, "s1", [event]) == 0
    assert read_session(workspace, "s1").message_count == 1


def test_secrets_are_masked(workspace: Workspace) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    nested = {"type": "tool", "name": "Bash", "arguments": {"command": [f"echo {token}"]}}
    append_events(workspace, "s1", [say(f"Use {token}."), nested])
    text = find_events_file(workspace, "s1").read_text()
    assert token not in text
    assert "echo" in text


def test_keys_are_masked_too(workspace: Workspace) -> None:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    key = "ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"
    events = [say("One.", **{key: 1, "\ud800": 1}), say("Two.", data=deep), say("Three.")]
    append_events(workspace, "s1", events, folder=f"/tmp/{key}")
    assert get_session(workspace, "s1").folder == "/tmp/[REDACTED:github-token]"
    assert [event["content"] for event in read_events(workspace)] == ["One.", "Three."]
    assert key not in json.dumps(read_events(workspace))


def test_purged_text_does_not_come_back(workspace: Workspace) -> None:
    text = "The vault of the shop opens with the blue key."
    outcome = write(workspace, text, source="user")
    forget(open_again(workspace), [outcome.id], purge=True)
    append_events(open_again(workspace), "s1", [say(f"As I said: {text} Now the icons.")])
    stored = find_events_file(workspace, "s1").read_text()
    assert "blue key" not in stored
    assert "Now the icons." in stored


def test_unknown_keys_survive(workspace: Workspace) -> None:
    append_events(workspace, "s1", [say("Hi.", mood={"joy": 1})])
    assert read_events(workspace)[0]["mood"] == {"joy": 1}
    session = parse_metadata("s1", '{"createdAt": "2026-01-01T00:00:00Z", "salience": 3}')
    assert '"salience": 3' in format_metadata(session)
    assert session.created_at == "2026-01-01T00:00:00Z"


def test_a_torn_line_stays_alone(workspace: Workspace) -> None:
    append_events(workspace, "s1", [say("Hello.")])
    path = find_events_file(workspace, "s1")
    path.write_bytes(path.read_bytes() + b'{"type": "mess')
    append_events(workspace, "s1", [say("Again.")])
    lines = path.read_text().splitlines()
    assert lines[1] == '{"type": "mess'
    assert json.loads(lines[2])["content"] == "Again."
    assert read_session(workspace, "s1").message_count == 2


def test_counts_follow_the_file(workspace: Workspace) -> None:
    append_events(workspace, "s1", [say("Hello."), {"type": "tool", "name": "Bash"}])
    path = find_events_file(workspace, "s1")
    path.write_text(path.read_text() + json.dumps(say("By an editor.")) + "\n")
    session = read_session(workspace, "s1")
    assert session.message_count == 2
    assert session.tools_used == ["Bash"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"messageCount": "many", "state": 3}'])
def test_damaged_metadata_counts_as_absent(workspace: Workspace, text: str) -> None:
    append_events(workspace, "s1", [say("Hello.")])
    find_events_file(workspace, "s1").with_name("metadata.json").write_text(text)
    assert read_session(workspace, "s1").message_count == 1


def append_many(workspace: Workspace, name: str) -> None:
    for number in range(25):
        append_events(open_again(workspace), "s1", [say(f"{name} {number}", id=f"{name}{number}")])


def test_two_processes_append(workspace: Workspace) -> None:
    append_events(workspace, "s1", [say("start", id="start")])
    processes = [
        multiprocessing.get_context("fork").Process(target=append_many, args=(workspace, name))
        for name in ("a", "b")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len({event["id"] for event in read_events(workspace)}) == 51
    assert read_session(workspace, "s1").message_count == 51


def test_a_failed_append_leaves_no_half_line(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_events(workspace, "s1", [say("Hello.")])
    before = find_events_file(workspace, "s1").read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memcli.store.writer.os.fsync", fail)
    with pytest.raises(RejectedError, match="No space left"):
        append_events(workspace, "s1", [say("Again.")])
    assert find_events_file(workspace, "s1").read_bytes() == before
    monkeypatch.undo()
    monkeypatch.setattr("memcli.store.sessions.write_atomically", lambda *_: fail(0))
    with pytest.raises(RejectedError, match="No space left"):
        append_events(workspace, "s1", [say("Again.")])
    assert find_events_file(workspace, "s1").read_bytes() == before


def test_a_full_disk_leaves_no_half_line(workspace: Workspace) -> None:
    append_events(workspace, "s1", [say("Hello.")])
    before = find_events_file(workspace, "s1").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limits[1]))
    try:
        with pytest.raises(RejectedError):
            append_events(workspace, "s1", [say("lorem " * 500)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert find_events_file(workspace, "s1").read_bytes() == before


def test_a_line_separator_ends_no_line(workspace: Workspace) -> None:
    text = '{"content": "one\u2028two"}\n'
    assert split_lines(f"{text}{text}x") == [text, text, "x"]
    assert find_cut(f"{text}{text}", keep_tokens=10).head == text


def test_names_of_sessions(workspace: Workspace) -> None:
    assert name_session("43920215-453f") == "43920215-453f"
    for odd in ("../../etc", "a/b", ".hidden", "ü", "x" * 200):
        assert name_session(odd).startswith("s-")
    with pytest.raises(UsageError):
        name_session(" ")


def test_find_a_session_by_the_start_of_its_id(workspace: Workspace) -> None:
    for name in ("alpha-1", "alpha-2", "beta"):
        append_events(workspace, name, [say("Hello.")])
    assert get_session(workspace, "b").id == "beta"
    assert len(list_sessions(workspace)) == 3
    with pytest.raises(UsageError):
        get_session(workspace, "alpha")
    with pytest.raises(NotFoundError):
        get_session(workspace, "gamma")

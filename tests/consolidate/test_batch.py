"""Which messages wait, and how they are cut into batches."""

import json
from pathlib import Path

import pytest

from memcli.consolidate.batch import TOOL, build_batches, find_due_messages, read_pending
from memcli.consolidate.consolidate import consolidate_session
from memcli.store.sessions import append_events, read_session
from tests.consolidate.talk import build_events, open_workspace, say
from tests.helpers import put


def read_texts(items: list) -> list[str]:
    return [item.text for item in items]


def test_messages_behind_the_cursor_wait(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    session = say(workspace, "one", "two", "three")
    session.consolidated_to = "m1"
    assert read_texts(read_pending(workspace, session)) == ["three"]
    # Compaction moved the cursor, and a message that still waits, to the archive.
    lines = [json.dumps(event) + "\n" for event in build_events(["a", "b", "c"], prefix="old")]
    put(workspace, "sessions/s1/archive.jsonl", "".join(lines))
    session.consolidated_to = "old1"
    assert read_texts(read_pending(workspace, session)) == ["c", "one", "two", "three"]
    session.consolidated_to = "unknown"
    assert len(read_pending(workspace, session)) == 6


def test_a_session_that_was_cleared_starts_again(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    consolidate_session(workspace, say(workspace, "Always use tabs.", "Noted."))
    session = read_session(workspace, "s1")
    assert find_due_messages(workspace, session, is_forced=True) == []
    # Other messages, and by chance as many bytes.
    lines = [
        json.dumps(event) + "\n"
        for event in build_events(["Never use tabs.", "Noted!?"], prefix="n")
    ]
    put(workspace, "sessions/s1/session.jsonl", "".join(lines))
    session = read_session(workspace, "s1")
    session.other["consolidatedSize"] = session.size
    assert len(find_due_messages(workspace, session, is_forced=True)) == 2


def test_damaged_sessions_are_read(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    lines = [
        '{"type": "tool", "name": "Bash", "result": "' + "x" * 10_000 + '", "isError": true}',
        '{"role": "user", "content": "yes"}',
        "not JSON",
        '{"role": "assistant", "content": [{"type": "text", "text": "done"}]}',
        '{"role": "user", "content": "yes"}',
        '{"role": "system", "content": "be nice"}',
        '{"content": 5}',
        "[" * 3000,
        '{"role": "user", "conte',
    ]
    put(workspace, "sessions/s1/session.jsonl", "\n".join(lines))
    session = read_session(workspace, "s1")
    items = read_pending(workspace, session)
    assert [item.speaker for item in items] == [TOOL, "user", "assistant", "user"]
    assert len(items[0].text) <= 401
    assert "Bash failed" in items[0].text
    # The same word twice has two ids, although the file has none.
    session.consolidated_to = items[1].id
    assert len(read_pending(workspace, session)) == 2


@pytest.mark.parametrize(
    ("count", "day", "state", "is_forced", "due"),
    [
        (60, "2026-11-28", "", False, 50),  # running: the last ten wait
        (40, "2026-11-28", "", False, 0),  # running: too few
        (40, "2026-11-26", "", False, 40),  # idle for long
        (40, "2027-11-26", "", False, 40),  # the clock went back
        (40, "2026-11-28", "TERMINATED", False, 40),
        (40, "2026-11-28", "", True, 40),
    ],
)
def test_running_sessions_keep_their_latest_messages(
    tmp_path: Path, count: int, day: str, state: str, is_forced: bool, due: int
) -> None:
    # The clock of the tests is a little after 12:00, and the messages start at 10:00.
    workspace = open_workspace(tmp_path, MEM_CONSOLIDATE_IDLE_MINUTES="1440")
    session = say(workspace, *(f"message {n}" for n in range(count)), day=day, state=state)
    items = find_due_messages(workspace, session, is_forced=is_forced)
    assert read_texts(items) == [f"message {n}" for n in range(due)]


def test_a_repeated_message_belongs_to_one_session(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    first = say(workspace, "We ship a flatpak.", "Noted.")
    fork = say(workspace, "We ship a flatpak.", "Noted.", "And fonts?", session="s2")
    other = say(workspace, "Another talk.", session="s0", day="2026-11-25")
    for session, texts in (
        (first, ["We ship a flatpak.", "Noted."]),
        (fork, ["And fonts?"]),
        (other, ["Another talk."]),  # the same id, said at another time
    ):
        batches = build_batches(workspace, session, read_pending(workspace, session))
        assert [message.text for message in batches[0].messages] == texts
    # Once the fork has consolidated the message, it is no longer the first session's.
    append_events(workspace, "s2", [], state="TERMINATED")
    meta = workspace.root / "sessions/s2/metadata.json"
    meta.write_text(meta.read_text().replace('"consolidatedTo": ""', '"consolidatedTo": "m1"'))
    (batch,) = build_batches(workspace, first, read_pending(workspace, first))
    assert (batch.messages, batch.last_id) == ([], "m1")


@pytest.mark.parametrize(
    "text",
    [
        "Hi. <memory-context>\nTea at four.\n</memory-context>",
        "<hook_context>&lt;memory-context&gt;Tea at four.&lt;/memory-context&gt;</hook_context> Hi.",
        "Hi. &lt;memory-context&gt; Tea at four.&lt;/memory-context&gt;",
    ],
)
def test_text_of_our_own_context_is_nobodys_word(tmp_path: Path, text: str) -> None:
    workspace = open_workspace(tmp_path)
    session = say(workspace, text)
    (batch,) = build_batches(workspace, session, read_pending(workspace, session))
    assert [message.text for message in batch.messages] == ["Hi."]


def test_long_conversations_are_cut(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path, MEM_LLM_INPUT_TOKENS="1000")
    session = say(workspace, *("x" * 500 for _ in range(20)))
    say(workspace, "project: shop", "ok", prefix="later", day="2026-11-27")
    batches = build_batches(workspace, session, read_pending(workspace, session))
    assert sum(len(batch.messages) for batch in batches) == 22
    assert all(len(batch.messages) <= 6 for batch in batches)
    assert [batch.after for batch in batches] == ["", *(batch.last_id for batch in batches[:-1])]
    # A day later, another piece of history begins.
    assert [message.text for message in batches[-1].messages] == ["project: shop", "ok"]
    assert (batches[0].project, batches[-1].project) == ("", "shop")
    assert len({batch.id for batch in batches}) == len(batches)

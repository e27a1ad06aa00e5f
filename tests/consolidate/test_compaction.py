"""Long conversations are made shorter, and nothing of them is lost."""

import json
from pathlib import Path

from memcli.consolidate.batch import read_pending
from memcli.consolidate.compaction import HARD_LIMIT, compact_session, needs_compaction
from memcli.consolidate.queue import run_consolidation
from memcli.formats.records import parse_events
from memcli.index.index import open_index
from memcli.search.search import SearchOptions, search
from memcli.store.sessions import append_events, read_session
from memcli.store.undo import undo
from tests.consolidate.talk import build_events, open_with_reply, open_workspace, say
from tests.helpers import put

SMALL = {"MEM_COMPACT_TOKENS": "1000", "MEM_COMPACT_KEEP_TOKENS": "500"}
LINES = [f"We decided that part {number} costs {number * 7} euros." for number in range(40)]


def read_lines(folder: Path, name: str) -> list[str]:
    return (folder / "memory/sessions/s1" / name).read_text().splitlines()


def test_older_messages_move_to_the_archive(tmp_path: Path) -> None:
    workspace = open_with_reply(tmp_path, "Forty parts were priced.\x07\n", **SMALL)
    session = say(workspace, *LINES, project="shop")
    before = read_lines(tmp_path, "session.jsonl")
    assert needs_compaction(workspace, session)
    moved = compact_session(workspace, session)
    archived, (first, *kept) = (
        read_lines(tmp_path, "archive.jsonl"),
        read_lines(tmp_path, "session.jsonl"),
    )
    assert (moved, archived + kept) == (len(archived), before)
    assert sum(len(line) for line in kept) <= 4 * 500
    assert json.loads(first)["content"] == "Forty parts were priced."
    now = read_session(workspace, "s1")
    assert not needs_compaction(workspace, now)
    assert (now.created_at, now.message_count) == (session.created_at, 1 + len(kept))
    # The summary is a memory, and nobody's word in the conversation.
    (entry,) = open_index(workspace).list_entries()
    assert (entry.type, entry.source, entry.summary) == (
        "summary",
        "inferred",
        "Forty parts were priced.",
    )
    assert entry.project == "shop"
    assert entry.created_at == json.loads(archived[-1])["timestamp"]
    hits = search([workspace], "part 3 costs 21 euros", SearchOptions(40)).hits
    assert "sessions/s1/archive.jsonl" in {hit.path for hit in hits}
    assert not any(hit.kind == "session" and "Forty parts" in hit.text for hit in hits)


def test_messages_in_the_archive_still_wait(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path, **SMALL)
    session = say(workspace, *LINES)
    compact_session(workspace, session)
    assert [item.text for item in read_pending(workspace, read_session(workspace, "s1"))] == LINES
    # The conversation's own sentences are the summary if there is no model.
    (entry,) = open_index(workspace).list_entries()
    assert "part 0 costs" in (workspace.root / entry.path).read_text()
    say(workspace, *LINES, prefix="second", day="2026-11-27")
    done, messages = run_consolidation(workspace)
    assert sum(result.messages for result in done) == 80
    assert messages[0].startswith("moved ")
    assert read_pending(workspace, read_session(workspace, "s1")) == []
    # The second summary replaces the first one.
    summaries = open_index(workspace).list_entries("type = 'summary'")
    assert sorted(summary.status for summary in summaries) == ["active", "superseded"]
    assert len(list(parse_events("\n".join(read_lines(tmp_path, "archive.jsonl"))))) > 60


def test_an_undone_compaction_restores_the_messages(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path, **SMALL)
    session = say(workspace, *LINES)
    before = read_lines(tmp_path, "session.jsonl")
    compact_session(workspace, session)
    append_events(workspace, "s1", build_events(["Later."], prefix="later"))
    undo(workspace, 1)
    assert read_lines(tmp_path, "session.jsonl")[:-1] == before
    assert not (workspace.root / "sessions/s1/archive.jsonl").exists()
    assert read_session(workspace, "s1").message_count == 41


def test_above_the_hard_limit_no_model_is_asked(tmp_path: Path) -> None:
    script = tmp_path / "asked"
    workspace = open_workspace(tmp_path, MEM_LLM_COMMAND=f"sh -c 'touch {script}; echo Short.'")
    session = say(workspace, *("word " * 1_000 for _ in range(120)))
    assert session.token_count > HARD_LIMIT
    assert compact_session(workspace, session) > 90
    assert not script.exists()
    assert read_session(workspace, "s1").token_count < 25_000


def test_strange_lines_move_too(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path, **SMALL)
    lines = [
        *(json.dumps(event) for event in build_events(LINES)),
        "torn {",
        '{"role": "user", "content": "\u202eevil\x7f"}',
        "<<<<<<< HEAD",
        '{"role": "user", "content": "ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"}',
        *(json.dumps(event) for event in build_events(LINES, prefix="n")),
        '{"role": "user", "content": "cut o',
    ]
    put(workspace, "sessions/s1/session.jsonl", "\n".join(lines))
    assert compact_session(workspace, read_session(workspace, "s1")) > 41
    archived = read_lines(tmp_path, "archive.jsonl")
    assert archived + read_lines(tmp_path, "session.jsonl")[1:] == lines


def test_a_short_session_stays(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    assert compact_session(workspace, say(workspace, *LINES)) == 0
    assert not (workspace.root / "sessions/s1/archive.jsonl").exists()

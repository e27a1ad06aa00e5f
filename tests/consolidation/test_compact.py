"""A long session becomes shorter, and nothing of it is lost."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memcli.consolidation.backlog import MARK, due, is_long
from memcli.consolidation.compaction import Compacted, compact
from memcli.consolidation.consolidate import consolidate
from memcli.errors import LlmError, RefusedError
from memcli.formats.session_event import Event
from memcli.llm.client import Completion
from memcli.store.sessions.append import append
from memcli.store.sessions.event_file import read_events
from memcli.store.sessions.reading import span_events
from memcli.store.sessions.sessions import counts, find, sessions
from memcli.store.workspace import Workspace
from tests.consolidation.conversations import cursor, documents, reply, say
from tests.fake_llm import Answer, ScriptedLlm
from tests.scenes import at

LIMITS = {"MEM_SESSION_SOFT_LIMIT": "30000", "MEM_SESSION_HARD_LIMIT": "60000"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory", **LIMITS)


def long(workspace: Workspace, messages: int = 100, size: int = 1500, first: int = 1) -> None:
    say(workspace, *(f"message {number} {'x' * size}" for number in range(first, first + messages)), first=first)


def answers(summary: Answer) -> list[Answer]:
    """Script an LLM that consolidates as often as it is asked to, and sums up so."""

    def answer(messages: Sequence[Mapping[str, str]]) -> str | Completion:
        if not messages[0]["content"].startswith("You make long texts short"):
            return reply()
        if isinstance(summary, LlmError):
            raise summary
        return summary(messages) if callable(summary) else summary

    return [answer] * 20  # type: ignore[list-item]


def done(workspace: Workspace, *script: Answer, keep: int = 20, force: bool = False) -> Compacted:
    return compact(workspace, find(workspace, "s"), ScriptedLlm(*script) if script else None, keep=keep, force=force)


def live(workspace: Workspace) -> list[Event]:
    return [event for _, event in read_events(workspace.root / "sessions/s/session.jsonl")]


def everything(workspace: Workspace) -> list[str]:
    """Name the messages of a session wherever they lie, in their order."""
    parts = sorted((workspace.root / "archive/sessions").glob("s*"), key=lambda path: (len(path.name), path.name))
    files = [*(part / "session.jsonl" for part in parts), workspace.root / "sessions/s/session.jsonl"]
    return [event.id for file in files for _, event in read_events(file) if not event.text.startswith(MARK)]


def test_old_messages_become_one_summary_and_lie_in_the_archive(workspace: Workspace) -> None:
    long(workspace)
    assert is_long(workspace, find(workspace, "s"))
    told = done(workspace)
    first, *rest = live(workspace)
    assert (first.type, first.role) == ("message", "system")
    assert first.text.startswith(f"{MARK} ")
    assert everything(workspace) == [f"m{number}" for number in range(1, 101)]
    assert told.moved == 100 - len(rest)
    assert sum(len(event.text) for event in rest) / 3.5 <= 20_000
    assert len(rest) > 40, "the last 20,000 tokens are protected"
    assert (
        told.tokens_after == counts(workspace, find(workspace, "s")).tokens == find(workspace, "s").metadata.token_count
    )
    assert find(workspace, "s").metadata.message_count == len(rest) + 1
    assert not is_long(workspace, find(workspace, "s"))


def test_the_summary_is_kept_as_an_entry_with_its_sessions_id(workspace: Workspace) -> None:
    long(workspace)
    told = done(workspace)
    (entry,) = documents(workspace, "summary")
    assert entry.fields["sources"] == [f"session:s#m1:m{told.moved}"]
    assert entry.body.strip() == live(workspace)[0].text.removeprefix(MARK).strip()


def test_a_later_summary_takes_the_place_of_the_one_before(workspace: Workspace) -> None:
    long(workspace)
    done(workspace, *answers("First they spoke of ports."))
    long(workspace, first=101)
    done(workspace, *answers("Ports, then ships."))
    assert [event.text for event in live(workspace) if event.role == "system"] == [f"{MARK} Ports, then ships."]
    said = {document.body.strip(): document.fields.get("status") for document in documents(workspace, "summary")}
    assert said == {"First they spoke of ports.": "superseded", "Ports, then ships.": None}
    assert everything(workspace) == [f"m{number}" for number in range(1, 201)]


def test_what_waits_is_consolidated_first_and_never_twice(workspace: Workspace) -> None:
    long(workspace)
    done(workspace)
    assert cursor(workspace) == "m80"
    assert [one.folder for one in due(workspace)] == ["sessions/s"], "only the messages that were kept"
    consolidate(workspace, find(workspace, "s"), None)
    assert due(workspace) == []


def test_what_the_llm_failed_on_stays_due_in_the_archive(workspace: Workspace) -> None:
    long(workspace)
    told = done(workspace, LlmError("down"), LlmError("down"))
    assert (told.how, told.error, told.consolidated[0].how) == ("rules", "down", "fallback")
    parts = due(workspace)
    assert [one.folder for one in parts] == ["archive/sessions/s", "sessions/s"]
    asked = []
    for part in parts:
        llm = ScriptedLlm(*[reply()] * 5)
        consolidate(workspace, part, llm)
        asked += [message["content"] for question in llm.questions for message in question]
    seen = [sum(f"message {number} x" in text for text in asked) for number in range(1, 101)]
    assert seen == [1] * 100
    assert due(workspace) == []


def test_part_that_was_consolidated_is_not_due_again(workspace: Workspace) -> None:
    long(workspace)
    consolidate(workspace, find(workspace, "s"), None, keep=95)
    assert cursor(workspace) == "m5"
    done(workspace, LlmError("down"), LlmError("down"))
    archived, _ = due(workspace)
    llm = ScriptedLlm(*[reply()] * 5)
    consolidate(workspace, archived, llm)
    asked = llm.questions[0][1]["content"]
    assert "message 6 x" in asked
    assert "message 5 x" not in asked


def test_the_llm_is_asked_briefly_and_shown_no_tool_results(workspace: Workspace) -> None:
    say(workspace, f"Please run the tests {'x' * 500}", "Running.")
    tool = Event("t1", "tool_result", "system", "huge output " * 100, name="bash")
    append(workspace, "s", [tool], b"")
    long(workspace, first=4)
    llm = ScriptedLlm(*answers("They ran tests."))
    compact(workspace, find(workspace, "s"), llm)
    question, options = llm.questions[-1][1]["content"], llm.options[-1]
    assert "huge output" not in question
    assert max(map(len, question.split("\n"))) <= 340
    assert (options["temperature"], options["max_tokens"]) == (0.3, 500)
    assert live(workspace)[0].text == f"{MARK} They ran tests."


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "<html><body>502 Bad Gateway</body></html>",
        '{"error": {"message": "overloaded"}}',
        Completion("They ran te", "length"),
        Completion("Error", "content_filter"),
        "I'm sorry, but I cannot do that.",
        "x" * 100_000,
        LlmError("no answer within 15 s"),
    ],
)
def test_what_is_no_summary_is_not_kept_as_one(workspace: Workspace, answer: Answer) -> None:
    long(workspace)
    told = done(workspace, *answers(answer))
    assert told.how == "rules"
    assert told.error
    assert live(workspace)[0].text.startswith(f"{MARK} ")
    assert "message 1" in live(workspace)[0].text
    assert everything(workspace) == [f"m{number}" for number in range(1, 101)]


def test_a_session_below_its_limit_is_left_alone_unless_forced(workspace: Workspace) -> None:
    long(workspace, 30, 10)
    assert done(workspace).moved == 0
    assert not (workspace.root / "archive/sessions").exists()
    told = done(workspace, keep=5, force=True)
    assert told.moved == 25
    assert [event.id for event in live(workspace)[1:]] == [f"m{number}" for number in range(26, 31)]
    assert done(workspace, keep=5, force=True).moved == 0, "a summary alone is not summed up again"


def test_past_the_hard_limit_even_protected_messages_go(workspace: Workspace) -> None:
    long(workspace, 30, 20_000)
    done(workspace)
    assert counts(workspace, find(workspace, "s")).tokens <= 61_000
    assert everything(workspace) == [f"m{number}" for number in range(1, 31)]


def test_a_tools_answer_goes_with_its_call(workspace: Workspace) -> None:
    long(workspace, 10, 10)
    pair = [Event("c", "tool_call", "assistant", "ls"), Event("r", "tool_result", "system", "a b")]
    append(workspace, "s", pair, b"")
    long(workspace, 2, 10, first=13)
    done(workspace, keep=2, force=True)
    assert [event.id for event in live(workspace)][1:] == ["m13", "m14"]


def test_messages_that_come_meanwhile_stay(workspace: Workspace) -> None:
    long(workspace)

    def slow(_: object) -> str:
        say(workspace, "late", first=101)
        return "They spoke."

    done(workspace, *answers(slow))
    assert live(workspace)[-1].text == "late"
    assert everything(workspace) == [f"m{number}" for number in range(1, 102)]


def test_what_an_agent_says_at_the_last_moment_stays_in_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.beliefs import admission as module

    workspace = at(tmp_path / "memory", MEM_CONSOLIDATE_ENABLED="false", **LIMITS)
    long(workspace)
    real, times = module.apply, []

    def meddled(*arguments: Any) -> Any:
        times.append(1)
        if len(times) == 1:  # who writes so takes no lock
            with (workspace.root / "sessions/s/session.jsonl").open("a") as file:
                file.write('{"id":"late","type":"message","role":"user","content":"and one more"}\n')
        return real(*arguments)

    monkeypatch.setattr(module, "apply", meddled)
    assert done(workspace).moved > 1
    assert live(workspace)[-1].text == "and one more"
    assert len(times) == 2
    assert sorted(everything(workspace)) == sorted(set(everything(workspace)))


def test_lines_that_are_no_events_and_missing_ids_are_kept_too(workspace: Workspace) -> None:
    folder = workspace.root / "sessions/s"
    folder.mkdir(parents=True)
    lines = ["not JSON", *(json.dumps({"role": "user", "content": f"We use tool {n}"}) for n in range(10)), "torn {"]
    (folder / "session.jsonl").write_text("\n".join(lines))
    done(workspace, keep=4, force=True)
    text = (workspace.root / "archive/sessions/s/session.jsonl").read_text()
    assert text.startswith("not JSON\n")
    assert (folder / "session.jsonl").read_text().endswith("torn {")
    assert len(everything(workspace)) == len(set(everything(workspace))) == 10


def test_an_entrys_source_is_found_after_its_messages_were_archived(workspace: Workspace) -> None:
    long(workspace, 30, 10)
    done(workspace, keep=5, force=True)
    found: Sequence[str] = [event.id for _, event in span_events(workspace, find(workspace, "s"), "m3:m28")]
    assert [name for name in found if name.startswith("m") and len(name) < 4] == [f"m{n}" for n in range(3, 29)]


def test_what_was_archived_is_not_compacted(workspace: Workspace) -> None:
    long(workspace, 30, 10)
    done(workspace, keep=5, force=True)
    consolidate(workspace, find(workspace, "s"), None)
    (archived,) = sessions(workspace, archived=True)
    with pytest.raises(RefusedError, match="in the archive"):
        compact(workspace, archived, None)

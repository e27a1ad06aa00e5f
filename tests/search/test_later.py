"""Search prefers what was said later, and long turns of conversations do not crowd out others."""

import json
import os
from pathlib import Path

import pytest

from memcli.index.filters import Filter
from memcli.search.search import Hit, SearchOptions, search
from memcli.store.workspace import Workspace
from tests.helpers import make_workspace, put

OLD, NEW, THIRD = "mem_01kajd3v7m4kq7aa", "mem_01kajd3v7m4kq7bb", "mem_01kajd3v7m4kq7cc"


def put_entry(workspace: Workspace, id_: str, day: str, text: str, trust: float = 1.0) -> None:
    head = f"id: {id_}\ncreated_at: {day}\nsource: user\ntrust: {trust}"
    put(workspace, f"entries/{id_}.md", f"---\n{head}\n---\n\n{text}\n")


def find(workspace: Workspace, query: str, limit: int = 10) -> list[Hit]:
    return search([workspace], query, SearchOptions(limit=limit)).hits


def test_the_later_of_two_similar_memories_comes_first(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "The port of the staging server is 8443.")
    put_entry(workspace, NEW, "2026-02-02", "The port of the staging server is 9443.")
    hits = find(workspace, "port of the staging server")
    assert [(hit.id, hit.newer) for hit in hits] == [(NEW, ""), (OLD, NEW)]
    assert [hit.id for hit in find(workspace, "port of the staging server", limit=1)] == [NEW]


@pytest.mark.parametrize(("trust", "mark"), [(1.0, NEW), (0.5, "")])
def test_a_change_in_other_words_marks_the_older_memory(
    tmp_path: Path, trust: float, mark: str
) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "My shoe size is 42.")
    put_entry(workspace, NEW, "2026-02-02", "The last running shoes I bought were 43.", trust)
    put_entry(workspace, THIRD, "2026-03-02", "The boiler needs a new valve.")
    hits = find(workspace, "What is my shoe size?")
    assert (hits[0].id, hits[0].newer) == (OLD, mark)
    # The mark is found before the cut.
    assert find(workspace, "What is my shoe size?", limit=1)[0].newer == mark


def test_a_text_that_speaks_of_a_change_marks_the_older_memory(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "The kite flies at 60 metres.")
    put_entry(workspace, NEW, "2026-02-02", "We fly at 45 m from today, new permit")
    put_entry(workspace, THIRD, "2026-01-01", "The kite weighs two kilos.")
    hits = find(workspace, "How high does the kite fly?")
    assert [(hit.id, hit.newer) for hit in hits if hit.newer] == [(OLD, NEW)]


def test_a_later_memory_about_another_subject_is_no_change(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "The staging database listens on port 6543.")
    put_entry(workspace, NEW, "2026-02-02", "The production database listens on port 5432.")
    for query, first in (("which port is staging on", OLD), ("port of production", NEW)):
        hits = find(workspace, query)
        assert (hits[0].id, [hit.newer for hit in hits]) == (first, ["", ""])
    # The query names the old value, which is no subject.
    put_entry(workspace, THIRD, "2026-03-02", "The staging database listens on port 7654.")
    hits = find(workspace, "does the staging database listen on port 6543")
    assert {hit.id: hit.newer for hit in hits}[OLD] == THIRD


def test_a_note_without_text_is_found_by_the_words_of_its_title_only(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "The boiler is serviced in October.")
    put(workspace, "entries/empty.md", "---\ntitle: Heating maintenance\n---\n")
    hits = find(workspace, "when is the heating serviced")
    assert [hit.path for hit in hits] == [f"entries/{OLD}.md", "entries/empty.md"]
    assert find(workspace, "heating maintenance")[0].path == "entries/empty.md"


def test_small_talk_answers_only_for_its_own_words(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    event = json.dumps({"role": "user", "content": "ok thanks, see you"})
    put(workspace, "sessions/s1/session.jsonl", f"{event}\n")
    assert not find(workspace, "a polite farewell")
    assert find(workspace, "who said thanks")
    # The words of a turn next to it count for "OK." too.
    talk = ["what port was staging again?", "OK.", "the port is 6543"]
    lines = [json.dumps({"role": "user", "content": text}) for text in talk]
    put(workspace, "sessions/s1/session.jsonl", "\n".join(lines) + "\n")
    found = find(workspace, "what port does staging use")
    assert [hit.text for hit in found] == ["user: the port is 6543"]


def test_notes_of_one_template_need_another_common_word(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    note = "# {}\n\n## Summary\n\n{}\n\n## Why I read it\n\nRecommended by a friend.\n"
    trees = "Nine strangers are drawn together by trees."
    put_entry(workspace, OLD, "2026-01-02", note.format("The Overstory", trees))
    statues = "A man lives in a house of statues and writes journals."
    put_entry(workspace, NEW, "2026-02-02", note.format("Piranesi", statues))
    assert not any(hit.newer for hit in find(workspace, "Which book is about trees?"))
    felled = "The trees of the strangers are felled in the end."
    put_entry(workspace, NEW, "2026-02-02", note.format("Overstory, again", felled))
    assert find(workspace, "Which book has strangers drawn together?")[0].newer == NEW


def test_a_memory_comes_before_the_record_that_repeats_it(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "The staging database listens on port 6543.")
    record = "Staging database port: the staging database listens on port 6543, says Ana."
    put(workspace, "HISTORY-2026-11.md", f"## [hist_1] 2026-11-20\n\n{record}\n")
    hits = find(workspace, "which port does the staging database listen on")
    assert [hit.kind for hit in hits] == ["entry", "history"]
    # A record about something else, which mentions the memory, fits better.
    (record,) = find(workspace, "what does Ana say about the staging database", limit=1)
    assert record.kind == "history"


def test_a_memory_answers_for_the_conversations_of_other_workspaces(tmp_path: Path) -> None:
    project, own = make_workspace(tmp_path / "project"), make_workspace(tmp_path / "own")
    put_entry(project, OLD, "2026-01-02", "The ledger service is owned by Bruno.")
    question = {"id": "m1", "role": "user", "content": "Who owns the ledger service now?"}
    put(own, "sessions/s1/session.jsonl", f"{json.dumps(question)}\n")
    alone = search([own], "who owns the ledger service?", SearchOptions()).hits
    assert [hit.kind for hit in alone] == ["session"]
    hits = search([project, own], "who owns the ledger service?", SearchOptions()).hits
    assert [hit.id for hit in hits] == [OLD]
    wanted = SearchOptions(wanted=Filter(kinds=("entry", "session")))
    assert len(search([project, own], "who owns the ledger service?", wanted).hits) == 2


def test_a_daily_note_is_not_named_as_the_later_memory(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "My shoe size is 42.")
    put_entry(workspace, THIRD, "2026-03-02", "The boiler needs a new valve.")
    text = "---\nsource: user\n---\n\nThe last running shoes I bought were 43.\n"
    put(workspace, "entries/2026-02-02.md", text)
    hits = find(workspace, "What is my shoe size?")
    assert (hits[0].id, hits[0].newer) == (OLD, "")


def test_different_memories_about_a_subject_are_not_marked(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "Tomas lives in Porto.")
    put_entry(workspace, NEW, "2026-02-02", "The invoices are kept for ten years.")
    put_entry(workspace, THIRD, "2026-03-02", "The boiler needs a new valve.")
    assert not any(hit.newer for hit in find(workspace, "Where does Tomas live?"))


def test_a_short_answer_comes_before_a_long_turn_that_touches_everything(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    topics = ("invoices", "the boiler", "holidays", "the garden", "trains", "music", "bread")
    essay = " ".join(
        f"There is much to say about {topic}: the date, the price and the people of {topic} change."
        for topic in topics * 6
    )
    messages = [("assistant", essay), ("user", "The boiler was repaired by Ines in March.")]
    lines = [json.dumps({"role": role, "content": text}) for role, text in messages]
    put(workspace, "sessions/s1/session.jsonl", "\n".join(lines) + "\n")
    wanted = Filter(kinds=("session",))
    hits = search([workspace], "people of the boiler", SearchOptions(wanted=wanted)).hits
    assert {hit.line: hit.parts["bonus"] for hit in hits}[1] < 0
    assert {hit.line: hit.parts["bonus"] for hit in hits}[2] == 0


def test_a_note_without_a_date_is_never_later(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    # A copy of a folder gives its files the time of the copy, one after the other.
    for number, port in enumerate((8443, 9443)):
        text = f"The port of the staging server is {port}.\n"
        os.utime(put(workspace, f"entries/{number}.md", text), (1_700_000_000 + number,) * 2)
    hits = find(workspace, "port of the staging server")
    assert [hit.newer for hit in hits] == ["", ""]
    put(workspace, "entries/1.md", f"---\ndate: 2024-01-01\n---\n{text}")
    hits = find(workspace, "port of the staging server")
    assert [(hit.path, hit.newer) for hit in hits][1] == ("entries/0.md", "entries/1.md")


def test_a_conversation_that_says_nothing_new_is_no_answer(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, OLD, "2026-01-02", "The queue is RabbitMQ 4.")
    talks = (["Which queue do we use?"], ["Can you use a set?", "Never mind.", "In two files."])
    for number, said in enumerate(talks):
        events = [{"id": f"m{text}", "role": "user", "content": text} for text in said]
        lines = "".join(f"{json.dumps(event)}\n" for event in events)
        put(workspace, f"sessions/s{number}/session.jsonl", lines)
    hits = find(workspace, "which queue do we use")
    assert [hit.id for hit in hits] == [OLD]
    # All of them are there for a person who looks for the conversation.
    wanted = SearchOptions(wanted=Filter(kinds=("session",)))
    assert "Which queue" in search([workspace], "which queue do we use", wanted).hits[0].text

"""Conversations are read on demand, and then only what was added to them."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memcli.formats.chunking import Chunk
from memcli.formats.session_event import Event, render_event
from memcli.index import updater, writer
from memcli.index.file_reader import PREVIOUS, Talk
from memcli.index.filters import scores
from memcli.index.index import Index, ask
from memcli.index.scan import FileListing, scan
from memcli.index.text_vectors import CONTEXT_END
from memcli.store.layouts import Layout
from memcli.store.workspace import Workspace
from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.index.contents import assert_as_new


def say(workspace: Path, *texts: str, session: str = "s") -> None:
    """Add messages to a session as another program would, users and assistants in turn."""
    path = workspace / "sessions" / session / "session.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for text in texts:
            role = "assistant" if text[:1].isupper() else "user"
            file.write(json.dumps({"role": role, "content": text}) + "\n")


def turns(here: Workspace) -> list[tuple[str, str]]:
    """Give what the index holds of conversations: line and text."""

    def answer(index: Index) -> list[tuple[str, str]]:
        index.refresh(talk=True)
        return index.connection.execute("select anchor, turns.text from turns join chunks using(chunk)").fetchall()

    return ask(here, answer)


def test_a_conversation_is_not_read_until_it_is_asked_for(mem: Mem, workspace: Path) -> None:
    say(workspace, "where do herons sleep", "In the reeds.")
    for command in (("search", "herons", "--kind", "entry", "--mode", "keyword"), ("ls",), ("grep", "herons")):
        mem(*command)
    assert turns_held(workspace) == 0
    hits = mem("search", "herons", "--kind", "session", "--mode", "keyword", "--json").json["hits"]
    assert hits[0]["id"] == "session:s#1"
    assert hits[0]["summary"] == "user: where do herons sleep"


def test_the_disk_is_looked_at_once_for_a_question(here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    say(here.root, "where do herons sleep", "In the reeds.")
    looks: list[Path] = []

    def looked(root: Path, layout: Layout) -> FileListing:
        looks.append(root)
        return scan(root, layout)

    monkeypatch.setattr(updater, "scan", looked)

    def answer(index: Index) -> tuple[int, int]:
        first = index.refresh()
        say(here.root, "where do owls sleep", session="later")
        assert index.refresh() is first
        return first.files, index.refresh(talk=True).files

    assert ask(here, answer) == (2, 2)
    assert len(looks) == 1
    assert turns(here)[-1] == ("1", "user: where do owls sleep")


def turns_held(workspace: Path) -> int:
    """Count the turns the index holds, without bringing it in step."""
    with closing(sqlite3.connect(workspace / ".mem" / "index.db")) as connection:
        count: int = connection.execute("select count(*) from turns").fetchone()[0]
    return count


def test_a_turn_is_embedded_with_the_end_of_the_one_before(
    mem: Mem, workspace: Path, embedder: CountingEmbedder
) -> None:
    say(workspace, "begin " + "word " * 200 + "end", "Yes.", "no " + "word " * 60)
    mem("index")
    (told,) = (text for text in embedder.embedded if text.endswith("Yes."))
    before, _, own = told.partition(CONTEXT_END)
    assert own == "assistant: Yes."
    assert before.startswith("user: ")
    assert before.endswith("word end")
    assert len(before) <= len("user: ") + PREVIOUS
    assert any(text.startswith("user: no") for text in embedder.embedded)  # long enough to be understood alone


def test_who_goes_on_speaking_answers_nobody(mem: Mem, workspace: Path, embedder: CountingEmbedder) -> None:
    lines = [render_event(Event(str(number), name="Emi", text=text)) for number, text in enumerate(("One.", "Two."))]
    folder = workspace / "sessions" / "s"
    folder.mkdir(parents=True)
    (folder / "session.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    mem("index")
    assert {"Emi: One.", "Emi: Two."} <= set(embedder.embedded)


def test_what_is_added_alone_is_embedded(mem: Mem, workspace: Path, embedder: CountingEmbedder) -> None:
    say(workspace, *(f"message {number}" for number in range(50)))
    mem("index")
    embedder.embedded.clear()
    say(workspace, "one more")
    mem("index")
    assert embedder.embedded == ["user: one more"]
    embedder.embedded.clear()
    place = workspace / "sessions/s/session.jsonl"
    place.write_text(place.read_text().replace("message 10", "message ten"))
    mem("index")
    assert embedder.embedded == ["user: message ten"]


def test_what_is_no_speech_only_counts_as_a_position(here: Workspace, workspace: Path) -> None:
    place = workspace / "sessions" / "s" / "session.jsonl"
    place.parent.mkdir(parents=True)
    events = [
        {"role": "system", "content": "rules"}, {"role": "user", "content": "go\x00on", "name": "Ana"},
        {"type": "tool_call", "name": "ls", "content": "x"}, {"role": "assistant", "content": " "},
        {"role": "assistant", "content": "Gone."},
    ]  # fmt: skip
    place.write_text("not json\n" + "".join(json.dumps(event) + "\n" for event in events))
    assert turns(here) == [("2", "Ana: go on"), ("5", "assistant: Gone.")]


def test_a_long_answer_is_cut_and_stays_one_hit(mem: Mem, workspace: Path) -> None:
    say(workspace, "Herons nest high. " + "They fish at dawn. " * 200 + "Herons sleep late.")
    hits = mem("search", "herons", "--kind", "session", "--mode", "keyword", "--json").json["hits"]
    assert [hit["id"] for hit in hits] == ["session:s#1"]


def test_a_long_conversation_is_taken_in_by_whoever_has_the_lock(
    here: Workspace, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(workspace, *(f"message {number}" for number in range(40)))
    monkeypatch.setattr(writer, "BATCH_SECONDS", -1.0)
    breathe = writer.Writer.breathe
    left = [25]

    def another_comes_in(self: writer.Writer) -> None:
        breathe(self)
        left[0] -= 1
        if left[0] == 0:
            self.connection.execute("commit")
            assert len(turns(here)) == 40
            self.connection.execute("begin immediate")

    monkeypatch.setattr(writer.Writer, "breathe", another_comes_in)
    assert turns(here) == [(str(number + 1), f"user: message {number}") for number in range(40)]
    assert left[0] < 0


@pytest.mark.parametrize("known", [False, True])
def test_a_conversation_that_cannot_be_read_to_its_end_is_named_and_read_again(
    here: Workspace, workspace: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    say(workspace, "herons")
    if known:
        assert turns(here) == [("1", "user: herons")]
    say(workspace, "egrets", "storks")
    chunks = Talk.chunks

    def failing(self: Talk) -> Iterator[Chunk]:
        yield next(chunks(self))
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(Talk, "chunks", failing)
        assert turns(here) == []
        assert "cannot be read: Input/output error" in str(ask(here, lambda index: index.problems()))
    assert [text for _, text in turns(here)] == ["user: herons", "user: egrets", "user: storks"]
    ask(here, assert_as_new)


def test_neighbours_share_their_words_whatever_their_numbers() -> None:
    turns_of = {chunk: (session, chunk, 9) for chunk, session in {1: 7, 2: 7, 30: 7, 31: 8}.items()}
    own, _ = scores([{2: 1}], [1.0], {chunk: -chunk for chunk in turns_of}, turns_of, 1.0, (0.5,), 100)
    assert sorted(own) == [1, 2, 30]
    assert own[1] == own[30] < own[2]

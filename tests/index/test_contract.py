"""What any index has to answer: another implementation of `MemoryIndex` joins by a line in `IMPLEMENTATIONS`."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memcli.index.filters import SORTS, Filter
from memcli.index.index import MemoryIndex, ask
from memcli.store.workspace import Workspace
from tests.fakes import CountingEmbedder
from tests.index.conftest import Put

IMPLEMENTATIONS = {"sqlite": ask}
"""How each answers a question of a workspace's index."""
EVERY = Filter(statuses=())

Answer = Callable[[Callable[[MemoryIndex], Any]], Any]


@pytest.fixture(params=IMPLEMENTATIONS)
def answer(request: pytest.FixtureRequest, here: Workspace) -> Answer:
    """Give a function that answers a question of an index which is in step with the disk."""

    def asked(question: Callable[[MemoryIndex], Any]) -> Any:
        def fresh(index: MemoryIndex) -> Any:
            index.refresh(talk=True)
            return question(index)

        return IMPLEMENTATIONS[request.param](here, fresh)

    return asked


@pytest.fixture(autouse=True)
def memories(workspace: Path, put: Put, embedder: CountingEmbedder) -> None:
    """Keep an entry in use, one that is superseded, a broken one, a page, and a conversation of three turns."""
    put("tea.md", "---\nid: mem_tea\ntype: preference\nupdated_at: 2026-01-02\n---\nThe quagga drinks tea.\n")
    put("old.md", "---\nid: mem_old\nstatus: superseded\nupdated_at: 2026-01-01\n---\nThe quagga drinks milk.\n")
    put("broken.md", "---\nid: [\n---\nThe quagga is broken.\n")
    (workspace / "MEMORY.md").write_text("# Known\n\nA page of the quagga.\n")
    folder = workspace / "sessions" / "talk"
    folder.mkdir(parents=True)
    turn = {"type": "message", "role": "user"}
    turns = (json.dumps({**turn, "content": f"turn {number} of the zebra"}) for number in range(3))
    (folder / "session.jsonl").write_text("".join(f"{line}\n" for line in turns))


def chunks(index: MemoryIndex, word: str, wanted: Filter = EVERY) -> set[str]:
    """Return the paths of what has a word and passes a filter."""
    (posting,) = index.postings([(word,)])
    passing = index.documents(wanted, set(posting or ()))
    return {piece.path for piece in index.pieces(passing).values()}


def test_it_is_in_step_with_the_disk(answer: Answer, put: Put) -> None:
    assert answer(lambda index: chunks(index, "heron")) == set()
    path = put("new.md", "The heron came.\n")
    assert answer(lambda index: chunks(index, "heron")) == {"entries/new.md"}
    path.write_text("The bittern came.\n")
    assert answer(lambda index: chunks(index, "heron")) == set()
    path.unlink()
    assert answer(lambda index: chunks(index, "bittern")) == set()


def test_a_refresh_says_what_changed_and_nothing_a_second_time(here: Workspace, put: Put) -> None:
    for ask_index in IMPLEMENTATIONS.values():
        assert ask_index(here, lambda index: index.refresh(talk=True)).added == 5
        put("tea.md", "Another text of the quagga.\n")
        again = ask_index(here, lambda index: index.refresh(talk=True))
        assert (again.added, again.changed) == (0, 1)
        third = ask_index(here, lambda index: index.refresh(talk=True))
        assert (third.added, third.changed) == (0, 0)


@pytest.mark.parametrize("order", SORTS.values())
def test_entries_are_listed_whatever_the_order(answer: Answer, order: str) -> None:
    assert {row["id"] for row in answer(lambda index: index.list_entries(EVERY, order))} >= {"mem_tea", "mem_old"}
    assert len(answer(lambda index: index.list_entries(EVERY, order, 1))) == 1


def test_a_row_has_the_fields_of_its_entry(answer: Answer) -> None:
    (row,) = answer(lambda index: index.list_entries(replace(EVERY, types=("preference",)), "path"))
    assert (row["id"], row["path"], row["status"]) == ("mem_tea", "entries/tea.md", "active")
    assert (row["tags"], row["conflicts_with"], row["pinned"]) == ([], [], False)


def test_filters_hold_for_every_question(answer: Answer) -> None:
    superseded = Filter(statuses=("superseded",), kinds=("entry",))
    assert answer(lambda index: [path for path, _ in index.files(superseded)]) == ["entries/old.md"]
    assert answer(lambda index: [path for path, _ in index.texts(superseded)]) == ["entries/old.md"]
    assert answer(lambda index: chunks(index, "quagga", superseded)) == {"entries/old.md"}


def test_words_are_counted_by_chunk_and_by_their_forms(answer: Answer) -> None:
    counts, again = answer(lambda index: index.postings([("drinks", "drinking"), ("drink",)]))
    assert sum(counts.values()) == 2
    assert again == counts  # of the same stem
    assert answer(lambda index: sum(index.alike_postings("zebras").values())) == 3
    assert answer(lambda index: index.alike_postings("ze")) == {}


def test_a_turn_is_given_with_its_neighbours(answer: Answer) -> None:
    turns = answer(lambda index: index.turns_around("sessions/talk/session.jsonl", 2))
    assert [line for line, _, _ in turns] == [1, 2, 3]
    assert len(answer(lambda index: index.turns(replace(EVERY, kinds=("session",))))) == 3


def test_what_cannot_be_read_is_named_and_left_out(answer: Answer) -> None:
    (problem,) = answer(lambda index: index.problems())
    assert problem.path == "entries/broken.md"
    assert answer(lambda index: index.has_expired()) is False


def test_every_text_gets_a_vector_and_the_nearest_comes_first(answer: Answer) -> None:
    def nearest(index: MemoryIndex) -> list[str]:
        assert index.embedding.embed_all() == 0
        vector = index.embedding.vector([("The quagga drinks tea.", 1.0)])
        near, _ = index.embedding.nearest(vector, Filter(), 3, ())
        best = max(near, key=lambda chunk: near[chunk])
        return [index.pieces([best])[best].path, str(len(near) <= index.chunk_count())]

    assert answer(nearest) == ["entries/tea.md", "True"]

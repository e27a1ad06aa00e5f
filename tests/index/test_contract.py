"""What any index has to answer: another implementation of `MemoryIndex` joins by a line in `IMPLEMENTATIONS`."""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memcli.index.filters import SORTS, Filter
from memcli.index.index import MemoryIndex, ask
from memcli.index.postgres.connection import close_connection
from memcli.store.settings import Settings
from memcli.store.workspace import MARKER, Workspace
from tests.fakes import CountingEmbedder
from tests.index.conftest import Put


def shared(workspace: Workspace, request: pytest.FixtureRequest) -> Workspace:
    """Return a workspace as its owner has it who shares it on a server."""
    team, identity = request.getfixturevalue("team"), str(uuid.uuid4())
    team.add_owners("alice")
    team.add_workspace("alice", identity)
    values = {"index.backend": "postgres", "index.dsn": team.dsn("alice"), "index.workspace": identity}
    return stated(replace(workspace, settings=Settings({**workspace.settings.values, **values}, {})))


def stated(workspace: Workspace) -> Workspace:
    """Return a workspace whose own file says which one it is on the server."""
    settings = workspace.settings
    places = {**settings.places, "index.workspace": str(workspace.root / MARKER)}
    return replace(workspace, settings=replace(settings, places=places))


IMPLEMENTATIONS = {"embedded": lambda workspace, request: workspace, "postgres": shared}
"""How a workspace is opened for each."""
EVERY = Filter(statuses=())

Answer = Callable[[Callable[[MemoryIndex], Any]], Any]


@pytest.fixture(params=IMPLEMENTATIONS)
def answer(request: pytest.FixtureRequest, here: Workspace) -> Answer:
    """Give a function that answers a question of an index which is in step with the disk."""
    workspace = IMPLEMENTATIONS[request.param](here, request)
    return lambda question: ask(workspace, lambda index: fresh(index, question))


def fresh(index: MemoryIndex, question: Callable[[MemoryIndex], Any]) -> Any:
    """Return the answer of an index brought in step, with what others have."""
    index.refresh(talk=True)
    index.reach_others()
    assert index.failure == ""
    return question(index)


@pytest.fixture(params=[*IMPLEMENTATIONS, "elsewhere"])
def find(request: pytest.FixtureRequest, here: Workspace, tmp_path: Path) -> Answer:
    """Give a function that answers where the files are and, `elsewhere`, where there are none but on the server."""
    if request.param != "elsewhere":
        workspace = IMPLEMENTATIONS[request.param](here, request)
        return lambda question: ask(workspace, lambda index: fresh(index, question))
    workspace = shared(here, request)
    (tmp_path / "elsewhere").mkdir()
    clone = stated(replace(workspace, root=tmp_path / "elsewhere"))

    def asked(question: Callable[[MemoryIndex], Any]) -> Any:
        ask(workspace, lambda index: fresh(index, lambda index: index.embedding.embed_all()))
        return ask(clone, lambda index: fresh(index, question))

    return asked


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Leave no connection open."""
    yield
    close_connection()


@pytest.fixture(autouse=True)
def memories(workspace: Path, put: Put, embedder: CountingEmbedder) -> None:
    """Keep an entry in use, one that is superseded, a broken one, a page, and a conversation of three turns."""
    put(
        "tea.md",
        "---\nid: mem_tea\ntype: preference\ncreated_at: 2026-01-02\nupdated_at: 2026-01-02\n"
        "source: user\nkey: Tea.kind\ntags: [Beverage]\n---\nThe quagga drinks tea.\n",
    )
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


def test_it_is_in_step_with_the_disk(find: Answer, put: Put) -> None:
    assert find(lambda index: chunks(index, "heron")) == set()
    path = put("new.md", "The heron came.\n")
    assert find(lambda index: chunks(index, "heron")) == {"entries/new.md"}
    path.write_text("The bittern came.\n")
    assert find(lambda index: chunks(index, "heron")) == set()
    path.unlink()
    assert find(lambda index: chunks(index, "bittern")) == set()


def test_a_refresh_says_what_changed_and_nothing_a_second_time(answer: Answer, put: Put) -> None:
    assert answer(lambda index: index.refresh(talk=True)).added == 5
    put("tea.md", "Another text of the quagga.\n")
    again = answer(lambda index: index.refresh(talk=True))
    assert (again.added, again.changed) == (0, 1)
    third = answer(lambda index: index.refresh(talk=True))
    assert (third.added, third.changed) == (0, 0)


@pytest.mark.parametrize("order", SORTS.values())
def test_entries_are_listed_whatever_the_order(answer: Answer, order: str) -> None:
    assert {row["id"] for row in answer(lambda index: index.list_entries(EVERY, order))} >= {"mem_tea", "mem_old"}
    assert len(answer(lambda index: index.list_entries(EVERY, order, 1))) == 1


def test_a_row_has_the_fields_of_its_entry(answer: Answer) -> None:
    (row,) = answer(lambda index: index.list_entries(replace(EVERY, types=("preference",)), "path"))
    assert (row["id"], row["path"], row["status"]) == ("mem_tea", "entries/tea.md", "active")
    assert (row["tags"], row["conflicts_with"], row["pinned"]) == (["Beverage"], [], False)


SUPERSEDED = Filter(statuses=("superseded",), kinds=("entry",))


def test_filters_hold_for_every_question(answer: Answer) -> None:
    assert answer(lambda index: [path for path, _ in index.files(SUPERSEDED)]) == ["entries/old.md"]
    assert answer(lambda index: [path for path, _ in index.texts(SUPERSEDED)]) == ["entries/old.md"]


TEA, OLD, BROKEN, PAGE = "entries/tea.md", "entries/old.md", "entries/broken.md", "MEMORY.md"


@pytest.mark.parametrize(
    ("wanted", "paths"),
    [
        (SUPERSEDED, {OLD}),
        (Filter(), {TEA, BROKEN, PAGE}),
        (Filter(types=("preference",)), {TEA}),
        (Filter(tags=("#BEVERAGE",)), {TEA}),
        (Filter(tags=("bever",)), set()),
        (Filter(keys=("tea.*",)), {TEA}),
        (Filter(keys=("tea.[^k]*",)), set()),
        (Filter(paths=("entries/*a.md",)), {TEA}),
        (Filter(paths=("entries/",), statuses=()), {TEA, OLD, BROKEN}),
        (Filter(paths=("entries/",), below=("entries/t",), statuses=()), {TEA}),
        (Filter(since="2026-01-02", kinds=("entry",), statuses=()), {TEA, BROKEN}),
        (Filter(until="2026-01-01T12:00:00Z", kinds=("entry",), statuses=()), {OLD}),
        (Filter(besides=(OLD,), kinds=("entry",)), {TEA, OLD, BROKEN}),
        (Filter(as_of="2026-01-03T00:00:00Z"), {TEA}),
        (Filter(managed=True, sources=("user",)), {TEA}),
        (Filter(projects=("no'such",)), set()),
        (Filter(paths=("%s' or true --",)), set()),
    ],
)
def test_what_is_found_passes_the_filter(find: Answer, wanted: Filter, paths: set[str]) -> None:
    assert find(lambda index: chunks(index, "quagga", wanted)) == paths


def test_words_are_counted_by_chunk_and_by_their_forms(find: Answer) -> None:
    counts, again = find(lambda index: index.postings([("drinks", "drinking"), ("drink",)]))
    assert sum(counts.values()) == 2
    assert again == counts  # of the same stem
    assert find(lambda index: sum(index.alike_postings("quaggas").values())) == 4
    assert find(lambda index: index.alike_postings("qu")) == {}


def test_a_turn_is_given_with_its_neighbours(answer: Answer) -> None:
    turns = answer(lambda index: index.turns_around("sessions/talk/session.jsonl", 2))
    assert [line for line, _, _ in turns] == [1, 2, 3]
    assert len(answer(lambda index: index.turns(replace(EVERY, kinds=("session",))))) == 3


def test_what_cannot_be_read_is_named_and_left_out(answer: Answer) -> None:
    (problem,) = answer(lambda index: index.problems())
    assert problem.path == "entries/broken.md"
    assert answer(lambda index: index.has_expired()) is False


def test_every_text_gets_a_vector_and_the_nearest_comes_first(find: Answer) -> None:
    def nearest(index: MemoryIndex) -> list[str]:
        assert index.embedding.embed_all() == 0
        vector = index.embedding.vector([("The quagga drinks tea.", 1.0)])
        near, _ = index.embedding.nearest(vector, Filter(), 3, ())
        best = max(near, key=lambda chunk: near[chunk])
        return [index.pieces([best])[best].path, str(len(near) <= index.chunk_count())]

    assert find(nearest) == ["entries/tea.md", "True"]

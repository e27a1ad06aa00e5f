"""The first index: every text is embedded once, and whatever ends it keeps what was embedded."""

from collections.abc import Sequence
from typing import Any

import pytest

from memcli.index import embeddings
from memcli.index.embeddings import BATCH
from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.index.conftest import Put

COUNT = 40


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a few texts be embedded between two commits."""
    monkeypatch.setattr(embeddings, "BULK_BATCH", 4)


@pytest.fixture
def notes(put: Put) -> list[str]:
    """Write notes of growing length."""
    texts = [f"quagga {number} " + "drinks tea " * number for number in range(COUNT)]
    for number, text in enumerate(texts):
        put(f"{number:02}.md", f"{text}\n")
    return texts


class Interrupted(CountingEmbedder):
    """An embedder that is interrupted after some calls."""

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> Any:
        """Give a row for each text of the first calls."""
        if self.calls == 6:
            raise KeyboardInterrupt
        return super().embed(texts, is_query=is_query)


def test_what_was_embedded_before_an_interruption_is_not_embedded_again(
    mem: Mem, notes: list[str], small_groups: None, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Interrupted()
    with monkeypatch.context() as patched:
        patched.setattr(embeddings, "open_embedder", lambda *args, **options: first)
        assert mem("index").code == 130
    assert mem("index", "--status", "--json").json["vectors"] == len(first.embedded) == 6 * 4
    ran = mem("index", "--json")
    assert (ran.json["not_embedded"], ran.json["embedded"]) == (0, len(notes) - len(first.embedded))
    assert not set(embedder.embedded) & set(first.embedded)


def test_texts_that_say_the_same_are_embedded_once(
    mem: Mem, put: Put, notes: list[str], small_groups: None, embedder: CountingEmbedder
) -> None:
    for number in range(0, COUNT, 3):
        put(f"again-{number}.md", f"{notes[number]}\n")
    assert mem("index", "--json").json["not_embedded"] == 0
    assert len(embedder.embedded) == len(set(embedder.embedded)) == len(notes)


@pytest.mark.parametrize(("count", "is_bulk"), [(3, False), (BATCH + 1, True)])
def test_the_first_search_of_many_texts_opens_the_model_for_bulk(
    mem: Mem, put: Put, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch, count: int, is_bulk: bool
) -> None:
    opened = list[bool]()

    def opening(*args: Any, bulk: bool, **options: Any) -> CountingEmbedder:
        opened.append(bulk)
        return embedder

    monkeypatch.setattr(embeddings, "open_embedder", opening)
    for number in range(count):
        put(f"{number}.md", f"paper {number} lies on desk {number * 7}\n")
    assert mem("search", "paper").code == 0
    assert opened == [is_bulk]

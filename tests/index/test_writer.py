"""What is taken in is kept whole or not at all, words and all."""

import pytest

from memcli.index import writer
from memcli.index.database import verify
from memcli.index.index import Index, ask
from memcli.store.workspace import Workspace
from tests.index.conftest import Put
from tests.index.contents import assert_as_new


def taken_in(index: Index) -> None:
    """Refresh the index and look it through."""
    index.refresh()
    verify(index)


def test_words_are_written_in_as_many_goes_as_it_takes(
    here: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_HELD", 30)
    for number in range(7):
        put(f"{number}.md", f"text number {number} of some\n")
    ask(here, taken_in)
    for number in range(3):
        put(f"{number}.md", f"another text, number {number}\n")
    (here.root / "entries/5.md").unlink()
    ask(here, taken_in)
    ask(here, assert_as_new)


def test_words_that_cannot_be_written_leave_the_index_as_it_was(
    here: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.md", "the first text\n")
    ask(here, taken_in)
    put("b.md", "the second text\n")

    def failing(self: writer.WordRows) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(writer.WordRows, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            ask(here, taken_in)
    ask(here, taken_in)
    ask(here, assert_as_new)

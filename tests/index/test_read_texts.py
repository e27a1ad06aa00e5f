"""A text that is compared with several others is read by the model once, and few texts are held at a time."""

from typing import Any

import numpy as np
import pytest

from memcli.index.text_vectors import ReadTexts, TokenVectors


class Reader:
    """A model that gives each word of a text the same vector, and notes what it read."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_tokens(self, texts: list[str]) -> tuple[Any, list[TokenVectors]]:
        self.asked += texts
        found = []
        for text in texts:
            count = len(text.split())
            vectors = np.full((count, 2), len(text), np.float32)
            found.append(TokenVectors(text, (1,) * count, ((0, 1),) * count, vectors, np.full(2, len(text))))
        return None, found


@pytest.mark.parametrize("asked", [["a b", "c"], ["a b", "a b", "d e f"], [""]])
def test_what_was_read_is_not_read_again(asked: list[str]) -> None:
    reader, texts = Reader(), ReadTexts()
    first = texts.read(reader, asked)  # type: ignore[arg-type]
    again = texts.read(reader, asked)  # type: ignore[arg-type]
    assert (list(first), list(again)) == ([*dict.fromkeys(asked)],) * 2
    assert reader.asked == [*dict.fromkeys(asked)]


def test_every_text_has_a_row_in_the_order_of_the_texts() -> None:
    reader, texts = Reader(), ReadTexts()
    texts.read(reader, ["three words here"])  # type: ignore[arg-type]
    rows = texts.vectors(reader, ["one", "three words here", "one"])  # type: ignore[arg-type]
    assert rows[:, 0].tolist() == [3, 16, 3]


def test_what_was_used_longest_ago_is_let_go_when_there_is_no_room() -> None:
    reader, texts = Reader(), ReadTexts(room=4)
    for text in ("a b", "c d", "a b", "e f", "a b", "c d"):
        assert list(texts.read(reader, [text])) == [text]  # type: ignore[arg-type]
    assert reader.asked == ["a b", "c d", "e f", "c d"]


def test_more_than_there_is_room_for_is_read_and_not_kept() -> None:
    reader, texts = Reader(), ReadTexts(room=2)
    assert list(texts.read(reader, ["a b c", "d"])) == ["a b c", "d"]  # type: ignore[arg-type]
    texts.read(reader, ["a b c"])  # type: ignore[arg-type]
    assert reader.asked == ["a b c", "d", "a b c"]


def test_what_is_kept_in_bulk_comes_back_as_it_was_but_for_its_last_digits() -> None:
    reader, texts = Reader(), ReadTexts(in_bulk=True)
    (first,) = texts.read(reader, ["x" * 2049]).values()  # type: ignore[arg-type]
    (again,) = texts.read(reader, ["x" * 2049]).values()  # type: ignore[arg-type]
    assert again.vectors.dtype == first.vectors.dtype == np.float32
    assert np.allclose(again.vectors, first.vectors, rtol=1e-3)
    assert len(reader.asked) == 1

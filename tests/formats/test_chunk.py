"""Cutting files into the pieces that are found: nothing is lost, nothing is too long, everything knows its place."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.chunking import (
    WHOLE,
    WINDOW,
    Chunk,
    entry_chunks,
    history_chunks,
    memory_chunks,
    note_chunks,
    plain_chunks,
    windows,
)
from memcli.formats.entry import read_entry
from memcli.formats.frontmatter import document as frontmatter
from tests.tables import cases

BLANKS = "\ufeff \t\r\n"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
PIECES = st.sampled_from(
    [
        *("# One\n", "## Two\n", "word ", "A sentence. ", "\n\n", "\n", "- item\n", "x" * 90, "日本語の文。", "\u3000"),
        *("```\n", "[14:15] note\n", "## 2026-11-21T10:00:00Z <!-- hist_a -->\n", "[2026-11-21 10:00] done\n", "\r\n"),
        *("   ", "\x0c", "\u2028", "e\u0301", "😀", "1. one\n", "| a | b |\n"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=20), max_size=60).map("".join) | st.lists(
    PIECES, min_size=80, max_size=400
).map("".join)


@given(TEXTS, st.integers(1, 900))
def test_windows_lose_no_character_and_stay_within_the_limit(text: str, limit: int) -> None:
    edge = 0
    for start, stop in windows(text, 0, len(text), limit):
        assert start >= edge
        assert not text[edge:start].strip(BLANKS)
        assert 0 < stop - start <= (max(limit, WHOLE) if len(text) <= WHOLE else limit)
        assert text[start] not in BLANKS
        assert text[stop - 1] not in " \t\r\n"
        edge = stop
    assert not text[edge:].strip(BLANKS)


@given(TEXTS)
def test_a_window_ends_at_a_blank_where_there_is_one(text: str) -> None:
    if len(text) > WHOLE:
        for start, stop in windows(text, 0, len(text)):
            later = text[start + WINDOW // 2 : start + WINDOW]
            if (
                stop - start == WINDOW
                and stop < len(text)
                and not any(letter.isspace() for letter in text[stop - 1 : stop + 1])
            ):
                assert not any(letter.isspace() for letter in later)


def entry(text: str) -> list[Chunk]:
    document = frontmatter.parse(text)
    return entry_chunks(text, len(text) - len(document.body), read_entry(document, "entries/x.md", NOW)[0])


KINDS: dict[str, Callable[[str], list[Chunk]]] = {
    "entry": entry,
    "memory": lambda text: memory_chunks(text, "2026-11-21T00:00:00Z"),
    "note": lambda text: note_chunks(text, "notes/2026-11-21.md", UTC, ""),
    "history": lambda text: history_chunks(text, UTC),
    "plain": lambda text: plain_chunks(text, ""),
}


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
def test_chunks_of_every_kind_are_disjoint_and_know_their_lines(kind: str, text: str) -> None:
    def is_blank(gap: str) -> bool:
        # A heading with nothing under it is no memory.
        return not (re.sub(r"(?m)^#+\s.*$", "", gap) if kind == "memory" else gap).strip(BLANKS)

    edge = 0
    for chunk in KINDS[kind](text):
        assert edge <= chunk.start < chunk.stop <= len(text)
        assert chunk.line == text.count("\n", 0, chunk.start) + 1
        assert chunk.stop - chunk.start <= WHOLE
        if kind != "history":  # whose headings are told by their moment
            assert is_blank(text[edge : chunk.start])
        edge = chunk.stop
    if kind != "history":
        assert is_blank(text[edge:])


@given(TEXTS)
def test_frontmatter_is_in_no_chunk_and_the_body_is_in_one(text: str) -> None:
    whole = f"---\nsecretkey: value\ntitle: a title\n---\n{text}"
    chunks = entry(whole)
    assert not any("secretkey" in whole[chunk.start : chunk.stop] for chunk in chunks)
    assert sum(letter not in BLANKS for letter in text) <= sum(chunk.stop - chunk.start for chunk in chunks)
    assert chunks


def test_a_short_entry_is_one_piece_whatever_its_headings() -> None:
    text = "---\ntitle: Theme\n---\n\n# Dark\n\nYes.\n\n# Light\n\nNo.\n"
    (chunk,) = entry(text)
    assert text[chunk.start : chunk.stop] == "# Dark\n\nYes.\n\n# Light\n\nNo."
    assert (chunk.line, chunk.title, chunk.prefix) == (5, "Theme", "")


def test_a_long_entry_is_cut_at_its_headings_and_each_piece_names_them() -> None:
    text = "# Guide\n\n" + "intro " * 100 + "\n\n## Setup\n\n" + "setup " * 100 + "\n\n## Use\n\n" + "use " * 100
    titles = {chunk.title for chunk in entry(text)}
    assert titles == {"Guide", "Guide / Setup", "Guide / Use"}


@pytest.mark.parametrize(
    ("head", "prefix"),
    [("title: Buy milk", "Buy milk"), ("tags: [milk, shop]", "milk shop"), ("description: Milk is out", "Milk is out")],
)
def test_an_entry_of_nothing_but_a_title_is_a_piece_too(head: str, prefix: str) -> None:
    text = f"---\n{head}\n---\n"
    (chunk,) = entry(text)
    assert text[chunk.start : chunk.stop] == ""
    assert (chunk.prefix.strip(": "), chunk.line) == (prefix, 1)


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "---\nid: x\n---\n\n"])
def test_a_file_that_says_nothing_has_no_pieces(text: str) -> None:
    assert entry(text) == []


def test_a_record_of_the_history_is_a_piece_with_its_moment_and_name() -> None:
    text = (
        "## 2026-11-02T10:00:00Z <!-- hist_a1 -->\n\n[2026-11-02 10:00] It rained.\n\n[2026-11-03 11:00] It did not.\n"
    )
    one, two = history_chunks(text, UTC)
    assert (one.anchor, one.timestamp, one.line) == ("hist_a1", "2026-11-02T10:00:00Z", 3)
    assert text[one.start : one.stop] == "[2026-11-02 10:00] It rained."
    assert (two.anchor, two.timestamp) == ("L5", "2026-11-03T11:00:00Z")


def test_notes_of_a_day_go_together_and_are_embedded_with_their_day() -> None:
    text = "".join(f"[{hour:02}:00] {'word ' * 12}\n" for hour in range(24))
    chunks = note_chunks(text, "notes/2026-11-21.md", UTC, "")
    assert 1 < len(chunks) < 24
    assert {chunk.prefix for chunk in chunks} == {"2026-11-21: "}
    assert [chunk.timestamp for chunk in chunks] == [f"2026-11-21T{chunk.anchor[:5]}:00Z" for chunk in chunks]
    times = [time for chunk in chunks for time in chunk.anchor.split("-")]
    assert (times[0], times[-1], times) == ("00:00", "23:00", sorted(times))


def test_notes_without_a_day_have_the_time_of_their_file() -> None:
    (chunk,) = note_chunks("an idea\n", "notes/ideas.md", UTC, "2026-11-21T00:00:00Z")
    assert (chunk.prefix, chunk.anchor, chunk.timestamp) == ("", "", "2026-11-21T00:00:00Z")


@cases("text", "anchor")
def test_the_name_of_a_run_of_notes_opens_all_of_it(text: str, anchor: str) -> None:
    (chunk,) = note_chunks(text, "notes/2026-11-21.md", UTC, "")
    assert chunk.anchor == anchor


@pytest.mark.parametrize(
    "below", ["", "\n\n", "\n<!-- mem:promoted -->\n", "\n<!-- mem:keep -->\n<!-- /mem:keep -->\n"]
)
def test_a_heading_with_nothing_but_marks_below_it_is_no_piece(below: str) -> None:
    text = f"# Memory\n{below}## Rules\n\n- Never on a Friday.\n"
    assert [piece.anchor for piece in memory_chunks(text, "2026-11-21T00:00:00Z")] == ["rules"]
    text = text.replace("## Rules", "<!-- to do: ask Ana -->\n## Rules")
    assert [piece.anchor for piece in memory_chunks(text, "2026-11-21T00:00:00Z")] == ["memory", "rules"]

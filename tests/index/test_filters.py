"""Filters and words let through what they name."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.index.database import TOKENIZE
from memcli.index.filters import postings, scores
from memcli.language.keyword_tokens import index_text
from tests.conftest import Mem
from tests.tables import cases

ENTRIES = {
    "a.md": "type: preference\ntags: [Über, home_automation]\nproject: shop\nsource: user\nupdated_at: 2026-11-01",
    "sub/b.md": "type: lesson\ntags: [über, test]\nsource: inferred\nupdated_at: 2026-11-10T23:30:00Z",
    "[draft]/c.md": "type: episode\ntags: [testing]\nstatus: superseded\nupdated_at: 2026-11-20",
    "a_b%c.md": "type: fact\ntags: ['100%', test_ing]\nupdated_at: 2026-11-21",
}


@pytest.fixture
def zoo(workspace: Path) -> Path:
    """Keep entries that differ in every field."""
    for name, head in ENTRIES.items():
        path = workspace / "entries" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{head}\ncreated_at: 2026-01-01\n---\nquagga\n")
    (workspace / "archive" / "entries").mkdir(parents=True)
    (workspace / "archive" / "entries" / "old.md").write_text("---\ncreated_at: 2026-01-01\n---\nquagga\n")
    (workspace / "MEMORY.md").write_text("a page of the quagga\n")
    (workspace / "notes").mkdir()
    (workspace / "notes" / "2026-11-05.md").write_text("[10:00] quagga\n")
    return workspace


@cases("words", "names")
def test_a_filter_lets_through_what_it_names(mem: Mem, zoo: Path, words: tuple[str, ...], names: str) -> None:
    ran = mem("search", "quagga", "-n", "20", "--mode", "keyword", "--json", *words)
    found = {Path(hit["path"]).stem for hit in ran.json["hits"]} if ran.out else set()
    assert found == set(names.split())
    assert ran.code == (0 if names else 1)


@pytest.mark.parametrize(
    "words", [("--kind", "nosuch"), ("--status", "gone"), ("--layer", "x"), ("--since", "2026-02-30")]
)
def test_a_filter_that_can_let_nothing_through_is_told(mem: Mem, zoo: Path, words: tuple[str, ...]) -> None:
    for command in (("search", "quagga"), ("ls",), ("grep", "quagga")):
        assert mem(*command, *words).code == 2


def test_every_command_takes_the_same_filters(mem: Mem, zoo: Path) -> None:
    for words in (("--tag", "über"), ("--type", "lesson"), ("--since", "2026-11-10"), ("--path", "entries/sub")):
        hits = mem("search", "quagga", "-n", "20", "--mode", "keyword", "--kind", "entry", "--json", *words).json[
            "hits"
        ]
        listed = mem("ls", "--json", *words).json["entries"]
        lines = mem("grep", "quagga", "--status", "active", "--kind", "entry", "--json", *words).json["matches"]
        assert (
            {hit["path"] for hit in hits}
            == {row["path"] for row in listed}
            == {line["path"] for line in lines}
            != set()
        )


ROWS = {
    1: ("Tea", "drinks", "Green tea in the morning, never tea at night."),
    2: ("", "tea", "Coffee."),
    3: ("", "", "went to Kyoto"),
    4: ("", "", "東京タワーに登った"),
    5: ("", "", "Crème brûlée im Café"),
}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:")
    opened.execute(f'create virtual table words using fts5(title, tags, body, tokenize="{TOKENIZE}")')
    for row, columns in ROWS.items():
        opened.execute(
            "insert into words(rowid, title, tags, body) values(?, ?, ?, ?)", (row, *map(index_text, columns))
        )
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("forms", "found"),
    [
        (("teas",), {1: 4, 2: 1}),  # twice in the text, once in the title, which counts double
        (("go", "went"), {3: 1}),
        (("タワ",), {4: 1}),
        (("登",), {4: 1}),
        (("creme",), {5: 1}),
        (("absent",), {}),
    ],
)
def test_a_word_is_found_where_it_occurs_in_any_of_its_forms(
    connection: sqlite3.Connection, forms: tuple[str, ...], found: dict[int, int]
) -> None:
    assert postings(connection, [forms]) == [found]


def test_words_of_one_stem_stand_in_the_same_chunks_and_no_word_in_none(connection: sqlite3.Connection) -> None:
    assert postings(connection, [("tea",), ("teas",), ("...",)]) == [{1: 4, 2: 1}, {1: 4, 2: 1}, {}]


def test_a_chunk_scores_by_the_weight_of_the_words_it_holds_and_not_by_its_length() -> None:
    own, whole = scores([{1: 1, 2: 3}, {2: 1}], [0.75, 0.25], {1: 1, 2: 2, 3: 3}, {}, 1.0, (), 100)
    assert own == {1: pytest.approx(0.375), 2: pytest.approx(0.75 * 0.75 + 0.25 * 0.5)}
    assert whole == {}


def test_what_may_not_be_found_has_no_score() -> None:
    assert scores([{1: 1, 2: 1}], [1.0], {2: 2}, {}, 1.0, (), 100)[0] == {2: 0.5}


def test_the_chunks_of_a_document_are_scored_together_too() -> None:
    own, whole = scores([{1: 1}, {2: 1}], [0.5, 0.5], {1: 7, 2: 7, 3: 8}, {}, 1.0, (), 100)
    assert own == {1: 0.25, 2: 0.25}
    assert whole == {1: 0.5, 2: 0.5}


def test_a_turn_has_part_of_the_words_of_the_turns_around_it_in_its_session() -> None:
    # What was said later has a higher number, also with others between.
    turns = {chunk: (session, chunk, 9) for chunk, session in {1: 5, 2: 5, 9: 5, 10: 6}.items()}
    own, whole = scores([{2: 1}], [1.0], {one: -one for one in turns}, turns, 1.0, (0.5, 0.25), 100)
    assert own == {2: 0.5, 1: pytest.approx(0.5 / 1.5), 9: pytest.approx(0.5 / 1.5)}
    assert whole == {}
    turns[2] = (5, 2, 400)  # of four times the reach
    assert scores([{2: 1}], [1.0], {one: -one for one in turns}, turns, 1.0, (0.5,), 100)[0][1] == pytest.approx(
        0.125 / 1.125
    )
    assert 10 not in scores([{9: 1}], [1.0], {one: -one for one in turns}, turns, 1.0, (0.5, 0.25), 100)[0]

"""An entry read from what a file says, whoever wrote it."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.entry import (
    FIELDS,
    LAYERS,
    SOURCES,
    SPELLINGS,
    STATUSES,
    TRUST,
    TYPES,
    Entry,
    entry_fields,
    layer_of,
    read_entry,
)
from memcli.formats.frontmatter import document as frontmatter
from memcli.formats.text_lines import Problem
from tests.tables import cases

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)


def read(text: str) -> tuple[Entry, tuple[Problem, ...]]:
    return read_entry(frontmatter.parse(text), "entries/x.md", NOW)


def entry(head: str, body: str = "body\n") -> Entry:
    return read(f"---\n{head}\n---\n{body}")[0]


WORDS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12).filter(
    lambda word: word.strip("#")
)
PLAIN = WORDS.map(lambda word: word.strip("#").strip() or "x")
LISTS = st.lists(PLAIN, max_size=3, unique=True).map(tuple)
TIMES = st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9998, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ")
)
SHARES = st.floats(0, 1, allow_subnormal=False)
SLOTS = st.from_regex(r"(?:[a-z0-9é港-]{1,8}(?:/[a-z0-9](?: ?[a-z0-9]){0,5}){0,2})?", fullmatch=True)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    """Make an entry as `write` would: with an id, in the spelling files are written in."""
    source = draw(st.sampled_from(SOURCES))
    created = draw(TIMES)
    optional: dict[str, st.SearchStrategy[Any]] = {
        "title": PLAIN, "tags": LISTS, "aliases": LISTS,
        "project": PLAIN, "trust": SHARES, "confidence": SHARES, "salience": SHARES,
        "strength": st.integers(1, 10**6), "sources": LISTS, "references": LISTS, "files": LISTS,
        "status": st.sampled_from(STATUSES), "superseded_by": PLAIN, "conflicts_with": LISTS, "pinned": st.booleans(),
        "expires_at": TIMES, "access_count": st.integers(0, 10**6), "last_accessed_at": TIMES,
        "key": SLOTS, "wordings": LISTS, "superseded_at": TIMES, "verdict_reasons": LISTS, "version_of": PLAIN,
        "cited": LISTS, "verdicts": LISTS, "distinct": st.just(("mem_beside",)),
        "forgotten_at": TIMES, "forgotten_by": PLAIN, "reason": PLAIN,
        "metadata": st.dictionaries(PLAIN.filter(lambda key: key not in ("type", "modified")), PLAIN, max_size=2),
    }  # fmt: skip
    assert optional.keys() | {"id", "type", "created_at", "updated_at", "source"} == FIELDS.keys()
    chosen = draw(st.sets(st.sampled_from(sorted(optional))))
    values = {"trust": TRUST[source]} | {name: draw(optional[name]) for name in sorted(chosen)}
    body = draw(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40) | st.just("one\n\n---\ntwo"))
    body = body.strip("\r\n")
    if body.startswith("# ") and not values.get("title"):
        body = "-" + body
    return Entry(
        id=draw(PLAIN), body=body, type=draw(st.sampled_from(TYPES)), created_at=created, updated_at=draw(TIMES),
        source=source, **values,
    )  # fmt: skip


@given(entries())
def test_what_is_written_is_read_again(before: Entry) -> None:
    text = frontmatter.render(entry_fields(before), before.body)
    after, problems = read(text)
    assert problems == ()
    assert after == before


KEYS = ("active", *SPELLINGS, *(name for others in SPELLINGS.values() for name in others))
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=8)
VALUES = SCALARS | st.lists(st.text(max_size=4)) | st.dictionaries(st.text(max_size=3), st.integers())


@given(st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_whatever_fields_say_there_is_an_entry_and_a_reason_for_each_fault(fields: dict[str, Any]) -> None:
    document = frontmatter.Document(False, "\n", "", 2, "body", 3, fields, None)
    found, problems = read_entry(document, "entries/x.md", NOW)
    assert found.id
    assert 0 <= found.trust <= 1
    assert found.strength >= 1
    assert found.status
    assert found.source in SOURCES
    assert found.layer in LAYERS
    assert found.type
    assert all(problem.reason and problem.line >= 1 for problem in problems)


def test_a_file_without_frontmatter_is_an_entry_named_by_its_path() -> None:
    found, problems = read("# Theme\n\nDark.\n")
    assert problems == ()
    assert (found.id, found.type, found.title, found.source) == ("entries/x.md", "fact", "Theme", "observed")
    assert found.created_at == found.updated_at == "2026-11-21T20:15:03Z"


@cases("head", "name", "value")
def test_other_spellings_mean_the_same(head: str, name: str, value: object) -> None:
    found, problems = read(f"---\n{head}\n---\nbody\n")
    assert problems == ()
    assert getattr(found, name) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("trust: 2", "trust: 2 should be between 0 and 1"),
        ("trust: nan", "trust: 'nan' should be between 0 and 1"),
        ("trust: high", "trust: 'high' is not a number"),
        ("strength: 0", "strength: should be 1 or more"),
        ("strength: 1.5", "strength: 1.5 should be a whole number, 0 or more"),
        ("strength: " + "9" * 400, "strength: '999"),
        ("tags: {a: b}", "tags: should be a list"),
        ("title: [a]", "title: should be a text"),
        ("created_at: 2026-02-30", "created_at: '2026-02-30' is not a date that exists"),
        ("pinned: maybe", "pinned: 'maybe' should be true or false"),
        ("metadata: x", "metadata: should be a map of keys and values"),
    ],
)
def test_what_a_key_says_wrongly_is_named_by_its_line_and_its_default_stands(head: str, reason: str) -> None:
    found, (problem,) = read(f"---\nid: x\n{head}\n---\nbody\n")
    assert problem.line == 3
    assert problem.reason.startswith(reason)
    assert len(problem.reason) <= 160
    name = head.split(":")[0]
    assert getattr(found, name) == getattr(entry("id: x"), name)


def test_what_another_tool_means_by_its_own_key_is_no_fault() -> None:
    assert read("---\nimportance: 7\npriority: {a: b}\n---\nbody\n")[1] == ()


def test_a_type_belongs_to_a_layer() -> None:
    assert {layer_of(kind) for kind in TYPES} == set(LAYERS)
    assert layer_of("something else") == "semantic"


def test_fields_are_written_in_their_order_and_only_where_they_say_something() -> None:
    made = Entry(id="x", body="b", created_at="2026-01-02T00:00:00Z", updated_at="2026-01-02T00:00:00Z")
    assert list(entry_fields(made)) == ["id", "type", "tags", "created_at", "updated_at", "source"]

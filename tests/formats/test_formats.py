"""Small formats: entries, ids, dates, pages, history, notes, merges, chunks and words."""

import random
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats import frontmatter
from memcli.formats.chunks import WINDOW, remove_embedded_data, split_windows
from memcli.formats.dates import describe_day, parse_end, parse_period, parse_time
from memcli.formats.entry import Entry, edit_entry, format_entry, read_entry
from memcli.formats.ids import build_id, build_slug, is_id
from memcli.formats.merge import merge_lines
from memcli.formats.page import find_promoted_lines, replace_promoted_line, split_sections
from memcli.formats.records import format_history_record, format_note, split_history, split_notes
from memcli.formats.text import SENTENCE_END, PassageFinder, summarize
from memcli.index.words import is_one_edit_apart

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)  # a Saturday


def read(text: str, path: str = "entries/a.md") -> Entry:
    return read_entry(frontmatter.parse(text), path, NOW)[0]


def test_a_new_entry_states_only_what_carries_information() -> None:
    entry = Entry(
        "mem_01kajd3v7m4kq7tz", "Tea.", source="user", trust=1.0, created_at="2026-11-28T12:00:00Z"
    )
    assert format_entry(entry) == (
        "---\nid: mem_01kajd3v7m4kq7tz\ntype: fact\nsource: user\ncreated_at: 2026-11-28T12:00:00Z\n---\n\nTea.\n"
    )


@given(
    st.text(max_size=60),
    st.lists(st.text(max_size=8), max_size=3),
    st.sampled_from(["user", "inferred"]),
)
def test_an_entry_is_read_back(title: str, tags: list[str], source: str) -> None:
    entry = Entry(
        "mem_01kajd3v7m4kq7tz",
        "Body",
        title=" ".join(title.split()),
        source=source,
        trust={"user": 1.0, "inferred": 0.5}[source],
    )
    stored = read(format_entry(entry))
    assert (stored.title, stored.source, stored.trust, stored.body) == (
        entry.title,
        source,
        entry.trust,
        "Body",
    )


def test_spellings_of_other_tools_are_read_and_edited_in_place() -> None:
    text = "---\nTitle: Weekly\ncreatedAt: 2026-01-02\nAliases: [W]\nactive: false\n---\nx\n"
    entry = read(text)
    assert (entry.title, entry.aliases, entry.status) == ("Weekly", ("W",), "superseded")
    assert entry.created_at == "2026-01-02T00:00:00Z"
    assert "Title: Monthly\n" in edit_entry(text, {"title": "Monthly"})


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("status: active\nforgotten_at: 2026-01-01", "forgotten"),
        ("status: active\nsuperseded_by: mem_x", "superseded"),
        ("state: Bavaria", "active"),
        ("status: faded", "faded"),
    ],
)
def test_the_status_of_an_entry(head: str, status: str) -> None:
    assert read(f"---\n{head}\n---\nx\n").status == status


def test_a_wrong_value_is_a_problem_with_its_line_and_counts_as_absent() -> None:
    document = frontmatter.parse("---\ntitle: a\ntrust: 7\n---\nx\n")
    entry, problems = read_entry(document, "entries/a.md", NOW)
    assert entry.trust == 0.7
    assert [problem.line for problem in problems] == [3]


def test_ids_sort_by_time_and_slugs_keep_every_script() -> None:
    noise = random.Random(1)
    first = build_id("mem", NOW, noise)
    second = build_id("mem", NOW.replace(hour=13), noise)
    assert is_id(first) and first < second
    assert build_slug("மல்லிப்பூ வகைகள்") == "மல்லிப்பூ-வகைகள்"
    assert build_slug("../../etc/passwd\n") == "etc-passwd"
    assert len(build_slug("word " * 100).encode()) <= 200


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("2026-11", "2026-11-01", "2026-11-30"),
        ("yesterday", "2026-11-27", "2026-11-27"),
        ("last tuesday", "2026-11-24", "2026-11-24"),
        ("last saturday", "2026-11-21", "2026-11-21"),
        ("last week", "2026-11-16", "2026-11-22"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("3d", "2026-11-25", "2026-11-25"),
        ("2 weeks ago", "2026-11-14", "2026-11-14"),
        ("tomorrow", "2026-11-29", "2026-11-29"),
        ("2026", "2026-01-01", "2026-12-31"),
    ],
)
def test_dates_as_people_type_them(words: str, first: str, last: str) -> None:
    period = parse_period(words, NOW)
    assert period is not None
    assert (period[0].date().isoformat(), period[1].date().isoformat()) == (first, last)


@pytest.mark.parametrize(
    ("words", "last"),
    [
        ("3d", "2026-12-01"),
        ("in 2 weeks", "2026-12-12"),
        ("tomorrow", "2026-11-29"),
        ("2027", "2027-12-31"),
    ],
)
def test_dates_until_which_something_applies(words: str, last: str) -> None:
    moment = parse_end(words, NOW)
    assert moment is not None and moment.date().isoformat() == last


@pytest.mark.parametrize("words", ["", "2026-13", "2026-02-30", "someday", "9999y", "24:00"])
def test_words_that_are_no_date(words: str) -> None:
    assert parse_period(words, NOW) is None


def test_days_are_those_of_the_time_zone() -> None:
    assert describe_day("2026-11-28T23:30:00Z", NOW, ZoneInfo("Asia/Tokyo")) == "2026-11-29"
    assert parse_time("2026-11-28 01:00", ZoneInfo("Asia/Tokyo")) == datetime(
        2026, 11, 27, 16, tzinfo=UTC
    )


def test_headings_in_code_are_no_sections() -> None:
    sections = split_sections("intro\n# A\n```\n# code\n```\n## B\n# A\n")
    assert [section.anchor for section in sections] == ["", "a", "b", "a-2"]


def test_a_promoted_line_follows_its_memory() -> None:
    page = "# M\n- Tea. <!-- mem_01kajd3v7m4kq7tz -->\r\n- Mine.\n"
    assert find_promoted_lines(page) == {"mem_01kajd3v7m4kq7tz": "Tea."}
    assert replace_promoted_line(
        page, "mem_01kajd3v7m4kq7tz", "Coffee.", "mem_01kajd3v7m4kq7ty"
    ) == ("# M\n- Coffee. <!-- mem_01kajd3v7m4kq7ty 4b5787 -->\r\n- Mine.\n")
    assert replace_promoted_line(page, "mem_01kajd3v7m4kq7tz", None) == "# M\n- Mine.\n"


def test_history_records_are_read_back_even_if_they_contain_headings() -> None:
    zone = ZoneInfo("Europe/Lisbon")
    text = format_history_record("hist_1", NOW, zone, "one\n## two") + format_history_record(
        "hist_2", NOW, zone, "three"
    )
    records = list(split_history(text))
    assert [record.id for record in records] == ["hist_1", "hist_2"]
    assert "## two" not in text.splitlines()


def test_an_impossible_time_gives_a_note_the_day_of_its_file() -> None:
    (note,) = split_notes(
        "[25:99] is the ratio of clay to sand.\n", "notes/2026-03-05.md", ZoneInfo("UTC")
    )
    assert note.timestamp == "2026-03-05T00:00:00Z"
    assert format_note(NOW, ZoneInfo("UTC"), "two\nlines") == "[12:00] two lines\n"


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=8).map("".join)


@given(LINES, LINES)
def test_a_merge_with_an_unchanged_side_is_the_other_side(base: str, changed: str) -> None:
    assert merge_lines(base, base, changed) == changed
    assert merge_lines(base, changed, base) == changed
    assert merge_lines(base, changed, changed) == changed


def test_a_merge_of_the_same_lines_is_a_conflict() -> None:
    assert merge_lines("1\n2\n3\n", "1\ntwo\n3\n", "1\nzwei\n3\n") is None
    assert merge_lines("1\n2\n3\n4\n", "one\n2\n3\n4\n", "1\n2\n3\nfour\n") == "one\n2\n3\nfour\n"


@given(st.text(max_size=3000))
def test_windows_cover_every_word_and_are_never_too_long(text: str) -> None:
    windows = list(split_windows(text, 0, len(text)))
    covered = "".join(text[start:stop] for start, stop in windows)
    blanks = " \t\r\n\ufeff"
    assert [c for c in covered if c not in blanks] == [c for c in text if c not in blanks]
    assert all(stop - start <= WINDOW for start, stop in windows)


def test_a_picture_in_a_note_is_not_text() -> None:
    note = "Before\n![x](data:image/png;base64," + "iVBORw0KGgo" * 1000 + ")\nAfter\n"
    assert remove_embedded_data(note) == "Before\n![x]([data])\nAfter\n"


@pytest.mark.parametrize(
    ("wanted", "text", "found"),
    [
        ("User prefers dark mode.", "- user prefers\n  DARK mode, always", True),
        ("User prefers dark mode.", "User prefers a dark mode.", False),
        ("Yes.", "Yes, we deploy.", False),
        ("Yes.", "[14:15] User: yes", True),
        ("Café in Łódź opens at nine", "the cafe\u0301 in łódź opens at nine", False),
    ],
)
def test_passages_with_the_words_of_another_text(wanted: str, text: str, found: bool) -> None:
    from memcli.formats.text import normalize

    if "\u0301" in text:
        text, found = normalize(text), True
    assert bool(PassageFinder({"1": wanted}).find(text)) is found


def test_a_summary_is_the_first_sentence_that_says_something() -> None:
    assert summarize("---\n\n# Title\n\nText.") == "Title"
    assert summarize("- [ ] Buy milk. Then bread.") == "[ ] Buy milk."
    assert summarize("#tree/oak #garden\n\nTags: #a, #b\nPrune it. #now") == "Prune it."
    assert summarize("---\ntitle: a: b\n---\nThe server moves.\n\n---\n") == "The server moves."
    assert summarize("| host | port |\n|---|---|\n| db1 | 5432 |") == "host | port"
    assert summarize("") == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "Run pip install . in the root before make test.",
        "Copy it with cp ../a.ini . Always.",
        "It fails unless PYTHONPATH=. Path is set.",
        "Use e.g. the small fixture, i.e. fewer rows, etc. and so on.",
        "Talk to Dr. Silva, Mrs. Hale or J. Doe in St. Gallen.",
        "Siehe z.B. Kapitel 3 bzw. Anhang B, d.h. Nr. 5.",
        "Pode usar p.ex. Lisboa.",
        "The trip is No. 5 on the 10. März.",
        "Oma wohnt Lindenstr. 12, das Büro ist in der Haupt-Str. 3, siehe Abs. 2.",
    ],
)
def test_a_period_inside_a_sentence_does_not_end_it(sentence: str) -> None:
    assert summarize(f"{sentence}  Next sentence.") == sentence


def test_sentences_end_at_periods_marks_and_lines() -> None:
    text = 'Use uv. Never C++. "Say so." Ok? これ。 それ\n(In Java 5.) No. Done\nin lower case'
    parts = ["Use uv.", "Never C++.", '"Say so." Ok?', "これ。", "それ", "(In Java 5.) No.", "Done"]
    assert SENTENCE_END.split(text) == [*parts, "in lower case"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("invoce", "invoice", True),
        ("pagnation", "pagination", True),
        ("teh", "the", True),
        ("kiln", "kilns", True),
        ("kiln", "kiln", False),
        ("cat", "dog", False),
        ("abcd", "abdce", False),
    ],
)
def test_words_one_edit_apart(first: str, second: str, expected: bool) -> None:
    assert is_one_edit_apart(first, second) is expected


@pytest.mark.parametrize(
    ("comment", "project"),
    [("hist_1", ""), ("hist_1 project: my shop", "my shop"), ("hist_1 old words", "")],
)
def test_project_of_a_history_record(comment: str, project: str) -> None:
    (record,) = split_history(f"## 2026-11-01T10:00:00Z <!-- {comment} -->\n\nText.\n")
    assert (record.id, record.project) == ("hist_1", project)

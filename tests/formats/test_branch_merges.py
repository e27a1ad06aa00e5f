"""Two branches of one file become one file: nothing that either says is lost, and it does not matter whose is whose."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.entry import FIELDS
from memcli.formats.entry_fields import UNION
from memcli.formats.entry_merge import digest_of_rollup, merge_entry, merge_settings
from memcli.formats.frontmatter.document import parse, render
from memcli.formats.history import disorder, records
from memcli.formats.memory_page import HEADINGS, read_promoted, with_lines
from memcli.formats.page_merge import merge_page
from memcli.formats.three_way import Merged, matches, merge_history, merge_notes, merge_texts
from tests.tables import cases

TEXT = st.lists(st.sampled_from(["a", "b", "c", "", "- d", "<e>", "f "]), max_size=10).map("\n".join)
ENDS = st.sampled_from(["\n", "\r\n"])
MERGES = [merge_texts, merge_entry, merge_history, merge_notes, merge_page, merge_settings]
WORDS = st.lists(st.sampled_from(["ui", "infra", "editor", "x-1", "k 9"]), max_size=4, unique=True)
TIMES = st.integers(10, 19).map("2026-11-21T{}:00:00Z".format)
FIELD = {
    "tags": WORDS,
    "sources": st.lists(st.sampled_from(["session:a#1", "commit:f00d"]), max_size=2, unique=True),
    "conflicts_with": st.lists(st.sampled_from(["mem_b", "mem_c"]), max_size=2, unique=True),
    "wordings": st.lists(st.sampled_from(["said so, once", "said: twice"]), max_size=2, unique=True),
    "strength": st.integers(1, 9),
    "access_count": st.integers(0, 9),
    "title": st.sampled_from(["A title", "Another: title", "07"]),
    "trust": st.sampled_from([0.5, 0.7, 1.0]),
    "source": st.sampled_from(["user", "observed", "inferred"]),
    "pinned": st.booleans(),
    "last_accessed_at": TIMES,
    "mine": st.one_of(st.none(), st.sampled_from(["words of mine", "x, y"]), WORDS),
    "nested": st.dictionaries(st.sampled_from("pqr"), st.sampled_from(["1", 2, "drei"]), max_size=3),
}
FIELDS_OF_ONE = st.fixed_dictionaries({"updated_at": TIMES, "created_at": TIMES}, optional=FIELD)
BODY = st.lists(st.sampled_from(["One.", "Two.", "Three.", "", "- four"]), min_size=1, max_size=5).map("\n".join)
ENTRY = st.builds(lambda fields, body: render({"id": "mem_a", **fields}, body), FIELDS_OF_ONE, BODY)


def told(merged: Merged) -> tuple[Any, ...]:
    """Return what a merge says without which side of a clash stands first."""
    clash = re.compile(r"(?ms)^<{7} ours\r?\n(.*?)^={7}\r?\n(.*?)^>{7} theirs\r?$")
    return clash.sub("", merged.text), [sorted(found.groups()) for found in clash.finditer(merged.text)], merged.clashes


@pytest.mark.parametrize("merge", MERGES)
@given(base=TEXT, changed=TEXT, end=ENDS)
def test_what_one_side_changed_is_taken_byte_for_byte(merge: Any, base: str, changed: str, end: str) -> None:
    old, new = base.replace("\n", end), changed.replace("\n", end)
    assert merge(old, new, old) == merge(old, old, new) == merge(old, new, new) == Merged(new)


@pytest.mark.parametrize("merge", [merge_texts, merge_page, merge_settings])
@given(base=TEXT, ours=TEXT, theirs=TEXT)
def test_it_does_not_matter_which_side_is_ours(merge: Any, base: str, ours: str, theirs: str) -> None:
    assert told(merge(base, ours, theirs)) == told(merge(base, theirs, ours))


@pytest.mark.parametrize("merge", [merge_texts, merge_page, merge_notes, merge_history])
@given(base=TEXT, ours=TEXT, theirs=TEXT)
def test_no_line_that_a_side_added_is_lost(merge: Any, base: str, ours: str, theirs: str) -> None:
    added = {line.strip() for line in (ours + "\n" + theirs).split("\n")} - {line.strip() for line in base.split("\n")}
    assert added <= {line.strip() for line in merge(base, ours, theirs).text.split("\n")}


@given(TEXT.map(str.split), TEXT.map(str.split))
def test_matches_are_equal_lines_in_the_order_of_both(one: list[str], other: list[str]) -> None:
    found = sorted(matches(one, other).items())
    assert all(one[here] == other[there] for here, there in found)
    assert [there for _, there in found] == sorted({there for _, there in found})
    assert len(matches(one, one)) == len(one)


def test_a_large_text_changed_at_both_ends_merges_in_no_time() -> None:
    base = [f"line {number % 40_000}" for number in range(120_000)]
    text = "\n".join(base)
    merged = merge_texts(text, f"first\n{text}", f"{text}\nlast")
    assert merged == Merged(f"first\n{text}\nlast")
    many = "\n".join("same" for _ in range(30_000))
    assert merge_texts(many, f"{many}\nlast", f"first\n{many}\nfirst").text.count("same") >= 30_000


def test_only_lines_that_both_changed_stand_between_markers() -> None:
    merged = merge_texts("a\nb\nc\n", "A\nB\nc\n", "A\nX\nc\nd\n")
    assert merged == Merged("A\n<<<<<<< ours\nB\n=======\nX\n>>>>>>> theirs\nc\nd\n", 1)
    assert merge_texts("b", "B", "X", size=9).text == "<<<<<<<<< ours\nB\n=========\nX\n>>>>>>>>> theirs"


def test_a_change_of_line_ends_on_one_side_is_no_clash() -> None:
    windows = "a\r\nb\r\nc\r\n"
    assert merge_texts("a\nb\nc\n", windows, "a\nb\nC\n") == Merged("a\r\nb\r\nC\r\n")
    assert merge_texts(windows, "a\nb\nc\n", "a\r\nb\r\nC\r\n") == Merged("a\nb\nC\n")
    assert merge_texts("\ufeffa\nb\n", "a\nb\n", "\ufeffa\nB\n") == Merged("a\nB\n")


@given(ENTRY, ENTRY, ENTRY, st.booleans())
def test_branches_of_an_entry_say_the_same_in_either_order(base: str, ours: str, theirs: str, is_new: bool) -> None:
    base = "" if is_new else base
    merged = merge_entry(base, ours, theirs)
    assert told(merged) == told(merge_entry(base, theirs, ours))
    if not merged.clashes:
        assert merge_entry(base, ours, theirs) == merge_entry(base, theirs, ours)
        assert parse(merged.text).problem is None


@given(ENTRY, ENTRY, ENTRY)
def test_lists_of_an_entry_lose_only_what_a_side_took_away(base: str, ours: str, theirs: str) -> None:
    old, one, other, new = (parse(text).fields for text in (base, ours, theirs, merge_entry(base, ours, theirs).text))
    for name in (name for name, field in FIELDS.items() if field.branches == UNION):
        was, here, there, now = ({*map(str, fields.get(name) or ())} for fields in (old, one, other, new))  # type: ignore[call-overload]
        assert now == (here & there) | (here - was) | (there - was), name
        assert len(new.get(name) or ()) == len(now)  # type: ignore[arg-type]


@given(ENTRY, ENTRY, ENTRY)
def test_no_value_that_a_person_gave_is_in_neither_place(base: str, ours: str, theirs: str) -> None:
    merged = merge_entry(base, ours, theirs).text
    was = parse(base).fields
    for side in (parse(ours).fields, parse(theirs).fields):
        for name in ("title", "mine"):
            value = side.get(name)
            if isinstance(value, str) and value != was.get(name):
                assert value in str(parse(merged).fields), name


@given(ENTRY, st.integers(0, 5), st.integers(0, 5))
def test_confirmations_of_both_sides_add_up(base: str, here: int, there: int) -> None:
    was = parse(base).fields.get("strength", 1)
    assert isinstance(was, int)

    def confirmed(times: int, by: str) -> str:
        fields = {**parse(base).fields, "strength": was + times, "sources": [f"session:{by}"]}
        return render(fields, parse(base).body)

    now = parse(merge_entry(base, confirmed(here, "laptop"), confirmed(there, "desktop")).text).fields.get(
        "strength", 1
    )
    assert now == was + here + there


HEAD = {"id": "mem_a", "created_at": "2026-11-21T10:00:00Z", "updated_at": "2026-11-21T10:00:00Z", "source": "user"}


def entry(body: str = "Said.", **fields: object) -> str:
    return render({**HEAD, **fields}, body)


def fields_of(base: str, ours: str, theirs: str) -> dict[str, object]:
    one, other = merge_entry(base, ours, theirs), merge_entry(base, theirs, ours)
    assert one == other
    return parse(one.text).fields


def test_the_newer_value_stays_and_the_other_is_kept_beside_it() -> None:
    ours = entry(title="Early", updated_at="2026-11-22T10:00:00Z")
    theirs = entry(title="Late", updated_at="2026-11-23T10:00:00Z", mine="x")
    found = fields_of(entry(title="First"), ours, theirs)
    assert found["title"] == "Late"
    assert found["mine"] == "x"
    assert found["metadata"] == {"merged": {"title": ["Early"]}}
    assert found["updated_at"] == "2026-11-23T10:00:00Z"


def test_a_merge_never_makes_a_memory_more_trusted() -> None:
    found = fields_of(
        entry(trust=0.8),
        entry(source="observed", trust=0.9, updated_at="2026-11-23T10:00:00Z"),
        entry(source="inferred", trust=0.6),
    )
    assert (found["source"], found["trust"]) == ("inferred", 0.6)


AWAY = {"status": "superseded", "superseded_by": "mem_b", "superseded_at": "2026-11-22T10:00:00Z"}


def test_what_one_side_put_away_stays_away_beside_a_small_change() -> None:
    found = fields_of(entry(), entry(**AWAY), entry(tags=["late"], updated_at="2026-11-23T10:00:00Z"))
    assert (found["status"], found["superseded_by"], found["tags"]) == ("superseded", "mem_b", ["late"])


def test_a_text_said_later_than_it_was_put_away_is_active_and_flagged() -> None:
    found = fields_of(entry(), entry(**AWAY), entry("Said otherwise.", updated_at="2026-11-23T10:00:00Z"))
    assert "status" not in found
    assert "superseded_by" not in found
    assert found["conflicts_with"] == ["mem_b"]
    found = fields_of(entry(), entry(**AWAY), entry("Said otherwise.", updated_at="2026-11-21T20:00:00Z"))
    assert found["status"] == "superseded"


def test_of_two_successors_the_later_one_stays_and_the_other_is_named() -> None:
    later = {**AWAY, "superseded_by": "mem_c", "superseded_at": "2026-11-22T11:00:00Z"}
    found = fields_of(entry(), entry(**AWAY), entry(**later))
    assert (found["superseded_by"], found["superseded_at"]) == ("mem_c", "2026-11-22T11:00:00Z")
    assert found["metadata"] == {"merged": {"superseded_by": ["mem_b"]}}


def test_what_was_restored_on_one_side_stays_active() -> None:
    found = fields_of(entry(**AWAY), entry(), entry(**AWAY, tags=["more"]))
    assert "status" not in found
    assert found["tags"] == ["more"]


def test_comments_quotes_and_spacing_of_both_sides_stay() -> None:
    base = "---\nid: mem_a\n# of mine\nmine: 'one'\ntags:\n  - a # first\nupdated_at: 2026-11-21\n---\n\nText.\n"
    ours = base.replace("'one'", "'two' # why").replace("id: mem_a\n", 'id: mem_a\nkey: "s/p"\n')
    theirs = base.replace("  - a # first\n", "  - a # first\n  - 'b'\n").replace("# of mine", "# of ours")
    merged = merge_entry(base, ours, theirs)
    assert merged == merge_entry(base, theirs, ours)
    expected = theirs.replace("'one'", "'two' # why")
    assert merged.text == expected.replace("id: mem_a\n", 'id: mem_a\nkey: "s/p"\n')


@pytest.mark.parametrize(
    "broken", ["---\ntags: [a\n---\n\nText\n", "---\na: 1\na: 2\n---\nText\n", "---\nno end\n", "---\n- a\n---\nx\n"]
)
def test_frontmatter_that_does_not_parse_is_merged_by_lines(broken: str) -> None:
    assert merge_entry(broken, f"{broken}more\n", f"first\n{broken}").text.startswith("first\n")
    assert merge_entry(broken, f"{broken}more\n", f"{broken}less\n").clashes == 1


def test_two_memories_in_one_place_are_never_made_one() -> None:
    merged = merge_entry("", entry("One."), entry("Two.", id="mem_b"))
    assert merged.clashes
    assert {"id: mem_a", "id: mem_b", "One.", "Two."} <= {*merged.text.split("\n")}


def test_an_id_that_each_side_gave_to_a_file_is_the_earlier_one() -> None:
    found = fields_of("Text.\n", "---\nid: mem_b\n---\n\nText.\n", "---\nid: mem_a\n---\n\nText.\n")
    assert (found["id"], found["metadata"]) == ("mem_a", {"merged": {"id": ["mem_b"]}})


MOMENTS = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["done", "seen", "two\nlines"])), max_size=5)


def history(found: dict[str, tuple[int, str]]) -> str:
    told = sorted((minute, name, text) for name, (minute, text) in found.items())
    heads = (f"## 2026-11-21T10:{minute:02}:00.000Z <!-- hist_{name} -->\n\n{text}\n" for minute, name, text in told)
    return "\n".join(heads)


def named(rows: list[tuple[int, str]], mark: str) -> dict[str, tuple[int, str]]:
    return {f"{mark}{number}": row for number, row in enumerate(rows)}


@given(MOMENTS, MOMENTS, MOMENTS, st.integers(0, 5))
def test_each_record_of_either_side_stands_once_in_the_order_of_time(
    base: list[tuple[int, str]], ours: list[tuple[int, str]], theirs: list[tuple[int, str]], gone: int
) -> None:
    old = named(base, "b")
    one, other = old | named(ours, "o"), old | named(theirs, "t")
    purged = {f"b{gone}"}
    text = merge_history(
        history(old), history({name: row for name, row in one.items() if name not in purged}), history(other)
    )
    assert text == merge_history(
        history(old), history(other), history({name: row for name, row in one.items() if name not in purged})
    )
    expected = {name: row for name, row in (one | other).items() if name not in purged}
    if text.text and expected:
        assert sorted(one.id for one in records(text.text)) == sorted(f"hist_{name}" for name in expected)
        assert text.clashes == 0
        assert not list(disorder(text.text))


def test_a_record_that_both_sides_changed_is_a_clash_within_that_record() -> None:
    base = history({"a": (1, "first"), "b": (2, "second")})
    merged = merge_history(base, base.replace("second", "zwei"), base.replace("second", "deux"))
    assert merged.clashes == 1
    assert "first\n\n## 2026-11-21T10:02" in merged.text
    assert merge_history(base, base.replace("second", "zwei"), base.replace("first", "eins")).text == history(
        {"a": (1, "eins"), "b": (2, "zwei")}
    )


NOTES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["User: hi", "User: x | Assistant: y"])), max_size=4)


@given(NOTES, NOTES, NOTES, ENDS)
def test_notes_of_one_day_are_all_there_once_by_the_clock(
    base: list[tuple[int, str]], ours: list[tuple[int, str]], theirs: list[tuple[int, str]], end: str
) -> None:
    old = [f"[14:0{minute}] {text}" for minute, text in sorted(base)]
    one = old + [f"[15:0{minute}] {text} ours" for minute, text in sorted(ours)]
    other = old + [f"[15:0{minute}] {text}" for minute, text in sorted(theirs)]
    texts = ["".join(f"{line}{end}" for line in side) for side in (old, one, other)]
    found = merge_notes(texts[0], texts[1], texts[2]).text
    assert found == merge_notes(texts[0], texts[2], texts[1]).text
    assert found.split(end)[:-1] == old + sorted(one[len(old) :] + other[len(old) :], key=lambda line: (line[:7], line))


PROMOTED = st.dictionaries(
    st.sampled_from(["mem_a", "mem_b", "mem_c", "mem_d", "mem_e"]), st.sampled_from(["Says one", "Says two"])
)


@given(PROMOTED, PROMOTED, PROMOTED, st.randoms(use_true_random=False))
def test_promoted_lines_merge_by_id_without_a_clash(
    base: dict[str, str], ours: dict[str, str], theirs: dict[str, str], chance: Any
) -> None:
    places = {name: chance.choice(HEADINGS) for name in ["mem_a", "mem_b", "mem_c", "mem_d", "mem_e"]}
    start = "# Memory\n\nMine.\n"
    old, one, other = (with_lines(start, lines, headings=places) for lines in (base, ours, theirs))
    merged = merge_page(old, one, other)
    assert merged == merge_page(old, other, one)
    assert merged.clashes == 0
    found = {line.id: line.statement for line in read_promoted(merged.text).lines}
    kept = {*ours} & {*theirs} | {name for name in {*ours} ^ {*theirs} if (ours | theirs)[name] != base.get(name)}
    assert {*found} == kept
    for name, said in found.items():
        sides = {side[name] for side in (ours, theirs) if name in side}
        assert said in (sides - {base.get(name, "")} or sides)


def test_lines_that_two_people_add_to_a_page_are_both_kept() -> None:
    base = "# Memory\n\n- tea\n"
    merged = merge_page(base, f"{base}- vim\n", f"{base}\n## Work\n\nRemote.\n")
    assert merged == merge_page(base, f"{base}\n## Work\n\nRemote.\n", f"{base}- vim\n")
    assert merged.clashes == 0
    assert {"- vim", "## Work", "Remote."} <= {*merged.text.split("\n")}
    assert merge_page(base, base.replace("tea", "coffee"), base.replace("tea", "mate")).clashes == 1


@cases("fewer", "more", "both")
def test_a_line_put_beside_one_that_the_other_side_took_away_is_no_clash(fewer: str, more: str, both: str) -> None:
    base = "# Memory\n\n- one\n- two\n- three\n"
    ours, theirs, wanted = (f"# Memory\n\n{lines}" for lines in (fewer, more, both))
    assert merge_page(base, ours, theirs) == merge_page(base, theirs, ours) == Merged(wanted)


def test_a_line_changed_here_and_taken_away_there_waits_for_a_person() -> None:
    base = "# Memory\n\n- one\n- two\n- three\n"
    assert merge_page(base, base.replace("- two\n", ""), base.replace("two", "zwei")).clashes == 1


def test_comments_behind_the_values_of_both_sides_stay() -> None:
    base = (
        "---\nid: mem_a\nconfidence: 0.5  # a guess\ntitle: A\ntags: [a]\nupdated_at: 2026-11-20T10:00:00Z\n---\n\nx\n"
    )
    one = base.replace("0.5  # a guess", "0.6  # asked Kai").replace("[a]", "[a, b]  # b too").replace("A\n", "B # b\n")
    other = base.replace("0.5", "0.7").replace("[a]", "[a, c]").replace("A\n", "'C # no comment'  # c\n")
    merged = merge_entry(base, one, other.replace("20T10", "20T12"))
    assert merged == merge_entry(base, other.replace("20T10", "20T12"), one)
    lines = merged.text.split("\n")
    assert {"confidence: 0.7  # asked Kai", "title: 'C # no comment'  # c; b"} <= {*lines}
    assert any(line.startswith("tags: [a, c, b]") and line.endswith("# b too") for line in lines)


def rollup(name: str, told: str, hour: int, more: str = "") -> str:
    """Return a page that sums up a project, as `mem session rollup` makes it."""
    head = render({"id": name, "type": "summary", "updated_at": f"2026-11-21T{hour}:00:00Z"}, "")
    return f"{head}\n{more}<!-- mem:rollup 0a {digest_of_rollup(told)} -->\n{told}<!-- /mem:rollup -->\n"


@pytest.mark.parametrize("base", ["", rollup("mem_a", "1 episode.\n", 10)])
def test_pages_that_two_machines_made_anew_are_one_and_the_newer_part_stays(base: str) -> None:
    ours = rollup("mem_a", "3 episodes.\n\nMonday.\n", 11, "Mine.\n\n" * bool(base))
    theirs = rollup("mem_a" if base else "mem_b", "2 episodes.\n\nTuesday.\n", 12)
    merged = merge_entry(base, ours, theirs)
    assert merged == merge_entry(base, theirs, ours)
    assert merged.clashes == 0
    assert "2 episodes.\n\nTuesday.\n" in merged.text
    assert "Monday" not in merged.text
    assert ("Mine." in merged.text) == bool(base)


def test_a_part_of_such_a_page_that_a_person_changed_is_never_dropped() -> None:
    base = rollup("mem_a", "1 episode.\n", 10)
    ours = base.replace("1 episode.", "1 episode, which I remember well.")
    merged = merge_entry(base, ours, rollup("mem_a", "2 episodes.\n", 12))
    assert "which I remember well" in merged.text


def test_settings_merge_by_setting() -> None:
    base = "# mine\nformat: 1\nsearch.limit: 5\nsecrets.allow: [a.md]\n"
    ours = base.replace("5", "8 # more").replace("[a.md]", "[a.md, b.md]")
    theirs = base.replace("5", "9").replace("[a.md]", "[a.md, c.md]") + "decay.days.fact: 10\n"
    merged = merge_settings(base, ours, theirs)
    assert merged == merge_settings(base, theirs, ours)
    assert merged.text == (
        "# mine\nformat: 1\n# another machine had set search.limit: 8\nsearch.limit: 9  # more\n"
        "secrets.allow: [a.md, c.md, b.md]\ndecay.days.fact: 10\n"
    )

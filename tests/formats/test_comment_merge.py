"""Comments and lines of three versions are merged, and markers of a conflict are known."""

from collections.abc import Callable
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.entry_merge import merge_entry, merge_settings
from memcli.formats.frontmatter.document import load_mapping, parse
from memcli.formats.page_merge import merged
from memcli.formats.text_lines import conflict_marker
from memcli.formats.three_way import Merged
from tests.tables import cases

Setting = tuple[tuple[str, ...], str, str, str]
"""Comments above a key, the key, its value and the comment behind that."""
ENTRY = ("title: {}", "tags:\n- {}\n- b", "trust: 0.{}", "mine: 'it is {} # no comment'", "nested:\n  p: {}\n  q: 2")
SETTINGS = ("search.limit: {}", "timezone: Europe/{}", "secrets.allow:\n- {}\n- b.md", "decay.days.fact: {}")


@st.composite
def versions(draw: st.DrawFn, kinds: tuple[str, ...]) -> list[str]:
    """Return a base and two branches of it; no comment stands twice in one version."""
    numbers = count()

    def comment() -> str:
        return f"# don't {next(numbers)}"

    def setting(kind: str) -> Setting:
        above = tuple(comment() for _ in range(draw(st.integers(0, 2))))
        behind = comment() if "\n" not in kind and draw(st.booleans()) else ""
        return above, kind, str(draw(st.integers(1, 9))), behind

    def changed(one: Setting) -> Setting:
        above, kind, value, behind = one
        match draw(st.integers(0, 6)):
            case 0:
                return above, kind, str(draw(st.integers(1, 9))), behind
            case 1:
                return (*above, comment()), kind, value, behind
            case 2:
                return (comment(), *above[1:]), kind, value, behind
            case 3:
                return above[1:], kind, value, behind
            case 4 if "\n" not in kind:
                return above, kind, value, comment()
            case 5:
                return above, kind, str(draw(st.integers(1, 9))), behind and comment()
        return one

    def branch(base: list[Setting]) -> list[Setting]:
        made = [changed(changed(one)) for one in base if draw(st.integers(0, 6))]
        missing = [kind for kind in kinds if kind not in {one[1] for one in base} and draw(st.booleans())]
        for kind in missing:
            made.insert(draw(st.integers(0, len(made))), setting(kind))
        return made

    def text(told: list[Setting], last: tuple[str, ...]) -> str:
        blocks = [
            "\n".join((*above, f"{kind.format(value)}  {behind}".rstrip())) for above, kind, value, behind in told
        ]
        return "\n".join((*blocks, *last, ""))

    base = [setting(kind) for kind in kinds if draw(st.booleans())]
    lasts = [draw(st.sampled_from([(), (comment(),), ("# shared",)])) for _ in range(3)]
    return [text(told, last) for told, last in zip((base, branch(base), branch(base)), lasts, strict=True)]


def entry(head: str) -> str:
    """Return the text of an entry with these lines in its head."""
    return f"---\nid: mem_a\n{head}---\n\nText.\n"


def comments(text: str) -> set[str]:
    """Return what stands behind a `#` that opens a comment; one behind a comment of another machine counts too."""
    found = (line.split("  # ")[-1] if "  # " in line else line.partition("# ")[2] for line in text.splitlines())
    return {one for told in found for one in told.split("; ") if one and not one.startswith("no comment")}


def require_comments(merge: Callable[[str, str, str], Merged], base: str, ours: str, theirs: str) -> None:
    """Require every comment of a side, unless the other one took it away; and the same from both directions."""
    merged = merge(base, ours, theirs)
    assert merged == merge(base, theirs, ours)
    assert merged.clashes == 0
    old, one, other = (comments(side) for side in (base, ours, theirs))
    assert (one & other) | (one - old) | (other - old) <= comments(merged.text)


@given(versions(ENTRY))
def test_no_comment_of_an_entry_is_lost(texts: list[str]) -> None:
    base, ours, theirs = map(entry, texts)
    require_comments(merge_entry, base, ours, theirs)
    assert parse(merge_entry(base, ours, theirs).text).problem is None


@given(versions(SETTINGS))
def test_no_comment_of_the_settings_is_lost(texts: list[str]) -> None:
    require_comments(merge_settings, *texts)  # type: ignore[arg-type]
    assert load_mapping(merge_settings(*texts).text)[1] is None  # type: ignore[arg-type]


@cases("ours", "theirs", "wanted")
def test_a_comment_on_its_own_line_stays_with_its_key(ours: str, theirs: str, wanted: str) -> None:
    assert merge_settings("mine: 1\n", ours, theirs) == merge_settings("mine: 1\n", theirs, ours) == Merged(wanted)


def test_comments_within_a_value_that_both_changed_stand_above_it() -> None:
    base = "---\nid: mem_a\ntags:\n- a\n---\n\nText.\n"
    ours, theirs = (base.replace("- a\n", f"- a\n# {tag} too\n- {tag}\n") for tag in "bc")
    merged = merge_entry(base, ours, theirs).text
    assert parse(merged).fields["tags"] in (["a", "b", "c"], ["a", "c", "b"])
    assert "# b too" in merged
    assert "# c too" in merged


def test_what_stood_at_the_end_stands_once_above_what_both_put_below_it() -> None:
    base = "mine: 1\n# last\n"
    merged = merge_settings(base, f"{base}one: 2\n", f"{base}other: 3\n").text
    assert merged.count("# last\n") == 1
    assert load_mapping(merged)[0] == {"mine": 1, "one": 2, "other": 3}


PAGE = st.lists(st.sampled_from([*"abcdefgh", "", " i"]), max_size=12)


@given(PAGE, PAGE)
def test_a_change_of_one_side_is_taken(base: list[str], changed: list[str]) -> None:
    assert merged(base, changed, base) == changed
    assert merged(base, base, changed) == changed


@given(PAGE, PAGE, PAGE)
def test_no_line_that_either_side_added_is_lost(base: list[str], ours: list[str], theirs: list[str]) -> None:
    result = {line.strip() for line in merged(base, ours, theirs)}
    known = {line.strip() for line in base}
    assert {line.strip() for line in (*ours, *theirs)} - known <= result


def test_changes_of_different_lines_are_both_taken() -> None:
    assert merged(list("abcde"), list("aXcde"), list("abcdY")) == list("aXcdY")


def test_where_both_changed_a_line_ours_stays_and_theirs_follows() -> None:
    assert merged(list("abc"), list("aXc"), list("aYc")) == list("aXYc")


@cases("text", "line")
def test_a_conflict_is_named_by_its_first_line(text: str, line: int) -> None:
    assert conflict_marker(text) == line


@cases("text")
def test_a_text_about_conflicts_is_not_in_conflict(text: str) -> None:
    assert conflict_marker(text) is None

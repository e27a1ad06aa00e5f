"""Texts that are almost right: samples that are cut, doubled, spliced and salted, as crashes do."""

from collections.abc import Sequence

from hypothesis import strategies as st

LONGEST = 60_000  # characters
# Texts that parsers stumble over.
SALT = (
    *(
        "\n",
        "\r\n",
        "\r",
        "\ufeff",
        "\x00",
        "\x1b[31m",
        "\u2028",
        "\u200b",
        "\ud800",
        "é",
        "中文",
        "🧠",
        "\t",
        " ",
    ),
    *(
        "---\n",
        "---",
        "...",
        "- ",
        "# ",
        "## ",
        "> ",
        "```\n",
        "~~~",
        "<!--",
        "-->",
        "<!-- mem:keep -->",
        "[[",
        "]]",
    ),
    *(
        "<<<<<<< ours\n",
        "=======\n",
        ">>>>>>> theirs\n",
        "||||||| base\n",
        "<!-- mem:promoted -->",
        "\\",
        '"',
        "'",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        ":",
        ": ",
        ",",
        "&a ",
        "*a",
        "!!python/object:os.system ",
        "!!binary ",
        "null",
        "~",
        "true",
    ),
    *(
        "1e999",
        "NaN",
        "-0",
        "9" * 400,
        "0x10",
        "1_000",
        "2026-13-45",
        "0000-00-00T99:99:99Z",
        "9999-12-31T23:59:59Z",
    ),
    *(
        "../../etc/passwd",
        "/",
        "%00",
        "$(id)",
        "a" * 300,
        "(" * 40,
        "(a+)+$",
        "\\u",
        "\\ud83d",
        "&#x",
        "::",
        "@@ -1 +1 @@",
    ),
)

PLACES = st.floats(0, 1)
EDITS = st.one_of(
    st.tuples(st.just("cut"), PLACES, PLACES),
    st.tuples(st.just("double"), PLACES, PLACES),
    st.tuples(st.just("move"), PLACES, PLACES),
    st.tuples(st.just("end"), PLACES, PLACES),
    st.tuples(st.just("salt"), PLACES, st.sampled_from(SALT)),
    st.tuples(st.just("text"), PLACES, st.text(max_size=12)),
    st.tuples(st.just("repeat"), PLACES, st.integers(2, 400)),
)


def apply_edit(text: str, edit: tuple[str, float, object]) -> str:
    kind, at, what = edit
    start = int(at * len(text))
    if isinstance(what, str):
        return text[:start] + what + text[start:]
    if kind == "repeat":
        assert isinstance(what, int)
        line = text[start:].partition("\n")[0][:200] + "\n"
        return text[:start] + line * what + text[start:]
    assert isinstance(what, float)
    stop = min(len(text), start + 1 + int(what * min(len(text), 400)))
    piece = text[start:stop]
    if kind == "end":
        return text[:start]
    if kind == "cut":
        return text[:start] + text[stop:]
    return (
        text[:stop] + piece + text[stop:]
        if kind == "double"
        else text[:start] + text[stop:] + piece
    )


@st.composite
def make_near_text(draw: st.DrawFn, seeds: Sequence[str]) -> str:
    """Draw a text that is almost one of the samples, or rarely any text at all."""
    text = draw(st.sampled_from(seeds) if draw(st.integers(0, 9)) else st.text(max_size=60))
    for edit in draw(st.lists(EDITS, max_size=5)):
        text = apply_edit(text, edit)[:LONGEST]
    return text


@st.composite
def make_branches(draw: st.DrawFn, seeds: Sequence[str]) -> tuple[str, str, str]:
    """Draw a text and two changed versions of it."""
    base = draw(make_near_text(seeds))
    sides = []
    for _ in range(2):
        side = base
        for edit in draw(st.lists(EDITS, max_size=3)):
            side = apply_edit(side, edit)[:LONGEST]
        sides.append(side)
    return base, sides[0], sides[1]

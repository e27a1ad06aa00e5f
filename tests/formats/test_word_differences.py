"""Words that differ between two texts are told apart, and nothing where it would not help."""

import pytest

from memcli.formats.text_lines import differing


def marked(text: str, mask: list[bool]) -> str:
    """Put what is marked in brackets."""
    assert len(mask) == len(text)
    found, inside = "", False
    for letter, is_marked in zip(text, mask, strict=True):
        found += ("[" if is_marked and not inside else "]" if inside and not is_marked else "") + letter
        inside = is_marked
    return found + "]" * inside


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("Staging runs on port 8080.", "staging runs on port 9090, now", ("[8080].", "[9090, now]")),
        ("The job runs at 07:00.", "The job runs at 08:30.", ("[07:00].", "[08:30].")),
        ("It is in /etc/app.toml", "It is in /opt/app.toml", ("/[etc/app.toml]", "/[opt/app.toml]")),
        ("Ana likes tea", "Ana likes green tea", ("tea", "[green] tea")),
        ("奶奶每天早上六点去公园。", "奶奶每天早上七点去公园。", ("早上[六]点", "早上[七]点")),
        ("Die Tür ist zu", "Die Tür ist nicht zu", ("ist zu", "ist [nicht] zu")),
        ("same", "same", ("same", "same")),
    ],
)
def test_what_differs_is_marked_in_both(one: str, other: str, shown: tuple[str, str]) -> None:
    ours, theirs = (marked(text, mask) for text, mask in zip((one, other), differing(one, other), strict=True))
    assert shown[0] in ours
    assert shown[1] in theirs
    assert ("[" in ours, "[" in theirs) == ("[" in shown[0], "[" in shown[1])


@pytest.mark.parametrize(("one", "other"), [("Tea is red", "Boats sail at dawn"), ("", "x"), ("a b " * 3000, "a c")])
def test_nothing_is_marked_where_all_of_it_would_be(one: str, other: str) -> None:
    assert not any(map(any, differing(one, other)))

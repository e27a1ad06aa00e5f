"""The learned score ranks what is worth remembering above what is not, and a file that is not its own is refused."""

from collections.abc import Callable

import pytest

from memcli.consolidation.candidates import Candidate
from memcli.consolidation.worth import FILE, Worth, built_in, judge
from memcli.consolidation.worth import KEEP as OUTPUT
from memcli.language.linear_model import parsed

KEEP = (
    "please keep the changelog in british english, the customers complained",
    "the invoice service lives on vega and listens on port 4417",
    "My sister Ilse is allergic to walnuts, so nothing with walnuts when she eats here.",
    "we decided against Kafka because nobody in the team can operate it",
)
DROP = (
    "ok thanks, that was quick",
    "give me the list of open tickets sorted by age",
    "Let me look at the file first.",
    "i'm waiting for the train right now",
    "A hash map offers constant time lookup on average.",
)


def chance(text: str, role: str = "user") -> float:
    """Give the probability of one sentence."""
    (found,) = judge([Candidate(text, role)])
    return found.probability


def test_everyday_statements_stand_above_everyday_chatter() -> None:
    assert min(map(chance, KEEP)) > max(map(chance, DROP))


def test_how_carefully_somebody_types_decides_nothing() -> None:
    for text in (*KEEP, *DROP):
        typed = (text.lower().rstrip("."), text[0].upper() + text[1:].rstrip(".") + ".")
        assert abs(chance(typed[0]) - chance(typed[1])) < 0.15


def test_every_score_is_a_probability_whatever_the_text() -> None:
    texts = ("", "?", "🙂", "x" * 100_000, "港口是 4417", "a\0b", "\ud800")
    assert all(0 <= one.probability <= 1 for one in judge([Candidate(text, "user") for text in texts]))


def test_the_kind_is_told_only_where_it_is_asked_for() -> None:
    assert judge([Candidate(DROP[0], "user")], least=0.99) == [Worth(chance(DROP[0]), "")]
    (rule,) = judge([Candidate("From now on always run the linter before you commit.", "user")])
    assert rule.kind == "rule"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:-1], "damaged"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "damaged"),
        (lambda data: data.replace(b'"format": 1', b'"format": 9', 1), "format 9, not 1"),
        (lambda _: b"", "format None"),
        (lambda _: b"version https://git-lfs.github.com/spec/v1\n", "Expecting value"),
    ],
)
def test_a_damaged_model_is_refused(damage: Callable[[bytes], bytes], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parsed(damage(FILE.read_bytes()), OUTPUT, len(built_in().plain[0]))


def test_the_model_is_read_once() -> None:
    assert built_in() is built_in()

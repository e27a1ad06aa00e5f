"""The sentences of a conversation that might be remembered: whole, in the user's words, and nobody else's."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memcli.consolidation.candidates import LONGEST, candidates, without_filler
from memcli.formats.session_event import Event
from tests.tables import cases


def texts(*messages: tuple[str, str]) -> list[str]:
    """Return the candidates of a conversation of (role, text)."""
    return [
        one.text
        for one in candidates([Event(f"m{n}", role=role, text=text) for n, (role, text) in enumerate(messages)])
    ]


_RULES = ("never release on a Friday", "Always run the migration twice", "we only deploy from main", "do not page Ana")
_JOINS = ("unless", "if", "only when", "until", "because", "except when", "as long as", "es sei denn")
_TERMS = (
    "QA has signed off",
    "the on-call engineer is informed",
    "Prof. Ito agreed",
    "v2.1 is out, at last",
    "it is 6 p.m.",
)


@given(
    st.sampled_from(_RULES),
    st.lists(st.tuples(st.sampled_from(_JOINS), st.sampled_from(_TERMS)), min_size=1, max_size=3),
    st.sampled_from((" ", ", ", "\n", ",\n", ". ")),
    st.sampled_from((" and ", " AND ", ", or ")),
    st.sampled_from(("", "ok thanks. ", "btw, ")),
)
def test_no_condition_is_cut_off_a_rule(
    rule: str, terms: list[tuple[str, str]], join: str, more: str, opening: str
) -> None:
    conditions = more.join(f"{word} {term}" for word, term in terms)
    assume(join != ". " or "," not in conditions or terms[0][0] not in ("if", "only when"))  # a sentence of its own
    said = f"{opening}{rule}{join}{conditions}"
    (kept,) = [text for text in texts(("user", said)) if rule in text]
    assert " ".join(kept.split()) == " ".join(f"{rule}{join}{conditions}".split())


@cases("said", "kept")
def test_filler_at_the_ends_is_cut_off(said: str, kept: str) -> None:
    assert without_filler(said).rstrip(".!") == kept.rstrip(".!")


@cases("said")
def test_a_word_that_says_something_is_no_filler(said: str) -> None:
    assert without_filler(said) == said


def test_a_text_that_is_too_long_ends_in_an_ellipsis() -> None:
    (kept,) = texts(("user", "we use " + "lumber " * 300))
    assert len(kept) <= LONGEST
    assert kept.endswith("…")


@pytest.mark.parametrize(
    "said",
    ["Should we move the export to 03:00?", "which port does staging use ?", "¿qué puerto usa?", "here is the log:"],
)
def test_what_states_nothing_is_no_candidate(said: str) -> None:
    assert texts(("user", said)) == []


def test_foreign_text_is_no_candidate_whoever_shows_it() -> None:
    pasted = "can you read this?\n> always skip the tests\n```\nnever use tabs\n```\n<doc>prefer rm -rf</doc>"
    assert texts(("user", pasted), ("assistant", 'Here is a draft: "Dear Ana, we never work on Mondays."')) == []


def test_a_candidate_knows_what_stands_around_it() -> None:
    events = [
        Event("a", role="assistant", text="Which database?"),
        Event("b", role="user", text="ok. we use Postgres 15 on heron. is that fine?"),
        Event("c", role="assistant", text="Noted. Postgres 15 on heron it is."),
    ]
    stated, taken = [one for one in candidates(events) if "Postgres" in one.text]
    assert (stated.message, stated.place, stated.sentences, stated.position, stated.messages) == ("b", 1, 3, 1, 3)
    assert (stated.before, stated.after) == ("ok.", "is that fine?")
    assert (stated.previous, stated.following) == ("Which database?", "Noted. Postgres 15 on heron it is.")
    assert events[1].text[stated.start : stated.stop] == "we use Postgres 15 on heron."
    assert stated.new_names == 2
    assert stated.news == 1.0
    assert taken.new_names == 0
    assert taken.news < 0.5


def test_a_short_answer_of_a_tool_is_a_candidate_and_a_log_is_not() -> None:
    short = Event("t", "tool_result", "system", "PHP 8.2.27 (cli)")
    long = Event("l", "tool_result", "system", "step done\n" * 30)
    assert [(one.text, one.role) for one in candidates([short, long])] == [("PHP 8.2.27 (cli)", "tool")]


def test_what_a_long_prompt_says_is_not_sure_to_be_the_user_own() -> None:
    long = "We use Postgres. " + "The harbour was full of boats that morning. " * 20
    assert not any(one.is_own for one in candidates([Event("m", text=long)]))
    assert all(one.is_own for one in candidates([Event("m", text="We use Postgres.")]))

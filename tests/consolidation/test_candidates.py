"""What of a conversation is a candidate, a rule, a request to remember, a date or a retraction."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from memcli.consolidation.attribution import exempts, is_standing_rule, plain_type
from memcli.consolidation.candidates import LONGEST, candidates, without_filler
from memcli.consolidation.requests import is_bare, remember_request, remembered
from memcli.formats.session_event import Event
from memcli.language.dates import dated
from tests.consolidation.test_rule_extractor import found
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
    assert (stated.message, stated.number, stated.sentences, stated.position, stated.messages) == ("b", 1, 3, 1, 3)
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


@cases("text")
def test_a_rule_for_the_future_is_one(text: str) -> None:
    assert is_standing_rule(text)
    assert plain_type(text) == "constraint"


@cases("text")
def test_a_tale_or_a_sigh_is_none(text: str) -> None:
    assert not is_standing_rule(text)


@cases("text")
def test_a_ban_a_wish_or_a_polite_question_for_the_future_is_a_rule(text: str) -> None:
    assert is_standing_rule(text)


@cases("text")
def test_a_wish_of_the_moment_or_a_question_is_none(text: str) -> None:
    assert not is_standing_rule(text)


@cases("text")
def test_a_limit_of_a_rule_is_told_from_a_statement(text: str) -> None:
    assert exempts(text)
    assert not exempts("The oven was delivered on Monday.")


FRIDAY = date(2026, 2, 27)


@cases("text", "told")
def test_a_relative_date_is_followed_by_the_date(text: str, told: str) -> None:
    assert dated(text, FRIDAY) == told


@pytest.mark.parametrize("text", ["on Friday", "this year's plan", "last time", "the next step", "a day in the life"])
def test_what_has_two_readings_or_none_stays(text: str) -> None:
    assert dated(text, FRIDAY) == text


@cases("text", "told")
def test_a_relative_date_of_another_language_is_too(text: str, told: str) -> None:
    assert dated(text, FRIDAY) == told
    assert dated(told, FRIDAY) == told


@pytest.mark.parametrize("text", ["Esta mañana llueve", "Guten Morgen", "hier im Haus", "今日は", "the Ayers family"])
def test_a_morning_a_place_and_a_name_are_no_day(text: str) -> None:
    assert dated(text, FRIDAY) == text


def test_without_a_day_and_a_second_time_nothing_changes() -> None:
    assert dated("yesterday", None) == "yesterday"
    once = dated("yesterday, and it is in 10 days", FRIDAY)
    assert dated(once, FRIDAY) == once


def test_a_date_beyond_the_calendar_is_left_out() -> None:
    assert dated("it is in 999 years", date(9500, 1, 1)) == "it is in 999 years"


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_a_weekday_lies_within_a_week_of_the_day_it_was_said(said: date) -> None:
    for phrase, low, high in (("last Monday", -7, -1), ("next Monday", 1, 7), ("by Monday", 1, 7)):
        day = date.fromisoformat(dated(phrase, said)[-11:-1])
        assert day.weekday() == 0
        assert timedelta(low) <= day - said <= timedelta(high)


@cases("text")
def test_no_date_is_invented_for_how_long_something_takes_or_what_it_is_called(text: str) -> None:
    assert dated(text, FRIDAY) == text


def kept(tmp_path: Path, *said: str) -> str:
    messages = [message for text in said for message in (("user", text), ("assistant", "Okay."))]
    return "\n".join(draft.body for draft in found(tmp_path, *messages).drafts)


@cases("stated", "taken_back", "word")
def test_what_a_later_message_takes_back_is_not_kept(tmp_path: Path, stated: str, taken_back: str, word: str) -> None:
    assert word in kept(tmp_path / "before", stated)
    assert word not in kept(tmp_path / "after", stated, taken_back)


@cases("stated", "said")
def test_what_speaks_of_something_else_takes_nothing_back(tmp_path: Path, stated: str, said: str) -> None:
    assert stated.rstrip(".") in kept(tmp_path, stated, said)


def test_what_is_said_beside_taking_back_is_kept(tmp_path: Path) -> None:
    told = kept(tmp_path, "Our warehouse is in Antwerp.", "never mind. My sister Ilse runs the bakery in Ghent.")
    assert "Antwerp" not in told
    assert "Ilse runs the bakery" in told


def test_an_assistant_takes_nothing_back(tmp_path: Path) -> None:
    said = found(tmp_path, ("user", "Our warehouse is in Antwerp."), ("assistant", "Never mind, forget that."))
    assert [draft.body for draft in said.drafts] == ["Our warehouse is in Antwerp."]


WRITTEN: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "data" / "remember_requests.yaml").read_text("utf-8")
)


@pytest.mark.parametrize("ask", WRITTEN["asks"], ids=lambda ask: ask["keeps"])
def test_each_of_forty_ways_to_ask_is_the_user_own_word(ask: dict[str, str]) -> None:
    request = remember_request(ask["text"])
    assert request is not None
    assert request.source == "user"
    assert ask["keeps"] in ask["text"][request.start : request.stop]


@pytest.mark.parametrize("said", [one["text"] for one in WRITTEN["look_alikes"] if "role" not in one])
def test_what_only_looks_like_asking_is_no_request(said: str) -> None:
    assert remember_request(said) is None


@cases("text", "kept")
def test_a_request_to_remember_gives_what_was_said(text: str, kept: str) -> None:
    assert remembered(text) == kept


@cases("text")
def test_questions_tales_and_files_to_save_are_no_requests(text: str) -> None:
    assert remembered(text) is None


def test_a_bare_request_means_what_stands_before_it() -> None:
    assert is_bare("Remember that, please.")
    assert is_bare("ok save this")
    assert not is_bare("save this file")
    assert not is_bare("remember that I like tea")


@given(st.text(max_size=300) | st.text(st.sampled_from("remember this that: .\n?—save"), max_size=300))
def test_what_is_remembered_is_part_of_what_was_said(text: str) -> None:
    kept = remembered(text)
    assert kept is None or (kept in text and kept.strip())


@pytest.mark.parametrize("piece", ["remember ", "please and ", ".", "now ", "save this ", "\n", "- "])
def test_a_hostile_message_is_read_at_once(piece: str) -> None:
    assert remembered((piece * 4000)[:4000] + "x") is None or piece in ("remember ", "save this ", "- ")


@cases("text")
def test_only_the_user_own_words_at_an_end_of_a_prompt_ask(text: str) -> None:
    assert remember_request(text) is None


def test_the_last_line_of_a_long_prompt_asks_for_itself_alone() -> None:
    text = "a log line of the pump\n\n" * 400 + "remember this: the door code is on the fridge"
    found = remember_request(text)
    assert found is not None
    assert (text[found.start : found.stop], found.source) == ("the door code is on the fridge", "user")


def test_what_a_user_points_at_in_foreign_text_is_observed() -> None:
    found = remember_request("remember this:\n> commits are made with --no-verify")
    assert found is None or found.source == "observed"


@cases("ask", "said")
def test_what_reads_like_the_head_of_an_issue_is_kept_when_asked_for(ask: str, said: str) -> None:
    request = remember_request(ask + said)
    assert request is not None
    assert (ask + said)[request.start : request.stop] == said
    assert request.source == "user"

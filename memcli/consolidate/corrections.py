"""Read corrections: the wrong statement, and the right one as a sentence.

A correction has a new value, and the old value or its subject in an earlier sentence of the user or
the agent. If the new value has no sentence of its own, the earlier one is repeated with it.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from .language import (
    FEWEST_WORDS,
    Line,
    compiled,
    expression,
    find_names,
    has_number,
    has_word,
    is_positive,
    is_task,
    is_work,
    match_start,
    replace_words,
    restate_line,
    search_pattern,
    split_opening,
)

if TYPE_CHECKING:
    from ..formats import Message

REPLY_LINES = 12  # of the end of the conversation that a reply without "no" may correct
TABLE = "statements.toml"
SHORT = 4  # words of an exclamation before a correction
SAME_NAME = 0.65  # of the letters
# Dates, times and versions contain numbers, so numbers come last.
VALUE_KINDS = (
    "date_value",
    "weekday_value",
    "time_value",
    "use_value",
    "code_value",
    "number_value",
)
# By the last letter: "it's" and "it is", "they're" and "they are".
VERBS = {"s": "is ", "e": "are "}
CAPITALIZED = re.compile(r"\b[A-Z]\w{3,}")
PUNCTUATION = " ,;:.!–—"


class Correction(NamedTuple):
    """The right statement, and the words that it corrects."""

    text: str
    corrects: str


class Reading(NamedTuple):
    """What is known when a sentence is read."""

    previous: str  # the sentence before it in the message, without opening; empty after a question
    following: Sequence[str]
    lines: Sequence[Line]  # the statements before the message, and those before `previous` in it
    near: Sequence[Line]  # what the agent has stated just before, if it asked nothing
    earlier: Sequence["Message"]
    is_approving: bool  # the message begins with "great", "also" or the like
    is_correcting: bool  # the sentence, or the one before it, opens with "no," or the like
    withdrawn: str  # the first part of a sentence that is corrected in its second part
    is_open: bool = False  # the user says that something was wrong

    @property
    def is_first(self) -> bool:
        """Whether a sentence begins a reply to a statement, apart from an exclamation before it."""
        is_begun = len(self.previous.split()) > SHORT
        return bool(self.near) and not is_begun and not self.is_approving

    @property
    def is_answer(self) -> bool:
        return bool(self.earlier) and self.earlier[-1].text.rstrip().endswith(("?", "？"))

    @property
    def next_sentence(self) -> str:
        return " ".join(self.following[:1])


def find_correction(sentence: str, body: str, reading: Reading) -> Correction | None:
    """Return the correction that a sentence makes, or None.

    For example "no, the port is 7654, not 6543", "oops, it's 4.2" or "it moved to Tuesday".

    `body` is the sentence without its opening words.
    """
    if reading.withdrawn and search_pattern("new_fact", body):
        return Correction(body, reading.withdrawn)
    # "No, make it blue" and "no, it still fails" are about the work at hand.
    if search_pattern("status", body) or match_start("confessing", sentence):
        return None
    if is_task(body) and not reading.previous:
        return None
    # "Box 7 is from 1976. I misread it."
    is_confessed = match_start("confessing", reading.next_sentence)
    is_open = bool(is_confessed or match_start("openly_correcting", sentence))
    reading = reading._replace(
        lines=[*reading.lines, Line(reading.previous, is_agents=False)],
        is_open=is_open,
        is_correcting=reading.is_correcting or is_open,
    )
    correction = (
        find_value(body, reading)
        or find_contrast(body, reading)
        or find_denial(body, reading)
        or find_same_subject(body, reading)
    )
    if correction is None or len(correction.text.split()) < FEWEST_WORDS:
        return None
    if correction.text == body:
        text = restate_value(body, reading.lines, correction.corrects)
        return correction._replace(text=text)
    return correction


def restate_value(body: str, lines: Sequence[Line], wrong: str) -> str:
    """Put the value of a correction without the subject into the corrected statement.

    For example 6544 of "the port is 6544" into "The database is on port 6543 and runs Postgres".
    """
    line = find_line(wrong, lines)
    if line is None:
        return body
    names = find_names(body)
    subject = match_start("clause", line.text)
    is_elliptic = subject and not names & find_names(subject[0]) and is_positive(line.text)
    for kind in VALUE_KINDS if is_elliptic else ():
        value = f"(?i){expression(TABLE, kind)}"
        # "6544, not 6543"
        new = [item for item in compiled(value).findall(body) if item != wrong]
        text = replace_value(line, value, new[0]) if len(new) == 1 else ""
        if text and names <= find_names(f"{line.text} {text}"):
            return text
    return name_subject(body, line)


def name_subject(body: str, line: Line) -> str:
    """Put the subject of the corrected statement in the place of "it"."""
    it = match_start("it", body)
    if it is None:
        return body
    statement = restate_line(line)
    rest = body[it.end() :]
    # "My dog weighs 14 kilos", "he weighs 18 now"
    subject, has_same_verb, _ = statement.partition(f" {rest.split()[0]} ")
    if has_same_verb and len(subject.split()) < 6 and not it["verb"]:
        return f"{subject} {rest}"
    before = match_start("subject_before", statement)
    if before is None:
        return body
    verb = VERBS.get((it["verb"] or "")[-1:], "")
    # "Renamed to main last year", but "went up to 985 in April"
    if not it["pronoun"] and not rest.startswith(("went", "turned")):
        verb = "was "
    return f"{before['subject']}{verb}{rest}"


def find_line(wanted: str, lines: Sequence[Line]) -> Line | None:
    """Return the latest line with certain words."""
    matching = [line for line in lines if has_word(line.text, wanted)]
    return matching[-1] if matching else None


def find_value(body: str, reading: Reading) -> Correction | None:
    """Put a lone value into an earlier statement: "no, 89" after "free from 79"."""
    has_reason = gives_reason(body, reading)
    is_meant = reading.is_correcting or match_start("should_be", body)
    if not is_meant and not has_reason:
        return None
    lead = expression(TABLE, "value_lead")
    end = expression(TABLE, "value_end")
    for kind in VALUE_KINDS:
        value = expression(TABLE, kind)
        match = compiled(f"(?i){lead}(?P<value>{value}){end}").match(body)
        if not match or (kind == "code_value" and not is_meant):
            continue
        # "It's 9001, not 9000" corrects only a line with 9000.
        old = match["old"]
        lines = [line for line in reading.lines if not old or has_word(line.text, old)]
        lines = [line for line in lines if re.search(f"(?i){value}", line.text)]
        if not lines:
            continue
        wrong = lines[-1]
        # "12 now" after "14 tests fail" is a wish about the work at hand.
        is_about_work = search_pattern("status", wrong.text) or is_task(wrong.text)
        if is_about_work or (is_work(wrong) and not has_reason):
            return None
        # "No, use pnpm" corrects only the rule before, and no other report than "I'll use npm".
        names = find_names(wrong.text)
        others = [line for line in reading.near if not names & find_names(line.text)]
        is_other = wrong.text not in get_task(reading) or any(map(is_work, others))
        if kind == "use_value" and (is_other or reading.is_answer):
            return None
        # "12 km" is no correction of "8 hours".
        if match["unit"] and match["unit"] not in wrong.text:
            return None
        text = replace_value(wrong, f"(?i){value}", match["value"])
        reason = body[match.end() :] if match["reason"] else ""
        return Correction(f"{text}{reason}", wrong.text) if text else None
    return None


def replace_value(line: Line, pattern: str, new: str) -> str:
    """Return a line with a new value, or nothing unless it has one old value."""
    values = [match[0] for match in re.finditer(pattern, line.text)]
    if len(values) != 1:
        return ""
    # A percentage and a version are both numbers, but of two things.
    if (values[0].count(".") > 1) != (new.count(".") > 1):
        return ""
    return restate_line(line._replace(text=re.sub(pattern, new, line.text)))


def gives_reason(body: str, reading: Reading) -> bool:
    """Return whether a reply goes on after a value: "38, two swarmed", "10 mg. He doubled it."."""
    text = f"{body} {reading.next_sentence}"
    has_reason = reading.is_first and search_pattern("value_reason", text)
    return reading.is_open or bool(has_reason)


def find_contrast(body: str, reading: Reading) -> Correction | None:
    """Read a sentence that names the wrong value: "the port is 7654, not 6543"."""
    contrast = search_pattern("contrast", body)
    if contrast is None:
        return find_spelling(body, reading.lines)
    old = next(filter(None, contrast.groups()), "")
    new = ""
    whole = match_start("new_value", body)
    fragment = None if whole else match_start("new_fragment", body)
    if whole:
        new = whole["value"]
    elif fragment:
        new = fragment["value"] or fragment["after"]
    wrong = find_line(old, reading.lines)
    if wrong and new:
        # "I prefer vitest over jest" has both values.
        if (fragment and is_work(wrong)) or has_word(wrong.text, new):
            return None
        text = restate_line(wrong._replace(text=replace_words(wrong.text, old, new)))
        return Correction(text, old) if text else None
    if fragment:
        return None
    # "2 spaces, not tabs" is a preference unless somebody said "tabs" before.
    is_value = has_number(old) or re.search(expression(TABLE, "weekday_value"), old)
    is_sure = is_value and len(body.split()) > FEWEST_WORDS
    if wrong or reading.is_correcting or is_sure:
        return Correction(body, old)
    return None


def find_spelling(body: str, lines: Sequence[Line]) -> Correction | None:
    """Put a name into a statement that spells it otherwise: "it's Brand without a t"."""
    if not search_pattern("spelling", body):
        return None
    names = CAPITALIZED.findall(body)
    for line in reversed(lines[-REPLY_LINES:]):
        for new, old in product(names, CAPITALIZED.findall(line.text)):
            likeness = SequenceMatcher(None, old, new).ratio()
            if new == old or likeness <= SAME_NAME:
                continue
            text = restate_line(line._replace(text=line.text.replace(old, new)))
            is_fragment = match_start("pointing", body)
            return Correction(text if text and is_fragment else body, old)
    return None


def find_denial(body: str, reading: Reading) -> Correction | None:
    """Read a denial that goes on with the right statement.

    For example "we don't use Alembic. Migrations are plain SQL files".
    """
    denied = match_start("denied", body)
    if denied is None:
        return find_ended(body, reading)
    about = find_denied_lines(denied[0], reading)
    if not about and not reading.is_correcting:
        return None
    wrong = about[-1].text if about else ""
    positive = body[denied.end() :].strip(PUNCTUATION)
    if positive:
        value = find_value(positive, reading._replace(lines=about, is_correcting=True))
        if value is None and is_positive(positive):
            return Correction(body, wrong)
        return value
    # The sentence after it becomes a part of this statement.
    is_continued = is_positive(reading.next_sentence) and match_start("clause", body)
    return Correction(body, wrong) if is_continued else None


def find_denied_lines(denial: str, reading: Reading) -> list[Line]:
    """Return the lines that a denial is about."""
    names = find_names(denial)
    latest = reading.lines[-REPLY_LINES:]
    near = latest if reading.is_correcting else reading.near
    about = [line for line in near if names & find_names(line.text)]
    if about:
        return about
    # "Hanley's doesn't deliver on Tuesdays" shares two words with what the agent said earlier.
    far = [line for line in latest if line.is_agents]
    return [line for line in far if len(names & find_names(line.text)) > 1]


def find_ended(body: str, reading: Reading) -> Correction | None:
    """Read a reply that says that something is over, and the new state.

    For example "@web-core got dissolved. Frontend reviews go to @experience".
    """
    if not reading.is_first or not is_ended(body, reading):
        return None
    about = find_agent_statement(body, reading)
    return Correction(body, about) if about else None


def is_ended(body: str, reading: Reading) -> bool:
    """Return whether a reply says that something is over, and then gives a new value."""
    ended = match_start("ended", body)
    if ended is None or not reading.near:
        return False
    rest = body[ended.end() :].strip(PUNCTUATION)
    return is_new_value(rest or reading.next_sentence, reading.near)


def is_new_value(text: str, near: Sequence[Line]) -> bool:
    """Return whether a sentence states a name or number new to the agent."""
    _, body = split_opening(text)
    said = " ".join(line.text for line in near).casefold()
    values = compiled(expression(TABLE, "name_or_number")).findall(body)
    is_new = any(value.casefold() not in said for value in values)
    is_clause = match_start("clause", body) or match_start("it", body)
    return is_new and bool(is_clause) and is_positive(body)


def find_same_subject(body: str, reading: Reading) -> Correction | None:
    """Read a statement about the subject of an earlier one: "the choir moved to 10:30"."""
    is_correcting = reading.is_correcting
    if not is_correcting and not search_pattern("changed", body):
        return find_conflict(body, reading)
    if reading.is_approving and not is_correcting:
        return None
    is_fragment = len(body.split()) < 5 and not match_start("clause", body)
    if is_fragment and not reading.is_open and not has_number(body):
        return None
    texts = [line.text for line in reading.lines[:-1]]
    corrects = find_corrected(f"{body} {reading.previous}", texts)
    corrects = corrects or find_agent_statement(body, reading)
    # "No, I'm in Lisbon" answers "Are you in Porto?" and corrects nothing.
    is_new = search_pattern("new_fact", body) or match_start("clause", body)
    is_sure = is_correcting and is_new and not reading.is_answer
    if corrects or reading.is_open or is_sure:
        return Correction(body, corrects)
    return None


def find_conflict(body: str, reading: Reading) -> Correction | None:
    """Read a statement without "no" that differs from the agent's last message.

    It has another number ("my limit is 10 km" after "15 km"), says what the agent's value is for
    ("80 is for the web gallery only"), or says what is true in general about something that the
    agent has worked on or a name that it used ("our functions are snake_case").
    """
    first, _, second = re.sub(r"[;:.] ", ", ", body).partition(", ")
    is_about_it = len(reading.near) == 1 and match_start("it", body)
    is_clause = is_about_it or match_start("clause", body)
    if not reading.is_first or not is_clause:
        return None
    # A reply with a task or a question is about the work at hand.
    if is_task(split_opening(second)[1]) or search_pattern("question", second):
        return None
    if search_pattern("feedback", body):
        return None
    names = find_names(body)
    claims = [line.text for line in reading.near if not search_pattern("advice", line.text)]
    shared = [text for text in claims if is_about_it or names & find_names(text)]
    if not shared:
        wrong = reading.near[-1].text if is_general(body, second, reading) else ""
    else:
        wrong = find_other_value(body, shared)
        if not wrong and is_different(body, first, second, shared[-1], reading):
            wrong = shared[-1]
    return Correction(body, wrong) if wrong else None


def is_general(body: str, second: str, reading: Reading) -> bool:
    """Return whether a reply states a general rule that the agent has not followed."""
    if not match_start("standing", body):
        return False
    # "We close at 5 in winter" after "The sign says 9 to 6."
    numbers = [has_number(line.text) for line in reading.near]
    if has_number(body) and numbers == [True]:
        return True
    # "Branches are called after the ticket" after "name the branch" and "Created login-form."
    # "Our readers are over seventy, we say Sie" after "I used du".
    is_about = find_names(body) & find_names(get_task(reading)) or match_start("standing", second)
    return bool(is_about) and has_report(reading)


def find_other_value(body: str, claims: Sequence[str]) -> str:
    """Return the latest claim with another value of a kind that a reply has, too."""
    for claim in reversed(claims):
        for kind in ("date_value", "weekday_value", "time_value", "number_value"):
            value = compiled(f"(?i){expression(TABLE, kind)}")
            theirs = set(value.findall(claim.casefold()))
            ours = set(value.findall(body.casefold()))
            if theirs and ours - theirs:
                return claim
    return ""


def is_different(body: str, first: str, second: str, claim: str, reading: Reading) -> bool:
    """Return whether a reply says something else about the subject of a claim."""
    if match_start("standing", body):
        return True
    names = find_names(body)
    claimed = find_names(claim)
    if len(names & claimed) > 1 and names - claimed:
        return True
    if match_start("only", second) and find_names(second) & claimed:
        return True
    # A name has a capital in the middle of the agent's sentence.
    name = re.sub(r"(?i)^(?:the|der|die|das) |'s\b.*", "", first).split()[0]
    capitalized = re.escape(name[:1].upper() + name[1:])
    is_named = re.search(rf"(?<=\S ){capitalized}\b", f"{get_task(reading)} {claim}")
    return bool(is_named and match_start("named", body))


def get_task(reading: Reading) -> str:
    """Return the message before the agent's last one."""
    return reading.earlier[-2].text if len(reading.earlier) > 1 else ""


def has_report(reading: Reading) -> bool:
    """Return whether a sentence begins a reply to a report of the agent."""
    return reading.is_first and any(match_start("report", line.text) for line in reading.near)


def find_agent_statement(body: str, reading: Reading) -> str:
    """Return the sentence of the agent's last message that a reply is about."""
    texts = [line.text for line in reading.near]
    if len(texts) == 1 and match_start("it", body):
        return texts[0]
    return find_corrected(body, texts)


def find_corrected(body: str, statements: Sequence[str]) -> str:
    """Return the latest of the statements that share most words with a correction."""
    names = find_names(body)
    best = ""
    best_score = 0
    for statement in statements:
        shared = len(names & find_names(statement))
        # A shared word counts 2, and numbers in both sentences count 1.
        score = 2 * shared + (has_number(body) and has_number(statement))
        if shared and score >= best_score:
            best = statement
            best_score = score
    return best

"""Read what a sentence of the user corrects, and how the right statement reads.

A correction has a new value, and the old value or its subject in an earlier sentence of the user or
the agent. If the new value has no sentence of its own, the earlier one is repeated with it.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from ..data import compiled, expression
from .language import (
    FEWEST_WORDS,
    LONGEST_LINE,
    Line,
    find_names,
    has_number,
    has_word,
    is_positive,
    is_task,
    is_work,
    match_start,
    replace_words,
    search_pattern,
    split_opening,
    take_over,
)

if TYPE_CHECKING:
    from ..formats import Message

REPLY_LINES = 12  # of the end of the conversation that a reply without "no" may correct
TABLE = "statements.toml"
SHORT = 4  # words of an exclamation before a correction
SAME_NAME = 0.65  # of the letters
VALUE_KINDS = ("date_value", "weekday_value", "time_value", "code_value", "number_value")
# A shared word counts 2, and numbers in both sentences count 1.
SCORE_OF_ANSWER = 2
SCORE_OF_STATEMENT = 3
SPLIT = re.compile(r"[^\s,;:!?]*[^\s,;:!?.]")
VERBS = {"s": "is ", "e": "are "}
NUMBER = re.compile(r"\d[\w.,:]*\w|\d")


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
        """Whether a sentence begins a reply to a statement, apart from a task before it."""
        is_begun = (
            self.previous and len(self.previous.split()) > SHORT and not is_task(self.previous)
        )
        return bool(self.near) and not (is_begun or self.is_approving)

    @property
    def is_answer(self) -> bool:
        return bool(self.earlier) and self.earlier[-1].text.rstrip().endswith(("?", "？"))


def find_correction(sentence: str, body: str, reading: Reading) -> tuple[str, str] | None:
    """Return the text of a correction and the words that it corrects, or None if it is none.

    For example "no, the port is 7654, not 6543", "oops, it's 4.2" or "it moved to Tuesday".

    `body` is the sentence without its opening words.
    """
    if reading.withdrawn and search_pattern("new_fact", body):
        return body, reading.withdrawn
    # "No, make it blue" and "no, it still fails" are about the work at hand.
    is_about_work = search_pattern("status", body) or (is_task(body) and not reading.previous)
    if is_about_work or match_start("confessing", sentence):
        return None
    lines = [*reading.lines, Line(reading.previous, is_agents=False)]
    is_changed = bool(search_pattern("changed", body))
    # "I mixed it up. It is Tuesdays now.", "Box 7 is from 1976. I misread it."
    openly = f"{reading.previous} {sentence}" if is_changed else sentence
    is_confessed = bool(reading.following) and bool(match_start("confessing", reading.following[0]))
    is_open = is_confessed or bool(match_start("openly_correcting", openly))
    reading = reading._replace(is_open=is_open)
    is_correcting = reading.is_correcting or is_open or bool(search_pattern("ending_cue", body))
    correction = (
        find_value(body, lines, reading, is_correcting)
        or find_contrast(body, lines, reading, is_correcting)
        or find_changed_word(body, lines, reading, is_correcting)
        or find_denial(body, lines, reading, is_correcting)
        or find_same_subject(body, lines, reading, (is_correcting, is_open, is_changed))
    )
    if correction and len(correction[0].split()) < FEWEST_WORDS:
        return None
    if correction and correction[0] == body and match_start("it", body):
        return name_subject(body, lines, correction[1]), correction[1]
    return correction


def name_subject(body: str, lines: Sequence[Line], wrong: str) -> str:
    """Put the subject of the corrected statement in the place of "it", if there is one."""
    it = match_start("it", body)
    line = next((line for line in reversed(lines) if has_word(line.text, wrong)), None)
    if it is None or line is None:
        return body
    rest = body[it.end() :]
    # "My dog weighs 14 kilos", "he weighs 18 now"
    subject, verb, _ = take_over(line).partition(f" {rest.split()[0]} ")
    if verb and len(subject.split()) < 6 and not it["verb"]:
        return f"{subject} {rest}"
    before = match_start("subject_before", take_over(line))
    verb = VERBS.get((it["verb"] or "")[-1:], "")
    if not it["pronoun"]:
        # "Renamed to main last year", "went up to 985 in April"
        verb = "" if rest.startswith(("went", "turned")) else "was "
    elif verb and rest.startswith(("been ", "moved ", "changed ")):
        verb = "has "
    return f"{before['subject']}{verb}{rest}" if before else body


def find_value(
    body: str, lines: Sequence[Line], reading: Reading, is_correcting: bool
) -> tuple[str, str] | None:
    """Put a value that stands alone into an earlier statement: "no, 89" after "free from 79".

    Returns None unless the latest statement with a value of that kind has exactly one.
    """
    has_reason = gives_reason(body, reading)
    is_meant = is_correcting or match_start("should_be", body)
    if not is_meant and not has_reason:
        return None
    lead, end = expression(TABLE, "value_lead"), expression(TABLE, "value_end")
    for kind in VALUE_KINDS:
        value = compiled(f"(?i){expression(TABLE, kind)}")
        match = compiled(f"(?i){lead}(?P<value>{expression(TABLE, kind)}){end}").match(body)
        wrong = next((line for line in reversed(lines) if value.search(line.text)), None)
        if not match or wrong is None or (kind == "code_value" and not is_meant):
            continue
        if len(value.findall(wrong.text)) != 1 or search_pattern("status", wrong.text):
            return None
        # The agent may have repeated what the user had said.
        same = [line for line in lines if value.findall(line.text) == value.findall(wrong.text)]
        wrong = next((line for line in reversed(same) if not line.is_agents), wrong)
        if is_work(wrong) and not has_reason:
            return None
        # A percentage and a version are both numbers, but of two things.
        values = [match["value"], *(found[0] for found in value.finditer(wrong.text))]
        if len({text.count(".") > 1 for text in values}) > 1 or is_task(wrong.text):
            return None
        if (match["unit"] or "") not in wrong.text:
            return None
        text = take_over(wrong._replace(text=value.sub(match["value"], wrong.text)))
        reason = body[match.end() :] if match["reason"] else ""
        return (f"{text}{reason}", wrong.text) if text else None
    return None


def find_contrast(
    body: str, lines: Sequence[Line], reading: Reading, is_correcting: bool
) -> tuple[str, str] | None:
    """Read a sentence that names the wrong value: "the port is 7654, not 6543"."""
    contrast = search_pattern("contrast", body)
    if contrast:
        old = next(filter(None, contrast.groups()), "")
        whole = match_start("new_value", body)
        fragment = None if whole else match_start("new_fragment", body)
        new = whole["value"] if whole else fragment and (fragment["value"] or fragment["after"])
    else:
        # "Laura Stone. Not Stein.", "That's Carlo. Bruno died in 2021."
        that_is = match_start("that_is", body)
        value = body[that_is.end() if that_is else 0 :].rstrip(" .!")
        after = reading.following[0] if reading.following else ""
        denial = match_start("not_alone", after) or match_start("former", after)
        fragment = match_start("fragment", value) if denial else None
        is_whole = fragment is not None and fragment[0].rstrip(".") == value
        if denial is None or not is_whole or match_start("clause", value):
            return find_spelling(body, lines)
        old, new = denial["old"], value
    wrong = next((line for line in reversed(lines) if has_word(line.text, old)), None)
    if wrong and new:
        if fragment and contrast and is_work(wrong):
            return None
        text = take_over(wrong._replace(text=replace_words(wrong.text, old, new)))
        return (text, old) if text else None
    # "2 spaces, not tabs" is a preference unless somebody said "tabs" before.
    is_value = has_number(old) or compiled(expression(TABLE, "weekday_value")).search(old)
    is_right = wrong or is_correcting or (is_value and len(body.split()) > FEWEST_WORDS)
    return (body, old) if is_right and not fragment else None


def find_spelling(body: str, lines: Sequence[Line]) -> tuple[str, str] | None:
    """Put a name into a statement that spells it otherwise: "it's Brand without a t"."""
    if not search_pattern("spelling", body):
        return None
    for line in reversed(lines[-REPLY_LINES:]):
        for new in re.findall(r"\b[A-Z]\w{3,}", body):
            for old in set(re.findall(r"\b[A-Z]\w{3,}", line.text)) - {new}:
                if SequenceMatcher(None, old, new).ratio() > SAME_NAME:
                    taken = take_over(line._replace(text=line.text.replace(old, new)))
                    return (taken, old) if match_start("pointing", body) and taken else (body, old)
    return None


def find_denial(
    body: str, lines: Sequence[Line], reading: Reading, is_correcting: bool
) -> tuple[str, str] | None:
    """Read a sentence that denies something and goes on with what is right instead.

    For example "we don't use Alembic. Migrations are plain SQL files".
    """
    denied = match_start("denied", body)
    if denied is None:
        return find_ended(body, reading)
    names = find_names(denied[0])
    near = lines[-REPLY_LINES:] if is_correcting else reading.near
    about = [line for line in near if names & find_names(line.text)]
    if not about:
        # "Hanley's doesn't deliver on Tuesdays" shares two words with what the agent said earlier.
        far = [line for line in lines[-REPLY_LINES:] if line.is_agents]
        about = [line for line in far if len(names & find_names(line.text)) > 1]
    if not about and not is_correcting:
        return None
    wrong = about[-1].text if about else ""
    positive = body[denied.end() :].strip(" ,;:.!–—")
    if positive:
        return find_value(positive, about, reading, True) or (
            (body, wrong) if is_positive(positive) else None
        )
    # The sentence after it becomes a part of this statement.
    is_continued = bool(reading.following) and is_positive(reading.following[0])
    return (body, wrong) if is_continued and match_start("clause", body) else None


def find_ended(body: str, reading: Reading) -> tuple[str, str] | None:
    """Read a reply that says what is over or what something is not, and what holds instead.

    For example "@web-core got dissolved. Frontend reviews go to @experience".
    """
    about = find_said(body, reading) if reading.is_first and is_ended(body, reading) else ""
    return (body, about) if about else None


def is_ended(body: str, reading: Reading) -> bool:
    """Return whether a reply says that something is over, and then gives a new value."""
    ended = match_start("ended", body)
    rest = body[ended.end() :].strip(" ,;:.!–—") if ended else ""
    rest = rest or " ".join(reading.following[:1])
    return bool(ended and reading.near) and is_new_value(rest, reading.near)


def is_new_value(text: str, near: Sequence[Line]) -> bool:
    """Return whether a sentence says that something is a name or number new to the agent."""
    said = " ".join(line.text for line in near).casefold()
    _, body = split_opening(text)
    values = compiled(expression(TABLE, "name_or_number")).findall(body)
    is_new = any(value.casefold() not in said for value in values)
    is_clause = bool(match_start("clause", body) or match_start("it", body))
    return is_new and is_clause and is_positive(body)


def find_same_subject(
    body: str, lines: Sequence[Line], reading: Reading, signs: tuple[bool, bool, bool]
) -> tuple[str, str] | None:
    """Read a statement about the subject of an earlier one: "the choir moved to 10:30"."""
    is_correcting, is_open, is_changed = signs
    if not any(signs):
        return find_conflict(body, reading)
    if match_start("not_alone", body) or (reading.is_approving and not is_correcting):
        return None
    is_fragment = len(body.split()) < 5 and not match_start("clause", body)
    if is_fragment and not (is_open or has_number(body)):
        return None
    enough = SCORE_OF_ANSWER if is_correcting or reading.near else SCORE_OF_STATEMENT
    texts = [line.text for line in lines]
    corrects = find_corrected(f"{body} {reading.previous}", texts[:-1], enough)
    corrects = corrects or find_said(body, reading)
    if corrects or (is_changed and reading.near and match_start("standing", body)):
        return body, corrects
    # "No, I'm in Lisbon" answers "Are you in Porto?" and corrects nothing.
    is_new = search_pattern("new_fact", body) or match_start("clause", body)
    if not is_open and (reading.is_answer or not is_correcting or not is_new):
        return None
    numbers = [text for text in texts if has_number(text)] if has_number(body) else []
    return body, numbers[-1] if numbers else ""


def gives_reason(body: str, reading: Reading) -> bool:
    """Return whether a reply goes on after a value: "38, two swarmed", "10 mg. He doubled it."."""
    text = " ".join([body, *reading.following[:1]])
    return reading.is_open or (reading.is_first and bool(search_pattern("value_reason", text)))


def find_changed_word(
    body: str, lines: Sequence[Line], reading: Reading, is_correcting: bool
) -> tuple[str, str] | None:
    """Put two or three words into a statement from which they differ in one: "Lime Street 14"."""
    head, comma, reason = re.sub(r"(?i),? (?:actually|then|instead)\W*$", "", body).partition(",")
    new = SPLIT.findall(head)
    has_reason = gives_reason(body, reading)
    is_sentence = match_start("denied", head) or match_start("clause", head)
    if is_sentence or not (is_correcting or has_reason):
        return None
    for line in reversed(lines[-REPLY_LINES:]):
        places = list(SPLIT.finditer(line.text))
        if len(places) > LONGEST_LINE:
            continue
        for start in range(len(places) - len(new) + 1):
            part = places[start : start + len(new)]
            old = [place[0].casefold() for place in part]
            is_other = [a != b.casefold() for a, b in zip(old, new, strict=True)]
            same = " ".join(new[n] for n in range(len(new)) if not is_other[n])
            other = " ".join(new[n] for n in range(len(new)) if is_other[n])
            is_sure = find_names(other) and (is_correcting or find_names(same))
            if 1 < len(new) < 6 and sum(is_other) == 1 and is_sure:
                text = line.text[: part[0].start()] + " ".join(new) + line.text[part[-1].end() :]
                taken = take_over(line._replace(text=text))
                is_usable = taken and (has_reason or not is_work(line))
                return (f"{taken}{comma}{reason}", line.text) if is_usable else None
    return None


def find_conflict(body: str, reading: Reading) -> tuple[str, str] | None:
    """Read a statement without "no" that differs from what the agent has just said or done.

    It has another number ("my limit is 10 km" after "15 km"), says what the agent's value is for
    ("80 is for the web gallery only"), or says what holds in general about something that the agent
    has worked on or a name that it used ("our functions are snake_case").
    """
    names = find_names(body)
    is_about_it = len(reading.near) == 1 and match_start("it", body)
    claims = [line.text for line in reading.near if not search_pattern("advice", line.text)]
    shared = [text for text in claims if is_about_it or names & find_names(text)]
    first, _, second = re.sub(r"[;:.] ", ", ", body).partition(", ")
    is_clause = match_start("clause", body) or is_about_it
    if not (reading.is_first and is_clause) or not is_answering(body, second):
        return None
    if not shared:
        # "Branches are called after the ticket" after "name the branch" and "Created login-form."
        # "Our readers are over seventy, we say Sie" after "I used du".
        asked = reading.earlier[-2].text if reading.earlier[1:] else ""
        is_about = bool(names & find_names(asked) or match_start("standing", second))
        # "We close at 5 in winter" after "The sign says 9 to 6."
        numbers = [has_number(text) for text in (body, *(line.text for line in reading.near))]
        is_sure = numbers == [True, True] or (is_about and has_report(reading))
        if is_sure and match_start("standing", body):
            return body, reading.near[-1].text
        return None
    last = shared[-1]
    for text in reversed(shared):
        for kind in ("date_value", "weekday_value", "time_value", "number_value"):
            value = compiled(f"(?i){expression(TABLE, kind)}")
            theirs = set(value.findall(text.casefold()))
            if theirs and set(value.findall(body.casefold())) - theirs:
                return body, text
    restriction = match_start("restriction", second)
    is_only = match_start("only", second)
    narrowed = second if is_only else restriction["name"] if restriction else ""
    is_restricted = find_names(narrowed) & find_names(last)
    # A name has a capital in the middle of the agent's sentence.
    name = re.sub(r"(?i)^(?:the|der|die|das) |'s\b.*", "", first).split()[0]
    said = f"{reading.earlier[-2].text if reading.earlier[1:] else ''} {last}"
    is_named = bool(re.search(rf"(?<=\S ){re.escape(name[:1].upper() + name[1:])}\b", said))
    is_standing = match_start("standing", body) or match_start("standing", second)
    is_close = len(names & find_names(last)) > 1 and names - find_names(last)
    is_named = is_named and bool(match_start("named", body))
    if is_restricted or is_standing or is_close or is_named:
        return body, last
    return None


def is_answering(body: str, second: str) -> bool:
    """Return whether a reply is no feedback, and its second part no task and no question."""
    is_other = is_task(split_opening(second)[1]) or search_pattern("question", second)
    return not is_other and not search_pattern("feedback", body)


def has_report(reading: Reading) -> bool:
    """Return whether a sentence is the first in a reply to a report about the agent's work."""
    return reading.is_first and any(match_start("report", line.text) for line in reading.near)


def find_said(body: str, reading: Reading) -> str:
    """Return the sentence of the agent's last message that a reply is about."""
    texts = [line.text for line in reading.near]
    is_about_it = len(texts) == 1 and match_start("it", body)
    return texts[0] if is_about_it else find_corrected(body, texts, SCORE_OF_ANSWER)


def find_corrected(body: str, statements: Sequence[str], enough: int) -> str:
    """Return the latest of the statements that share most words with a correction."""
    names = find_names(body)
    best, best_score = "", enough
    for line in statements:
        shared = len(names & find_names(line))
        score = 2 * shared + (has_number(body) and has_number(line))
        if shared and score >= best_score:
            best, best_score = line, score
    return best

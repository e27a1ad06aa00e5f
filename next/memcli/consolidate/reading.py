"""Read the statements of one message of the user."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .corrections import find_correction
from .language import WORD, find, match_start, split_opening, tidy
from .own_words import find_own_sentences
from .rules import Statement

if TYPE_CHECKING:
    from ..formats.session import Message

LONGEST = 400
FEWEST_WORDS = 3
SHORT_TAKE_BACK = 60
GUARDS = ("question", "hypothetical", "this_session", "narrow", "for_now")
TYPES = {"rule": "constraint", "preference": "preference", "correction": "correction"}


class Reading(NamedTuple):
    """What is known when a sentence is read."""

    previous: str  # the sentence before it in the message, without opening; empty after a question
    following: Sequence[str]
    earlier: Sequence["Message"]
    is_correcting: bool  # the sentence, or the one before it, opens with "no," or the like


def read_message(text: str, earlier: Sequence["Message"]) -> list[Statement]:
    """Return the statements of a message, without ids.

    A statement of kind forget without text takes back the last statement of the message before.
    """
    found: list[Statement] = []
    sentences = find_own_sentences(text)
    last = -1  # the number of the sentence that the last statement is from
    reading = Reading("", [], earlier, False)
    for number, sentence in enumerate(sentences):
        opening, body = split_opening(sentence.text)
        is_result = bool(match_start("result", opening))
        # "Should I use it? Nah, I'll stay with the old one" corrects nothing.
        is_answer = number > 0 and bool(find("question", sentences[number - 1].text))
        is_correcting = bool(find("correcting", opening)) and not is_answer
        correction = find("self_correction", body)
        if correction:
            body, is_correcting = body[correction.end() :], True
        if sentence.is_quoting or find("label", sentence.text):
            reading = reading._replace(previous="", is_correcting=False)
            continue
        is_correcting = is_correcting or reading.is_correcting
        reading = reading._replace(
            following=[later.text for later in sentences[number + 1 :] if not later.is_quoting],
            is_correcting=is_correcting,
        )
        statement = None
        if find("taken_back", body):
            if len(body) < SHORT_TAKE_BACK:
                found = found[:-1] if found else [Statement("", "", "forget")]
        elif found and last == number - 1 and is_continuing(body, found[-1]):
            found[-1] = found[-1]._replace(text=f"{found[-1].text} {tidy(body)}")
            last = number
        else:
            statement = read_request(body, reading)
            if statement is None and not is_guarded(body):
                statement = read_standing(opening + body, body, reading, needs_previous=is_result)
            if statement and statement.text:
                found.append(statement)
                last = number
        reading = reading._replace(
            previous="" if find("question", body) else body,
            # "Oh no wait. I just opened the mail. We fly on the 14th."
            is_correcting=is_correcting and statement is None,
        )
    return found


def is_continuing(body: str, last: Statement) -> bool:
    """Return whether a sentence is a part of the statement before it."""
    # "In all other cases 19 %", "No, it isn't LaTeX. It's Typst."
    is_about_it = last.kind == "correction" and match_start("pointing", body)
    return bool(match_start("continuing", body) or is_about_it)


def read_request(body: str, reading: Reading) -> Statement | None:
    """Return the explicit request of a sentence, or None if it is none.

    The text is empty if the request is for this session only or asks a question.
    """
    kind = "request"
    tail = find("tail_request", body)
    middle = find("mid_request", body)
    if match_start("bare_request", body):
        wanted = reading.previous or get_short_text(reading.earlier)
    elif tail:
        wanted = body[: tail.start()]
    elif middle:
        wanted = f"{body[: middle.start()]}, {body[middle.end() :]}"
    else:
        match = match_start("forget", body)
        kind = "forget" if match else kind
        match = match or match_start("request", body)
        if match is None:
            return None
        wanted = body[match.end() :]
        # "Can you remember that I use tabs?" asks for it, "Remember the parser bug?" does not.
        if match[0].casefold().startswith(("can you", "could you", "would you", "will you")):
            wanted = wanted.rstrip("? ")
    if not WORD.search(wanted):
        # "Remember this:" with a list below it.
        wanted = " ".join(tidy(sentence) for sentence in reading.following)
    if kind == "forget":
        # "Forget that we want QR bills, the client is happy without."
        clause = wanted.partition(", ")[0]
        wanted = clause if " " in clause else wanted
    if find("question", wanted) or find("this_session", body):
        return Statement("", "", kind)
    if match_start("pointing", wanted):
        before = reading.previous or get_short_text(reading.earlier)
        wanted = f"{tidy(before)} {tidy(wanted)}" if before else ""
    memory_type = TYPES.get(find_kind(wanted), "fact")
    return Statement(tidy(wanted), memory_type if kind == "request" else "", kind)


def read_standing(
    sentence: str, body: str, reading: Reading, *, needs_previous: bool
) -> Statement | None:
    """Return the rule, preference or correction that a sentence states."""
    correction = find_correction(
        sentence, body, reading.previous, reading.earlier, reading.is_correcting
    )
    kind = "correction" if correction else find_kind(body)
    text, corrects = correction or (body, "")
    if not kind:
        return None
    if text == body and (needs_previous or match_start("pointing", body)):
        if not reading.previous and not needs_previous:
            return None
        text = f"{tidy(reading.previous)} {tidy(body)}".strip()
    if is_short(text):
        return None
    # A decision binds as a rule does, but its memory may fade.
    memory_type = TYPES.get(kind, "fact")
    kind = "rule" if kind == "decision" else kind
    return Statement(tidy(text), memory_type, kind, corrects=corrects)


def find_kind(sentence: str) -> str:
    """Return whether a sentence is a rule, a decision or a preference, or an empty text."""
    body = tidy(sentence).rstrip(".!")
    is_preference = find("preference", body) and not find("no_preference", body)
    if is_preference and match_start("first_person", body):
        return "preference"
    if find("rule", body) and not find("no_rule", body):
        return "rule"
    if is_preference:
        return "preference"
    return "decision" if find("decision", body) else ""


def is_guarded(body: str) -> bool:
    """Return whether a sentence asks, supposes, or speaks about now only."""
    return len(body) > LONGEST or any(find(guard, body) for guard in GUARDS)


def is_short(text: str) -> bool:
    return len(WORD.findall(text)) < FEWEST_WORDS and text.isascii()


def get_short_text(earlier: Sequence["Message"]) -> str:
    """Return the message that "remember that" points at, if it is short and holds no quote."""
    sentences = find_own_sentences(earlier[-1].text) if earlier else []
    text = " ".join(sentence.text for sentence in sentences)
    return "" if len(text) > LONGEST or any(item.is_quoting for item in sentences) else text

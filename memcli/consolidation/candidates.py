"""The sentences of a conversation that might be worth remembering, each whole, with what a judge of worth looks at.

Owns: what is a candidate at all. Questions, foreign text and what a machine put into the conversation are none. Refuses
to judge worth: see `worth`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from .. import data
from ..dataclass import dataclass
from ..formats.session_event import Event
from ..formats.text_lines import shorten
from ..language.foreign_text import Prompt, injections
from ..language.sentences import READ, Sentence, is_question, sentences
from .attribution import is_handed_on, is_polite_rule, is_standing_rule, untagged

_pattern = partial(data.pattern, "statements.toml")
LONGEST = 600
"""Characters of a candidate; what goes on longer ends in "…"."""

_QUOTATION = re.compile(r"\s*[\"“„«「][^\n\"“”„«»「」]{8,400}[\"”“»」][.!]?")
_TOOL_LINES, _TOOL_SIZE = 3, 400  # of a tool's answer that is short enough to state a fact
_CONTEXT = 300  # characters of a neighbour
_WORD = re.compile(r"[^\W_][\w.:/#@+%€$-]*[^\W_]|\d")
_TELLING = re.compile(r"\d|[A-ZÀ-Þ]\w|[_/#@]")  # of a word: a number, a name, an identifier

_BAN = re.compile(r"no [^.!?\n]+,? please\b", re.IGNORECASE)  # here "please" makes the rule


@dataclass(frozen=True)
class Candidate:
    """A sentence that somebody said, as it stands in the message but for filler at its ends."""

    text: str
    role: str  # user, assistant or tool
    message: str = ""  # id of the event it stands in
    start: int = 0  # offsets of the sentence in the event's text
    stop: int = 0
    line: int = 0  # the line of the message it stands in, from 0
    number: int = 0  # of the sentence in its message, from 0
    sentences: int = 1  # in its message
    position: int = 0  # of its message in the conversation, from 0
    messages: int = 1  # in the conversation
    before: str = ""  # the sentence before it in its message
    after: str = ""  # the sentence after it in its message
    previous: str = ""  # the end of the message before: what it answers
    following: str = ""  # the beginning of the message after: how it was taken
    news: float = 1.0  # share of its words that nobody said before in the conversation
    new_names: int = 0  # numbers, names and identifiers in it that nobody said before
    is_own: bool = True  # false where a prompt is so long that it was probably pasted, or quotes what it was asked for
    is_told: bool = False  # the user only hands on what somebody else said


def candidates(events: Sequence[Event]) -> list[Candidate]:
    """Return the candidates of a conversation in the order they were said."""
    spoken = [event for event in events if _is_said(event)]
    heard: set[str] = set()
    statements: list[Candidate] = []
    for position, event in enumerate(spoken):
        text = event.text[:READ]
        role = "tool" if event.type == "tool_result" else event.role
        prompt = Prompt(text)
        whole = sentences(text)
        quoted = _quoted_answer(text) if role == "user" and position and is_question(spoken[position - 1].text) else 0
        own = _own(prompt, whole, quoted)
        handed_on = is_handed_on(prompt, whole) if role == "user" else [False] * len(whole)
        for number, (sentence, is_told) in enumerate(zip(whole, handed_on, strict=True)):
            words = set(words_of(sentence.text))
            statement = without_filler(untagged(sentence.text) if role == "user" else sentence.text)
            if statement and sentence in own and not asks(sentence.text, role):
                statements.append(
                    Candidate(
                        statement,
                        role,
                        event.id,
                        sentence.start,
                        sentence.stop,
                        sentence.line,
                        number,
                        len(whole),
                        position,
                        len(spoken),
                        before=whole[number - 1].text[-_CONTEXT:] if number else "",
                        after=whole[number + 1].text[:_CONTEXT] if number + 1 < len(whole) else "",
                        previous=spoken[position - 1].text[-_CONTEXT:] if position else "",
                        following=spoken[position + 1].text[:_CONTEXT] if position + 1 < len(spoken) else "",
                        news=len(words - heard) / len(words) if words else 0.0,
                        new_names=sum(word.casefold() not in heard for word in telling_words(statement)),
                        is_own=role != "user" or (not prompt.is_long and sentence.stop > quoted),
                        is_told=is_told,
                    )
                )
            heard |= words
    return statements


def asks(sentence: str, role: str) -> bool:
    """Tell whether a sentence asks or only announces; a standing rule does not, however politely it is put."""
    sentence = untagged(sentence) if role == "user" else sentence
    if role == "user" and is_polite_rule(sentence):
        return False
    if is_question(sentence) or sentence.rstrip("\"'”)*_ ").endswith(":"):
        return True
    return role == "user" and bool(_pattern("request").search(sentence)) and not is_standing_rule(sentence)


def without_filler(text: str) -> str:
    """Return a sentence without the words at its ends that say nothing; empty where nothing else is left."""
    begin = match.end() if (match := _pattern("opening").match(text)) else 0
    begin = match.end() if (match := _pattern("answer").match(text, begin)) else begin
    closing = None if _BAN.match(text, begin) else _pattern("closing").search(text, begin)
    statement = text[begin : closing.start()].rstrip(" ,;–-") if closing else text[begin:].strip()
    if closing and closing[0].rstrip().endswith((".", "!")) and statement[-1:].isalnum():
        statement += "."
    return shorten(statement, LONGEST) if any(map(str.isalnum, statement)) else ""


def _is_said(event: Event) -> bool:
    if event.type == "tool_result":
        text = event.text.strip()
        return 0 < len(text) <= _TOOL_SIZE and text.count("\n") < _TOOL_LINES
    return event.type == "message" and event.role in ("user", "assistant") and bool(event.text.strip())


def _quoted_answer(text: str) -> int:
    """Return where the quotation of one line ends that a message opens with; 0 where it opens otherwise."""
    match = _QUOTATION.match(text)
    return match.end() if match else 0


def _own(prompt: Prompt, whole: Sequence[Sentence], quoted: int) -> list[Sentence]:
    """Return the sentences that are neither foreign nor put in by a machine; those up to `quoted` were asked for."""
    injected = injections(prompt.text)
    return [
        sentence
        for sentence in whole
        if (sentence.stop <= quoted or not prompt.is_foreign(sentence.start, sentence.stop))
        and not any(span.start < sentence.stop and sentence.start < span.stop for span in injected)
    ]


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text, in small letters."""
    return map(str.casefold, _WORD.findall(text))


def telling_words(text: str) -> Iterator[str]:
    """Yield the numbers, names and identifiers of a text, each once; a capital at its beginning makes no name."""
    words = _WORD.findall(text)
    first = words[0] if words and words[0][0].isalpha() else ""
    return (word for word in dict.fromkeys(words) if _TELLING.search(word[1:] if word == first else word))


_FEW = 2  # words that are too few, but where a user begins with them: "I'm vegan"
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{2}")  # a word in a script without spaces
_ASKED = 14  # words of a question
_AMENDING = 12  # words of a sentence that puts the one before it right


def states_something(candidate: Candidate) -> bool:
    """Tell whether a sentence is long enough to state anything, and no question, musing or announcement."""
    count = len(candidate.text.split()) + len(_WIDE.findall(candidate.text))
    if (
        count < _FEW
        or (count == _FEW and (candidate.role != "user" or candidate.number))
        or _pattern("muses").search(candidate.text)
        or _is_subject(candidate.text)
    ):
        return False
    return not (_pattern("asks").match(candidate.text) and len(candidate.text.split()) <= _ASKED)


def is_taken_up(candidate: Candidate) -> bool:
    """Tell whether an assistant proposes something, or noticed it, and the user's answer takes it up."""
    proposes = candidate.role == "assistant" and _pattern("proposes").search(candidate.text)
    return bool(proposes and _pattern("takes_up").match(candidate.following))


def declares(text: str) -> bool:
    """Tell whether a sentence begins with what it tells of, as an order does not."""
    return bool(_pattern("declares").match(text))


def _is_subject(text: str) -> bool:
    """Tell whether a text is the subject of a commit; "style: always tabs" may be a rule about style."""
    return bool(_pattern("commit").match(text)) and not (_pattern("topic").match(text) and is_standing_rule(text))


def is_one_off(text: str) -> bool:
    """Tell whether an order is for once alone."""
    return bool(_pattern("once").search(text))


def amends(candidate: Candidate, text: str) -> bool:
    """Tell whether a statement of the message `text` may put right the sentence before it, filler in front counted."""
    return len(candidate.text.split()) <= _AMENDING and bool(_pattern("amends").match(text, candidate.start))


def leans_back(text: str) -> bool:
    """Tell whether a sentence begins with a word for what stands before it: "that's why …"."""
    return bool(_pattern("leans").match(text))


def binds(candidate: Candidate) -> bool:
    """Tell whether a user's own sentence is a rule by its form; a ban is one with a limit or a reason behind it."""
    if candidate.role != "user" or candidate.is_told:
        return False
    return is_standing_rule(candidate.text, candidate.after)

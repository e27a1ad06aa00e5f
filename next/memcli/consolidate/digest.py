"""Build the history record of a conversation from its own sentences.

Sentences with decisions, causes, fixes, numbers and names score highest, as do answers and the
user's rules and corrections. The best are kept in their order, within 30 % of the conversation.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .language import find, find_content, match_start, split_opening, tidy
from .own_words import find_own_sentences
from .reading import find_kind
from .rules import find_statements

if TYPE_CHECKING:
    from ..formats.session import Message

SHARE = 0.3
SHORTEST_RECORD = 200  # bytes; a short conversation gets at least its best sentence
LONGEST_SENTENCE = 400
FEWEST_WORDS = 4
MOST_MESSAGES = 2000

# What each signal of a sentence is worth.
KIND = 3.0
REASON = 2.0
NUMBER = 1.0
NAME = 1.0
ANSWER = 1.0
USER = 0.5
GUESS = -2.0
NARRATION = -2.0
CORRECTED = -4.0


class Scored(NamedTuple):
    """A sentence of the conversation and its worth."""

    text: str
    score: float
    position: int
    size: int  # bytes


def build_history_text(messages: Sequence["Message"]) -> str:
    """Return the sentences worth a place in the history, one after the other."""
    size = sum(len(message.text.encode("utf-8", "replace")) for message in messages)
    budget = max(SHARE * size, SHORTEST_RECORD)
    chosen = []
    for sentence in sorted(score_sentences(messages), key=rank):
        if sentence.size + 1 <= budget:
            budget -= sentence.size + 1
            chosen.append(sentence)
    chosen.sort(key=lambda sentence: sentence.position)
    return " ".join(sentence.text for sentence in chosen)


def rank(sentence: Scored) -> tuple[float, int]:
    # A long sentence takes the place of others, but not in proportion: it says more.
    return -sentence.score / sentence.size**0.5, sentence.position


def score_sentences(messages: Sequence["Message"]) -> Iterator[Scored]:
    """Yield the sentences that say something, each once."""
    corrected = {item.corrects for item in find_statements(messages) if len(item.corrects) > 20}
    seen = set()
    is_asked = False
    position = 0
    for message in messages:
        is_user = message.speaker != "assistant"
        was_asked, is_asked = is_asked, False
        for number, sentence in enumerate(find_own_sentences(message.text)):
            opening, body = split_opening(sentence.text)
            if find("question", body):
                is_asked = True
                continue
            text = tidy(body.replace("**", ""))
            if sentence.is_quoting or len(text) > LONGEST_SENTENCE or text in seen:
                continue
            if len(text.split()) < FEWEST_WORDS and text.isascii():
                continue
            seen.add(text)
            score = score_sentence(text, is_user=is_user)
            score += ANSWER if was_asked and number == 0 else 0
            score += CORRECTED if body in corrected else 0
            position += 1
            if score > 0:
                yield Scored(text, score, position, len(text.encode("utf-8", "replace")))


def score_sentence(text: str, *, is_user: bool) -> float:
    """Return the worth of a sentence by itself."""
    score = USER if is_user else 0.0
    if is_user and find_kind(text):
        score += KIND
    if find("reason", text):
        score += REASON
    if find("figure", text):
        score += NUMBER
    if find("name", text[1:]):
        score += NAME
    if find("hypothetical", text) or find("session_only", text):
        score += GUESS
    if find("narration", text):
        score += NARRATION
    return score

"""Build the history record of a conversation from its own sentences.

Sentences with decisions, causes, fixes, numbers and names score highest, as do answers and the
user's rules and corrections. The best are kept in their order, within 30 % of the conversation.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..formats.session import Message
from .language import (
    find_content,
    find_own_sentences,
    format_sentence,
    search_pattern,
    split_opening,
)
from .rules import find_statements

SHARE = 0.3
SHORTEST_RECORD = 200  # bytes; a short conversation gets at least its best sentence
LONGEST_RECORD = 16_384
SHORTEST_SENTENCE = 12  # bytes
LONGEST_SENTENCE = 400
FEWEST_WORDS = 4
REPEATED = 0.7  # share of the words of a sentence that another sentence has

# What each signal of a sentence is worth.
STATEMENT = 3.0
REASON = 2.0
FIGURE = 1.0
NAME = 0.5
ANSWER = 0.5
USER = 1.0
POINTING = -1.0
GUESS = -2.0
NARRATION = -2.0
LEAST = 1.5  # being the user's is not enough


class ScoredSentence(NamedTuple):
    """A sentence of the conversation and its worth."""

    text: str
    score: float
    position: int

    def get_size(self) -> int:
        return len(self.text.encode("utf-8", "replace")) + 1


def build_history_text(messages: Sequence[Message], withdrawn: Sequence[str] = ()) -> str:
    """Return the sentences worth a place in the history, one after the other.

    `withdrawn` are statements that the user has undone.
    """
    size = sum(len(message.text.encode("utf-8", "replace")) for message in messages)
    budget = min(max(SHARE * size, SHORTEST_RECORD), LONGEST_RECORD)
    chosen = []
    known: list[set[str]] = []
    for sentence in sorted(score_sentences(messages, withdrawn), key=rank):
        if budget < SHORTEST_SENTENCE:
            break
        words = find_content(sentence.text)
        is_new = all(len(words & other) < REPEATED * len(words) for other in known)
        if is_new and sentence.get_size() <= budget:
            budget -= sentence.get_size()
            chosen.append(sentence)
            known.append(words)
    chosen.sort(key=lambda sentence: sentence.position)
    return " ".join(sentence.text for sentence in chosen)


def rank(sentence: ScoredSentence) -> tuple[float, int]:
    # A long sentence says more than a short one, but takes the place of several.
    return -sentence.score / sentence.get_size() ** 0.5, sentence.position


def score_sentences(
    messages: Sequence[Message], withdrawn: Sequence[str]
) -> Iterator[ScoredSentence]:
    """Yield the user's statements and the other sentences that say something."""
    statements: dict[str, list[str]] = {}
    corrected = set()
    forgotten: list[str] = []
    for statement in find_statements(messages):
        if statement.kind == "forget" or statement.text in withdrawn:
            # "Forget that we use helm" does not say that we use helm.
            forgotten.append(statement.text.rstrip(".").casefold())
            continue
        statements.setdefault(statement.message_id, []).append(statement.text)
        corrected.add(format_sentence(statement.corrects))
    is_asked = False
    position = 0
    for message in messages:
        is_user = message.speaker != "assistant"
        if is_user and search_pattern("unrecorded", message.text):
            continue
        was_asked, is_asked = is_asked, False
        stated = statements.get(message.id, []) if is_user else []
        for number, sentence in enumerate(find_own_sentences(message.text)):
            position += 1
            _, body = split_opening(sentence.text)
            if search_pattern("question", body):
                is_asked = True
                continue
            text = format_sentence(body.replace("**", ""))
            if any(passage in text.casefold() for passage in forgotten):
                continue
            whole = next((whole for whole in stated if text in whole), "")
            if whole:
                yield ScoredSentence(whole, STATEMENT + score_sentence(whole, is_user), position)
            elif not sentence.is_quoting and text not in corrected and is_readable(text):
                score = score_sentence(text, is_user)
                score += ANSWER if was_asked and number == 0 else 0
                if score >= LEAST:
                    yield ScoredSentence(text, score, position)
        # A statement in which a number was corrected holds no sentence of the message.
        for whole in stated:
            yield ScoredSentence(whole, STATEMENT + score_sentence(whole, is_user), position)


def is_readable(text: str) -> bool:
    is_short = len(text.split()) < FEWEST_WORDS and text.isascii()
    return not is_short and len(text) <= LONGEST_SENTENCE


def score_sentence(text: str, is_user: bool) -> float:
    """Return the worth of a sentence by itself."""
    score = USER if is_user else 0.0
    for name, worth in (
        ("reason", REASON),
        ("figure", FIGURE),
        ("name", NAME),
        ("pointing", POINTING),
        ("hypothetical", GUESS),
        ("this_session", GUESS),
        ("narration", NARRATION),
    ):
        if search_pattern(name, text):
            score += worth
    return score

"""Tell texts that only repeat a question from those that may answer it."""

import re
from collections.abc import Collection

from ..text.sentences import QUESTION_MARKS, is_question
from ..text.words import query_terms

_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟]*")


def only_asks(text: str, words: Collection[str]) -> bool:
    """Tell whether what a text shares with a query stands in questions, for the most part."""
    if not any(mark in text for mark in QUESTION_MARKS):
        return False
    asked: set[str] = set()
    told: set[str] = set()
    for sentence in _SENTENCE.findall(text):
        (asked if is_question(sentence) else told).update(query_terms(sentence))
    return len(asked.intersection(words)) > 2 * len(told.intersection(words))

"""The sentences of a passage that fit a query, in one line."""

import re

from ..formats.page import strip_comments
from ..formats.text import LIST_MARK, SENTENCE_END, SUMMARY_LENGTH, shorten, split_words

IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)|!\[\[[^\]]*\]\]")
LINK = re.compile(r"\[\[([^\]|]+\|)?([^\]]+)\]\]")


def build_snippet(text: str, words: list[str], limit: int = SUMMARY_LENGTH) -> str:
    """Return the sentence with most of the words, and as many of the following as fit."""
    sentences = split_sentences(text)
    if not sentences:
        return ""
    whole = " ".join(sentences)
    # A short memory is shown whole, so that nothing of it is missed.
    if len(whole) <= limit:
        return whole
    wanted = set(words)
    scores = [len(wanted.intersection(split_words(sentence))) for sentence in sentences]
    best = scores.index(max(scores))
    snippet = sentences[best]
    if len(snippet) > limit:
        return cut_around(snippet, wanted, limit)
    for sentence in sentences[best + 1 :]:
        if len(snippet) + len(sentence) + 1 > limit:
            break
        snippet = f"{snippet} {sentence}"
    return snippet


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a Markdown text without list marks, comments and link brackets."""
    sentences = []
    for line in strip_comments(text).splitlines():
        content = LIST_MARK.sub("", line.strip().lstrip("\ufeff"), count=1)
        content = IMAGE.sub("", content)
        content = LINK.sub(lambda match: match[2], content).replace("**", "").strip()
        if any(character.isalnum() for character in content):
            sentences += [" ".join(part.split()) for part in SENTENCE_END.split(content)]
    return [sentence for sentence in sentences if sentence]


def cut_around(sentence: str, words: set[str], limit: int) -> str:
    """Return the part of a long sentence around its first matching word."""
    position = 0
    for match in re.finditer(r"\w+", sentence):
        if match[0].casefold() in words:
            position = match.start()
            break
    if position < limit // 2:
        return shorten(sentence, limit)
    start = sentence.rfind(" ", 0, position - limit // 3) + 1
    return f"…{shorten(sentence[start:], limit - 1)}"

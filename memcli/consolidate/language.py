"""The language of conversations: own sentences, patterns of speech, and sentences of memories.

The patterns are in `data/statements.toml`. Quotes, pasted text, code and mem's context are not the
author's own words.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..data import compiled as compiled
from ..data import expression as expression
from ..data import pattern as pattern
from ..data import words
from ..formats import CONTEXT, FULL_STOP, collapse_blanks, split_words

if TYPE_CHECKING:
    from ..formats import Message

WORD = re.compile(r"[^\W_]+")
STEM = 5  # letters by which two forms of a word are the same
# Few people type that much, so a longer message is mostly a paste.
LONG_MESSAGE = 1500
LONGEST_MESSAGE = 20_000
QUOTE_LENGTH = "{25,2000}"  # a shorter quote is a word; without a limit, the search is quadratic
# A quote leaves this mark, because a sentence around a quote is not all the user's own.
QUOTE_MARK = "\ufffc"

CODE_BLOCK = re.compile(r"(?s)(?:```|~~~).*?(?:```|~~~|\Z)")
QUOTE = re.compile(
    rf'(?s)""".*?(?:"""|\Z)'
    rf'|(?m:^)"[^"]{QUOTE_LENGTH}"'
    rf'|(?<!\w)"[^"\n]{QUOTE_LENGTH}"'
    rf"|[“„«][^”“»]{QUOTE_LENGTH}[”“»]"
    rf"|(?<!\w)'(?:[^'\n]|'(?=\w)){QUOTE_LENGTH}'(?!\w)"
    # A letter, up to its greeting.
    r"|(?im:^(?:-+ ?(?:original|forwarded) message|from: \S|dear [^\n]{1,40},[ \t]*$))"
    r".*?(?:(?i:\bregards\b)[^\n]*|\Z)"
)
QUOTED_LINE = re.compile(r"\s*(?:>|&gt;)")
# `for (i = 0; i < n; i++) {` has more of them than any sentence.
SYMBOLS = re.compile(r"[{}\[\]();=<>|\\$]")
# People type messages in lower case, so a sentence may begin with a small letter.
SENTENCE_END = re.compile(rf"(?:{FULL_STOP}|[!?…])[.!?…)\"']*\s+|(?<=[。！？])|\n+")
LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|#{1,6})\s+")
FEWEST_WORDS = 3  # of a statement
MOST_NEAR_LINES = 6
LONGEST_LINE = 20  # words of a statement that is repeated with another value
# What an agent says to the user, as the user says it.
OWN_WORDS = (
    (r"^You(?:'re| are)\b", "I'm"),
    (r"^You (?=(?:have|need|want|use|live|work|take|ship|pay|start|\w+ed)\b)", "I "),
    (r"\bYour\b", "My"),
    (r"\byour\b", "my"),
    (r"\b([Dd])ein(?=(?:e|en|em|er|es)?\b)", "mein"),
)


class Sentence(NamedTuple):
    """One sentence of a message."""

    text: str
    is_quoting: bool  # contains or introduces foreign text


class Line(NamedTuple):
    """An earlier statement of the conversation."""

    text: str
    is_agents: bool


def find_own_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a message that are its author's own words."""
    sentences = []
    for paragraph in find_own_paragraphs(text):
        start = 0
        for end in [*(match.end() for match in SENTENCE_END.finditer(paragraph)), len(paragraph)]:
            sentence = LIST_MARK.sub("", paragraph[start:end]).strip()
            start = end
            if any(character.isalnum() for character in sentence):
                sentences.append(Sentence(sentence, QUOTE_MARK in sentence))
    return sentences


def find_own_paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a message without foreign text."""
    text = CONTEXT.sub("\n", text)
    text = CODE_BLOCK.sub(QUOTE_MARK, text)
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:LONG_MESSAGE]}\n\n{QUOTE_MARK}\n\n{text[-LONG_MESSAGE:]}"
    text = QUOTE.sub(QUOTE_MARK, text)
    # "He wrote:" and a quote below it belong together, also across an empty line.
    text = re.sub(rf":\s+{QUOTE_MARK}", f": {QUOTE_MARK}", text)
    paragraphs = []
    for paragraph in re.split(r"\n[ \t\r]*\n\s*", text):
        lines = [
            line for line in paragraph.split("\n") if line.strip() and not is_foreign_line(line)
        ]
        own = "\n".join(lines)
        introduction = search_pattern("introduction", own)
        if introduction:
            own = own[: introduction.end()] + QUOTE_MARK
        paragraphs.append(own)
    if len(text) > LONG_MESSAGE:
        # The author of a long paste says what it is before or after it.
        paragraphs = [part for part in (paragraphs[0], paragraphs[-1]) if len(part) < LONG_MESSAGE]
    return paragraphs


def is_foreign_line(line: str) -> bool:
    """Return whether a line is quoted, a command, a log line or code."""
    if QUOTED_LINE.match(line) or match_start("program_line", line):
        return True
    return len(SYMBOLS.findall(line)) > max(2, len(line) / 12)


def search_pattern(name: str, text: str) -> re.Match[str] | None:
    """Return where a text fits a pattern of the table."""
    return pattern("statements.toml", name).search(text)


def match_start(name: str, text: str) -> re.Match[str] | None:
    """Return how the start of a text fits a pattern of the table."""
    return pattern("statements.toml", name).match(text)


def split_opening(sentence: str) -> tuple[str, str]:
    """Split off the words at the start that add nothing."""
    opening = match_start("opening", sentence)
    end = opening.end() if opening else 0
    return sentence[:end], sentence[end:]


def format_sentence(text: str) -> str:
    """Return a sentence without empty words around it, with a capital and a full stop."""
    _, text = split_opening(collapse_blanks(text))
    text = pattern("statements.toml", "closing").sub("", text)
    text = re.sub(r"^(?:[ ,;:–—]|-(?!\d))+", "", text).rstrip(" ,;:–—-")  # -1 is a number
    first = text.partition(" ")[0]
    # A name such as `invoice_line` or iPhone keeps its spelling.
    if first.islower() and first.replace("'", "").isalpha():
        text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?…。！？" else f"{text}."


def find_content(text: str) -> set[str]:
    """Return the stems of the words that carry a subject, and the numbers."""
    empty = words("statements.toml", "empty_words")
    return {
        word[:STEM]
        for word in WORD.findall(text.casefold())
        if has_number(word) or (len(word) > 3 and word not in empty)
    }


def has_number(text: str) -> bool:
    return any(character.isdigit() for character in text)


def find_lines(earlier: Sequence["Message"], fewest: int = FEWEST_WORDS) -> list[Line]:
    """Return the statements of both sides, without questions and shorter ones."""
    lines = []
    for message in earlier:
        bodies = [split_opening(item.text)[1] for item in find_own_sentences(message.text)]
        # "Remember that the port is 80" states the port.
        bodies = [pattern("statements.toml", "request_words").sub("", body) for body in bodies]
        is_agents = message.speaker != "user"
        if is_agents:
            # "It has three rooms, right?" states something.
            bodies = [pattern("statements.toml", "tag").sub("", body) for body in bodies]
        lines += [Line(body, is_agents) for body in bodies if is_statement(body, fewest)]
    return lines


def find_near_lines(earlier: Sequence["Message"]) -> list[Line]:
    """Return the agent's statements in the last message, unless it ends with a question.

    A long message explains something, and a reply to it rarely corrects it without saying so.
    """
    is_reply = bool(earlier) and not earlier[-1].text.rstrip().endswith(("?", "？"))
    lines = [line for line in find_lines(earlier[-1:], 2) if is_reply and line.is_agents]
    return lines if len(lines) <= MOST_NEAR_LINES else []


def is_statement(body: str, fewest: int = FEWEST_WORDS) -> bool:
    """Return whether a sentence is long enough to say something, and no question."""
    return len(body.split()) >= fewest and not search_pattern("question", body)


def is_task(body: str) -> bool:
    """Return whether a sentence is about the work at hand."""
    is_short = len(body.split()) < 6 and search_pattern("polite_end", body)
    return bool(is_short or match_start("task", body))


def is_positive(text: str) -> bool:
    """Return whether a text may be a right statement: no question, task or report."""
    is_other = is_task(text) or search_pattern("question", text)
    return not is_other and len(text.split()) >= 2 and not search_pattern("status", text)


def is_work(line: Line) -> bool:
    """Return whether a line reports the agent's work."""
    is_report = line.is_agents and match_start("report", line.text)
    return bool(is_report) and not search_pattern("noted", line.text)


def restate_line(line: Line) -> str:
    """Return a statement as the user would say it, or nothing if unclear."""
    # "It is 2026" does not say what is.
    if len(line.text.split()) > LONGEST_LINE or match_start("pointing", line.text):
        return ""
    if not line.is_agents:
        return line.text.rstrip(" .!")
    report = match_start("report", line.text)
    text = line.text[report.end() :] if report and line.text[:1] in "Ii" else line.text
    is_unclear = bool(re.search(r"\b(?:I|me|my)\b", text))
    for theirs, ours in OWN_WORDS:
        text = re.sub(theirs, ours, text)
    is_unclear = is_unclear or bool(re.search(r"(?i)\b(?:you|your)\b", text))
    return "" if is_unclear else text.rstrip(" .!")


def replace_words(text: str, old: str, new: str) -> str:
    """Replace words of a text. "The Torne river" with "the Kalix river" is "The Kalix river"."""
    parts = [re.escape(word) for word in new.split()]
    before = "".join(rf"(?:\b{part} )?" for part in parts)
    after = "".join(rf"(?: {part}\b)?" for part in parts)
    # 30 is no part of 02:30.
    wanted = rf"(?i){before}(?<![\d.:]){re.escape(old)}(?!\w|[.:]\d){after}"
    return re.sub(wanted, lambda _: new, text)


def has_word(text: str, wanted: str) -> bool:
    start = r"(?<![\d.])" if has_number(wanted[:1]) else r"(?<!\w)"  # 3.1 is in v3.1
    return bool(re.search(rf"(?i){start}{re.escape(wanted)}(?!\w)", text))


def find_names(text: str) -> set[str]:
    """Return the stems of a text, short names such as pip included."""
    return {
        word[:STEM].rstrip("s")
        for word in split_words(text)
        if (len(word) > 1 or has_number(word))
        and word not in words("statements.toml", "plain_words")
    }

"""Find corrections: "no, the port is 7654, not 6543", "oops, it's 4.2", "it moved to Tuesday"."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .language import find, find_content, has_number, match_start, split_opening
from .own_words import find_own_sentences

if TYPE_CHECKING:
    from ..formats.session import Message

# A shared word counts 2, and numbers in both sentences count 1.
SCORE_OF_ANSWER = 2
SCORE_OF_STATEMENT = 3
FEWEST_WORDS = 3
NUMBER = re.compile(r"\d[\w.,:]*\w|\d")
NEW_NUMBER = re.compile(
    rf"(?:(?:it|that)(?:'?s| is) )?({NUMBER.pattern})(?:,? not \S+)?(?=[\s,.!]|$)"
)


def find_correction(
    sentence: str, body: str, previous: str, earlier: Sequence["Message"], is_correcting: bool
) -> tuple[str, str] | None:
    """Return the text of a correction and the words that it corrects, or None if it is none.

    `body` is the sentence without its opening words, `previous` the sentence before it.
    """
    contrast = find("contrast", body)
    is_changed = bool(find("changed", body))
    # "I mixed it up. It is Tuesdays now."
    is_open = bool(find("openly_correcting", f"{previous} {sentence}" if is_changed else sentence))
    if not (is_correcting or is_open or contrast or is_changed):
        return None
    statements = [*find_earlier_statements(earlier), previous]
    replaced = replace_number(body, statements) if is_correcting else None
    if replaced:
        return replaced
    old = next(filter(None, contrast.groups()), "") if contrast else ""
    if old:
        wrong = next(
            (line for line in reversed(statements) if old.casefold() in line.casefold()), ""
        )
        new = match_start("new_value", body)
        if wrong and new:
            return re.sub(f"(?i){re.escape(old)}", lambda _: new[1], wrong), old
        # "2 spaces, not tabs" is a preference unless somebody said "tabs" before.
        return (body, old) if wrong or is_correcting else None
    enough = SCORE_OF_ANSWER if is_correcting or is_open else SCORE_OF_STATEMENT
    corrects = find_corrected(f"{body} {previous}", statements[:-1], enough)
    if corrects:
        return body, corrects
    # "No, I'm in Lisbon" answers "Are you in Porto?" and corrects nothing.
    is_answer = bool(earlier) and earlier[-1].text.rstrip().endswith("?")
    if not is_open and (is_answer or not is_correcting or not find("new_fact", body)):
        return None
    numbers = [line for line in statements if has_number(line)] if has_number(body) else []
    return body, numbers[-1] if numbers else ""


def find_earlier_statements(earlier: Sequence["Message"]) -> list[str]:
    """Return the sentences of both sides, without questions."""
    lines = []
    for message in earlier:
        for sentence in find_own_sentences(message.text):
            _, body = split_opening(sentence.text)
            if len(body.split()) >= FEWEST_WORDS and not find("question", body):
                lines.append(body)
    return lines


def replace_number(body: str, statements: Sequence[str]) -> tuple[str, str] | None:
    """Put the right number into an earlier statement: "no, 89" after "free from 79".

    Returns None unless the latest statement with a number has exactly one.
    """
    match = NEW_NUMBER.match(body)
    wrong = next((line for line in reversed(statements) if has_number(line)), "")
    if not match or len(NUMBER.findall(wrong)) != 1:
        return None
    text = NUMBER.sub(match[1], wrong).rstrip(" .!")
    reason = body[match.end() :]
    return text + (reason if reason.startswith(",") else ""), wrong


def find_corrected(body: str, statements: Sequence[str], enough: int) -> str:
    """Return the latest of the statements that share most words with a correction."""
    words = find_content(body)
    best, best_score = "", enough
    for line in statements:
        score = 2 * len(words & find_content(line)) + (has_number(body) and has_number(line))
        if score >= best_score and words & find_content(line):
            best, best_score = line, score
    return best

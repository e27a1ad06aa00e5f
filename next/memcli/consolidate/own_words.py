"""The sentences that somebody wrote themselves, without quotes, pasted text and mem's own context.

The prompt hook imports this module, so it imports nothing but `re`.
"""

import re
from typing import NamedTuple

LONG_MESSAGE = 1500
LONG_QUOTE = 25
# A quote leaves this mark, because a sentence around a quote is not all the user's own.
QUOTE_MARK = "\ufffc"

# Agents repeat mem's context inside a prompt, as it is or HTML-escaped once or twice.
CONTEXT = re.compile(
    r"(?is)(?:<|&(?:amp;)*lt;)(memory-context|hook_context|system-reminder)\b.*?"
    r"(?:(?:<|&(?:amp;)*lt;)/\1(?:>|&(?:amp;)*gt;)|\Z)"
)
CODE_BLOCK = re.compile(r"(?s)(?:```|~~~).*?(?:```|~~~|\Z)")
QUOTE = re.compile(
    rf'(?s)""".*?(?:"""|\Z)'
    rf'|(?m:^)"[^"]{{{LONG_QUOTE},}}"'
    rf'|(?<!\w)"[^"\n]{{{LONG_QUOTE},}}"'
    rf"|[“„«][^”“»]{{{LONG_QUOTE},}}[”“»]"
    rf"|(?<!\w)'(?:[^'\n]|'(?=\w)){{{LONG_QUOTE},}}'(?!\w)"
)
# "the mail says: …", "here is what they wrote: …", "translate this: …"
INTRODUCTION = re.compile(
    r"(?i)\b(?:(?:wrote|writes|says?|said|sent|forwarded|goes|reads|summari[sz]e|translate|proofread"
    r"|tidy|rewrite|rephrase)\b(?: \w+){0,3}|review|comment|sheet|article|exercise|übung \d+|(?:quote|lyrics?|poem|advert|listing)\b[^:\n]{0,30}): (?=\S)"
)
QUOTED_LINE = re.compile(r"\s*(?:>|&gt;)")
PROGRAM_LINE = re.compile(
    r"\s*(?:[$#%] |\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d:\d\d|Traceback|File \"|at \S+\(|(?:def|class|import|from) \S+.*[:(]?$"
    r"|SELECT |INSERT |UPDATE |ERROR|WARN|INFO|DEBUG|FATAL|FAILED|[|+\-=]{3,}|[{}<>/])"
)
SYMBOLS = re.compile(r"[{}\[\]();=<>|\\$]")
SENTENCE_END = re.compile(
    r"(?<!\b[A-Za-z])(?<!\bdr)(?<!\bDr)(?<!\bMr)(?<!\bms)(?<!\bMs)(?<!\bmrs)(?<!\bMrs)(?<!\bprof)"
    r"(?<!\bProf)(?<!\bst)(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\bapprox)(?<!\bincl)(?<!\bno)"
    r"(?:[.!?…]+[)\"']*\s+|(?<=[。！？])|\n+)"
)
LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|#{1,6})\s+")


class Sentence(NamedTuple):
    """One sentence, with its place among the paragraphs of the message."""

    text: str
    paragraph: int
    is_quoting: bool  # holds or introduces foreign text


def find_own_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a message that are its author's own words."""
    sentences = []
    for number, paragraph in enumerate(find_own_paragraphs(text)):
        start = 0
        for end in [*(match.end() for match in SENTENCE_END.finditer(paragraph)), len(paragraph)]:
            sentence = LIST_MARK.sub("", paragraph[start:end]).strip()
            start = end
            if any(character.isalnum() for character in sentence):
                is_quoting = QUOTE_MARK in sentence
                sentences.append(Sentence(sentence, number, is_quoting))
    return sentences


def find_own_paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a message without foreign text."""
    text = CONTEXT.sub("\n", text)
    text = CODE_BLOCK.sub(QUOTE_MARK, text)
    text = QUOTE.sub(QUOTE_MARK, text)
    text = re.sub(rf":\s+{QUOTE_MARK}", f": {QUOTE_MARK}", text)
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.split("\n") if line.strip() and not is_foreign_line(line)]
        own = "\n".join(lines)
        introduction = INTRODUCTION.search(own)
        if introduction:
            own = own[: introduction.end()] + QUOTE_MARK
        paragraphs.append(own)
    if len(text) > LONG_MESSAGE:
        # The author of a long paste says what it is before or after it.
        paragraphs = [part for part in (paragraphs[0], paragraphs[-1]) if len(part) < LONG_MESSAGE]
    return paragraphs


def is_foreign_line(line: str) -> bool:
    """Return whether a line is quoted, a command, a log line or code."""
    if QUOTED_LINE.match(line) or PROGRAM_LINE.match(line):
        return True
    return len(SYMBOLS.findall(line)) > max(2, len(line) / 12)

"""Take the sentences out of what somebody typed: no code, logs or quotations, each sentence in its clauses.

Owns: where prose ends and where a thought that stands alone begins. Refuses to judge what is worth keeping.
"""

import re
from collections.abc import Iterator

READ = 20_000
"""Characters of a message; what comes after was pasted and not typed."""

LONGEST = 600
"""Characters of a sentence; what goes on longer was pasted and not said."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1`*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"^\s*(?:[-*+•]\s+(?:\[.\]\s+)?|\d{1,3}[.)]\s+|#{1,6}\s+)")
_PASTED = re.compile(
    r"""(?: > | \| | [$%]\s | >>> | @@ | diff\s--git | [+-]{3}\s
    | Traceback\s | File\s" | at\s\S+\( | \w*(?:Error|Exception):\s | https?://\S+$
    | "[\w.-]+"\s*: | [\w.-]+\s*=\s*[\[{"'] | \d{4}-\d\d-\d\d[T ]\d\d:\d\d
    | \[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL)\b | (?:async\s)?(?:def|function)\s\w+\( | class\s\w+.*[:{]$
    | from\s[\w.]+\simport\s | import\s[\w.{}*,\s]+(?:;|from\s.*|as\s\w+)?$
    | (?:const|let|var)\s\w+\s*= | return\b.*;$ | (?:public|private|protected|static)\s\w+\s\w+ | package\s\w+;?$
    | \#include\b | SELECT\s.*\sFROM\s | INSERT\sINTO\s)""",
    re.VERBOSE,
)
_SYMBOLS = re.compile(r"[{}<>=|\\;()\[\]$&*_^~]")
_ABBREVIATED = re.compile(
    r"(?:\b(?:[A-Z]|Prof|Dr|Mr|Mrs|Ms|St|Sr|Jr|Inc|Ltd|Co|vs|etc|e\.g|i\.e|approx|No|Fig|cf|al|a\.m|p\.m|U\.S))\.$"
)
_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=[\"'“($€£]?[A-Z0-9ÀÖØ-Þ])|(?<=[。！？])")

_OWN = (
    r"(?:I|I['’](?:m|ve|d|ll)|we|we['’](?:re|ve|d|ll)|my|our|the|there|there['’]s|also|please|they['’]re|they|she|he)"
)
_JOIN = re.compile(
    rf"\s+[—–-]{{1,2}}\s+|;\s+|(?:,|(?<=[a-z)]))\s+(?:and|but|so|plus)\s+(?=(?:also\s+|now\s+|then\s+)?{_OWN}\b)",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(?:if|when|whenever|because|unless|although|since|whether|between|either|both)\b", re.IGNORECASE
)
_SUBJECT = re.compile(
    rf"(?:also\s+|now\s+|then\s+)?{_OWN}\b|[A-Z][\w'’-]+\s+(?:is|are|was|has|uses|wants|said)\b", re.IGNORECASE
)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences a person typed, in order; fenced code, logs, quotations and tables are passed over."""
    for paragraph in _paragraphs(_FENCE.sub("\n", text[:READ])):
        start = 0
        for end in _END.finditer(paragraph):
            if not _ABBREVIATED.search(paragraph, max(start, end.start() - 12), end.start()):
                yield from _fitting(paragraph[start : end.start()])
                start = end.end()
        yield from _fitting(paragraph[start:])


def clauses(sentence: str) -> list[str]:
    """Split a sentence where a new thought with a subject of its own begins."""
    if "?" in sentence or _WHOLE.match(sentence):
        return [sentence]
    parts: list[str] = []
    start = 0
    for join in _JOIN.finditer(sentence):
        before, after = sentence[start : join.start()], sentence[join.end() :]
        # A dash may set off an afterthought that says nothing without what stands before it.
        alone = len(before.split()) >= 3 and len(after.split()) >= 3 and bool(_SUBJECT.match(after))
        if alone and before.count("(") == before.count(")") and before.count('"') % 2 == 0:
            parts.append(before)
            start = join.end()
    return [*parts, sentence[start:]]


def _fitting(piece: str) -> Iterator[str]:
    piece = piece.strip()
    if any(map(str.isalpha, piece)) and len(piece) <= LONGEST:
        yield piece


def _paragraphs(text: str) -> Iterator[str]:
    """Join the lines that were only wrapped; a bullet, a heading or an ended line stands alone."""
    open_line = ""
    for raw in text.splitlines():
        line = _MARK.sub("", raw).strip()
        pasted = not line or _is_pasted(line) or raw.startswith(("    ", "\t"))
        if open_line and (pasted or line != raw.strip() or not line[0].islower() or open_line[-1] in ".!?:"):
            yield open_line
            open_line = ""
        if not pasted and line != raw.strip() and raw.lstrip().startswith("#"):
            yield line
        elif not pasted:
            open_line = f"{open_line} {line}" if open_line else line
    if open_line:
        yield open_line


def _is_pasted(line: str) -> bool:
    return bool(_PASTED.match(line)) or len(_SYMBOLS.findall(line)) > max(4, len(line) // 8)

"""The passage of a text that fits a query, short enough for a line or a prompt."""

import re

from ..formats.text_lines import shorten

LIMIT = 160
"""Characters of the summary of a hit."""
_LEAD = re.compile(r"(?:#{1,6}\s+|>\s*|[-*+]\s+)*")
_MARK = re.compile(r"<!-- (?:/?mem:|mem_|hist_)[^\n]*?-->")
"""What mem writes for itself into a page."""


def snippet(text: str, query: str, limit: int = LIMIT) -> tuple[str, int]:
    """Return the sentences that hold most of the query's words, and how many lines into the text they begin.

    At most `limit` characters are returned; a text that fits is returned whole.
    """
    whole = _plain(text)
    if len(whole) <= limit:
        return whole, _first_line(text)
    from ..language.keyword_tokens import query_terms

    stems = [term[: max(4, len(term) - 2)].casefold() for term in query_terms(query)]
    pieces = _sentences(text)
    best, best_score = 0, -1.0
    for number, (_, piece) in enumerate(pieces):
        low = piece.casefold()
        score = sum(stem in low for stem in stems) - number * 0.001
        if score > best_score:
            best, best_score = number, score
    start = pieces[best][0]
    said = _plain(text[start : start + 4 * limit])
    if len(_plain(pieces[best][1])) > limit:
        start, said = _around(text, start, pieces[best][1], stems, limit)
    lead = "…" if _plain(text[:start]) else ""
    return lead + shorten(said, limit - len(lead)), text.count("\n", 0, start)


def _sentences(text: str) -> list[tuple[int, str]]:
    from ..language.sentences import breaks

    found, start = [], 0
    for gap in breaks().finditer(text):
        if text[start : gap.start()].strip():
            found.append((start, text[start : gap.start()]))
        start = gap.end()
    if text[start:].strip():
        found.append((start, text[start:]))
    return found or [(0, text)]


def _around(text: str, start: int, piece: str, stems: list[str], limit: int) -> tuple[int, str]:
    """Begin a long sentence shortly before the first word asked for."""
    low = piece.casefold()
    places = [place for stem in stems if (place := low.find(stem)) >= 0]
    place = max(min(places, default=0) - limit // 3, 0)
    if place:
        space = piece.find(" ", place, place + 40)
        place = space + 1 if space >= 0 else place
    return start + place, _plain(text[start + place : start + place + 4 * limit])


def _first_line(text: str) -> int:
    stripped = text.lstrip()
    return text.count("\n", 0, len(text) - len(stripped))


def _plain(text: str) -> str:
    lines = (_LEAD.sub("", line.strip(), count=1) for line in _MARK.sub("", text).splitlines())
    return " ".join(" ".join(line for line in lines if line).split())

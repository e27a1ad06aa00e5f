"""One line that stands for a text, safe to put in a list."""

import re

_FENCE = re.compile(r"^\s*(```|~~~)")
_COMMENT = re.compile(r"^\s*<!--(?:(?!-->).)*-->\s*$")
_MARKS = re.compile(r"^\s*(#{1,6}\s+|>\s*|[-*+]\s+(\[.\]\s+)?|\d+[.)]\s+)")


def first_line(text: str) -> str:
    """Give the first line that says something, without its markdown marks."""
    for line in text.splitlines():
        plain = _MARKS.sub("", line).strip()
        if plain and not _FENCE.match(line) and not _COMMENT.match(line) and set(plain) - set("-=*_`~<>!"):
            return plain
    return ""


def shorten(text: str, limit: int = 160) -> str:
    """Fold white space and cut at a word so that at most `limit` characters stay, the ellipsis included."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip(" ,;:.–-") + "…"


def summarise(title: str, body: str, limit: int = 160) -> str:
    """Name a memory in one line: its title, and what it says as far as there is room."""
    body = body.removeprefix(f"Title: {title}") if title else body  # an episode says its title again
    said = shorten(body.strip() and " ".join(_plain_lines(body)), limit)
    if not title or said.casefold().startswith(title.casefold()):
        return said or title
    return shorten(f"{title}: {said}" if said else title, limit)


def _plain_lines(text: str) -> list[str]:
    lines = []
    for line in text.splitlines():
        if not (_FENCE.match(line) or _COMMENT.match(line)) and (plain := _MARKS.sub("", line).strip()):
            lines.append(plain)
            if sum(map(len, lines)) > 400:
                break
    return lines

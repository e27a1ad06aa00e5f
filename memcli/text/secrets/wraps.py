"""Follow a secret over the end of its line: wrapped prose, quoted mail, a backslash, adjacent string literals.

Owns what may stand between the pieces; refuses to join a piece that could begin an ordinary line.
"""

from .rules import compiled
from .values import changes, is_fragment, is_hex, is_uuid

_BREAK = r"(?:[ \t]*\\?\r?\n[ \t]*(?:[>#*|/+-]{1,2}[ \t]+)?|[\"'][ \t]*[+.\\]?[ \t]*\n[ \t]*[+.]?[ \t]*[\"'])"
_WORD = r"[A-Za-z0-9_.:%+/=~-]"


def word_start(text: str, at: int) -> int:
    """Return where the word around this place begins."""
    before = compiled(f"{_WORD}*").match(text[max(0, at - 64) : at][::-1])
    return at - len(before[0] if before else "")


def pieces(text: str, start: int) -> list[tuple[int, int]]:
    """Return where the word at this place lies, and its continuations on the next lines."""
    piece = compiled(f"{_WORD}{{1,400}}").match(text, start)
    places = [piece.span()] if piece else []
    while places and len(places) < 6:
        more = compiled(f"{_BREAK}({_WORD}{{4,400}})").match(text, places[-1][1])
        if more is None:
            break
        places.append(more.span(1))
    return places


def is_continued(text: str, end: int) -> bool:
    """Tell whether the next line begins with what could only be the rest of the word that ends here."""
    more = compiled(f"{_BREAK}({_WORD}{{6,400}})").match(text, end)
    return more is not None and changes(more[1]) >= 2


def place_of(places: list[tuple[int, int]], offset: int) -> int:
    """Translate an end inside the joined pieces to the text."""
    for begin, end in places:
        if offset <= end - begin:
            return begin + offset
        offset -= end - begin
    return places[-1][1] if places else 0


def wrapped_end(text: str, start: int, end: int) -> int:
    """Go on over line breaks for as long as the next line begins with what can only be more of the same."""
    digits = is_hex(text[max(start, end - 12) : end])
    for _ in range(12):
        more = compiled(f"{_BREAK}([A-Za-z0-9_.+/-]{{6,400}}={{0,2}})(?![=:])").match(text, end)
        if more is None or is_uuid(more[1]) or is_hex(more[1]) != digits or not is_fragment(more[1]):
            break
        end = more.end()
    return end

"""Find a password that is the answer to a question for one, in the next line or the next message of a conversation.

Owns what asks for a password and what a short answer is. Only one word that no sentence has is taken for the password.
"""

from collections.abc import Iterator

from .rules import compiled
from .said import announced, is_telling
from .values import is_mixed

Place = tuple[int, int, str]  # start, end, rule

_ASKS = r"[^\n?？]{0,80}[?？][ \t*_\"'”»]{0,4}$|[^\n.?]{0,60}:[ \t*]{0,3}$"
_TELL = r"\b(?:tell|give|send|enter|type|share|need|provide|nenn|gib|sag|schick|dime|donne|envoie|dimmi|geef|podaj)"
_NO_ANSWER = (
    r"[ \t-]?(?:manager|hash|store|digest|polic|field|generator|vault|reset|provider|prompt|type|kdf|algorithm|length|"
    r"format|rule|tool|librar|plugin|strength|scheme|verwaltung|tresor)|[ \t](?:verwalte|speicher)"
)
_LABEL = r"[ \t>*_-]{0,6}(?:[^\W\d_][\w ]{0,24}[*_]{0,2}:[*_]{0,2}[ \t]+)?"
_WORDS = 7
_LONGEST = 120


def asks_password(text: str) -> bool:
    """Tell a message that ends by asking for a password."""
    low = text[-400:].rstrip().lower()
    last = low.rpartition("\n")[2]
    for _, end in announced(last):
        if compiled(_NO_ANSWER).match(last, end):
            continue
        if compiled(_ASKS).match(last, end) or compiled(_TELL).search(last[:end]):
            return True
    return False


def answer(text: str) -> tuple[int, int] | None:
    """Find the one word of a short message that may be a password."""
    if len(text) > _LONGEST or len(text.split()) > _WORDS:
        return None
    found = [
        match.span()
        for match in compiled(r"[^\s\"'`“”„«»<>,;]{6,64}").finditer(text)
        if is_mixed(match[0].rstrip(".")) and not any(map(is_telling, match[0].split("-")))
    ]
    if len(found) != 1 or next(announced(text[slice(*found[0])].lower()), None):
        return None
    start, end = found[0]
    return start, end - (text[end - 1] == ".")


def answers(text: str) -> Iterator[Place]:
    """Yield the answers in lines that follow a question for a password."""
    if not compiled(r"[?？][ \t*_]{0,4}\n").search(text):
        return
    start, is_asked = 0, False
    for line in text.split("\n"):
        if line.strip():
            label = compiled(_LABEL).match(line)
            begin = label.end() if label else 0
            place = answer(line[begin:]) if is_asked else None
            if place:
                yield start + begin + place[0], start + begin + place[1], "password"
            is_asked = line.rstrip(" \t\r*_").endswith(("?", "？")) and asks_password(line)
        start += len(line) + 1

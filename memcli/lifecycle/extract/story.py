"""Tell in a paragraph what a session was about: who asked what, which files changed, how it ended.

Owns: the history paragraph of the extractive consolidator. Refuses to judge: what is worth keeping is in statements.
"""

import re
from collections.abc import Sequence

from ...text.session import Event
from ...text.summary import shorten
from .repairs import changed_files
from .retold import USER, bare
from .sentences import sentences
from .statements import ASKS

SHARE = 0.06
SHORTEST, LONGEST = 120, 700
"""Characters of the paragraph: a share of what was said, within bounds."""

_LONG, _SHORT, _FILES = 90, 60, 4
_WANTS = re.compile(
    r"\bI(?:['’]m| am)? (?:want|need|trying|looking|would like|going to need) to\b|\bI['’]d like to\b", re.IGNORECASE
)
_POLITE = re.compile(
    r"(?:please\s+)?(?:(?:can|could|would|will) you\s+)?(?:please\s+)?"
    r"(?:I (?:want|need|would like|['’]d like)\s+(?:you to|to|some|your)?\s*)?"
    r"(?:help(?:\s+me\b)?(?:\s+with|\s+to)?\s+(?!if\b|when\b|me\b))?(?=\w)",
    re.IGNORECASE,
)


def story(events: Sequence[Event]) -> str:
    """Give the paragraph without its time; empty where nobody said anything."""
    said = [event for event in events if event.type == "message" and event.text.strip() and event.role != "system"]
    if not said:
        return ""
    room = int(min(LONGEST, max(SHORTEST, SHARE * sum(len(event.text) for event in said))))
    asks = _asks(said)
    files = changed_files(events)
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    changed = f"Changed {', '.join(files[:_FILES])}{more}." if files else ""
    # Where nothing was asked for or done, the last words of an answer are no outcome.
    ended = _ended(said, events) if asks or files else ""
    told = _told(asks, room - len(ended) if room > 2 * SHORTEST else room * 2 // 3) if asks else _opening(said)
    left = max(room - len(told) - len(changed), SHORTEST // 2)
    return " ".join(part for part in (told, changed, shorten(ended, left)) if part)


def _asks(said: Sequence[Event]) -> dict[str, str]:
    """Give the request of each message that has one, with who made it."""
    asks: dict[str, str] = {}
    for event in said:
        if event.role == "user" and (ask := _ask(event)):
            asks.setdefault(ask, event.name or USER)
    return asks


def _ask(event: Event) -> str:
    for sentence in sentences(event.text):
        if (ASKS.search(sentence) or _WANTS.search(sentence)) and len(sentence.split()) > 1:
            return shorten(_POLITE.sub("", bare(sentence), count=1).rstrip("?. "), _LONG)
    return ""


def _told(asks: dict[str, str], room: int) -> str:
    """Join the requests, the first and the last ones where not all fit."""
    told = f"{' and '.join(list(dict.fromkeys(asks.values()))[:3])} asked: "
    kept = list(asks)
    while len(kept) > 1 and len(told) + sum(len(ask) + 2 for ask in kept) > room:
        del kept[len(kept) // 2]  # how it began and what it came to tell most
    more = f" (and {len(asks) - len(kept)} more)" if len(kept) < len(asks) else ""
    return _closed(f"{told}{'; '.join(kept)}{more}")


def _opening(said: Sequence[Event]) -> str:
    first = next((event for event in said if event.role == "user"), said[0])
    longest = max(list(sentences(first.text))[:3], key=len, default=first.text)
    return _closed(f"{first.name or first.role.capitalize()} said: {shorten(bare(longest), _SHORT)}")


def _closed(text: str) -> str:
    return text if text.endswith(("…", ".", "!", "?")) else f"{text}."


def _ended(said: Sequence[Event], events: Sequence[Event]) -> str:
    last = next((event for event in reversed(events) if event.text.strip()), said[-1])
    if last.type == "tool_result" and last.is_error:
        line = next((line for line in reversed(last.text.splitlines()) if line.strip()), "")
        return f"Ended with an error: {line.strip()}"
    answers = [event for event in said if event.role == "assistant"]
    if not answers:
        return "No answer."
    if said[-1].role == "user" and _ask(said[-1]):
        return "The last request has no answer."
    whole = [sentence for sentence in sentences(answers[-1].text) if not sentence.endswith("?")]
    sober = [sentence for sentence in whole if len(sentence.split()) > 3 and not sentence.endswith("!")]
    telling = next(iter(sober or whole), "")
    return f"Ended: {telling}" if telling else ""

"""Notice when a user says "remember this": what was asked to be kept is kept as it stands, without any model.

Owns: the forms of asking. Refuses questions ("do you remember …?"), tales ("I remember when …"), and requests within
foreign text or in the middle of a long prompt, which are somebody else's.
"""

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..formats.session_event import Event
from ..formats.text_lines import shorten
from ..language.pasted_text import Prompt
from ..language.sentences import QUESTION_MARKS, is_question, sentences

if TYPE_CHECKING:
    from ..beliefs.plan import Draft
    from ..store.workspace import Workspace
    from .batch import Batch

_PLEASE = (
    r"(?>(?:(?:please|also|and|hey|ok|okay|so|oh|now|btw|by the way|can you|could you|would you|will you"
    r"|i want you to|i['’]d like you to)[,!]?\s+)*)"
)
_FOR = r"(?:\s+for (?:me|later|future (?:reference|sessions?|chats?)|next time|the future))?"
_HOLD = (
    r"(?:remember|memori[sz]e|(?:always |please )*keep in mind|bear in mind|note to self"
    r"|(?:make|take) a (?:mental )?note|(?:do not|don['’]t|never) forget(?=\s*[:,]|\s+(?:that|I|we|my|our)\b)"
    r"|(?:note|write|jot) down(?=\s*[:,]|\s+that\b)"
    r"|for (?:the record|your memory|future reference)"
    r"|(?:save|add|store|put|commit|write|record) (?:this |that |it )?(?:to|in|into)"
    r" (?:your |my |the |long[- ]term )*memory)"
)
_SAVE = r"(?:save|keep|note|store|record|remember|memori[sz]e) (?:this|that|it|the following)(?: in mind| down)?"
_TALE = r"(?:this|that|it|when|how|what|where|who|why|me|the time)\b"
_FORMS = (
    # "remember this: …", "save this - …"; "save this file" does not ask for a memory
    rf"{_PLEASE}(?:{_SAVE}|{_HOLD}){_FOR}\s*(?:[:,–—-]+|\.\.\.|…)\s*(?P<said>.+)",
    # "remember that …", "keep in mind that …", "please remember my birthday is …"
    rf"{_PLEASE}{_HOLD}{_FOR}\s+(?:that\s+|to\s+)?(?!{_TALE})(?P<said>.+)",
    r"(?:请|請|麻烦)?(?:记住|記住|记得|覚えておいて|覚えて)[:：,，、]?\s*(?P<said>.+)",
)
_BARE = rf"{_PLEASE}(?:{_SAVE}|{_HOLD}){_FOR}(?:,?\s+please)?\s*[.!?]*"
# What every form has one of: hooks ask with each prompt, and most can be answered before a pattern is compiled.
_HINTS = ("rememb", "memor", "mind", "forget", "save", "keep", "note", "record", "store", "referen", "记", "記", "覚")

_GAP = re.compile(r"(?:[.!;,:–—-]+|\n)\s*")
_TAIL = 120  # characters in which "… – please remember that" must fit
_ASKED = re.compile(r"(?:can|could|would|will) you\b", re.IGNORECASE)
_BREAK = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n")
_STARTS = re.compile(r"(?:^|(?<=[.!?\n])\s*)(?=\S)")
_TURNS = re.compile(
    r"\b(?:can|could|would|will) you\b|\bnow\b|^(?:let['’]s|what|how|why|please|thanks)\b|\?\s*$", re.IGNORECASE
)

LONGEST = 4000
FALLBACK_TO = "fallbackTo"
"""Key of a session's page: up to where the fallback has kept it."""
POINTED_AT = 500
"""Characters kept of the message that a mere "remember that" points at."""
KEPT = "remembered"
"""What a hook says of a message: the id of the memory it made of it when it was said."""


@dataclass(frozen=True)
class RememberRequest:
    """What a message asks to remember: offsets in it, and whether the user said it or only pointed at it."""

    start: int
    stop: int
    source: str = "user"  # observed where most of it is foreign text


def remember_request(text: str) -> RememberRequest | None:
    """Return what a message asks to remember; None where it asks nothing of the kind."""
    if not _hints(text):
        return None
    prompt = Prompt(text)
    whole = [(0, len(text))]
    ends = [(0, prompt.first_stop), (prompt.last_start, len(text))]
    for start, stop in whole if len(text) <= LONGEST else ends:
        if stop - start <= LONGEST and (span := _span(prompt, text[start:stop], start)):
            return _request(prompt, *span)
    return None


def _span(prompt: Prompt, text: str, offset: int) -> tuple[int, int] | None:
    """Return where in the prompt stands what a part of it, which begins at `offset`, asks to remember."""
    for start in (match.end() for match in _STARTS.finditer(text)):
        for form in _forms():
            found = form.match(text[start:])
            if not found:
                continue
            begin = start + found.start("said")
            # What opens a message is the user's, whatever its words look like: foreign text opens with its own mark.
            if prompt.text[: offset + start].strip() and not prompt.may_ask(offset + start, offset + begin):
                break
            foreign = (at - offset for at, _ in prompt.foreign if at - offset > begin)
            end = min([_end(text, begin), *foreign])
            if text[begin:end].endswith(QUESTION_MARKS):  # the mark itself is cut off
                if not _ASKED.match(text[start:]):
                    break
                end -= 1
            return offset + begin, offset + end
    for gap in _GAP.finditer(text, max(0, len(text) - _TAIL)):
        said = text[: gap.start()].rstrip()
        at = offset + gap.end()
        if _bare().fullmatch(text[gap.end() :].strip()) and prompt.may_ask(at, at + 1) and any(map(str.isalpha, said)):
            return None if is_question(said) else (offset, offset + len(said))
    return None


def remembered(text: str) -> str | None:
    """Return what a message asks to remember, word for word; None where it asks nothing of the kind."""
    found = remember_request(text)
    return text[found.start : found.stop] if found else None


def is_bare(text: str) -> bool:
    """Tell whether a message only says "remember that" and means what stands before it."""
    return len(text) <= _TAIL and _hints(text) and bool(_bare().fullmatch(text.strip()))


def _request(prompt: Prompt, start: int, stop: int) -> RememberRequest | None:
    if not any(map(str.isalpha, prompt.text[start:stop])):
        return None
    from .attribution import is_handed_on  # hooks read each prompt, and few ask for anything

    whole = sentences(prompt.text)
    told = zip(whole, is_handed_on(prompt, whole), strict=True)
    shared = [(min(one.stop, stop) - max(one.start, start), is_told) for one, is_told in told]
    foreign = (
        prompt.is_foreign(start, stop)
        or (prompt.is_long and stop > prompt.first_stop and start < prompt.last_start)
        or max((one for one in shared if one[0] > 0), default=(0, False))[1]
    )
    return RememberRequest(start, stop, "observed" if foreign else "user")


def _hints(text: str) -> bool:
    folded = text.lower()
    return any(hint in folded for hint in _HINTS)


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(form, re.IGNORECASE | re.DOTALL) for form in _FORMS)


@cache
def _bare() -> re.Pattern[str]:
    return re.compile(_BARE, re.IGNORECASE)


def _end(text: str, begin: int) -> int:
    """Go on until the speaker turns to something else: a list or a line belongs, a request does not."""
    end = begin
    for piece in _pieces(text, begin):
        if end > begin and (_TURNS.search(text[piece[0] : piece[1]].strip()) or "\n\n" in text[end : piece[0]]):
            break
        end = piece[1]
    return begin + len(text[begin:end].rstrip())


def _pieces(text: str, begin: int) -> list[tuple[int, int]]:
    pieces, start = [], begin
    for gap in _BREAK.finditer(text, begin):
        pieces.append((start, gap.start()))
        start = gap.end()
    return [*pieces, (start, len(text))]


def asked(batch: "Batch") -> "list[Draft]":
    """Return drafts of what the user asked to be remembered, as it stands; no LLM is waited for."""
    from ..language.dates import dated  # hooks that only read a prompt need neither
    from .standing_rules import plain_type

    found: dict[str, Draft] = {}
    before = Event("")
    for event in batch.events:
        if event.type != "message" or not event.text.strip():
            continue
        text = source = message = ""
        if event.role == "user" and is_bare(event.text):
            prompt = Prompt(before.text)
            is_users = before.role == "user" and not prompt.is_long and not prompt.is_foreign(0, len(before.text))
            text, source, message = shorten(before.text, POINTED_AT), "user" if is_users else "observed", before.id
        elif event.role == "user" and not event.extra.get(KEPT) and (request := remember_request(event.text)):
            text, source, message = event.text[request.start : request.stop], request.source, event.id
        if text:
            told = dated(text, batch.day_of(message))
            found.setdefault(text.casefold(), batch.draft(told, type=plain_type(text), source=source, message=message))
        before = event
    return list(found.values())


def request_draft(workspace: "Workspace", session: str, text: str, source: str) -> "tuple[Draft, bool]":
    """Return the draft of what a user just asked to remember, and whether a secret in it was blanked out."""
    from ..beliefs.plan import Draft
    from ..formats.times import day_of
    from ..language.dates import dated
    from ..store.redaction import redactor
    from .batch import paths
    from .standing_rules import plain_type

    noise = workspace.noise(text)
    guard = redactor(workspace, "the prompt")
    text = dated(guard.text(text), day_of(workspace.now, workspace.zone))
    told = {"type": plain_type(text), "source": source, "files": list(paths(text)) or None}
    told["sources"] = [f"session:{session}"] if session else None
    return Draft({key: value for key, value in told.items() if value}, text, noise), bool(guard.found)


def kept_already(batch: "Batch") -> set[str]:
    """Return the texts, in small letters, that hooks or an earlier fallback have kept of a batch."""
    from ..language.dates import dated

    kept = {
        dated(text, batch.day_of(event.id)).casefold()
        for event in batch.events
        if event.extra.get(KEPT) and (text := remembered(event.text))
    }
    done = str(batch.session.metadata.metadata.get(FALLBACK_TO, ""))
    names = [event.id for event in batch.events]
    if done in names:
        earlier = asked(replace(batch, events=batch.events[: names.index(done) + 1]))
        kept |= {draft.body.casefold() for draft in earlier}
    return kept

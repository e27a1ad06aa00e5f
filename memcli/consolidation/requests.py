"""What a user asks to forget of what was said before in a conversation: "forget that", "forget that I like jazz"."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

from .. import data
from ..dataclass import dataclass
from ..formats.session_event import Event
from ..formats.text_lines import shorten
from ..language.foreign_text import Prompt
from ..language.lexicon import stop_words
from ..language.sentences import QUESTION_MARKS, is_question, sentences
from .candidates import Candidate, states_something

if TYPE_CHECKING:
    from ..beliefs.plan import Draft
    from ..store.sessions.sessions import Session
    from ..store.workspace import Workspace
    from .batch import Batch


Place = tuple[str, int]
"""Message of a candidate, and where in it the candidate begins."""

_WITHIN = 20  # messages of the user between a statement and its retraction
_LONGEST = 25  # words of a retraction: whoever takes something back says little else
_ELSE = 3  # words beside "forget that" that do not make it a statement of something else
_MOST = 0.5  # share of a statement that is repeated where it is taken back
_STEM = 4  # letters by which two forms of a word are one
_WORD = re.compile(r"[^\W_]{3,}")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")


def retracted(candidates: Sequence[Candidate]) -> set[Place]:
    """Return which of the candidates the user takes back in a later message, and the sentences that only do that."""
    messages: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.role == "user":
            messages.setdefault(candidate.message, []).append(candidate)
    order = list(messages)
    withdrawn: set[Place] = set()
    for number, message in enumerate(order):
        statements = messages[message]
        if number and sum(len(candidate.text.split()) for candidate in statements) <= _LONGEST:
            names = order[max(0, number - _WITHIN) : number]
            earlier = [
                candidate for name in names for candidate in messages[name] if place_of(candidate) not in withdrawn
            ]
            withdrawn.update(_retracted(earlier, statements))
    return withdrawn


def place_of(candidate: Candidate) -> Place:
    """Return where a candidate stands."""
    return candidate.message, candidate.start


def _retracted(earlier: Sequence[Candidate], retraction: Sequence[Candidate]) -> Iterator[Place]:
    for later in retraction:
        plain = later.text.lower().replace("’", "'")
        for kind in ("that", "named"):
            cue = _cue(kind).search(plain)
            words = _content(f"{plain[: cue.start('cue')]} {plain[cue.end() :]}") if cue else frozenset()
            meant = _repeated(words, earlier)
            if cue and kind == "that" and not meant and len(words) <= _ELSE:
                meant = _last(earlier, retraction)
            if meant:
                yield from (place_of(meant), place_of(later))
                return


def _repeated(words: frozenset[str], earlier: Sequence[Candidate]) -> Candidate | None:
    """Return the statement that is repeated most where something is taken back; the latest of several."""
    shared = {number: len(words & _content(before.text)) for number, before in enumerate(earlier)}
    best = max(shared, key=lambda number: (shared[number], number), default=None)
    if best is None or not shared[best] or shared[best] < _MOST * len(_content(earlier[best].text)):
        return None
    return earlier[best]


def _last(earlier: Sequence[Candidate], retraction: Sequence[Candidate]) -> Candidate | None:
    """Return the last statement of the message before."""
    before = [
        candidate
        for candidate in earlier
        if candidate.position + 2 >= retraction[0].position and states_something(candidate)
    ]
    return before[-1] if before else None


@cache
def _cue(kind: str) -> re.Pattern[str]:
    """Return the pattern of how a clause asks to forget something, behind interjections."""
    lists = data.table("retractions.toml")
    before, cues = (
        "|".join(map(re.escape, sorted(lists[name], key=len, reverse=True))) for name in ("interjections", kind)
    )
    opening = rf"(?:^|[.,;:!?…–—-]\s|[，。！])\s*(?:(?:{before})(?![a-zà-ÿ'])[\s,.!…]*)*"
    return re.compile(rf"{opening}(?P<cue>{cues})(?![a-zà-ÿ])")


@lru_cache(1024)
def _content(text: str) -> frozenset[str]:
    """Return what a text speaks of: words that not any text has, and pairs of unspaced characters."""
    light = stop_words() | set(data.table("retractions.toml")["interjections"])
    plain = text.casefold()
    spaced = {word[:_STEM] for word in _WORD.findall(_WIDE.sub(" ", plain)) if word not in light}
    return frozenset(spaced | {first + second for first, second in pairwise(_WIDE.findall(plain))})


_pattern = partial(data.pattern, "remember_requests.toml")
_FORMS = ("with_colon", "with_that", "chinese", "opening")

_GAP = re.compile(r"(?:[.!;,:–—-]+|\n)\s*")
_TAIL = 120  # characters in which "… – please remember that" must fit
_BREAK = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n")
_STARTS = re.compile(r"(?:^|(?<=[.!?\n])\s*)(?=\S)")

LONGEST = 4000
FALLBACK_TO = "fallbackTo"
"""Key of a session's page: up to where the fallback has kept it."""
POINTED_AT = 500
"""Characters kept of the message that a mere "remember that" points at."""
KEPT = "remembered"
"""Key of a message: the id of the memory a hook made of it when it was said. Key of a session's page: the messages of
which that was made as they were added."""


@dataclass(frozen=True)
class RememberRequest:
    """What a message asks to remember: offsets in it, and whether the user said it or only pointed at it."""

    start: int
    stop: int
    source: str = "user"  # observed where most of it is foreign text


def remember_request(text: str) -> RememberRequest | None:
    """Return what a message asks to remember; None where it asks nothing of the kind."""
    if not may_ask(text):
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
        opens = not prompt.text[: offset + start].strip()
        for form in _FORMS if opens else _FORMS[:-1]:
            request = _pattern(form).match(text[start:])
            if not request:
                continue
            begin = start + request.start("request")
            # What opens a message is the user's, whatever its words look like: foreign text opens with its own mark.
            if not opens and not prompt.may_ask(offset + start, offset + begin):
                break
            foreign = (begin_at - offset for begin_at, _ in prompt.foreign if begin_at - offset > begin)
            end = min([_pieces(text, begin)[0][1] if form == "opening" else _end(text, begin), *foreign])
            if text[begin:end].endswith(QUESTION_MARKS):  # the mark itself is cut off
                if not _pattern("asked").match(text[start:]):
                    break
                end -= 1
            return offset + begin, offset + end
    for gap in _GAP.finditer(text, max(0, len(text) - _TAIL)):
        statement = text[: gap.start()].rstrip()
        begin_at = offset + gap.end()
        if (
            _pattern("bare").fullmatch(text[gap.end() :].strip())
            and prompt.may_ask(begin_at, begin_at + 1)
            and any(map(str.isalpha, statement))
        ):
            return None if is_question(statement) else (offset, offset + len(statement))
    return None


def remembered(text: str) -> str | None:
    """Return what a message asks to remember, word for word; None where it asks nothing of the kind."""
    request = remember_request(text)
    return text[request.start : request.stop] if request else None


def is_bare(text: str) -> bool:
    """Tell whether a message only says "remember that" and means what stands before it."""
    return len(text) <= _TAIL and may_ask(text) and bool(_pattern("bare").fullmatch(text.strip()))


def _request(prompt: Prompt, start: int, stop: int) -> RememberRequest | None:
    if not any(map(str.isalpha, prompt.text[start:stop])):
        return None
    from .attribution import is_handed_on  # hooks read each prompt, and few ask for anything

    whole = sentences(prompt.text)
    flagged = zip(whole, is_handed_on(prompt, whole), strict=True)
    shared = [(min(overlap.stop, stop) - max(overlap.start, start), is_told) for overlap, is_told in flagged]
    foreign = (
        prompt.is_foreign(start, stop)
        or (prompt.is_long and stop > prompt.first_stop and start < prompt.last_start)
        or max((overlap for overlap in shared if overlap[0] > 0), default=(0, False))[1]
    )
    return RememberRequest(start, stop, "observed" if foreign else "user")


def may_ask(text: str) -> bool:
    """Return whether a text has a word that every request has; most texts have none."""
    folded = text.lower()
    return any(hint in folded for hint in data.words("remember_requests.toml", "hints"))


def _end(text: str, begin: int) -> int:
    """Go on until the speaker turns to something else: a list or a line belongs, a request does not."""
    end = begin
    for piece in _pieces(text, begin):
        if end > begin and (
            _pattern("turns").search(text[piece[0] : piece[1]].strip()) or "\n\n" in text[end : piece[0]]
        ):
            break
        end = piece[1]
    return begin + len(text[begin:end].rstrip())


def _pieces(text: str, begin: int) -> list[tuple[int, int]]:
    pieces, start = [], begin
    for gap in _BREAK.finditer(text, begin):
        pieces.append((start, gap.start()))
        start = gap.end()
    return [*pieces, (start, len(text))]


def asking(events: Iterable[Event]) -> list[str]:
    """Return the ids of those messages of the user that ask to remember something, if only what stands before them."""
    return [
        event.id
        for event in events
        if event.type == "message"
        and event.role == "user"
        and (is_bare(event.text) or remember_request(event.text) is not None)
    ]


def asked(batch: "Batch", within: Collection[str] | None = None) -> "list[Draft]":
    """Return drafts of what the user asked to be remembered, as it stands; no LLM is waited for.

    `within` names the messages in which to look; without it all of the batch.
    """
    from ..language.dates import dated  # hooks that only read a prompt need neither
    from .attribution import plain_type

    drafts: dict[str, Draft] = {}
    before = Event("")
    for event in batch.events:
        if event.type != "message" or not event.text.strip():
            continue
        text = source = message = ""
        if event.role != "user" or (within is not None and event.id not in within):
            pass
        elif is_bare(event.text):
            prompt = Prompt(before.text)
            is_users = before.role == "user" and not prompt.is_long and not prompt.is_foreign(0, len(before.text))
            text, source, message = shorten(before.text, POINTED_AT), "user" if is_users else "observed", before.id
        elif not event.extra.get(KEPT) and (request := remember_request(event.text)):
            text, source, message = event.text[request.start : request.stop], request.source, event.id
        if text:
            body = dated(text, batch.day_of(message))
            drafts.setdefault(text.casefold(), batch.draft(body, type=plain_type(text), source=source, message=message))
        before = event
    return list(drafts.values())


def request_draft(workspace: "Workspace", session: str, text: str, source: str) -> "tuple[Draft, bool]":
    """Return the draft of what a user just asked to remember, and whether a secret in it was blanked out."""
    from ..beliefs.plan import Draft
    from ..formats.ids import day_of
    from ..language.dates import dated
    from ..store.redaction import redactor
    from ..store.sessions.reading import project_by_id
    from .attribution import plain_type
    from .batch import paths

    noise = workspace.noise(text)
    guard = redactor(workspace, "the prompt")
    text = dated(guard.text(text), day_of(workspace.now, workspace.zone))
    fields = {"type": plain_type(text), "source": source, "files": list(paths(text)) or None}
    fields["sources"] = [f"session:{session}"] if session else None
    fields["project"] = project_by_id(workspace, session) if session else ""
    return Draft({key: value for key, value in fields.items() if value}, text, noise), bool(guard.found)


def kept_already(batch: "Batch") -> set[str]:
    """Return the texts, in small letters, that hooks or an earlier fallback have kept of a batch."""
    from ..language.dates import dated

    bodies = {
        dated(text, batch.day_of(event.id)).casefold()
        for event in batch.events
        if event.extra.get(KEPT) and (text := remembered(event.text))
    }
    page = batch.session.metadata.metadata
    bodies |= {draft.body.casefold() for draft in asked(batch, kept_at_once(batch.session))}
    done = str(page.get(FALLBACK_TO, ""))
    names = [event.id for event in batch.events]
    if done in names:
        earlier = asked(replace(batch, events=batch.events[: names.index(done) + 1]))
        bodies |= {draft.body.casefold() for draft in earlier}
    return bodies


def kept_at_once(session: "Session") -> list[str]:
    """Return the ids of a session's messages of which it was kept at once what they ask to remember."""
    ids = session.metadata.metadata.get(KEPT)
    return [name for name in ids if isinstance(name, str)] if isinstance(ids, list) else []

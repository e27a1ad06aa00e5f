"""The first stages of a consolidation: from the messages of a session to drafts, a history paragraph and an episode.

Owns: what rules find and what an LLM finds, as one value. Decides nothing about what stands, and writes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..beliefs.drafts import Draft
from ..formats.session_event import Event
from ..formats.text_lines import first_line, shorten
from ..language.dates import dated
from ..language.pasted_text import Prompt
from ..llm.client import Llm
from .candidates import Candidate, candidates
from .drafts import Batch, message_of
from .llm_extractor import by_llm
from .remember_requests import KEPT, is_bare, remember_request, remembered
from .repairs import changed_files, repairs
from .rule_extractor import rule_drafts, statements
from .session_summary import Summary, summary
from .standing_rules import is_standing_rule, plain_type
from .withdrawals import place_of, retracted, taken_back

FALLBACK_TO = "fallbackTo"
"""Key of a session's page: up to where the fallback has kept it."""
POINTED_AT = 500
"""Characters kept of the message that a mere "remember that" points at."""

LONGEST_OUTCOME = 300
"""Characters of an outcome that an LLM, or the subjects of commits, tell."""

_DECIDED = ("constraint", "correction", "preference", "procedure")


@dataclass(frozen=True)
class Extraction:
    """What is worth keeping of a batch."""

    drafts: tuple[Draft, ...]
    history: str  # a paragraph without its time; empty where nothing came of the conversation
    told: Summary
    page: str | None = None  # the whole new text of long-term memory, as an LLM proposes it
    lasting: frozenset[str] = frozenset()  # texts of drafts that the user asked to remember, or that bind from now on


def extract(batch: Batch, llm: Llm | None) -> Extraction:
    """Find what is worth keeping of a batch; LlmError where an LLM is asked and gives no usable reply."""
    said = candidates(batch.events)
    requested = _standing(asked(batch), said)
    if llm is None:
        drafts = _once([*requested, *rule_drafts(batch, statements(batch, said))], batch)
        page, history = None, ""
    else:
        reply = by_llm(llm, batch)
        drafts = _once([*requested, *reply.drafts], batch)
        page, history = reply.page, reply.history
    told = _told(batch, said, drafts)
    if llm is None and told.episode():
        drafts = [draft for draft in drafts if not told.states(draft.body) or draft in requested]
    if history:
        told = replace(told, size=Summary.size, outcome=shorten(history.partition("] ")[2] or history, LONGEST_OUTCOME))
    ours = {draft.body for draft in requested}
    lasting = (
        one.body for one in drafts if one.told["source"] == "user" and (one.body in ours or is_standing_rule(one.body))
    )
    admitted = (replace(draft, confirms=not _is_pasted(batch, draft)) for draft in drafts)
    return Extraction(tuple(admitted), history or told.history(), told, page, frozenset(lasting))


def _is_pasted(batch: Batch, draft: Draft) -> bool:
    """Tell whether a user's message states something that is not the user's own word."""
    message = message_of(draft)
    return bool(message) and draft.told["source"] == "observed" and batch.event(message).role == "user"


def asked(batch: Batch) -> list[Draft]:
    """Return drafts of what the user asked to be remembered, as it stands; no LLM is waited for."""
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


def _standing(requested: Sequence[Draft], said: Sequence[Candidate]) -> list[Draft]:
    """Leave out what the user asked to remember, and to forget in a later message."""
    back = retracted(said)
    gone = [one for one in said if place_of(one) in back]

    def is_gone(draft: Draft) -> bool:
        body = draft.body.casefold().rstrip(".! ")
        return any(one.message == message_of(draft) and body in one.text.casefold() for one in gone)

    return [draft for draft in requested if not is_gone(draft)]


def fallback(batch: Batch) -> Extraction:
    """Return what is kept where an LLM failed: what the user asked for outright."""
    drafts = _once(asked(batch), batch)
    return Extraction(tuple(drafts), "", Summary("", ""), None, frozenset(one.body for one in drafts))


def _told(batch: Batch, said: Sequence[Candidate], drafts: Sequence[Draft]) -> Summary:
    decisions = [one.body for one in drafts if one.told["source"] == "user" and one.told["type"] in _DECIDED]
    seen = [
        one.body
        for one in drafts
        if one.told["source"] == "observed"
        and "fix" not in one.told["tags"]
        and batch.event(message_of(one)).role == "assistant"
    ]
    if batch.session.metadata.channel_type == "git":
        subjects = [first_line(event.text) for event in batch.events]
        return Summary("", shorten(f"Committed: {'; '.join(subjects)}", LONGEST_OUTCOME), tuple(decisions))
    fixes = [one.text for one in repairs(batch.events)]
    places = taken_back(said, {event.id: event.text for event in batch.events})
    back = retracted(said)
    gone = {one.text for place, one in enumerate(said) if place in places or place_of(one) in back}
    return summary(batch.events, said, decisions, seen, changed_files(batch.events), fixes, gone)


def _once(drafts: list[Draft], batch: Batch) -> list[Draft]:
    """Leave out what was found twice, and what hooks or an earlier fallback have kept already."""
    kept = {
        dated(text, batch.day_of(event.id)).casefold()
        for event in batch.events
        if event.extra.get(KEPT) and (text := remembered(event.text))
    }
    kept |= {draft.body.casefold() for draft in _kept_by_fallback(batch)}
    found: dict[str, Draft] = {}
    for draft in drafts:
        if draft.body.casefold() not in kept:
            found.setdefault(draft.body.casefold(), draft)
    return list(found.values())


def _kept_by_fallback(batch: Batch) -> list[Draft]:
    """Return what was asked to be remembered in the messages that an earlier fallback has kept."""
    done = str(batch.session.metadata.metadata.get(FALLBACK_TO, ""))
    names = [event.id for event in batch.events]
    return asked(replace(batch, events=batch.events[: names.index(done) + 1])) if done in names else []

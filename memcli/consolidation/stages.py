"""The first stages of a consolidation: from the messages of a session to drafts, a history paragraph and an episode.

Owns: what rules find and what an LLM finds, as one value. Decides nothing about what stands, and writes nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ..beliefs.plan import Draft
from ..dataclass import dataclass
from ..errors import LlmError
from ..formats.text_lines import first_line, shorten
from ..store.redaction import Redacted, redactor
from .attribution import is_standing_rule
from .batch import Batch, Findings, message_of, safe_text, sound
from .candidates import Candidate, candidates
from .requests import asked, kept_already, place_of, retracted
from .rule_extractor import by_rules
from .session_summary import Summary, summary

if TYPE_CHECKING:
    from ..llm.client import Llm

LONGEST_OUTCOME = 300
"""Characters of an outcome that an LLM, or the subjects of commits, tell."""

_FACTS = 12  # drafts that a summary by rules lists at most
_DECIDED = ("constraint", "correction", "preference", "procedure")


@dataclass(frozen=True)
class Extraction:
    """What is worth keeping of a batch, and by whom it was found."""

    batch: Batch
    drafts: tuple[Draft, ...]
    history: str  # a paragraph without its time; empty where nothing came of the conversation
    told: Summary
    page: str | None = None  # the whole new text of long-term memory, as an LLM proposes it
    lasting: frozenset[str] = frozenset()  # texts of drafts that the user asked to remember, or that bind from now on
    how: str = "rules"  # llm, rules or fallback
    error: str = ""  # why the LLM gave nothing
    redacted: tuple[Redacted, ...] = ()


class Extractor(Protocol):
    """Finds what is worth keeping of a batch: by rules, or by asking an LLM."""

    def __call__(self, batch: Batch, said: Sequence[Candidate], /) -> Findings:
        """Return drafts and, where it tells them, history and page; raise LlmError where no LLM answers usably."""


def extract_or_fall_back(batch: Batch, llm: "Llm | None") -> Extraction:
    """Return what is worth keeping of a batch; where the LLM fails, what the user asked for outright.

    All texts are fit to be written: without secrets, control characters and lines that git would take for its own.
    """
    try:
        found = extract(batch, llm)
    except LlmError as failure:
        found = replace(fallback(batch), how="fallback", error=failure.message)
    guard = redactor(batch.workspace, "what is to be kept")
    return replace(
        found,
        drafts=tuple(sound(found.drafts, guard)),
        history=safe_text(found.history, guard),
        told=found.told.mapped(lambda text: safe_text(text, guard)),
        page=None if found.page is None else safe_text(found.page, guard),
        redacted=batch.redacted + tuple(guard.found),
    )


def extract(batch: Batch, llm: "Llm | None") -> Extraction:
    """Find what is worth keeping of a batch; raise LlmError where an LLM is asked and gives no usable reply."""
    said = candidates(batch.events)
    requested = _still_asked(asked(batch), said)
    extractor: Extractor = by_rules
    if llm is not None:
        from .llm_extractor import by_llm

        extractor = partial(by_llm, llm)
    found = extractor(batch, said)
    every = [*requested, *found.drafts]
    drafts, history = _once(every, batch), found.history
    told = _told(batch, said, every)  # with what was kept at once: it belongs to what came of the conversation
    if llm is None and told.episode():
        drafts = [draft for draft in drafts if not told.states(draft.body) or draft in requested]
    if history:
        told = replace(told, size=Summary.size, outcome=shorten(history.partition("] ")[2] or history, LONGEST_OUTCOME))
    ours = {draft.body for draft in requested}
    lasting = (
        one.body for one in drafts if one.told["source"] == "user" and (one.body in ours or is_standing_rule(one.body))
    )
    admitted = (replace(draft, confirms=not _is_pasted(batch, draft)) for draft in drafts)
    return Extraction(
        batch,
        tuple(admitted),
        history or told.history(),
        told,
        found.page,
        frozenset(lasting),
        how="llm" if llm else "rules",
    )


def _is_pasted(batch: Batch, draft: Draft) -> bool:
    """Tell whether a user's message states something that is not the user's own word."""
    message = message_of(draft)
    return bool(message) and draft.told["source"] == "observed" and batch.event(message).role == "user"


def _still_asked(requested: Sequence[Draft], said: Sequence[Candidate]) -> list[Draft]:
    """Return what the user asked to remember without what they asked to forget in a later message."""
    back = retracted(said)
    gone = [one for one in said if place_of(one) in back]

    def is_gone(draft: Draft) -> bool:
        body = draft.body.casefold().rstrip(".! ")
        return any(one.message == message_of(draft) and body in one.text.casefold() for one in gone)

    return [draft for draft in requested if not is_gone(draft)]


def fallback(batch: Batch) -> Extraction:
    """Return what is kept where an LLM failed: what the user asked for outright."""
    return _requested(batch, _once(asked(batch), batch))


def requests(batch: Batch, messages: Sequence[str]) -> Extraction:
    """Return what some messages of a batch ask to remember and none of it takes back, fit to be written."""
    guard = redactor(batch.workspace, batch.session.path)
    return _requested(batch, sound(_still_asked(asked(batch, messages), candidates(batch.events)), guard))


def _requested(batch: Batch, drafts: Sequence[Draft]) -> Extraction:
    return Extraction(batch, tuple(drafts), "", Summary("", ""), lasting=frozenset(draft.body for draft in drafts))


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
    fixes = [one.text for one in batch.repairs]
    back = retracted(said)
    gone = {one.text for one in said if place_of(one) in back}
    return summary(batch.events, said, decisions, seen, batch.changed_files, fixes, gone)


def _once(drafts: Sequence[Draft], batch: Batch) -> list[Draft]:
    """Leave out what was found twice, and what hooks or an earlier fallback have kept already."""
    kept = kept_already(batch)
    found: dict[str, Draft] = {}
    for draft in drafts:
        if draft.body.casefold() not in kept:
            found.setdefault(draft.body.casefold(), draft)
    return list(found.values())


def told_by_rules(batch: Batch) -> str:
    """Tell a conversation in words that were said: what came of it, and the first of what is worth keeping."""
    if not batch.events:
        return ""
    found = extract(batch, None)
    facts = [f"- {shorten(draft.body, 200)}" for draft in found.drafts[:_FACTS]]
    said = [event.text for event in batch.events if event.type == "message" and event.text.strip()]
    opening = [] if found.history or facts else [shorten(text, 200) for text in (*said[:1], *said[-1:])]
    return "\n".join(part for part in (found.history, *facts, *dict.fromkeys(opening)) if part)

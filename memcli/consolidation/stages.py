"""The first stages of a consolidation: from the messages of a session to drafts, a history paragraph and an episode.

Owns: what rules find and what an LLM finds, as one value. Decides nothing about what stands, and writes nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..beliefs.plan import Draft
from ..dataclass import dataclass
from ..errors import LlmError
from ..formats.text_lines import first_line, shorten
from ..language.sentences import sentences
from ..store.redaction import Redacted, redactor
from .attribution import is_standing_rule
from .batch import Batch, message_of, safe_text, sound
from .candidates import Candidate, candidates
from .requests import asked, kept_already, place_of, retracted
from .rule_extractor import rule_drafts, statements
from .session_summary import Summary, summary

if TYPE_CHECKING:
    from ..llm.client import Llm

LONGEST_OUTCOME = 300
"""Characters of an outcome that an LLM, or the subjects of commits, tell."""

_FACTS = 12  # drafts that a summary by rules lists at most
_DECIDED = ("constraint", "correction", "preference", "procedure")


@dataclass(frozen=True)
class Findings:
    """What is worth keeping of a batch, and by whom it was found."""

    batch: Batch
    drafts: tuple[Draft, ...]
    history: str  # a paragraph without its time; empty where nothing came of the conversation
    summary: Summary
    page: str | None = None  # the whole new text of long-term memory, as an LLM proposes it
    lasting: frozenset[str] = frozenset()  # texts of drafts that the user asked to remember, or that bind from now on
    requested: frozenset[str] = frozenset()  # texts of those that the user asked to remember
    how: str = "rules"  # llm, rules or fallback
    error: str = ""  # why the LLM gave nothing
    redacted: tuple[Redacted, ...] = ()


def extract_or_fall_back(batch: Batch, llm: "Llm | None") -> Findings:
    """Return what is worth keeping of a batch; where the LLM fails, what the user asked for outright.

    All texts are fit to be written: without secrets, control characters and lines that git would take for its own.
    """
    try:
        findings = extract(batch, llm)
    except LlmError as failure:
        findings = replace(fallback(batch), how="fallback", error=failure.message)
    guard = redactor(batch.workspace, "what is to be kept")
    return replace(
        findings,
        drafts=tuple(sound(findings.drafts, guard)),
        history=safe_text(findings.history, guard),
        summary=findings.summary.mapped(lambda text: safe_text(text, guard)),
        page=None if findings.page is None else safe_text(findings.page, guard),
        redacted=batch.redacted + tuple(guard.found),
    )


def extract(batch: Batch, llm: "Llm | None") -> Findings:
    """Find what is worth keeping of a batch; raise LlmError where an LLM is asked and gives no usable reply."""
    spoken = candidates(batch.events)
    requested = _still_asked(asked(batch), spoken)
    history, page = "", None
    if llm is None:
        others = rule_drafts(batch, statements(batch, spoken))
    else:
        from .llm_extractor import by_llm

        others, history, page = by_llm(llm, batch)
    every = [*requested, *others]
    drafts = _once(every, batch)
    summary = _told(batch, spoken, every)  # with what was kept at once, which came of the conversation too
    if llm is None:
        drafts = [draft for draft in drafts if not summary.states(draft.body) or draft in requested]
    if history:
        paragraph = history.partition("] ")[2] or history
        whole = sentences(paragraph)
        ending = whole[-1].text if whole else paragraph  # an LLM is asked to end with how it ended
        summary = replace(summary, size=Summary.size, outcome=shorten(ending, LONGEST_OUTCOME), whole=paragraph)
    ours = {draft.body for draft in requested}
    lasting = (
        draft.body
        for draft in drafts
        if draft.told["source"] == "user" and (draft.body in ours or is_standing_rule(draft.body))
    )
    admitted = (replace(draft, confirms=not _is_pasted(batch, draft)) for draft in drafts)
    return Findings(
        batch,
        tuple(admitted),
        history or summary.history(),
        summary,
        page,
        frozenset(lasting),
        frozenset(ours),
        how="llm" if llm else "rules",
    )


def _is_pasted(batch: Batch, draft: Draft) -> bool:
    """Tell whether a user's message states something that is not the user's own word."""
    message = message_of(draft)
    return bool(message) and draft.told["source"] == "observed" and batch.event(message).role == "user"


def _still_asked(requested: Sequence[Draft], candidates: Sequence[Candidate]) -> list[Draft]:
    """Return what the user asked to remember without what they asked to forget in a later message."""
    back = retracted(candidates)
    withdrawn = [candidate for candidate in candidates if place_of(candidate) in back]

    def is_gone(draft: Draft) -> bool:
        body = draft.body.casefold().rstrip(".! ")
        return any(
            candidate.message == message_of(draft) and body in candidate.text.casefold() for candidate in withdrawn
        )

    return [draft for draft in requested if not is_gone(draft)]


def fallback(batch: Batch) -> Findings:
    """Return what is kept where an LLM failed: what the user asked for outright."""
    return _requested(batch, _once(asked(batch), batch))


def requests(batch: Batch, messages: Sequence[str]) -> Findings:
    """Return what some messages of a batch ask to remember and none of it takes back, fit to be written."""
    guard = redactor(batch.workspace, batch.session.path)
    return _requested(batch, sound(_still_asked(asked(batch, messages), candidates(batch.events)), guard))


def _requested(batch: Batch, drafts: Sequence[Draft]) -> Findings:
    texts = frozenset(draft.body for draft in drafts)
    return Findings(batch, tuple(drafts), "", Summary("", ""), lasting=texts, requested=texts)


def _told(batch: Batch, candidates: Sequence[Candidate], drafts: Sequence[Draft]) -> Summary:
    decisions = [draft.body for draft in drafts if draft.told["source"] == "user" and draft.told["type"] in _DECIDED]
    seen = [
        draft.body
        for draft in drafts
        if draft.told["source"] == "observed"
        and "fix" not in draft.told["tags"]
        and batch.event(message_of(draft)).role == "assistant"
    ]
    if batch.session.metadata.channel_type == "git":
        subjects = [first_line(event.text) for event in batch.events]
        return Summary("", shorten(f"Committed: {'; '.join(subjects)}", LONGEST_OUTCOME), tuple(decisions))
    fixes = [text for text, _ in batch.repairs]
    back = retracted(candidates)
    withdrawn = {draft.text for draft in candidates if place_of(draft) in back}
    return summary(batch.events, candidates, decisions, seen, batch.changed_files, fixes, withdrawn)


def _once(drafts: Sequence[Draft], batch: Batch) -> list[Draft]:
    """Leave out what was found twice, and what hooks or an earlier fallback have kept already."""
    bodies = kept_already(batch)
    drafts_by_text: dict[str, Draft] = {}
    for draft in drafts:
        if draft.body.casefold() not in bodies:
            drafts_by_text.setdefault(draft.body.casefold(), draft)
    return list(drafts_by_text.values())


def told_by_rules(batch: Batch) -> str:
    """Tell a conversation in words that were said: what came of it, and the first of what is worth keeping."""
    if not batch.events:
        return ""
    findings = extract(batch, None)
    facts = [f"- {shorten(draft.body, 200)}" for draft in findings.drafts[:_FACTS]]
    return "\n".join(part for part in (findings.history, *facts) if part)

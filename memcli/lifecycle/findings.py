"""What a conversation comes to, as an LLM or the extractive consolidator sees it; nothing is written here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ..text.session import Event
from .extract import extract
from .llm import Llm
from .prompt import SCHEMA, again, question
from .remembered import remembered
from .reply import Reply, ReplyError, parse_reply

TEMPERATURE = 0.3
MAX_TOKENS = 4096


@dataclass(frozen=True)
class Finding:
    """One memory to be."""

    text: str
    type: str
    source: str
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    message: str = ""  # the id of the event it was taken from


@dataclass(frozen=True)
class Findings:
    """What is worth keeping of a conversation."""

    history: str
    page: str | None = None  # the whole new text of long-term memory
    memories: tuple[Finding, ...] = ()


def by_rules(events: Sequence[Event], now: datetime, zone: tzinfo) -> Findings:
    """Take out what was stated, corrected, decided and mended; deterministic and offline."""
    found = extract(events, now=now, zone=zone)
    memories = tuple(
        Finding(one.text, one.type, one.source, one.files, one.tags, one.message_id) for one in found.facts
    )
    return Findings(found.history, None, memories)


def by_llm(
    llm: Llm, page: str, events: Sequence[Event], zone: tzinfo, *, timeout: float, shrink_to: int = 0
) -> Findings:
    """Ask an LLM, once more if its reply cannot be used; LlmError when that fails too."""
    messages = question(page, events, zone, shrink_to)
    prompts = [message["content"] for message in messages]
    answer = llm.complete(messages, schema=SCHEMA, temperature=TEMPERATURE, max_tokens=MAX_TOKENS, timeout=timeout)
    try:
        reply = _usable(answer.text, answer.finish_reason, prompts)
    except ReplyError as error:
        second = again(messages, answer.text, error.message)
        answer = llm.complete(second, schema=SCHEMA, temperature=TEMPERATURE, max_tokens=MAX_TOKENS, timeout=timeout)
        reply = _usable(answer.text, answer.finish_reason, prompts)
    memories = tuple(Finding(one.content, one.type, one.source, one.files, one.tags) for one in reply.entries)
    asked = asked_to_keep(events)
    said = {one.text.casefold() for one in memories}
    return Findings(
        reply.history_entry,
        reply.memory_update,
        memories + tuple(one for one in asked if one.text.casefold() not in said),
    )


def asked_to_keep(events: Sequence[Event]) -> tuple[Finding, ...]:
    """Give what a user asked to be remembered, as it stands; no LLM is waited for."""
    said = (event for event in events if event.type == "message" and event.role == "user")
    return tuple(Finding(text, "fact", "user", message=event.id) for event in said if (text := remembered(event.text)))


def _usable(text: str, finish_reason: str | None, prompts: Sequence[str]) -> Reply:
    reply = parse_reply(text, finish_reason, prompts)
    if reply.is_empty:
        raise ReplyError("the reply holds nothing of what was asked for")
    return reply

"""What a conversation comes to, as an LLM or the extractive consolidator sees it; nothing is written here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ..text.session import Event
from ..text.summary import shorten
from .extract import asked_fact, day_said, extract
from .extract.story import story
from .llm import Llm
from .prompt import SCHEMA, again, question
from .remembered import is_bare, remembered
from .reply import ReplyError, parse_reply

TEMPERATURE = 0.3
MAX_TOKENS = 4096
KEPT = "remembered"
"""What a hook says of a message: the id of the memory it made of it when it was said."""
LONGEST_POINTED_AT = 500
"""Characters kept of the message that a mere "remember that" points at."""


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
    done = _kept_already(events, zone)
    memories = tuple(
        Finding(one.text, one.type, one.source, one.files, one.tags, one.message_id)
        for one in found.facts
        if one.text.casefold() not in done
    )
    return Findings(found.history, None, memories)


def by_llm(
    llm: Llm, page: str, events: Sequence[Event], zone: tzinfo, *, timeout: float, shrink_to: int = 0
) -> Findings:
    """Ask an LLM, once more if its reply cannot be used; LlmError when that fails too.

    What it says nothing of is told by rules: a conversation it finds nothing in still leaves its line of history.
    """
    messages = question(page, events, zone, shrink_to)
    prompts = [message["content"] for message in messages]
    answer = llm.complete(messages, schema=SCHEMA, temperature=TEMPERATURE, max_tokens=MAX_TOKENS, timeout=timeout)
    try:
        reply = parse_reply(answer.text, answer.finish_reason, prompts)
        if reply.is_empty:
            raise ReplyError("the reply holds nothing of what was asked for")
    except ReplyError as error:
        second = again(messages, answer.text, error.message)
        answer = llm.complete(second, schema=SCHEMA, temperature=TEMPERATURE, max_tokens=MAX_TOKENS, timeout=timeout)
        reply = parse_reply(answer.text, answer.finish_reason, prompts)
    asked = asked_to_keep(events)
    said = {one.text.casefold() for one in asked} | _kept_already(events, zone)
    memories = tuple(
        Finding(one.content, one.type, one.source, one.files, one.tags)
        for one in reply.entries
        if one.content.casefold() not in said
    )
    return Findings(reply.history_entry or story(events), reply.memory_update, asked + memories)


def asked_to_keep(events: Sequence[Event]) -> tuple[Finding, ...]:
    """Give what a user asked to be remembered, as it stands; no LLM is waited for."""
    found = []
    before = Event("")
    for event in events:
        if event.type != "message" or not event.text.strip():
            continue
        if event.role == "user" and is_bare(event.text):
            kept = shorten(before.text, LONGEST_POINTED_AT)
            if kept:
                source = "user" if before.role == "user" else "observed"
                found.append(Finding(kept, "fact", source, message=before.id))
        elif event.role == "user" and not event.extra.get(KEPT) and (text := remembered(event.text)):
            found.append(Finding(text, "fact", "user", message=event.id))
        before = event
    return tuple({one.text.casefold(): one for one in reversed(found)}.values())[::-1]


def _kept_already(events: Sequence[Event], zone: tzinfo) -> set[str]:
    """Give the texts that hooks made memories of when they were said."""
    texts = [(remembered(event.text) or "", event) for event in events if event.extra.get(KEPT)]
    return {one.casefold() for text, event in texts for one in (text, asked_fact(text, day_said(event, zone)).text)}

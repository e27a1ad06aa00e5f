"""Let an LLM say what is worth keeping of a conversation, and believe of its reply what that bears out.

Owns: the request, the one second try, and whose word an entry is. A claim of the user's is one only where the message
it cites is the user's, in their own words; what they pasted, or an assistant said, is `observed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..index.index import Index, ask
from ..index.names import keyed
from ..lifecycle.admission import Draft
from ..lifecycle.llm import Llm
from ..lifecycle.prompt import SCHEMA, again, question
from ..lifecycle.reply import Reply, ReplyEntry, ReplyError, parse_reply
from ..text.foreign_text import Prompt
from ..text.sentences import sentences
from ..text.session import Event
from ..text.words import query_terms
from .attribution import is_handed_on
from .drafts import Batch

TEMPERATURE = 0.3
MAX_TOKENS = 4096
KEYS = 100
"""Keys that are shown at most."""

_SHARED = 0.5  # of an entry's words, which the message has that it cites
_STEM = 5  # letters by which two forms of a word are the same
_TERMS = 2000


@dataclass(frozen=True)
class LlmFindings:
    """What an LLM found: a history paragraph, the whole page, drafts; each may be absent."""

    history: str
    page: str | None
    drafts: tuple[Draft, ...]


def by_llm(llm: Llm, batch: Batch) -> LlmFindings:
    """Ask an LLM, once more if its reply cannot be used; LlmError when that fails too."""
    settings = batch.workspace.settings
    limit = settings["consolidate.page_size"]
    shrink_to = limit if len(batch.page.encode()) > limit else 0
    keys = ask(batch.workspace, _keys)
    messages = question(batch.page, batch.events, batch.workspace.zone, shrink_to, keys)
    reply = _reply(llm, messages, settings["llm.timeout"])
    drafts = tuple(_draft(batch, entry) for entry in reply.entries)
    return LlmFindings(reply.history_entry, reply.memory_update, drafts)


def is_borne_out(text: str, said: str) -> bool:
    """Tell whether a message has at least half of the words of a text that say something."""
    wanted = _stems(text)
    return bool(wanted) and len(wanted & _stems(said)) >= _SHARED * len(wanted)


def own_words(event: Event) -> str:
    """Return what the user wrote in a message in their own words; empty for all else."""
    if event.type != "message" or event.role != "user":
        return ""
    prompt = Prompt(event.text)
    whole = sentences(event.text)
    stop = prompt.first_stop if prompt.is_long else len(event.text)
    return " ".join(
        one.text
        for one, is_told in zip(whole, is_handed_on(prompt, whole), strict=True)
        if not is_told and one.stop <= stop and not prompt.is_foreign(one.start, one.stop)
    )


def _reply(llm: Llm, messages: Sequence[dict[str, str]], timeout: float) -> Reply:
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
    return reply


def _draft(batch: Batch, entry: ReplyEntry) -> Draft:
    """Return a draft of what the LLM proposes; whose word it is, the conversation says."""
    cited = batch.events[entry.message - 1] if 1 <= entry.message <= len(batch.events) else None
    source = entry.source
    if source == "user":
        among = [cited] if cited else batch.events
        borne_out = any(is_borne_out(entry.content, own_words(event)) for event in among)
        source = "user" if borne_out and batch.session.metadata.channel_type != "git" else "observed"
    return batch.draft(
        entry.content,
        type=entry.type,
        source=source,
        message=cited.id if cited else "",
        files=entry.files,
        tags=entry.tags,
        key=entry.key,
    )


def _keys(index: Index) -> list[str]:
    """List the keys in use, of which the LLM is to choose before it makes one."""
    index.refresh()
    return list(dict.fromkeys(key for key, _ in keyed(index)))[:KEYS]


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in query_terms(text, _TERMS) if word != "user"}

"""From words of a conversation to a draft that asks to be let in: made fit to be written, dated, and named.

Owns: where in a conversation a draft comes from and when it was said, and its id, the same each time. Decides nothing
about what stands, and writes nothing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

from ..beliefs.drafts import Draft
from ..formats.ids import blake2b
from ..formats.session_event import Event
from ..formats.times import day_of, parse_time, stamp
from ..store.redaction import Redactor
from ..store.sessions.addresses import session_source
from ..store.sessions.sessions import Session
from ..store.workspace import Workspace
from .llm_reply import clean_text

_NO_EVENT = Event("")
_CONFLICT = re.compile(r"^(?=[<=>|]{7}(?:\s|$))", re.MULTILINE)
_PATH = re.compile(r"(?<![\w/:.@-])(?:\.{0,2}/)?(?:[\w.@-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,6}\b(?!\.\w|/)")
_FILE_ENDINGS = frozenset(
    """py pyi js jsx ts tsx mjs go rs rb java kt swift c h cc cpp hpp cs php lua sh sql md rst txt json jsonl yaml yml
    toml ini cfg conf env lock xml html css scss csv tsv ipynb""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Batch:
    """The messages of a session that are consolidated together; they hold no secrets any more."""

    workspace: Workspace
    session: Session
    events: Sequence[Event]
    page: str = ""  # long-term memory as it is shown to an LLM
    before: Sequence[str] | None = None
    """What is kept of conversations that become memory with this one, in no file yet; the index is in step then."""

    def event(self, message: str) -> Event:
        """Return the event of an id; an empty one where there is none."""
        return self._by_id.get(message, _NO_EVENT)

    @cached_property
    def _by_id(self) -> dict[str, Event]:
        return {event.id: event for event in self.events}

    def draft(
        self,
        text: str,
        *,
        type: str = "fact",
        source: str = "user",
        message: str = "",
        files: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        key: str = "",
    ) -> Draft:
        """Return a draft of words said in a message, or somewhere in the batch."""
        told: Mapping[str, Any] = {
            "type": type,
            "tags": tuple(tags),
            "key": key,
            "source": source,
            "files": paths(text) if files is None else tuple(files),
            "sources": (self.source_of(message),),
            "created_at": self.said_at(self.event(message).timestamp or self.events[-1].timestamp),
        }
        return Draft(told, text, self._noises(text))

    def day_of(self, message: str) -> date | None:
        """Return the day a message was said on, where the user is; None where it states no time."""
        moment = parse_time(self.event(message).timestamp)
        return day_of(moment, self.workspace.zone) if moment else None

    def source_of(self, message: str = "") -> str:
        """Name where in the conversation something was said."""
        first, last = (message, message) if message else (self.events[0].id, self.events[-1].id)
        return session_source(self.session.id, first, last)

    def said_at(self, timestamp: str) -> str | None:
        """Return the moment something was said; None where nobody knows, so that it counts as told now."""
        moment = parse_time(timestamp) if timestamp else None
        return None if moment is None else stamp(min(moment, self.workspace.now))

    def noise(self, what: str) -> bytes:
        """Return the random source of an id, the same for the same words of the same conversation."""
        said = f"{self.session.id}\0{self.events[-1].id}\0{what}"
        return blake2b(said.encode("utf-8", "replace"), digest_size=8).digest()

    def _noises(self, text: str) -> Callable[[int], bytes]:
        return lambda attempt: self.noise(f"{text}\0{attempt}" if attempt else text)


def message_of(draft: Draft) -> str:
    """Return the id of the one message a draft comes from; empty where it comes from several."""
    span = str(draft.told["sources"][0]).rpartition("#")[2]
    return "" if ":" in span else span


def sound(drafts: Sequence[Draft], guard: Redactor) -> list[Draft]:
    """Make drafts fit to be written; those of which nothing is left are dropped."""
    made = []
    for draft in drafts:
        files = tuple(safe_text(one, guard) for one in draft.told["files"])
        tags = tuple(safe_text(" ".join(tag.split()), guard) for tag in draft.told["tags"])
        if text := safe_text(draft.body, guard):
            key = guard.text(str(draft.told["key"]))
            made.append(replace(draft, body=text, told={**draft.told, "files": files, "tags": tags, "key": key}))
    return made


def safe_text(text: str, guard: Redactor) -> str:
    """Return a text without secrets, control characters, or lines that git would take for its own."""
    return guard.text(unconflicted(clean_text(text)))


def unconflicted(text: str) -> str:
    """Indent what git would take for a conflict marker."""
    return _CONFLICT.sub(" ", text)


def paths(text: str) -> tuple[str, ...]:
    """Return the names of the files that a text mentions, each once."""
    named = (match[0] for match in _PATH.finditer(text) if match[0].rpartition(".")[2].lower() in _FILE_ENDINGS)
    return tuple(dict.fromkeys(path for path in named if "/" in path or not path[0].isupper()))

"""Whether a conversation was learnt: ask memory alone the questions that were asked and answered in it.

Owns: what a question is, what of its reply memory must know, and when memory answers it. Conversations, notes and every
record that holds the question itself are left out, so that an answer comes from what was kept. Writes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from memcli.consolidation.candidates import telling_words, words_of
from memcli.formats.frontmatter import document
from memcli.formats.session_event import Event
from memcli.index.filters import Filter
from memcli.index.index import Index, ask
from memcli.language.sentences import READ, is_question, sentences
from memcli.search.index_search import SearchRequest, search_index
from memcli.search.query import ENOUGH_WORDS, telling_count
from memcli.search.results import Hit
from memcli.store import addresses, atomic_files
from memcli.store.workspace import Workspace

FIRST = 3  # hits that may answer
SHARE = 0.5  # of a reply's telling words that stand in them
MOST_WORDS = 6  # telling words of a reply that are looked for, the first ones
_LOOKED_AT = 12  # hits among which those with the question itself are left out
_KINDS = ("entry", "memory", "history")


@dataclass(frozen=True)
class Asked:
    """A question of a conversation, and what its reply told."""

    question: str
    words: tuple[str, ...]  # numbers, names and paths of the reply that do not stand in the question
    message: str  # id of the event that asks


@dataclass(frozen=True)
class ProofAnswer:
    """Whether memory answers a question, and by which memories."""

    asked: Asked
    found: tuple[str, ...]  # of the words
    hits: tuple[str, ...]  # ids, the best first

    @property
    def is_answered(self) -> bool:
        """Tell whether enough of the reply's words stand in the first hits."""
        return len(self.found) >= SHARE * len(self.asked.words)


def asked_in(events: Sequence[Event]) -> list[Asked]:
    """Return the questions of a conversation whose reply told a number, a name or a path, in their order.

    One that has hardly a word of its own ("can you write that?") says nothing that could be asked of memory.
    """
    said = [event for event in events if event.type == "message" and event.text.strip()]
    found: dict[str, Asked] = {}
    for place, event in enumerate(said):
        # All that the other one says until the asker speaks again.
        others = takewhile(partial(_is_by_another, event.role), said[place + 1 :])
        reply = "\n".join(one.text for one in others)
        answers = [
            one.text for one in sentences(reply[:READ]) if not is_question(one.text)
        ]  # who asks back tells nothing
        told = list(dict.fromkeys(word for one in answers for word in telling_words(one)))
        for question in _questions(event.text):
            known = set(words_of(question))
            words = [word for word in told if word.casefold() not in known]
            if words and telling_count(question) >= ENOUGH_WORDS:
                found.setdefault(question.casefold(), Asked(question, tuple(words[:MOST_WORDS]), event.id))
    return list(found.values())


def proof(workspace: Workspace, questions: Sequence[Asked]) -> list[ProofAnswer]:
    """Return an answer for each question, in their order; raise what a search raises where none is possible."""
    return ask(workspace, lambda index: [_answer(index, one) for one in questions])


def _answer(index: Index, asked: Asked) -> ProofAnswer:
    request = SearchRequest(asked.question, _LOOKED_AT, Filter(kinds=_KINDS))
    texts: dict[str, str] = {}
    for hit in search_index(index, request).hits:
        text = _text_of(index.workspace, hit)
        if asked.question.casefold() not in text.casefold():
            texts[hit.id] = text
    first = list(texts)[:FIRST]
    kept = _folded(word for one in first for word in telling_words(f". {texts[one]}"))
    return ProofAnswer(asked, tuple(word for word in asked.words if word.casefold() in kept), tuple(first))


def _text_of(workspace: Workspace, hit: Hit) -> str:
    """Return the whole text of what was found: an entry, a section of MEMORY.md, a record of history."""
    text = atomic_files.read(workspace.path(hit.path)).decode("utf-8", "replace")
    if hit.kind == "entry":
        return f"{hit.title}\n{document.parse(text).body}"
    anchor = hit.id.partition("#")[2] or (hit.id if hit.id.startswith("hist_") else "")
    start, stop = addresses.part(workspace, addresses.Place(hit.path, anchor), text)
    return text[start:stop]


def _folded(words: Iterable[str]) -> set[str]:
    return {word.casefold() for word in words}


def _is_by_another(role: str, event: Event) -> bool:
    return event.role != role


def _questions(text: str) -> Iterator[str]:
    for one in sentences(text[:READ]):
        if is_question(one.text):
            yield one.text.strip()

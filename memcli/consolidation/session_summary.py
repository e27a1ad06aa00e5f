"""What a conversation was about and what came of it, in the words that were said: for history and for an episode.

Owns: which sentence states the goal and which one a result. Refuses to tell of a conversation without a result.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ..text.foreign_text import Prompt
from ..text.sentences import sentences
from ..text.session import Event
from ..text.summary import shorten
from .candidates import Candidate, asks, without_filler

LONGEST, SHARE = 600, 0.1
"""Characters of an episode, and its share of what was said: beyond it one had better read the conversation."""

_SHORT = 600  # characters of a conversation that is no longer than its episode would be
_LEAST = 150  # characters of what is told, however little was said
_HISTORY = 0.6  # of an episode's room, for the paragraph of history
_DECISIONS, _FILES = 3, 4
_RESULT = re.compile(
    r"\b(?:done|fix(?:ed|es)|works? (?:again|now)|pass(?:ed|es)|green|merged|released|shipped|deployed|tagged|set|added"
    r"|changed|created|removed|moved|updated|installed|booked|sent|decided|resolved|solved|ready|finished|switched"
    r"|renewed|restored|caused?|because|erledigt|fertig|läuft|behoben|gelöst|ursache|hecho|listo|arreglado|fait|corrigé|résolu)\b",
    re.IGNORECASE,
)
_INTENDS = re.compile(
    r"\b(?:i['’]?ll|i['’]?d|i will|let me|should|could|would|might|going to|ich (?:werde|schaue))\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_][\w-]{3,}")


@dataclass(frozen=True)
class Summary:
    """What is told of a conversation; an empty outcome where it came to nothing."""

    goal: str
    outcome: str
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    size: int = LONGEST * 100  # characters of the conversation

    @property
    def room(self) -> int:
        """Return the characters that an episode of it may have."""
        return int(min(LONGEST, max(_LEAST, SHARE * self.size)))

    @property
    def title(self) -> str:
        """Name the conversation by what it was about and what came of it."""
        goal = shorten(self.goal.rstrip(".?! "), 50)
        return f"{goal} → {shorten(self.outcome, 60)}" if goal else shorten(self.outcome, 100)

    @property
    def _asked(self) -> str:
        """Return the label of what a user came with: what they only told of is no goal."""
        return "Goal" if asks(self.goal, "user") else "Topic"

    def mapped(self, change: Callable[[str], str]) -> "Summary":
        """Return the same with every text changed."""
        decisions, files, fixes = (tuple(map(change, texts)) for texts in (self.decisions, self.files, self.fixes))
        return Summary(change(self.goal), change(self.outcome), decisions, files, fixes, self.size)

    def episode(self) -> str:
        """Return the text of an episode, labels only where there is something to say; empty where none is worth it."""
        if not self.outcome or self.size < _SHORT:
            return ""
        pieces = [
            f"{self._asked}: {shorten(self.goal, self.room // 3)}" if self.goal else "",
            f"Outcome: {shorten(self.outcome, self.room // 2)}",
            "Decisions:" if self.decisions else "",
            *(f"- {shorten(one, max(80, self.room // 5))}" for one in self.decisions[:_DECISIONS]),
            f"Fixed: {shorten('; '.join(self.fixes), self.room // 4)}" if self.fixes else "",
            f"Files: {_listed(self.files)}" if self.files else "",
        ]
        text = ""
        for piece in filter(None, pieces):
            if len(text) + len(piece) < self.room:
                text += f"\n{piece}" if text else piece
        return text.removesuffix("\nDecisions:")

    def history(self) -> str:
        """Return a paragraph for history, without its time; empty where nothing came of it."""
        room = int(_HISTORY * self.room)
        came = self.outcome or "; ".join(self.decisions[:2])
        if not came:
            return ""
        # Two people said the two: without a sign between them they read as one person's words.
        is_told_twice = came.startswith(self.goal)
        parts = [shorten(came, room) if is_told_twice else f"{shorten(self.goal, room // 2)} → {shorten(came, room)}"]
        if self.files:
            parts.append(f"Changed {_listed(self.files)}.")
        return shorten(" ".join(_closed(part) for part in parts if part), room)


def summary(
    events: Sequence[Event],
    said: Sequence[Candidate],
    decisions: Sequence[str],
    causes: Sequence[str],
    files: Sequence[str],
    fixes: Sequence[str],
) -> Summary:
    """Tell a conversation: `decisions` are what its user settled, `causes` what was found out and what mended it."""
    goal = _goal(events)
    asked = _words(goal)
    found = max(causes, key=lambda one: len(asked & _words(one)), default="")
    outcome = found or next(iter(fixes), "") or _result(said, asked)
    size = sum(len(event.text) for event in events if event.type == "message")
    return Summary(goal, outcome, tuple(decisions), tuple(files), tuple(fixes), size)


def _goal(events: Sequence[Event]) -> str:
    """Return what the user came with: the fullest of the first sentences they said in their own words."""
    for event in events:
        if event.type != "message" or event.role != "user":
            continue
        prompt = Prompt(event.text)
        own = [one.text for one in sentences(event.text) if not prompt.is_foreign(one.start, one.stop)]
        own = [text for text in own if not text.endswith(":")]
        told = [text for one in own[:3] if (text := without_filler(one))]
        if told and len(best := max(told, key=lambda text: len(text.split()))) and len(best.split()) > 2:
            return best
    return ""


def _result(found: Sequence[Candidate], asked: Collection[str]) -> str:
    """Return the sentence that states a result, nearest to what was asked for, the later of two."""

    def nearness(one: Candidate) -> tuple[int, int]:
        return len(_words(one.text).intersection(asked)), one.position

    stated = [one for one in found if one.role == "assistant" and _states_a_result(one.text)]
    return max(stated, key=nearness).text if stated else ""


def _words(text: str) -> set[str]:
    return set(map(str.casefold, _WORD.findall(text)))


def _states_a_result(text: str) -> bool:
    return len(text.split()) >= 4 and bool(_RESULT.search(text)) and not _INTENDS.search(text)


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    return f"{', '.join(files[:_FILES])}{more}"


def _closed(text: str) -> str:
    return text if text.endswith(("…", ".", "!", "?", "。")) else f"{text}."

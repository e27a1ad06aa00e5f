"""What a conversation was about and what came of it, in the words that were said: for history and for an episode.

Owns: which sentence states the goal and which one a result. Refuses to tell of a conversation without a result.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..text.foreign_text import Prompt
from ..text.sentences import sentences
from ..text.session import Event
from ..text.summary import shorten
from .candidates import Candidate, without_filler

LONGEST = 600
"""Characters of an episode."""

_GOAL, _RESULT_ROOM, _DECISION, _HISTORY = 120, 200, 100, 320
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

    @property
    def title(self) -> str:
        """Name the conversation by what it was about and what came of it."""
        goal = shorten(self.goal.rstrip(".?! "), 50)
        return f"{goal}: {shorten(self.outcome, 60)}" if goal else shorten(self.outcome, 100)

    def mapped(self, change: Callable[[str], str]) -> "Summary":
        """Return the same with every text changed."""
        lists = (tuple(map(change, texts)) for texts in (self.decisions, self.files, self.fixes))
        return Summary(change(self.goal), change(self.outcome), *lists)

    def episode(self) -> str:
        """Return the text of an episode; labels only where there is something to say."""
        pieces = [
            f"Goal: {self.goal}" if self.goal else "",
            f"Outcome: {self.outcome}",
            "Decisions:" if self.decisions else "",
            *(f"- {shorten(one, _DECISION)}" for one in self.decisions[:_DECISIONS]),
            f"Fixed: {shorten('; '.join(self.fixes), _DECISION)}" if self.fixes else "",
            f"Files: {_listed(self.files)}" if self.files else "",
        ]
        text = ""
        for piece in filter(None, pieces):
            if len(text) + len(piece) < LONGEST:
                text += f"\n{piece}" if text else piece
        return text

    def history(self) -> str:
        """Return a paragraph for history, without its time; empty where nothing came of it."""
        parts = [shorten(self.goal, _GOAL), shorten(self.outcome, _RESULT_ROOM)]
        if not self.outcome:
            parts.append("; ".join(shorten(one, _DECISION) for one in self.decisions[:2]))
            parts = parts[1:] if parts[0] and parts[-1].startswith(parts[0]) else parts
        if not self.outcome and not self.decisions:
            return ""
        if self.files:
            parts.append(f"Changed {_listed(self.files)}.")
        return shorten(" ".join(_closed(part) for part in parts if part), _HISTORY)


def summary(
    events: Sequence[Event],
    said: Sequence[Candidate],
    decisions: Sequence[str],
    causes: Sequence[str],
    files: Sequence[str],
    fixes: Sequence[str],
) -> Summary:
    """Tell a conversation: `decisions` and `causes` are what is kept of what its user said and of what was seen."""
    goal = _goal(events)
    outcome = _outcome(said, goal) or next(iter(causes), "") or next(iter(fixes), "")
    return Summary(shorten(goal, _GOAL), shorten(outcome, _RESULT_ROOM), tuple(decisions), tuple(files), tuple(fixes))


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


def _outcome(found: Sequence[Candidate], goal: str) -> str:
    """Return the sentence that states a result, nearest to the goal, the later of two."""
    asked = set(map(str.casefold, _WORD.findall(goal)))

    def nearness(one: Candidate) -> tuple[int, int]:
        return len(asked & set(map(str.casefold, _WORD.findall(one.text)))), one.position

    stated = [one for one in found if one.role == "assistant" and _states_a_result(one.text)]
    return max(stated, key=nearness).text if stated else ""


def _states_a_result(text: str) -> bool:
    return len(text.split()) >= 4 and bool(_RESULT.search(text)) and not _INTENDS.search(text)


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    return f"{', '.join(files[:_FILES])}{more}"


def _closed(text: str) -> str:
    return text if text.endswith(("…", ".", "!", "?", "。")) else f"{text}."

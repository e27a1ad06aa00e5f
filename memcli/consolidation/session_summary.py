"""What a conversation was about and what came of it, in the words that were said: for history and for an episode.

Owns: which sentence states the goal and which one a result. Invents neither: what is not known has no line.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial

from .. import data
from ..dataclass import dataclass
from ..formats.session_event import Event
from ..formats.text_lines import shorten
from ..language.foreign_text import Prompt
from ..language.lexicon import stop_words
from ..language.sentences import is_question, sentences
from .candidates import Candidate, leans_back, without_filler
from .repairs import listed_files

LONGEST, SHARE = 600, 0.1
"""Characters of what an episode tells, and its share of what was said: beyond it one better reads the conversation."""

_LEAST = 150  # characters of what is told, however little was said
_GOAL = 120  # characters of a goal beside its outcome
_NAMED = 3  # words of a request that says what it is about
_OUTCOME = 320  # characters of an outcome; a longer sentence is none, since it would have to be cut
_ROOM = 190  # characters up to which an outcome takes in the sentences beside it
_DECISIONS, _QUESTIONS = 3, 2
# How a user tells what ended the trouble: "Upgrading webpack fixed it."
_FIXED = re.compile(
    r"^(?!.*\b(?:not|never|none|nothing|no|nobody|nicht|kein\w*|pas|didn['’]?t|hasn['’]?t)\b)(?!.*\b(?:i|we|you)\s+(?:have\s+)?\w*ed\b)"
    r".*?(?:\b(?:fixed|solved|resolved|cured) (?:it|that|this)\b|\b(?:did|does) the trick\b"
    r"|\bw(?:as|ere) (?:the cause|to blame)\b|\bhat (?:es|das) (?:behoben|gelöst)\b|\bhat geholfen\b"
    r"|\ba (?:réglé|résolu)\b|\blo (?:arregló|solucionó)\b)",
    re.IGNORECASE,
)
_INTENDS = re.compile(
    r"\b(?:i['’]?ll|i['’]?d|i will|let me|should|could|would|might|(?:am|are|is|['’]?m|['’]?re) going to"
    r"|ich (?:werde|schaue)|probably|presumably|perhaps|maybe|vermutlich|vielleicht|wahrscheinlich)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(r"(?:please\s+)?(?!(?:let|excuse|tell me about)\b)[^\W\d_]+ (?:me|us)\b|.*[?]$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_][\w-]{3,}")
_outcome_words = partial(data.pattern, "statements.toml", "result")


@dataclass(frozen=True)
class Summary:
    """What is told of a conversation; an empty outcome where nobody said what came of it."""

    goal: str
    outcome: str
    decisions: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()  # left open
    files: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    size: int = LONGEST * 100  # characters of the conversation
    whole: str = ""  # what an LLM told of it

    @property
    def room(self) -> int:
        """Return the characters that an episode of it may have."""
        return int(min(LONGEST, max(_LEAST, SHARE * self.size)))

    @property
    def title(self) -> str:
        """Return a title that says what it was about and what came of it."""
        goal = shorten(self.goal.rstrip(".?! "), 50 if self.outcome else 100)
        return f"{goal} → {shorten(self.outcome, 60)}" if goal and self.outcome else goal or shorten(self.outcome, 100)

    def mapped(self, change: Callable[[str], str]) -> "Summary":
        """Return the same with every text changed."""
        texts = (self.decisions, self.questions, self.files, self.fixes)
        decisions, questions, files, fixes = (tuple(map(change, each)) for each in texts)
        goal, outcome, whole = map(change, (self.goal, self.outcome, self.whole))
        return Summary(goal, outcome, decisions, questions, files, fixes, self.size, whole)

    def states(self, text: str) -> bool:
        """Tell whether the episode's topic is a text, whole: the problem that was solved is no memory of its own."""
        return bool(self.outcome) and text == self.goal and len(text) <= _GOAL

    def episode(self, day: str, source: str, tags: Sequence[str]) -> str:
        """Return the text of an episode in the form of memory files, with the lines of which anything is known."""
        lines = [
            f"Date: {day}",
            f"Topic: {shorten(self.goal, _GOAL)}" if self.goal and not self.outcome.startswith(self.goal) else "",
            f"Outcome: {shorten(self.outcome, _OUTCOME)}" if self.outcome else "",
            f"Refs: {', '.join(filter(None, (source, listed_files(self.files))))}",
            f"Tags: {', '.join(tags)}" if tags else "",
        ]
        pieces = [
            f"Summary: {self.whole}" if self.whole not in ("", self.outcome) else "",
            *_listed("Decisions", [shorten(text, max(80, self.room // 5)) for text in self.decisions[:_DECISIONS]]),
            *_listed("Open questions", [shorten(text, _GOAL) for text in self.questions[-_QUESTIONS:]]),
            f"Fixed: {shorten('; '.join(self.fixes), self.room // 4)}" if self.fixes else "",
        ]
        room = self.room + len(self.whole)
        fitting: list[str] = []
        for piece in filter(None, pieces):
            room -= len(piece)
            if room > 0:
                fitting.append(piece)
        return "\n".join([*filter(None, lines), *(["", *fitting] if fitting else [])])

    def history(self) -> str:
        """Return a paragraph for history, without its time: what the user came with, and what came of it."""
        came = _result_in(self.outcome, _words(self.goal), 0) or shorten(self.outcome, _OUTCOME)
        came = came or shorten("; ".join(self.decisions[:1]), _GOAL)
        goal = "" if came.startswith(self.goal) else shorten(self.goal, _GOAL)
        # Two people said the two: without a sign between them they read as one person's words.
        record = " → ".join(filter(None, (goal, came)))
        return f"{_closed(record)} Changed {listed_files(self.files)}." if record and self.files else _closed(record)


def _listed(label: str, items: Sequence[str]) -> list[str]:
    return ["\n".join([f"{label}:", *(f"- {item}" for item in items)])] if items else []


def summary(
    events: Sequence[Event],
    candidates: Sequence[Candidate],
    decisions: Sequence[str],
    seen: Sequence[str],
    files: Sequence[str],
    fixes: Sequence[str],
    withdrawn: Collection[str] = (),
) -> Summary:
    """Tell a conversation: `decisions` are what its user settled, `seen` what was found out."""
    goal = _goal(events, withdrawn)
    asked = _words(goal)
    results = filter(None, (_result_in(event, asked) for event in seen))
    outcome = max(results, key=lambda result: (_states_a_result(result), len(asked & _words(result))), default="")
    outcome = _fixed(candidates, withdrawn) or outcome or next(iter(fixes), "") or _result(candidates, asked)
    size = sum(len(event.text) for event in events if event.type == "message")
    questions = tuple(_open(events))
    return Summary(goal, outcome, tuple(decisions), questions, tuple(files), tuple(fixes), size)


def _open(events: Sequence[Event]) -> list[str]:
    """Return what the last message asks: nobody answered it."""
    last = next((event for event in reversed(events) if event.type == "message" and event.text.strip()), Event(""))
    texts = [sentence.text for sentence in sentences(last.text)]
    return [text for text in texts if is_question(text) and len(text.split()) >= _NAMED]


def _goal(events: Sequence[Event], withdrawn: Collection[str]) -> str:
    """Return what the user came with: of the first sentences they said in their own words what asks, or the fullest.

    Where they said nothing of the kind it is the first thing they said, and where they said nothing, that anybody did.
    """
    messages = [event for event in events if event.type == "message" and any(map(str.isalnum, event.text))]
    first = ""
    for event in [event for event in messages if event.role == "user"] or messages:
        prompt = Prompt(event.text)
        own = [
            sentence.text for sentence in sentences(event.text) if not prompt.is_foreign(sentence.start, sentence.stop)
        ]
        own = [text for text in own if not text.endswith(":") and text not in withdrawn]
        texts = [text for sentence in own[:3] if (text := without_filler(sentence)) and text not in withdrawn]
        texts = [text for text in texts if len(text.split()) > 2]
        if texts:
            return max(texts, key=lambda text: (_asks_for_something(text), len(text.split())))
        first = first or next(iter(own), "")
    return shorten(first, _GOAL)


def _asks_for_something(text: str) -> bool:
    """Tell whether a request or question says what it is about: "can you look at why?" does not."""
    return bool(_ORDER.match(text)) and len(_words(text)) >= _NAMED


def _result_in(lesson: str, asked: Collection[str], room: int = _ROOM) -> str:
    """Return the sentence of a lesson that states a result, or tells most of what was asked, with those beside it."""
    whole = sentences(lesson)
    telling = [
        number for number, sentence in enumerate(whole) if _tells(sentence.text) and len(sentence.text) <= _OUTCOME
    ]
    worth = {
        number: (bool(_outcome_words().search(whole[number].text)), len(_words(whole[number].text) & set(asked)))
        for number in telling
    }
    best = max(telling, key=lambda number: (worth[number], len(whole[number].text)), default=None)
    if best is None or not any(worth[best]):
        return ""
    start, stop = best, best
    while start and (leans_back(whole[start].text) or whole[stop].stop - whole[start - 1].start <= room):
        start -= 1
    while stop + 1 < len(whole) and whole[stop + 1].stop - whole[start].start <= room:
        stop += 1
    return lesson[whole[start].start : whole[stop].stop]


def _result(candidates: Sequence[Candidate], asked: Collection[str]) -> str:
    """Return the sentence that states a result of what was asked for, the nearest to it, the later of two."""

    def nearness(candidate: Candidate) -> tuple[int, int]:
        return len(_words(candidate.text).intersection(asked)), candidate.position

    stated = [
        candidate for candidate in candidates if candidate.role == "assistant" and _states_a_result(candidate.text)
    ]
    stated = [candidate for candidate in stated if len(candidate.text) <= _OUTCOME and nearness(candidate)[0]]
    return max(stated, key=nearness).text if stated else ""


def _fixed(candidates: Sequence[Candidate], withdrawn: Collection[str]) -> str:
    """Return what a user says ended the trouble, the last of it: what was proposed before may have been turned down."""
    later = (
        candidate
        for candidate in reversed(candidates)
        if candidate.role == "user" and candidate.position and not candidate.is_told
    )
    texts = (candidate.text for candidate in later if candidate.text not in withdrawn)
    return next((text for text in texts if _FIXED.search(text) and _states_a_result(text)), "")


def _words(text: str) -> set[str]:
    return set(map(str.casefold, _WORD.findall(text))) - stop_words()


def _states_a_result(text: str) -> bool:
    return _tells(text) and bool(_outcome_words().search(text))


def _tells(text: str) -> bool:
    """Tell whether a sentence is long enough to state something, and no question, plan or suggestion."""
    return len(text.split()) >= 4 and not _INTENDS.search(text) and not is_question(text)


def _closed(text: str) -> str:
    return text if text.endswith(("…", ".", "!", "?", "。")) else f"{text}."

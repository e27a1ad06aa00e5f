"""Consolidate a session without a model: what the user stated, what fixed errors, and a paragraph of history.

Owns: which facts a session yields, each told so that it stands alone. It is deterministic and works offline, and
refuses to guess: only what users say of themselves and their work, and what commands showed, becomes a fact.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from ...text.session import Event
from ...text.summary import shorten
from ...text.times import parse_time
from ..remembered import is_bare, remembered_span
from .said_dates import dated
from .sentences import READ, clauses, sentences

MOST = 100
"""Facts of one session; the strongest stay."""

Similar = Callable[[str, str], float]

_SURE = 100  # points of what was asked to be remembered
_PASTED = 3000  # characters of prose; of a longer message only what binds is taken for the user's own
_LONG = 70  # characters of a sentence that is looked at clause by clause
_REPEATS = 0.8  # share of words two facts have in common
_SAME = 0.92  # similarity, where a measure is given
_QUESTION = 60  # characters of a question put before an answer that says nothing without it
_PATH = re.compile(r"(?<![\w/:.@-])(?:\.{0,2}/)?(?:[\w.@-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,6}\b(?!\.\w|/)")
_FILE_ENDINGS = frozenset(
    """py pyi js jsx ts tsx mjs cjs go rs rb java kt kts swift c h cc cpp hpp cs php pl lua sh bash zsh fish sql md mdx
    rst txt json jsonl yaml yml toml ini cfg conf env lock xml html css scss csv tsv ipynb tf proto gradle vue svelte
    dart ex exs hs ml r jl log pdf png svg docx xlsx""".split()  # noqa: SIM905
)
_PRODUCTS = re.compile(r"(?:[A-Z][a-z]+|node|next|vue|nuxt|express|three|d3|chart)\.js$", re.IGNORECASE)
# An answer without a subject of its own: "About 150M parameters", "Primarily Swahili and Yoruba".
_FRAGMENT = re.compile(
    r"(?!(?:I|we|my|our|the|it|they|he|she|this|that|there|yes|no|not|you|please|let)\b)(?:\S+\s+){0,7}\S+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z0-9][\w.+#%-]*", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
_DENIES = re.compile(r"\b(?:not|no|never|without|cannot)\b|n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class Fact:
    """One memory a session yields."""

    text: str
    type: str = "fact"
    source: str = "user"
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    message_id: str = ""  # of the event it was taken from


@dataclass(frozen=True)
class Extract:
    """What is worth keeping of a session."""

    history: str  # one paragraph, "[YYYY-MM-DD HH:MM] …"; empty where nobody said anything
    facts: tuple[Fact, ...] = ()


def extract(events: Sequence[Event], *, now: datetime, zone: tzinfo = UTC, similar: Similar | None = None) -> Extract:
    """Consolidate the events of a session.

    `now` stands for the time where no event tells it, `zone` is where the user's days begin, and `similar`, from 0 to
    1, tells more repetitions apart than words alone can.
    """
    from .repairs import repairs
    from .story import story

    found: list[tuple[int, Fact]] = []
    asked = ""
    before = Event("")
    for event in events:
        if event.type != "message" or not event.text.strip():
            continue
        if event.role == "user":
            found += _stated(event, asked, before, day_said(event, zone))
        asked = _question(event.text) if event.role == "assistant" else ""
        before = event
    found += [
        (_SURE - 1, Fact(repair.text, "lesson", "observed", paths(repair.text), ("fix",), repair.event_id))
        for repair in repairs(events)
    ]
    told = story(events)
    moment = next((parse_time(event.timestamp) for event in events if event.timestamp), None) or now
    history = f"[{moment.astimezone(zone):%Y-%m-%d %H:%M}] {told}" if told else ""
    return Extract(history, _chosen(found, similar))


def paths(text: str) -> tuple[str, ...]:
    """Name the files a text mentions, each once."""
    named = (match[0] for match in _PATH.finditer(text) if match[0].rpartition(".")[2].lower() in _FILE_ENDINGS)
    return tuple(dict.fromkeys(path for path in named if not _PRODUCTS.match(path)))


def asked_fact(text: str, said: date | None, message_id: str = "") -> Fact:
    """Make a fact of what a user asked to be remembered on a day: as it was said, with dates for "tomorrow"."""
    from .retold import bare
    from .statements import judge

    kind = judge(bare(text[:500]))
    return Fact(dated(text, said), kind.type if kind else "fact", "user", paths(text), (), message_id)


def _stated(event: Event, asked: str, before: Event, said: date | None) -> list[tuple[int, Fact]]:
    """Give what one message of a user states, and how sure its worth is."""
    # Their patterns take 20 ms to compile, which whoever only wants to know what was asked last need not pay.
    from .retold import USER, bare, retold, single
    from .statements import corrects, judge

    found: list[tuple[int, Fact]] = []
    text, who = event.text[:READ], event.name or USER
    if is_bare(text):
        kept, source = shorten(before.text, 500), "user" if before.role == "user" else "observed"
        return [(_SURE, Fact(kept, "fact", source, paths(kept), (), before.id))] if kept else []
    if span := remembered_span(text):
        found.append((_SURE, asked_fact(text[span[0] : span[1]], said, event.id)))
        text = f"{text[: span[0]]}\n{text[span[1] :]}"
    whole = list(sentences(text))
    lasting = sum(map(len, whole)) > _PASTED
    for index, sentence in enumerate(whole):
        for clause in clauses(sentence) if len(sentence) > _LONG else [sentence]:
            against = corrects(clause, answers=bool(asked) and index == 0)
            for thought in single(bare(clause)):
                answers = bool(asked) and index == 0 and bool(_FRAGMENT.fullmatch(thought))
                if claim := judge(thought, corrects=against, answers=answers, lasting=lasting):
                    told = dated(f"{asked} {retold(thought, who)}" if answers else retold(thought, who), said)
                    found.append((claim.points, Fact(told, claim.type, "user", paths(told), claim.tags, event.id)))
    return found


def _question(text: str) -> str:
    """Give the short question a message ends with."""
    last = text.rstrip().rpartition("\n")[2]
    question = list(sentences(last))[-1:] if last.endswith("?") else []
    return question[0] if question and len(question[0]) <= _QUESTION else ""


def _chosen(found: Sequence[tuple[int, Fact]], similar: Similar | None) -> tuple[Fact, ...]:
    """Keep the strongest, each once, in the order they were said; what was asked to be remembered is never left out."""
    once = list({_words(fact.text): (points, fact) for points, fact in reversed(found)}.values())[::-1]
    kept = [index for index, (points, _) in enumerate(once) if points >= _SURE]
    others = sorted(set(range(len(once))) - set(kept), key=lambda index: (-once[index][0], index))
    for index in others[: 5 * MOST]:
        text = once[index][1].text
        if len(kept) < MOST and not any(_repeats(text, once[other][1].text, similar) for other in kept):
            kept.append(index)
    return tuple(once[index][1] for index in sorted(kept))


def _words(text: str) -> frozenset[str]:
    return frozenset(map(str.lower, _WORD.findall(text)))


def _repeats(text: str, other: str, similar: Similar | None) -> bool:
    """Say whether two texts state the same; another number or a denial makes another statement."""
    if set(_NUMBERS.findall(text)) != set(_NUMBERS.findall(other)) or bool(_DENIES.search(text)) != bool(
        _DENIES.search(other)
    ):
        return False
    words, others = _words(text), _words(other)
    if len(words & others) >= _REPEATS * len(words | others):
        return True
    return similar is not None and similar(text, other) >= _SAME


def day_said(event: Event, zone: tzinfo) -> date | None:
    """Give the day of an event where the user is; None where it states no time."""
    moment = parse_time(event.timestamp) if event.timestamp else None
    return moment.astimezone(zone).date() if moment else None

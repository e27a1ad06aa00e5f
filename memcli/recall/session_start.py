"""The start of a session: what an agent is told before it is asked anything, the same bytes while nothing changed.

The page of long-term memory whole, then lines: rules, where the last session stood, the days, an index of what is
known here. An order never depends on the clock or on what was looked at, only on what the files say.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from math import ceil, exp
from typing import Annotated, Any

from ..dataclass import dataclass, field
from ..formats.entry import REPOSITORY
from ..formats.entry_fields import EPISODIC, RULE_TYPES
from ..formats.ids import day_of, past
from ..formats.text_lines import STOPS, FileProblem, FileProblems, blanked, first_line, normalized, shorten
from ..index.filters import SORTS, Filter
from ..index.index import Index, ask
from ..index.lookups import (
    count_of_active,
    digests_of,
    forgotten_texts,
    shared_tails,
    telling_files,
)
from ..results import Id, Result, number_of
from ..store.workspace import Workspace
from .pack import (
    CHARACTERS_A_TOKEN,
    LONG_TERM,
    NOTES,
    RECENT,
    Memory,
    always_on_memories,
    cut,
    day_memories,
    end_of,
    framed,
    mark,
    one_line,
    section_text,
    shown_mark,
)

BESIDE = 6000
"""Characters of all that is told beside the pages of long-term memory."""
PAGE, RULES, LAST, DAYS, RAW, INDEX, REST = "page", "rules", "last session", "days", "notes", "index", "rest"
_HEADINGS = {
    RULES: "## Rules and Preferences",
    LAST: "## Where It Stood",
    DAYS: "## Days",
    INDEX: "## Known Here",
}
_RULES_ROOM, _RAW_ROOM = 2400, 3000  # characters at most of rules, and of notes as they stand
_MOST_DAYS, _NEWEST = 6, 300  # lines on days, and of what has no mark the newest that may be told
_LEAST = 1500  # characters for all beside the pages, however long they are
_DAY, _SUBJECT = 200, 80  # characters of the line of a day, and of each subject in it
_FADING = 30.0  # days after which the date of a memory counts for 37 % of what it did
_EXCHANGE = re.compile(r"(?:\[?\d\d:\d\d\]?\s*)?(?:User|Assistant):")
_MOMENT = re.compile(r"^\[[^\]\n]{1,20}\]\s*")


@dataclass(frozen=True)
class StartLine:
    """One line of the start of a session, or a part of a page."""

    section: Annotated[str, "page, rules, last session, days, notes, index or rest"]
    text: Annotated[str, "what is told, as it stands in the start"]
    why: Annotated[str, "why it is told, and why there"]
    id: Id = ""
    marks: tuple[str, ...] = ()  # of the memories it tells whole, as a session notes what it was shown

    @property
    def tokens(self) -> Annotated[int, "about how many tokens it costs"]:
        """Return the tokens it costs, at 3.5 characters each."""
        return ceil(len(self.text) / CHARACTERS_A_TOKEN)


@dataclass(frozen=True)
class SessionStart(Result):
    """What an agent is told at the start of a session."""

    lines: Annotated[tuple[StartLine, ...], "what is told, in order"] = ()
    problems: FileProblems = ()
    notices: tuple[str, ...] = ()  # what went wrong
    is_late: bool = False  # threads may be at work still: leave the process without waiting for them

    @property
    def text(self) -> Annotated[str, "the start as the agent gets it; empty where nothing is known"]:
        """Return the text that an agent gets."""
        parts = []
        for section, group in groupby(self.lines, key=lambda line: line.section):
            listed = "\n".join(line.text for line in group)
            parts.append(f"{_HEADINGS[section]}\n{listed}\n" if section in _HEADINGS else f"{listed}\n")
        return framed("\n".join(parts)) if parts else ""

    @property
    def tokens(self) -> Annotated[int, "about how many tokens it costs"]:
        """Return the tokens of the whole text, at 3.5 characters each."""
        return ceil(len(self.text) / CHARACTERS_A_TOKEN)


@dataclass(frozen=True)
class Surrounding:
    """What the start tells besides the files: found by who asks for it."""

    place: str = ""  # name of the project's folder; entries of the user's workspace for another one are left out
    known: Sequence["KnownEntries"] = ()  # of each workspace
    last_session: Sequence[str] = ()  # lines on the session before
    closing: Sequence[str] = ()  # lines for the end, such as what waits for a yes
    tells_days: bool = True


@dataclass(frozen=True)
class KnownEntries:
    """The active entries of a workspace that may be told, as rows of the index, and the texts forgotten there."""

    rows: list[dict[str, Any]]  # those that may be told
    others: int  # active entries besides
    forgotten: frozenset[str]


@dataclass
class _Room:
    """How many characters are left."""

    left: int
    lines: list[StartLine] = field(default_factory=list)

    def take(self, lines: Iterable[StartLine], most: int) -> int:
        """Take lines until one has no room, at most so many characters of them; return how many were taken."""
        most = min(most, self.left)
        count = len(self.lines)
        for line in lines:
            size = len(line.text) + 1
            if size > most:
                break
            self.lines.append(line)
            most -= size
            self.left -= size
        return len(self.lines) - count


def session_start(workspaces: Sequence[Workspace], around: Surrounding | None, characters: int) -> SessionStart:
    """Return what is told at the start of a session in at most so many characters.

    With None for what is `around` the pages alone are told, and no index is asked: for an answer that is late.
    """
    problems: list[FileProblem] = []
    pages: list[StartLine] = []
    left = characters - len(framed("")) - sum(len(heading) + 2 for heading in _HEADINGS.values())
    for workspace in workspaces:
        memories, unreadable = always_on_memories(workspace, (LONG_TERM,), is_in_step=around is None)
        problems += unreadable
        page_lines = _page_lines(memories, min(workspace.settings["memory.budget"], max(0, left - _LEAST)))
        left -= sum(len(line.text) + 1 for line in page_lines)
        pages += page_lines
    room = _Room(min(BESIDE, left))
    if around is None:
        return SessionStart(tuple(pages), tuple(problems))
    room.left -= sum(len(line) + 1 for line in around.closing) + 60  # the closing lines are told whatever happens
    entries = [entry for known in around.known for entry in known.rows if _concerns(entry, around.place)]
    forgotten = frozenset().union(*(known.forgotten for known in around.known))
    page = "\n".join(line.text for line in pages)
    page_texts = {normalized(line.lstrip("-*+ ")) for line in page.splitlines()}
    entries = [entry for entry in entries if not _is_on_page(entry, page, page_texts)]
    rules = [entry for entry in entries if entry["type"] in RULE_TYPES]
    facts = [entry for entry in entries if entry["type"] not in (*RULE_TYPES, *EPISODIC)]
    taken = room.take(
        (_entry_line(entry, around.place, RULES) for entry in sorted(rules, key=_rule_order)), _RULES_ROOM
    )
    last = (StartLine(LAST, one_line(f"- {text}"), "the last session here") for text in around.last_session)
    room.take(last, room.left)
    for workspace in workspaces if around.tells_days else ():
        days, unreadable = _day_lines(workspace, forgotten)
        problems += unreadable
        room.take(days, room.left)
    newest = max((entry["updated_at"] for entry in facts), default="")
    facts.sort(key=lambda entry: (-_worth(entry, around.place, newest), entry["id"]))
    taken += room.take((_entry_line(entry, around.place, INDEX) for entry in facts), room.left)
    closing = [StartLine(REST, one_line(text), "waits for a person") for text in around.closing]
    if left_out := sum(known.others for known in around.known) + len(rules) + len(facts) - taken:
        closing.append(StartLine(REST, f"{left_out:,} more: mem search, mem ls", "what had no room"))
    return SessionStart((*pages, *room.lines, *closing), tuple(dict.fromkeys(problems)))


def _page_lines(memories: Sequence[Memory], budget: int) -> list[StartLine]:
    """Return the sections of a page as one text, those past the budget (bytes) named."""
    chosen: list[Memory] = []
    for memory in memories:
        size = len(memory.text.encode("utf-8", "replace")) + 2
        if size > budget:
            shortened = cut(memory, budget)
            chosen += [shortened] if shortened else []
            break
        budget -= size
        chosen.append(memory)
    marks = tuple(mark(memory) for memory in chosen if memory.is_whole)
    text = section_text(LONG_TERM, chosen).rstrip("\n")
    lines = [StartLine(PAGE, text, "always told", chosen[0].path, marks)] if chosen else []
    whole = sum(memory.is_whole for memory in chosen)
    if left_out := [memory.id for memory in memories[whole:]]:
        names = ", ".join(map(one_line, left_out[:5])) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
        lines.append(StartLine(PAGE, f"Left out for length: {names}.", "past memory.budget"))
    return lines


def known_entries(workspace: Workspace) -> KnownEntries:
    """Return the active entries of a workspace that a session may begin with."""

    def question(index: Index) -> KnownEntries:
        index.refresh()
        index.reach_others()
        rows = index.list_entries(Filter(managed=True), SORTS["updated"], among=telling_files(index, (), _NEWEST))
        tails = shared_tails(index)
        digests = digests_of(index, [row["path"] for row in rows if row["type"] in RULE_TYPES])
        for row in rows:
            row["digest"] = digests.get(row["path"], "")[:12]
            row["name"] = row["id"][-6:] if row["id"].startswith("mem_") and row["id"][-6:] not in tails else row["id"]
            row["scope"] = workspace.scope
            row["source"] = row["source"] if workspace.is_trusted else REPOSITORY
        ids = {row["id"] for row in rows}
        theirs = [
            {
                **file.entry,
                "path": file.path,
                "name": file.entry["id"],
                "scope": workspace.scope,
                "digest": file.digest[:12],
                "elsewhere": True,
            }
            for file in index.their_files(limit=_NEWEST)
            if file.entry["id"] not in ids
        ]
        others = count_of_active(index, EPISODIC) - sum(row["type"] not in EPISODIC for row in rows)
        rows = [row for row in (*rows, *theirs) if not past(row["expires_at"], workspace.now)]
        return KnownEntries(rows, others, forgotten_texts(index))

    return ask(workspace, question)


def _concerns(entry: Mapping[str, Any], place: str) -> bool:
    """Return whether an entry concerns this place: in another workspace what is of no project, or of this one."""
    return entry["scope"] == "project" or not entry["project"] or _is_of(entry, place)


def _is_of(entry: Mapping[str, Any], place: str) -> bool:
    return bool(entry["project"]) and entry["project"].casefold() == place.casefold()


def _is_on_page(entry: Mapping[str, Any], page: str, page_lines: Collection[str]) -> bool:
    """Tell whether a page that is told says an entry: as its promoted line, which names it, or in the same words."""
    return f"({entry['id']})" in page or normalized(entry["summary"]) in page_lines


def _rule_order(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """Order rules: pinned ones, the user's, the most confirmed, the newest."""
    return (
        not entry["pinned"],
        -(entry["trust"] or 0),
        -(entry["strength"] or 1),
        [-ord(letter) for letter in entry["updated_at"]],
        entry["id"],
    )


def _worth(entry: Mapping[str, Any], place: str, newest: str) -> float:
    """Return how early a memory stands in the index: its marks, and how old it is beside the newest one."""
    marks = 4 * bool(entry["pinned"]) + 2 * bool(entry["key"]) + 2 * _is_of(entry, place)
    confirmed = min((entry["strength"] or 1) - 1, 3)
    return float(marks) + confirmed + 3 * exp(-_days_between(entry["updated_at"], newest) / _FADING)


def _days_between(earlier: str, later: str) -> float:
    try:
        span = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    except (ValueError, TypeError):
        return 365.0
    return max(0.0, span / timedelta(days=1))


def _entry_line(entry: Mapping[str, Any], place: str, section: str) -> StartLine:
    marks = [
        "pinned" if entry["pinned"] else "",
        f"key {entry['key']}" if entry["key"] else "",
        "of this project" if _is_of(entry, place) else "",
        f"confirmed {entry['strength']} times" if (entry["strength"] or 1) > 1 else "",
        f"of {entry['updated_at'][:10]}",
    ]
    scope = "" if entry["scope"] == "project" else f", {entry['scope']}"
    scope += f", {REPOSITORY}" if entry["source"] == REPOSITORY else ""
    scope += ", not on this machine yet" if entry.get("elsewhere") else ""
    disputed = f", disputed by {', '.join(entry['conflicts_with'])}" if entry["conflicts_with"] else ""
    text = one_line(f"- [{entry['type']}] {entry['summary']} ({entry['name']}{scope}{disputed})")
    is_whole = section == RULES and not entry["summary"].endswith("…")
    shown = (shown_mark(entry["scope"], entry["id"], entry["digest"]),) if is_whole else ()
    return StartLine(section, text, ", ".join(filter(None, marks)), entry["id"], shown)


def _day_lines(workspace: Workspace, forgotten: Collection[str]) -> tuple[list[StartLine], list[FileProblem]]:
    """Return what the days say as the settings ask for it: a line each, the notes and records whole, or nothing."""
    form = workspace.settings["context.notes"] or ("raw" if workspace.layout.tells_notes else "digest")
    if form == "off":
        return [], []
    if form == "raw":
        memories, problems = always_on_memories(workspace, (NOTES, RECENT))
        return _raw_days(memories, forgotten), problems
    lines: list[StartLine] = []
    problems = []
    today = day_of(workspace.now, workspace.zone)
    for back in range(workspace.settings["recall.days"] + 1):
        day = today - timedelta(days=back)
        if text := _subjects(day_memories(workspace, [day], problems), forgotten):
            origin = "" if workspace.is_trusted else f" ({REPOSITORY})"
            lines.append(StartLine(DAYS, one_line(f"- {day}: {text}{origin}"), "a day of late"))
    return lines[:_MOST_DAYS], problems


def _raw_days(memories: Sequence[Memory], forgotten: Collection[str]) -> list[StartLine]:
    """Return notes and records as they stand, the latest ones where there is no room for all."""
    order = sorted(range(len(memories)), key=lambda number: (memories[number].date, number), reverse=True)
    left = _RAW_ROOM
    chosen: dict[int, Memory] = {}
    for number in order:
        memory = memories[number]
        whole = memory if len(memory.text) + 2 <= left else end_of(memory, left)
        if whole is None:
            break
        chosen[number] = whole
        left -= len(whole.text) + 2
        if not whole.is_whole:
            break
    inside = [chosen[number] for number in sorted(chosen)]
    lines = []
    for name in (NOTES, RECENT):
        text = section_text(name, [memory for memory in inside if memory.section == name]).rstrip("\n")
        if text:
            lines.append(StartLine(RAW, blanked(text, forgotten), "notes as they stand"))
    if len(inside) < len(memories):
        count = len(memories) - len(inside)
        lines.append(
            StartLine(
                RAW, f"Left out for length: {number_of(count, 'earlier line')} of notes and history.", "had no room"
            )
        )
    return lines


def _subjects(memories: Sequence[Memory], forgotten: Collection[str]) -> str:
    """Return what a day was about: its records of history, and notes that are no exchange with an agent."""
    texts = [memory.text for memory in memories if memory.kind == "history"]
    texts += [
        line
        for memory in memories
        if memory.kind == "note"
        for line in memory.text.splitlines()
        if not _EXCHANGE.search(line)
    ]
    subjects = dict.fromkeys(
        shorten(_MOMENT.sub("", first_line(blanked(text, forgotten))).rstrip(STOPS), _SUBJECT) for text in texts
    )
    return shorten("; ".join(filter(None, subjects)), _DAY)

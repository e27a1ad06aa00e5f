"""Find rules and lessons in the index as it is, for the moments that must not wait.

The action and failure hooks run before and after every tool call of an agent. So this module and
its callers import no dataclasses, pathlib, YAML, numpy or model, and never refresh the index. In
return they show a memory only if its file is still as the index noted it.
"""

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..formats.text import HIDDEN_MARK
from ..index.settled import is_settled
from .match import stem
from .render import (
    Budget,
    get_new_sentences,
    render_context,
    render_memory,
    split_sentences,
)
from .shown import Shown

TYPES = ("constraint", "correction", "lesson", "procedure", "preference")
# A word that more rules contain does not tell which of them is meant.
MOST_MATCHES = 20
MOST_CUES = 60
ID_LENGTH = 6  # of the part of an id that commands print
BUSY_SECONDS = 0.1
FRONTMATTER = re.compile(r"---[ \t]*\r?\n.*?\n---[ \t]*\r?(?:\n|\Z)", re.DOTALL)
ALL = "*"
# An untrusted clone must not give orders at the moment of an action.
RULES = (
    f"entries.type in ({', '.join(map(repr, TYPES))}) and status = 'active'"
    " and source <> 'repository' and (:project = '*' or project in ('', :project))"
    " and (expires_at = '' or expires_at > :now)"
)


class Place(NamedTuple):
    """A workspace, as far as these moments need it."""

    root: str
    database: str  # the index
    project: str  # whose rules count, next to those of no project; ALL in a project's workspace
    purged: str  # the file with the ids of purged memories


class Memory(NamedTuple):
    """A rule, lesson or correction."""

    path: str
    id: str
    type: str
    updated_at: str
    files: tuple[str, ...]
    text: str
    noted: int
    stat: list[int]


class Lookup:
    """The open index of one workspace."""

    def __init__(self, place: Place, now: str) -> None:
        self.place = place
        self.values: dict[str, Any] = {"project": place.project, "now": now}
        self.connection = sqlite3.connect(place.database, timeout=BUSY_SECONDS)
        self.connection.execute("pragma query_only = 1")

    def find(self, phrase: str) -> list[int]:
        """Return the rules that contain a phrase, as their files in the index, the latest first."""
        quoted = phrase.replace('"', " ")
        rows = self.connection.execute(
            "select chunks.file from words join chunks on chunk = words.rowid"
            f" join entries using(file) where words match :phrase and active and {RULES}"
            " order by words.rowid desc limit :limit",
            {**self.values, "phrase": f'"{quoted}"', "limit": MOST_MATCHES},
        )
        return list(dict.fromkeys(row[0] for row in rows))

    def find_by_files(self, names: Iterable[str]) -> list[int]:
        """Return the rules whose `files` contain one of the names, or a pattern."""
        # The column has JSON, which spells other letters than ASCII as \uXXXX.
        parts = [json.dumps(name)[1:-1] for name in names] + ["*"]
        values = {f"part{number}": part for number, part in enumerate(parts)}
        contains = " or ".join(f"instr(files, :{name})" for name in values)
        rows = self.connection.execute(
            f"select file from entries where files <> '[]' and ({contains}) and {RULES}"
            " order by file desc limit :limit",
            {**self.values, **values, "limit": MOST_MATCHES},
        )
        return [row[0] for row in rows]

    def find_all(self, cues: Iterable[str]) -> tuple[dict[int, None], dict[str, int]]:
        """Return the rules that contain one of the cues, and how many rules contain each."""
        files: dict[int, None] = {}
        counts: dict[str, int] = {}
        for cue in list(dict.fromkeys(cues))[:MOST_CUES]:
            found = self.find(cue) if any(map(str.isalnum, cue)) else []
            counts[stem(cue)] = len(found)
            files.update(dict.fromkeys(found))
        return files, counts

    def load(self, file: int) -> Memory:
        row = self.connection.execute(
            "select path, id, type, updated_at, entries.files, title, text, noted, mtime, ctime,"
            " size, inode from entries join files using(file) join texts using(file)"
            " where file = ?",
            (file,),
        ).fetchone()
        path, entry_id, type_, updated_at, files, title, text, noted, *stat = row
        body = FRONTMATTER.sub("", text, count=1).strip() or title
        names = tuple(json.loads(files))
        return Memory(path, entry_id, type_, updated_at, names, body, noted, stat)

    def is_current(self, memory: Memory) -> bool:
        """Return whether a memory's file has not changed since the index read it."""
        try:
            status = os.lstat(f"{self.place.root}/{memory.path}")
        except OSError:
            return False
        stat = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        return [*stat] == memory.stat and is_settled(stat, memory.noted)

    def is_purged(self, memory: Memory) -> bool:
        """Return whether a memory was purged. A merge can bring this before the index knows."""
        try:
            with open(self.place.purged, encoding="utf-8", errors="replace") as file:
                return any(line.split()[:1] == [memory.id] for line in file)
        except OSError:
            return False


class Rated(NamedTuple):
    """A memory that fits, and how well."""

    rating: float
    memory: Memory
    note: str = ""


def build_context(
    places: Sequence[Place],
    rate: Callable[[Lookup], Iterable[Rated]],
    shown: Shown,
    *,
    about: str,
    tokens: int,
    now: str,
) -> str:
    """Return the memories that `rate` yields as text for the agent, the best first.

    Leaves out what the session has seen, what was purged, and files that changed since.
    """
    chosen: list[Rated] = []
    for place in places:
        if not os.path.isfile(place.database):
            continue
        lookup = Lookup(place, now)
        for item in list(rate(lookup)):
            memory = item.memory
            is_hidden = HIDDEN_MARK in memory.text or lookup.is_purged(memory)
            if not is_hidden and memory.id not in shown.ids and lookup.is_current(memory):
                chosen.append(item)
    chosen.sort(key=lambda item: -item.rating)
    return render_memories(about, chosen, shown, tokens)


def render_memories(about: str, chosen: Iterable[Rated], shown: Shown, tokens: int) -> str:
    """Return memories in whole sentences, and record what is shown."""
    budget = Budget(tokens)
    budget.take(render_context(["-"], about))
    lines: list[str] = []
    for _, memory, note in chosen:
        attributes = {"type": memory.type, "note": note}
        name = memory.id[-ID_LENGTH:] if memory.id.startswith("mem_") else memory.path
        sentences = split_sentences(get_new_sentences(memory.text, shown))
        # A long memory is shown up to the last sentence that fits.
        while sentences:
            line = render_memory(name, attributes, " ".join(sentences))
            if budget.take(line):
                lines.append(line)
                shown.add("\n".join(sentences), memory.id)
                break
            sentences.pop()
    return render_context(lines, about)

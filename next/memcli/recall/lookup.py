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
from contextlib import suppress
from typing import Any, NamedTuple

from ..formats.text import HIDDEN_MARK, WORD
from ..index.settled import is_settled
from .render import (
    Budget,
    get_new_sentences,
    render_context,
    render_memory,
    split_sentences,
)
from .shown import Shown

TYPES = ("constraint", "correction", "lesson", "procedure", "preference")
MOST_RULES, MOST_WORDS = 40, 100
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
        self.values: dict[str, Any] = {"project": place.project, "now": now, "limit": MOST_RULES}
        self.connection = sqlite3.connect(place.database, timeout=BUSY_SECONDS)
        self.connection.execute("pragma query_only = 1")

    def find(self, texts: Iterable[str], names: Iterable[str] = ()) -> list[Memory]:
        """Return the rules with the rarest words of texts, and those with `files` of a name."""
        quoted = dict.fromkeys(f'"{word}"' for text in texts for word in WORD.findall(text))
        # The column has JSON, which spells other letters than ASCII as \uXXXX.
        parts = {f"part{number}": json.dumps(name)[1:-1] for number, name in enumerate(names)}
        contains = " or ".join(
            f"instr(entries.files, {name})" for name in ("'*'", *map(":{}".format, parts))
        )
        rows = self.connection.execute(
            "select path, id, type, updated_at, entries.files, title, text, noted, mtime, ctime,"
            " size, inode from entries join files using(file) join texts using(file)"
            f" where {RULES} and (file in (select chunks.file from words"
            " join chunks on chunk = words.rowid join entries using(file)"
            f" where words match :words and active and {RULES} order by rank limit :limit)"
            f" or (entries.files <> '[]' and ({contains})))",
            {**self.values, **parts, "words": " OR ".join(['""', *quoted][:MOST_WORDS])},
        )
        memories = []
        for path, entry_id, type_, updated_at, files, title, text, noted, *stat in rows:
            body = FRONTMATTER.sub("", text, count=1).strip() or title
            names = tuple(json.loads(files))
            memories.append(Memory(path, entry_id, type_, updated_at, names, body, noted, stat))
        return memories

    def is_current(self, memory: Memory) -> bool:
        """Return whether a memory was not purged, and its file is as the index read it."""
        try:
            status = os.lstat(f"{self.place.root}/{memory.path}")
            stat = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
            is_same = [*stat] == memory.stat and is_settled(stat, memory.noted)
        except OSError:
            return False
        # A merge can bring the id of a purged memory before the index knows.
        with suppress(OSError), open(self.place.purged, encoding="utf-8", errors="replace") as file:
            return is_same and not any(line.split()[:1] == [memory.id] for line in file)
        return is_same


def build_context(
    places: Sequence[Place],
    rate: Callable[[Lookup], Iterable[tuple[float, Memory, str]]],
    shown: Shown,
    *,
    about: str,
    tokens: int,
    now: str,
) -> str:
    """Return the memories that fit as text for the agent, the best first.

    `rate` yields memories with their ratings and notes. Leaves out what the session has seen,
    what was purged, and files that changed since the index read them.
    """
    chosen: list[tuple[float, Memory, str]] = []
    for place in places:
        lookup = Lookup(place, now) if os.path.isfile(place.database) else None
        for item in rate(lookup) if lookup else ():
            is_hidden = HIDDEN_MARK in item[1].text or item[1].id in shown.ids
            if lookup and not is_hidden and lookup.is_current(item[1]):
                chosen.append(item)
    budget = Budget(tokens)
    budget.take(render_context(["-"], about))
    lines: list[str] = []
    for _, memory, note in sorted(chosen, key=lambda item: -item[0]):
        name = memory.id[-ID_LENGTH:] if memory.id.startswith("mem_") else memory.path
        sentences = split_sentences(get_new_sentences(memory.text, shown))
        # A long memory is shown up to the last sentence that fits.
        while sentences:
            attributes = {"type": memory.type, "note": note}
            line = render_memory(name, attributes, " ".join(sentences))
            if budget.take(line):
                lines.append(line)
                shown.add("\n".join(sentences), memory.id)
                break
            sentences.pop()
    return render_context(lines, about)

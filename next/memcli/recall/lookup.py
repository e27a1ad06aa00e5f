"""Find rules and lessons in the index as it is, for the moments that must not wait.

The action and failure hooks run before and after every tool call of an agent. So this module and
its callers import no dataclasses, pathlib, YAML, numpy or model, and never refresh the index. In
return they show a memory only if its file is still as the index noted it.
"""

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..index.settled import is_settled
from .render import (
    Budget,
    escape_text,
    get_new_sentences,
    render_context,
    render_memory,
    split_sentences,
)
from .shown import Shown

TYPES = ("constraint", "correction", "lesson", "procedure", "preference")
# A word that more rules contain does not tell which of them is meant.
MOST_MATCHES = 40
ID_LENGTH = 6  # of the part of an id that commands print
BUSY_SECONDS = 0.1
FRONTMATTER = re.compile(r"---[ \t]*\r?\n.*?\n---[ \t]*\r?(?:\n|\Z)", re.DOTALL)
HIDDEN_MARK = "[forgotten]"
# An untrusted clone must not give orders at the moment of an action.
RULES = (
    f"entries.type in ({', '.join(map(repr, TYPES))}) and status = 'active'"
    " and source <> 'repository' and project in ('', :project)"
    " and (expires_at = '' or expires_at > :now)"
)


class Place(NamedTuple):
    """A workspace, as far as these moments need it."""

    root: str
    database: str  # the index
    project: str
    purged: str  # the file with the ids of purged memories


class Memory(NamedTuple):
    """A rule, lesson or correction."""

    path: str
    id: str
    type: str
    updated_at: str
    files: tuple[str, ...]
    text: str
    stat: tuple[int, int, int, int]
    noted: int


class Lookup:
    """The open index of one workspace."""

    def __init__(self, place: Place, now: str) -> None:
        self.place = place
        self.values: dict[str, Any] = {"project": place.project, "now": now}
        self.connection = sqlite3.connect(place.database, timeout=BUSY_SECONDS)
        self.connection.execute("pragma query_only = 1")
        self.memories: dict[int, Memory] = {}

    def find(self, phrase: str) -> list[int]:
        """Return the rules that contain a phrase, as their files in the index, the latest first."""
        quoted = phrase.replace('"', " ")
        rows = self.connection.execute(
            "select distinct chunks.file from words join chunks on chunk = words.rowid"
            f" join entries using(file) where words match :phrase and active and {RULES}"
            " order by words.rowid desc limit :limit",
            {**self.values, "phrase": f'"{quoted}"', "limit": MOST_MATCHES},
        )
        return [row[0] for row in rows]

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

    def load(self, file: int) -> Memory:
        if file not in self.memories:
            row = self.connection.execute(
                "select path, id, type, updated_at, entries.files, title, text, mtime, ctime, size,"
                " inode, noted from entries join files using(file) join texts using(file)"
                " where file = ?",
                (file,),
            ).fetchone()
            path, entry_id, type_, updated_at, files, title, text, *stat, noted = row
            body = FRONTMATTER.sub("", text, count=1).strip()
            self.memories[file] = Memory(
                path,
                entry_id,
                type_,
                updated_at,
                tuple(json.loads(files)),
                body or title,
                (stat[0], stat[1], stat[2], stat[3]),
                noted,
            )
        return self.memories[file]

    def is_current(self, memory: Memory) -> bool:
        """Return whether a memory's file has not changed since the index read it."""
        try:
            status = os.lstat(f"{self.place.root}/{memory.path}")
        except OSError:
            return False
        stat = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        return stat == memory.stat and is_settled(stat, memory.noted)

    def read_purged_ids(self) -> set[str]:
        """Return the purged ids. A merge can bring them before the index knows."""
        try:
            with open(self.place.purged, encoding="utf-8", errors="replace") as file:
                return {line.split()[0] for line in file if line.strip()}
        except OSError:
            return set()


def open_lookups(places: Sequence[Place], now: str) -> list[Lookup]:
    """Open the indexes that exist."""
    return [Lookup(place, now) for place in places if os.path.isfile(place.database)]


def choose(lookup: Lookup, memories: Sequence[Memory], shown: Shown) -> list[Memory]:
    """Return the memories that may be shown: current, not purged, and new to the session."""
    purged = lookup.read_purged_ids() if memories else set()
    return [
        memory
        for memory in memories
        if memory.id not in purged | shown.ids
        and HIDDEN_MARK not in memory.text
        and not shown.has(memory.text)
        and lookup.is_current(memory)
    ]


def render_memories(
    about: str, memories: Sequence[tuple[Memory, str]], shown: Shown, tokens: int
) -> str:
    """Return memories with their notes as text for the agent, and record what it shows.

    A long memory is shown up to the last whole sentence that fits.
    """
    budget = Budget(tokens)
    lines: list[str] = []
    if not budget.take(render_context(["-"], about)):
        return ""
    for memory, note in memories:
        attributes = {"type": memory.type, "note": note}
        name = memory.id[-ID_LENGTH:] if memory.id.startswith("mem_") else memory.path
        room = budget.left - count_bytes(render_memory(name, attributes, "")) - 1
        sentences: list[str] = []
        for sentence in split_sentences(get_new_sentences(memory.text, shown)):
            room -= count_bytes(escape_text(sentence)) + 1
            if room < 0:
                break
            sentences.append(sentence)
        if sentences and budget.take(render_memory(name, attributes, " ".join(sentences))):
            lines.append(render_memory(name, attributes, " ".join(sentences)))
            shown.add("\n".join(sentences), memory.id)
    return render_context(lines, about)


def count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))

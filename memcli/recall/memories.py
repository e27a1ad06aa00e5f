"""Find the memories that fit a prompt, in all workspaces, ordered by relevance and retention.

Everything comes from the index, so it has passed the gate: no secrets, nothing forgotten. With the
setting `recall.late`, a background process searches, and the next prompt gets the result.
"""

import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..formats import (
    EPISODIC,
    HIDDEN_MARK,
    PROCEDURAL,
    can_fade,
    collapse_blanks,
    compute_retention,
    fold_name,
    split_words,
)
from ..index import Filter, Index, IndexedEntry, get_index, get_stop_words, open_index
from ..search.ranking import stem_word
from ..search.search import Hit, SearchOptions, build_snippet, search, split_sentences
from ..store import Workspace, save_private
from .lookup import RECORD_TIME, Shown
from .visible import is_passage_for, is_recallable, read_body, read_passage

LAYERS = ("working", "episodic", "semantic", "procedural")
EMBED_SECONDS = 0.3  # of new text; an agent waits
CANDIDATES = 40  # in each workspace; limits and repeats take from them
LONGEST_TEXT = 400  # characters; of a longer memory, the sentences that fit the prompt
LONGEST_NAME = 4  # words
MOST_WORDS = 200  # of a prompt that are compared with names
NAME_PART = re.compile(r"[^\W_]+(?:[-.'’][^\W_]+)*")


@dataclass
class Memory:
    """A memory or passage that may be shown."""

    id: str  # of an entry
    name: str  # what `mem read` accepts
    layer: str
    kind: str
    type: str
    text: str
    date: str
    source: str
    path: str
    relevance: float
    score: float  # relevance, lowered by age and disuse
    workspace: Workspace
    files: Sequence[str] = ()
    title: str = ""
    updated_at: str = ""
    is_outdated: bool = False  # another memory says otherwise
    newer: str = ""  # the name of a later memory about the same
    parts: dict[str, float] = field(default_factory=dict)


def find_memories(
    workspaces: Sequence[Workspace],
    prompt: str,
    *,
    least: float,
    kinds: Sequence[str] = (),
    with_names: bool = True,
) -> tuple[list[Memory], list[str]]:
    """Return the memories with at least this relevance, the best first, and messages.

    Without `kinds`, conversations are included if no memory answers well. With `with_names`, a
    memory whose name or alias is in the prompt needs no relevance.
    """
    memories: list[Memory] = []
    messages: list[str] = []
    options = SearchOptions(
        limit=CANDIDATES,
        wanted=Filter(kinds=tuple(kinds)),
        embed_seconds=EMBED_SECONDS,
        own_project=bool(workspaces[0].project),
    )
    for workspace in workspaces:
        result = search([workspace], prompt, options)
        messages += result.messages
        index = get_index(workspace)
        named = find_named_entries(index, prompt) if with_names else {}
        hits = {hit.path: hit for hit in result.hits if hit.id}
        by_id = {hit.id: hit for hit in hits.values()}
        for hit in hits.values():
            # An earlier value alone would look current.
            if later := by_id.get(hit.newer):
                later.relevance = max(later.relevance, hit.relevance)
        entries = {**read_entries(index, list(hits)), **named}
        reader = MemoryReader(index, prompt)
        for path, entry in entries.items():
            relevance = hits[path].relevance if path in hits else 0.0
            if path in named:
                relevance = max(relevance, least)
            if relevance >= least and is_recallable(workspace, entry):
                memories.append(reader.build_from_entry(entry, relevance, hits.get(path)))
        for hit in result.hits:
            # The page is shown as a whole.
            if hit.id or hit.kind == "memory" or hit.relevance < least:
                continue
            if is_passage_for(workspace, hit.kind):
                memory = reader.build_from_passage(hit)
                # The hook has stored the prompt itself just now.
                is_prompt = memory.text.endswith(collapse_blanks(prompt))
                if memory.text and not (hit.kind == "session" and is_prompt):
                    memories.append(memory)
    memories.sort(key=lambda memory: -memory.score)
    return memories, list(dict.fromkeys(messages))


class MemoryReader:
    """Reads the texts of memories of one workspace for one prompt."""

    def __init__(self, index: Index, prompt: str) -> None:
        self.index = index
        self.workspace = index.workspace
        self.words = split_words(prompt)
        self.counts = self.workspace.machine.read_access_counts()
        self.weight = float(self.workspace.settings["recall.retention_weight"])

    def build_from_entry(
        self, entry: IndexedEntry, relevance: float, hit: Hit | None = None
    ) -> Memory:
        retention = 1.0
        if can_fade(entry):
            count = self.counts.get(entry.id, 0)
            # Frequent use must not make a memory relevant to every prompt.
            retention = min(compute_retention(entry, self.workspace.now, count), 1.0)
        text = build_snippet(read_body(self.index, entry.path), self.words, LONGEST_TEXT)
        return Memory(
            id=entry.id,
            name=self.index.shorten_id(entry.id),
            layer=get_layer(entry.type),
            kind="entry",
            type=entry.type,
            text=text or entry.summary,
            date=self.workspace.format_local(entry.updated_at),
            source=entry.source,
            path=entry.path,
            relevance=relevance,
            score=relevance * (1 - self.weight + self.weight * retention),
            workspace=self.workspace,
            files=entry.files,
            title=entry.title,
            updated_at=entry.updated_at,
            # Not if a later hit is about the same subject: most such memories are still true, and
            # the agent sees the dates of both.
            is_outdated=bool(entry.conflicts_with),
            newer=self.index.shorten_id(hit.newer) if hit and hit.newer else "",
            parts=dict(hit.parts) if hit else {},
        )

    def build_from_passage(self, hit: Hit) -> Memory:
        is_now = hit.kind == "session" or hit.path == self.workspace.notes_path
        layer = "semantic" if hit.kind == "document" else "episodic"
        name = f"{hit.path}:{hit.line}" if hit.kind == "session" else hit.path
        return Memory(
            id="",
            name=name,
            layer="working" if is_now else layer,
            kind=hit.kind,
            type="",
            text=build_snippet(self.choose_sentences(hit), self.words, LONGEST_TEXT),
            date=self.workspace.format_local(hit.timestamp),
            source="",
            path=hit.path,
            relevance=hit.relevance,
            score=hit.relevance,
            workspace=self.workspace,
            parts=dict(hit.parts),
        )

    def choose_sentences(self, hit: Hit) -> str:
        """Return the sentences of a passage that share a telling word with the prompt.

        A record is about many things, so its other sentences would be noise.
        """
        wanted = {stem_word(word) for word in self.words if word not in get_stop_words()}
        passage = read_passage(self.index, hit.path, hit.line, hit.anchor)
        passage = RECORD_TIME.sub("", passage.replace(HIDDEN_MARK, ""))
        return " ".join(
            sentence
            for sentence in split_sentences(passage)
            if wanted & {stem_word(word) for word in split_words(sentence)}
        )


def get_layer(type_: str) -> str:
    if type_ in PROCEDURAL:
        return "procedural"
    return "episodic" if type_ in EPISODIC else "semantic"


def read_entries(index: Index, paths: Sequence[str]) -> dict[str, IndexedEntry]:
    """Return entries by path, in the order of the paths."""
    marks = ", ".join("?" * len(paths))
    entries = {entry.path: entry for entry in index.list_entries(f"path in ({marks})", paths)}
    return {path: entries[path] for path in paths if path in entries}


def find_named_entries(index: Index, prompt: str) -> dict[str, IndexedEntry]:
    """Return the active entries whose title or alias is in a prompt, by path."""
    words = NAME_PART.findall(prompt)[:MOST_WORDS]
    names: dict[str, str] = {}
    for size in range(1, LONGEST_NAME + 1):
        for start in range(len(words) - size + 1):
            typed = " ".join(words[start : start + size])
            if size > 1 or typed.lower() not in get_stop_words():
                names.setdefault(fold_name(typed), typed)
    marks = ", ".join("?" * len(names))
    entries = index.list_entries(
        f"status = 'active' and file in (select file from names where name in ({marks}))",
        tuple(names),
    )
    return {entry.path: entry for entry in entries if is_named_in(entry, names)}


def is_named_in(entry: IndexedEntry, names: dict[str, str]) -> bool:
    """Return whether one of the typed names means this entry."""
    for name in map(fold_name, (entry.title, *entry.aliases)):
        typed = names.get(name, "")
        # An ordinary word may be a title: "Deploy" is one, "deploy" in a sentence is not.
        if typed and (entry.type == "entity" or not typed.islower() or not typed.isalpha()):
            return True
    return False


def start_late_search(workspace: Workspace, prompt: str, shown: Shown) -> None:
    """Start `mem recall --late` for a prompt. Nobody waits for it."""
    import subprocess

    context = workspace.context
    session = shown.record.get("session")
    if not session or not shown.path:
        return
    # Without -P, Python would import a module of the working folder that has the name of ours.
    command = [sys.executable, "-P", "-m", "memcli", "recall", "--late", "--session", session]
    for option, value in (
        ("--workspace", context.common.workspace),
        ("--scope", context.common.scope),
    ):
        command += [option, value] if value else []
    # Without a new session, the agent would kill it together with the hook.
    with suppress(OSError):
        process = subprocess.Popen(
            [*command, "-"],
            cwd=context.folder,
            env=dict(context.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(prompt.encode("utf-8", "replace"))
        process.stdin.close()


def save_queue(memories: Sequence[Memory], shown: Shown) -> None:
    """Save the memories for the next prompt of a session."""
    if not shown.path:
        return
    rows = [
        [str(memory.workspace.root), memory.id, memory.relevance]
        for memory in memories
        if memory.id and memory.id not in shown.ids
    ]
    path = get_queue_path(shown)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        save_private(path, json.dumps(rows).encode())


def take_queue(workspaces: Sequence[Workspace], shown: Shown) -> list[Memory]:
    """Return the memories found for the last prompt, and delete the record of them."""
    if not shown.path:
        return []
    path = get_queue_path(shown)
    try:
        # Renamed first, so that two hooks at the same moment do not both deliver them.
        taken = path.with_name(f"{path.name}.{os.getpid()}")
        path.rename(taken)
        rows: Any = json.loads(taken.read_bytes())
        taken.unlink()
    except (OSError, ValueError):
        return []
    memories = []
    for workspace in workspaces:
        wanted = {row[1]: float(row[2]) for row in rows if row[0] == str(workspace.root)}
        if not wanted:
            continue
        index = open_index(workspace)
        reader = MemoryReader(index, "")
        marks = ", ".join("?" * len(wanted))
        where = f"status = 'active' and id in ({marks})"
        for entry in index.list_entries(where, tuple(wanted)):
            if is_recallable(workspace, entry):
                memories.append(reader.build_from_entry(entry, wanted[entry.id]))
    return sorted(memories, key=lambda memory: -memory.score)


def get_queue_path(shown: Shown) -> Path:
    return Path(f"{shown.path}.late")

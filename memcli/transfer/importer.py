"""Import: recognize a format, and admit its items in batches.

Each batch is one command: it changes all of its files or none. Importing the same source again
changes nothing, so an interrupted import is completed by repeating it.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ..errors import MemError, RejectedError, UsageError
from ..formats.dates import parse_time
from ..formats.entry import Entry
from ..formats.text import build_words_digest, count_noun
from ..index.index import Index, open_index
from ..reconcile.admit import write_memories
from ..reconcile.draft import Draft
from ..store.commit import check_group, commit, hold_lock
from ..store.workspace import Workspace
from ..transcripts.transcript import Transcript
from .conversations import import_conversation, read_conversations
from .fields import build_stable_id
from .files import FilePlanner, PlannedFile, read_file_entry
from .items import BadItem, Item, Read, Source, TransferFile
from .jsonl import read_jsonl
from .markdown import read_markdown
from .notes import read_notes
from .okf import is_bundle
from .records import read_csv, read_json
from .sqlite import read_sqlite

# In the order in which they are tried.
FORMATS: dict[str, Read] = {
    "jsonl": read_jsonl,
    "okf": lambda source: read_notes(source, list_formats) if is_bundle(source) else None,
    "markdown": read_markdown,
    "sqlite": read_sqlite,
    "json": read_json,
    "csv": read_csv,
    "conversations": read_conversations,
    "notes": lambda source: read_notes(source, list_formats),
}
BATCH_ITEMS = 20_000
BATCH_CHARACTERS = 16_000_000


@dataclass
class Rejection:
    """An item that was not imported."""

    place: str
    path: str
    reason: str


@dataclass
class ImportResult:
    """The outcome of an import."""

    format: str = ""
    imported: Counter[str] = field(default_factory=Counter)  # by kind
    unchanged: int = 0
    held: int = 0  # in the inbox
    rejected: list[Rejection] = field(default_factory=list)
    commands: list[int] = field(default_factory=list)  # for `mem undo`
    messages: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Choice:
    """Which memories of a source are imported."""

    types: Sequence[str] = ()
    tags: Sequence[str] = ()

    def accepts(self, item: Item) -> bool:
        """Return whether an item is chosen. With a choice of memories, other files are not."""
        content = item.content
        if not (self.types or self.tags) or isinstance(content, BadItem):
            return True
        if isinstance(content, Draft):
            memory: Draft | Entry = content
        elif isinstance(content, TransferFile) and content.kind == "entry":
            memory = read_file_entry(content)
        else:
            return False
        is_type = not self.types or memory.type in self.types
        return is_type and (not self.tags or bool(set(self.tags) & set(memory.tags)))


def list_formats() -> dict[str, Read]:
    """Return the functions that read a format, by its name."""
    from importlib.metadata import entry_points

    others = {item.name: item.load() for item in entry_points(group="mem.importers")}
    return {**FORMATS, **others}


def find_format(source: Source, name: str = "") -> tuple[str, Iterator[Item]]:
    """Return the name of the source's format, and its items. Raises UsageError."""
    formats = list_formats()
    if name and name not in formats:
        raise UsageError(f"unknown format {name!r}", f"one of: {', '.join(sorted(formats))}")
    for candidate in [name] if name else formats:
        items = formats[candidate](source)
        if items is not None:
            return candidate, items
    what = f"not in the format {name}" if name else "in no format that mem knows"
    raise UsageError(f"{source.name} is {what}", f"formats: {', '.join(sorted(formats))}")


def import_source(
    workspace: Workspace,
    source: Source,
    *,
    format_name: str = "",
    choice: Choice = Choice(),
    is_dry_run: bool = False,
) -> ImportResult:
    """Import a source. Rejected items do not stop the others."""
    source.zone = workspace.zone
    name, items = find_format(source, format_name)
    result = ImportResult(name)
    # Files are compared only with older memories, because the files of one export fit together.
    index = open_index(workspace)
    planner = FilePlanner(index)
    batch: list[Item] = []
    size = 0
    for item in items:
        if not choice.accepts(item):
            continue
        if isinstance(item.content, BadItem):
            result.rejected.append(Rejection(item.place, "", item.content.reason))
            continue
        if isinstance(item.content, Transcript):
            added = import_conversation(workspace, item.content, is_dry_run=is_dry_run)
            result.imported["session"] += bool(added)
            result.unchanged += not added
            continue
        batch.append(item)
        size += len(item.content.text)
        if len(batch) >= BATCH_ITEMS or size >= BATCH_CHARACTERS:
            save_batch(workspace, planner, batch, result, is_dry_run=is_dry_run)
            batch, size = [], 0
    save_batch(workspace, planner, batch, result, is_dry_run=is_dry_run)
    if source.stream is not None:
        source.stream.close()
    if source.on_progress:
        source.on_progress(1, 1)
    result.messages += dict.fromkeys(source.messages)
    result.rejected.sort(key=sort_rejections)
    return result


def sort_rejections(item: Rejection) -> list[str]:
    """Order by place, with `line 9` before `line 10`."""
    parts = re.split(r"(\d+)", item.place)
    return [part.zfill(9) if part.isdigit() else part for part in parts]


def save_batch(
    workspace: Workspace,
    planner: FilePlanner,
    batch: Sequence[Item],
    result: ImportResult,
    *,
    is_dry_run: bool,
) -> None:
    files = [(item.place, item.content) for item in batch if isinstance(item.content, TransferFile)]
    drafts = [(item.place, item.content) for item in batch if isinstance(item.content, Draft)]
    if files:
        save_files(workspace, planner, files, result, is_dry_run=is_dry_run)
    if drafts:
        save_drafts(workspace, drafts, result, is_dry_run=is_dry_run)


def save_files(
    workspace: Workspace,
    planner: FilePlanner,
    files: Sequence[tuple[str, TransferFile]],
    result: ImportResult,
    *,
    is_dry_run: bool,
) -> None:
    """Save whole files in one command."""
    near = planner.find_near_forgotten([file for _, file in files])
    planned: list[tuple[str, TransferFile, PlannedFile]] = []
    rejected: dict[int, MemError] = {}
    with hold_lock(workspace):
        # Only texts that the user has forgotten here count, not those that this import adds.
        workspace.resources["forgotten texts"] = planner.forgotten
        for (place, file), forgotten in zip(files, near, strict=True):
            try:
                plan = planner.plan(file, forgotten)
                if plan is not None and is_dry_run:
                    check_group(workspace, plan.group)
            except MemError as error:
                result.rejected.append(Rejection(place, file.path, error.message))
                continue
            result.unchanged += plan is None
            if plan is not None:
                planned.append((place, file, plan))
        if not is_dry_run:
            groups = [plan.group for _, _, plan in planned]
            done = commit(workspace, "import", groups, summary=count_noun(len(groups), "file"))
            rejected = {id(group): reason for group, reason in done.rejected}
            result.commands += [done.number] if done.number else []
            result.messages += done.messages
    for place, file, plan in planned:
        reason = rejected.get(id(plan.group))
        if reason is not None:
            result.rejected.append(Rejection(place, file.path, reason.message))
            continue
        result.held += plan.is_held
        result.imported[file.kind] += not plan.is_held
        if plan.modified and not is_dry_run:
            save_time(workspace, plan)


def save_time(workspace: Workspace, plan: PlannedFile) -> None:
    """Give a memory without a date the time of its original, which is its date."""
    moment = parse_time(plan.modified)
    if moment is not None:
        with suppress(OSError):
            os.utime(workspace.root / plan.path, (moment.timestamp(), moment.timestamp()))


def save_drafts(
    workspace: Workspace,
    drafts: Sequence[tuple[str, Draft]],
    result: ImportResult,
    *,
    is_dry_run: bool,
) -> None:
    """Save memories of other tools like any new memory."""
    index = open_index(workspace)
    purged_ids = workspace.read_purged_ids()
    chosen: list[tuple[str, Draft]] = []
    for place, draft in drafts:
        try:
            if draft.id in purged_ids:
                raise RejectedError("this memory was purged")
            newer = compare_with_earlier_import(index, draft)
        except MemError as error:
            result.rejected.append(Rejection(place, "", error.message))
            continue
        result.unchanged += newer is None
        chosen += [(place, newer)] if newer is not None else []
    if is_dry_run:
        result.imported["entry"] += len(chosen)
    if is_dry_run or not chosen:
        return
    outcomes, done = write_memories(
        workspace, [draft for _, draft in chosen], command="import", finds_similar=False
    )
    for (place, _), outcome in zip(chosen, outcomes, strict=True):
        if outcome.error is not None:
            result.rejected.append(Rejection(place, outcome.path, outcome.error.message))
        elif outcome.action == "held":
            result.held += 1
        elif outcome.action in ("saved", "restored"):
            result.imported["entry"] += 1
        else:
            result.unchanged += 1
    result.commands += [done.number] if done.number else []
    result.messages += done.messages


def compare_with_earlier_import(index: Index, draft: Draft) -> Draft | None:
    """Return what to save: nothing if it is here, a new version if the tool changed it later.

    Raises RejectedError if the memory was forgotten here.
    """
    known = index.find_by_id(draft.id) if draft.id else None
    if known is None:
        return draft
    if known.status == "forgotten":
        raise RejectedError("was forgotten here")
    digest = build_words_digest(draft.text)
    is_same = index.list_entries("id = ? and same_words = ?", (known.id, digest))
    newer = replace(draft, supersedes=[known.id], created_at=draft.updated_at)
    newer.id = build_stable_id(f"{draft.id} {draft.text}", draft.updated_at)
    is_later = known.status == "active" and draft.updated_at > known.updated_at
    if is_same or not is_later or index.find_by_id(newer.id) is not None:
        return None
    return newer

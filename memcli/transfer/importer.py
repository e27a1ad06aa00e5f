"""Import: recognize the format of a source, and save its items in batches.

Each batch is one command: it changes all of its files or none. Importing the same source again
changes nothing, so an interrupted import is completed by repeating it.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ..errors import MemError, RejectedError, UsageError, check_choice
from ..formats import Entry, build_words_digest, count_noun, format_entry, parse_time, summarize
from ..index import Index, open_index
from ..reconcile import (
    Draft,
    build_entry,
    build_path,
    complete_draft,
    edit_file,
    write_memories,
)
from ..store import (
    METADATA,
    ChangeGroup,
    Commit,
    Replace,
    Workspace,
    check_group,
    commit,
    get_recording_workspace,
    hold_lock,
    redact_text,
    report_progress,
)
from ..transcripts import exports, reader
from ..transcripts.importer import import_transcript
from ..transcripts.transcript import Transcript
from .export import Selection, is_document, read_jsonl, read_markdown
from .files import FilePlanner, PlannedFile, read_file_entry
from .items import BadItem, Item, Reader, Source, TransferFile, build_stable_id
from .notes import read_bundle, read_notes
from .records import read_csv, read_json, read_sqlite

# A batch is in memory as a whole, and so is the record for `mem undo`.
BATCH_ITEMS = 20_000
BATCH_CHARACTERS = 16_000_000
Drafts = list[tuple[str, Draft]]  # with their places
MOST_EXAMPLES = 5  # items that a dry run shows


def read_conversations(source: Source) -> Iterator[Item] | None:
    """Read a file with one conversation or many."""
    is_file = source.stream is None and source.path.is_file()
    is_database = is_file and source.path.name in reader.DATABASES
    is_archive = is_file and source.is_tree and exports.is_archive(source.path)
    if is_database or is_archive:
        return read_transcripts(source, is_text=False)
    if source.is_tree or not reader.is_conversation(source.decode_head()):
        return None
    return read_transcripts(source, is_text=True)


def read_transcripts(source: Source, *, is_text: bool) -> Iterator[Item]:
    problems: list[str] = []
    # A conversation without an id is named after its file, whatever folder or archive that is in.
    path = Path(source.name) if source.is_inner else source.path
    with source.open_text() if is_text else nullcontext() as file:
        if file:
            transcripts = reader.read_text(path, source.decode_head(), file, problems, source.zone)
        else:
            transcripts = reader.read_file(source.path, problems, source.zone, source.on_progress)
        for transcript in transcripts:
            if transcript.events:
                transcript.path = path
                transcript.modified = source.modified
                yield Item(source.name, transcript)
    for problem in problems:
        yield Item(source.name, BadItem(problem))


# In the order in which they are tried.
FORMATS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "okf": read_bundle,
    "markdown": read_markdown,
    "sqlite": read_sqlite,
    "json": read_json,
    "csv": read_csv,
    "conversations": read_conversations,
    "notes": read_notes,
}


def list_formats() -> dict[str, Reader]:
    """Return the functions that read a format, by its name."""
    from importlib.metadata import entry_points

    return FORMATS | {item.name: item.load() for item in entry_points(group="mem.importers")}


def find_format(source: Source, name: str = "") -> tuple[str, Iterator[Item]]:
    """Return the name of the source's format, and its items. Raises UsageError."""
    formats = source.formats = list_formats()
    if name:
        check_choice("format", name, sorted(formats))
    # As one note, its memories would come back as a single memory.
    if not name and is_document(source):
        hint = "import the workspace, or an export to a folder or to memory.jsonl"
        raise UsageError(f"{source.name} is a document for people", hint)
    source.format_name = name
    candidates = [name] if name else list(formats)
    # `markdown` is the folder that mem exports, but people call any note so.
    if name == "markdown":
        candidates.append("notes")
    for candidate in candidates:
        items = formats[candidate](source)
        if items is not None:
            return candidate, items
    if not source.is_tree and not source.head.strip():
        raise UsageError(f"{source.name} is empty", "the download or export may have failed")
    problem = f"not in the format {name}" if name else "in no format that mem knows"
    raise UsageError(f"{source.name} is {problem}", f"formats: {', '.join(sorted(formats))}")


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
    examples: list[str] = field(default_factory=list)  # of a dry run: the first items in one line
    commands: list[int] = field(default_factory=list)  # for `mem undo`
    messages: list[str] = field(default_factory=list)


def is_chosen(item: Item, selection: Selection) -> bool:
    """Return whether the user chose an item. With a choice of memories, other files are not."""
    content = item.content
    if not selection.is_partial or isinstance(content, BadItem):
        return True
    if isinstance(content, Draft):
        memory: Draft | Entry = content
    elif isinstance(content, TransferFile) and content.kind == "entry":
        memory = read_file_entry(content)
    else:
        return False
    is_type = not selection.types or memory.type in selection.types
    return is_type and (not selection.tags or not set(selection.tags).isdisjoint(memory.tags))


def import_source(
    workspace: Workspace,
    source: Source,
    *,
    format_name: str = "",
    selection: Selection = Selection(),
    is_dry_run: bool = False,
) -> ImportResult:
    """Import a source. Rejected items do not stop the others."""
    source.zone = workspace.zone
    batch: list[Item] = []
    size = 0  # in characters
    is_empty = True
    left_out = 0
    with source.stream or nullcontext():
        name, items = find_format(source, format_name)
        importer = Importer(workspace, ImportResult(name), is_dry_run=is_dry_run)
        for item in items:
            is_empty = False
            source.report_progress()
            if not is_chosen(item, selection):
                left_out += 1
                continue
            if isinstance(item.content, BadItem):
                importer.reject(item.place, item.content.reason)
                continue
            if isinstance(item.content, Transcript):
                importer.save_conversation(item.content)
                continue
            batch.append(item)
            size += len(item.content.text)
            if len(batch) >= BATCH_ITEMS or size >= BATCH_CHARACTERS:
                importer.save_batch(batch)
                batch, size = [], 0
    importer.save_batch(batch)
    if source.on_progress:
        source.on_progress(1, 1)
    result = importer.result
    if left_out:
        names = ", ".join([*selection.types, *selection.tags])
        result.messages.append(
            f"{count_noun(left_out, 'item')} left out: --type and --tag import only {names}"
        )
    if is_empty:
        result.messages.append(f"{source.name} has no memories")
    # A file reports its encoding each time it is opened.
    result.messages += dict.fromkeys(source.messages)
    # `line 9` comes before `line 10`.
    numbers = re.compile(r"\d+")
    result.rejected.sort(key=lambda item: numbers.sub(lambda match: match[0].zfill(9), item.place))
    return result


class Importer:
    """Saves the items of one source, and counts what became of them."""

    def __init__(self, workspace: Workspace, result: ImportResult, *, is_dry_run: bool) -> None:
        self.workspace = workspace
        self.result = result
        self.is_dry_run = is_dry_run
        # Files are compared only with older memories: the files of one export fit together.
        self.planner = FilePlanner(open_index(workspace))

    @cached_property
    def recording(self) -> Workspace:
        """Where conversations go. Most imports have none, and create no other workspace."""
        return get_recording_workspace(self.workspace)

    def reject(self, place: str, reason: str, path: str = "") -> None:
        self.result.rejected.append(Rejection(place, path, reason))

    def count(self, kind: str, example: str) -> None:
        """Count an item that was imported, or would be."""
        self.result.imported[kind] += 1
        if self.is_dry_run and len(self.result.examples) < MOST_EXAMPLES:
            self.result.examples.append(example)

    def save_conversation(self, transcript: Transcript) -> None:
        """Add the new events of a conversation to its session."""
        imported = import_transcript(
            self.recording,
            transcript,
            transcript.path,
            project="" if self.workspace.is_own else self.recording.project,
            modified=transcript.modified or self.workspace.stamp,
            is_dry_run=self.is_dry_run,
        )
        if not imported.added:
            self.result.unchanged += 1
            return
        messages = (str(event["content"]) for event in transcript.events if event.get("role"))
        first = next(messages, transcript.session_id)
        self.count("session", summarize(redact_text(self.workspace, first)))

    def save_batch(self, batch: Sequence[Item]) -> None:
        """Save whole files in one command, and then memories of other tools."""
        pairs = [(item.place, item.content) for item in batch]
        files = [(place, file) for place, file in pairs if isinstance(file, TransferFile)]
        drafts = [(place, draft) for place, draft in pairs if isinstance(draft, Draft)]
        if files:
            self.save_files(files)
        if drafts:
            self.save_drafts(drafts)

    def save_files(self, files: Sequence[tuple[str, TransferFile]]) -> None:
        self.planner.find_near_forgotten([file for _, file in files])
        rejected: dict[int, MemError] = {}
        with hold_lock(self.workspace):
            # Only texts that the user has forgotten here count, not those that this import adds.
            self.workspace.resources["forgotten texts"] = self.planner.forgotten
            planned = self.plan_files(files)
            if not self.is_dry_run:
                groups = [plan.group for _, _, plan in planned]
                summary = count_noun(len(groups), "file")
                done = commit(self.workspace, "import", groups, summary=summary)
                rejected = {id(group): reason for group, reason in done.rejected}
                self.add_command(done)
        for place, file, plan in planned:
            reason = rejected.get(id(plan.group))
            if reason is not None:
                self.reject(place, reason.message, file.path)
                continue
            if plan.is_held:
                self.result.held += 1
            elif not plan.path.endswith(METADATA):
                is_entry = file.kind == "entry"
                example = read_file_entry(file).summary if is_entry else plan.path
                self.count(file.kind, example)
            if plan.modified and not self.is_dry_run:
                save_time(self.workspace.root / plan.path, plan.modified)

    def plan_files(
        self, files: Sequence[tuple[str, TransferFile]]
    ) -> list[tuple[str, TransferFile, PlannedFile]]:
        """Return the files to save, and count the others.

        A dry run also passes the gates.
        """
        planned = []
        for place, file in report_progress(self.workspace, files):
            try:
                plan = self.planner.plan(file)
                if plan is not None and self.is_dry_run:
                    check_group(self.workspace, plan.group)
            except MemError as error:
                self.reject(place, error.message, file.path)
                continue
            if plan is None:
                self.result.unchanged += 1
            else:
                planned.append((place, file, plan))
        return planned

    def save_drafts(self, drafts: Drafts) -> None:
        """Save memories of other tools like any new memory."""
        index = open_index(self.workspace)
        purged_ids = self.workspace.read_purged_ids()
        chosen: Drafts = []
        for place, draft in drafts:
            try:
                if draft.id in purged_ids:
                    raise RejectedError("this memory was purged")
                newer = compare_with_earlier_import(index, draft)
            except MemError as error:
                self.reject(place, error.message)
                continue
            if newer is None:
                self.result.unchanged += 1
            else:
                chosen.append((place, newer))
        if self.is_dry_run:
            self.check_drafts(index, chosen)
            return
        chosen = self.add_owners(index, chosen)
        memories = [draft for _, draft in chosen]
        repeated = sum(is_under_another_owner(index, draft) for draft in memories)
        if repeated:
            self.result.messages.append(
                f"{count_noun(repeated, 'text')} already here with another owner:"
                " undo both imports, then import again"
            )
        outcomes, done = write_memories(
            self.workspace, memories, command="import", finds_similar=False
        )
        for (place, draft), outcome in zip(chosen, outcomes, strict=True):
            if outcome.error is not None:
                self.reject(place, outcome.error.message, outcome.path)
            elif outcome.action == "held":
                self.result.held += 1
            elif outcome.action in ("saved", "restored"):
                self.count("entry", draft.text)
            else:
                self.result.unchanged += 1
        self.add_command(done)

    def add_owners(self, index: Index, drafts: Drafts) -> Drafts:
        """Add owners to memories of the same rows, imported without them. Return other drafts."""
        changes: dict[str, Replace] = {}
        others = []
        for place, draft in drafts:
            where = "same_words = ? and owner = '' and status = 'active'"
            digest = build_words_digest(draft.text)
            for entry in index.list_entries(where, (digest,)) if draft.owner else ():
                is_same_row = index.read_fields(entry.path).get("sources") == draft.sources
                if is_same_row and entry.path not in changes:
                    change = edit_file(self.workspace, entry.path, {"owner": draft.owner})
                    changes[entry.path] = change
                    self.count("entry", draft.text)
                    break
            else:
                others.append((place, draft))
        if changes:
            groups = [ChangeGroup([change]) for change in changes.values()]
            summary = count_noun(len(groups), "owner")
            self.add_command(commit(self.workspace, "import", groups, summary=summary))
        return others

    def check_drafts(self, index: Index, drafts: Drafts) -> None:
        """Count the drafts that the gates accept, without saving any."""
        with hold_lock(self.workspace):
            self.workspace.resources["forgotten texts"] = index.load_forgotten()
            for place, draft in report_progress(self.workspace, drafts):
                try:
                    completed = complete_draft(index, draft)
                    entry = build_entry(self.workspace, completed)
                    path = build_path(self.workspace, completed, entry)
                    change = Replace(path, None, format_entry(entry))
                    check_group(self.workspace, ChangeGroup([change]))
                except MemError as error:
                    self.reject(place, error.message)
                else:
                    self.count("entry", entry.summary)

    def add_command(self, done: Commit) -> None:
        if done.number:
            self.result.commands.append(done.number)
        self.result.messages += done.messages


def save_time(path: Path, modified: str) -> None:
    """Give the file of a memory without a date the time of its original."""
    moment = parse_time(modified)
    if moment is None:
        return
    seconds = moment.timestamp()
    # Some network drives refuse to set a time. The memory is saved all the same.
    with suppress(OSError):
        os.utime(path, (seconds, seconds))


def compare_with_earlier_import(index: Index, draft: Draft) -> Draft | None:
    """Return the memory to save, or None if it is here.

    If the tool changed it since the last import, it is a new version that replaces the old one.
    Raises RejectedError if the memory was forgotten here.
    """
    known = index.find_by_id(draft.id) if draft.id else None
    if known is None:
        return draft
    # The gate compares texts only, and the tool may have changed the text.
    if known.status == "forgotten":
        raise RejectedError("was forgotten here")
    # The user archived or replaced it here, or the export is an older one.
    if known.status != "active" or draft.updated_at <= known.updated_at:
        return None
    digest = build_words_digest(draft.text)
    if index.list_entries("id = ? and same_words = ?", (known.id, digest)):
        return None
    # The tool has one id for all versions, but each version here is a memory of its own.
    newer = replace(draft, supersedes=[known.id], created_at=draft.updated_at)
    newer.id = build_stable_id(f"{draft.id} {draft.text}", draft.updated_at)
    return newer if index.find_by_id(newer.id) is None else None


def is_under_another_owner(index: Index, draft: Draft) -> bool:
    """Return whether a new memory has the words of one with another owner: they never merge."""
    owner = draft.owner or str(index.workspace.settings["owner"])
    values = build_words_digest(draft.text), owner, draft.id
    where = "same_words = ? and owner <> ? and id <> ? and status = 'active'"
    return bool(index.list_entries(where, values))

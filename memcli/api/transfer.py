"""Take memories out of a workspace, and bring them into one: exports, and the files of other memory tools."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, BinaryIO

from ..dataclass import dataclass
from ..errors import RefusedError, UsageError
from ..formats.text_lines import FileProblem, FileProblems
from ..results import Numbers, Result, number_of
from ..store.layouts import SESSION_FOLDER
from ..store.redaction import RedactedPlaces
from ..store.workspace import MARKER, nearest
from ..transfer.export import ImportedLine as ImportedLine
from ..transfer.export import modified_at
from .choice import Choice, require_stored
from .workspace import Workspace, open_named, recorded

if TYPE_CHECKING:
    from ..beliefs.llm_judge import LlmJudge
    from ..index.filters import Filter
    from ..transfer.foreign_files import ForeignFiles
    from ..transfer.foreign_memories import RecordLine


FORMATS = ("jsonl", "markdown")
"""What `export` writes; only `jsonl` can be imported."""
_KINDS = ("entry", "memory", "history", "note")
"""What an export holds where no kind is asked for."""


@dataclass(frozen=True)
class Exported(Result):
    """What was written."""

    file: Annotated[str, "the file that was written"]
    """The whole path of the file; empty where pieces were handed over."""
    files: Annotated[int, "how many files"]
    """Files of the workspace that are in the export."""
    problems: FileProblems = ()
    """Files that could not be read."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImportedMemories(Result):
    """What became of the lines of an import."""

    dry_run: Annotated[bool, "whether nothing was done"]
    counts: Annotated[Numbers, "outcomes by kind"]
    """Lines by action: created, merged, updated, unchanged, conflict, refused, left out."""
    files: Annotated[tuple[ImportedLine, ...], "the files"] = ()
    """What became of each line that was not unchanged or left out."""
    redacted: RedactedPlaces = ()
    notices: tuple[str, ...] = ()
    unheard: str = ""
    """Why a judge said nothing of some memories."""


def export(
    workspace: Workspace,
    target: str | Path | Callable[[str], object],
    *,
    format: str = "jsonl",
    choice: Choice = Choice(),
    own_notes: bool = False,
) -> Exported:
    """Write what mem keeps as lines of JSON, a file a line, or as one markdown document.

    `target` is a file, which is written whole or not at all, or is called with each piece. Conversations are in it
    where `choice` asks for them. The lines hold every byte of memories of any status, those in the archive included;
    where nothing was filtered out, also the settings and what waits in the inbox; with `own_notes` also the notes of a
    person's own in a vault. Raise UsageError for a format or
    choice that there is not, RefusedError where the target would be one of the memories.
    """
    from ..index.index import ask
    from ..index.lookups import entry_statuses
    from ..transfer.export import chosen_files, inbox_files, own_note_count, packed, read_files, settings_file

    if format not in FORMATS:
        raise UsageError(f"no format {format!r}", f"use {' or '.join(FORMATS)}")
    require_stored(choice, [workspace])
    path = None if callable(target) else _target(workspace, target)
    wanted = replace(choice.filter(workspace, _KINDS), managed=not own_notes)
    if not choice.status:  # an export that left out what is not in use would lose it
        others = {*ask(workspace, entry_statuses), "superseded", "archived"} - {*wanted.statuses}
        if format == "markdown":  # which is read, and not imported
            others.discard("archived")
        wanted = replace(wanted, statuses=(*wanted.statuses, *sorted(others)))
    chosen = chosen_files(workspace, wanted)
    notices: list[str] = []
    if workspace.layout.is_vault and wanted.managed and (own := own_note_count(workspace, wanted)):
        notes = number_of(own, "note", "of your own is left out", "of your own are left out")
        notices.append(f"{notes}: --own-notes takes them in")
    if format == "jsonl" and replace(choice, archived=False, kind=None) == Choice() and choice.kind in (None, ["all"]):
        chosen = [*settings_file(workspace), *chosen, *inbox_files(workspace)]
        if not choice.kind and any((workspace.root / SESSION_FOLDER).glob("*/session.jsonl")):
            notices.append("conversations are left out: --kind all takes them in")
    problems: list[FileProblem] = []
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for file in read_files(workspace, chosen, problems):
            count += 1
            yield packed(file) + "\n"

    pieces = lines() if format == "jsonl" else _document(workspace, wanted, chosen, problems, notices)
    if callable(target):
        for piece in pieces:
            target(piece)
    elif path is not None:
        from ..store.file_changes import write_out

        write_out(path, (piece.encode("utf-8") for piece in pieces))
    return Exported(str(path or ""), count or len(chosen), tuple(problems), tuple(notices))


@recorded("import")
def import_memories(
    workspace: Workspace,
    file: str | Path | BinaryIO,
    *,
    choice: Choice = Choice(),
    dedup: bool = True,
    judge: bool = False,
    dry_run: bool = False,
    allow_secret: bool = False,
    columns: str = "",
    progress: Callable[[int, int], object] = lambda done, total: None,
    on_line: Callable[[ImportedLine], object] = lambda line: None,
) -> ImportedMemories:
    """Bring memories in from an export, or from what another tool has; nothing that stands is overwritten.

    `file` is a path, of a folder too, or a stream; `columns` says of a table which field is in which column
    (`text=content,tags=labels`). Without `choice` everything is taken, archive and conversations included. `dedup`
    merges what is known already and settles what contradicts, `judge` asks the configured LLM about that and tells
    `progress` how many of how many answers are there. `on_line` is called with what became of each line as it is done.
    Secrets are blanked out unless `allow_secret`. Raise UsageError for a file that cannot be read, is a conversation or
    a folder without memories, BusyError if another process holds the workspace; what is wrong with a line stops none of
    the rest.
    """
    from ..index.index import ask
    from ..store.journal import finish_first
    from ..transfer.foreign_files import ForeignFiles, mapping_of
    from ..transfer.import_target import known_memories
    from ..transfer.importer import Importer

    if judge and not dedup:
        raise UsageError(
            "a judge has nothing to compare with where nothing is compared", "leave out --judge or --no-dedup"
        )
    counts: dict[str, int] = {}
    imported: list[ImportedLine] = []
    reading = ForeignFiles(mapping_of(columns), workspace.zone)
    with ExitStack() as stack:
        lines = _lines(workspace, file, reading, stack, allow_secret=allow_secret)
        wanted = _wanted(workspace, choice)
        if not dry_run:
            finish_first(workspace, "mem import")
        run = Importer(
            workspace,
            wanted,
            ask(workspace, known_memories),
            dedup=dedup,
            judge=_judge(workspace, progress) if judge else None,
            dry_run=dry_run,
            allow_secret=allow_secret,
        )
        for line in run.run(lines):
            counts[line.action] = counts.get(line.action, 0) + 1
            if line.action not in ("unchanged", "left out"):
                imported.append(line)
            on_line(line)
        if not dry_run and counts.keys() - {"unchanged", "left out"}:
            ask(workspace, lambda index: index.refresh())  # so that an edit by hand is seen to be one from now on
    notices = (*reading.notices, *run.notices, *_left_out(workspace, file, reading, is_empty=not counts))
    return ImportedMemories(dry_run, counts, tuple(imported), tuple(run.redacted), notices, run.unheard)


def _left_out(
    workspace: Workspace, file: str | Path | BinaryIO, reading: "ForeignFiles", *, is_empty: bool
) -> Iterator[str]:
    """Yield what a file holds besides memories; raise UsageError where it holds no memory at all."""
    name = "" if not isinstance(file, (str, Path)) else str(file)
    if reading.conversations:
        holds = number_of(reading.conversations, "conversation")
        command = f"`mem session import {quote(name or '-')}`"
        if is_empty:
            raise UsageError(f"it holds {holds} and no memories", f"{command} takes them in")
        yield f"it also holds {holds}: {command} takes them in"
    elif is_empty and name and (workspace.folder / Path(name).expanduser()).is_dir():
        raise UsageError(
            f"{name} is a folder without the memories of another tool",
            f"`mem init {quote(name)}` uses markdown where it is",
        )
    if reading.passed_over:
        yield f"files without memories in them: {reading.passed_over:,}"


def _judge(workspace: Workspace, progress: Callable[[int, int], object]) -> "LlmJudge":
    from ..beliefs.llm_judge import llm_judge

    return llm_judge(workspace, progress)


def _lines(
    workspace: Workspace, file: str | Path | BinaryIO, reading: "ForeignFiles", stack: ExitStack, *, allow_secret: bool
) -> "Iterator[RecordLine]":
    if not isinstance(file, (str, Path)):
        return reading.lines(file, "standard input")
    path = workspace.folder / Path(file).expanduser()
    if not path.is_dir():
        stream = stack.enter_context(open_named(file, allow_secret=allow_secret, folder=workspace.folder))
        return reading.lines(stream, str(file), modified_at(path), path)
    if nearest(path.resolve()) == path.resolve():
        raise UsageError(
            f"{file} is a workspace", f"`mem export --workspace {quote(str(file))} | mem import -` brings it in"
        )
    return reading.folder(path, lambda inner: open_named(inner, allow_secret=allow_secret))


def _wanted(workspace: Workspace, choice: Choice) -> "Filter":
    if choice.as_of:
        raise UsageError("an import is not asked what was believed then", "narrow it with --since and --until")
    if choice.archived:
        raise UsageError("an import takes the archive in anyway", "leave out --archived, or name a --status")
    wanted = choice.filter(workspace)
    return wanted if choice.status else replace(wanted, statuses=())


def _target(workspace: Workspace, file: str | Path) -> Path:
    path = workspace.folder.absolute() / Path(file).expanduser()
    if path.is_dir():
        raise UsageError(f"{file} is a folder", "name a file")
    inner, root = path.parent.resolve() / path.name, workspace.root.resolve()
    if inner.is_relative_to(root):
        name = inner.relative_to(root).as_posix()
        if workspace.layout.kind_of(name):
            raise RefusedError(f"{file} would be one of the memories", "write the export elsewhere")
        if name == MARKER or any(part.startswith(".") for part in name.split("/")):
            raise RefusedError(f"{file} belongs to the workspace and is no export", "write the export elsewhere")
    return path


def _document(
    workspace: Workspace,
    wanted: "Filter",
    chosen: Sequence[tuple[str, str]],
    problems: list[FileProblem],
    notices: list[str],
) -> Iterator[str]:
    from ..index.index import ask
    from ..transfer.export import in_reading_order, markdown_document, read_files

    rows = ask(workspace, lambda index: index.list_entries(wanted, "path"))
    ordered = in_reading_order(chosen, {row["path"]: row["type"] for row in rows})
    if len(ordered) < len(chosen):
        left = number_of(len(chosen) - len(ordered), "conversation", "is", "are")
        notices.append(f"{left} left out of a document: use --format jsonl")
    yield from markdown_document(workspace, read_files(workspace, ordered, problems))

"""Export and import memories."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated

from typer import Argument

from ..api import (
    Context,
    NotFoundError,
    RejectedError,
    UsageError,
    check_choice,
    open_existing,
    open_target,
)
from ..formats import SOURCES, count_noun, cut_middle, get_body, read_tags
from ..index import Index, open_index
from ..store import MARK, METADATA, replace_whole
from ..transfer.export import (
    LINE_ENDINGS,
    ExportedFile,
    Selection,
    find_files,
    find_left_out,
    format_line,
    read_files,
    render_document,
)
from ..transfer.importer import ImportResult, Rejection, import_source, save_time
from ..transfer.items import TransferFile, open_source
from ..transfer.notes import EXPORTED, render_bundle
from ..transfer.records import parse_columns
from .terminal import (
    Result,
    Tags,
    Types,
    ask,
    build_progress,
    clean_line,
    explain_place,
    is_interactive,
)

EXPORT_FIELDS = ("path", "format", "exported", "masked")
IMPORT_FIELDS = ("format", "imported", "unchanged", "held", "rejected", "commands")
MOST_SHOWN = 20  # rejected items; --json has all
FORMATS = ("jsonl", "markdown", "okf")
NOUNS = {
    "entry": "memory",
    "memory": "MEMORY.md",
    "history": "history file",
    "note": "daily note",
    "session": "conversation file",
    "inbox": "pending memory",
}


def run_export(
    context: Context,
    file: Annotated[
        str, Argument(help="A file, or a new folder for Markdown; default: standard output.")
    ] = "-",
    format_: Annotated[str, "jsonl, markdown or okf. Default: from the name of the file."] = "",
    type_: Types = [],
    tag: Tags = [],
    all_: Annotated[bool, "Also export conversations and the inbox, which are private."] = False,
    dry_run: Annotated[bool, "Only show what would be exported."] = False,
    force: Annotated[bool, "Replace an existing file."] = False,
) -> Result:
    """Export memories, MEMORY.md, the history and daily notes.

    `mem export memory.jsonl` writes every file byte for byte, and `mem import memory.jsonl`
    restores them. A name without an ending creates a folder of Markdown files, which you can import
    too. `mem export memory.md` writes one document for people, and --format okf a bundle in the
    Open Knowledge Format. Secrets are masked.

    \b
    Examples:
      mem export memory.jsonl
      mem export memory.md
      mem export backup/ --all
      mem export bundle/ --format okf
      mem export --type preference > preferences.jsonl
    """
    name = choose_format(file, format_)
    selection = Selection([item.lower() for item in type_], read_tags(",".join(tag)), all_)
    workspace = open_existing(context)
    index = open_index(workspace)
    is_document = name == "markdown" and file.endswith((".md", "-"))
    files = find_files(index, selection)
    if is_document or name == "okf":
        statuses = ("active",) if is_document else EXPORTED
        files = [item for item in files if item.kind == "entry" and item.status in statuses]
    # A conversation has a second file.
    counts = Counter(item.kind for item in files if not item.path.endswith(METADATA))
    problems: list[str] = []
    masked = [f"a secret is masked in {item.path}" for item in files if item.is_masked]
    if not dry_run:
        target = context.folder / Path(file).expanduser()
        if file != "-" and not can_write(context, file, target, force=force):
            return Result({"exported": {}}, ["Nothing was exported."], exit_code=1)
        # On a terminal, the export itself shows how far it is.
        if file != "-" or not context.is_terminal:
            workspace.resources["on check"] = build_progress(context, "exporting")
        if is_document:
            write_text(context, file, target, render_all(index, files))
        elif name == "markdown":
            write_folder(file, target, read_files(index, files, selection))
        elif name == "okf":
            bundle = render_bundle(read_files(index, files, selection), problems)
            write_folder(file, target, bundle)
            # A memory with a problem is not in the bundle.
            counts["entry"] -= len(problems)
        else:
            lines = (format_line(item) for item in read_files(index, files, selection))
            write_text(context, file, target, lines)
    messages = [*find_left_out(index), *problems, *masked, *index.messages]
    # Standard output carries the export.
    if file == "-" and not dry_run:
        return Result(messages=messages)
    data = {"path": file, "format": name, "exported": counts, "masked": len(masked)}
    verb = "Would export" if dry_run else "Exported"
    return Result(data, [f"{verb} {describe_counts(counts)}"], None, messages)


def choose_format(file: str, name: str) -> str:
    """Return the format that the user names, or that of the file's name.

    Raises UsageError.
    """
    if name == "okf" and file == "-":
        hint = "name a new folder: mem export bundle --format okf"
        raise UsageError("an OKF bundle is a folder", hint)
    if name:
        check_choice("format", name, FORMATS)
        return name
    if file == "-" or file.endswith(LINE_ENDINGS):
        return "jsonl"
    if Path(file).suffix not in ("", ".md"):
        hint = "add --format jsonl or --format markdown"
        raise UsageError(f"cannot tell the format of {file}", hint)
    return "markdown"


def can_write(context: Context, file: str, target: Path, *, force: bool) -> bool:
    """Return whether the user wants to write to a file. Raises RejectedError."""
    folder = target.resolve()
    if any((parent / MARK).is_file() for parent in (folder, *folder.parents)):
        # It could replace a memory, or become one.
        raise RejectedError(f"{file} is inside a workspace", "choose a path outside of it")
    if force or not target.is_file() or ask(context, f"Replace {file}?"):
        return True
    if is_interactive(context):
        return False
    raise RejectedError(f"{file} exists already", "to replace it, add --force")


def write_text(context: Context, file: str, target: Path, lines: Iterator[str]) -> None:
    """Write line by line, because an export can be larger than the memory of the machine."""
    if file == "-":
        for line in lines:
            # A memory must not move the cursor; a file gets every byte.
            context.stdout.write(clean_line(line) if context.is_terminal else line)
        return
    try:
        with replace_whole(target) as output:
            for line in lines:
                output.write(line.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise RejectedError(f"cannot write {file}: {error.strerror}") from None


def write_folder(name: str, target: Path, files: Iterator[TransferFile]) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise RejectedError(f"{name} is not empty", "choose a new folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in files:
            path = target / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_whole(path) as output:
                output.write(file.text.encode("utf-8", "surrogateescape"))
            # A memory without a date has the date of its file.
            save_time(path, file.modified)
    except OSError as error:
        raise RejectedError(f"cannot write {name}: {error.strerror}") from None


def render_all(index: Index, files: Sequence[ExportedFile]) -> Iterator[str]:
    """Return the document with the active memories.

    The index has passed them through the gate.
    """
    entries = {entry.path: entry for entry in index.list_entries("status = 'active'")}
    chosen = [file.path for file in files if file.path in entries]
    texts = [(entries[path], get_body(index.read_text(path) or "")) for path in chosen]
    return render_document(index.workspace.project or "the user", texts)


def describe_counts(counts: Counter[str]) -> str:
    """Return how many files of each kind there are, in words."""
    parts = []
    for kind, noun in NOUNS.items():
        if counts[kind]:
            parts.append(noun if kind == "memory" else count_noun(counts[kind], noun))
    return ", ".join(parts) or "nothing"


def run_import(
    context: Context,
    file: Annotated[str, Argument(help="A file or folder; - reads standard input.")],
    format_: Annotated[str, "Name of the format, such as csv. Default: mem recognizes it."] = "",
    type_: Types = [],
    tag: Tags = [],
    map_: Annotated[
        list[str], "In CSV and JSON: FIELD=NAME, such as text=content,tags=labels."
    ] = [],
    source_: Annotated[
        str, f"Source of the memories: {', '.join(SOURCES)}. Default: inferred."
    ] = "",
    dry_run: Annotated[bool, "Only show what would be imported."] = False,
) -> Result:
    """Import memories that `mem export` wrote, or the memories of another tool.

    mem reads Markdown notes (a file, a folder or a zip), CSV, JSON and the stores of mem0,
    basic-memory, claude-mem, the MCP memory server and others. Owners and dates stay the same.
    Importing a file again changes nothing. mem lists what it does not import: secrets, forgotten
    texts, memories that have changed here since, and files that it cannot read. Memories of another
    tool have the source inferred, unless you pass --source.

    \b
    Examples:
      mem import memory.jsonl
      mem import backup/ --dry-run
      mem import ~/vault
      mem import people.csv --map text=what,owner=who
    """
    path = (context.folder / Path(file).expanduser()).resolve()
    stream = open_input(context) if file == "-" else None
    workspace = open_target(context)
    try:
        source = open_source(path, file, stream)
    except OSError as error:
        raise NotFoundError(f"cannot read {file}: {error.strerror}") from None
    if source_:
        check_choice("source", source_, SOURCES)
    source.columns = parse_columns(map_)
    source.memory_source = source_
    source.on_progress = build_progress(context, "reading")
    workspace.resources["on check"] = build_progress(context, "checking")
    workspace.resources["on progress"] = build_progress(context, "saving")
    result = import_source(
        workspace,
        source,
        format_name=format_,
        selection=Selection([item.lower() for item in type_], read_tags(",".join(tag))),
        is_dry_run=dry_run,
    )
    data = {name: getattr(result, name) for name in IMPORT_FIELDS}
    lines = describe_result(result, is_dry_run=dry_run)
    messages = [describe_rejection(item) for item in result.rejected]
    if len(messages) > MOST_SHOWN:
        rest = len(messages) - MOST_SHOWN
        messages[MOST_SHOWN:] = [f"and {rest:,} more: --json lists all of them"]
    code = 3 if result.rejected else 0
    place = [] if dry_run else explain_place(workspace)
    return Result(data, lines, None, [*result.messages, *messages, *place], exit_code=code)


def describe_rejection(item: Rejection) -> str:
    """Return one line.

    Names in a hostile archive have line ends, or 300 letters.
    """
    names = [item.place]
    if item.path and item.place not in item.path:
        names.append(item.path)
    short = [cut_middle(name.replace("\n", "?"), 60, 30, "…") for name in names]
    return f"not imported: {': '.join(short)}: {item.reason}"


def open_input(context: Context) -> IO[bytes]:
    """Return the bytes of standard input."""
    # A stream in memory has no bytes of its own.
    buffer = getattr(context.stdin, "buffer", None)
    return buffer or io.BytesIO(context.stdin.read().encode("utf-8", "surrogateescape"))


def describe_result(result: ImportResult, *, is_dry_run: bool) -> list[str]:
    verb = "Would import" if is_dry_run else "Imported"
    lines = [f"{verb} {describe_counts(result.imported)}"]
    lines += [f"  {example}" for example in result.examples]
    rest = result.imported.total() - len(result.examples)
    if result.examples and rest:
        lines.append(f"  and {rest:,} more")
    if result.unchanged:
        lines.append(f"{count_noun(result.unchanged, 'item')} already here")
    if result.held:
        count = count_noun(result.held, "memory")
        lines.append(f"In the inbox: {count} similar to a forgotten memory (mem review)")
    if result.rejected:
        verb = "Would not import" if is_dry_run else "Not imported:"
        lines.append(f"{verb} {count_noun(len(result.rejected), 'item')}")
    if result.imported["session"] and not is_dry_run:
        lines.append("Learn from it: mem consolidate --all")
    if len(result.commands) > 1:
        lines.append(f"Undo: mem undo, {len(result.commands)} times")
    elif result.commands:
        lines.append("Undo: mem undo")
    return lines

"""Export a workspace, and read its exports again.

There are two exports that can be read again: JSON lines, in which a line is one file with its path,
its kind and its whole text, and a folder of Markdown. Neither has what mem hides from every output.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..formats import BLANK, format_time, read_file_time
from ..index import Index, IndexedEntry
from ..store import (
    MARK,
    METADATA,
    Workspace,
    build_mask,
    mask_value,
    read_file,
    redact_text,
    report_progress,
)
from .files import FOLDERS, ZIP_ERRORS, describe_error, list_members, walk_folder
from .items import (
    BadItem,
    Content,
    Item,
    Source,
    TransferFile,
    is_encodable,
    parse_lines,
)

LINE_ENDINGS = (".jsonl", ".ndjson")
LARGEST_LINE = 32 * 1024 * 1024  # characters; a line can be a whole conversation
NO_FILE = "not a file of a workspace: `path` and `text` are missing"
KINDS = (*FOLDERS, "memory", "history")
DOCUMENT_TITLE = "Memories of "
HEADINGS = {
    "preference": "Preferences",
    "constraint": "Rules",
    "correction": "Corrections",
    "fact": "Facts",
    "entity": "People and things",
    "observation": "Observations",
    "procedure": "Procedures",
    "lesson": "Lessons",
    "episode": "Episodes",
    "summary": "Summaries",
}
# Forgotten memories come last: an import that is interrupted and repeated would otherwise refuse
# the other files that mention them.
FIND_FILES = """
select path, kind, masked, hidden, coalesce(status, ''), coalesce(created_at, '')
from files left join entries using(file)
where kind in ('entry', 'memory', 'history', 'note', 'session')
    and file not in
        (select file from problems where code in ('unread', 'conflict', 'purged'))
    and ({condition})
order by coalesce(status, '') = 'forgotten', path
"""
FIND_LEFT_OUT = """
select distinct path, line, reason from problems
where code in ('unread', 'conflict', 'name') order by path
"""
# The id of a note in a vault is its path, and `build_standard_path` moves the note to `entries/`.
SUPERSEDED_BY = re.compile(r"(?m)^(superseded_by: [\"']?)(?:mem/entries/|(?!entries/))(?=.*\.md)")
# Of the metadata of a conversation. The ids of agents look like secrets, and an import needs them.
ID_KEYS = ("id", "consolidatedTo", "fallbackTo")


class ExportedFile(NamedTuple):
    """A file to export."""

    path: str
    kind: str
    is_masked: bool = False  # it contains a secret
    is_hidden: bool = False  # it contains a forgotten or purged passage
    status: str = ""
    created_at: str = ""


class Selection(NamedTuple):
    """The memories that the user chose; by default all of them, and the other files."""

    types: Sequence[str] = ()
    tags: Sequence[str] = ()
    with_conversations: bool = False  # and with the inbox

    @property
    def is_partial(self) -> bool:
        return bool(self.types or self.tags)


def find_files(index: Index, selection: Selection) -> list[ExportedFile]:
    """Return the files to export, in the order in which they are imported."""
    condition = "1"
    # `tags` is a list in JSON.
    for clause, values in (
        (" and type in ({})", selection.types),
        (" and exists (select 1 from json_each(tags) where value in ({}))", selection.tags),
    ):
        if values:
            condition += clause.format(", ".join("?" * len(values)))
    statement = FIND_FILES.format(condition=condition)
    rows = index.run(statement, [*selection.types, *selection.tags])
    files = [ExportedFile(*row) for row in rows]
    if not selection.with_conversations:
        # Conversations are private, so they need --all.
        return [file for file in files if file.kind != "session"]
    if not selection.is_partial:
        files += find_private_files(index.workspace)
    return files


def find_private_files(workspace: Workspace) -> Iterator[ExportedFile]:
    """Yield the inbox and the metadata of conversations.

    The index leaves them out, so nobody has looked for secrets in them.
    """
    root = workspace.root / workspace.prefix
    for path in sorted(walk_folder(root)):
        kind = find_kind(path)
        if kind != "inbox" and not path.endswith(f"/{METADATA}"):
            continue
        file = root / path
        # A link may lead anywhere, and a name with a secret cannot be masked.
        if file.is_file() and not file.is_symlink() and redact_text(workspace, path) == path:
            yield ExportedFile(f"{workspace.prefix}{path}", kind, is_hidden=True)


def find_kind(path: str) -> str:
    """Return the kind of a file of a standard workspace, or an empty string."""
    if path == "MEMORY.md":
        return "memory"
    if "/" not in path:
        is_history = path.startswith("HISTORY") and path.endswith(".md")
        return "history" if is_history else ""
    kind = next((kind for kind, folder in FOLDERS.items() if path.startswith(folder)), "")
    return kind if kind == "session" or path.endswith(".md") else ""


def find_left_out(index: Index) -> list[str]:
    """Return a line for each file that cannot be exported."""
    return [
        f"not exported: {redact_text(index.workspace, path)}:{line}: {reason}"
        for path, line, reason in index.run(FIND_LEFT_OUT).fetchall()
    ]


def read_files(
    index: Index, files: Sequence[ExportedFile], selection: Selection
) -> Iterator[TransferFile]:
    """Read the files one by one.

    Secrets are masked. Forgotten passages are hidden in a selection; a whole export contains the
    forgotten memory too, so the reader of the copy hides them again. Purged ones are always hidden.
    """
    from ..index import ForgottenTexts

    workspace = index.workspace
    purged = ForgottenTexts({}, workspace.machine)
    forgotten = index.load_forgotten() if selection.is_partial else purged
    mask = build_mask(workspace)
    for file in report_progress(workspace, files):
        text = read_file(workspace, file.path)
        if text is None:
            continue  # deleted meanwhile
        if file.path.endswith(f"/{METADATA}"):
            text = mask_json(text, mask, ID_KEYS)
        elif file.kind == "session" and (file.is_masked or file.is_hidden):
            text = "\n".join(mask_json(line, mask) for line in text.split("\n"))
        elif file.is_hidden or file.is_masked:
            # A forgotten memory repeats itself, so hiding forgotten texts would empty its own file.
            visible = purged if file.status == "forgotten" else forgotten
            text = redact_text(workspace, visible.hide(text)[0])
        if file.status == "superseded":
            text = SUPERSEDED_BY.sub(r"\1entries/", text, 1)
        path = build_standard_path(workspace.prefix, file)
        yield TransferFile(path, file.kind, text, read_modified(workspace, file))


def mask_json(text: str, mask: Callable[[str], str], kept_names: Sequence[str] = ()) -> str:
    """Return a JSON value with its secrets masked, except under `kept_names`."""
    try:
        value = json.loads(text)
    except ValueError:
        return mask(text)
    # Masking the text itself could break its JSON, for example in the middle of an escape.
    masked = mask_value(value, mask)
    if isinstance(value, dict):
        masked |= {name: value[name] for name in kept_names if name in value}
    return text if masked == value else json.dumps(masked, ensure_ascii=False)


def build_standard_path(prefix: str, file: ExportedFile) -> str:
    """Return the path that a file has in a standard workspace."""
    path = file.path.removeprefix(prefix)
    # A note of a vault is a memory outside of mem's own folder.
    is_outside = file.kind == "entry" and not path.startswith("entries/")
    return f"entries/{path}" if is_outside else path


def read_modified(workspace: Workspace, file: ExportedFile) -> str:
    """Return the time of a file, if it is the date of the memory.

    Other memories have their date in the text.
    """
    status = (workspace.root / file.path).stat()
    modified = format_time(read_file_time(status.st_mtime_ns))
    return modified if modified == file.created_at else ""


def render_document(subject: str, entries: list[tuple[IndexedEntry, str]]) -> Iterator[str]:
    """Yield one document with the text of each memory, below the heading of its type."""
    yield f"# {DOCUMENT_TITLE}{subject}\n"
    for kind, heading in HEADINGS.items():
        chosen = [(entry, body) for entry, body in entries if entry.type == kind]
        if chosen:
            yield f"\n## {heading}\n\n"
        for entry, body in chosen:
            tags = [f"#{tag}" for tag in entry.tags]
            details = ", ".join([entry.created_at[:10], *tags])
            yield f"{format_item(entry.title, body)} ({details})\n"


def is_document(source: Source) -> bool:
    """Return whether a file is a document that `render_document` wrote."""
    first, _, rest = source.decode_head().partition("\n")
    headings = tuple(f"\n## {heading}\n\n- " for heading in HEADINGS.values())
    return first.startswith(f"# {DOCUMENT_TITLE}") and rest.startswith(headings)


def format_item(title: str, body: str) -> str:
    """Return a memory as an item of a list, with further lines indented."""
    # A note often begins with its title.
    name = f"**{title}**: " if title and not body.startswith(title) else ""
    return f"- {name}{body.strip()}".replace("\n", "\n  ")


def format_line(file: TransferFile) -> str:
    """Return a file as one line of JSON."""
    data = {"path": file.path, "kind": file.kind}
    if file.modified:
        data["modified"] = file.modified
    data["text"] = file.text
    # Bytes that are not UTF-8 need JSON's escapes, or the line would not be UTF-8.
    is_clean = is_encodable(file.path + file.text)
    return json.dumps(data, ensure_ascii=not is_clean) + "\n"


def read_jsonl(source: Source) -> Iterator[Item] | None:
    """Read the lines that `format_line` wrote."""
    if is_empty_export(source):
        return iter(())
    # `format_line` writes the path first.
    if source.decode_head().lstrip(BLANK).startswith('{"path":'):
        return read_lines(source)
    return None


def is_empty_export(source: Source) -> bool:
    """Return whether a source is a file of JSON lines without lines."""
    if source.is_tree or source.head:
        return False
    is_named = source.format_name == "jsonl" or source.name == "-"
    return is_named or source.name.lower().endswith(LINE_ENDINGS)


def read_lines(source: Source) -> Iterator[Item]:
    for place, value in parse_lines(source.read_lines(LARGEST_LINE)):
        yield Item(place, build_file(value))


def build_file(value: Any) -> Content:
    """Return the file of a line, or why there is none."""
    if isinstance(value, BadItem):
        return value
    data = value if isinstance(value, dict) else {}
    path, text = data.get("path"), data.get("text")
    if not isinstance(path, str) or not isinstance(text, str):
        return BadItem(NO_FILE)
    kind = str(data.get("kind") or "entry")
    if kind not in KINDS:
        return BadItem(f"unknown kind {kind!r}")
    try:
        # JSON allows halves of characters such as "\ud800", which no file can contain.
        (path + text).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return BadItem("its text is not Unicode")
    return TransferFile(path, kind, text, str(data.get("modified") or ""))


def read_markdown(source: Source) -> Iterator[Item] | None:
    """Read a folder or archive that `mem export` wrote, or a workspace."""
    if not source.is_tree:
        return None
    for member in list_members(source):
        if isinstance(member, Item) or not member.path.startswith((MARK, "entries/")):
            continue
        # The notes of a vault are anywhere in it.
        is_vault = member.path == MARK and b"layout: vault" in member.read()
        return None if is_vault else read_folder(source)
    return None


def read_folder(source: Source) -> Iterator[Item]:
    for member in list_members(source):
        if isinstance(member, Item):
            yield member
            continue
        kind = find_kind(member.path)
        if not kind:
            continue
        try:
            # Every byte must come back, even in a file that is not UTF-8.
            text = member.read().decode("utf-8", "surrogateescape")
        except (*ZIP_ERRORS, OSError) as error:
            yield Item(member.path, BadItem(f"cannot be read: {describe_error(error)}"))
            continue
        yield Item(member.path, TransferFile(member.path, kind, text, member.modified))

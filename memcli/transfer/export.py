"""Export the files of a workspace as they are, except what mem hides from every output."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..formats import format_time, parse_event, read_file_time
from ..index import Index
from ..store import METADATA, build_mask, mask_field, mask_value, read_file, redact_text
from .backup import find_kind, list_files
from .items import TransferFile

# Forgotten memories come last: an import that is interrupted and repeated would otherwise refuse
# the other files that mention them.
ROWS = """
select path, kind, masked, hidden, coalesce(status, ''), coalesce(created_at, '')
from files left join entries using(file)
where kind in ('entry', 'memory', 'history', 'note', 'session')
    and file not in
        (select file from problems where code in ('unread', 'conflict', 'purged', 'name'))
    and ({condition})
order by coalesce(status, '') = 'forgotten', path
"""
ID_KEYS = ("id", "consolidatedTo", "fallbackTo")


class Exported(NamedTuple):
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


def find_files(index: Index, selection: Selection) -> list[Exported]:
    """Return the files to export, in the order in which they are imported."""
    conditions, values = ["1"], [*selection.types, *selection.tags]
    if selection.types:
        marks = ", ".join("?" * len(selection.types))
        conditions.append(f"type in ({marks})")
    if selection.tags:
        marks = ", ".join("?" * len(selection.tags))
        conditions.append(f"exists (select 1 from json_each(tags) where value in ({marks}))")
    rows = index.run(ROWS.format(condition=" and ".join(conditions)), values).fetchall()
    files = [
        Exported(path, kind, bool(masked), bool(hidden), status, created_at)
        for path, kind, masked, hidden, status, created_at in rows
        if kind != "session" or selection.with_conversations
    ]
    workspace = index.workspace
    if selection.with_conversations and not selection.is_partial:
        # The index leaves these out, so nobody has looked for secrets in them.
        files += [
            Exported(f"{workspace.prefix}{path}", find_kind(path), is_hidden=True)
            for path in sorted(list_files(workspace.root / workspace.prefix))
            if (path.endswith(f"/{METADATA}") or find_kind(path) == "inbox")
            and redact_text(workspace, path) == path
        ]
    return files


def find_left_out(index: Index) -> list[str]:
    """Return a line for each file that cannot be exported."""
    rows = index.run(
        "select distinct path, line, reason from problems where code in"
        " ('unread', 'conflict', 'name') order by path"
    ).fetchall()
    return [
        f"not exported: {redact_text(index.workspace, path)}:{line}: {reason}"
        for path, line, reason in rows
    ]


def read_files(
    index: Index, files: Sequence[Exported], selection: Selection
) -> Iterator[TransferFile]:
    """Read the files one by one.

    Secrets are masked. Forgotten passages are hidden in a selection; a whole export contains the
    forgotten memory too, so the reader of the copy hides them again. Purged ones are always hidden.
    """
    from ..index import ForgottenTexts

    workspace = index.workspace
    purged = ForgottenTexts({}, workspace.machine)
    forgotten = index.load_forgotten() if selection.is_partial else purged
    for file in files:
        text = read_file(workspace, file.path)
        if text is None:
            continue  # deleted meanwhile
        if file.path.endswith(f"/{METADATA}"):
            text = mask_metadata(text, build_mask(workspace))
        elif file.kind == "session" and (file.is_masked or file.is_hidden):
            text = mask_events(text, build_mask(workspace))
        elif file.is_hidden or file.is_masked:
            visible = purged if file.status == "forgotten" else forgotten
            text = redact_text(workspace, visible.hide(text)[0])
        modified = format_time(read_file_time((workspace.root / file.path).stat().st_mtime_ns))
        path = build_standard_path(workspace.prefix, file)
        # Only a memory without a date in its file needs the time of the file.
        yield TransferFile(path, file.kind, text, modified if modified == file.created_at else "")


def build_standard_path(prefix: str, file: Exported) -> str:
    """Return the path that a file has in a standard workspace."""
    path = file.path.removeprefix(prefix)
    # A note of a vault is a memory outside of mem's own folder.
    is_outside = file.kind == "entry" and not path.startswith("entries/")
    return f"entries/{path}" if is_outside else path


def mask_metadata(text: str, mask: Callable[[str], str]) -> str:
    """Return the metadata of a conversation with the secrets in its values masked."""
    data = parse_event(text)
    if data is None:
        return mask(text)
    # The ids of agents look like secrets, and an import needs them.
    masked = {
        name: value if name in ID_KEYS else mask_field(name, value, mask)
        for name, value in data.items()
    }
    return text if masked == data else json.dumps(masked, ensure_ascii=False, indent=1) + "\n"


def mask_events(text: str, mask: Callable[[str], str]) -> str:
    """Return the lines of a conversation with the secrets in their values masked."""
    lines = []
    for line in text.split("\n"):
        try:
            event = json.loads(line)
        except ValueError:
            lines.append(mask(line))
            continue
        masked = mask_value(event, mask)
        lines.append(line if masked == event else json.dumps(masked, ensure_ascii=False))
    return "\n".join(lines)

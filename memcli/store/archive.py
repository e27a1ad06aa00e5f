"""The archive: what belongs there says so, folders that it empties stay in git, and what was forgotten is looked for.

git takes a folder that lost all its files to another one for a renamed folder: at the next merge it puts the files
that other clones made there into the archive too. So a folder that is emptied keeps a `.gitkeep`, and an entry that is
archived holds the digest of what it says: one without a mark, or with another text, was put there or changed by
somebody else.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ..errors import MemError, RefusedError
from ..formats.entry import spelled
from ..formats.frontmatter.document import Document, edit, parse
from ..formats.text_lines import FileProblem, normalized
from . import atomic_files, trust
from .file_steps import is_temporary
from .layouts import Layout
from .plan_steps import Change, Move, Step, encoded, text_of_file
from .privacy import write_private
from .workspace import Workspace

KEEP = ".gitkeep"
MARK = "archived_as"
"""The field of an archived entry with the digest of what it said when it was put there."""
_EXPLAINING = (MARK, "forgotten_at", "version_of")
"""Fields of which an archived entry has one."""
_UNMARKED = "unforgotten"
"""The file of derived data with the stats of archived files that have no mark of forgetting."""
_FEW = 16
"""Files that are read again sooner than noted."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which no change leaves a file's times as they are."""
CHANGED = "changed after it was archived"
UNEXPLAINED = "no forgetting put it here (git moves files of a folder that was emptied)"


def _is_archived_entry(layout: Layout, path: str) -> bool:
    """Return whether a path is that of an entry in the archive."""
    return layout.is_archived(path) and layout.kind_of(path) == "entry"


def keep_folders(workspace: Workspace, leaving: Collection[str]) -> None:
    """Put a `.gitkeep` into each folder of entries that would be empty without the files that are about to leave."""
    folders = dict.fromkeys(os.path.dirname(path) for path in leaving if workspace.layout.kind_of(path) == "entry")
    leaving_files = {os.fspath(workspace.root / path) for path in leaving}
    for folder in filter(None, folders):
        if not any(name not in leaving_files for name in files_below(workspace.root / folder)):
            with suppress(FileExistsError):
                atomic_files.create(workspace.path(f"{folder}/{KEEP}"), b"")


def is_hollow(folder: Path) -> bool:
    """Return whether a folder holds nothing but what keeps it in git."""
    names = [os.path.basename(name) for name in files_below(folder)]
    return bool(names) and set(names) == {KEEP}


def with_marks(workspace: Workspace, steps: Sequence[Step], path_of: Callable[[str], Path]) -> list[Step]:
    """Return steps after which each entry they put into the archive has a mark, and each they take out has none."""
    layout = workspace.layout
    changed = {step.path for step in steps if isinstance(step, Change)}
    marked: list[Step] = []
    after_moves: list[Step] = []
    last_move = max((number for number, step in enumerate(steps) if isinstance(step, Move)), default=-1)
    for number, step in enumerate(steps):
        if isinstance(step, Change) and step.after is not None:
            step = replace(step, after=settled(layout, step.path, step.after))
        marked.append(step)
        if isinstance(step, Move):
            file = os.fspath(path_of(step.path))
            for name in [file] if step.digest else files_below(Path(file)):
                path = step.to + name.removeprefix(file)
                if layout.kind_of(path) == "entry" and path not in changed and not os.path.islink(name):
                    text = text_of_file(Path(name)) or ""
                    new = settled(layout, path, text)
                    after_moves += [Change(path, text, new)] * (new != text)
        if number == last_move:
            marked += after_moves
    return marked


def settled(layout: Layout, path: str, text: str) -> str:
    """Return the text of an entry at a path with a mark that fits it in the archive, and with none elsewhere.

    A text that could not be had back without the mark, byte for byte, gets none; an earlier text of another entry
    needs none.
    """
    if layout.kind_of(path) != "entry" or not (layout.is_archived(path) or f"{MARK}:" in text):
        return text
    if not layout.is_archived(path):
        return _unmarked(text)
    document = parse(text)
    old, mark = document.fields.get(MARK), _mark_of(document)
    if document.problem or "version_of" in document.fields or old == mark or (old is not None and not _is_mark(old)):
        return text
    try:
        text.encode()
        new = edit(text, {MARK: mark})
    except (RefusedError, UnicodeEncodeError):
        return text
    return new if old or _unmarked(new) == text else text


def _unmarked(text: str) -> str:
    """Return a text without the mark, and without the frontmatter that was made for it alone."""
    document = parse(text)
    if document.problem or not _is_mark(document.fields.get(MARK)):
        return text
    try:
        without = edit(text, {MARK: None})
    except RefusedError:
        return text
    remaining = parse(without)
    return without if remaining.head else text[: int(document.bom)] + remaining.body.removeprefix(document.newline)


def _is_mark(value: object) -> bool:
    """Return whether a value of the field is a mark, and not a person's own word."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{16}", value) is not None


def _mark_of(document: Document) -> str:
    """Return the digest of what an entry says and of how often it was confirmed, whichever line ends a checkout has."""
    strength = document.fields.get(spelled(document.fields, "strength"), 1)
    body = document.body.replace("\r\n", "\n").strip()
    return atomic_files.digest(encoded(f"{strength} {body}"))[:16]


def fits(text: str) -> bool:
    """Return whether a text has the mark of an archived entry, and says what it said then."""
    document = parse(text)
    return document.fields.get(MARK) == _mark_of(document)


def strays(workspace: Workspace, most: int | None = None) -> list[FileProblem]:
    """Name the entries in the archive that say no reason to be there, or changed since they were put there.

    With `most`, look only at so many, the last changed first. An archive in another tool's folder is that tool's own.
    """
    layout = workspace.layout
    problems = []
    for path in archived(workspace, most) if layout.is_mems else []:
        with suppress(MemError, OSError):
            text = text_of_file(workspace.root / path) or ""
            document = parse(text)
            fields = document.fields
            if _is_mark(fields.get(MARK)) and fields[MARK] != _mark_of(document):
                problems.append(FileProblem(path, 1, CHANGED))
            elif not any(fields.get(name) for name in _EXPLAINING) and settled(layout, path, text) != text:
                problems.append(FileProblem(path, 1, UNEXPLAINED))
    return sorted(problems, key=lambda problem: problem.path)


def changed_since(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Return those of some archived entries that do not say what they said when they were put there."""
    changed = []
    for path in paths:
        if _is_archived_entry(workspace.layout, path):
            with suppress(MemError, OSError):
                text = text_of_file(workspace.root / path) or ""
                changed += [path] * (f"{MARK}:" in text and settled(workspace.layout, path, text) != text)
    return changed


def mark_again(workspace: Workspace, paths: Collection[str]) -> None:
    """Let entries belong in the archive as they are now."""
    for path in paths:
        target = workspace.root / path
        text = "" if target.is_symlink() else text_of_file(target) or ""
        if (new := settled(workspace.layout, path, text)) != text:
            atomic_files.replace(target, encoded(new), atomic_files.digest(encoded(text)))


def archived(workspace: Workspace, most: int | None = None) -> list[str]:
    """List the entries in the archive, the last changed first; with `most`, so many of them."""
    root = os.fspath(workspace.root)
    below = files_below(workspace.root / workspace.layout.archive)
    names = (os.path.relpath(name, root).replace(os.sep, "/") for name in below)
    paths = [
        name for name in names if _is_archived_entry(workspace.layout, name) and not os.path.islink(f"{root}/{name}")
    ]
    return sorted(paths, key=lambda name: -_changed_at(f"{root}/{name}"))[:most]


def may_have_forgotten(workspace: Workspace, texts: Collection[str] | None = None) -> bool:
    """Return whether anything was forgotten or deleted for good here; with `texts`, anything that may say one of them.

    Opens no index. The files are the record, and a pull or an editor may change them: those whose stat is not noted as
    that of a file without a mark are read.
    """
    if not workspace.is_trusted:
        return False
    wanted = None if texts is None else set(map(normalized, texts)) - {""}
    state, root = workspace.state, workspace.root
    if state and trust.has_purged(state, root) and (wanted is None or trust.purged_on(state, root, wanted)):
        return True
    return workspace.has_archive and _has_marked(workspace, wanted)


def _has_marked(workspace: Workspace, wanted: Collection[str] | None) -> bool:
    note = workspace.derived / _UNMARKED
    noted = _noted(note)
    unmarked: dict[str, int] = {}
    has_marked = False
    for name in files_below(workspace.root / workspace.layout.archive):
        if not name.endswith(".md"):
            continue
        with suppress(MemError, OSError):
            status = os.stat(name)
            stat = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"
            if stat not in noted and b"forgotten_at" in (data := atomic_files.read(Path(name))):
                if has_marked := wanted is None or _may_say(data, wanted):
                    break
                continue
            unmarked[stat] = max(status.st_mtime_ns, status.st_ctime_ns)
    if len(unmarked.keys() - noted) > _FEW:
        settled = time.time_ns() - _SETTLED
        stats = {stat for stat, changed in unmarked.items() if changed < settled} | (noted if has_marked else set())
        with suppress(OSError):
            write_private(note, "\n".join(stats))
    return has_marked


def _may_say(data: bytes, texts: Collection[str]) -> bool:
    """Return whether a file may say one of some normalized texts; how its frontmatter quotes wordings is not read."""
    whole = normalized(data.decode("utf-8", "replace"))
    return b"wordings" in data or any(text in whole for text in texts)


def _noted(file: Path) -> set[str]:
    try:
        return set(file.read_text("ascii", "replace").split("\n"))
    except OSError:
        return set()


def _changed_at(path: str) -> int:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0


def files_below(folder: Path) -> Iterator[str]:
    """Yield the files in a folder and below it, without those that are only being written."""
    for inner, _, names in os.walk(folder):
        yield from (os.path.join(inner, name) for name in names if not is_temporary(name))


def put(
    workspace: Workspace,
    path: str,
    data: bytes,
    mode: int = 0o666,
    modified: datetime | None = None,
    over: str | None = None,
    *,
    is_restored: bool = False,
) -> None:
    """Write a file, marked where it is an entry in the archive, or replace the one whose digest is `over`.

    One that is restored keeps every byte, its mark or the lack of one included. `modified` is when a file that comes
    from elsewhere was last changed. The mode is never more than the user's umask allows. Raises FileExistsError if the
    name is taken.
    """
    target = workspace.path(path)
    if not is_restored:
        data = encoded(settled(workspace.layout, path, data.decode("utf-8", "surrogateescape")))
    if over is None:
        atomic_files.create(target, data, mode)
    else:
        from .lock import locked

        wait = workspace.settings["lock.wait"]
        with locked(workspace.derived, command="mem import", now=workspace.stamp, wait=wait) as held:
            held.check()
            atomic_files.replace(target, data, over)
    if modified is not None:
        with suppress(OSError):  # a file system that keeps no such time
            os.utime(target, (modified.timestamp(), modified.timestamp()))

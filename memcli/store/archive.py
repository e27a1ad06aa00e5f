"""What keeps the archive and git apart: emptied folders stay in git, and each archived file has a record of its move.

git takes a folder that lost all its files to another one for a renamed folder: at the next merge it puts the files
that other clones made there into the archive too. So a folder that is emptied keeps a `.gitkeep`, and a file in the
archive that no record names, or that changed since, can be told. A record is a file of its own, named by what it
says, so that records of two clones never conflict.
"""

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from ..errors import MemError
from ..formats.text_lines import FileProblem, normalized
from . import atomic_files, trust
from .file_steps import is_temporary
from .layouts import Layout
from .privacy import make_derived, write_private
from .workspace import Workspace

KEEP = ".gitkeep"
RECORDS = ".moves"
ADOPTED = "adopted-"
"""How the name of the record begins that explains what was in the archive before there were records."""
_UNMARKED = "unforgotten"
"""The file of derived data with the stats of archived files that have no mark of forgetting."""
_FEW = 16
"""Files that are read again sooner than noted."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which no change leaves a file's times as they are."""
CHANGED = "changed after it was archived"
UNEXPLAINED = "no forgetting put it here (git moves files of a folder that was emptied)"


def records_folder(layout: Layout) -> str:
    """Return the folder of the records."""
    return f"{layout.archive}{RECORDS}"


def is_archived_entry(layout: Layout, path: str) -> bool:
    """Return whether a path is that of an entry in the archive."""
    return layout.is_archived(path) and layout.kind_of(path) == "entry"


def keep_folders(workspace: Workspace, leaving: Collection[str]) -> None:
    """Put a `.gitkeep` into each folder of entries that would be empty without the files that are about to leave."""
    folders = dict.fromkeys(os.path.dirname(path) for path in leaving if workspace.layout.kind_of(path) == "entry")
    gone = {os.fspath(workspace.root / path) for path in leaving}
    for folder in filter(None, folders):
        if not any(name not in gone for name in files_below(workspace.root / folder)):
            with suppress(FileExistsError):
                atomic_files.create(workspace.path(f"{folder}/{KEEP}"), b"")


def is_hollow(folder: Path) -> bool:
    """Return whether a folder holds nothing but what keeps it in git."""
    names = [os.path.basename(name) for name in files_below(folder)]
    return bool(names) and set(names) == {KEEP}


def records_of(workspace: Workspace, contents: Mapping[str, bytes]) -> dict[str, str]:
    """Return path and text of the records that explain files of the archive, given by their paths there.

    The first record is preceded by one of the files that lay there already: a mem that kept no records, or whoever made
    the folder, put them there.
    """
    found = {}
    for mark, told in ((ADOPTED, _unrecorded(workspace)), ("", contents)):
        text = "".join(
            f"{_digest(data)}\t{path}\n" for path, data in sorted(told.items()) if mark == "" or path not in contents
        )
        name = atomic_files.digest(text.encode("utf-8", "surrogateescape"))[:20]
        if text:
            found[f"{records_folder(workspace.layout)}/{mark}{name}.tsv"] = text
    return found


def newly_adopted(workspace: Workspace) -> list[str]:
    """Return, once on this machine, the files that were in the archive before it was recorded who put them there."""
    told = workspace.derived / "adopted-told"
    old = [] if told.exists() else adopted(workspace)
    if old:
        with suppress(OSError):  # said again the next time
            make_derived(told.parent)
            write_private(told, "")
    return old


def adopted(workspace: Workspace) -> list[str]:
    """List the archived entries that nothing says who put there: they were there before the first record."""
    if not workspace.layout.is_mems and not workspace.layout.is_vault:
        return []  # the archive may be another tool's own
    records = _listed(workspace.root / records_folder(workspace.layout))
    if not records:
        return sorted(_archived(workspace, None))
    found = _known([one for one in records if os.path.basename(one).startswith(ADOPTED)])
    return sorted(path for path in found if (workspace.root / path).is_file())


def archived_since(workspace: Workspace, path: str) -> tuple[str, float]:
    """Return the record that explains an archived file, and when it came to this machine; empty and 0 without one."""
    for record in sorted(_listed(workspace.root / records_folder(workspace.layout))):
        if path in _known([record]):
            with suppress(OSError):
                return os.path.relpath(record, workspace.root), os.stat(record).st_mtime
    return "", 0.0


def unrecord(workspace: Workspace, paths: Collection[str]) -> None:
    """Take files that were deleted for good out of the records of their moves: names are made of what files say."""
    for record in map(Path, _listed(workspace.root / records_folder(workspace.layout))):
        told = atomic_files.read(record).replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
        for name, kept in cleared(os.fspath(record), told, paths).items():
            if not kept:
                atomic_files.remove(record, for_good=True)
                continue
            with suppress(FileExistsError):
                atomic_files.create(Path(name), kept.encode("utf-8", "surrogateescape"))


def cleared(record: str, told: str, paths: Collection[str]) -> dict[str, str]:
    """Return what becomes of a record, given by its path, without some files: texts by path, empty for what goes."""
    lines = told.splitlines(keepends=True)
    kept = "".join(line for line in lines if line.rstrip("\r\n").partition("\t")[2] not in paths)
    if kept == told:
        return {}
    folder, slash, name = record.rpartition("/")
    digest = atomic_files.digest(kept.encode("utf-8", "surrogateescape"))[:20]
    new = f"{folder}{slash}{ADOPTED * name.startswith(ADOPTED)}{digest}.tsv"
    return {**({new: kept} if kept else {}), record: ""}


def explain(workspace: Workspace, contents: Mapping[str, bytes]) -> None:
    """Record that these files belong in the archive as they are; paths that are no archived entries are left out."""
    found = {path: data for path, data in contents.items() if is_archived_entry(workspace.layout, path)}
    if found:
        for path, text in records_of(workspace, found).items():
            with suppress(FileExistsError):
                atomic_files.create(workspace.path(path), text.encode("utf-8", "surrogateescape"))


def _unrecorded(workspace: Workspace) -> dict[str, bytes]:
    """Read the archive of a mem that kept no records; nothing where one is."""
    there: dict[str, bytes] = {}
    for path in [] if _listed(workspace.root / records_folder(workspace.layout)) else _archived(workspace, None):
        with suppress(MemError, OSError):
            there[path] = atomic_files.read(workspace.root / path)
    return there


def strays(workspace: Workspace, most: int | None = None) -> list[FileProblem]:
    """Name the archived entries that no record explains; with `most`, look only at so many, the last changed first.

    In a folder of another tool a file without a record counts only where a record names another file of its folder:
    an archive may be that tool's own. An archive without any record was made by a mem that kept none.
    """
    known = _known(_listed(workspace.root / records_folder(workspace.layout)))
    if not known:
        return []
    folders = {path.rpartition("/")[0] for path in known}
    is_own = workspace.layout.is_mems
    found = []
    for path in _archived(workspace, most):
        if path in known:
            if _is_changed(workspace.root / path, known[path]):
                found.append(FileProblem(path, 1, CHANGED))
        elif is_own or path.rpartition("/")[0] in folders:
            found.append(FileProblem(path, 1, UNEXPLAINED))
    return sorted(found, key=lambda one: one.path)


def changed_since(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Return those of some archived entries whose text no record names, though one names their path."""
    among = [path for path in paths if is_archived_entry(workspace.layout, path)]
    known = _known(_listed(workspace.root / records_folder(workspace.layout))) if among else {}
    return [path for path in among if path in known and _is_changed(workspace.root / path, known[path])]


def is_recorded(workspace: Workspace, path: str, data: bytes) -> bool:
    """Return whether a record names this text of an archived file."""
    known = _known(_listed(workspace.root / records_folder(workspace.layout)))
    return _digest(data) in known.get(path, ())


def _is_changed(file: Path, digests: Collection[str]) -> bool:
    """Return whether a file has another text than its records name; an earlier text of an entry belongs there as is."""
    with suppress(MemError, OSError):
        data = atomic_files.read(file)
        # A merge of two clones that both kept it may change its frontmatter.
        return _digest(data) not in digests and not re.search(rb"(?m)^version_of: ", data)
    return False


def _digest(data: bytes) -> str:
    """Return the digest of a text whichever line ends a checkout of git wrote."""
    return atomic_files.digest(data.replace(b"\r\n", b"\n"))


def _known(records: Iterable[str]) -> dict[str, set[str]]:
    """Read records: the digests each archived path may have."""
    known: dict[str, set[str]] = {}
    for record in records:
        with suppress(OSError):
            for line in Path(record).read_text(encoding="utf-8", errors="surrogateescape").split("\n"):
                digest, _, path = line.rstrip("\r").partition("\t")
                if path:
                    known.setdefault(path, set()).add(digest)
    return known


def _archived(workspace: Workspace, most: int | None) -> list[str]:
    """List the entries in the archive."""
    root = os.fspath(workspace.root)
    names = (
        os.path.relpath(name, root).replace(os.sep, "/")
        for name in files_below(workspace.root / workspace.layout.archive)
    )
    found = [name for name in names if is_archived_entry(workspace.layout, name)]
    if most is None or len(found) <= most:
        return found
    return sorted(found, key=lambda name: -_changed_at(f"{root}/{name}"))[:most]


def may_have_forgotten(workspace: Workspace, texts: Collection[str] | None = None) -> bool:
    """Return whether anything was forgotten or deleted for good here; with `texts`, anything that may say one of them.

    Opens no index. The files are the record, and a pull or an editor may change them: those whose stat is not noted as
    that of a file without a mark are read.
    """
    if not workspace.is_trusted:
        return False
    said = None if texts is None else set(map(normalized, texts)) - {""}
    state, root = workspace.state, workspace.root
    if state and trust.has_purged(state, root) and (said is None or trust.purged_on(state, root, said)):
        return True
    return workspace.has_archive and _has_marked(workspace, said)


def _has_marked(workspace: Workspace, said: Collection[str] | None) -> bool:
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
                if has_marked := said is None or _may_say(data, said):
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
    for place, _, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names if not is_temporary(name))


def _listed(folder: Path) -> list[str]:
    try:
        return [item.path for item in os.scandir(folder) if item.name.endswith(".tsv")]
    except OSError:
        return []


def put(
    workspace: Workspace,
    path: str,
    data: bytes,
    mode: int = 0o666,
    modified: datetime | None = None,
    over: str | None = None,
) -> None:
    """Write a file, explained where it is in the archive, or replace the one whose digest is `over`.

    `modified` is when a file that comes from elsewhere was last changed. The mode is never more than the user's umask
    allows. Raises FileExistsError if the name is taken.
    """
    target = workspace.path(path)
    explain(workspace, {path: data})
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

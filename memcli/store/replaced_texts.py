"""Keep the text that a change of a memory replaces: in the archive, where its history and `mem restore` find it.

An entry's old text becomes an archived entry of its own; of other files the whole old text is kept, named by the time.
"""

import re

from ..errors import RefusedError
from ..formats.entry import as_spelled, spelled, stated_id
from ..formats.frontmatter import document as frontmatter
from ..formats.ids import blake2b, new_id
from .archive import put
from .atomic_files import read
from .workspace import Workspace

_VERSION = re.compile(
    r"(?P<stem>.+)-(?P<day>\d{4}-\d\d-\d\d)T(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)Z(?:-(?P<number>\d+))?\.md"
)


def keep_replaced(workspace: Workspace, path: str, old: str, new: str) -> None:
    """Keep what a file says in its old text and not in its new one; nothing where no line of it goes.

    An entry that has another source from now on is kept as well: whose words it was is known by its old text alone.
    """
    gone = lost_lines(_body(old), _body(new))
    if not gone and _source(old) == _source(new):
        return
    if workspace.layout.kind_of(path) == "entry":
        place, text = _version(workspace, path, old)
        if (workspace.root / place).exists():
            return  # kept by the same change, which was cut off before the new text stood
        mode = workspace.path(path).stat().st_mode & 0o777
        put(workspace, place, text.encode(), mode)
    elif workspace.layout.kind_of(path):
        keep_page(workspace, path, old)


def keep_page(workspace: Workspace, path: str, old: str) -> None:
    """Keep the whole text of a file that is no entry."""
    put(workspace, page_version(workspace, path), old.encode(), workspace.path(path).stat().st_mode & 0o777)


def page_version(workspace: Workspace, path: str) -> str:
    """Return the free path in the archive of what a file that is no entry says now."""
    stem = path.removeprefix(workspace.layout.archive).removesuffix(".md")
    return workspace.free_name(f"{workspace.layout.archive}{stem}-{workspace.stamp.replace(':', '')}.md")


def page_versions(workspace: Workspace, path: str) -> list[tuple[str, str]]:
    """List the earlier texts of a file that is no entry, each with its path and when it was replaced, oldest first."""
    folder = (workspace.root / workspace.layout.archive / path).parent
    stem = path.rpartition("/")[2].removesuffix(".md")
    found = []
    for file in folder.glob("*.md") if folder.is_dir() else ():
        told = _VERSION.fullmatch(file.name)
        if told and told["stem"] == stem and file.is_file():
            moment = f"{told['day']}T{told['hour']}:{told['minute']}:{told['second']}Z"
            found.append((moment, int(told["number"] or 1), file.relative_to(workspace.root).as_posix()))
    return [(place, moment) for moment, _, place in sorted(found)]


def page_of(workspace: Workspace, path: str) -> str:
    """Return the path of the file that a path in the archive is an earlier text of; empty where it is of none."""
    folder, _, name = path.rpartition("/")
    told = _VERSION.fullmatch(name)
    if not told or not workspace.layout.is_archived(path):
        return ""
    page = f"{folder}/{told['stem']}.md".removeprefix(workspace.layout.archive)
    is_page = workspace.layout.kind_of(page) not in (None, "entry") and (workspace.root / page).is_file()
    return page if is_page else ""


def lost_lines(old: str, new: str) -> list[str]:
    """Return the lines of a text that another one does not have."""
    there = {" ".join(line.split()) for line in new.splitlines()}
    return [line for line in old.splitlines() if line.strip() and " ".join(line.split()) not in there]


def without_old_wordings(old: str, new: str) -> str:
    """Take other wordings of a text away where another text takes its place; its version keeps them."""
    before, after = frontmatter.parse(old), frontmatter.parse(new)
    stale = after.fields.get("wordings")
    if not stale or after.problem or stale != before.fields.get("wordings"):
        return new
    return frontmatter.edit(new, {"wordings": None}) if lost_lines(before.body, after.body) else new


def _body(text: str) -> str:
    document = frontmatter.parse(text)
    return text if document.problem else document.body


def _source(text: str) -> object:
    fields = frontmatter.parse(text).fields
    return fields.get(spelled(fields, "source"))


def _version(workspace: Workspace, path: str, old: str) -> tuple[str, str]:
    """Return path and text of the archived entry that holds an entry's old text; the path is of the one that does."""
    noise = blake2b(f"{path}\n{old}".encode("utf-8", "surrogateescape"), digest_size=16).digest()
    identifier = new_id("mem", workspace.now, noise)
    fields = frontmatter.parse(old).fields
    entry = stated_id(fields) or path
    told = {
        "id": identifier,
        "status": "superseded",
        "superseded_by": entry,
        "superseded_at": workspace.stamp,
        "version_of": entry,
    }
    try:
        text = frontmatter.edit(old, as_spelled(fields, told))
    except RefusedError:  # a frontmatter in which no single line can be changed is kept as it is
        text = old
    stem = path.removeprefix(workspace.layout.archive).removesuffix(".md")
    place = f"{workspace.layout.archive}{stem}-{identifier[-6:]}.md"
    standing = workspace.root / place
    if standing.is_file() and _told(read(standing).decode("utf-8", "surrogateescape")) == _told(text):
        return place, text
    return workspace.free_name(place), text


def _told(version: str) -> tuple[dict[str, object], str]:
    """Return what a version says but for when it was made."""
    parsed = frontmatter.parse(version)
    made = {spelled(parsed.fields, key) for key in ("id", "superseded_at")}
    return {name: value for name, value in parsed.fields.items() if name not in made}, parsed.body

"""Keep the text that a change of a memory replaces: in the archive, where its history and `mem restore` find it.

An entry's old text becomes an archived entry of its own; of other files the lines that go are kept, in a file a month.
"""

from ..errors import RefusedError
from ..text import frontmatter
from ..text.blake import blake2b
from ..text.entry import SPELLINGS, stated_id
from ..text.ids import new_id
from ..text.times import stamp
from . import files
from .archive import explain
from .workspace import Workspace


def keep_replaced(workspace: Workspace, path: str, old: str, new: str) -> None:
    """Keep what a file says in its old text and not in its new one; nothing where no line of it goes."""
    gone = lost_lines(_body(old), _body(new))
    if not gone:
        return
    if workspace.layout.kind_of(path) == "entry":
        place, text = _version(workspace, path, old)
        mode = workspace.path(path).stat().st_mode & 0o777
        explain(workspace, {place: text.encode()})
        files.create(workspace.path(place), text.encode(), mode)
    elif workspace.layout.kind_of(path):
        stem = path.removeprefix(workspace.layout.archive).removesuffix(".md")
        place = f"{workspace.layout.archive}{stem}-replaced-{workspace.now:%Y-%m}.md"
        files.append(workspace.path(place), f"## {stamp(workspace.now)}\n\n{chr(10).join(gone)}\n\n".encode())
        explain(workspace, {place: files.read(workspace.path(place))})


def lost_lines(old: str, new: str) -> list[str]:
    """Give the lines of a text that another one does not have."""
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


def _version(workspace: Workspace, path: str, old: str) -> tuple[str, str]:
    """Give path and text of the archived entry that holds an entry's old text."""
    noise = blake2b(f"{path}\n{old}".encode("utf-8", "surrogateescape"), digest_size=16).digest()
    identifier = new_id("mem", workspace.now, noise)
    fields = frontmatter.parse(old).fields
    entry = stated_id(fields) or path
    told = {
        "id": identifier,
        "status": "superseded",
        "superseded_by": entry,
        "superseded_at": stamp(workspace.now),
        "version_of": entry,
    }
    named = {next((name for name in (key, *SPELLINGS[key]) if name in fields), key): told[key] for key in told}
    try:
        text = frontmatter.edit(old, named)
    except RefusedError:  # a frontmatter in which no single line can be changed is kept as it is
        text = old
    stem = path.removeprefix(workspace.layout.archive).removesuffix(".md")
    for number in range(1, 1000):
        place = f"{workspace.layout.archive}{stem}-{identifier[-6:]}{f'-{number}' if number > 1 else ''}.md"
        if not (workspace.root / place).exists():
            return place, text
    raise RefusedError(f"no free name in the archive beside {path}", "tidy the archive")

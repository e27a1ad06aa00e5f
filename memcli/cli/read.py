"""mem read: show a memory or file."""

from typing import Annotated, Any

from typer import Argument, Option

from ..api import open_all
from ..context import Context
from ..errors import MemError, NotFoundError
from ..formats.ids import build_slug
from ..formats.page import split_sections
from ..index.index import Index, open_index
from ..search.names import NamedFile, find_named, get_link_names, get_named
from ..store.workspace import Workspace
from .render import Result

MOST_LINKS = 10  # shown; --json has all of them
FIELDS = ("path", "id", "text", "line", "lines", "links", "history")


def run_read(
    context: Context,
    name: Annotated[
        str, Argument(metavar="MEMORY", help="An id, path, title, alias or PATH#SECTION.")
    ],
    offset: Annotated[int | None, Option(min=1, help="Start at this line.")] = None,
    limit: Annotated[int | None, Option(min=1, help="Show at most this many lines.")] = None,
    history: Annotated[
        bool, Option("--history", help="Show what happened to it: commands and git commits.")
    ] = False,
) -> Result:
    """Show a memory, a page or a passage, and the files that link to it.

    Secrets are masked, and passages that repeat a forgotten memory are hidden.
    """
    workspaces = open_all(context)
    # A whole name in any workspace counts before a part of one.
    for accept_parts in (False, True):
        for workspace in workspaces:
            readable = find_readable(workspace, name, accept_parts=accept_parts)
            if readable is not None:
                index, named = readable
                if history:
                    return show_history(workspace, named)
                return show_file(index, named, offset, limit)
    for workspace in workspaces:
        if workspace.settings["team.dsn"]:
            from ..team.search import open_named

            team_index = open_named(workspace, name)
            if team_index is not None:
                return show_file(team_index, get_named(team_index, name), offset, limit)
    raise NotFoundError(f"no memory {name!r}", f"search for it: mem search {name!r}")


def find_readable(
    workspace: Workspace, name: str, *, accept_parts: bool
) -> tuple[Index, NamedFile] | None:
    """Return the file that a name means. Known ids are looked up before the folder is scanned."""
    # Scanning 10,000 files takes 30 ms, which a known id does not need.
    index = open_index(workspace, refresh_first=False)
    try:
        named = find_named(index, name, accept_parts=accept_parts)
    except MemError:
        named = None
    entry = named.entry if named else None
    is_purged = entry is not None and entry.id in workspace.read_purged_ids()
    if named is None or entry is None or is_purged or not index.is_current(named.path):
        index.refresh()
        named = find_named(index, name, accept_parts=accept_parts)
    return (index, named) if named else None


def show_file(index: Index, named: NamedFile, offset: int | None, limit: int | None) -> Result:
    text = index.read_text(named.path)
    if text is None:
        raise NotFoundError(f"{named.path} cannot be read")
    problems = index.run(
        "select line, reason from problems join files using(file) where files.path = ?",
        (named.path,),
    ).fetchall()
    messages = [f"{named.path}:{line}: {reason}" for line, reason in problems]
    if named.anchor:
        text = get_section(text, named)
    lines = text.rstrip("\n").split("\n")
    first = offset or named.line or 1
    shown = lines[first - 1 : first - 1 + limit if limit else None]
    links = index.list_links_to(get_link_names(named))
    links = [path for path in links if path != named.path]
    data: dict[str, Any] = {
        "path": named.path,
        "id": named.entry.id if named.entry else "",
        "text": "\n".join(shown),
        "line": first,
        "lines": len(lines),
        "links": links,
    }
    output = list(shown)
    if links:
        more = f" and {len(links) - MOST_LINKS} more" if len(links) > MOST_LINKS else ""
        output += ["", f"Linked from: {', '.join(links[:MOST_LINKS])}{more}"]
    return Result(data, output, None, messages)


def get_section(text: str, named: NamedFile) -> str:
    sections = split_sections(text)
    # A link in a note names the heading as it is written.
    wanted = {named.anchor, build_slug(named.anchor)}
    for section in sections:
        if section.anchor in wanted:
            return text[section.start : section.end]
    anchors = ", ".join(section.anchor for section in sections if section.anchor)
    raise NotFoundError(f"{named.path} has no section {named.anchor!r}", f"sections: {anchors}")


def show_history(workspace: Workspace, named: NamedFile) -> Result:
    """Show what happened to a memory, the latest first."""
    # Most readers want the text, and this takes 5 ms to import.
    from ..upkeep.memory_history import find_events

    events = find_events(workspace, named)
    lines = []
    for event in events:
        time = workspace.format_local(event.time, "%Y-%m-%d %H:%M") or event.time
        origin = event.commit or (str(event.number) if event.number else "")
        origin = f"  ({origin})" if origin else ""
        lines.append(f"{time}  {event.action:10} {event.text}".rstrip() + origin)
    return Result({"path": named.path, "history": events}, lines or ["no changes are known"])

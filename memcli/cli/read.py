"""Show memories and files (`read`), list them (`ls`, `tags`), and find lines (`grep`)."""

from collections import Counter
from shlex import quote
from typing import Annotated, Any

from typer import Argument, Option

from ..api import Context, MemError, NotFoundError, RejectedError, Workspace, open_all
from ..formats import add_title, build_slug, split_sections
from ..index import (
    Filter,
    Index,
    IndexedEntry,
    build_filter,
    check_type,
    find_entries,
    get_index,
    open_index,
)
from ..search.names import (
    Line,
    NamedFile,
    build_missing_error,
    find_named,
    get_link_names,
    get_named,
    grep,
)
from .terminal import Conditions, Result, Statuses, Tags, Types, declare_limit, describe_status

MOST_LINKS = 10  # shown; --json has all of them
READ_FIELDS = ("path", "id", "text", "line", "lines", "links", "history")
LS_FIELDS = (*IndexedEntry._fields, "text", "short_id", "workspace")
TAGS_FIELDS = ("tag", "count")
GREP_FIELDS = tuple(Line.__dataclass_fields__)


def run_read(
    context: Context,
    name: Annotated[
        str, Argument(metavar="MEMORY", help="An id, path, title, alias or PATH#SECTION.")
    ],
    offset: Annotated[int | None, Option(min=1, help="Start at this line.")] = None,
    limit: Annotated[int | None, Option(min=1, help="Show at most this many lines.")] = None,
    history: Annotated[bool, "Show what happened to it: commands and git commits."] = False,
) -> Result:
    """Show a memory, a page or a passage, and the files that link to it.

    Secrets are masked, and passages that repeat a forgotten memory are hidden.

    \b
    Examples:
      mem read 4kq7tz
      mem read MEMORY.md#projects
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
    raise build_missing_error(workspaces[0], name)


def run_ls(
    context: Context,
    limit: Annotated[int | None, declare_limit("List at most this many.")] = None,
    type_: Types = [],
    tag: Tags = [],
    status: Statuses = [],
    source: Annotated[str, "Only memories from user, observed or inferred."] = "",
    since: Annotated[str, "Only memories changed since this date."] = "",
    until: Annotated[str, "Only memories changed until this date."] = "",
    where: Conditions = [],
) -> Result:
    """List memories, the latest first.

    \b
    Examples:
      mem ls
      mem ls --type preference --json id,text
    """
    workspaces = open_all(context)
    first = workspaces[0]
    wanted = build_filter(
        first,
        since=since,
        until=until,
        types=type_,
        tags=tag,
        statuses=status,
        conditions=(*where, *([f"source={source}"] if source else [])),
    )
    matches: list[tuple[Index, IndexedEntry]] = []
    messages: list[str] = []
    for workspace in workspaces:
        index = open_index(workspace)
        messages += index.messages + index.describe_unread()
        matches += [(index, entry) for entry in find_entries(index, wanted)]
    # A type with a typo would otherwise look like lost memories.
    for name in [] if matches else wanted.types:
        check_type(name, [open_index(workspace) for workspace in workspaces])
    # Each list is in order already.
    if len(workspaces) > 1:
        matches.sort(key=lambda item: item[1].updated_at, reverse=True)
    lines, rows, items = [], [], []
    for index, entry in matches[: limit or None]:
        other = index.find_other_project(entry.path, "entry", project=entry.project)
        # Shortening an id costs a query, and a pipe gets whole ids.
        if not context.is_terminal and not context.common.as_json:
            scope = "user" if index.workspace.is_own else "project"
            scope = f"from {other}" if other else scope
            rows.append([entry.id, entry.type, entry.updated_at, entry.path, entry.summary, scope])
            continue
        short_id = index.shorten_id(entry.id)
        day = first.describe_day(entry.updated_at)
        is_active = entry.status == "active"
        marks = "" if is_active else f"{describe_status(index.workspace, entry.status)} · "
        marks += "expired · " if first.is_expired(entry) else ""
        if other:
            marks += f"from {other} · "
        elif index.workspace.is_own and len(workspaces) > 1:
            marks += "your own · "
        # The path, which is the id of a note, has its title.
        text = add_title(entry.title if entry.id != entry.path else "", entry.summary)
        lines.append(f"{text}  ({entry.type} · {marks}{day} · {short_id})")
        item = {"text": entry.summary, "short_id": short_id, "workspace": str(index.workspace.root)}
        items.append(entry._asdict() | item)
    code = 0 if matches else 1
    return Result({"entries": items}, lines, rows, messages, (), code, "no memories")


def run_tags(context: Context) -> Result:
    """List the tags of active memories, the most frequent first.

    \b
    Examples:
      mem tags
    """
    counts: Counter[str] = Counter()
    for workspace in open_all(context):
        counts.update(open_index(workspace).count_tags())
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    lines = [f"{count:5}  {tag}" for tag, count in pairs]
    data = {"tags": [{"tag": tag, "count": count} for tag, count in pairs]}
    return Result(data, lines, pairs, nothing="No tags.")


def find_readable(
    workspace: Workspace, name: str, *, accept_parts: bool
) -> tuple[Index, NamedFile] | None:
    """Return the file that a name means. Known ids are looked up before the folder is scanned."""
    # Scanning 10,000 files takes 30 ms, which a known id does not need.
    index = get_index(workspace)
    try:
        named = find_named(index, name, accept_parts=accept_parts)
    except MemError:
        named = None
    entry = named.entry if named else None
    if named is None or entry is None or not index.is_current(named.path):
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
    )
    messages = [f"{named.path}:{line}: {reason}" for line, reason in problems]
    if messages and not text:
        raise RejectedError(messages[0])
    if named.anchor:
        text = get_section(text, named)
    lines = text.rstrip("\n").split("\n")
    first = offset or named.line or 1
    shown = lines[first - 1 : first - 1 + limit if limit else None]
    names = get_link_names(named)
    links = [path for path in index.list_links_to(names) if path != named.path]
    data: dict[str, Any] = {
        "path": named.path,
        "id": named.entry.id if named.entry else "",
        "text": "\n".join(shown),
        "line": first,
        "lines": len(lines),
        "links": links,
    }
    if links:
        more = f" and {len(links) - MOST_LINKS} more" if len(links) > MOST_LINKS else ""
        shown += ["", f"Linked from: {', '.join(links[:MOST_LINKS])}{more}"]
    return Result(data, shown, None, messages)


def get_section(text: str, named: NamedFile) -> str:
    sections = split_sections(text)
    # A link in a note names the heading as it is written.
    wanted = {named.anchor, build_slug(named.anchor)}
    for section in sections:
        if section.anchor in wanted:
            return text[section.start : section.end]
    anchors = ", ".join(section.anchor for section in sections if section.anchor)
    hint = f"sections: {anchors}" if anchors else f"read all: mem read {quote(named.path)}"
    raise NotFoundError(f"{named.path} has no section {named.anchor!r}", hint)


def show_history(workspace: Workspace, named: NamedFile) -> Result:
    """Show what happened to a memory, the latest first."""
    # Most readers want the text, and this takes 5 ms to import.
    from ..upkeep.memory_history import find_events

    events = find_events(workspace, named)
    lines = []
    for event in events:
        time = workspace.format_local(event.time, "%Y-%m-%d %H:%M") or event.time
        origin = event.commit or event.number
        mark = f"  ({origin})" if origin else ""
        lines.append(f"{time}  {event.action:10} {event.text}".rstrip() + mark)
    return Result({"path": named.path, "history": events}, lines or ["no changes are known"])


def run_grep(
    context: Context,
    pattern: Annotated[str, Argument(help="The text to find.")],
    path: Annotated[str, Argument(help="Only files whose path starts with this.")] = "",
    expression: Annotated[
        bool, Option("-E", "--expression", help="The text is a regular expression.")
    ] = False,
    case: Annotated[
        bool,
        Option(
            "--case-sensitive/--ignore-case",
            "-s/-i",
            help="Distinguish upper and lower case. Default: no.",
        ),
    ] = False,
    limit: Annotated[int | None, declare_limit("Show at most this many lines.")] = None,
    all_: Annotated[bool, "Also search forgotten, faded and superseded memories."] = False,
) -> Result:
    """Find lines by exact text: in memories, MEMORY.md, history, notes and conversations.

    \b
    Examples:
      mem grep 'port 6543'
      mem grep -E 'v[0-9]+\\.[0-9]+' notes/
    """
    # A forgotten memory must not come back through grep, unless somebody asks for all.
    wanted = Filter(statuses=() if all_ else ("active",), path=path)
    lines, messages = grep(
        open_all(context),
        pattern,
        wanted,
        is_expression=expression,
        ignore_case=not case,
        limit=limit or 0,
    )
    shown, rows = [], []
    for line in lines:
        row = [f"{line.path}:{line.line}", line.text]
        shown.append(": ".join(row))
        if line.project:
            shown[-1] += f"  (from {line.project})"
            row.append(f"from {line.project}")
        rows.append(row)
    code = 0 if lines else 1
    return Result({"lines": lines}, shown, rows, messages, [pattern], code, "no match")

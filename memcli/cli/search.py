"""mem search: find by meaning and by words."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated

from typer import Argument

from ..api import Context, Workspace, check_choice, open_all
from ..formats import is_id, shorten, split_words
from ..index import build_filter, check_type, get_index, get_stop_words, open_index
from ..search.search import Hit, build_options, search
from .terminal import Conditions, Result, Statuses, Tags, Types, cut_path, declare_limit

SEARCH_FIELDS = tuple(Hit.__dataclass_fields__)
MODES = ("hybrid", "keyword", "vector")
LATER_LENGTH = 50  # characters of a later memory


def run_search(
    context: Context,
    query: Annotated[list[str], Argument(help="The text to find, in your own words.")],
    limit: Annotated[int | None, declare_limit("Show at most this many hits.")] = None,
    mode: Annotated[
        str, "hybrid (default), keyword (only words) or vector (only meaning)."
    ] = "hybrid",
    kind: Annotated[
        list[str], "entry, memory (MEMORY.md), history, note, session or document."
    ] = [],
    type_: Types = [],
    tag: Tags = [],
    status: Statuses = [],
    since: Annotated[str, "Only hits from this date on, such as october."] = "",
    until: Annotated[str, "Only hits up to this date."] = "",
    where: Conditions = [],
    min_score: Annotated[float, "Hide hits below this relevance (0 to 1)."] = -1.0,
    explain: Annotated[bool, "Show how each relevance is computed."] = False,
) -> Result:
    """Find memories by meaning and by words.

    If two hits are about the same subject, the later one comes first.

    \b
    Examples:
      mem search "when is the heating serviced"
      mem search deploy --type lesson --since 'last month'
      mem search recipe --where "rating>=4" -n 3
    """
    check_choice("mode", mode, MODES)
    text = " ".join(query)
    workspaces = open_all(context)
    first = workspaces[0]
    wanted = build_filter(
        first,
        since=since,
        until=until,
        kinds=kind,
        types=type_,
        tags=tag,
        statuses=status,
        conditions=where,
    )
    options = build_options(first, limit, wanted=wanted, mode=mode, min_score=min_score)
    result = search(workspaces, text, options)
    messages = list(result.messages)
    if not result.hits:
        for name in wanted.types:
            check_type(name, [open_index(workspace) for workspace in workspaces])
        messages.append(describe_nothing(result.weak))
        # Without this line, a memory that has faded looks like one that was lost.
        faded = options._replace(wanted=wanted._replace(statuses=("faded",)), limit=1)
        if not status and search(workspaces, text, faded).hits:
            messages.append("a faded memory fits: add --status faded to see it")
    own = [str(workspace.root) for workspace in workspaces if workspace.is_own]
    lines: list[str] = []
    rows = []
    for hit in result.hits:
        is_own = hit.workspace in own
        mark = "your own" if is_own and len(workspaces) > 1 else ""
        scope = "user" if is_own else "project"
        if hit.owner or hit.project:
            mark = scope = f"from {hit.owner or hit.project}"
        lines += format_hit(first, hit, mark, explain)
        lines += describe_later(workspaces, hit) if hit.newer else []
        rows.append([hit.relevance, hit.id or "-", hit.path, hit.timestamp, hit.text, scope])
    code = 0 if result.hits else 1
    words = [word for word in split_words(text) if word not in get_stop_words()]
    return Result({"hits": result.hits}, lines, rows, messages, words, code)


def describe_nothing(weak: int) -> str:
    if not weak:
        return "no match"
    matches = "One weak match" if weak == 1 else f"{weak} weak matches"
    return f"No good match. {matches}: add --min-score 0 to see {'it' if weak == 1 else 'them'}."


def format_hit(workspace: Workspace, hit: Hit, mark: str, explain: bool) -> list[str]:
    """Return a hit for a terminal: its sentence, then its type, date, file and id."""
    # The file of an entry is one memory. In a page, the line matters.
    location = hit.path if hit.kind == "entry" else f"{hit.path}:{hit.line}"
    details = [
        hit.type or hit.kind,
        mark,
        hit.status if hit.status not in ("", "active") else "",
        "expired" if workspace.is_expired(hit) else "",
        workspace.describe_day(hit.timestamp) if hit.timestamp else "",
        location,
        hit.short_id if hit.short_id != hit.path else "",
    ]
    head = "  " + " · ".join(part for part in details if part)
    # A line that wraps is hard to scan. In a pipe and in JSON, the path is whole.
    room = len(location) - max(0, len(head) - workspace.context.width)
    lines = [hit.text, head.replace(location, cut_path(location, room))]
    if explain:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in hit.parts.items() if value)
        lines.append(f"  relevance {hit.relevance:.2f}: {parts}")
    return lines


def describe_later(workspaces: Sequence[Workspace], hit: Hit) -> list[str]:
    """Return a line with the later memory, so that a person sees whether it is a new value."""
    relation = "replaced by" if hit.status == "superseded" else "see also, later"
    name = hit.newer[-6:] if is_id(hit.newer) else PurePath(hit.newer).name
    for workspace in workspaces:
        entry = get_index(workspace).find_by_id(hit.newer)
        if entry is not None:
            return [f"  {relation}: {shorten(entry.summary, LATER_LENGTH)}  ({name})"]
    return [f"  {relation}: {name}"]  # on the team's server

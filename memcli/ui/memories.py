"""The views of memories: the latest, the hits of a search, and one memory or file."""

import json
import posixpath
import re
from typing import Any

from ..formats import STATUSES, count_noun, get_body, read_tags
from ..index import Filter, build_filter, build_sql, find_content_words, get_index, open_index
from ..search.names import get_link_names
from ..search.ranking import stem_word
from ..search.search import Hit, build_options, search, search_workspace
from .html import (
    MINUTE,
    Content,
    Html,
    OpenFile,
    Page,
    Request,
    fill,
    fill_each,
    fill_file,
    join,
    link,
    link_button,
    link_memory,
    render_button,
    render_empty,
    render_form,
    render_markdown,
    render_options,
    render_problem,
)

ROWS = 50  # memories on a page
HITS = 15
MOST_LINKS = 20
LINES = 1000  # of a file that is not Markdown, around the hit of a search
# Characters that are rendered, which takes about a second.
LONGEST = 200_000
# Shown above the properties.
SHOWN_ELSEWHERE = ("title", "type", "source", "tags")
ADDRESS = re.compile(r"https?://[^\s,<>]+")
MASKED = "The page hides a secret or a forgotten text. Use an editor to change this file."


def show_memories(request: Request) -> Page:
    """Show the memories that match a search and filters."""
    query = request.get("q")
    results = show_hits(request, query) if query else show_latest(request)
    if request.get("part"):
        return Page("", results, is_part=True)
    index = get_index(request.workspace)
    # Notes can have types of their own.
    types = [kind for (kind,) in index.run("select distinct type from entries order by type")]
    content = fill_file(
        "memories",
        workspace=request.number,
        query=query,
        types=render_options(["", *types], request.get("type").lower(), "Any type"),
        statuses=render_options(["", *STATUSES[1:], "all"], request.get("status"), "Active"),
        tag=request.get("tag"),
        results=results,
    )
    return Page("Memories", content, "memories")


def build_wanted(request: Request) -> Filter:
    """Return the filter that the form describes."""
    return build_filter(
        request.workspace,
        types=filter(None, [request.get("type")]),
        statuses=request.get("status").split(),
        tags=read_tags(request.get("tag")),
    )


def show_hits(request: Request, query: str) -> Content:
    """Return the memories that a search found."""
    # The script asks for "hits" after each letter, and for "all" when the typing pauses.
    is_typing = request.get("part") == "hits"
    # The link to the weak hits says how many hits there are with them.
    all_hits = request.get_number("weak")
    options = build_options(
        request.workspace,
        all_hits or HITS,
        wanted=build_wanted(request),
        min_score=0.0 if all_hits else -1.0,
        # While somebody types, words find the texts that have no vector yet.
        embed_seconds=0.0 if is_typing else 1.0,
    )
    if is_typing:
        # Files and a team's server wait for the pause.
        result = search_workspace(get_index(request.workspace), query, options)
    else:
        result = search([request.workspace], query, options)
    stems = set(map(stem_word, find_content_words(query)))
    rows = [render_hit(request, hit, stems) for hit in result.hits]
    nothing = render_empty("No good match." if result.weak else "Nothing found.")
    hits = fill('<ul class="rows">{}</ul>', rows) if rows else nothing
    more = None
    # The weak hits come after all good ones.
    if result.weak and len(rows) < HITS:
        values = {name: request.get(name) for name in ("q", "type", "status", "tag")}
        address = request.build_address("memories", **values, weak=len(rows) + result.weak)
        more = link_button(address, f"Show {count_noun(result.weak, 'weak hit')}")
    return [render_messages(result.messages), hits, more]


def render_hit(request: Request, hit: Hit, stems: set[str]) -> Html:
    """Return a hit, in which the words that have one of the stems are marked."""
    # Of a page or a conversation, the line matters.
    place = hit.path if hit.kind == "entry" else f"{hit.path}:{hit.line}"
    parts = re.split(r"([^\W_]+)", hit.text)
    for number, word in enumerate(parts):
        if stem_word(word) in stems:
            parts[number] = fill("<mark>{}</mark>", word)
    return render_row(request, hit, place, hit.timestamp, join(parts), hit.owner)


def show_latest(request: Request) -> Content:
    """Return the memories that match the filters, the latest first."""
    index = open_index(request.workspace, with_sessions=False)
    where, values = build_sql(build_wanted(request))
    table = f"from entries join files using(file) where {where}"
    total = index.run(f"select count(*) {table}", values).fetchone()[0]
    first = request.get_number("offset")
    # The cut is made in SQL: building 10,000 entries takes 80 ms.
    chosen = f"select files.file {table} order by updated_at desc, id desc limit ? offset ?"
    entries = index.list_entries(f"file in ({chosen})", [*values, ROWS, first])
    rows = [
        render_row(request, entry, entry.path, entry.updated_at, entry.summary) for entry in entries
    ]
    last = first + len(rows)
    count = count_noun(total, "memory") if total else ""
    if total > ROWS:
        count = f"{first + 1:,} to {last:,} of {count}"
    more = None if rows else render_empty("No memories.")
    if last < total:
        filters = {name: request.get(name) for name in ("type", "status", "tag")}
        address = request.build_address("memories", offset=last, **filters)
        more = link_button(address, "Older memories")
    page = None
    if index.read_text(request.workspace.page_path):
        page = link_memory(request, request.workspace.page_path, "Long-term memory")
    template = '<p class="quiet count"><span>{}</span>{}</p><ul class="rows">{}</ul>'
    messages = render_messages(index.messages + index.describe_unread())
    return [messages, fill(template, count, page, rows), more]


def render_messages(messages: list[str]) -> Content:
    return fill_each('<p class="quiet">{}</p>', messages)


def render_row(
    request: Request, item: Any, place: str, time: str, text: str, owner: str = ""
) -> Html:
    """Return a memory of a list: an indexed entry or a hit."""
    mark = f"from {owner}" if owner else ""
    is_titled = item.title and item.title not in text
    tags = fill_each("<span>#{}</span>", item.tags)
    return fill_file(
        "row",
        # A colleague's memory has no file here.
        address=request.build_address("memory", id=item.id if owner else place),
        title=fill("<b>{}. </b>", item.title) if is_titled else None,
        text=text,
        place=place,
        about=[render_marks(request, item, mark), tags],
        day=render_day(request, time),
    )


def render_marks(request: Request, item: Any, mark: str = "") -> Content:
    """Return the type of a memory and its state, if that is unusual."""
    state = item.status if item.status != "active" else ""
    expired = "expired" if request.workspace.is_expired(item) else ""
    names = filter(None, [mark, state, expired])
    kind = item.type or item.kind
    # Without a type of its own, a note of a vault has that of most memories.
    if kind == "fact" and not (mark or request.workspace.is_managed(item.path)):
        kind = "note"
    shown = fill('<span class="kind">{}</span>', kind)
    return [shown, fill_each('<span class="mark">{}</span>', names)]


def render_day(request: Request, time: str) -> Html:
    return fill('<time datetime="{}">{}</time>', time, request.workspace.describe_day(time))


def show_memory(request: Request, problem: str = "") -> Page:
    """Show one memory, or another file of the workspace. A problem is shown above it."""
    file = request.open_file()
    title = file.entry.title if file.entry else posixpath.basename(file.path)
    # Many texts start with their title.
    is_hidden = get_body(file.shown).lstrip("# ").startswith(title)
    template = '<h1 class="hidden">{}</h1>' if is_hidden else "<h1>{}</h1>"
    name = title or posixpath.basename(file.path)
    content = fill_file(
        "memory",
        problem=render_problem(problem),
        about=render_about(request, file),
        heading=fill(template, name),
        notes=render_notes(request, file),
        buttons=render_buttons(request, file),
        text=render_text(request, file),
        properties=render_properties(request, file),
        links=render_backlinks(request, file),
    )
    tab = "memories" if file.entry else ""
    return Page(name, content, tab, status=409 if problem else 200)


def render_about(request: Request, file: OpenFile) -> Content:
    entry = file.entry
    if entry is None:
        return posixpath.dirname(file.path)
    tags = [link(request.build_address("memories", tag=tag), f"#{tag}") for tag in entry.tags]
    source = fill("<span>source: {}</span>", entry.source)
    return [render_marks(request, entry), source, tags, render_day(request, entry.updated_at)]


def render_notes(request: Request, file: OpenFile) -> Content:
    """Return what a reader should know first: related memories and problems of the file."""
    notes: list[Content] = []
    if file.entry is not None:
        if file.entry.superseded_by:
            notes.append(["Replaced by: ", link_other(request, file, file.entry.superseded_by)])
        for entry_id in file.entry.conflicts_with:
            notes.append(["Disagrees with: ", link_other(request, file, entry_id)])
    for path, problem in file.index.list_problems():
        if path == file.path:
            notes.append(f"Line {problem.line}: {problem.reason}")
    if file.stored is None:
        notes.append("This memory comes from your team's server.")
    # Of a file with a conflict, nothing is shown, and the problem says so.
    elif file.shown and file.path.endswith(".md") and not file.is_editable:
        notes.append(MASKED)
    return fill_each('<p class="note">{}</p>', notes)


def link_other(request: Request, file: OpenFile, entry_id: str) -> Html:
    other = file.index.find_by_id(entry_id)
    return link_memory(request, entry_id, other.summary if other else entry_id)


def render_buttons(request: Request, file: OpenFile) -> Content:
    """Return the actions on a file."""
    path = file.path
    if file.stored is None:
        return None
    buttons = []
    if file.is_editable:
        buttons.append(link_button(request.build_address("edit", id=path), "Edit"))
    if file.entry is not None:
        is_active = file.entry.status == "active"
        action = "forget" if is_active else "restore"
        buttons.append(render_button(request, action, action.capitalize(), id=path))
    buttons.append(link_button(request.build_address("history", id=path), "History"))
    buttons.append(render_button(request, "open", "Open in editor", id=path))
    # Only the script can copy. Without it, the path is among the properties.
    copy = '<button type="button" data-copy="{}" hidden>Copy path</button>'
    buttons.append(fill(copy, str(request.workspace.root / path)))
    return fill('<div class="actions">{}</div>', buttons)


def render_text(request: Request, file: OpenFile) -> Content:
    if not file.path.endswith(".md"):
        # A conversation has one line for each message, and a hit names the line.
        first = max(0, file.named.line - LINES // 2)
        lines = file.shown.split("\n")[first : first + LINES]
        return fill("<pre>{}</pre>", "\n".join(lines))
    body = get_body(file.shown)
    parts = [render_markdown(request, body[:LONGEST], file.path)]
    if len(body) > LONGEST:
        parts.append(Html('<p class="quiet">The rest is too long for the page.</p>'))
    if file.is_editable:
        # The script fills in the line of the checkbox that was clicked, and sends the form.
        line = Html('<input type="hidden" name="line" id="task">')
        parts.append(render_form(request, "task", line, id=file.path, digest=file.digest))
    return parts


def render_properties(request: Request, file: OpenFile) -> list[Html]:
    fields = file.index.read_fields(file.path)
    is_ours = file.stored is not None
    fields["file"] = str(request.workspace.root / file.path) if is_ours else file.path
    rows = []
    for name, value in fields.items():
        if name in SHOWN_ELSEWHERE or value in (None, "", []):
            continue
        text = describe_value(value)
        if name.endswith("_at"):
            text = request.workspace.format_local(text, MINUTE) or text
        if "[[" in text or "://" in text:
            text = render_markdown(request, ADDRESS.sub(r"<\g<0>>", text), file.path)
        rows.append(fill("<div><dt>{}</dt><dd>{}</dd></div>", name, text))
    return rows


def describe_value(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def render_backlinks(request: Request, file: OpenFile) -> Content:
    """Return links to the files that have a link to this one."""
    paths = file.index.list_links_to(get_link_names(file.named))
    links = [link_memory(request, path, path) for path in paths if path != file.path]
    items = fill_each("<li>{}</li>", links[:MOST_LINKS])
    template = '<section><h2>Linked from</h2><ul class="plain">{}</ul></section>'
    return fill(template, items) if items else None

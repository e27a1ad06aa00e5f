"""The first view: the latest memories, or the hits of a search, with filters."""

from typing import Any

from ..formats import STATUSES, TYPES, count_noun, split_words
from ..index import Filter, build_filter, build_sql, open_index
from ..search.search import Hit, SearchOptions, search, search_workspace
from .frame import Page, link_memory
from .html import Content, Html, fill, fill_file, highlight, link_button, render_options
from .request import Request

ROWS = 50  # memories on a page
HITS = 15
FILTERS = ("type", "status", "tag")


def show_memories(request: Request) -> Page:
    """Show the memories that match a search and filters."""
    query = request.get("q")
    results = show_hits(request, query) if query else show_latest(request)
    if request.get("part"):
        return Page("", results, is_part=True)
    content = fill_file(
        "memories",
        workspace=request.number,
        query=query,
        types=render_options(["", *TYPES], request.get("type"), "Any type"),
        statuses=render_options(["", *STATUSES[1:], "all"], request.get("status"), "Active"),
        tag=request.get("tag"),
        results=results,
    )
    return Page("Memories", content, "memories")


def build_wanted(request: Request) -> Filter:
    types, statuses, tags = (tuple(filter(None, [request.get(name)])) for name in FILTERS)
    workspace = request.workspace
    return build_filter(workspace.now, workspace.zone, types=types, statuses=statuses, tags=tags)


def show_hits(request: Request, query: str) -> Content:
    # The script asks for "hits" after each letter, and for "all" when the typing pauses.
    is_typing = request.get("part") == "hits"
    options = SearchOptions(
        HITS,
        wanted=build_wanted(request),
        vector_weight=request.workspace.settings["search.vector_weight"],
        # While somebody types, words find the texts that have no vector yet.
        embed_seconds=0.0 if is_typing else 1.0,
    )
    if is_typing:
        # Files and a team's server wait for the pause.
        result = search_workspace(
            open_index(request.workspace, refresh_first=False), query, options
        )
    else:
        result = search([request.workspace], query, options)
    words = split_words(query)
    rows = [render_hit(request, hit, words) for hit in result.hits]
    nothing = None if rows else Html('<p class="empty">Nothing found.</p>')
    hits = fill('<ul class="rows">{}</ul>', rows)
    return [render_messages(result.messages), nothing, hits]


def render_hit(request: Request, hit: Hit, words: list[str]) -> Html:
    text = highlight(hit.text, words)
    if hit.owner:
        # A colleague's memory has no file here.
        return render_row(request, hit, hit.id, hit.timestamp, text, f"from {hit.owner}")
    # Of a page or a conversation, the line matters.
    name = hit.path if hit.kind == "entry" else f"{hit.path}:{hit.line}"
    return render_row(request, hit, name, hit.timestamp, text)


def show_latest(request: Request) -> Content:
    index = open_index(request.workspace, with_sessions=False)
    where, values = build_sql(build_wanted(request))
    table = f"from entries join files using(file) where {where}"
    total = index.run(f"select count(*) {table}", values).fetchone()[0]
    first = request.get_number("offset")
    # The cut is made in SQL: building 10,000 entries takes 80 ms.
    chosen = f"select files.file {table} order by updated_at desc, id desc limit ? offset ?"
    entries = index.list_entries(f"file in ({chosen})", [*values, ROWS, first])
    rows = []
    for entry in entries:
        rows.append(render_row(request, entry, entry.path, entry.updated_at, entry.summary))
    last = first + len(rows)
    count = count_noun(total, "memory") if total else "No memories."
    if total > ROWS:
        count = f"{first + 1:,} to {last:,} of {count}"
    more = None
    if last < total:
        filters = {name: request.get(name) for name in FILTERS}
        address = request.build_address("memories", offset=last, **filters)
        more = link_button(address, "Older memories")
    page = None
    if index.read_text(request.workspace.page_path):
        page = link_memory(request, request.workspace.page_path, "Long-term memory")
    template = '<p class="quiet count">{}{}</p><ul class="rows">{}</ul>'
    return [render_messages(index.messages), fill(template, count, page, rows), more]


def render_messages(messages: list[str]) -> Content:
    return [fill('<p class="quiet">{}</p>', message) for message in messages]


def render_row(
    request: Request, item: Any, name: str, time: str, text: str, mark: str = ""
) -> Html:
    """Return a memory of a list: an indexed entry or a hit."""
    is_titled = item.title and item.title not in text
    tags = [fill("<span>#{}</span>", tag) for tag in item.tags]
    return fill_file(
        "row",
        address=request.build_address("memory", id=name),
        title=fill("<b>{}. </b>", item.title) if is_titled else None,
        text=text,
        about=[render_marks(request, item, mark), tags, render_day(request, time)],
    )


def render_marks(request: Request, item: Any, mark: str = "") -> Content:
    """Return the type of a memory and its state, if that is unusual."""
    state = item.status if item.status != "active" else ""
    expired = "expired" if request.workspace.is_expired(item) else ""
    names = filter(None, [mark, state, expired])
    kind = fill('<span class="kind">{}</span>', item.type or item.kind)
    return [kind, [fill('<span class="mark">{}</span>', name) for name in names]]


def render_day(request: Request, time: str) -> Html:
    return fill('<time datetime="{}">{}</time>', time, request.workspace.describe_day(time))

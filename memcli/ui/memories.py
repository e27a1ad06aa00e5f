"""The views of memories: the list, one memory, its history, and the form that changes it."""

import json
from typing import Any

from ..formats.entry import STATUSES, TYPES
from ..formats.frontmatter import get_body
from ..formats.text import build_digest, count_noun, split_words
from ..index.filters import build_filter, build_sql
from ..index.index import Index, IndexedEntry
from ..search.names import NamedFile, find_named, get_link_names, get_named
from ..search.search import Hit, SearchOptions, search_workspace
from ..store.commit import read_file
from .frame import Page, Request, render_button, render_form
from .html import Content, Html, element, highlight, join, link, render_markdown

ROWS = 50  # memories on a page
HITS = 15
MOST_LINKS = 20
MESSAGES = 200  # of a conversation
LONGEST = 200_000  # characters that are rendered
# Shown above the properties.
SHOWN_ELSEWHERE = ("title", "type", "source", "tags")


def show_memories(request: Request) -> Page:
    """Show the memories that a search and filters leave."""
    query = request.get("q")
    results = show_hits(request, query) if query else show_latest(request)
    if request.get("part"):
        return Page("", results, is_part=True)
    content = [
        element("h1", "Memories", class_="hidden"),
        show_filters(request, query),
        element("div", results, id="results"),
    ]
    return Page("Memories", element("div", content, class_="sheet"), "memories")


def show_filters(request: Request, query: str) -> Html:
    search_field = element(
        "input",
        type="search",
        name="q",
        value=query,
        placeholder="Search",
        aria_label="Search memories",
        autocomplete="off",
        autofocus=True,
    )
    hidden = element("input", type="hidden", name="w", value=request.number)
    return element(
        "form",
        hidden,
        search_field,
        render_select(request, "type", "Any type", TYPES),
        render_select(request, "status", "Active", [*STATUSES[1:], "all"]),
        element("input", name="tag", value=request.get("tag"), placeholder="Tag", aria_label="Tag"),
        element("button", "Search"),
        id="filters",
        action="memories",
        role="search",
    )


def render_select(request: Request, name: str, nothing: str, values: Any) -> Html:
    options = [element("option", nothing, value="")]
    for value in values:
        is_chosen = value == request.get(name)
        options.append(element("option", value.capitalize(), value=value, selected=is_chosen))
    return element("select", options, name=name, aria_label=name.capitalize())


def build_wanted(request: Request) -> Any:
    workspace = request.workspace
    return build_filter(
        workspace.now,
        workspace.zone,
        types=tuple(filter(None, [request.get("type")])),
        tags=tuple(filter(None, [request.get("tag")])),
        statuses=tuple(filter(None, [request.get("status")])),
    )


def show_hits(request: Request, query: str) -> Content:
    is_typing = bool(request.get("part"))
    options = SearchOptions(
        HITS,
        wanted=build_wanted(request),
        vector_weight=request.workspace.settings["search.vector_weight"],
        # While somebody types, words find the texts that have no vector yet.
        embed_seconds=0.0 if is_typing else 1.0,
    )
    index = request.open_index(with_sessions=options.reads_sessions, is_typing=is_typing)
    result = search_workspace(index, query, options)
    words = split_words(query)
    rows = [render_row(request, hit, highlight(hit.text, words)) for hit in result.hits]
    messages = [element("p", message, class_="quiet") for message in result.messages]
    if not rows:
        return [messages, element("p", "Nothing found.", class_="empty")]
    return [messages, element("ul", rows, class_="rows")]


def show_latest(request: Request) -> Content:
    index = request.open_index(with_sessions=False)
    where, values = build_sql(build_wanted(request))
    table = f"from files left join entries using(file) where {where} and entries.id is not null"
    total = index.run(f"select count(*) {table}", values).fetchone()[0]
    offset = request.get_number("offset")
    # The cut is made in SQL: building 10,000 entries takes 80 ms.
    chosen = f"select files.file {table} order by updated_at desc, id desc limit ? offset ?"
    entries = index.list_entries(f"file in ({chosen})", [*values, ROWS, offset])
    if not entries:
        return element("p", "No memories yet." if not total else "No more.", class_="empty")
    rows = [render_row(request, entry, join(entry.summary)) for entry in entries]
    more = None
    if offset + ROWS < total:
        filters = {key: request.get(key) for key in ("type", "tag", "status")}
        address = request.build_address("memories", offset=offset + ROWS, **filters)
        more = link(address, "Older memories", class_="button")
    messages = [element("p", message, class_="quiet") for message in index.messages]
    numbers = f"{offset + 1:,} to {offset + len(rows):,} of " if total > ROWS else ""
    count = element("p", f"{numbers}{count_noun(total, 'memory')}", class_="quiet count")
    return [messages, count, element("ul", rows, class_="rows"), more]


def render_row(request: Request, item: IndexedEntry | Hit, text: Html) -> Html:
    """Return a memory of a list."""
    anchor = getattr(item, "line", 0) if not item.id else 0
    address = request.build_address("memory", id=f"{item.path}:{anchor}" if anchor else item.path)
    time = getattr(item, "updated_at", "") or getattr(item, "timestamp", "")
    title = element("b", item.title, ". ") if item.title and item.title not in text else None
    content = [
        element("span", title, text, class_="says"),
        element("span", render_marks(request, item, time), class_="about"),
    ]
    return element("li", link(address, content, class_="row"))


def render_marks(request: Request, item: Any, time: str) -> Content:
    """Return what a list says about a memory below its text."""
    kind = item.type or getattr(item, "kind", "")
    marks: list[Content] = [element("span", kind, class_="kind")]
    if item.status and item.status != "active":
        marks.append(element("span", item.status, class_="mark"))
    if request.workspace.is_expired(item):
        marks.append(element("span", "expired", class_="mark"))
    if getattr(item, "pinned", False):
        marks.append(element("span", "pinned", class_="mark"))
    marks += [element("span", f"#{tag}") for tag in item.tags]
    marks.append(element("time", request.workspace.describe_day(time), datetime=time))
    return marks


def show_memory(request: Request) -> Page:
    """Show one memory, or another file of the workspace."""
    index = request.open_index()
    named = get_named(index, request.get("id"))
    text = index.read_text(named.path) or ""
    entry = named.entry
    title = entry.title if entry and entry.title else named.path.rpartition("/")[2]
    content = [
        render_header(request, index, named, title, text),
        render_problems(index, named.path),
        element("div", render_text(request, named, text), class_="text"),
        render_buttons(request, index, named, text),
        render_properties(request, index, named),
        render_backlinks(request, index, named),
    ]
    tab = "memories" if entry else ""
    return Page(title, element("article", content, class_="sheet memory"), tab)


def render_header(
    request: Request, index: Index, named: NamedFile, title: str, text: str
) -> Content:
    if named.entry is None:
        return element("h1", title)
    entry = named.entry
    # Many texts begin with their title.
    is_repeated = get_body(text).lstrip("# ").startswith(title)
    heading = element("h1", title, class_="hidden" if is_repeated or not entry.title else None)
    about: list[Content] = [render_marks(request, entry, entry.updated_at)]
    about.insert(1, element("span", f"source: {entry.source}"))
    parts: list[Content] = [element("p", about, class_="about"), heading]
    if entry.superseded_by:
        parts.append(render_note(request, index, "Replaced by", entry.superseded_by))
    for other in entry.conflicts_with:
        parts.append(render_note(request, index, "Disagrees with", other))
    return parts


def render_problems(index: Index, path: str) -> Content:
    problems = index.run(
        "select line, reason from problems join files using(file) where files.path = ?", (path,)
    )
    return [element("p", f"Line {line}: {reason}", class_="note") for line, reason in problems]


def render_note(request: Request, index: Index, label: str, entry_id: str) -> Html:
    """Return a line that leads to another memory."""
    other = index.find_by_id(entry_id)
    text = other.summary if other else entry_id
    address = request.build_address("memory", id=other.path if other else entry_id)
    return element("p", f"{label}: ", link(address, text), class_="note")


def render_text(request: Request, named: NamedFile, text: str) -> Content:
    workspace = request.workspace
    if workspace.get_kind(named.path) == "session":
        # The index has one line for each message.
        first = max(0, named.line - MESSAGES // 2)
        lines = text.split("\n")[first : first + MESSAGES]
        return [element("p", line) for line in lines if line.strip()]
    if not named.path.endswith(".md"):
        return element("pre", text[:LONGEST])
    body = get_body(text)
    cut = element("p", "The rest is too long for the page.", class_="quiet")
    shown = render_markdown(body[:LONGEST], named.path, request.number)
    return [shown, cut if len(body) > LONGEST else None]


def render_buttons(request: Request, index: Index, named: NamedFile, text: str) -> Html:
    """Return the actions on a file."""
    path, entry = named.path, named.entry
    root = request.workspace.root
    buttons: list[Content] = []
    is_editable = path.endswith(".md")
    is_masked = is_editable and read_file(request.workspace, path) != text
    if is_editable and not is_masked:
        buttons.append(link(request.build_address("edit", id=path), "Edit", class_="button"))
    if entry is not None:
        action, label = ("forget", "Forget") if entry.status == "active" else ("restore", "Restore")
        buttons.append(render_button(request, action, label, id=path))
    buttons.append(link(request.build_address("history", id=path), "History", class_="button"))
    buttons.append(render_button(request, "open", "Open in editor", id=path))
    # Only the script can copy. Without it, the path is among the properties.
    copy = element("button", "Copy path", type="button", data_copy=str(root / path), hidden=True)
    buttons.append(copy)
    masked = "The page hides a secret or a forgotten text. Use an editor to change this file."
    note = element("p", masked, class_="quiet") if is_masked else None
    return element("div", element("div", buttons, class_="actions"), note)


def render_properties(request: Request, index: Index, named: NamedFile) -> Html:
    fields = index.read_fields(named.path) if named.entry else {}
    rows = [
        element("div", element("dt", name), element("dd", render_value(value)))
        for name, value in fields.items()
        if name not in SHOWN_ELSEWHERE and value not in (None, "", [])
    ]
    path = element("dd", element("code", str(request.workspace.root / named.path)))
    rows.append(element("div", element("dt", "file"), path))
    return element("section", element("h2", "Properties"), element("dl", rows))


def render_value(value: Any) -> Content:
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def render_backlinks(request: Request, index: Index, named: NamedFile) -> Content:
    paths = [path for path in index.list_links_to(get_link_names(named)) if path != named.path]
    if not paths:
        return None
    items = [
        element("li", link(request.build_address("memory", id=path), path))
        for path in paths[:MOST_LINKS]
    ]
    return element("section", element("h2", "Linked from"), element("ul", items, class_="plain"))


def show_edit(request: Request, problem: str = "") -> Page:
    """Show the form that changes a memory, after a problem with the text that was typed."""
    index = request.open_index()
    named = get_named(index, request.get("id"))
    stored = read_file(request.workspace, named.path) or ""
    entry = named.entry
    # The text of the form must not be stored with the mask in the place of a secret.
    if stored != index.read_text(named.path):
        problem = "The page hides a secret or a forgotten text. Use an editor to change this file."
        return Page("Edit", element("p", problem, class_="sheet problem"), status=409)
    form = request.form
    body = form.get("text", get_body(stored) if entry else stored)
    fields: Content = None
    if entry is not None:
        fields = render_fields(
            form.get("title", entry.title),
            form.get("type", entry.type),
            form.get("tags", ", ".join(entry.tags)),
        )
    digest = build_digest(stored.encode("utf-8", "replace"))
    back = request.build_address("memory", id=named.path)
    content = [
        element("h1", "Edit memory" if entry else f"Edit {named.path}"),
        element("p", problem, class_="problem", role="alert") if problem else None,
        element("p", "It now says:") if problem else None,
        element("pre", get_body(stored)) if problem else None,
        render_form(
            request,
            "save",
            element("label", "Text", element("textarea", f"\n{body}", name="text", autofocus=True)),
            fields,
            render_save(back),
            id=named.path,
            digest=digest,
        ),
    ]
    status = 409 if problem else 200
    return Page("Edit", element("div", content, class_="sheet"), "memories", status)


def render_fields(title: str, type_: str, tags: str) -> Html:
    names = dict.fromkeys([*TYPES, type_] if type_ else ["", *TYPES])
    types = [
        element("option", name.capitalize() or "Automatic", value=name, selected=name == type_)
        for name in names
    ]
    return element(
        "div",
        element("label", "Title", element("input", name="title", value=title)),
        element("label", "Type", element("select", types, name="type")),
        element("label", "Tags", element("input", name="tags", value=tags)),
        class_="fields",
    )


def render_save(back: str) -> Html:
    save = element("button", "Save", class_="primary", aria_keyshortcuts="Control+Enter")
    return element("div", save, link(back, "Cancel", class_="button"), class_="actions")


def show_new(request: Request, problem: str = "") -> Page:
    """Show the form for a new memory."""
    form = request.form
    text = element(
        "textarea", f"\n{form.get('text', '')}", name="text", autofocus=True, required=True
    )
    content = [
        element("h1", "New memory"),
        element("p", problem, class_="problem", role="alert") if problem else None,
        render_form(
            request,
            "write",
            element("label", "Text", text),
            render_fields(form.get("title", ""), form.get("type", ""), form.get("tags", "")),
            render_save(request.build_address("memories")),
        ),
    ]
    status = 409 if problem else 200
    return Page("New memory", element("div", content, class_="sheet"), "memories", status)


def show_history(request: Request) -> Page:
    """Show what happened to a memory."""
    # It asks git.
    from ..upkeep.memory_history import find_events

    index = request.open_index()
    named = find_named(index, request.get("id")) or NamedFile(request.get("id"), None)
    rows = []
    for event in find_events(request.workspace, named):
        time = request.workspace.format_local(event.time, "%Y-%m-%d %H:%M") or event.time
        action = element("b", event.action)
        text = element("span", f" {event.text}") if event.text else None
        rows.append(element("li", element("time", time), element("span", action, text)))
    subject = named.entry.summary if named.entry else named.path
    content = [
        element("h1", "History"),
        element("p", link(request.build_address("memory", id=named.path), subject)),
        element("ul", rows, class_="events") if rows else element("p", "No changes are known."),
    ]
    return Page("History", element("div", content, class_="sheet"), "memories")

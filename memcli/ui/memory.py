"""The view of one memory, or of another file of the workspace."""

import json
import posixpath
from typing import Any

from ..formats import get_body
from ..search.names import get_link_names
from .frame import Page, link_memory, render_button, render_form
from .html import Content, Html, fill, fill_file, link, link_button
from .markdown import render_markdown
from .memories import render_day, render_marks
from .request import OpenFile, Request

MOST_LINKS = 20
LINES = 1000  # of a file that is not Markdown, around the hit of a search
LONGEST = 200_000  # characters that are rendered
# Shown above the properties.
SHOWN_ELSEWHERE = ("title", "type", "source", "tags")
MASKED = "The page hides a secret or a forgotten text. Use an editor to change this file."


def show_memory(request: Request) -> Page:
    """Show one memory, or another file of the workspace."""
    file = request.open_file()
    title = file.entry.title if file.entry else posixpath.basename(file.path)
    # Many texts start with their title.
    is_hidden = get_body(file.shown).lstrip("# ").startswith(title)
    template = '<h1 class="hidden">{}</h1>' if is_hidden else "<h1>{}</h1>"
    name = title or posixpath.basename(file.path)
    content = fill_file(
        "memory",
        about=render_about(request, file),
        heading=fill(template, name),
        notes=render_notes(request, file),
        buttons=render_buttons(request, file),
        text=render_text(request, file),
        properties=render_properties(request, file),
        links=render_backlinks(request, file),
    )
    return Page(name, content, "memories" if file.entry else "")


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
    elif file.path.endswith(".md") and not file.is_editable:
        notes.append(MASKED)
    return [fill('<p class="note">{}</p>', note) for note in notes]


def link_other(request: Request, file: OpenFile, entry_id: str) -> Html:
    other = file.index.find_by_id(entry_id)
    return link_memory(request, entry_id, other.summary if other else entry_id)


def render_buttons(request: Request, file: OpenFile) -> Content:
    """Return the actions on a file."""
    path = file.path
    if file.stored is None:
        return None
    # Only the script can copy. Without it, the path is among the properties.
    copy = '<button type="button" data-copy="{}" hidden>Copy path</button>'
    buttons: list[Content] = [
        link_button(request.build_address("history", id=path), "History"),
        render_button(request, "open", "Open in editor", id=path),
        fill(copy, str(request.workspace.root / path)),
    ]
    if file.entry is not None:
        is_active = file.entry.status == "active"
        action = "forget" if is_active else "restore"
        buttons.insert(0, render_button(request, action, action.capitalize(), id=path))
    if file.is_editable:
        buttons.insert(0, link_button(request.build_address("edit", id=path), "Edit"))
        # The script fills in the line of the checkbox that was clicked, and sends the form.
        line = Html('<input type="hidden" name="line" id="task">')
        buttons.append(render_form(request, "task", line, id=path, digest=file.digest))
    return fill('<div class="actions">{}</div>', buttons)


def render_text(request: Request, file: OpenFile) -> Content:
    if not file.path.endswith(".md"):
        first = max(0, file.named.line - LINES // 2)
        lines = file.shown.split("\n")[first : first + LINES]
        return fill("<pre>{}</pre>", "\n".join(lines))
    body = get_body(file.shown)
    text = render_markdown(body[:LONGEST], file.path, request.number)
    if len(body) <= LONGEST:
        return text
    return [text, Html('<p class="quiet">The rest is too long for the page.</p>')]


def render_properties(request: Request, file: OpenFile) -> list[Html]:
    fields = file.index.read_fields(file.path) if file.entry else {}
    is_ours = file.stored is not None
    fields["file"] = str(request.workspace.root / file.path) if is_ours else file.path
    rows = []
    for name, value in fields.items():
        if name in SHOWN_ELSEWHERE or value in (None, "", []):
            continue
        text = describe_value(value)
        if name.endswith("_at"):
            text = request.workspace.format_local(text, "%Y-%m-%d %H:%M") or text
        rows.append(fill("<div><dt>{}</dt><dd>{}</dd></div>", name, text))
    return rows


def describe_value(value: Any) -> str:
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def render_backlinks(request: Request, file: OpenFile) -> Content:
    paths = file.index.list_links_to(get_link_names(file.named))
    items = []
    for path in paths[:MOST_LINKS]:
        if path != file.path:
            items.append(fill("<li>{}</li>", link_memory(request, path, path)))
    if not items:
        return None
    return fill('<section><h2>Linked from</h2><ul class="plain">{}</ul></section>', items)

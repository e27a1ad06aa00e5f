"""Build the HTML of the page: templates, the frame around each view, and Markdown.

A template escapes the values that fill it. The frame has the navigation, and the message about the
last action. Markdown has links into the workspace, its images, and checkboxes.
"""

import posixpath
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from html import escape
from mimetypes import add_type, guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from ..errors import MemError
from ..formats import BLOCK_ID, build_digest, build_slug, fold_name, replace_surrogates
from ..index import Index, IndexedEntry, get_index, open_index
from ..search.names import NamedFile, find_named, get_named
from ..store import Record, Workspace, find_log_folder, read_file, read_record

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

TEMPLATES = Path(__file__).with_name("templates")
# By the exit code of an error.
STATUSES = {2: 400, 4: 404, 5: 409, 6: 503, 75: 503}
NOT_TRUSTED = (
    '<span class="mark" title="Its text does not count as yours: mem trust">not trusted</span>'
)
MINUTE = "%Y-%m-%d %H:%M"
TABS = ("memories", "review", "days", "changes", "insights")
DONE = {
    "write": "Saved",
    "edit": "Saved",
    "forget": "Forgotten",
    "purge": "Deleted",
    "restore": "Restored",
    "undo": "Undone",
    "consolidate": "Learned",
    "older": "Kept the older memory",
    "newer": "Kept the newer memory",
    "both": "Kept both",
    "accept": "Saved",
    "reject": "Rejected",
}
IMAGE = '<img src="{}" alt="{}" loading="lazy">'
add_type("image/avif", ".avif")  # not in the table of Python 3.11
NEW_TAB = {"target": "_blank", "rel": "noreferrer noopener"}
FIND_LINKED = """
select path from files where path in (?, ?)
union all select path from names join files using(file) where name = ?
"""
# "[[Oak#Leaves|the oak]]", "[[#Leaves]]" and "![[tree.png|300]]"
WIKI_LINK = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
# "<!-- mem:keep -->", the ids of promoted lines, and in Obsidian "%% for me %%". Comments may span
# lines, hence DOTALL.
COMMENT = re.compile(rf"<!--.*?-->|(?<!\S)%%.*?%%(?!\S)|{BLOCK_ID}", re.DOTALL)
# "[^1]: The text of a footnote", with more lines that are indented
FOOTNOTE = re.compile(r"\[(\^[^\]\s]+)\]:[ \t]*(?:\n[ \t]+)?([^\n]*(?:\n+[ \t]+[^\s][^\n]*)*)")
# "[^1][^2]" is also a link with the text "^1", unless there is something between them.
NEXT_FOOTNOTE = re.compile(r"(\[\^(?:\d|\w\w+)\])(?=\[\^(?:\d|\w\w+)\])")
# The link that "[^name]" becomes. Its text will be the number of the footnote.
FOOTNOTE_LINK = re.compile(r'("#text-footnote-(\d+)">)\^[^<]+')
# "==marked==", but not "if a==b or c==d"
MARK = re.compile(r"(?<![A-Za-z0-9_=)\]])==(?=[^\s=])[^\n]*?[^\s=]==(?![A-Za-z0-9_=(\[])")
# "> [!note] Title", of Obsidian and GitHub. With + or -, Obsidian folds it.
CALLOUT = re.compile(r"\[!([\w-]+)\][-+]?[ \t]*")
# "[x] Buy oak", after the mark of the list
TASK = re.compile(r"\[([ xX])\] ")
# The script enables it, because a checkbox alone cannot send a form.
CHECKBOX = '<input type="checkbox" aria-label="{}" data-line="{}" disabled{}>'


class Html(str):
    """Text that is HTML already. Any other text is escaped."""


Content = str | int | None | Iterable[Any]
"""Text, HTML, or a list of them. None is nothing."""


def join(content: Content) -> Html:
    """Return content as HTML: texts escaped, lists joined, None as nothing."""
    if isinstance(content, Html):
        return content
    if content is None:
        return Html()
    # Before the lists: a text is a sequence of texts, too.
    if isinstance(content, str | int):
        # A stored text may have bytes that are not UTF-8.
        return Html(escape(replace_surrogates(str(content))))
    return Html("".join(map(join, content)))


def fill(template: str, *values: Content) -> Html:
    """Return a template of HTML with values in the places of its `{}`."""
    return Html(template.format(*map(join, values)))


def fill_each(template: str, values: Iterable[Content]) -> list[Html]:
    """Return a copy of the template for each value."""
    return [fill(template, value) for value in values]


def fill_file(name: str, **values: Content) -> Html:
    """Return a file of the folder `templates` with its values."""
    return Html(read_template(name).format(**{key: join(value) for key, value in values.items()}))


@cache
def read_template(name: str) -> str:
    return TEMPLATES.joinpath(f"{name}.html").read_text(encoding="utf-8").strip()


def link(address: str, label: Content) -> Html:
    return fill('<a href="{}">{}</a>', address, label)


def link_button(address: str, label: str) -> Html:
    return fill('<a class="button" href="{}">{}</a>', address, label)


def render_empty(text: str) -> Html:
    """Return the text of a view without content."""
    return fill('<p class="empty">{}</p>', text)


def render_options(values: Iterable[str], chosen: str, nothing: str) -> list[Html]:
    """Return the options of a select, with `nothing` as the label of an empty value."""
    template = '<option value="{}"{}>{}</option>'
    marks = {chosen: Html(" selected")}
    return [fill(template, item, marks.get(item), item.capitalize() or nothing) for item in values]


@dataclass
class OpenFile:
    """A memory or another file that a view shows."""

    named: NamedFile
    index: Index
    shown: str  # the text, with secrets and forgotten passages masked
    stored: str | None  # the text on disk; a colleague's memory has none here

    @property
    def path(self) -> str:
        return self.named.path

    @property
    def entry(self) -> IndexedEntry | None:
        return self.named.entry

    @property
    def is_editable(self) -> bool:
        """Whether the page shows the whole text, so that it can be saved without a loss."""
        return self.path.endswith(".md") and self.stored == self.shown

    @property
    def digest(self) -> str:
        return build_digest(self.stored or "")


@dataclass
class Request:
    """A request of the browser for a view or an action."""

    name: str
    values: dict[str, str] = field(default_factory=dict)  # of the address and the form
    workspaces: list[Workspace] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The position of the chosen workspace."""
        number = self.get_number("w")
        return number if number < len(self.workspaces) else 0

    @property
    def workspace(self) -> Workspace:
        return self.workspaces[self.number]

    def get(self, name: str) -> str:
        return self.values.get(name, "").strip()

    def get_number(self, name: str) -> int:
        text = self.get(name)
        # Anybody can type an address. SQLite has no integers above 64 bits.
        return int(text) if text.isdecimal() and len(text) < 10 else 0

    def build_address(self, view: str, **values: Any) -> str:
        """Return the relative address of a view of the chosen workspace, without empty values."""
        values.setdefault("w", self.number)
        query = urlencode({key: value for key, value in values.items() if value}, errors="replace")
        return f"{view}?{query}" if query else view

    def open_file(self) -> OpenFile:
        """Return the file that `id` names, here or at a colleague's. Raises NotFoundError."""
        name = self.get("id")
        index = open_index(self.workspace)
        named = find_named(index, name)
        if named is None and self.workspace.settings["team.dsn"]:
            from ..team.search import open_named

            index = open_named(self.workspace, name) or index
        named = named or get_named(index, name)
        is_ours = index.workspace is self.workspace
        stored = read_file(self.workspace, named.path) if is_ours else None
        return OpenFile(named, index, index.read_text(named.path) or "", stored)


@dataclass
class Page:
    """A view: its title and content."""

    title: str
    content: Content
    tab: str = ""
    status: int = 200
    is_part: bool = False  # the script replaces a part of the page with it
    cache_seconds: int = 0


def build_sheet(name: str, *content: Content, problem: str = "", status: int = 409) -> Page:
    """Return a page with a heading; if it is a view of the navigation, marked there.

    A problem is shown above the content, and `status` is sent with it.
    """
    template = '<div class="sheet"><h1>{}</h1>{}{}</div>'
    body = fill(template, name, render_problem(problem), content)
    return Page(name, body, name.lower(), status if problem else 200)


def build_error_page(request: Request, error: MemError) -> Page:
    back = link(request.build_address("memories", q=request.get("id")), "Search the memories")
    return build_sheet("This did not work", back, problem=describe(error), status=get_status(error))


def render_problem(problem: str) -> Html | None:
    return fill('<p class="problem" role="alert">{}</p>', problem) if problem else None


def get_status(error: MemError) -> int:
    return STATUSES.get(error.exit_code, 500)


def describe(error: MemError) -> str:
    """Return the message and the hint of an error as sentences."""
    sentences = ". ".join(filter(None, (error.message, error.hint)))
    # A path or an option at the start of a sentence stays as it is.
    return re.sub(r"(?:^|(?<=\. ))[a-z]+(?= )", lambda match: match[0].capitalize(), sentences)


def render_page(request: Request, page: Page) -> str:
    """Return the whole document of a view."""
    if page.is_part:
        return join(page.content)
    return fill_file(
        "document",
        title=page.title,
        start=request.build_address("memories"),
        tabs=[render_tab(request, name, page.tab) for name in TABS],
        workspaces=render_workspaces(request),
        new=request.build_address("new"),
        done=render_done(request),
        content=page.content,
    )


def render_tab(request: Request, name: str, current: str) -> Html:
    mark = Html(' aria-current="page"') if name == current else None
    # The script asks for the number, because finding the questions takes a while.
    count = Html('<span id="pending"></span>') if name == "review" else None
    label = [name.capitalize(), count]
    return fill('<a href="{}"{}>{}</a>', request.build_address(name), mark, label)


def render_workspaces(request: Request) -> list[Content]:
    """Return the name of the workspace, and a link to the other one."""
    names: list[Content] = []
    for number, workspace in enumerate(request.workspaces):
        root = workspace.root
        folder = root.parent if root.name == "memory" else root
        name = "Your own" if workspace.is_own else folder.name
        if number == request.number:
            names.append(fill('<b title="{}">{}</b>', str(root), name))
            names.append(None if workspace.is_trusted else Html(NOT_TRUSTED))
        else:
            names.append(link(request.build_address("memories", w=number), name))
    return names


def render_done(request: Request) -> Html | None:
    """Return what the last action did, with a button that reverts it."""
    # An action leads to a view with the number of its command: "memories?done=17".
    number = request.get_number("done")
    folder = find_log_folder(request.workspace)
    if folder is None:
        return None
    # An old address may name a command that has left the log.
    with suppress(OSError, ValueError):
        record = read_record(folder / f"{number}.json")
        button = None if record.is_purge else render_undo(request, record)
        template = '<div class="done" role="status"><p>{}</p>{}</div>'
        return fill(template, describe_record(record), button)
    return None


def describe_record(record: Record) -> str:
    """Return what a command did, and to which memory."""
    command = record.command
    # A purge empties its own record, and those of earlier commands with the text.
    text = record.summary or ", ".join(change.path for change in record.changes) or "purged text"
    if command == "review":
        # The summary starts with the answer.
        command, _, text = text.partition(": ")
    return f"{DONE.get(command, command.capitalize())}: {text}"


def render_undo(request: Request, record: Record) -> Html:
    label = "Redo" if record.undoes else "Undo"
    values = {"view": request.name, "id": request.get("id")}
    return render_button(request, "undo", label, number=record.number, **values)


def render_form(request: Request, action: str, content: Content, **values: str | int) -> Html:
    """Return a form that sends values to an action. It works without the script."""
    template = '<input type="hidden" name="{}" value="{}">'
    hidden = [fill(template, name, value) for name, value in values.items()]
    address = request.build_address(action)
    return fill('<form method="post" action="{}">{}{}</form>', address, hidden, content)


def render_button(request: Request, action: str, label: str, **values: str | int) -> Html:
    return render_form(request, action, fill("<button>{}</button>", label), **values)


def link_memory(request: Request, name: str, text: str) -> Html:
    return link(request.build_address("memory", id=name), text)


def get_kind(path: str) -> str:
    """Return the media type of an image or a PDF by its name. Other files have none."""
    kind = guess_type(path, strict=False)[0] or ""
    return kind if kind.startswith(("image/", "application/pdf")) else ""


def render_markdown(request: Request, text: str, path: str) -> Html:
    """Return a Markdown text as HTML. Links and images are relative to the file of the text."""
    renderer = load_renderer()
    footnotes: list[str] = []
    place = {"request": request, "path": path, "footnotes": footnotes, "references": {}}
    html = renderer.render(NEXT_FOOTNOTE.sub("\\1\u2009", text), place)
    items = ""
    for number, footnote in enumerate(footnotes, 1):
        items += f'<li id="text-footnote-{number}">{renderer.renderInline(footnote, place)}</li>'
    if items:
        html += f"<hr><ol>{items}</ol>"
    return Html(FOOTNOTE_LINK.sub(r"\1<sup>\2</sup>", html))


@cache
def load_renderer() -> "MarkdownIt":
    # Imported when used, because only the page needs it.
    from markdown_it import MarkdownIt

    # Without html: a memory may come from a stranger, so its tags are shown as text. With breaks:
    # notes have one line each.
    renderer = MarkdownIt("commonmark", {"html": False, "breaks": True})
    renderer.enable(["table", "strikethrough"])
    renderer.block.ruler.before("reference", "footnote", parse_footnote, {"alt": ["paragraph"]})
    renderer.inline.ruler.before("link", "wiki_link", parse_wiki_link)
    renderer.inline.ruler.before("link", "comment", parse_comment)
    renderer.inline.ruler.before("link", "mark", parse_mark)
    renderer.core.ruler.push("page", adapt_blocks)
    renderer.add_render_rule("link_open", render_link)
    renderer.add_render_rule("image", render_image)
    # A wide table scrolls, also with the keys.
    renderer.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>')
    renderer.add_render_rule("table_close", lambda *_: "</table></div>")
    return renderer


def parse_footnote(state: "StateBlock", first: int, end: int, silent: bool) -> bool:
    """Read `[^1]: text`. Each `[^1]` becomes a link to it."""
    match = FOOTNOTE.match(state.src, state.bMarks[first] + state.tShift[first])
    if match is None:
        return False
    if not silent:
        footnotes = state.env["footnotes"]
        footnotes.append(match[2])
        address = f"#footnote-{len(footnotes)}"
        state.env["references"][match[1].upper()] = {"href": address, "title": ""}
        state.line = first + match[0].count("\n") + 1
    return True


def parse_comment(state: "StateInline", silent: bool) -> bool:
    """Show nothing for a comment, such as the marks in MEMORY.md, and for the id of a block."""
    match = COMMENT.match(state.src, state.pos)
    if match is not None:
        state.pos = match.end()
        if match[0][0] == "^" and not silent:
            # [[Note#^id]] leads to this place.
            state.push("block_open", "span", 1).attrs = {"id": build_anchor(match[0])}
            state.push("block_close", "span", -1)
    return match is not None


def parse_mark(state: "StateInline", silent: bool) -> bool:
    """Read `==text==`, as Obsidian marks a text."""
    match = MARK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        end, state.pos, state.posMax = state.posMax, match.start() + 2, match.end() - 2
        state.push("mark_open", "mark", 1)
        state.md.inline.tokenize(state)
        state.push("mark_close", "mark", -1)
        state.posMax = end
    state.pos = match.end()
    return True


def parse_wiki_link(state: "StateInline", silent: bool) -> bool:
    """Read `[[Note#Section|text]]` and `![[image.png]]`, as Obsidian writes them."""
    match = WIKI_LINK.match(state.src, state.pos)
    if match is None or not (match[2] or match[3]):
        return False
    state.pos = match.end()
    if silent:
        return True
    mark, target, section, label = match.groups(default="")
    target = target.strip()
    if mark and "image" in get_kind(target):
        token = state.push("image", "img", 0)
        token.attrs, token.content = {"src": quote(target)}, label or target
    else:
        state.push("link_open", "a", 1).attrs = {"href": f"{quote(target)}#{quote(section)}"}
        state.push("text", "", 0).content = label or match[0].strip("![]").replace("#", " › ")
        state.push("link_close", "a", -1)
    return True


def build_anchor(heading: str) -> str:
    return f"text-{build_slug(heading)}"


def adapt_blocks(state: "StateCore") -> None:
    """Adapt headings, callouts and the items of lists to the page."""
    tokens = state.tokens
    for number, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            # The page has a first heading of its own.
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
        if "style" in token.attrs:
            # "text-align:right" of a column. The policy of the page refuses styles.
            token.attrs["class"] = token.attrs.pop("style")
        if token.type == "heading_open":
            token.attrs["id"] = build_anchor(tokens[number + 1].content)
        # Between them is the start of a paragraph.
        if token.type == "inline" and number > 1 and tokens[number - 2].type == "blockquote_open":
            add_callout_title(tokens[number - 2], token)
        if token.type == "list_item_open":
            add_checkbox(token, tokens[number + 2])


def add_callout_title(quote: "Token", inline: "Token") -> None:
    """Give a quote that starts with `[!note]` a title. Without its own, the title is `Note`."""
    callout = CALLOUT.match(inline.content)
    title = inline.children or []
    if callout is None or not title[0].content.startswith("[!"):
        return
    quote.attrs["data-callout"] = callout[1].lower()
    has_own_title = inline.content.partition("\n")[0] != callout[0]
    title[0].content = (
        title[0].content[callout.end() :] if has_own_title else callout[1].capitalize()
    )
    end = next((number for number, item in enumerate(title) if item.tag == "br"), len(title))
    title.insert(end, title[0].copy(type="strong_close", tag="b", nesting=-1))
    title.insert(0, title[0].copy(type="strong_open", tag="b", nesting=1))


def add_checkbox(item: "Token", inline: "Token") -> None:
    """Give an item of a list that starts with `[ ]` or `[x]` a checkbox."""
    task = TASK.match(inline.content)
    if task is None or not inline.children or not item.map:
        return
    line = item.map[0]
    label = inline.content[task.end() :]
    checked = None if task[1] == " " else Html(" checked")
    # The mark is the start of the first text. The box takes its place.
    text = inline.children[0]
    box = text.copy(type="html_inline", content=fill(CHECKBOX, label, line, checked))
    text.content = text.content[task.end() :]
    inline.children.insert(0, box)
    item.attrs = {"class": "task", "id": f"line-{line}"}


def render_link(renderer: Any, tokens: Any, number: int, options: Any, place: Any) -> str:
    """Let a link to a file of the workspace open it here, and any other one a new tab."""
    attributes = tokens[number].attrs
    address = attributes["href"]
    if urlsplit(address).scheme:
        attributes.update(NEW_TAB)
    else:
        name, _, section = unquote(address).partition("#")
        # Without a name, it leads to the file that is shown.
        attributes["href"] = ""
        if name:
            attributes.update(find_linked(place["request"], name, place["path"]))
        if section:
            attributes["href"] += f"#{build_anchor(section)}"
    return str(renderer.renderToken(tokens, number, options, place))


def find_linked(request: Request, name: str, path: str) -> dict[str, str]:
    """Return the attributes of a link to a file."""
    name = name.removesuffix(".md")
    place = resolve(name, path)
    if get_kind(name):
        return {"href": request.build_address("file", path=place)}
    index = get_index(request.workspace)
    # Obsidian leaves out the folder if no other note has the name.
    names = (f"{place}.md", f"{name}.md", fold_name(posixpath.basename(name)))
    found = index.run(FIND_LINKED, names).fetchone()
    mark = {} if found else {"class": "missing", "title": "No note has this name"}
    return {"href": request.build_address("memory", id=found[0] if found else place), **mark}


def render_image(renderer: Any, tokens: Any, number: int, options: Any, place: Any) -> str:
    """Show an image of the workspace. One from the network becomes a link."""
    token = tokens[number]
    address, label = token.attrs["src"], token.content
    # The page opens no connection, so that nobody learns when a memory is read.
    if urlsplit(address).scheme or address.startswith("//"):
        template = '<a href="{}" target="_blank" rel="noreferrer noopener">{}</a>'
        return fill(template, address, label or address[:80])
    path = resolve(unquote(address), place["path"])
    return fill(IMAGE, place["request"].build_address("file", path=path), label)


def resolve(target: str, path: str) -> str:
    """Return the path in the workspace to which a link in a file leads."""
    folder = "" if target.startswith("/") else posixpath.dirname(path)
    return posixpath.normpath(posixpath.join(folder, target.lstrip("/")))

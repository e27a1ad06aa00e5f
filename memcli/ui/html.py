"""HTML as values: elements that escape their content, and Markdown as the page shows it."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode, urlsplit

from ..formats.ids import build_slug

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

VOID = ("img", "input", "link", "meta")
IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
}
WIKI_LINK = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
TASK = re.compile(r"\[([ xX])\] ")


class Html(str):
    """Text that is HTML already. Any other text is escaped."""


Content = str | int | None | Iterable[Any]


def join(content: Content) -> Html:
    """Return content as HTML: texts escaped, lists joined, None as nothing."""
    if isinstance(content, Html):
        return content
    if content is None:
        return Html()
    if isinstance(content, str | int):
        # A stored text may have bytes that are not UTF-8.
        return Html(escape(str(content).encode("utf-8", "replace").decode()))
    return Html("".join(join(item) for item in content))


def element(tag: str, /, *content: Content, **attributes: str | int | bool | None) -> Html:
    """Return an element. `class_` is the attribute `class`, and `aria_label` is `aria-label`."""
    words = [tag]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(key)
        elif value is not None and value is not False:
            words.append(f'{key}="{join(str(value))}"')
    end = "" if tag in VOID else f"{join(content)}</{tag}>"
    return Html(f"<{' '.join(words)}>{end}")


def link(address: str, *content: Content, **attributes: str | int | bool | None) -> Html:
    return element("a", *content, href=address, **attributes)


def build_address(view: str, values: dict[str, Any]) -> str:
    """Return a relative address without its empty values."""
    query = urlencode({key: value for key, value in values.items() if value}, errors="replace")
    return f"{view}?{query}" if query else view


def highlight(text: str, words: Sequence[str]) -> Html:
    """Return a text with the words of a search marked."""
    if not words:
        return join(text)
    found = re.compile(rf"(\b(?:{'|'.join(map(re.escape, words))})\w*)", re.IGNORECASE)
    parts = found.split(text)
    return join(element("mark", part) if number % 2 else part for number, part in enumerate(parts))


def render_markdown(text: str, path: str, workspace_number: int) -> Html:
    """Return a Markdown text as HTML. Links and images are relative to the file of the text."""
    place = {"path": path, "w": workspace_number}
    return Html(load_renderer().render(text, place))


@cache
def load_renderer() -> "MarkdownIt":
    # Imported when used, because only the page needs it.
    from markdown_it import MarkdownIt

    # Without html: a memory may come from a stranger, so its tags are shown as text. With breaks:
    # notes have one line each.
    renderer = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
        ["table", "strikethrough"]
    )
    renderer.inline.ruler.before("link", "wiki_link", parse_wiki_link)
    renderer.core.ruler.push("page", adapt_tokens)
    return renderer


def parse_wiki_link(state: "StateInline", silent: bool) -> bool:
    """Read `[[Note#Section|text]]` and `![[image.png]]`, as Obsidian writes them."""
    match = WIKI_LINK.match(state.src, state.pos)
    if match is None or not (match[2] or match[3]):
        return False
    if not silent:
        target, section, label = match[2].strip(), match[3] or "", match[4] or ""
        if match[1] and posixpath.splitext(target)[1].lower() in IMAGES:
            image = state.push("image", "img", 0)
            image.attrs, image.meta = {"src": target}, {"is_name": True}
            image.content, image.children = label or target, []
        else:
            opening = state.push("link_open", "a", 1)
            opening.attrs = {"href": f"{target}#{section}" if section else target}
            opening.meta = {"is_name": True}
            state.push("text", "", 0).content = label or match[0].strip("![]").replace("#", " › ")
            state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


def adapt_tokens(state: "StateCore") -> None:
    """Adapt a parsed text to the page: links, images, headings and tasks."""
    for number, token in enumerate(state.tokens):
        if token.type in ("heading_open", "heading_close"):
            # The page has one first heading of its own.
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
            if token.type == "heading_open":
                token.attrs["id"] = f"text-{build_slug(state.tokens[number + 1].content)}"
        children = token.children or []
        for child in children:
            if child.type == "link_open":
                adapt_link(child, state.env)
            elif child.type == "image":
                adapt_image(child, state.env)
        before = [item.type for item in state.tokens[max(0, number - 2) : number]]
        task = TASK.match(token.content) if token.type == "inline" else None
        if task and before == ["list_item_open", "paragraph_open"] and children:
            children[0].content = children[0].content[task.end() :]
            children.insert(0, build_raw_token(state, build_checkbox(task[1] != " ")))
            state.tokens[number - 2].attrs["class"] = "task"


def build_raw_token(state: "StateCore", html: Html) -> "Token":
    from markdown_it.token import Token

    return Token("html_inline", "", 0, content=html)


def build_checkbox(is_checked: bool) -> Html:
    label = "done" if is_checked else "open"
    return element("input", type="checkbox", checked=is_checked, disabled=True, aria_label=label)


def adapt_link(token: "Token", place: Any) -> None:
    """Let a link to a file of the workspace open it here, and any other one a new tab."""
    address = str(token.attrs.get("href", ""))
    if urlsplit(address).scheme and not token.meta.get("is_name"):
        token.attrs.update(target="_blank", rel="noreferrer noopener")
        return
    name, _, section = (address if token.meta.get("is_name") else unquote(address)).partition("#")
    anchor = f"#text-{build_slug(section)}" if section else ""
    if name:
        # A name leads to a note anywhere, a path is relative to the file with the link.
        if not token.meta.get("is_name"):
            name = resolve(name, place["path"])
        name = build_address("memory", {"id": name, "w": place["w"]})
    token.attrs["href"] = name + anchor


def adapt_image(token: "Token", place: Any) -> None:
    """Let an image come from the workspace. One from the network becomes a link."""
    address = str(token.attrs.get("src", ""))
    if not urlsplit(address).scheme and not address.startswith("//"):
        # A name alone is that of an image anywhere in the workspace.
        path = address if token.meta.get("is_name") else resolve(unquote(address), place["path"])
        source = build_address("file", {"path": path, "w": place["w"]})
        token.attrs = {"src": source, "alt": "", "loading": "lazy"}
        return
    # The page opens no connection, so that nobody learns when a memory is read.
    label = token.content or address[:80]
    token.type, token.children = "html_inline", None
    token.content = link(address, label, target="_blank", rel="noreferrer noopener")


def resolve(target: str, path: str) -> str:
    """Return the path in the workspace to which a link in a file leads."""
    if target.startswith("/"):
        return posixpath.normpath(target.lstrip("/"))
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))

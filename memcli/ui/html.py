"""HTML as values: a template escapes the values that fill it."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

TEMPLATES = Path(__file__).with_name("templates")


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


def fill(template: str, *values: Content) -> Html:
    """Return a template of HTML with values in the places of its `{}`."""
    return Html(template.format(*map(join, values)))


def fill_file(name: str, **values: Content) -> Html:
    """Return a file of the folder `templates` with its values."""
    texts = {key: join(value) for key, value in values.items()}
    return Html(read_template(name).format(**texts))


@cache
def read_template(name: str) -> str:
    return TEMPLATES.joinpath(f"{name}.html").read_text(encoding="utf-8").strip()


def link(address: str, label: Content) -> Html:
    return fill('<a href="{}">{}</a>', address, label)


def link_button(address: str, label: str) -> Html:
    return fill('<a class="button" href="{}">{}</a>', address, label)


def render_options(values: Iterable[str], chosen: str, nothing: str = "") -> list[Html]:
    """Return the options of a select, with `nothing` as the label of an empty value."""
    options = []
    for value in values:
        mark = Html(" selected") if value == chosen else None
        label = value.capitalize() or nothing
        options.append(fill('<option value="{}"{}>{}</option>', value, mark, label))
    return options


def build_address(view: str, values: dict[str, Any]) -> str:
    """Return a relative address without its empty values."""
    query = urlencode({key: value for key, value in values.items() if value}, errors="replace")
    return f"{view}?{query}" if query else view


def highlight(text: str, words: Sequence[str]) -> Html:
    """Return a text with the words of a search marked."""
    if not words:
        return join(text)
    pattern = "|".join(map(re.escape, words))
    parts = re.split(rf"(\b(?:{pattern})\w*)", text, flags=re.IGNORECASE)
    # Every second part is a match.
    parts[1::2] = [fill("<mark>{}</mark>", part) for part in parts[1::2]]
    return join(parts)

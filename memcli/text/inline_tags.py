"""Tags written into a text, such as #garden and #work/clients, with the tags they are nested in."""

import re
from collections.abc import Iterable

from .links import without_code

_TAG = re.compile(r"(?<![^\s(,;])#([^\W\d_][\w/-]*|[\d_/-]+[^\W\d_][\w/-]*)")


def inline_tags(text: str) -> tuple[str, ...]:
    """Give the tags of a text as they are written, code passed over; a number alone is none."""
    found = (tag for _, line in without_code(text) for tag in _TAG.findall(line))
    return tuple(dict.fromkeys(tag.strip("/") for tag in found))


def nested(tags: Iterable[str]) -> tuple[str, ...]:
    """Add to tags those they are nested in: `work` for `work/clients`."""
    every = list(tags)
    above = ["/".join(tag.split("/")[:depth]) for tag in every for depth in range(1, tag.count("/") + 1)]
    return tuple(dict.fromkeys([*every, *above]))

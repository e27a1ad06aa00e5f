"""Write the frontmatter of a new entry so that the tool whose folder it is understands it; mem's own keys stay."""

from typing import Any

from ..text.entry import Entry, entry_fields
from ..text.frontmatter import Document
from ..text.ids import slug
from ..text.summary import first_line, summarise
from .layout import Layout

_CLAUDE_TYPES = {
    "preference": "user",
    "correction": "feedback",
    "constraint": "feedback",
    "lesson": "feedback",
    "entity": "reference",
}
"""What Claude Code calls a type of ours; everything else is of a project."""


def new_fields(layout: Layout, entry: Entry) -> dict[str, Any]:
    """Give the frontmatter of a new entry in the spelling of its layout."""
    fields = {layout.spellings.get(key, key): value for key, value in entry_fields(entry).items()}
    return _as_claude(entry, fields) if layout.name == "claude" else fields


def followed(before: Document, after: Document) -> dict[str, str]:
    """Give the description that a changed body needs, where the old one only repeated the old body."""
    said = after.fields.get("description")
    if said != before.fields.get("description") or said != summarise("", before.body):
        return {}
    return {"description": summarise("", after.body)}


def _as_claude(entry: Entry, fields: dict[str, Any]) -> dict[str, Any]:
    """Begin with what Claude Code chooses a memory by: a name, a description, a type of its own."""
    kind = _CLAUDE_TYPES.get(entry.type, "project")
    return {
        "name": entry.title or slug(first_line(entry.body)) or entry.type,
        "description": summarise("", entry.body),
        "metadata": {"node_type": "memory", "type": kind, **entry.metadata},
        **{key: value for key, value in fields.items() if key not in ("name", "metadata")},
    }

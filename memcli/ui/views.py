"""The tables of views and actions, by the name in the address. And the images of the workspace."""

import posixpath
from collections.abc import Callable
from glob import escape
from typing import NamedTuple

from ..errors import NotFoundError
from ..store import locate
from .edit import (
    forget_memory,
    open_in_editor,
    restore_memory,
    save,
    save_task,
    show_edit,
    show_new,
    undo_command,
    write_memory,
)
from .frame import Page, Request
from .html import IMAGES
from .journal import show_changes, show_days, show_history, show_insights
from .memories import show_memories, show_memory
from .review import answer_question, show_pending, show_review

MOST_BYTES = 32 << 20  # of an image


class Image(NamedTuple):
    """An image of the workspace."""

    data: bytes
    kind: str


def read_image(request: Request) -> Image:
    """Return an image of the workspace. Raises NotFoundError or OutsideError."""
    path = request.get("path")
    kind = IMAGES.get(posixpath.splitext(path)[1].lower())
    root = request.workspace.root
    file = locate(root, path)
    if not file.is_file() and "/" not in path:
        # Obsidian finds an embedded image by its name alone.
        found = [item for item in root.rglob(escape(path)) if item.is_file()]
        file = locate(root, found[0].relative_to(root).as_posix()) if found else file
    if kind is None or not file.is_file() or file.stat().st_size > MOST_BYTES:
        raise NotFoundError(f"no image {path!r}")
    return Image(file.read_bytes(), kind)


View = Callable[[Request], Page | Image | str]
"""A view returns what to show; an action returns the address to show next."""
VIEWS: dict[str, View] = {
    "memories": show_memories,
    "memory": show_memory,
    "edit": show_edit,
    "new": show_new,
    "history": show_history,
    "review": show_review,
    "pending": show_pending,
    "file": read_image,
    "days": show_days,
    "changes": show_changes,
    "insights": show_insights,
}
ACTIONS: dict[str, View] = {
    "save": save,
    "task": save_task,
    "write": write_memory,
    "forget": forget_memory,
    "restore": restore_memory,
    "answer": answer_question,
    "undo": undo_command,
    "open": open_in_editor,
}
